//! Requests of a chat view to the daemon, and reports of the program that has the vault open.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::door::Client;
use crate::support::{Daemon, Home};

struct Place {
    home: Home,
    vault: PathBuf,
    daemon: Daemon,
}

impl Place {
    fn new(app: &str) -> Self {
        Self::with(app, &[])
    }

    /// With more files, which the daemon finds at its start.
    fn with(app: &str, files: &[(&str, &str)]) -> Self {
        let home = Home::new();
        let vault = home.vault("Notes");
        std::fs::write(vault.join(".obsidian/app.json"), app).unwrap();
        std::fs::create_dir(vault.join("Garden")).unwrap();
        std::fs::write(vault.join("Garden/Compost.md"), "turn it\n").unwrap();
        std::fs::write(vault.join("Garden/Compost heap.png"), "x").unwrap();
        for (path, text) in files {
            std::fs::write(vault.join(path), text).unwrap();
        }
        let daemon = home.serve(&vault);
        Self { home, vault, daemon }
    }

    fn token(&self) -> String {
        self.home.run_in(&self.vault, &["token"]).expect(0).stdout.trim().to_owned()
    }

    fn connect(&self) -> Client {
        let port = self.daemon.port();
        Client::connect(port, &self.token()).unwrap()
    }

    fn client(&self) -> Client {
        let mut client = self.connect();
        client.initialize();
        client
    }
}

fn done(client: &mut Client, method: &str, params: Value) -> Value {
    let mut answer = client.call(method, params);
    assert!(answer["result"].is_object(), "{method}: {answer}");
    answer["result"].take()
}

fn kind(client: &mut Client, method: &str, params: Value) -> String {
    let answer = client.call(method, params);
    let kind = answer["error"]["data"]["kind"].as_str();
    kind.unwrap_or_else(|| panic!("{method}: {answer}")).to_owned()
}

