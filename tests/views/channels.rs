//! Every method, event, request and HTTP path, and the model's input.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use vault_steward::protocol::METHODS;
use vault_steward::tools::lookups;

use crate::arguments::PATHS;
use crate::outputs::plain;
use crate::posted;
use crate::table::{interface, routes, rows};
use crate::world::{Ear, LIMITED, MARK, World};

/// Params with which a method can be called; methods that need any have a line.
fn params(method: &str) -> Value {
    match method {
        "initialize" => json!({"protocolVersion": 1}),
        "tools/call" => json!({"name": "list_files"}),
        "_vault/settings/set" => json!({"key": "journal.days", "value": 60}),
        "_vault/trash/empty" | "_vault/journal/gc" => json!({"dryRun": true}),
        "_vault/approvals/answer" => json!({"id": 1, "optionId": "reject_once"}),
        "_vault/mode" => json!({"mode": "read-only"}),
        "session/load" | "_vault/fork" => json!({"sessionId": "1", "item": 1}),
        "session/resume" | "session/close" | "session/delete" => json!({"sessionId": "1"}),
        "session/set_mode" => json!({"sessionId": "1", "modeId": "ask"}),
        "session/set_config_option" => {
            json!({"sessionId": "1", "configId": "mode", "value": "ask"})
        }
        "authenticate" => json!({"methodId": "setup"}),
        "_vault/search_conversations" => json!({"text": "hello"}),
        "_vault/delete_conversation" => json!({"allEnded": true, "dryRun": true}),
        "_vault/rename_conversation" => json!({"sessionId": "1", "title": "mine"}),
        "_vault/export_conversation" => json!({"sessionId": "1", "path": "Open/said.md"}),
        "_vault/conversation" => json!({"sessionId": "1"}),
        "_vault/attachments" => json!({"sessionId": "1", "messageId": "m1"}),
        "_vault/diff" => json!({"changeSet": 1}),
        "_vault/models/key" => json!({"provider": "nobody", "key": "k"}),
        "_vault/complete" => json!({"text": "Zz"}),
        "_vault/resolve_link" => json!({"link": "Zz#One"}),
        "_vault/proposals/apply" | "_vault/proposals/reject" => json!({"sessionId": "1"}),
        "_vault/prompts/get" => json!({"name": "tidy"}),
        "_vault/host/request" => json!({"operation": "active_note"}),
        "_vault/inbox/retry" | "_vault/inbox/discard" => json!({"id": 1}),
        "_vault/organize/draft" => json!({"text": "tidy up"}),
        "_vault/names/suggest" => json!({"paths": ["Open/a.md"]}),
        "_vault/organize/stop" => json!({"job": 1}),
        "_vault/rules/enable" => json!({"file": "Rules.yaml"}),
        "_vault/rules/marks" => json!({"file": "Rules.yaml"}),
        "_vault/rules/describe" => json!({"plan": 1}),
        "_vault/rules/disable" => json!({"name": "Tidy"}),
        "_vault/workflow/run" => json!({"text": "{id: x, steps: [{ask: y}]}"}),
        "_vault/workflow/resume" => json!({"run": 1}),
        "session/prompt" => json!({"prompt": [{"type": "text", "text": "what is there?"}]}),
        _ => json!({}),
    }
}

/// The rows of this kind that a limited caller gets.
fn open(kind: &str) -> BTreeMap<String, bool> {
    let rows = rows().into_iter().filter(|row| row.kind == kind);
    rows.map(|row| (row.output, row.open)).collect()
}

fn is_marked(text: &str) -> bool {
    text.to_lowercase().contains(MARK)
}

/// The received events about hidden files.
fn marked(ear: &Ear) -> Vec<&Value> {
    ear.heard.iter().filter(|message| is_marked(&message.to_string())).collect()
}

/// Numbers that differ between runs.
fn without_counts(mut answer: Value) -> Value {
    let result = &mut answer["result"];
    for key in ["pid", "uptimeSeconds", "epoch", "seq"] {
        if let Some(value) = result.get_mut(key) {
            value.take();
        }
    }
    if let Some(value) = result.pointer_mut("/vault/scannedMs") {
        value.take();
    }
    if let Some(ours) = result.pointer_mut("/agentCapabilities/_meta/vault") {
        ours["epoch"].take();
        ours["seq"].take();
    }
    if let Some(settings) = result["settings"].as_array_mut() {
        // The two worlds have different ports.
        settings.retain(|one| one["key"] != "models.providers" && one["key"] != "smarthole.port");
    }
    answer
}

