//! The repository's other parts: the sample vault, the generator of the benchmarks' vaults, the inputs of the fuzz
//! targets, the names of all files, and the tool that compares the daemon with other programs.

mod checkout;
// The tool's files name each other from the root of a program.
#[allow(dead_code, reason = "the tool measures with it, too")]
#[path = "../../examples/compare/client.rs"]
mod client;
mod compare;
#[allow(dead_code, reason = "the tool measures with it, too")]
#[path = "../../examples/compare/daemon.rs"]
mod daemon;
mod fuzz_corpus;
#[path = "../support/fuzzing.rs"]
mod fuzzing;
mod generated;
#[path = "../support/machine.rs"]
mod machine;
#[allow(dead_code, reason = "the tool writes its page with it")]
#[path = "../../examples/compare/report.rs"]
mod report;
mod sample_vault;
#[path = "../../examples/compare/smoke.rs"]
mod smoke;
#[allow(dead_code, reason = "the tool measures with it, too")]
#[path = "../../examples/compare/timing.rs"]
mod timing;
#[path = "../../benches/support/vaultgen.rs"]
mod vaultgen;