#[test]
fn a_conversation_is_paged_named_and_written_into_the_vault() {
    let place = Place::new(r#"{"trashOption": "local"}"#);
    let mut client = place.client();
    // Without a model the answer explains how to configure one; the conversation is created
    // nevertheless.
    for number in 1..=6 {
        let text = format!("question {number}");
        done(
            &mut client,
            "session/prompt",
            json!({"prompt": [{"type": "text", "text": text}], "_meta": {"vault": {
                "clientMessageId": format!("m{number}")}}}),
        );
    }
    let whole = done(&mut client, "_vault/conversation", json!({}));
    let id = whole["conversation"]["sessionId"].as_str().unwrap().to_owned();
    let all: Vec<u64> =
        whole["items"].as_array().unwrap().iter().map(|i| i["item"].as_u64().unwrap()).collect();
    assert!(all.len() >= 12, "{all:?}");
    assert_eq!((&whole["earlier"], &whole["more"]), (&json!(false), &json!(false)));

    // Read backwards from its end, page by page, it is the same, with each item as it was sent
    // live.
    let (mut paged, mut before) = (Vec::new(), Value::Null);
    loop {
        let mut params = json!({"sessionId": id, "last": 5, "updates": true});
        if !before.is_null() {
            params["before"] = before.clone();
        }
        let page = done(&mut client, "_vault/conversation", params);
        let items = page["items"].as_array().unwrap();
        assert!((1..=5).contains(&items.len()));
        for item in items.iter().rev() {
            paged.push(item["item"].as_u64().unwrap());
            if item["kind"] == "user" {
                let update = &item["updates"][0];
                assert_eq!(update["sessionUpdate"], "user_message_chunk", "{item}");
                assert_eq!(update["_meta"]["vault"]["source"], "chat");
            }
        }
        before = items[0]["item"].clone();
        if page["earlier"] == false {
            break;
        }
    }
    paged.reverse();
    assert_eq!(paged, all);

    // A person's title stays when the conversation ends, and is announced.
    done(&mut client, "_vault/subscribe", json!({}));
    let params = json!({"sessionId": id, "title": " What  we\nplanned "});
    let named = done(&mut client, "_vault/rename_conversation", params);
    assert_eq!(named["title"], "What we planned");
    done(&mut client, "_vault/end", json!({"sessionId": id}));
    let listed = done(&mut client, "session/list", json!({}));
    assert_eq!(listed["sessions"][0]["title"], "What we planned");
    assert_eq!(listed["sessions"][0]["_meta"]["vault"]["titledBy"], "person");
    assert!(listed["sessions"][0]["_meta"]["vault"]["summary"].is_string());
    let long = "x".repeat(201);
    let refused = json!({"sessionId": id, "title": long});
    assert_eq!(kind(&mut client, "_vault/rename_conversation", refused), "invalid_params");
    let found = done(&mut client, "_vault/search_conversations", json!({"text": "planned"}));
    assert_eq!(found["found"][0]["conversation"]["sessionId"], json!(id));

    // Exporting as a note is a change like any other.
    let params = json!({"sessionId": id});
    let first = done(&mut client, "_vault/export_conversation", params.clone());
    let path = first["path"].as_str().unwrap().to_owned();
    assert!(path.starts_with("Conversations/") && path.ends_with(" What we planned.md"), "{path}");
    let note = std::fs::read_to_string(place.vault.join(&path)).unwrap();
    assert!(note.contains("question 6") && note.contains("# What we planned"), "{note}");
    let second = done(&mut client, "_vault/export_conversation", params);
    assert!(
        second["path"].as_str().unwrap().ends_with(" What we planned, export 2.md"),
        "{second}"
    );
    let taken = json!({"sessionId": id, "path": path});
    assert_eq!(kind(&mut client, "_vault/export_conversation", taken), "invalid_params");
    let protected = json!({"sessionId": id, "path": ".obsidian/plugins/x.md"});
    assert_eq!(kind(&mut client, "_vault/export_conversation", protected), "invalid_params");
    let undo = json!({"name": "undo", "arguments": {"change_set": first["changeSet"]}});
    let undone = done(&mut client, "tools/call", undo);
    assert_eq!(undone["isError"], false, "{undone}");
    assert!(!place.vault.join(&path).exists());
}

#[test]
fn a_link_of_an_answer_leads_to_its_heading_or_is_said_to_lead_nowhere() {
    let text = "---\ntags: [a]\n---\n# Turning\nturn it\n\n## When?\nweekly ^often\n# Watering\n## When?\n";
    let files = [("Garden/Soil.md", text), ("Soil.md", "# Clay\n"), ("Paper.pdf", "x")];
    let place = Place::with("{}", &files);
    let mut client = place.client();
    let mut leads = |link: &str| {
        let to = done(&mut client, "_vault/resolve_link", json!({"link": link}));
        (to["path"].as_str().map(str::to_owned), to["line"].as_u64(), to["resolved"] == true)
    };
    for (link, path, line, is_resolved) in [
        ("garden/soil", Some("Garden/Soil.md"), None, true),
        ("Garden/Soil.md#Turning", Some("Garden/Soil.md"), Some(4), true),
        ("Garden/Soil#when", Some("Garden/Soil.md"), Some(7), true),
        ("Garden/Soil#Watering#When?", Some("Garden/Soil.md"), Some(10), true),
        ("Garden/Soil#^often", Some("Garden/Soil.md"), Some(8), true),
        ("Garden/Soil#Sowing", Some("Garden/Soil.md"), None, false),
        ("Garden/Soil#^never", Some("Garden/Soil.md"), None, false),
        ("Soil#Clay", Some("Soil.md"), Some(1), true),
        ("/Soil.md", Some("Soil.md"), None, true),
        ("/Compost.md", None, None, false),
        ("Compost", Some("Garden/Compost.md"), None, true),
        ("Paper.pdf#page=3", Some("Paper.pdf"), None, true),
        ("Nowhere", None, None, false),
        ("Nowhere#Turning", None, None, false),
        ("#Turning", None, None, false),
        (".obsidian/app.json", None, None, false),
        ("", None, None, false),
    ] {
        assert_eq!(leads(link), (path.map(str::to_owned), line, is_resolved), "{link}");
    }
}

#[test]
fn an_old_link_leads_to_the_moved_note_or_reports_its_deletion() {
    let place = Place::new(r#"{"trashOption": "local"}"#);
    for (path, text) in [
        ("Old/Plan.md", "# Aim\n"),
        ("Old/Gone.md", "x"),
        ("Old/Left.md", "x"),
        ("Old/C# tips.md", "x"),
    ] {
        std::fs::create_dir_all(place.vault.join("Old")).unwrap();
        std::fs::write(place.vault.join(path), text).unwrap();
    }
    let mut client = place.client();
    let call = |client: &mut Client, name: &str, arguments: Value| {
        let meta = json!({"vault": {"confirmed": true}});
        let given = json!({"name": name, "arguments": arguments, "_meta": meta});
        let answer = done(client, "tools/call", given);
        assert_eq!(answer["isError"], false, "{answer}");
        answer["structuredContent"].clone()
    };
    let leads = |client: &mut Client, link: &str| {
        done(client, "_vault/resolve_link", json!({ "link": link }))
    };
    let found = |client: &mut Client, link: &str| {
        let to = leads(client, link);
        (to["path"].as_str().map(str::to_owned), to["line"].as_u64(), to["resolved"] == true)
    };
    let moves = |client: &mut Client, from: &str, to: &str| {
        call(client, "move", json!({"source": from, "destination": to}));
    };
    // A note is moved twice, once with its folder; another one leaves the folder before that.
    moves(&mut client, "Old/Left.md", "Garden/Leaf.md");
    moves(&mut client, "Old/Plan.md", "Old/Goal.md");
    moves(&mut client, "Old", "Kept");
    let goal = |line| (Some("Kept/Goal.md".to_owned()), line, true);
    for link in ["Old/Plan.md", "Old/Plan", "Plan", "plan.md", "Old/Goal.md"] {
        assert_eq!(found(&mut client, link), goal(None), "{link}");
    }
    assert_eq!(found(&mut client, "/Old/Plan.md"), goal(None));
    assert_eq!(found(&mut client, "Plan#Aim"), goal(Some(1)));
    assert_eq!(found(&mut client, "Plan#Gone"), (Some("Kept/Goal.md".into()), None, false));
    assert_eq!(found(&mut client, "Old/Left.md").0.as_deref(), Some("Garden/Leaf.md"));
    assert_eq!(found(&mut client, "Old/Gone.md").0.as_deref(), Some("Kept/Gone.md"));
    assert_eq!(found(&mut client, "Old/C# tips.md").0.as_deref(), Some("Kept/C# tips.md"));
    assert_eq!(leads(&mut client, "Old")["path"], Value::Null, "a folder is no note");
    // The file that is now at the old path wins.
    call(&mut client, "write_file", json!({"path": "Old/Plan.md", "content": "another\n"}));
    assert_eq!(found(&mut client, "Old/Plan.md").0.as_deref(), Some("Old/Plan.md"));
    assert_eq!(found(&mut client, "Old/Goal.md"), goal(None));
    // A deleted file is reported as deleted until that is undone.
    let gone = call(&mut client, "delete", json!({"path": "Kept/Gone.md"}));
    for link in ["Old/Gone.md", "Gone", "Kept/Gone"] {
        let to = leads(&mut client, link);
        assert_eq!((&to["path"], &to["resolved"]), (&Value::Null, &json!(false)), "{link}");
        assert_eq!(to["deleted"]["path"], "Kept/Gone.md", "{link}: {to}");
        assert!(to["deleted"]["time"].as_str().unwrap().len() > 18, "{to}");
    }
    call(&mut client, "undo", json!({"change_set": gone["change_set"]}));
    assert_eq!(found(&mut client, "Old/Gone.md").0.as_deref(), Some("Kept/Gone.md"));
    // With its folder; the note that had left is still at its own path.
    call(&mut client, "delete", json!({"path": "Kept"}));
    assert_eq!(leads(&mut client, "Plan#Aim")["path"], "Old/Plan.md");
    assert_eq!(leads(&mut client, "Old/Goal")["deleted"]["path"], "Kept/Goal.md");
    assert_eq!(leads(&mut client, "Kept")["deleted"], Value::Null, "a folder is no note");
    assert_eq!(found(&mut client, "Left").0.as_deref(), Some("Garden/Leaf.md"));
    assert_eq!(leads(&mut client, "Never")["deleted"], Value::Null);
}

#[test]
fn what_changed_is_shown_and_names_are_completed() {
    let place = Place::new("{}");
    let mut client = place.client();
    let edit = json!({"name": "edit_file", "arguments": {
        "path": "Garden/Compost.md", "old_text": "turn it", "new_text": "turn it\nwater it"}});
    let set = done(&mut client, "tools/call", edit)["structuredContent"]["change_set"].clone();
    let diff = done(&mut client, "_vault/diff", json!({"changeSet": set}));
    assert_eq!(diff["total"], 1);
    let change = &diff["changes"][0];
    assert_eq!(
        (&change["action"], &change["path"]),
        (&json!("modified"), &json!("Garden/Compost.md"))
    );
    assert_eq!((&change["added"], &change["removed"]), (&json!(1), &json!(0)), "{change}");
    assert!(change["diff"].as_str().unwrap().contains("+water it"), "{change}");
    assert_eq!(kind(&mut client, "_vault/diff", json!({"changeSet": 999})), "not_found");

    let line = done(&mut client, "_vault/timeline", json!({"path": "Garden/Compost.md"}));
    let one = &line["sets"][0];
    assert_eq!((&one["id"], &one["by"]), (&set, &json!("person")), "{line}");
    assert_eq!(one["tools"], json!(["edit_file"]));
    assert_eq!(one["paths"], json!(["Garden/Compost.md"]));
    assert_eq!(line["days"][0]["last"], set);
    for other in [json!({"tool": "delete"}), json!({"by": "rule"}), json!({"before": set})] {
        assert_eq!(done(&mut client, "_vault/timeline", other)["sets"], json!([]));
    }
    let at = |before: bool| json!({"changeSet": set, "before": before});
    let then = json!({"path": "Garden/Compost", "at": at(true)});
    let before = done(&mut client, "_vault/as_of", then);
    assert!(!before["text"].as_str().unwrap().contains("water it"), "{before}");
    let then = json!({"path": "Garden/Compost", "at": at(false)});
    assert!(done(&mut client, "_vault/as_of", then)["text"].as_str().unwrap().contains("water it"));
    let two = json!({"path": "Garden/Compost.md", "from": at(true)});
    assert_eq!(done(&mut client, "_vault/diff", two)["changes"][0]["added"], 1);
    let both = json!({"path": "Garden/Compost.md", "changeSet": set});
    assert_eq!(kind(&mut client, "_vault/diff", both), "invalid_params");

    let found = done(&mut client, "_vault/complete", json!({"text": "compost"}));
    let paths: Vec<&str> = found["found"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["Garden/Compost.md", "Garden/Compost heap.png"]);
    let found = done(&mut client, "_vault/complete", json!({"text": "gard", "limit": 1}));
    let garden = json!({"path": "Garden", "name": "Garden", "folder": "", "kind": "folder"});
    assert_eq!(found["found"], json!([garden]));
    let alias = json!({"name": "set_properties", "arguments": {
        "path": "Garden/Compost.md", "set": {"aliases": ["The heap", "humus"]}}});
    done(&mut client, "tools/call", alias);
    let found = done(&mut client, "_vault/complete", json!({"text": "the h"}));
    let called = &found["found"][0];
    assert_eq!(
        (&called["path"], &called["aliases"]),
        (&json!("Garden/Compost.md"), &json!(["The heap"]))
    );
    let hidden = done(&mut client, "_vault/complete", json!({"text": "app.json"}));
    assert_eq!(hidden["found"], json!([]), "what is protected is never told");

    // A deleted folder names its files.
    let confirmed = json!({"vault": {"confirmed": true}});
    let delete = json!({"name": "delete", "arguments": {"path": "Garden"}, "_meta": confirmed});
    let set = done(&mut client, "tools/call", delete)["structuredContent"]["change_set"].clone();
    let change = done(&mut client, "_vault/diff", json!({"changeSet": set}))["changes"][0].take();
    assert_eq!(change["totalFiles"], 2, "{change}");
    assert_eq!(change["files"], json!(["Compost heap.png", "Compost.md"]));
}

#[test]
fn a_person_chooses_among_models_that_are_set_up() {
    let place = Place::new("{}");
    let mut client = place.client();
    let choose = |name: &str| json!({"choose": name});
    assert_eq!(kind(&mut client, "_vault/models", choose("no model")), "invalid_params");
    let no_key = client.call("_vault/models", choose("anthropic/claude-sonnet-4-5"));
    assert!(no_key["error"]["message"].as_str().unwrap().contains("no key"), "{no_key}");
    assert_eq!(done(&mut client, "_vault/models", json!({}))["chain"], json!([]));

    let first = done(&mut client, "_vault/models", choose("ollama/one"));
    assert_eq!(first["chain"], json!(["ollama/one"]));
    let second = done(&mut client, "_vault/models", choose("ollama/two"));
    assert_eq!(second["chain"], json!(["ollama/two", "ollama/one"]));
    assert_eq!(second["models"][0]["name"], "ollama/two");
    assert_eq!(
        (&second["models"][0]["current"], &second["models"][1]["chosen"]),
        (&json!(true), &json!(true))
    );
    let file = std::fs::read_to_string(place.home.config_file()).unwrap();
    assert!(file.contains("ollama/two"), "{file}");
    // It cannot be changed by the method that is open to every client.
    let set = json!({"key": "models.chain", "value": ["ollama/three"]});
    assert_eq!(kind(&mut client, "_vault/settings/set", set), "not_permitted");
}

/// A client that has the vault open, after its handshake.
fn obsidian(place: &Place) -> Client {
    let mut host = place.connect();
    let operations = json!(["active_note", "open", "notice", "trash", "rename"]);
    let answer = host.call(
        "initialize",
        json!({"protocolVersion": 1, "clientInfo": {"name": "obsidian"}, "clientCapabilities": {
            "_meta": {"vault": {"host": operations, "focused": true}}}}),
    );
    assert!(answer["result"].is_object(), "{answer}");
    host
}

fn says(host: &mut Client, question: &Value, result: &Value) {
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
    host.send(&answer.to_string());
}

fn offered(client: &mut Client) -> bool {
    let listed = done(client, "tools/list", json!({}));
    listed["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "open_note")
}

#[test]
fn the_open_note_comes_from_obsidian_and_a_note_is_opened_in_it() {
    let place = Place::new("{}");
    let mut client = place.client();
    assert!(!offered(&mut client));
    let open = json!({"name": "open_note", "arguments": {"path": "garden/compost", "line": 3}});
    let nobody = done(&mut client, "tools/call", open.clone());
    assert_eq!(nobody["structuredContent"]["code"], "host_unavailable");

    let mut host = obsidian(&place);
    // It counts as soon as it has its answer, or an instant later.
    while !offered(&mut client) {
        std::thread::yield_now();
    }
    let id = client.ask("tools/call", open);
    let question = host.read();
    assert_eq!(question["method"], "_vault/host/open");
    assert_eq!(question["params"]["path"], "Garden/Compost.md", "the real path");
    assert_eq!(question["params"]["line"], 3);
    says(&mut host, &question, &json!({"path": "Garden/Compost.md"}));
    let answer = client.answer(id);
    assert_eq!(answer["result"]["structuredContent"]["open"], "Garden/Compost.md", "{answer}");

    let active = json!({"name": "get_active_note", "arguments": {}});
    let id = client.ask("tools/call", active.clone());
    let question = host.read();
    assert_eq!(question["method"], "_vault/host/active_note");
    let selection = json!({"text": "turn it", "startLine": 1, "endLine": 1});
    let note = json!({"path": "Garden/Compost.md", "line": 1, "selection": selection});
    says(&mut host, &question, &json!({ "note": note }));
    let result = client.answer(id)["result"]["structuredContent"].take();
    assert_eq!(result["source"], "obsidian");
    assert_eq!(result["selection"]["text"], "turn it");

    // A protected file is not reported, even if the other program names it.
    let id = client.ask("tools/call", active);
    let question = host.read();
    let secret = json!({"text": "secret", "startLine": 1, "endLine": 1});
    says(
        &mut host,
        &question,
        &json!({"note": {
        "path": ".obsidian/app.json", "selection": secret}}),
    );
    let result = client.answer(id);
    assert_eq!(result["result"]["isError"], true, "{result}");
    assert!(!result.to_string().contains("secret"), "{result}");

    let event = json!({"jsonrpc": "2.0", "method": "_vault/host/active_note_changed",
        "params": {"path": "Garden/Compost.md"}});
    host.send(&event.to_string());
    done(&mut host, "_vault/ping", json!({}));
    let status = done(&mut client, "_vault/status", json!({}));
    assert_eq!(status["host"]["client"], "obsidian");
    assert_eq!(status["host"]["activeNote"], "Garden/Compost.md");
    drop(host);
    // A lost connection is noticed when it ends.
    while offered(&mut client) {
        std::thread::yield_now();
    }
}

/// Sends Obsidian a request; Obsidian does `deed` and answers `says_so`, or does not answer.
fn asked(place: &Place, params: Value, deed: impl FnOnce(&Path), says_so: Option<Value>) -> Value {
    let (mut host, mut client) = (obsidian(place), place.client());
    let id = client.ask("_vault/host/request", params);
    let question = host.read();
    deed(&place.vault);
    match says_so {
        Some(result) => says(&mut host, &question, &result),
        None => drop(host),
    }
    client.answer(id)
}

#[test]
fn of_a_change_by_obsidian_the_disk_decides() {
    let place = Place::new(r#"{"trashOption": "local", "alwaysUpdateLinks": true}"#);
    let rename =
        json!({"operation": "rename", "path": "Garden/Compost.md", "to": "Garden/Heap.md"});
    let done = |vault: &Path| {
        std::fs::rename(vault.join("Garden/Compost.md"), vault.join("Garden/Heap.md")).unwrap();
    };
    let said = json!({"exists": false, "toExists": true});
    // It reports success without the change: an error.
    let lie = asked(&place, rename.clone(), |_| (), Some(said));
    assert_eq!(lie["error"]["data"]["kind"], "failed", "{lie}");
    // It disconnects without doing it: the outcome is unknown, and the request is not repeated.
    let lost = asked(&place, rename.clone(), |_| (), None);
    assert_eq!(lost["error"]["data"]["kind"], "timeout", "{lost}");
    // It does it and disconnects before it can report it: done.
    let lost = asked(&place, rename.clone(), done, None);
    assert_eq!(lost["result"]["done"], true, "{lost}");

    let mut client = place.client();
    let _host = obsidian(&place);
    for (params, why) in [
        (rename, "Garden/Compost.md"),
        (json!({"operation": "rename", "path": "Garden/Heap.md", "to": "../x.md"}), ".."),
        (json!({"operation": "trash", "path": ".obsidian"}), ".obsidian"),
        // A program gives paths; resolving names is for people and models.
        (json!({"operation": "trash", "path": "heap"}), "`heap` does not exist"),
    ] {
        let refused = client.call("_vault/host/request", params);
        assert_eq!(refused["error"]["data"]["kind"], "invalid_params", "{refused}");
        assert!(refused["error"].to_string().contains(why), "{refused}");
    }
    let trash = json!({"operation": "trash", "path": "Garden/Heap.md"});
    place.home.run_in(&place.vault, &["mode", "read-only"]).expect(0);
    assert_eq!(kind(&mut client, "_vault/host/request", trash.clone()), "failed");
    place.home.run_in(&place.vault, &["mode", "auto"]).expect(0);
    let gone = asked(
        &place,
        trash,
        |vault| std::fs::remove_file(vault.join("Garden/Heap.md")).unwrap(),
        Some(json!({"exists": false})),
    );
    assert_eq!(gone["result"]["done"], true, "{gone}");
}

#[test]
fn obsidian_gets_no_request_that_would_prompt_or_lose_data() {
    let place = Place::new(r#"{"trashOption": "none"}"#);
    let mut client = place.client();
    let _host = obsidian(&place);
    let rename =
        json!({"operation": "rename", "path": "Garden/Compost.md", "to": "Garden/Heap.md"});
    let trash = json!({"operation": "trash", "path": "Garden/Compost.md"});
    for (params, tool) in [(rename, "`move`"), (trash, "`delete`")] {
        let refused = client.call("_vault/host/request", params);
        assert_eq!(refused["error"]["data"]["kind"], "invalid_params", "{refused}");
        assert!(refused["error"]["data"]["hint"].as_str().unwrap().contains(tool), "{refused}");
    }
}
