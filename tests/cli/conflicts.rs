//! Conflict copies of sync programs, in the output of `doctor` and `status`.

use crate::support::Home;

#[test]
fn copies_are_listed_and_counted_and_left() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let run = home.run_in(&vault, &["doctor"]).expect(0);
    assert!(!run.stdout.contains("conflicts"), "{}", run.stdout);
    let copy = vault.join("My Note (Conflicted copy phone 202611211030).md");
    std::fs::write(&copy, "theirs").unwrap();
    std::fs::write(vault.join("My Note 12.md"), "no copy").unwrap();
    let run = home.run_in(&vault, &["doctor"]).expect(0);
    let warning = "`My Note (Conflicted copy phone 202611211030).md` looks like a sync program's copy \
                of `My Note.md`";
    assert!(run.stdout.contains(warning), "{}", run.stdout);
    let _daemon = home.serve(&vault);
    let run = home.run_in(&vault, &["status"]).expect(0);
    assert!(run.stdout.contains("conflicts 1 left by sync programs"), "{}", run.stdout);
    let run = home.run_in(&vault, &["status", "--json"]).expect(0);
    assert_eq!(run.json()["status"]["vault"]["conflicts"], 1);
    assert_eq!(std::fs::read_to_string(copy).unwrap(), "theirs");
}