/// The history before other callers connect: a conversation about hidden files, a voice conversation, and a file in the
/// trash.
fn lived(full: bool) -> World {
    let mut world = World::new(full);
    let words = if full { "zzmark words of a person" } else { "words of a person" };
    let begun = world.person.call("session/new", json!({}))["result"]["sessionId"].take();
    let said = json!({"sessionId": begun, "prompt": [{"type": "text", "text": words}]});
    let answer = world.person.call("session/prompt", said);
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    world.person.call("_vault/end", json!({}));
    world.desktop.say("m1", words);
    world.person.until(|message| message["params"]["message"]["state"] == "done");
    world.does("delete", json!({"path": "Zzmark Closed/Zzmark gone.md"}));
    (0..14).for_each(|_| world.meanwhile());
    world
}

fn pair() -> [World; 2] {
    let mut worlds = [lived(true), lived(false)];
    let sets = worlds[0].last_set();
    worlds[1].count_up(sets);
    worlds
}

/// A program that has the vault open, with a hidden note on its screen; it does what it is asked.
fn obsidian(world: &World) -> Ear {
    let operations = ["active_note", "open", "notice", "trash", "rename"];
    let ours = json!({"host": operations, "focused": true});
    let mut host = world.ear_with("person", &ours);
    let path = if world.full { json!("Zzmark Closed/Zzmark plan.md") } else { Value::Null };
    host.send(&json!({"jsonrpc": "2.0", "method": "_vault/host/active_note_changed",
        "params": {"path": path}}));
    host.call("_vault/ping", json!({}));
    host
}

/// Makes Obsidian answer its next request.
fn shows(host: &mut Ear, full: bool) {
    let question = host.until(|message| message["method"].is_string() && message["id"].is_string());
    let selection = json!({"text": "zzmarktext", "startLine": 1, "endLine": 1});
    let note = json!({"path": "Zzmark Closed/Zzmark plan.md", "line": 1, "selection": selection});
    let mut answer = json!({"jsonrpc": "2.0", "id": question["id"]});
    let result = match question["method"].as_str().unwrap() {
        "_vault/host/active_note" if full => json!({"note": note}),
        "_vault/host/active_note" => json!({"note": null}),
        "_vault/host/open" if full => json!({"path": "Zzmark Closed/Zzmark plan.md"}),
        "_vault/host/open" => json!({"path": null}),
        "_vault/host/notice" => json!({"shown": true}),
        "_vault/host/trash" | "_vault/host/rename" => {
            answer["error"] = json!({"code": -32000, "message": "it is not to be"});
            Value::Null
        }
        new => panic!("say here what Obsidian answers to `{new}`"),
    };
    if answer.get("error").is_none() {
        answer["result"] = result;
    }
    host.send(&answer);
}

#[test]
fn every_method_answers_as_if_the_rest_were_not_there_or_not_at_all() {
    let open = open("method");
    let worlds = pair();
    let _hosts = [obsidian(&worlds[0]), obsidian(&worlds[1])];
    for scope in LIMITED {
        for method in METHODS {
            let mut answers = Vec::new();
            for world in &worlds {
                let mut ear = world.ear(scope);
                // The first frame of a connection is the handshake.
                let answer = match *method {
                    "initialize" => world.opened(scope),
                    _ => ear.call(method, params(method)),
                };
                let kind = &answer["error"]["data"]["kind"];
                assert_ne!(kind, "invalid_params", "`params` has to say how {method} is called");
                assert_eq!(open[*method], kind != "forbidden", "{method} as {scope}: {answer}");
                answers.push(plain(world, &without_counts(answer).to_string()));
                let heard = json!(ear.heard).to_string();
                assert!(!is_marked(&heard), "{method} as {scope}: {heard}");
            }
            assert!(!is_marked(&answers[0]), "{method} as {scope}: {}", answers[0]);
            assert_eq!(answers[0], answers[1], "{method} as {scope}");
        }
    }
}

