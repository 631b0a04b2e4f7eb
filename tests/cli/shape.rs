//! Common properties of all commands.

use std::io::Read;

use crate::support::{Home, finish};

pub const COMMANDS: [&[&str]; 91] = [
    &[],
    &["search"],
    &["find"],
    &["query"],
    &["read"],
    &["list"],
    &["tags"],
    &["today"],
    &["daily"],
    &["new"],
    &["edit"],
    &["copy"],
    &["move"],
    &["delete"],
    &["serve"],
    &["tools"],
    &["call"],
    &["call", "read_file"],
    &["call", "read-file"],
    &["conversations"],
    &["conversations", "list"],
    &["conversations", "show"],
    &["conversations", "search"],
    &["conversations", "export"],
    &["conversations", "end"],
    &["conversations", "delete"],
    &["conversations", "clear"],
    &["inbox"],
    &["inbox", "list"],
    &["inbox", "show"],
    &["inbox", "retry"],
    &["inbox", "discard"],
    &["usage"],
    &["chat"],
    &["links"],
    &["links", "check"],
    &["mode"],
    &["approvals"],
    &["approvals", "pending"],
    &["approvals", "allow"],
    &["approvals", "deny"],
    &["approvals", "list"],
    &["approvals", "revoke"],
    &["audit"],
    &["status"],
    &["token"],
    &["open"],
    &["pair"],
    &["acp"],
    &["setup"],
    &["mcp"],
    &["mcp", "config"],
    &["plugin"],
    &["plugin", "install"],
    &["plugin", "update"],
    &["plugin", "status"],
    &["plugin", "remove"],
    &["vaults"],
    &["doctor"],
    &["models"],
    &["models", "list"],
    &["models", "add"],
    &["models", "remove"],
    &["key"],
    &["key", "set"],
    &["key", "remove"],
    &["key", "status"],
    &["config"],
    &["config", "init"],
    &["config", "path"],
    &["config", "check"],
    &["config", "list"],
    &["config", "get"],
    &["config", "set"],
    &["servers"],
    &["servers", "list"],
    &["servers", "show"],
    &["servers", "allow"],
    &["servers", "add"],
    &["servers", "import"],
    &["servers", "remove"],
    &["servers", "log"],
    &["service"],
    &["service", "install"],
    &["service", "uninstall"],
    &["service", "status"],
    &["service", "restart"],
    &["update"],
    &["uninstall"],
    &["completions"],
    &["man"],
];

#[test]
fn every_command_explains_itself() {
    let home = Home::new();
    for command in COMMANDS {
        let arguments: Vec<_> = command.iter().chain(&["--help"]).collect();
        let run = home.run(&arguments).expect(0);
        assert!(run.stdout.contains("Usage: steward"), "{command:?}: {run:?}");
        assert!(!run.stdout.contains('\x1b'), "no colours into a pipe");
        assert_eq!(run.stderr, "");
    }
    assert!(home.run(&["--help"]).stdout.contains("Exit codes: 0 done"));
    assert!(home.run(&["--version"]).expect(0).stdout.starts_with("steward "));
}

#[test]
fn the_reference_has_every_command() {
    let reference = include_str!("../../docs/cli.md");
    for command in COMMANDS.iter().filter_map(|command| command.first()) {
        assert!(reference.contains(&format!("## steward {command}")), "{command}");
    }
}

