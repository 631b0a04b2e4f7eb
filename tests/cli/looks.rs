//! Output on a terminal: colours, the pager, questions before a folder is served.

use std::path::Path;
use std::process::Command;

use crate::support::Home;
use crate::terminal::Terminal;

fn on_terminal(home: &Home, vault: &Path, arguments: &[&str], more: &[(&str, &str)]) -> Terminal {
    let mut command: Command = home.steward(arguments);
    command.current_dir(vault).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.envs(more.iter().copied());
    Terminal::start(&command, 100)
}

/// Everything that is shown until the program ends.
fn shown(mut terminal: Terminal, last: &str) -> String {
    terminal.expect(last);
    let all = terminal.all();
    assert_eq!(terminal.end(), 0, "{all}");
    all
}

#[test]
fn hits_and_differences_are_coloured_where_colours_are_wanted() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let search = ["search", "BUDGET", "-E"];
    let plain = shown(on_terminal(&home, &vault, &search, &[("NO_COLOR", "1")]), "searched]");
    assert!(!plain.contains('\u{1b}'), "{plain}");
    let plain = shown(on_terminal(&home, &vault, &search, &[]), "searched]");
    assert!(!plain.contains("\u{1b}[31m"), "a capital has to fit: {plain}");
    let hits = shown(on_terminal(&home, &vault, &["search", "budget"], &[]), "searched]");
    assert!(hits.contains("\u{1b}[1mProjects/My Note.md\u{1b}[0m (1 match)"), "{hits}");
    assert!(hits.contains("  \u{1b}[32m2\u{1b}[0m: \u{1b}[31mbudget\u{1b}[0m 12"), "{hits}");

    std::fs::write(vault.join("a.md"), "- one\n- two\n").unwrap();
    let edit = ["call", "edit_file", "a", "--old-text", "- one", "--new-text", "+ one"];
    let edited = shown(on_terminal(&home, &vault, &edit, &[]), "two");
    assert!(edited.contains("\u{1b}[31m-- one\u{1b}[0m"), "{edited}");
    assert!(edited.contains("\u{1b}[32m++ one\u{1b}[0m"), "{edited}");
    let log = shown(on_terminal(&home, &vault, &["log", "--diff"], &[]), "two");
    assert!(log.contains("\u{1b}[31m          -- one\u{1b}[0m"), "{log}");
    assert!(log.contains("1.1  modified"), "{log}");
    let forced = home.run_in(&vault, &["search", "budget", "--color", "always"]).expect(0).stdout;
    assert!(forced.contains("\u{1b}[31mbudget\u{1b}[0m"), "{forced}");
    assert!(!home.run_in(&vault, &["log", "-d"]).expect(0).stdout.contains('\u{1b}'));
}

#[test]
fn long_output_goes_through_the_pager() {
    let home = Home::new();
    let vault = home.vault("Notes");
    std::fs::write(vault.join("Long.md"), "a line\n".repeat(200) + "the end\n").unwrap();
    let pager = [("PAGER", "sed s/^/paged:/")];
    let long = shown(on_terminal(&home, &vault, &["read", "long"], &pager), "the end");
    assert!(long.contains("paged:a line") && long.contains("paged:the end"), "{long}");
    let short = ["read", "projects/my note"];
    let short = shown(on_terminal(&home, &vault, &short, &pager), "budget 12");
    assert!(!short.contains("paged:"), "{short}");
    // A pager that does not exist, and none at all.
    for pager in ["no-such-pager", ""] {
        let long = on_terminal(&home, &vault, &["read", "long"], &[("PAGER", pager)]);
        assert!(shown(long, "the end").contains("a line"), "{pager:?}");
    }
    let piped = home.run_in(&vault, &["read", "long"]).expect(0).stdout;
    assert!(piped.ends_with("the end\n"), "nobody pages a pipe");
}

#[test]
fn a_folder_that_is_not_a_vault_is_asked_about() {
    let home = Home::new();
    let plain = home.path("vaults/plain");
    std::fs::create_dir_all(&plain).unwrap();
    let serve = ["serve", "--port", "0", "--vault", plain.to_str().unwrap()];
    let mut refused = on_terminal(&home, &plain, &serve, &[]);
    refused.expect("is not a vault yet");
    refused.expect("[y/N] ");
    refused.press("\r");
    refused.expect("`--yes` serves this one");
    assert_eq!(refused.end(), 4);
    let mut served = on_terminal(&home, &plain, &serve, &[]);
    served.expect("[y/N] ");
    served.press("y\r");
    served.expect("ready: serving");
    served.expect("next, in another terminal:");
    served.press("\u{3}");
    assert_eq!(served.end(), 0);
}

#[test]
fn a_job_in_one_piece_shows_how_far_it_is() {
    let home = Home::new();
    let vault = home.vault("Notes");
    std::fs::create_dir(vault.join("In")).unwrap();
    for at in 0..120 {
        std::fs::write(vault.join(format!("In/n{at}.md")), format!("[[n{}]]\n", at + 1)).unwrap();
    }
    let rules = home.path("elsewhere/rules.yaml");
    let text = "rules:\n  - name: Out\n    in: [In]\n    do: [{ tag: [moved] }, { move: Out }]\n";
    std::fs::write(&rules, text).unwrap();
    let daemon = home.serve(&vault);
    for daemon in [Some(daemon), None] {
        let plan = ["organize", "plan", rules.to_str().unwrap(), "--json"];
        let plan = home.run_in(&vault, &plan).expect(0).json()["plan"].to_string();
        let apply = on_terminal(&home, &vault, &["organize", "apply", &plan, "--yes"], &[]);
        let all = shown(apply, "is done: ");
        // The second time the journal already has the texts. Not every fast step is drawn.
        let phases = ["storing texts: ", "writing files: ", "putting files in place: "];
        assert!(phases.iter().any(|phase| all.contains(phase)), "{all}");
        let job = if daemon.is_some() { "1" } else { "2" };
        home.run_in(&vault, &["organize", "undo", job, "--yes"]).expect(0);
        drop(daemon);
    }
}

#[test]
fn opening_the_chat_offers_to_start_a_daemon() {
    let home = Home::new();
    let vault = home.vault("Notes");
    home.write_config("[server]\nport = 0\n");
    // No browser is found, so none is opened.
    let nowhere = home.path("elsewhere");
    let open = || on_terminal(&home, &vault, &["open"], &[("PATH", nowhere.to_str().unwrap())]);
    let mut refused = open();
    refused.expect("Start one in the background?");
    refused.press("n\r");
    refused.expect("start it with `steward serve --vault");
    assert_eq!(refused.end(), 1);
    let mut agreed = open();
    agreed.expect("[y/N]");
    agreed.press("y\r");
    agreed.expect("http://127.0.0.1:");
    assert_eq!(agreed.end(), 0);
    let running = home.run_in(&vault, &["status", "--json"]).expect(0).json();
    let pid = i32::try_from(running["daemon"]["pid"].as_i64().unwrap()).unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
}
