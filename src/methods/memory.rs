//! The daemon's memory, by component.

use crate::protocol::status::MemoryState;
use crate::store::Database;
use crate::tools::Context;

/// The bytes in memory, in parts that add up to the total. The parts report their own sizes without
/// the allocator's overhead, which is counted in `other`.
pub fn state(context: &Context, database: &Database) -> MemoryState {
    let text = context.index.text.memory();
    let knowledge = context.index.knowledge.summary();
    let parts = MemoryState {
        catalogue: context.vault.catalogue().memory() as u64,
        links: context.index.links.summary().bytes as u64,
        text_index: (text.signatures + text.notes) as u64,
        resident_text: text.resident as u64,
        words: (knowledge.bytes + knowledge.pdf_bytes) as u64,
        meaning: (knowledge.vector_bytes + knowledge.better.map_or(0, |it| it.bytes)) as u64,
        store: database.cache_bytes(),
        ..MemoryState::default()
    };
    match Resident::now() {
        Some(resident) => with_resident(parts, resident),
        None => parts,
    }
}

/// The total, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Resident {
    total: u64,
    /// The part of it that is mapped from files.
    program: u64,
}

/// Adds the remainder as `other`. A part can report memory that is reserved but not resident; then
/// `other` is zero.
fn with_resident(parts: MemoryState, Resident { total, program }: Resident) -> MemoryState {
    let named = program
        + parts.catalogue
        + parts.links
        + parts.text_index
        + parts.resident_text
        + parts.words
        + parts.meaning
        + parts.store;
    let other = Some(total.saturating_sub(named));
    MemoryState { total: Some(total), program: Some(program), other, ..parts }
}

impl Resident {
    /// The memory of this process, if the system reports it.
    #[cfg(target_os = "linux")]
    fn now() -> Option<Self> {
        #[expect(clippy::disallowed_methods, reason = "a file of the system's, not of the vault")]
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        Self::read(&status)
    }

    /// The memory of this process, if the system reports it.
    #[cfg(not(target_os = "linux"))]
    fn now() -> Option<Self> {
        None
    }

    /// Parses Linux's `/proc/self/status`.
    #[cfg(any(target_os = "linux", test))]
    fn read(status: &str) -> Option<Self> {
        let bytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
            Some(kilobytes * 1024)
        };
        Some(Self { total: bytes("VmRSS:")?, program: bytes("RssFile:")? + bytes("RssShmem:")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tsteward\nVmHWM:\t  90 kB\nVmRSS:\t   70 kB\nRssAnon:\t   40 kB\n\
                          RssFile:\t   28 kB\nRssShmem:\t    2 kB\nVmData:\t  99 kB\n";

    #[test]
    fn the_system_is_understood() {
        let resident = Resident { total: 70 << 10, program: 30 << 10 };
        assert_eq!(Resident::read(STATUS), Some(resident));
        assert_eq!(Resident::read("Name:\tsteward\nVmRSS:\t   70 kB\n"), None);
    }

    #[test]
    fn parts_add_up_to_all_of_it() {
        let parts = MemoryState {
            catalogue: 1,
            links: 20,
            text_index: 300,
            resident_text: 4_000,
            words: 600_000,
            meaning: 7_000_000,
            store: 50_000,
            ..MemoryState::default()
        };
        let memory = with_resident(parts.clone(), Resident { total: 9_000_000, program: 600_000 });
        assert_eq!((memory.total, memory.program), (Some(9_000_000), Some(600_000)));
        assert_eq!(memory.other, Some(9_000_000 - 600_000 - 7_654_321));
        // Reserved memory that was never touched counts in its part, but not in the system's figure.
        assert_eq!(
            with_resident(parts, Resident { total: 600_010, program: 600_000 }).other,
            Some(0)
        );
    }
}
