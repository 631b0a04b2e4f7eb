//! The tools on real folders: every case of the fault catalogue that a file tool can meet.

mod changes;
mod concurrency;
mod content;
mod history;
mod journal;
mod links;
mod listing;
mod moving;
mod odd;
mod paths;
mod platform;
mod properties;
mod recovery;
mod rewriting;
mod search;
mod swaps;
mod vault;
mod watching;

#[path = "../support/machine.rs"]
mod machine;
