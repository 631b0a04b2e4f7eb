//! The tool that compares the daemon with other programs still runs, and what the daemon finds is
//! what `rg` finds: a few hundred patterns in a small vault, over the socket. Equality, and no time;
//! speed is `benches/compare`'s to say.

#[allow(dead_code, reason = "the tool measures with it, too")]
#[path = "../examples/compare/client.rs"]
mod client;
#[allow(dead_code, reason = "the tool measures with it, too")]
#[path = "../examples/compare/daemon.rs"]
mod daemon;
#[path = "support/machine.rs"]
mod machine;
#[allow(dead_code, reason = "the tool writes its page with it")]
#[path = "../examples/compare/report.rs"]
mod report;
#[path = "../examples/compare/smoke.rs"]
mod smoke;
#[allow(dead_code, reason = "the tool measures with it, too")]
#[path = "../examples/compare/timing.rs"]
mod timing;
#[path = "../benches/support/vaultgen.rs"]
mod vaultgen;

use std::path::Path;

/// Patterns asked here; `benches/compare --smoke` asks more.
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
    // Patterns that find nothing would all be equal.
    assert!(hits > PATTERNS / 2, "only {hits} of {PATTERNS} find anything");
}
