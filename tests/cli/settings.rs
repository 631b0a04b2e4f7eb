//! Settings: the file, the environment, and errors in them.

use crate::support::{Home, finish};

#[test]
fn faults_name_file_line_column_and_the_right_key() {
    let home = Home::new();
    let cases = [
        ("[server]\nport = 1\nprot = 2\n", 3, 1, "unknown key `prot`", "did you mean `port`?"),
        ("[srever]\n", 1, 2, "unknown key `srever`", "did you mean `server`?"),
        ("[server]\nport = \"x\"\n", 2, 8, "invalid type", ""),
        ("[server]\nport = 70000\n", 2, 8, "invalid value", ""),
        ("[server]\nmax_connections = 0\n", 2, 19, "`max_connections`", ""),
        ("[server]\nmax_pending_handshakes = 0\n", 2, 26, "at least 1", ""),
        ("[server]\nmax_connections = 15\n", 2, 19, "at least 16", ""),
        ("[server]\nmax_message_bytes = 1\n", 2, 21, "at least 65536", ""),
        ("[server]\n\nmax_in_flight = 0\n", 3, 17, "`max_in_flight`", ""),
        ("[log]\nlevel = \"loud\"\n", 2, 9, "unknown variant", ""),
        ("# fine\n[server\nport = 1\n", 2, 8, "not TOML", ""),
    ];
    for (text, line, column, message, hint) in cases {
        home.write_config(text);
        let failed = home.run(&["config", "check", "--json"]).expect(2).json();
        assert_eq!(failed["code"], "invalid_config", "{text:?}");
        assert_eq!(failed["data"]["line"], line, "{text:?} {failed}");
        assert_eq!(failed["data"]["column"], column, "{text:?} {failed}");
        assert!(failed["message"].as_str().unwrap().contains(message), "{failed}");
        assert!(failed["hint"].as_str().unwrap_or_default().contains(hint), "{failed}");
        // Every command that needs settings refuses invalid ones.
        let run = home.run(&["vaults"]).expect(2);
        assert!(run.stderr.contains(&format!("config.toml:{line}:{column}: ")), "{run:?}");
        assert!(run.stderr.lines().count() <= 2, "{run:?}");
    }
}

#[test]
fn an_empty_file_is_the_defaults_with_a_note() {
    let home = Home::new();
    home.write_config("");
    let run = home.run(&["config", "check"]).expect(0);
    assert!(run.stderr.contains("is empty; using defaults"), "{run:?}");
}

#[test]
fn what_init_writes_is_right_and_never_overwrites() {
    let home = Home::new();
    let run = home.run(&["config", "init"]).expect(0);
    assert!(run.stdout.contains("config.toml"), "{run:?}");
    home.run(&["config", "check"]).expect(0);
    let before = std::fs::read(home.config_file()).unwrap();
    let run = home.run(&["config", "init"]).expect(1);
    assert!(run.stderr.contains("already exists"), "{run:?}");
    assert_eq!(std::fs::read(home.config_file()).unwrap(), before);
    let run = home.run(&["config", "path"]).expect(0);
    assert_eq!(run.stdout.trim_end(), home.config_file().to_str().unwrap());
}

#[test]
fn bad_variables_are_named() {
    let home = Home::new();
    let cases = [("STEWARD_PORT", "http"), ("STEWARD_LOG", "loud"), ("STEWARD_LOG_FORMAT", "xml")];
    for (name, value) in cases {
        let mut command = home.steward(&["config", "check"]);
        command.env(name, value);
        let run = finish(command).expect(2);
        assert!(run.stderr.contains(&format!("`{name}` cannot be `{value}`")), "{run:?}");
    }
}

#[test]
fn a_named_file_must_be_there() {
    let home = Home::new();
    let run = home.run(&["vaults", "--config", "gone.toml"]).expect(2);
    assert!(run.stderr.contains("gone.toml"), "{run:?}");
    let mut command = home.steward(&["config", "check"]);
    command.env("STEWARD_CONFIG", home.path("gone.toml"));
    finish(command).expect(2);
    home.run(&["config", "check"]).expect(0);
}

#[test]
fn a_broken_file_does_not_block_the_daemon_that_runs() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let named = format!("# One's own.\n[vault]\npath = {:?}\n", vault.to_str().unwrap());
    for good in ["# One's own.\n[policy]\nmode = \"auto\"\n", &named] {
        home.write_config(good);
        // If the file names the vault, nothing else does.
        let is_named = good == named;
        let run = |arguments: &[&str]| {
            let mut command = home.steward(arguments);
            if !is_named {
                command.env("STEWARD_VAULT", &vault);
            }
            finish(command)
        };
        let wrong = [format!("{good}bad\n"), format!("{good}[server]\nprot = 1\n")];
        for text in &wrong {
            home.write_config(good);
            let daemon = home.serve(&vault);
            home.write_config(text);
            let status = run(&["status"]).expect(0);
            assert!(status.stdout.contains(vault.to_str().unwrap()), "{status:?}");
            assert!(status.stderr.contains("the settings file has an error"), "{status:?}");
            assert!(status.stderr.contains("config.toml:"), "{status:?}");
            let edit = ["call", "edit_file", "--path", "projects/my note", "--old-text", "12"];
            let edited = run(&[&edit[..], &["--new-text", "13", "--json"]].concat()).expect(0);
            assert!(edited.json()["change_set"].is_u64());
            assert!(run(&["log"]).expect(0).stdout.contains("edit `Projects/My Note.md`"));
            run(&["undo"]).expect(0);
            let note = std::fs::read_to_string(vault.join("Projects/My Note.md")).unwrap();
            assert!(note.contains("budget 12"), "{note}");
            assert!(!run(&["token"]).expect(0).stdout.trim().is_empty());
            let doctor = run(&["doctor"]).expect(1).stdout;
            assert!(doctor.contains("fail  settings"), "{doctor}");
            assert!(doctor.contains("ok    vault"), "{doctor}");
            // With invalid settings nothing is done, not even by the defaults: they may allow what
            // the file forbids.
            let read = ["call", "read_file", "--path", "projects/my note"];
            run(&[&read[..], &["--direct"]].concat()).expect(2);
            drop(daemon);
            let alone = run(&["undo"]).expect(2);
            assert!(alone.stderr.contains("config.toml:"), "{alone:?}");
            let status = run(&["status"]).expect(0);
            assert!(status.stdout.contains("no daemon serves"), "{status:?}");
        }
    }
}

