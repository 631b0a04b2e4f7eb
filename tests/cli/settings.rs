//! Settings: the file, the environment, and what is wrong with them.

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
        // Every command that needs settings refuses wrong ones.
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
    assert!(run.stderr.contains("is empty, so the defaults hold"), "{run:?}");
}

#[test]
fn what_init_writes_is_right_and_never_overwrites() {
    let home = Home::new();
    let run = home.run(&["config", "init"]).expect(0);
    assert!(run.stdout.contains("config.toml"), "{run:?}");
    home.run(&["config", "check"]).expect(0);
    let before = std::fs::read(home.config_file()).unwrap();
    let run = home.run(&["config", "init"]).expect(1);
    assert!(run.stderr.contains("exists already"), "{run:?}");
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
fn a_broken_file_does_not_keep_the_doctor_from_looking() {
    let home = Home::new();
    let vault = home.vault("Notes");
    home.write_config("[server]\nprot = 2\n");
    let run = home.run(&["doctor", "--vault", vault.to_str().unwrap()]).expect(1);
    assert!(run.stdout.contains("fail  settings"), "{run:?}");
    assert!(run.stdout.contains("ok    reading"), "{run:?}");
}
