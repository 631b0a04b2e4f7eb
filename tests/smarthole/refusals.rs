//! The steward rejects only messages that it cannot store, with a reason; and a requested shutdown.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;

use crate::desk::{Desk, adds, counts};
use crate::desktop::Seen;
use crate::machine;
use crate::models::{Answer, Step};
use crate::simulated::Keeper;

/// Puts the steward's own files there.
fn with_state(desk: &Desk, place: &Path) {
    let local = desk.home.path("home/.local");
    std::fs::create_dir_all(&local).unwrap();
    std::os::unix::fs::symlink(place, local.join("state")).unwrap();
}

fn rejection(desk: &Desk, id: &str) -> String {
    desk.desktop.until("rejection", |seen| {
        seen.iter().find_map(|one| match one {
            Seen::Reject { id: rejected, reason } if rejected == id => Some(reason.clone()),
            _ => None,
        })
    })
}

#[test]
fn a_full_disk_rejects_only_messages_that_cannot_be_stored() {
    let Some(place) = machine::nearly_full("a_full_disk_and_a_message") else { return };
    let desk = Desk::new(|_, _| Answer::steps(vec![Step::Hang]));
    with_state(&desk, &place);
    let _daemon = desk.serve();
    desk.desktop.say("1", "add item0000");
    desk.desktop.acked("1", 1);
    let filler = place.join("filler");
    let mut room = 1 << 20;
    while room > 0 {
        let mut file = std::fs::File::options().append(true).create(true).open(&filler).unwrap();
        if file.write_all(&vec![0; room]).is_err() {
            room /= 2;
        }
    }
    let long = format!("add item0001 {}", "and so on ".repeat(20_000));
    desk.desktop.say("2", &long);
    assert_eq!(rejection(&desk, "2"), "the disk is full, so nothing can be stored");
    // SmartHole passes a rejected message to another program, never an accepted one.
    desk.desktop.say("1", "add item0000");
    desk.desktop.acked("1", 2);
    std::fs::remove_file(&filler).unwrap();
    desk.desktop.say("2", &long);
    desk.desktop.acked("2", 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_message_that_a_read_only_disk_cannot_keep_is_rejected() {
    const NAME: &str = "a_read_only_disk_and_a_message";
    let Some(place) = machine::remountable(NAME) else { return };
    let disk = place.parent().unwrap();
    let mount = |how: &str| {
        let done = |program: &str, first: &[&str]| {
            let mut run = std::process::Command::new(program);
            run.args(first).args(["-o", how]).arg(disk);
            run.status().is_ok_and(|status| status.success())
        };
        done("mount", &[]) || done("sudo", &["-n", "mount"])
    };
    // Opened again each time: a disk with a file open for writing cannot be remounted.
    assert_eq!(Keeper::at(&place).keep("1", "add item0000"), Ok(()));
    if !mount("remount,ro") {
        return machine::missing(NAME, "permission to remount");
    }
    let refused = std::panic::catch_unwind(|| Keeper::at(&place).keep("2", "add item0001"));
    assert!(mount("remount,rw"), "a disk that other tests need stays read-only");
    assert_eq!(refused.unwrap(), Err("the steward cannot write to its own folder".to_owned()));
    assert_eq!(Keeper::at(&place).keep("2", "add item0001"), Ok(()));
    assert_eq!(Keeper::at(&place).kept(), ["add item0000", "add item0001"]);
}

#[test]
fn an_end_in_the_middle_of_a_message_counts_for_no_attempt() {
    let desk = Desk::new(|number, request| match number {
        // Busy for longer than a shutdown may take.
        0..5 => Answer::steps(vec![Step::Hang]),
        _ => adds(request),
    });
    for times in 1..=5 {
        let mut daemon = desk.serve();
        if times == 1 {
            desk.desktop.say("1", "add item0000");
            desk.desktop.acked("1", 1);
        }
        while desk.server.requests().len() < times {
            std::thread::sleep(Duration::from_millis(5));
        }
        daemon.signal(Signal::TERM);
        assert_eq!(daemon.wait(Duration::from_secs(11)), Some(0), "{}", daemon.stderr());
        let listed = desk.json(&["inbox", "list"])["messages"][0].clone();
        assert_eq!((&listed["state"], &listed["attempts"]), (&"new".into(), &0.into()), "{times}");
    }
    let _daemon = desk.serve();
    desk.desktop.shown("Added item0000");
    desk.idle();
    assert_eq!(counts(&desk.list(), 1), [1]);
    assert!(desk.desktop.seen().iter().all(|one| !matches!(one, Seen::Reject { .. })));
}