#[test]
fn where_a_broken_file_may_name_another_vault_none_is_taken() {
    let home = Home::new();
    let (mine, other) = (home.vault("Mine"), home.vault("Other"));
    let _daemon = home.serve(&other);
    home.write_config(&format!("[vault]\npath = {}\n", mine.display()));
    let run = home.run_in(&other, &["log"]).expect(2);
    assert!(run.stderr.contains("config.toml:2:"), "{run:?}");
    home.write_config(&format!("[vault]\npath = {:?}\nbad\n", mine.to_str().unwrap()));
    home.run_in(&other, &["log"]).expect(2);
}

#[test]
fn a_broken_file_does_not_keep_the_doctor_from_looking() {
    let home = Home::new();
    let vault = home.vault("Notes");
    home.write_config("[server]\nprot = 2\n");
    let run = home.run(&["doctor", "--vault", vault.to_str().unwrap()]).expect(1);
    assert!(run.stdout.contains("fail  settings"), "{run:?}");
    assert!(run.stdout.contains("ok    reading"), "{run:?}");
}

#[test]
fn a_long_value_moves_no_other_row() {
    let home = Home::new();
    let long = format!("[server]\nallowed_origins = [\"app://{}\"]\n", "x".repeat(300));
    home.write_config(&long);
    let list = home.run(&["config", "list"]).expect(0).stdout;
    let of = |key: &str| list.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
    assert!(of("server.port ").len() < 130, "{list}");
    let column = |key: &str| of(key).find("default").unwrap();
    assert_eq!(column("server.port "), column("search.deadline_milliseconds "), "{list}");
    assert!(of("server.allowed_origins ").ends_with("xxx\"]  file"), "{list}");
}

#[test]
fn mistakes_are_said_in_words_of_a_person() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let set = home.run(&["config", "set", "server.port", "70000"]).expect(2).stderr;
    assert!(set.contains("expected a whole number from 0 to 65535"), "{set}");
    assert!(!set.contains("u16"), "{set}");
    let set = home.run(&["config", "set", "smarthole.enabled", "maybe"]).expect(2).stderr;
    assert_eq!(set, "error: `smarthole.enabled` cannot be \"maybe\": expected `true` or `false`\n");
    let call = |arguments: &[&str]| home.run_in(&vault, &[&["call"], arguments].concat());
    let help = call(&["list_files", "--help"]).expect(0).stdout;
    assert!(help.contains("--sort-by <SORT_BY>") && !help.contains("parameter:"), "{help}");
    let wrong = call(&["list_files", "--sort-by", "foo"]).expect(2).stderr;
    assert!(wrong.contains("--sort-by <SORT_BY>"), "{wrong}");
    assert!(wrong.contains("`steward call list_files --help`"), "{wrong}");
    for number in 0..30 {
        std::fs::write(vault.join(format!("Projects/{number}.md")), "text\n").unwrap();
    }
    let asked = call(&["delete", "--path", "Projects"]).expect(1).stderr;
    assert!(asked.contains("hint: add `--yes`, or run it on a terminal"), "{asked}");
    assert!(!asked.contains("confirmed"), "{asked}");
}

#[test]
fn a_list_is_set_as_people_type_it() {
    let home = Home::new();
    let set = |value: &str| home.run(&["config", "set", "models.chain", value]);
    let get = || home.run(&["config", "get", "models.chain"]).expect(0).stdout;
    set("ollama/qwen3:8b").expect(0);
    assert_eq!(get(), "[\"ollama/qwen3:8b\"]\n");
    set("ollama/a, ollama/b").expect(0);
    assert_eq!(get(), "[\"ollama/a\",\"ollama/b\"]\n");
    set("[ollama/c]").expect(0);
    assert_eq!(get(), "[\"ollama/c\"]\n");
    set("[\"ollama/d\"]").expect(0);
    assert_eq!(get(), "[\"ollama/d\"]\n");
    let wrong = set("nobody/x").expect(2);
    assert!(wrong.stderr.contains("nobody"), "{wrong:?}");
    assert_eq!(get(), "[\"ollama/d\"]\n");
}

#[test]
fn a_setting_by_another_name_is_hinted_right() {
    let home = Home::new();
    let cases = [
        ("agent.model", "models.chain"),
        ("model", "models.chain"),
        ("net.max_in_flight", "server.max_in_flight"),
        ("server.prot", "server.port"),
    ];
    for (typed, meant) in cases {
        for line in [&["config", "set", typed, "x"][..], &["config", "get", typed]] {
            let run = home.run(line).expect(2);
            assert!(run.stderr.ends_with(&format!("hint: did you mean `{meant}`?\n")), "{run:?}");
        }
    }
}

#[test]
fn the_mode_comes_from_the_environment_too() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let mut command = home.steward(&["new", "A", "--json"]);
    command.current_dir(&vault).env("STEWARD_MODE", "read-only");
    assert_eq!(finish(command).expect(1).json()["code"], "denied");
    home.run_in(&vault, &["new", "A"]).expect(0);
}
