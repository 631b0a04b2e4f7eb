//! `steward models` and `steward key`.

use serde_json::json;

use crate::door::Client;
use crate::models::{Answer, Server};
use crate::support::{Daemon, Home, Run, finish, finish_with};

const KEY: &str = "sk-canary-42";

/// A home whose settings name one provider, at `url`.
fn home(url: &str) -> Home {
    let home = Home::new();
    home.write_config(&format!(
        "[models]\nchain = [\"work/m-large\"]\n[models.providers.work]\nwire = \"chat\"\n\
         base_url = \"{url}\"\nkey = \"required\"\nkey_variable = \"WORK_KEY\"\n"
    ));
    home
}

/// Runs with Ollama searched for only at `ollama`, never on this machine.
fn run(home: &Home, arguments: &[&str], ollama: &str) -> Run {
    let mut command = home.steward(arguments);
    command.env("OLLAMA_HOST", ollama);
    finish(command)
}

/// An address without a listener.
fn nobody() -> String {
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap().to_string()
}

fn offer(names: &[&str]) -> Answer {
    let data: Vec<_> = names.iter().map(|name| json!({ "id": name })).collect();
    Answer::json(200, &json!({ "data": data }))
}

#[test]
fn without_a_model_one_sentence_says_how_to_add_one() {
    let home = Home::new();
    let said = run(&home, &["models"], &nobody()).expect(0).stdout;
    assert!(said.starts_with("no model is configured\n"), "{said}");
    assert!(said.contains("steward config set models.chain anthropic/claude-sonnet-5-5"), "{said}");
    assert!(said.contains("steward key set anthropic"), "{said}");
    let report = run(&home, &["models", "--json"], &nobody()).expect(0).json();
    assert_eq!(report, json!({ "chain": [], "providers": [], "found": null }));
}

#[test]
fn ollama_on_this_machine_is_found_and_offered() {
    let server = Server::start(vec![offer(&["qwen3:8b", "llama3"])]);
    let host = server.url.strip_prefix("http://").unwrap().strip_suffix("/v1").unwrap();
    let said = run(&Home::new(), &["models"], host).expect(0).stdout;
    assert!(said.contains("offers llama3, qwen3:8b"), "{said}");
    assert!(said.contains("steward config set models.chain ollama/llama3"), "{said}");
    assert_eq!(server.requests()[0].line, "GET /v1/models HTTP/1.1");
    // Another machine is not asked unless the settings say so.
    let said = run(&Home::new(), &["models"], "http://192.0.2.1:11434").expect(0).stdout;
    assert!(!said.contains("192.0.2.1"), "{said}");
}

#[test]
fn the_doctor_names_a_missing_key_and_a_server_that_does_not_run() {
    let server = Server::start(vec![]);
    let home = home(&server.url);
    let vault = home.vault("Notes");
    let doctor = || home.run_in(&vault, &["doctor"]).expect(0).stdout;
    let said = doctor();
    assert!(said.contains("`work` has no key") && said.contains("steward key set work"), "{said}");
    let settings = |url: &str| {
        home.write_config(&format!(
            "[models]\nchain = [\"work/m\"]\n[models.providers.work]\nwire = \"chat\"\n\
             base_url = \"{url}\"\nkey = \"optional\"\n"
        ));
    };
    settings(&server.url);
    let said = doctor();
    assert!(!said.contains("`work`"), "{said}");
    settings(&format!("http://{}/v1", nobody()));
    assert!(doctor().contains("`work`: nothing listens at http://127.0.0.1:"), "{}", doctor());
    assert!(server.requests().is_empty(), "a model is not asked for it");
}

