//! What every command has in common.

use std::io::Read;

use crate::support::{Home, finish};

const COMMANDS: [&[&str]; 56] = [
    &[],
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
    &["approvals", "list"],
    &["approvals", "revoke"],
    &["audit"],
    &["status"],
    &["token"],
    &["open"],
    &["pair"],
    &["plugin"],
    &["plugin", "install"],
    &["plugin", "update"],
    &["plugin", "status"],
    &["plugin", "remove"],
    &["vaults"],
    &["doctor"],
    &["models"],
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
    &["service"],
    &["service", "install"],
    &["service", "uninstall"],
    &["service", "status"],
    &["completions"],
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
fn every_command_stands_in_the_reference() {
    let reference = include_str!("../../docs/cli.md");
    for command in COMMANDS.iter().filter_map(|command| command.first()) {
        assert!(reference.contains(&format!("## steward {command}")), "{command}");
    }
}

#[test]
fn mistakes_are_one_line_with_a_hint() {
    let home = Home::new();
    let cases: [(&[&str], &str, &str); 6] = [
        (&["sevre"], "unrecognized subcommand 'sevre'", "did you mean `serve`?"),
        (&["serve", "--prot", "1"], "unexpected argument '--prot'", "did you mean `--port`?"),
        (&["serve", "--port", "x"], "invalid value 'x' for '--port <N>'", "--help"),
        (&["call", "red_file"], "unrecognized subcommand 'red_file'", "did you mean `read_file`?"),
        (&["call", "read_file", "--pth", "x"], "unexpected argument '--pth'", "`--path`"),
        (&["completions", "tcsh"], "invalid value 'tcsh'", ""),
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

#[test]
fn completions_know_tools_and_their_flags() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = home.run(&["completions", shell]).expect(0).stdout;
        assert!(script.contains("read_file"), "{shell}");
        assert!(script.contains("start-line"), "{shell}");
    }
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
    // Where the system's user list still knows a home there is nothing to complain of.
    let run = finish(command);
    assert!(run.code == 0 || run.stderr.contains("no home folder is known"), "{run:?}");
}
