//! Settings that change while the daemon runs.

use std::path::Path;

use serde_json::{Value, json};

use crate::door::Client;
use crate::support::{Daemon, Home};

fn client(home: &Home, vault: &Path, daemon: &Daemon) -> Client {
    let token = home.run_in(vault, &["token"]).expect(0).stdout;
    let port = daemon.port();
    Client::connect(port, token.trim_end()).unwrap()
}

/// A client that receives events, and its limits.
fn listener(home: &Home, vault: &Path, daemon: &Daemon) -> (Client, Value) {
    let mut client = client(home, vault, daemon);
    let mut answer = client.initialize();
    client.call("_vault/subscribe", json!({}));
    (client, answer["agentCapabilities"]["_meta"]["vault"]["limits"].take())
}

/// The params of the next notification `method`; another notification about settings is a failure.
fn notification(client: &mut Client, method: &str) -> Value {
    loop {
        let mut message = client.read();
        if message["method"] == method {
            return message["params"].take();
        }
        let other = message["method"].as_str().unwrap_or_default();
        assert!(!other.contains("config"), "{message}");
    }
}

#[test]
fn changed_settings_apply_at_once_and_invalid_ones_change_nothing() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let daemon = home.serve(&vault);
    let (mut old, limits) = listener(&home, &vault, &daemon);
    assert_eq!(limits["maxInFlight"], 32);

    let good =
        "[server]\nmax_in_flight = 3\n[vault]\nmax_file_bytes = 8\n[log]\nformat = \"json\"\n";
    home.write_config(good);
    let news = notification(&mut old, "_vault/config_reloaded");
    assert_eq!(news["changed"], json!(["server.max_in_flight", "vault.max_file_bytes"]));
    assert_eq!(news["needsRestart"], json!(["log.format"]));
    assert!(news["_meta"]["vault"]["seq"].is_u64(), "{news}");
    // The value holds from the next call on, the limits from the next connection on.
    let read = json!({"name": "read_file", "arguments": {"path": "Projects/My Note.md"}});
    let answer = old.call("tools/call", read.clone());
    assert_eq!(answer["result"]["structuredContent"]["code"], "too_large", "{answer}");
    let (_new, limits) = listener(&home, &vault, &daemon);
    assert_eq!(limits["maxInFlight"], 3);

    home.write_config("[server]\nmax_in_flight = 3\nmax_in_flihgt = 4\n");
    let news = notification(&mut old, "_vault/config_rejected");
    assert_eq!((&news["line"], &news["column"]), (&json!(3), &json!(1)), "{news}");
    assert_eq!(news["message"], "unknown key `max_in_flihgt` in [server]");
    assert_eq!(news["file"], home.config_file().to_str().unwrap());
    let answer = old.call("tools/call", read.clone());
    assert_eq!(answer["result"]["structuredContent"]["code"], "too_large", "the old ones hold");
    let status = old.call("_vault/status", json!({}))["result"]["settings"].take();
    assert_eq!(status["problem"]["line"], 3, "{status}");
    assert_eq!(status["needsRestart"], json!(["log.format"]));
    // The command line reads the same file, so the flag names it.
    let elsewhere = home.path("elsewhere/config.toml");
    std::fs::write(&elsewhere, "").unwrap();
    let place = ["--config", elsewhere.to_str().unwrap(), "--vault", vault.to_str().unwrap()];
    let run = home.run(&[&["status"][..], &place].concat()).expect(0);
    assert!(run.stdout.contains("config.toml:3:1: unknown key `max_in_flihgt`"), "{run:?}");
    let run = home.run(&[&["doctor"][..], &place].concat()).expect(0);
    assert!(run.stdout.contains("the daemon keeps the previous settings"), "{run:?}");

    // Like an editor that puts a new file in place of the old one.
    let new_file = home.config_file().with_extension("new");
    std::fs::write(&new_file, "[server]\nmax_in_flight = 3\n").unwrap();
    std::fs::rename(&new_file, home.config_file()).unwrap();
    let news = notification(&mut old, "_vault/config_reloaded");
    assert_eq!(news["changed"], json!(["vault.max_file_bytes"]));
    assert_eq!(news["needsRestart"], json!([]));
    let answer = old.call("tools/call", read);
    assert_eq!(answer["result"]["isError"], false, "{answer}");

    std::fs::write(home.config_file(), "").unwrap();
    let news = notification(&mut old, "_vault/config_rejected");
    assert_eq!(news["message"], "the file is empty");
    std::fs::remove_file(home.config_file()).unwrap();
    let news = notification(&mut old, "_vault/config_reloaded");
    assert_eq!(news["changed"], json!(["server.max_in_flight"]), "defaults, as at a start");
}

