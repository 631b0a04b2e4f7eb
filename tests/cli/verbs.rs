//! The everyday commands, with a daemon and without.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use serde_json::json;

use crate::support::{Home, finish_with};

/// A vault of a few notes, whose deleted files stay in it.
fn garden(home: &Home) -> PathBuf {
    let vault = home.vault("Garden");
    let write = |name: &str, text: &str| std::fs::write(vault.join(name), text).unwrap();
    write(".obsidian/app.json", r#"{"trashOption": "local"}"#);
    write("Tomato.md", "# Tomato\n\nNever before the last frost. (why?)\n#vegetable\n");
    write("Home.md", "[[Tomato]] and [[Projects/My Note]] #index\n");
    // Lists begin with the newest, and files written at once have equal times.
    for (seconds, name) in [(1, "Projects"), (2, "Tomato.md"), (3, "Home.md")] {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds);
        settable(&vault.join(name)).set_modified(time).unwrap();
    }
    vault
}

/// A file or a folder, opened so that its time can be set.
fn settable(path: &Path) -> File {
    let mut options = File::options();
    #[cfg(unix)]
    options.read(true);
    #[cfg(windows)]
    {
        // FILE_FLAG_BACKUP_SEMANTICS, without which a folder cannot be opened.
        use std::os::windows::fs::OpenOptionsExt;
        options.write(true).custom_flags(0x0200_0000);
    }
    options.open(path).unwrap()
}

fn read(vault: &Path, name: &str) -> String {
    std::fs::read_to_string(vault.join(name)).unwrap()
}

/// A morning's work with the everyday commands; returns what each printed.
fn morning(home: &Home, vault: &Path) -> Vec<String> {
    let run = |arguments: &[&str]| home.run_in(vault, arguments);
    let mut said = Vec::new();
    let mut says = |arguments: &[&str], part: &str| {
        let run = run(arguments).expect(0);
        assert!(run.stdout.contains(part), "{arguments:?} said {run:?}, without {part:?}");
        said.push(run.stdout);
    };
    says(&["search", "last", "frost"], "Tomato.md (1 match)\n  3: Never before the last frost");
    says(&["search", "(why?)"], "Tomato.md (1 match)");
    says(&["search", "-E", "f.ost$|why"], "Tomato.md (1 match)");
    says(&["search", "-l", "frost"], "Tomato.md\n[matches in 1 file");
    says(&["search", "frost", "--in", "Projects"], "no line matches `frost`");
    says(&["read", "tomato.md"], "# Tomato\n\nNever before");
    says(&["read", "tomato.md", "--lines", "3-"], "Tomato.md\n3: Never");
    says(&["list"], "Projects/");
    says(&["list", "projects"], "Projects/My Note.md");
    says(&["list", "*.md"], "Home.md");
    says(&["list", "-n", "1"], "go on with --first-result 2, raise --limit");
    says(&["tags"], "#index");
    says(&["links", "Home.md"], "2 links in it");
    says(&["new", "Plans/Version 1.2", "dig", "first"], "created `Plans/Version 1.2.md`");
    assert_eq!(read(vault, "Plans/Version 1.2.md"), "dig first\n");
    says(&["copy", "Tomato.md", "Plants/Tomato", "--dry-run"], "would copy");
    assert!(!vault.join("Plants").exists());
    says(&["copy", "Tomato.md", "Plants/Pepper"], "copied `Tomato.md` to `Plants/Pepper.md`");
    assert_eq!(read(vault, "Plants/Pepper.md"), read(vault, "Tomato.md"));
    says(&["undo"], "Plants/Pepper.md");
    assert!(!vault.join("Plants/Pepper.md").exists());
    says(&["move", "Tomato.md", "Plants/Tomatoes", "--dry-run"], "Home.md");
    says(&["move", "Tomato.md", "Plants/Tomatoes"], "Plants/Tomatoes.md");
    assert!(read(vault, "Home.md").contains("[[Tomatoes]]"), "{}", read(vault, "Home.md"));
    says(&["delete", "plants/tomatoes.md"], "deleted");
    assert!(!vault.join("Plants/Tomatoes.md").exists());
    says(&["daily", "2026-11-21", "--append", "- [ ] rake"], "2026-11-21.md");
    assert_eq!(read(vault, "2026-11-21.md"), "- [ ] rake\n");
    says(&["daily", "2026-11-21"], "rake");
    said.iter().map(|said| without_revisions(said)).collect()
}

