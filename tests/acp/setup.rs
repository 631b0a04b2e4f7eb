//! `steward setup`, and clients that offer to run it for their user.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::json;
use vault_steward::llm::Wire;

use crate::editor::Ground;
use crate::home::Home;
use crate::models::{Answer, Server};
use crate::script;

#[test]
fn a_model_is_tried_before_it_is_chosen() {
    let home = Home::new();
    let model = Server::answering(|_, request| match request.line.starts_with("GET") {
        true => Answer::json(200, &json!({"data": [{"id": "small"}, {"id": "large"}]})),
        false if String::from_utf8_lossy(&request.body).contains(r#""model":"small""#) => {
            Answer::json(404, &json!({"error": {"message": "it is not loaded"}}))
        }
        false => script::says(Wire::Chat, "I am ready."),
    });
    let settings =
        format!("[models]\nchain = []\n[models.providers.ollama]\nbase_url = \"{}\"\n", model.url);
    home.write_config(&settings);
    let run = |line: &str| {
        let mut command = home.steward(&["setup", "--json"]);
        command.env("OLLAMA_HOST", model.url.trim_end_matches("/v1"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let failed = run("2\n");
    let said = String::from_utf8_lossy(&failed.stdout).into_owned();
    assert!(!failed.status.success() && said.contains("it is not loaded"), "{said}");
    assert_eq!(std::fs::read_to_string(home.config_file()).unwrap(), settings, "nothing changed");
    let wrong = run("9\n");
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
    let done = run("1\n");
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success() && said.contains("I am ready."), "{done:?}");
    let shown = home.run(&["config", "get", "models.chain"]).expect(0).stdout;
    assert!(shown.contains("ollama/large"), "{shown}");
    // Without asking.
    let again = home.run(&["setup", "--model", "ollama/large"]).expect(0);
    assert!(again.stdout.contains("I am ready."), "{again:?}");
    home.run(&["setup", "--model", "large"]).expect(2);
}

#[test]
fn the_only_model_is_taken_without_a_question() {
    let home = Home::new();
    let model = Server::answering(|_, request| {
        if request.line.starts_with("GET") {
            Answer::json(200, &json!({"data": [{"id": "small"}]}))
        } else {
            script::says(Wire::Chat, "I am ready.")
        }
    });
    home.write_config(&format!(
        "[models]\nchain = []\n[models.providers.ollama]\nbase_url = \"{}\"\n",
        model.url
    ));
    let mut command = home.steward(&["setup"]);
    command.env("OLLAMA_HOST", model.url.trim_end_matches("/v1")).stdin(Stdio::null());
    let done = command.output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let shown = home.run(&["config", "get", "models.chain"]).expect(0).stdout;
    assert!(shown.contains("ollama/small"), "{shown}");
}

#[test]
fn only_terminal_clients_are_offered_the_model_setup() {
    let ground = Ground::new("");
    let settings = std::fs::read_to_string(ground.home.config_file()).unwrap();
    let none = settings.replace("[\"work/m\", \"work/n\"]", "[]");
    std::fs::write(ground.home.config_file(), &none).unwrap();
    let mut editor = ground.starting();
    let terminal = json!({"auth": {"terminal": true}});
    let params = json!({"protocolVersion": 1, "clientCapabilities": terminal});
    let opened = editor.call("initialize", params);
    let way = &opened["result"]["authMethods"][0];
    assert_eq!((&way["type"], &way["args"]), (&json!("terminal"), &json!(["setup"])), "{opened}");
    let new = json!({"cwd": ground.vault, "mcpServers": []});
    let refused = editor.call("session/new", new.clone());
    assert_eq!(refused["error"]["code"], -32000, "{refused}");
    let early = editor.call("authenticate", json!({"methodId": "setup"}));
    assert!(early["error"].is_object(), "{early}");

    let mut plain = ground.editor();
    let id = plain.begin(&ground.vault);
    let end = plain.prompt(&id, "hello");
    assert_eq!(end["result"]["stopReason"], "end_turn", "{end}");
    let said = plain.updates("agent_message_chunk");
    let text = said[0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("No model is configured"), "{text}");

    ground.steward(&["setup", "--model", "work/m"]).expect(0);
    let done = editor.call("authenticate", json!({"methodId": "setup"}));
    assert_eq!(done["result"], json!({}), "{done}");
    assert!(editor.call("session/new", new)["result"]["sessionId"].is_string());
}