#[test]
fn a_new_mode_is_announced_whoever_sets_it() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let daemon = home.serve(&vault);
    let (mut hears, _) = listener(&home, &vault, &daemon);
    home.run_in(&vault, &["mode", "ask"]).expect(0);
    let news = notification(&mut hears, "_vault/mode_changed");
    assert_eq!((&news["mode"], &news["setLive"]), (&json!("ask"), &json!(true)), "{news}");
    // Requests without a new value cause no event.
    home.run_in(&vault, &["mode"]).expect(0);
    home.run_in(&vault, &["mode", "ask"]).expect(0);
    home.run_in(&vault, &["mode", "settings"]).expect(0);
    let next = notification(&mut hears, "_vault/mode_changed");
    assert_eq!((&next["mode"], &next["setLive"]), (&json!("auto"), &json!(false)), "{next}");
    home.write_config("[policy]\nmode = \"read-only\"\n");
    notification(&mut hears, "_vault/config_reloaded");
    let news = notification(&mut hears, "_vault/mode_changed");
    assert_eq!((&news["mode"], &news["setLive"]), (&json!("read-only"), &json!(false)), "{news}");
}

#[test]
fn a_client_changes_what_it_may_and_the_file_keeps_its_comments() {
    let home = Home::new();
    let vault = home.vault("Notes");
    home.run(&["config", "init"]).expect(0);
    let file = || std::fs::read_to_string(home.config_file()).unwrap();
    let template = file();
    let daemon = home.serve(&vault);
    let (mut client, _) = listener(&home, &vault, &daemon);
    let mut set = |key: &str, value: Value| {
        client.call("_vault/settings/set", json!({"key": key, "value": value}))
    };
    let answer = set("vault.max_file_bytes", json!(8));
    let expected = json!({"changed": ["vault.max_file_bytes"], "needsRestart": []});
    assert_eq!(answer["result"], expected, "{answer}");
    let edited = file();
    let default = "#max_file_bytes = 10485760\n";
    assert_eq!(edited, template.replace(default, &format!("{default}max_file_bytes = 8\n")));

    let answer = set("log.format", json!("json"));
    assert_eq!(answer["result"]["needsRestart"], json!(["log.format"]), "{answer}");
    // The tests start daemons with a flag for the port, which takes precedence.
    let answer = set("server.port", json!(1));
    assert_eq!(answer["result"]["overriddenBy"], "--port", "{answer}");
    set("server.port", Value::Null);
    set("log.format", Value::Null);
    assert_eq!(file(), edited);

    let refused = [
        ("server.allowed_origins", json!(["https://evil.example"]), "not_permitted"),
        ("security.landlock", json!(false), "not_permitted"),
        ("journal.max_deleted", json!(0), "not_permitted"),
        ("vault.path", json!("/"), "not_permitted"),
        ("server.max_in_flight", json!(0), "invalid_setting"),
        ("server.max_in_flight", json!("many"), "invalid_setting"),
        ("server.max_in_flihgt", json!(1), "invalid_setting"),
        ("search", json!({"deadline_milliseconds": 1}), "invalid_setting"),
    ];
    for (key, value, kind) in refused {
        let answer = set(key, value);
        assert_eq!(answer["error"]["data"]["kind"], kind, "{key}: {answer}");
    }
    assert_eq!(file(), edited, "nothing was changed");

    let all = client.call("_vault/settings/get", json!({}))["result"].take();
    let find = |key: &str| {
        let settings = all["settings"].as_array().unwrap();
        settings.iter().find(|setting| setting["key"] == key).unwrap().clone()
    };
    let size = find("vault.max_file_bytes");
    assert_eq!((&size["value"], &size["default"]), (&json!(8), &json!(10_485_760)));
    assert_eq!((&size["source"], &size["takesEffect"]), (&json!("file"), &json!("next_call")));
    let port = find("server.port");
    assert_eq!((&port["source"], &port["from"]), (&json!("flag"), &json!("--port")));
    assert_eq!(find("server.allowed_origins")["settable"], false);
    assert!(find("search.deadline_milliseconds")["doc"].as_str().unwrap().contains("returns"));
    let names: Vec<&str> =
        all["settings"].as_array().unwrap().iter().map(|s| s["key"].as_str().unwrap()).collect();
    assert!(names.is_sorted() && names.len() > 20, "{names:?}");
}

