//! Questions on a real terminal, and the effects of typed answers.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::pty::OpenptFlags;

use crate::support::Home;

/// The program on its own terminal.
struct Terminal {
    child: Child,
    master: File,
    seen: String,
}

impl Terminal {
    fn run(home: &Home, folder: &Path, arguments: &[&str]) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = rustix::pty::openpt(flags).unwrap();
        rustix::pty::grantpt(&master).unwrap();
        rustix::pty::unlockpt(&master).unwrap();
        let name = rustix::pty::ptsname(&master, Vec::new()).unwrap();
        let open = || File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let mut command = home.steward(arguments);
        command.current_dir(folder).stdin(open()).stdout(open()).stderr(open());
        let child = command.spawn().unwrap();
        // The rest of the command would keep the terminal open.
        drop(command);
        Self { child, master: master.into(), seen: String::new() }
    }

    /// Reads until `text` appears or the program has ended; returns whether it appeared.
    fn shows(&mut self, text: &str) -> bool {
        let mut bytes = [0; 4096];
        while !self.seen.contains(text) {
            match self.master.read(&mut bytes) {
                // A terminal that no process has open any more.
                Ok(0) | Err(_) => break,
                Ok(read) => self.seen.push_str(&String::from_utf8_lossy(&bytes[..read])),
            }
        }
        self.seen.contains(text)
    }

    fn types(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).unwrap();
    }

    fn ends(&mut self) -> i32 {
        self.shows("\u{0}");
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap_or(-1);
            }
            assert!(Instant::now() < until, "it does not end: {}", self.seen);
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const QUESTION: &str = "? [y/N] ";

#[test]
fn a_person_is_asked_on_the_terminal_and_nothing_is_done_without_a_yes() {
    let home = Home::new();
    let vault = home.vault("Notes");
    home.write_config("[policy]\nmode = \"ask\"\n");
    let note = vault.join("Projects/My Note.md");
    let edit = [
        "call",
        "edit_file",
        "--path",
        "projects/my note",
        "--old-text",
        "12",
        "--new-text",
        "\u{1b}[2J13",
    ];
    let daemon = home.serve(&vault);
    for daemon in [Some(daemon), None] {
        let before = std::fs::read_to_string(&note).unwrap();
        for no in ["n\n", "\n", "nope\n", "Yes please\n", "\u{4}"] {
            let mut terminal = Terminal::run(&home, &vault, &edit);
            assert!(terminal.shows(QUESTION), "{}", terminal.seen);
            terminal.types(no);
            assert_eq!(terminal.ends(), 1, "{no:?}: {}", terminal.seen);
            assert!(terminal.seen.contains("nothing was done"), "{}", terminal.seen);
            assert_eq!(std::fs::read_to_string(&note).unwrap(), before, "{no:?}");
        }
        let mut terminal = Terminal::run(&home, &vault, &edit);
        assert!(terminal.shows(QUESTION), "{}", terminal.seen);
        let seen = terminal.seen.replace("\r\n", "\n");
        assert!(seen.contains("write `Projects/My Note.md`"), "{seen}");
        assert!(seen.contains("    -budget 12"), "{seen}");
        assert!(seen.contains("asked because the mode is `ask`"), "{seen}");
        assert!(seen.contains("edit `Projects/My Note.md`? [y/N] "), "{seen}");
        assert!(!seen.contains('\u{1b}'), "a note drives the terminal: {seen:?}");
        terminal.types("y\n");
        assert_eq!(terminal.ends(), 0, "{}", terminal.seen);
        assert_ne!(std::fs::read_to_string(&note).unwrap(), before);
        let undo = ["call", "undo", "--yes"];
        home.run_in(&vault, &undo).expect(0);
        drop(daemon);
    }
    // Without a terminal nobody is asked.
    let run = home.run_in(&vault, &[&edit[..], &["--json"]].concat()).expect(1);
    assert_eq!(run.json()["code"], "approval_needed");
}

#[test]
fn a_yes_approves_exactly_the_changes_shown() {
    let home = Home::new();
    let vault = home.vault("Notes");
    home.write_config("[policy]\nmode = \"ask\"\n");
    let daemon = home.serve(&vault);
    let write = |path: &str| {
        let write = ["call", "write_file", "--path", path, "--content", "x", "--yes"];
        home.run_in(&vault, &write).expect(0);
    };
    write("First.md");
    let mut terminal = Terminal::run(&home, &vault, &["undo"]);
    assert!(terminal.shows(QUESTION), "{}", terminal.seen);
    assert!(terminal.seen.contains("First.md"), "{}", terminal.seen);
    write("Second.md");
    terminal.seen.clear();
    terminal.types("y\n");
    assert!(terminal.shows(QUESTION), "it is asked again: {}", terminal.seen);
    assert!(terminal.seen.contains("Second.md"), "{}", terminal.seen);
    assert!(terminal.seen.contains("has changed meanwhile"), "{}", terminal.seen);
    assert!(vault.join("First.md").exists() && vault.join("Second.md").exists());
    terminal.types("n\n");
    assert_ne!(terminal.ends(), 0);
    assert!(vault.join("Second.md").exists());
    drop(daemon);
}

#[test]
fn a_note_steers_no_terminal_and_goes_into_a_pipe_as_it_is() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let text = "\u{1b}]0;title\u{7}\u{1b}[2J a\u{202e}b 👩\u{200d}🌾";
    std::fs::write(vault.join("Steers.md"), format!("{text}\n")).unwrap();
    for (tool, input, value) in
        [("read_file", "--path", "steers"), ("search_files", "--pattern", "title")]
    {
        let call = ["call", tool, input, value];
        let mut terminal = Terminal::run(&home, &vault, &call);
        assert_eq!(terminal.ends(), 0, "{}", terminal.seen);
        let shown = "\\u{1b}]0;title\\u{7}\\u{1b}[2J a\\u{202e}b 👩\u{200d}🌾";
        assert!(terminal.seen.contains(shown), "{tool}: {:?}", terminal.seen);
        assert!(!terminal.seen.contains(['\u{7}', '\u{202e}']), "{tool}: {:?}", terminal.seen);
        assert!(home.run_in(&vault, &call).expect(0).stdout.contains(text), "{tool}");
    }
}
