//! Stand-in until the vault lands.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
/// Cancel.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);
impl Cancel {
    /// Cancel.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }
    /// Cancelled?
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
