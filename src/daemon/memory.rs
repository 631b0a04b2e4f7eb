//! Where the daemon's memory goes, part by part.

use crate::protocol::status::MemoryState;
use crate::store::Store;
use crate::tools::Context;

/// Bytes held now. What each part says of itself leaves the allocator's own losses out; these, the
/// program and the stacks are in `other`.
pub fn of(context: &Context, store: &Store) -> MemoryState {
    let parts = MemoryState {
        total: resident(),
        catalogue: context.vault.catalogue().memory() as u64,
        links: context.index.links.summary().bytes as u64,
        text_index: 0,
        resident_text: 0,
        store: store.cache_bytes(),
        other: None,
    };
    let named =
        parts.catalogue + parts.links + parts.text_index + parts.resident_text + parts.store;
    MemoryState { other: parts.total.map(|total| total.saturating_sub(named)), ..parts }
}

/// Bytes of this process in memory, where the system says so.
#[cfg(target_os = "linux")]
fn resident() -> Option<u64> {
    #[expect(clippy::disallowed_methods, reason = "a file of the system's, not of the vault")]
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Bytes of this process in memory, where the system says so.
#[cfg(not(target_os = "linux"))]
fn resident() -> Option<u64> {
    None
}