#[test]
fn mistakes_are_one_line_with_a_hint() {
    let home = Home::new();
    let cases: [(&[&str], &str, &str); 25] = [
        (&["sevre"], "unrecognized subcommand 'sevre'", "did you mean `serve`?"),
        (&["serve", "--prot", "1"], "unexpected argument '--prot'", "did you mean `--port`?"),
        (&["serve", "--port", "x"], "invalid value 'x' for '--port <N>'", "`steward serve --help`"),
        (&["call", "red_file"], "unrecognized subcommand 'red_file'", "did you mean `read_file`?"),
        (&["call", "read_file", "--pth", "x"], "unexpected argument '--pth'", "`--path`"),
        (&["completions", "tcsh"], "invalid value 'tcsh'", ""),
        (&["edit"], "`steward edit` needs <NAME>", "see `steward edit --help`"),
        (&["trash", "restore"], "`steward trash restore` needs <ITEM>", "restore --help`"),
        (&["serve", "--host", "0.0.0.0"], "unexpected argument '--host'", "this machine alone"),
        (&["plugin", "list"], "unrecognized subcommand 'list'", "`steward plugin status`"),
        (&["index"], "unrecognized subcommand 'index'", "`steward search WORDS`"),
        (&["jobs"], "unrecognized subcommand 'jobs'", "`steward organize jobs`"),
        (&["rules"], "unrecognized subcommand 'rules'", "`steward organize rules check FILE`"),
        (&["quit"], "unrecognized subcommand 'quit'", "Ctrl-C ends `steward serve`"),
        (&["version"], "unrecognized subcommand 'version'", "`steward --version`"),
        (
            &["create_file", "x"],
            "unrecognized subcommand 'create_file'",
            "`steward call write_file`",
        ),
        (&["call", "create_file"], "unrecognized subcommand 'create_file'", "mean `write_file`?"),
        (&["call", "grep", "x"], "unrecognized subcommand 'grep'", "did you mean `search_files`?"),
        (&["call", "search", "x"], "unrecognized subcommand 'search'", "`steward search`"),
        (&["config", "show"], "unrecognized subcommand 'show'", "`steward config list`"),
        (&["models", "use"], "unrecognized subcommand 'use'", "`steward setup`"),
        (&["models", "add", "gpt"], "invalid value 'gpt' for '<MODEL>'", "models add --help"),
        (&["frobnicate"], "unrecognized subcommand 'frobnicate'", "see `steward --help`"),
        (&["new", "a", "- [ ] b"], "unexpected argument '- '", "put `--` before a text"),
        (&["new", "a", "--text", "b"], "unexpected argument '--text'", "see `steward new --help`"),
    ];
    for (arguments, message, hint) in cases {
        let run = home.run(arguments).expect(2);
        let lines: Vec<_> = run.stderr.lines().collect();
        assert_eq!(lines.len(), 2, "{run:?}");
        assert!(lines[0].starts_with("error: ") && lines[0].contains(message), "{run:?}");
        assert!(lines[1].starts_with("hint: ") && lines[1].contains(hint), "{run:?}");
        let json: Vec<_> = ["--json"].iter().chain(arguments).collect();
        assert_eq!(home.run(&json).expect(2).json()["code"], "usage");
    }
    let run = home.run(&[] as &[&str]).expect(2);
    assert!(run.stderr.contains("Usage: steward"), "{run:?}");
}

/// The completions of the last of `words` by bash's script.
fn offered(home: &Home, vault: &std::path::Path, words: &[&str]) -> Vec<String> {
    let line: Vec<_> = ["--", "steward"].iter().chain(words).collect();
    let mut command = home.steward(&line);
    command.current_dir(vault).env("STEWARD_COMPLETE", "bash");
    command.env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    let run = finish(command).expect(0);
    assert_eq!(run.stderr, "");
    run.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn completions_know_commands_tools_notes_settings_and_changes() {
    let home = Home::new();
    let vault = home.vault("Notes");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = home.run(&["completions", shell]).expect(0).stdout;
        assert!(script.contains("STEWARD_COMPLETE") && script.len() < 5_000, "{shell}: {script}");
        let own = [("bash", "-o filenames"), ("zsh", "== _steward"), ("zsh", "other -U")];
        let own = own.iter().filter(|(name, _)| *name == shell);
        own.for_each(|(_, part)| assert!(script.contains(part), "{shell}: {script}"));
    }
    std::fs::write(vault.join("Tomato.md"), "").unwrap();
    std::fs::write(vault.join("Herb.md"), "---\naliases: [oregano, Old herb]\n---\n").unwrap();
    home.run_in(&vault, &["new", "Plan"]).expect(0);
    home.run_in(&vault, &["delete", "Plan.md"]).expect(0);
    std::fs::create_dir_all(vault.join(".trash")).unwrap();
    std::fs::write(vault.join(".trash/Stray.md"), "").unwrap();
    home.write_obsidian_list(&[(&vault, false)]);
    let cases: [(&[&str], &str); 18] = [
        (&["sea"], "search"),
        (&["call", "read_f"], "read_file"),
        (&["call", "read_file", "--start"], "--start-line"),
        (&["read", "tom"], "Tomato"),
        (&["read", "OREG"], "oregano"),
        (&["links", "old h"], "Old herb"),
        (&["call", "read_file", "tom"], "Tomato"),
        (&["call", "read_file", "--path", "tom"], "Tomato"),
        (&["move", "my"], "Projects/My Note"),
        (&["move", "projects/my\\ n"], "Projects/My Note"),
        (&["move", "projects/my n"], "Projects/My Note"),
        (&["move", "'projects/my"], "Projects/My Note"),
        (
            &["status", "--vault", "./Proj"],
            if cfg!(windows) { r".\Projects" } else { "./Projects" },
        ),
        (&["config", "set", "models.ch"], "models.chain"),
        (&["undo", "1"], "1"),
        (&["restore", "Pl"], "Plan.md"),
        (&["restore", "Str"], "Stray.md"),
        (&["status", "--vault", "No"], "Notes"),
    ];
    for _daemon in [None, Some(home.serve(&vault))] {
        for (words, wanted) in cases {
            let found = offered(&home, &vault, words);
            assert!(found.iter().any(|one| one == wanted), "{words:?}: {found:?}");
        }
    }
    // Outside a vault there are no completions, and no message.
    assert_eq!(offered(&home, &home.path("home"), &["read", "zzz"]), [""; 0]);
}

