//! The tools on real folders: every case of the fault catalogue that a file tool can meet.

mod as_of;
mod changes;
mod circles;
mod concurrency;
mod conflicts;
mod content;
mod copying;
mod daily;
mod departed;
mod duplicates;
mod emptied_folders;
mod finding;
mod following;
mod guards;
mod history;
mod images;
mod jobs;
mod jobs_cut_short;
mod jobs_in_part;
mod journal;
mod keeping;
mod links;
mod listing;
mod long_history;
mod meanwhile;
mod memory;
mod mentions;
mod move_limits;
mod moving;
mod names;
mod naming;
#[cfg(target_os = "linux")]
mod nonblocking;
mod odd;
mod outline;
mod overwritten;
mod paths;
mod pdfs;
mod platform;
mod properties;
mod property_changes;
mod query;
mod query_recorded;
mod recovery;
#[cfg(target_os = "linux")]
mod refusals;
mod rewriting;
mod search;
mod swaps;
mod tags;
mod trash;
mod undoing;
mod vault;
mod watching;
#[cfg(target_os = "linux")]
mod watching_together;

#[path = "../support/abilities.rs"]
mod abilities;
#[path = "../support/machine.rs"]
mod machine;
#[path = "../support/races.rs"]
mod races;
#[path = "../support/swap.rs"]
mod swap;
#[path = "../../benches/support/vaultgen.rs"]
mod vaultgen;
