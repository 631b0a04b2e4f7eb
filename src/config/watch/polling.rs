//! macOS and Windows: one look every two seconds. It costs a system call and misses nothing.

use std::path::Path;

/// The time for the next look.
pub(super) struct Signs;

impl Signs {
    pub fn start(_: &Path) -> Self {
        Self
    }

    pub async fn next(&mut self) {
        tokio::time::sleep(super::POLL).await;
    }
}