#[test]
fn every_command_has_a_man_page() {
    let home = Home::new();
    let folder = home.path("elsewhere/share/man1");
    home.run(&["man", folder.to_str().unwrap()]).expect(0);
    for page in
        ["steward.1", "steward-log.1", "steward-trash-restore.1", "steward-call-read_file.1"]
    {
        assert!(std::fs::read_to_string(folder.join(page)).unwrap().contains(".SH NAME"), "{page}");
    }
    let printed = home.run(&["man"]).expect(0).stdout;
    assert!(printed.contains(".TH steward") && printed.contains("vault"), "{printed}");
    assert!(printed.contains("config"), "the global options stand in it: {printed}");
}

#[test]
fn colours_follow_the_flag_and_the_variable() {
    let home = Home::new();
    assert!(!home.run(&["tools"]).expect(0).stdout.contains('\x1b'));
    assert!(home.run(&["tools", "--color", "always"]).expect(0).stdout.contains('\x1b'));
    assert!(!home.run(&["tools", "--color", "never"]).expect(0).stdout.contains('\x1b'));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let home = Home::new();
    for arguments in [&["tools", "--json"][..], &["completions", "zsh"], &["--help"]] {
        let mut child = home.steward(arguments).spawn().unwrap();
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments:?} {stderr}");
        assert_eq!(stderr, "", "{arguments:?}");
    }
}

#[test]
fn without_a_home_there_is_a_clear_error() {
    let home = Home::new();
    let mut command = home.steward(&["vaults"]);
    for name in ["HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"] {
        command.env_remove(name);
    }
    // If the system's user list has a home folder there is nothing to report.
    let run = finish(command);
    assert!(run.code == 0 || run.stderr.contains("no home folder is known"), "{run:?}");
}

#[test]
fn help_has_examples_groups_and_the_global_options_once() {
    let home = Home::new();
    let help = home.run(&["help"]).expect(0).stdout;
    assert_eq!(help, home.run(&["--help"]).expect(0).stdout);
    assert_eq!(help, home.run(&["-h"]).expect(0).stdout);
    let order = ["Examples:", "Notes:", "Changes:", "Daemon:", "Global options:", "Exit codes:"];
    let places: Vec<_> = order.map(|heading| help.find(heading).unwrap()).into();
    assert!(places.is_sorted(), "{help}");
    assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    assert!(help.contains("  undo     Undo a change (the last one by default)\n"), "{help}");
    for command in [&["log"][..], &["links"], &["call", "read_file"], &["trash", "list"]] {
        let run = home.run(&[command, &["--help"]].concat()).expect(0);
        assert!(run.stdout.contains("Global options: --vault"), "{run:?}");
        assert!(!run.stdout.contains("--log-level <"), "{run:?}");
    }
    assert!(home.run(&["log", "--help"]).expect(0).stdout.contains("steward log --diff -n 3"));
}