#[test]
fn a_person_sets_everything_and_learns_when_it_takes_effect() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let line = |arguments: &[&str]| home.run_in(&vault, &[&["config"], arguments].concat());
    let run = line(&["set", "server.max_in_flight", "5"]).expect(0);
    assert!(run.stdout.starts_with("wrote server.max_in_flight = 5 to "), "{run:?}");
    assert_eq!(line(&["get", "server.max_in_flight"]).expect(0).stdout, "5\n");
    assert_eq!(line(&["get", "server.port", "--json"]).expect(0).json()["default"], 27180);
    line(&["set", "vault.path", "12"]).expect(0);
    assert!(
        line(&["get", "vault.path"]).expect(0).stdout.ends_with("12\n"),
        "a text without quotes"
    );
    line(&["set", "vault.path", "--default"]).expect(0);
    line(&["set", "server.allowed_origins", "[\"app://obsidian.md\", \"app://mine\"]"]).expect(0);
    let failed = line(&["set", "server.prot", "1", "--json"]).expect(2).json();
    assert_eq!(
        (&failed["code"], &failed["hint"]),
        (&json!("invalid_setting"), &json!("did you mean `server.port`?"))
    );
    line(&["set", "server.port", "70000"]).expect(2);
    line(&["get", "server.prot"]).expect(2);

    let daemon = home.serve(&vault);
    let run = line(&["list"]).expect(0);
    assert!(
        run.stdout.contains("server.max_in_flight") && run.stdout.contains("--port"),
        "{run:?}"
    );
    let run = line(&["set", "search.deadline_milliseconds", "900"]).expect(0);
    assert!(run.stdout.contains("it is in effect now"), "{run:?}");
    let run = line(&["set", "server.ping_seconds", "9"]).expect(0);
    assert!(run.stdout.contains("for new connections"), "{run:?}");
    let run = line(&["set", "log.format", "json"]).expect(0);
    assert!(run.stdout.contains("when the daemon restarts"), "{run:?}");
    let run = line(&["set", "server.port", "4"]).expect(0);
    assert!(run.stdout.contains("`--port` overrides it"), "{run:?}");
    let (mut client, _) = listener(&home, &vault, &daemon);
    let status = client.call("_vault/status", json!({}))["result"]["settings"].take();
    assert_eq!(status["needsRestart"], json!(["log.format"]));
}

#[test]
#[cfg(unix)]
fn the_level_of_the_log_changes_at_once() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let mut daemon = home.serve(&vault);
    let (mut one, _) = listener(&home, &vault, &daemon);
    one.call("_vault/settings/set", json!({"key": "log.level", "value": "debug"}));
    let (_two, _) = listener(&home, &vault, &daemon);
    one.call("_vault/settings/set", json!({"key": "log.level", "value": "error"}));
    daemon.signal(rustix::process::Signal::TERM);
    assert_eq!(daemon.wait(std::time::Duration::from_secs(10)), Some(0));
    let log = daemon.stderr();
    assert_eq!(log.matches("a client connected").count(), 1, "{log}");
    assert!(!log.contains("stopped"), "{log}");
}
