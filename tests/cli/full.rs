//! A daemon whose own files are on a full disk.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::machine;
use crate::support::{Daemon, Home, Run};

/// Leaves no byte free.
fn fill(place: &Path) {
    let filler = place.join("filler");
    let mut file = std::fs::File::options().append(true).create(true).open(filler).unwrap();
    let mut room = 1 << 20;
    while room > 0 {
        if file.write_all(&vec![0; room]).is_err() {
            room /= 2;
        }
    }
}

fn read(home: &Home, vault: &Path) -> String {
    home.run_in(vault, &["call", "read_file", "--path", "projects/my note"]).expect(0).stdout
}

fn edit(home: &Home, vault: &Path, old: &str, new: &str) -> Run {
    let edit = ["call", "edit_file", "--path", "projects/my note", "--old-text", old, "--json"];
    home.run_in(vault, &[&edit[..], &["--new-text", new]].concat())
}

/// It serves and reads, changes nothing, and says why.
fn reads_alone(home: &Home, vault: &Path, daemon: &Daemon, text: &str) {
    let status = home.run_in(vault, &["status", "--json"]).expect(0).json();
    assert_eq!(status["running"], true, "{status}");
    assert_eq!(
        status["daemon"]["pid"].as_u64().map(|pid| pid as u32),
        Some(daemon.pid()),
        "{status}"
    );
    let warnings = status.to_string();
    assert!(
        warnings.contains("is full: nothing can be recorded, so changes are refused"),
        "{status}"
    );
    assert!(read(home, vault).contains(text));
    let refused = edit(home, vault, text, "budget of nobody").expect(1);
    assert_eq!(refused.json()["code"], "storage_full", "{refused:?}");
    assert!(read(home, vault).contains(text));
}

#[test]
fn a_full_disk_of_its_own_keeps_the_daemon_from_no_start_and_no_reading() {
    let Some(place) = machine::nearly_full("a_full_disk_and_a_start") else { return };
    let home = Home::new();
    let local = home.path("home/.local");
    std::fs::create_dir_all(&local).unwrap();
    std::os::unix::fs::symlink(&*place, local.join("state")).unwrap();
    let vault = home.vault("Notes");
    let mut daemon = home.serve(&vault);
    edit(&home, &vault, "budget 12", "budget 13").expect(0);
    fill(&place);
    reads_alone(&home, &vault, &daemon, "budget 13");
    // Killed, with everything it had open on the disk.
    daemon.kill();
    fill(&place);
    let mut daemon = home.serve(&vault);
    reads_alone(&home, &vault, &daemon, "budget 13");
    // Stopped properly: the space it had reserved is free for anyone.
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.wait(Duration::from_secs(10)), Some(0));
    fill(&place);
    assert!(read(&home, &vault).contains("budget 13"), "without a daemon");
    let doctor = home.run_in(&vault, &["doctor"]).expect(0).stdout;
    assert!(doctor.contains("its disk is full, so changes are refused"), "{doctor}");
    let refused = edit(&home, &vault, "budget 13", "budget 14").expect(1);
    assert!(refused.stdout.contains("disk is full"), "{refused:?}");
    let daemon = home.serve(&vault);
    reads_alone(&home, &vault, &daemon, "budget 13");
    // There is room again: no restart is needed.
    std::fs::remove_file(place.join("filler")).unwrap();
    edit(&home, &vault, "budget 13", "budget 14").expect(0);
    let status: Value = home.run_in(&vault, &["status", "--json"]).expect(0).json();
    assert!(!status.to_string().contains("is full"), "{status}");
    let log = home.run_in(&vault, &["log", "--diff"]).expect(0).stdout;
    assert!(log.contains("+budget 13") && log.contains("+budget 14"), "{log}");
    home.run_in(&vault, &["undo"]).expect(0);
    assert!(read(&home, &vault).contains("budget 13"));
}