#[test]
fn a_key_is_checked_stored_found_and_removed_and_never_shown() {
    let server = Server::start(vec![offer(&["m-large", "m-small"])]);
    let home = home(&server.url);
    let said = run(&home, &["models"], &nobody()).expect(0).stdout;
    assert!(said.contains("no key") && said.contains("steward key set work"), "{said}");
    assert!(server.requests().is_empty(), "without its key a vendor is not asked");

    let set = finish_with(home.steward(&["key", "set", "work"]), format!("{KEY}\n").as_bytes());
    let set = set.expect(0);
    assert!(set.stdout.starts_with("checked and stored: "), "{set:?}");
    let bearer = format!("Bearer {KEY}");
    assert_eq!(server.requests()[0].header("authorization"), Some(bearer.as_str()));
    let file = home.config_file().with_file_name("keys").join("work");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("{KEY}\n"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    let status = home.run(&["key", "status", "work", "--json"]).expect(0);
    assert_eq!(status.json()["key"]["from"], "file");
    let listed = run(&home, &["models", "--json"], &nobody()).expect(0);
    let report = listed.json();
    assert_eq!(report["providers"][0]["offered"], json!(["m-large", "m-small"]));
    assert_eq!(report["providers"][0]["key"]["from"], "file");
    assert_eq!(report["chain"][0]["name"], "work/m-large");
    let verbose = run(&home, &["models", "-vv"], &nobody()).expect(0);
    let checked = home.run(&["config", "check", "--json"]).expect(0);
    for run in [&set, &status, &listed, &verbose, &checked] {
        assert!(!format!("{run:?}").contains(KEY), "{run:?}");
    }

    let removed = home.run(&["key", "remove", "work"]).expect(0);
    assert!(removed.stdout.starts_with("removed ") && !file.exists(), "{removed:?}");
    assert!(home.run(&["key", "remove", "work"]).expect(0).stdout.starts_with("there was no "));
    assert!(home.run(&["key", "status", "work"]).expect(0).stdout.contains("has no key"));
}

#[test]
fn a_key_that_is_refused_is_not_stored() {
    let refused = Answer::json(401, &json!({"error": {"message": format!("bad key {KEY}")}}));
    let server = Server::start(vec![refused]);
    let home = home(&server.url);
    let run = finish_with(home.steward(&["key", "set", "work"]), KEY.as_bytes()).expect(1);
    assert!(run.stderr.contains("the key was refused (401): bad key …"), "{run:?}");
    assert!(run.stderr.contains("nothing was stored"), "{run:?}");
    assert!(!home.config_file().with_file_name("keys").exists());
    // Without the check it is stored without contacting anyone.
    let set = home.steward(&["key", "set", "work", "--no-check"]);
    finish_with(set, KEY.as_bytes()).expect(0);
    assert_eq!(server.requests().len(), 1);
    let empty = finish_with(home.steward(&["key", "set", "work"]), b"\n").expect(2);
    assert!(empty.stderr.contains("the key is empty"), "{empty:?}");
}

#[test]
fn a_person_has_the_daemon_check_and_store_a_key_that_it_never_tells() {
    let refused = Answer::json(401, &json!({"error": {"message": format!("bad key {KEY}")}}));
    let server = Server::start(vec![refused, offer(&["m-large", "m-small"])]);
    let home = home(&server.url);
    let vault = home.vault("Notes");
    let mut serve = home.steward(&["serve", "--json", "--port", "0", "-vv", "--vault"]);
    serve.arg(&vault);
    let mut daemon = Daemon::start(serve);
    let port = daemon.port();
    let token =
        |scope: &[&str]| home.run_in(&vault, &[&["token"], scope].concat()).expect(0).stdout;
    let set = |token: &str, provider: &str, key: &str| {
        let mut client = Client::connect(port, token.trim()).unwrap();
        client.initialize();
        client.call("_vault/models/key", json!({"provider": provider, "key": key}))
    };
    let file = home.config_file().with_file_name("keys").join("work");
    let person = token(&[]);
    let wrong = set(&person, "work", KEY);
    assert_eq!(wrong["error"]["message"], "`work` refused the key", "{wrong}");
    assert_eq!(set(&person, "work", "two words")["error"]["data"]["kind"], "invalid_params");
    assert_eq!(set(&person, "../work", KEY)["error"]["data"]["kind"], "invalid_params");
    for scope in ["client", "mcp"] {
        let answer = set(&token(&["--scope", scope]), "work", KEY);
        assert!(answer["error"].is_object(), "{scope}: {answer}");
    }
    assert!(!file.exists());
    assert_eq!(server.requests().len(), 1);
    let done = set(&person, "work", KEY);
    assert_eq!(done["result"], json!({"models": ["work/m-large", "work/m-small"]}), "{done}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("{KEY}\n"));
    assert!(!format!("{wrong}{done}").contains(KEY));
    daemon.kill();
    #[cfg(unix)]
    {
        let logged = daemon.stderr();
        assert!(logged.contains("a person stored a vendor's key"), "{logged}");
        assert!(!logged.contains(KEY), "{logged}");
    }
}

#[test]
fn the_environment_overrides_the_stored_key_with_a_note() {
    let server = Server::start(vec![offer(&["m"])]);
    let home = home(&server.url);
    let mut command = home.steward(&["key", "set", "work", "--no-check"]);
    command.env("WORK_KEY", "sk-other");
    let run = finish_with(command, KEY.as_bytes()).expect(0);
    assert!(run.stderr.contains("the key from $WORK_KEY overrides the stored one"), "{run:?}");
    let mut command = home.steward(&["key", "status", "work"]);
    command.env("WORK_KEY", "sk-other");
    let run = finish(command).expect(0);
    assert_eq!(run.stdout, "work has a key, from $WORK_KEY\n");
}

#[test]
fn providers_and_settings_that_cannot_be_are_named() {
    let home = Home::new();
    for name in ["grok", "../x", "Anthropic"] {
        let run = home.run(&["key", "status", name]).expect(1);
        assert!(run.stderr.contains(&format!("there is no provider `{name}`")), "{run:?}");
    }
    home.run(&["key", "remove", "../config.toml"]).expect(1);
    let cases = [
        ("[models]\nchain = [\"sonnet\"]\n", 2, "`sonnet` must be `provider/model`"),
        ("[models]\nkey = \"sk\"\n", 2, "unknown key `key` in [models]"),
        ("[models.providers.work]\napi_key = \"sk-1\"\n", 2, "unknown key `api_key`"),
        ("[models.providers.Work]\nwire = \"chat\"\n", 1, "may only hold a-z"),
        ("[models]\nstall_seconds = 0\n", 2, "at least 1"),
    ];
    for (text, line, message) in cases {
        home.write_config(text);
        let failed = home.run(&["config", "check", "--json"]).expect(2).json();
        assert_eq!(failed["data"]["line"], line, "{failed}");
        assert!(failed["message"].as_str().unwrap().contains(message), "{failed}");
        assert!(!failed.to_string().contains("sk-1"), "{failed}");
    }
    home.write_config(
        "[models]\nchain = [\"far/m\"]\n[models.providers.far]\nwire = \"chat\"\n\
         base_url = \"http://192.0.2.1/v1\"\n",
    );
    let run = run(&home, &["models"], &nobody()).expect(0);
    assert!(run.stdout.contains("is not encrypted"), "{run:?}");
}