#[test]
fn an_acp_client_learns_only_visible_files_and_its_own_conversations() {
    let mut all = Vec::new();
    let elsewhere = std::env::temp_dir().join("elsewhere");
    for world in &pair() {
        let mut ear = world.ear("acp");
        let begun = ear.call("session/new", json!({"cwd": elsewhere, "mcpServers": []}));
        let id = begun["result"]["sessionId"].clone();
        let prompt = json!([{"type": "text", "text": "what is there?"}]);
        let said = ear.call("session/prompt", json!({"sessionId": id, "prompt": prompt}));
        assert_eq!(said["result"]["stopReason"], "end_turn", "{said}");
        let mut other = world.ear("acp");
        for method in METHODS {
            if matches!(*method, "initialize" | "session/prompt") {
                continue;
            }
            let answer = other.call(method, params(method));
            let kind = answer["error"]["data"]["kind"].as_str().unwrap_or("none");
            let wanted = match *method {
                "session/new" | "session/list" => "none",
                "authenticate" => "none",
                method if method.starts_with("session/") => "unknown_session",
                _ => "unknown_method",
            };
            assert_eq!(kind, wanted, "{method}: {answer}");
            assert!(!is_marked(&answer.to_string()), "{method}: {answer}");
        }
        let load = json!({"sessionId": id, "cwd": elsewhere, "mcpServers": []});
        assert!(other.call("session/load", load)["result"].is_object());
        let heard = json!([ear.heard, other.heard]).to_string();
        assert!(!is_marked(&heard), "{heard}");
        assert!(!heard.contains("_vault/"), "{heard}");
        let over = ear.heard.iter().filter(|one| !one["params"]["update"]["status"].is_null());
        let mut over: Vec<Value> = over.map(|one| one["params"]["update"].clone()).collect();
        // Calls of one answer end in any order.
        over.sort_by_key(Value::to_string);
        assert!(over.len() > 3, "{over:?}");
        all.push(plain(world, &json!(over).to_string()));
    }
    assert_eq!(all[0], all[1]);
}

#[test]
fn tools_that_ask_obsidian_tell_nothing_of_a_hidden_note_on_its_screen() {
    let mut answers = BTreeSet::new();
    for full in [true, false] {
        let world = World::new(full);
        let mut host = obsidian(&world);
        for scope in LIMITED {
            let mut ear = world.ear(scope);
            for (tool, arguments) in
                [("get_active_note", json!({})), ("open_note", json!({"path": "Open/a.md"}))]
            {
                let id = ear.ask("tools/call", json!({"name": tool, "arguments": arguments}));
                shows(&mut host, full);
                let answer = plain(&world, &ear.answer(id).to_string());
                assert!(!is_marked(&answer), "{tool} as {scope}: {answer}");
                answers.insert(format!("{tool} {answer}"));
            }
            assert_eq!(ear.call("tools/list", json!({})), {
                let mut other = world.ear("person");
                other.call("tools/list", json!({}))
            });
        }
    }
    assert_eq!(answers.len(), 2, "{answers:#?}");
}

