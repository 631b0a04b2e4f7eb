//! How often a call reads a file, by its system calls.

use std::process::{Command, Stdio};

use crate::machine;
use crate::support::Home;

/// An edit reads the old file once and the displaced file once more, and nothing else.
#[test]
fn an_edit_reads_its_file_twice() {
    if !machine::has_program("strace", "an_edit_reads_its_file_twice") {
        return;
    }
    let home = Home::new();
    let vault = home.vault("vault");
    let text: String = (0..100_000).map(|line| format!("line {line}\n")).collect();
    std::fs::write(vault.join("long.md"), &text).unwrap();

    let record = home.path("strace");
    let edit = ["call", "edit_file", "--direct", "--path", "long.md"];
    let lines = ["--old-text", "line 7\n", "--new-text", "another\n"];
    let steward = home.steward(&[&edit[..], &lines[..]].concat());
    let mut traced = Command::new("strace");
    traced.args(["-f", "-y", "-s", "0", "-e", "trace=read,readv,pread64,preadv,preadv2", "-o"]);
    traced.arg(&record).arg(steward.get_program()).args(steward.get_args()).env_clear();
    traced.envs(steward.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let done = traced.current_dir(&vault).stdin(Stdio::null()).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let edited = std::fs::read_to_string(vault.join("long.md")).unwrap();
    assert_eq!(edited, text.replacen("line 7\n", "another\n", 1));

    // `123 read(9</…/vault/long.md>, ""..., 65536) = 65536`. The displaced file is read once more
    // when nobody can write to it any more, which is long after the answer if a daemon gave it.
    let inside = format!("<{}/", vault.display());
    let record = std::fs::read_to_string(record).unwrap();
    let of_notes = record.lines().filter(|call| call.contains(&inside));
    let of_notes = of_notes.filter(|call| !call.contains("(deleted)"));
    let bytes = of_notes.filter_map(|call| call.rsplit_once(" = ")?.1.parse::<usize>().ok());
    let readings = bytes.sum::<usize>() as f64 / text.len() as f64;
    assert_eq!(readings.round(), 2.0, "{readings}");
}
