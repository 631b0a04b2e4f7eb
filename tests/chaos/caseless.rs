//! Runs the tools' test suite again with its vaults on exFAT: a file system that ignores case in
//! names, and cannot exchange two files.

use std::process::Command;

use crate::disk::{Disk, Make};
use crate::report::{Line, Tally};

/// Tests that must run there. The others say what they need that exFAT does not support.
const TESTS: u64 = 90;

const EXFAT: Make = Make { kind: "exfat-fuse", program: &["mkfs.exfat"], size: "256M" };

pub fn run() -> Vec<Line> {
    let tally = Tally::all("tests of the tools on exFAT, which ignores case", TESTS);
    let disk = match Disk::new(&EXFAT) {
        Ok(disk) => disk,
        Err(why) => return vec![tally.not_run(format!("root, loop devices and exFAT: {why}"))],
    };
    let list = tempfile::NamedTempFile::new().expect("a temporary file");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // The variables that cargo sets for tests would cause a rebuild of some crates.
    for (name, _) in std::env::vars_os() {
        let set_by_cargo = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_"];
        if set_by_cargo.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    // As `scripts/test` builds them, so that nothing is compiled again.
    command.env_remove("CARGO_PROFILE_DEV_OPT_LEVEL").env_remove("CARGO_PROFILE_DEV_DEBUG");
    let output = command
        .args(["test", "--locked", "--features", "chaos,conformance", "--test", "tools"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("STEWARD_TEST_VAULTS", disk.mounted())
        .env("STEWARD_TEST_NOT_POSSIBLE", list.path())
        .output()
        .expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let failed = text.lines().filter(|line| line.starts_with("test ") && line.ends_with("FAILED"));
    failed.for_each(|line| tally.bad(format!("on exFAT: {line}")));
    // The last summary is the suite's own; others are of tests that start further test runs.
    let summary = text.lines().rev().find_map(|line| line.strip_prefix("test result: ok. "));
    let passed = summary.and_then(|line| line.split(' ').next()?.parse::<u64>().ok());
    let Some(passed) = passed else {
        let what = text.split_once("\nfailures:\n").map(|(_, what)| what);
        let what = what.map_or_else(|| String::from_utf8_lossy(&output.stderr), Into::into);
        tally.bad(format!("the suite failed: {what}"));
        return vec![tally.line("")];
    };
    let list = std::fs::read_to_string(list.path()).expect("it was made above");
    let mut not_possible: Vec<&str> = list.lines().collect();
    not_possible.sort_unstable();
    not_possible.dedup();
    for line in &not_possible {
        println!("not possible on exFAT: {line}");
    }
    let not_possible = not_possible.len() as u64;
    tally.count(passed.saturating_sub(not_possible));
    vec![tally.line(format!("{not_possible} more are not possible there and say why"))]
}