#[test]
fn events_reach_exactly_their_receivers_live_and_replayed() {
    let mut world = World::new(true);
    let mut ears = LIMITED.map(|scope| world.ear(scope));
    let epoch = world.person.call("_vault/ping", json!({}))["result"]["epoch"].take();
    let mut host = obsidian(&world);
    // A conversation, a voice message, and changes in the hidden part.
    let said = json!({"prompt": [{"type": "text", "text": "zzmark words"}]});
    let asked = world.person.ask("session/prompt", said);
    shows(&mut host, true);
    world.person.answer(asked);
    world.person.call("_vault/end", json!({}));
    world.desktop.say("m1", "zzmark words");
    shows(&mut host, true);
    world.person.until(|message| message["params"]["message"]["state"] == "done");
    (0..14).for_each(|_| world.meanwhile());
    for (from, to) in [
        ("Open/a.md", "Zzmark Closed/Zzmark taken.md"),
        ("Zzmark Closed/Zzmark taken.md", "Open/a.md"),
    ] {
        world.does("move", json!({"source": from, "destination": to}));
    }
    world.does("write_file", json!({"path": "Open/seen.md", "content": "seen"}));
    // A plan and a job there, and in the visible part, and a workflow.
    for note in ["Zzmark Closed/c.md", "Open/seen.md"] {
        let items = json!({"items": [{"path": note, "tag": ["planned"]}]});
        let plan = world.does("plan_changes", items)["result"]["structuredContent"].take();
        let wanted = json!({"plan": plan["plan"], "identity": plan["identity"]});
        let done = world.does("apply_plan", wanted);
        assert_ne!(done["result"]["isError"], true, "{done}");
    }
    let text = "{id: x, steps: [{id: y, tool: read_file, input: {path: Zzmark Closed/c.md}}]}";
    let ran = world.person.call("_vault/workflow/run", json!({ "text": text }));
    assert!(ran["result"].is_object(), "{ran}");
    // A file deleted there and restored into the view does not reveal its old path.
    world.does("delete", json!({"path": "Zzmark Closed/Zzmark gone.md"}));
    world.does("restore", json!({"item": "Zzmark Closed/Zzmark gone.md", "to": "Open/back.md"}));
    // The mode, the settings, and an invalid settings file.
    world.person.call("_vault/mode", json!({"mode": "ask"}));
    world.person.call("_vault/mode", json!({"mode": "settings"}));
    world.person.call("_vault/settings/set", json!({"key": "journal.days", "value": 60}));
    let file = world.home.config_file();
    let right = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, right.replace("[policy]", "[policy]\nmode = \"zzmarktext\"")).unwrap();
    let rejected = world.person.until(|message| message["method"] == "_vault/config_rejected");
    assert!(is_marked(&rejected.to_string()), "{rejected}");
    for ear in &mut ears {
        for method in ["_vault/status", "_vault/settings/get"] {
            let answer = ear.call(method, json!({})).to_string();
            assert!(!is_marked(&answer) && answer.contains("problem"), "{answer}");
        }
    }
    std::fs::write(&file, right).unwrap();
    // Two requests, and one answer.
    let mut others = [(); 2].map(|()| world.ear_with("person", &json!({"approvals": true})));
    let delete = json!({"name": "delete", "arguments": {"path": "Open/Sub"}});
    let call = ears[0].ask("tools/call", delete);
    let is_question = |message: &Value| message["method"] == "session/request_permission";
    let questions = others.each_mut().map(|one| one.until(is_question));
    let no = json!({"outcome": {"outcome": "selected", "optionId": "reject_once"}});
    others[0].send(&json!({"jsonrpc": "2.0", "id": questions[0]["id"], "result": no}));
    let refused = ears[0].answer(call);
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    others[1].until(|message| message["method"] == "$/cancel_request");
    // A person's requests to Obsidian.
    for operation in [
        json!({"operation": "notice", "text": "zzmark"}),
        json!({"operation": "trash", "path": "Zzmark Closed/Zzmark plan.md"}),
        json!({"operation": "open", "path": "Zzmark Closed/Zzmark plan.md"}),
    ] {
        let asked = world.person.ask("_vault/host/request", operation);
        shows(&mut host, true);
        let done = world.person.answer(asked);
        assert!(done["result"].is_object() || done["error"]["data"]["kind"] == "failed", "{done}");
    }
    let rename = json!({"operation": "rename", "path": "Zzmark root.md", "to": "Zzmark top.md"});
    let asked = world.person.ask("_vault/host/request", rename);
    shows(&mut host, true);
    world.person.answer(asked);

    let end = world.person.call("_vault/ping", json!({}))["result"]["seq"].as_u64().unwrap();
    let heard_till_end = |ear: &mut Ear| {
        ear.until(|message| message["params"]["_meta"]["vault"]["seq"].as_u64() >= Some(end));
        ear.kinds()
    };
    let for_whom = open("event");
    let mut persons = world.person.kinds();
    persons.extend(others[1].kinds());
    let mut kinds = Vec::new();
    for ear in &mut ears {
        kinds.push(heard_till_end(ear));
    }
    // Clients that connect later get the same.
    for scope in LIMITED {
        let mut late = world.ear_with(scope, &json!({"after": 0, "epoch": epoch}));
        kinds.push(heard_till_end(&mut late));
        assert_eq!(marked(&late), [] as [&Value; 0]);
    }
    for ear in &ears {
        assert_eq!(marked(ear), [] as [&Value; 0]);
    }
    for (event, open) in &for_whom {
        let by_a_person = *event == "_vault/hidden" || persons.contains_key(event);
        assert!(by_a_person, "`{event}` did not happen, so that nobody knows who hears it");
        for kinds in &kinds {
            assert_eq!(kinds.contains_key(event), *open, "{event}: {kinds:?}");
        }
    }
    let requests: BTreeSet<String> = interface("ServerRequests").into_iter().collect();
    let asked: BTreeSet<String> = host.kinds().into_keys().chain(persons.into_keys()).collect();
    let missing: Vec<_> = requests.difference(&asked).collect();
    assert!(missing.is_empty(), "nobody was asked {missing:?}");
    for kinds in &kinds {
        assert!(!requests.iter().any(|request| kinds.contains_key(request)), "{kinds:?}");
    }
}

