//! The program is killed between any two steps, and resumes: each message is processed once.

use std::time::Duration;

use crate::desk::{Desk, adds, counts};
use crate::desktop::Seen;
use crate::home::Daemon;

/// Items that a test has said, and those that were accepted.
fn say(desk: &Desk, number: usize) {
    desk.desktop.say(&format!("id-{number}"), &format!("please add item{number:04}"));
}

fn is_acked(desk: &Desk, number: usize) -> bool {
    desk.desktop.seen().contains(&Seen::Ack { id: format!("id-{number}") })
}

/// Lets the program finish, and retries messages that were set aside.
fn finish(desk: &Desk, said: usize) -> Daemon {
    let daemon = desk.serve();
    for number in 0..said {
        // A person repeats what was not received.
        if !is_acked(desk, number) {
            say(desk, number);
            desk.desktop.acked(&format!("id-{number}"), 1);
        }
    }
    loop {
        let listed = desk.until(&["inbox", "list"], |listed| {
            let messages = listed["messages"].as_array().unwrap();
            let answered = |one: &&serde_json::Value| {
                one["state"] != "set_aside" && !one["reason"].as_str().unwrap().contains("answered")
            };
            !messages.iter().any(|one| answered(&one))
        });
        let messages = listed["messages"].as_array().unwrap();
        let aside = messages.iter().find(|one| one["state"] == "set_aside");
        let Some(aside) = aside else { return daemon };
        desk.json(&["inbox", "retry", &aside["id"].to_string()]);
    }
}

#[test]
fn a_kill_at_each_step_loses_nothing_and_repeats_nothing() {
    let desk = Desk::new(|_, request| adds(request));
    let requests = || desk.server.requests().len();
    let steps: [(&str, &dyn Fn(usize)); 5] = [
        ("sent", &|_| ()),
        ("acknowledged", &|number| desk.desktop.acked(&format!("id-{number}"), 1)),
        ("asked", &|_| {
            while requests() == 0 {
                std::thread::sleep(Duration::from_millis(2))
            }
        }),
        ("done", &|number| {
            while !desk.list().contains(&format!("item{number:04}")) {
                std::thread::sleep(Duration::from_millis(2));
            }
        }),
        ("shown", &|number| drop(desk.desktop.shown(&format!("Added item{number:04}")))),
    ];
    for (number, (_, reached)) in steps.iter().enumerate() {
        let mut daemon = desk.serve();
        say(&desk, number);
        reached(number);
        daemon.kill();
    }
    let _daemon = finish(&desk, steps.len());
    assert_eq!(counts(&desk.list(), steps.len()), [1; 5], "{}", desk.list());
}

/// Kills at random moments. `STEWARD_SMARTHOLE_KILLS` is their number.
#[test]
fn kills_at_any_moment_lose_nothing_and_repeat_nothing() {
    let kills = std::env::var("STEWARD_SMARTHOLE_KILLS").ok().and_then(|kills| kills.parse().ok());
    let kills: usize = kills.unwrap_or(8);
    let desk = Desk::new(|_, request| adds(request));
    let mut said = 0;
    for kill in 0..kills {
        let mut daemon = desk.serve();
        for number in 0..said {
            if !is_acked(&desk, number) {
                say(&desk, number);
            }
        }
        for _ in 0..2 {
            say(&desk, said);
            said += 1;
        }
        // No particular moment is required: over many kills every one occurs.
        let moment = (kill * 7_919 + std::process::id() as usize) % 400;
        std::thread::sleep(Duration::from_millis(moment as u64));
        daemon.kill();
    }
    let _daemon = finish(&desk, said);
    let list = desk.list();
    assert!(counts(&list, said).iter().all(|count| *count == 1), "{list}");
}
