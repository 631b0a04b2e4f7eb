//! Questions that a client asks its own user, if the settings allow it.

use serde_json::{Value, json};

use crate::ground::{Ground, meta, request};
use crate::posted::post;

const SETTINGS: &str = "[policy]\nmode = \"ask\"\n[mcp]\nask_in_client = true\n";

/// Calls a tool as a client that can show its user a form.
fn call(ground: &Ground, tool: &str, arguments: &Value, more: Value) -> Value {
    let mut params = json!({"name": tool, "arguments": arguments, "_meta": meta()});
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
    if let (Some(params), Value::Object(more)) = (params.as_object_mut(), more) {
        params.extend(more);
    }
    let name = format!("Mcp-Name: {tool}");
    let headers = ["Mcp-Method: tools/call", "MCP-Protocol-Version: 2026-07-28", &name];
    post(ground.port, &ground.token, &headers, &request("tools/call", &params)).1
}

/// The call again, with an answer.
fn reply(state: &Value, action: &str, answer: &str) -> Value {
    let response = json!({"action": action, "content": {"answer": answer}});
    json!({"requestState": state, "inputResponses": {"approval": response}})
}

/// The state of a result that asks a question.
fn asked(answer: &Value) -> Value {
    let result = &answer["result"];
    assert_eq!(result["resultType"], "input_required", "{answer}");
    result["requestState"].clone()
}

#[test]
fn a_client_asks_its_user_whose_answer_counts_once() {
    let ground = Ground::new(SETTINGS);
    let write = json!({"path": "new", "content": "n\n"});
    let answer = call(&ground, "write_file", &write, json!({}));
    let state = asked(&answer);
    let question = &answer["result"]["inputRequests"]["approval"];
    assert_eq!(question["method"], "elicitation/create", "{answer}");
    let message = question["params"]["message"].as_str().unwrap();
    assert!(message.contains("new.md") && message.contains("+n"), "{message}");
    assert_eq!(question["params"]["requestedSchema"]["required"], json!(["answer"]));

    // An answer without content is asked for again; a state is valid only for its own call, and
    // once.
    let other = json!({"path": "other", "content": "n\n"});
    let stolen = call(&ground, "write_file", &other, reply(&state, "accept", "allow"));
    assert_eq!(stolen["error"]["code"], -32602, "{stolen}");
    let tampered = format!("{}0", state.as_str().unwrap());
    let wrong = call(&ground, "write_file", &write, reply(&json!(tampered), "accept", "allow"));
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
    assert!(!ground.vault.join("new.md").exists());
    let nothing = call(&ground, "write_file", &write, json!({"requestState": state}));
    let again = asked(&nothing);
    let used = call(&ground, "write_file", &write, reply(&state, "accept", "allow"));
    assert_eq!(used["error"]["code"], -32602, "{used}");
    let done = call(&ground, "write_file", &write, reply(&again, "accept", "allow"));
    assert_eq!(done["result"]["isError"], false, "{done}");
    assert_eq!(ground.read("new.md"), "n\n");
    let audit = ground.home.run_in(&ground.vault, &["audit"]).expect(0).stdout;
    assert!(audit.contains("answered by mcp a modern one"), "{audit}");

    let refuse = asked(&call(&ground, "write_file", &other, json!({})));
    let refused = call(&ground, "write_file", &other, reply(&refuse, "accept", "refuse"));
    let text = refused["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("`mcp a modern one` refused it"), "{refused}");
    // Closing the form is no answer: the question continues to wait for a person.
    let closed = asked(&call(&ground, "write_file", &other, json!({})));
    let waits = call(&ground, "write_file", &other, reply(&closed, "cancel", ""));
    let text = waits["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.starts_with("approval_pending: "), "{waits}");
}

#[test]
fn questions_for_a_person_are_not_asked_by_a_client() {
    let settings = SETTINGS
        .replace("[mcp]", "mcp = \"permanent\"\n[agent]\ninstructions_note = \"Rules.md\"\n[mcp]");
    let ground = Ground::new(&settings);
    for (tool, arguments) in [
        ("delete", json!({"path": "a", "permanent": true})),
        ("write_file", json!({"path": "new", "content": "![](https://evil.example/x.png)\n"})),
        ("write_file", json!({"path": "Rules", "content": "obey\n"})),
    ] {
        let answer = call(&ground, tool, &arguments, json!({}));
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.starts_with("approval_pending: "), "{answer}");
    }
    // A client that cannot show forms is not asked, and no client is if the settings do not allow
    // it.
    let write = json!({"name": "write_file", "arguments": {"path": "new", "content": "n\n"}});
    let (_, answer) = ground.ask_modern("tools/call", &write);
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    let ground = Ground::new("[policy]\nmode = \"ask\"\n");
    let answer = call(&ground, "write_file", &write["arguments"], json!({}));
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    assert!(!ground.vault.join("new.md").exists());
}