/// A request over HTTP; returns the status and the answer.
fn http(world: &World, scope: &str, line: &str, body: Option<&Value>) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", world.port())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let (port, token) = (world.port(), world.token(scope));
    let body = body.map(Value::to_string).unwrap_or_default();
    let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
    let request = format!(
        "{line} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n{kind}\
         Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

#[test]
fn http_paths_reveal_nothing_hidden() {
    let open = open("HTTP");
    let worlds = pair();
    let text = json!({"text": "what is there?"});
    for scope in LIMITED {
        for route in routes() {
            let (line, body) = match route.as_str() {
                "/v1/sessions" => ("POST /v1/sessions".to_owned(), Some(json!({}))),
                "/v1/sessions/{id}/messages" => {
                    ("POST /v1/sessions/current/messages".to_owned(), Some(text.clone()))
                }
                "/v1/exchange" => ("POST /v1/exchange".to_owned(), Some(json!({"code": "x"}))),
                "/v1/challenge/{name}/{nonce}" => {
                    (format!("GET /v1/challenge/{scope}/0123456789abcdef"), None)
                }
                path => {
                    let path = path.replace("{id}", "1").replace("{item}", "0");
                    (format!("GET {}", path.replace("{branch}", "1")), None)
                }
            };
            let mut answers = Vec::new();
            for world in &worlds {
                let (status, answer) = http(world, scope, &line, body.as_ref());
                let refused = status == 403;
                assert_eq!(open[&route], !refused, "{line} as {scope}: {status} {answer}");
                answers.push((status, plain(world, &answer)));
            }
            assert!(!is_marked(&answers[0].1), "{line} as {scope}: {}", answers[0].1);
            // A proof differs each time.
            if !route.starts_with("/v1/challenge") {
                assert_eq!(answers[0], answers[1], "{line} as {scope}");
            }
        }
        // Nor can it read, delete or continue a person's conversation, by any number.
        for line in ["DELETE /v1/sessions/1", "GET /v1/sessions/1", "GET /v1/sessions/99"] {
            assert_eq!(http(&worlds[0], scope, line, None).0, 403, "{line}");
        }
        let guesses = ["1", "2", "99"].map(|id| {
            let line = format!("POST /v1/sessions/{id}/messages");
            let (status, answer) = http(&worlds[0], scope, &line, Some(&text));
            (status, answer.replace(&format!("`{id}`"), "`N`"))
        });
        assert_eq!(guesses[0], guesses[2], "{guesses:?}");
        assert_eq!(guesses[1], guesses[2], "{guesses:?}");
    }
}

/// Params with which something can be looked up over MCP.
fn looked_up(method: &str) -> Vec<Value> {
    let uri = |path: &str| json!({"uri": format!("vault:///{path}")});
    let complete = |kind: &str, name: &str, value: &str| {
        json!({"ref": {"type": kind},
        "argument": {"name": name, "value": value}})
    };
    match method {
        "resources/list" => vec![json!({}), json!({"cursor": "50"})],
        "resources/read" => PATHS.iter().map(|path| uri(path)).collect(),
        "prompts/list" => vec![json!({})],
        "prompts/get" => ["daily", "template_t", "template_nobody", "tidy"]
            .map(|name| json!({"name": name, "arguments": {"date": "2026-11-21"}}))
            .into(),
        "completion/complete" => vec![
            complete("ref/resource", "path", "zz"),
            complete("ref/resource", "path", "shadow"),
            complete("ref/resource", "path", ""),
            complete("ref/prompt", "date", ""),
        ],
        new => panic!("say here how `{new}` is asked"),
    }
}

#[test]
fn mcp_lookups_do_not_reveal_hidden_files() {
    let open = open("MCP");
    let mut worlds = pair();
    let tokens = worlds.each_ref().map(|world| world.token("mcp"));
    for lookup in lookups().iter() {
        assert!(open[&lookup.name], "{} is asked for here", lookup.name);
        let mut answered = 0;
        for params in looked_up(&lookup.name) {
            worlds[0].meanwhile();
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": lookup.name, "params": params});
            let answers = [0, 1].map(|one| {
                let world = &worlds[one];
                let (_, answer) = posted::post(world.port(), &tokens[one], &[], &body.to_string());
                answered += usize::from(answer["result"].is_object());
                plain(world, &answer.to_string())
            });
            assert_eq!(answers[0], answers[1], "{} {params}", lookup.name);
            // The request's own text may be repeated.
            let asked = params.to_string().to_lowercase();
            assert!(!is_marked(&answers[0]) || asked.contains(MARK), "{}", answers[0]);
        }
        // The daily notes, the templates and the prompts are hidden too.
        let is_hidden = lookup.name == "prompts/get";
        assert_eq!(answered == 0, is_hidden, "{}: {answered} answers", lookup.name);
    }
}

#[test]
fn a_model_gets_only_what_its_caller_may_see() {
    let world = lived(true);
    let persons = world.model.requests();
    let sent = |requests: &[crate::models::Request]| -> String {
        let body = |request: &crate::models::Request| -> Value {
            serde_json::from_slice(&request.body).unwrap()
        };
        requests.iter().map(|request| body(request)["messages"].to_string()).collect()
    };
    let all = sent(&persons);
    let outline = "The vault as this conversation begins; vault_outline shows more:";
    for part in ["zzmark words", "Zzmark Closed/Zzmark plan.md", "Always say zzmarktext", outline] {
        assert!(all.contains(part), "a person's conversation is told `{part}`: {all}");
    }
    let mut world = world;
    for with_obsidian in [false, true] {
        let host = with_obsidian.then(|| obsidian(&world));
        let mut host = host;
        for scope in LIMITED {
            let before = world.model.requests().len();
            let mut ear = world.ear(scope);
            ear.call("session/new", json!({}));
            for _ in 0..2 {
                world.meanwhile();
                world.does("write_file", json!({"path": "Open/seen.md", "content": "seen"}));
                let said = json!({"prompt": [{"type": "text", "text": "what is there?"}]});
                let asked = ear.ask("session/prompt", said);
                if let Some(host) = &mut host {
                    shows(host, true);
                }
                let answer = ear.answer(asked);
                assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
            }
            let requests = world.model.requests();
            let sent = sent(&requests[before..]);
            assert!(requests.len() > before + 2 && sent.contains("Open/seen.md"), "{sent}");
            assert!(
                sent.contains(outline),
                "a limited caller's model is told what it may see: {sent}"
            );
            let at = sent.to_lowercase().find(MARK);
            let near = at.map(|at| &sent[at.saturating_sub(300)..(at + 100).min(sent.len())]);
            assert!(near.is_none(), "as {scope}, Obsidian {with_obsidian}: {near:?}");
        }
    }
}

#[test]
fn a_limited_caller_stops_turns_of_its_own_kind_alone() {
    let mut world = World::new(true);
    let mut host = obsidian(&world);
    let mut ear = world.ear("client");
    let said = json!({"prompt": [{"type": "text", "text": "look around"}]});
    let is_asked = |message: &Value| message["method"] == "_vault/host/active_note";
    let cancel = |id: &str| json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": id}});
    let asked = world.person.ask("session/prompt", said.clone());
    let question = host.until(is_asked);
    ear.send(&cancel("1"));
    ear.call("_vault/ping", json!({}));
    host.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"note": null}}));
    assert_eq!(world.person.answer(asked)["result"]["stopReason"], "end_turn");

    let asked = ear.ask("session/prompt", said);
    host.until(is_asked);
    ear.send(&cancel("2"));
    assert_eq!(ear.answer(asked)["result"]["stopReason"], "cancelled");
}