/// A file's revision contains its times.
fn without_revisions(said: &str) -> String {
    said.split(' ').filter(|word| word.trim_end().len() < 32).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_morning_takes_no_tool_by_its_name_with_a_daemon_and_without() {
    let (home, other) = (Home::new(), Home::new());
    let directly = morning(&home, &garden(&home));
    let vault = garden(&other);
    let _daemon = other.serve(&vault);
    assert_eq!(morning(&other, &vault), directly);
}

#[test]
fn a_new_note_never_takes_the_place_of_another() {
    let home = Home::new();
    let vault = garden(&home);
    let run = home.run_in(&vault, &["new", "Home", "mine"]).expect(1);
    assert!(run.stderr.contains("`steward edit Home`"), "{run:?}");
    assert!(read(&vault, "Home.md").starts_with("[[Tomato]]"));
    // A note of that name in another folder is reported, and another one is created only on
    // request.
    let twin = home.run_in(&vault, &["new", "my note"]).expect(1);
    // `cmd` has no single quotes.
    let quote = if cfg!(windows) { '"' } else { '\'' };
    let command = format!("`steward edit {quote}Projects/My Note.md{quote}`");
    assert!(twin.stderr.contains(&command), "{twin:?}");
    let call = ["call", "write_file", "my note", "--content", "x"];
    let twin = home.run_in(&vault, &call).expect(1);
    assert!(twin.stderr.contains("give `--create`"), "{twin:?}");
    home.run_in(&vault, &["new", "my note", "--create"]).expect(0);
    assert!(vault.join("my note.md").exists());
    let mut command = home.steward(&["new", "Piped", "-", "--json"]);
    command.current_dir(&vault);
    let made = finish_with(command, "one\ntwo".as_bytes()).expect(0).json();
    assert_eq!(made["path"], "Piped.md");
    assert_eq!(read(&vault, "Piped.md"), "one\ntwo\n");
}

#[test]
fn a_note_is_read_whole_however_long_it_and_its_lines_are() {
    let home = Home::new();
    let vault = garden(&home);
    let long = format!("{}\nshort\n", "é—ab".repeat(3_000));
    let text = format!("{long}{}", "one line of many\n".repeat(5_000));
    std::fs::write(vault.join("Long.md"), &text).unwrap();
    for _daemon in [None, Some(home.serve(&vault))] {
        let said = home.run_in(&vault, &["read", "long.md"]).expect(0).stdout;
        assert!(said == text, "{} bytes of {}", said.len(), text.len());
    }
}

/// `steward edit` with a piece of shell script as the editor; `$1` is the copy.
#[cfg(unix)]
fn edit(home: &Home, vault: &Path, name: &str, script: &str) -> crate::support::Run {
    let mut command = home.steward(&["edit", name]);
    command.current_dir(vault).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("VISUAL", format!("sh -c '{script}' editor"));
    crate::support::finish(command)
}

#[test]
#[cfg(unix)]
fn an_edit_is_saved_through_the_journal_and_keeps_the_endings_of_lines() {
    let home = Home::new();
    let vault = garden(&home);
    std::fs::write(vault.join("Dos.md"), "one\r\ntwo\r\nthree").unwrap();
    let said = edit(&home, &vault, "dos.md", "sed -i s/two/2/ \"$1\"").expect(0).stdout;
    assert!(said.contains("-two") && said.contains("+2"), "{said}");
    assert_eq!(read(&vault, "Dos.md"), "one\r\n2\r\nthree");
    home.run_in(&vault, &["undo"]).expect(0);
    assert_eq!(read(&vault, "Dos.md"), "one\r\ntwo\r\nthree");
    let said = edit(&home, &vault, "Dos.md", "true").expect(0).stdout;
    assert_eq!(said, "`Dos.md` is unchanged\n");
    // Lines too long to be shown whole lose nothing.
    let long = "x".repeat(5_000);
    std::fs::write(vault.join("Wide.md"), format!("a\n{long}\n")).unwrap();
    edit(&home, &vault, "Wide.md", "sed -i s/^a/b/ \"$1\"").expect(0);
    assert_eq!(read(&vault, "Wide.md"), format!("b\n{long}\n"));
    // Only changed lines are counted, although everything from the first to the last changed line
    // is replaced.
    std::fs::write(vault.join("Three.md"), "old\nsame\nold\n").unwrap();
    let said = edit(&home, &vault, "Three.md", "sed -i s/old/new/ \"$1\"").expect(0).stdout;
    assert!(said.contains("2 lines added, 2 lines removed"), "{said}");
    let without = home.run_in(&vault, &["edit", "Wide.md"]).expect(1).stderr;
    assert!(without.contains("no terminal") && without.contains("EDITOR"), "{without}");
    let drafts = std::fs::read_dir(home.state().join("drafts")).unwrap().count();
    assert_eq!(drafts, 0, "no copy is left of what was saved");
}

#[test]
#[cfg(unix)]
fn a_note_changed_meanwhile_stays_and_the_edited_text_is_saved() {
    let home = Home::new();
    let vault = garden(&home);
    let path = vault.join("Home.md");
    let meanwhile = format!("echo theirs > {}; echo mine > \"$1\"", path.display());
    let run = edit(&home, &vault, "Home.md", &meanwhile).expect(1);
    assert_eq!(read(&vault, "Home.md"), "theirs\n");
    assert!(run.stderr.contains("`steward edit Home.md`"), "{run:?}");
    let draft = run.stderr.split('`').find(|part| part.contains("drafts")).unwrap().to_owned();
    assert_eq!(std::fs::read_to_string(&draft).unwrap(), "mine\n");
    // An editor that fails after it wrote loses nothing either, and its copy gets a name of its
    // own.
    let run = edit(&home, &vault, "Home.md", "echo more > \"$1\"; false").expect(1);
    assert!(run.stderr.contains("2 Home.md") && run.stderr.contains("ended with"), "{run:?}");
    assert_eq!(std::fs::read_to_string(&draft).unwrap(), "mine\n");
    assert_eq!(read(&vault, "Home.md"), "theirs\n");
    let run = edit(&home, &vault, "Home.md", "false").expect(1);
    assert!(!run.stderr.contains("drafts"), "nothing was written: {run:?}");
}

#[test]
fn today_lists_open_tasks_that_are_due() {
    let home = Home::new();
    let vault = garden(&home);
    let today = chrono::Local::now().date_naive();
    let tomorrow = today.succ_opt().unwrap();
    let mut text = format!(
        "- [ ] water 📅 {today}\n- [x] done 📅 {today}\n- [-] off 📅 {today}\n- [ ] later 📅 {tomorrow}\n- [ ] none\n\
         > 1. [/] begun [due:: 2024-02-29] #x\n"
    );
    std::fs::write(vault.join("Tasks.md"), &text).unwrap();
    let found = home.run_in(&vault, &["today", "--json"]).expect(0).json();
    let wanted = json!([
        {"path": "Tasks.md", "line": 6, "due": "2024-02-29", "text": "begun [due:: 2024-02-29] #x"},
        {"path": "Tasks.md", "line": 1, "due": today.to_string(), "text": format!("water 📅 {today}")},
    ]);
    assert_eq!((&found["tasks"], &found["whole"]), (&wanted, &json!(true)));
    // More matches in one note, far apart, than a search shows.
    for _ in 0..20 {
        text.push_str(&format!("\n\n\n- [ ] again 📅 {today}\n"));
    }
    std::fs::write(vault.join("Tasks.md"), &text).unwrap();
    let said = home.run_in(&vault, &["today"]).expect(0).stdout;
    assert!(said.ends_with("[22 tasks]\n"), "{said}");
    assert!(said.contains(&format!("{today}  water 📅 {today}  Tasks.md:1\n")), "{said}");
}

#[test]
fn words_of_other_programs_lead_to_ours() {
    let home = Home::new();
    let cases: [(&[&str], &str); 15] = [
        (&["grep", "x"], "steward search WORDS"),
        (&["ls"], "steward list"),
        (&["cat", "x"], "steward read NAME"),
        (&["rm", "x"], "steward delete NAME"),
        (&["cp", "x", "y"], "steward copy NAME NEW-NAME"),
        (&["mv", "x", "y"], "steward move NAME NEW-NAME"),
        (&["rg", "x"], "steward search WORDS"),
        (&["init"], "steward serve --vault PATH"),
        (&["list_files"], "steward list"),
        (&["read-file", "x"], "steward read"),
        (&["edit_file"], "steward call edit_file"),
        (&["call", "search", "x"], "steward search"),
        (&["chat", "--session", "3"], "steward chat --conversation N"),
        (&["serach", "x"], "search"),
        (&["call", "red_file"], "read_file"),
    ];
    for (arguments, command) in cases {
        let run = home.run(arguments).expect(2);
        assert!(run.stderr.ends_with(&format!("hint: did you mean `{command}`?\n")), "{run:?}");
    }
}

#[test]
fn an_image_is_described_and_never_edited_as_text() {
    let home = Home::new();
    let vault = garden(&home);
    let dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let dot = base64::engine::general_purpose::STANDARD.decode(dot).unwrap();
    std::fs::write(vault.join("dot.png"), &dot).unwrap();
    let shown = home.run_in(&vault, &["read", "dot.png"]).expect(0);
    assert!(shown.stdout.starts_with("dot.png\nPNG image, 1 × 1 pixels, "), "{shown:?}");
    let refused = home.run_in(&vault, &["edit", "dot.png"]).expect(1);
    assert!(refused.stderr.contains("`dot.png` is no text"), "{refused:?}");
    assert_eq!(std::fs::read(vault.join("dot.png")).unwrap(), dot);
}
