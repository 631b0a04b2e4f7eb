//! The tool that compares the daemon with other programs still runs, and the daemon finds the same
//! as `rg`: a few hundred patterns in a small vault, over the socket. It checks equality, not time;
//! `benches/compare` measures speed.

use std::path::Path;

use crate::{machine, smoke, vaultgen};

/// Patterns searched here; `benches/compare --smoke` searches more.
const PATTERNS: usize = 300;

#[test]
fn a_few_hundred_patterns_find_what_ripgrep_finds() {
    if !machine::has_program("rg", "a_few_hundred_patterns_find_what_ripgrep_finds") {
        return;
    }
    let scratch = tempfile::tempdir().expect("the machine has room for temporary files");
    let vault = scratch.path().join("vault");
    vaultgen::generate(&vault, smoke::NOTES, 7).expect("the vault can be written");
    let steward = Path::new(env!("CARGO_BIN_EXE_steward"));
    let hits = smoke::check(steward, Path::new("rg"), &vault, scratch.path(), PATTERNS, 7);
    let hits = hits.unwrap_or_else(|error| panic!("{error:#}"));
    // Patterns that find nothing would all agree.
    assert!(hits > PATTERNS / 2, "only {hits} of {PATTERNS} find anything");
}
