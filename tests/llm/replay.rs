//! An answer is sent back to the same vendor unchanged, and to others in their own format.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use vault_steward::llm::wire::Target;
use vault_steward::llm::{
    Block, BlockKind, Cache, Effort, Facts, Message, Origin, ToolChoice, ToolResult, ToolSpec,
    TurnRequest, Wire,
};

use crate::streams::{fixture, origin, read};

pub fn target(wire: Wire, model: &str) -> Target {
    let facts = Facts::of(wire, model, &BTreeMap::new());
    Target { origin: origin(wire, model), facts }
}

/// A history in which `maker` gave the answer of the stream `name`.
fn history(maker: &Origin, name: &str) -> Vec<Message> {
    let (_, turn) = read(maker.wire, &fixture(maker.wire, name), 64);
    let content = turn.unwrap().content;
    let results = content
        .iter()
        .filter_map(Block::call)
        .map(|call| ToolResult {
            call_id: call.id.clone(),
            name: call.name.clone(),
            content: vec![Block::text("found")],
            is_error: false,
        })
        .collect();
    let history = vec![
        Message::user("Read both"),
        Message::Assistant { content, origin: Some(maker.clone()) },
        Message::ToolResults { results },
        Message::Notice { text: "It is noon.".to_owned() },
    ];
    // As it is loaded from the stored conversation.
    serde_json::from_str(&serde_json::to_string(&history).unwrap()).unwrap()
}

fn body(target: &Target, messages: Vec<Message>) -> (Value, String) {
    let call = target.encode(&TurnRequest::new(messages)).unwrap();
    let text = String::from_utf8(call.body).unwrap();
    (serde_json::from_str(&text).unwrap(), text)
}

#[test]
fn anthropic_gets_its_blocks_back_unchanged_and_in_order() {
    let sonnet = target(Wire::Anthropic, "claude-sonnet-5-5");
    let (body, text) = body(&sonnet, history(&sonnet.origin, "ok"));
    let answer = &body["messages"][1]["content"];
    let kinds: Vec<_> = answer.as_array().unwrap().iter().map(|b| b["type"].clone()).collect();
    assert_eq!(kinds, ["thinking", "redacted_thinking", "text", "tool_use", "tool_use"]);
    assert_eq!(answer[0]["signature"], "c2lnbmF0dXJl");
    assert!(text.contains(r#""input":{"path":"Gärten/ü.md","n":1.50}"#), "numbers as they were");
    assert_eq!(answer[4]["input"], json!({}));
    // All results in one message, directly after the calls; the news after them.
    let results = &body["messages"][2];
    assert_eq!(results["role"], "user");
    assert_eq!(results["content"].as_array().unwrap().len(), 2);
    assert_eq!(results["content"][1]["tool_use_id"], "toolu_b");
    assert_eq!(body["messages"][3]["content"][0]["text"], "It is noon.");
    assert!(!body["tools"].as_array().unwrap().is_empty(), "a history with calls names a tool");

    // Another Claude at the same address gets the same; thinking between calls stays between them.
    let opus = target(Wire::Anthropic, "claude-opus-5-5");
    let (body, _) = self::body(&opus, history(&sonnet.origin, "interleaved"));
    let answer = body["messages"][1]["content"].as_array().unwrap();
    let kinds: Vec<_> = answer.iter().map(|b| b["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["thinking", "text", "tool_use", "thinking", "tool_use"]);
    assert_eq!(answer[0]["signature"], "QQ==", "the last one sent is the whole one");
    assert_eq!((&answer[3]["thinking"], &answer[3]["signature"]), (&json!(""), &json!("Qg==")));
}

#[test]
fn responses_gets_its_items_back_byte_for_byte() {
    let sol = target(Wire::Responses, "gpt-6.1-sol");
    let (body, text) = body(&sol, history(&sol.origin, "ok"));
    let kinds: Vec<_> =
        body["input"].as_array().unwrap().iter().map(|item| item["type"].clone()).collect();
    assert_eq!(
        kinds,
        [
            "message",
            "reasoning",
            "message",
            "function_call",
            "function_call",
            "function_call_output",
            "function_call_output",
            "message"
        ]
    );
    let stream = String::from_utf8(fixture(Wire::Responses, "ok")).unwrap();
    let done = stream
        .lines()
        .filter_map(|line| line.split_once("\"item\":"))
        .filter(|(head, _)| head.contains("output_item.done"));
    for (_, item) in done {
        assert!(text.contains(item.strip_suffix('}').unwrap()), "{item}");
    }
    assert_eq!(body["input"][7]["role"], "developer");
    assert_eq!(body["store"], false);
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));

    // The vendor rejects a thought that nothing follows, so it is omitted.
    let mut cut = history(&sol.origin, "ok");
    let Message::Assistant { content, .. } = &mut cut[1] else { unreachable!() };
    content.truncate(1);
    cut.remove(2);
    let (body, _) = self::body(&sol, cut);
    assert!(!body["input"].to_string().contains("reasoning"));
    // Another model must not get it.
    let luna = target(Wire::Responses, "gpt-6-luna");
    let (body, _) = self::body(&luna, history(&sol.origin, "ok"));
    assert!(!body["input"].to_string().contains("encrypted_content"));
}

#[test]
fn gemini_gets_signatures_back_where_they_were() {
    let argon = target(Wire::Gemini, "gemini-4-argon");
    let (body, _) = body(&argon, history(&argon.origin, "ok"));
    let parts = &body["contents"][1]["parts"];
    assert_eq!(parts[0], json!({ "text": "Ich lese beide 🌱." }));
    assert_eq!(parts[1]["thoughtSignature"], "c2lnbmF0dXJl");
    // A call without arguments is sent back without, the second one unsigned.
    assert_eq!(parts[2], json!({ "functionCall": { "name": "list_tags" } }));
    let results = &body["contents"][2]["parts"];
    assert_eq!(results[0]["functionResponse"]["name"], "read_file");
    assert!(results[0]["functionResponse"].get("id").is_none(), "no id was given, none goes back");

    let (body, _) = self::body(&argon, history(&argon.origin, "with_ids"));
    assert_eq!(body["contents"][2]["parts"][0]["functionResponse"]["id"], "fc-1");
    let (body, _) = self::body(&argon, history(&argon.origin, "signed_text"));
    let last = &body["contents"][1]["parts"][1];
    assert_eq!(last, &json!({ "text": "", "thoughtSignature": "c2lnbmF0dXJl" }));

    // Another model's calls are marked as such, the first one in an answer.
    let sonnet = origin(Wire::Anthropic, "claude-sonnet-5-5");
    let (body, _) = self::body(&argon, history(&sonnet, "ok"));
    let parts = &body["contents"][1]["parts"];
    assert_eq!(parts[1]["thoughtSignature"], "skip_thought_signature_validator");
    assert!(parts[2].get("thoughtSignature").is_none());
}

#[test]
fn every_maker_can_be_read_by_every_other() {
    let all = [
        target(Wire::Anthropic, "claude-sonnet-5-5"),
        target(Wire::Responses, "gpt-6.1-sol"),
        target(Wire::Chat, "qwen3:8b"),
        target(Wire::Gemini, "gemini-4-argon"),
    ];
    for maker in &all {
        for reader in all.iter().filter(|reader| reader.origin.wire != maker.origin.wire) {
            let (body, text) = body(reader, history(&maker.origin, "ok"));
            let what = format!("{:?} by {:?}: {text}", maker.origin.wire, reader.origin.wire);
            assert!(text.contains("Ich lese beide 🌱."), "{what}");
            assert!(text.contains("Gärten/ü.md") && text.contains("found"), "{what}");
            assert!(!text.contains("Zwei Noten"), "thinking stays with its maker: {what}");
            assert!(!text.contains("c2lnbmF0dXJl") && !text.contains("Z2VoZWlt"), "{what}");
            let pairs = pairs(reader.origin.wire, &body);
            assert_eq!(pairs.0, pairs.1, "every call has its result: {what}");
            assert_eq!(pairs.0.len(), 2, "{what}");
        }
    }
}

/// The ids (for Gemini the names) of calls and of results.
fn pairs(wire: Wire, body: &Value) -> (Vec<Value>, Vec<Value>) {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let pick = |from: Vec<Value>, path: &str| -> Vec<Value> {
        from.iter().filter_map(|value| value.pointer(path).cloned()).collect()
    };
    let contents = |messages: &Value, key: &str| -> Vec<Value> {
        list(messages).iter().flat_map(|message| list(&message[key])).collect()
    };
    match wire {
        Wire::Anthropic => {
            let blocks = contents(&body["messages"], "content");
            let calls = blocks.iter().filter(|b| b["type"] == "tool_use").cloned().collect();
            (pick(calls, "/id"), pick(blocks, "/tool_use_id"))
        }
        Wire::Responses => {
            let items = list(&body["input"]);
            let of = |kind: &str| {
                pick(items.iter().filter(|i| i["type"] == kind).cloned().collect(), "/call_id")
            };
            (of("function_call"), of("function_call_output"))
        }
        Wire::Chat => {
            let calls = contents(&body["messages"], "tool_calls");
            (pick(calls, "/id"), pick(list(&body["messages"]), "/tool_call_id"))
        }
        Wire::Gemini => {
            let parts = contents(&body["contents"], "parts");
            (pick(parts.clone(), "/functionCall/name"), pick(parts, "/functionResponse/name"))
        }
    }
}

fn full(messages: Vec<Message>) -> TurnRequest {
    TurnRequest {
        system: "Be brief.".into(),
        tools: Arc::new([ToolSpec {
            name: "list_tags".to_owned(),
            description: "Lists tags".to_owned(),
            schema: json!({ "type": "object", "properties": {} }),
        }]),
        tool_choice: ToolChoice::Auto,
        max_output_tokens: 1_000_000,
        effort: Some(Effort::Off),
        cache: Cache::On,
        installation: "3f".into(),
        ..TurnRequest::new(messages)
    }
}

fn encoded(wire: Wire, model: &str, request: &TurnRequest) -> Value {
    serde_json::from_slice(&target(wire, model).encode(request).unwrap().body).unwrap()
}

#[test]
fn each_model_is_asked_in_the_way_it_takes() {
    let request = full(vec![Message::user("hi")]);
    let body = encoded(Wire::Anthropic, "claude-sonnet-5-5", &request);
    assert_eq!(body["thinking"], json!({ "type": "disabled" }));
    assert_eq!(body["max_tokens"], 128_000, "the model's own limit holds");
    assert_eq!(body["cache_control"], json!({ "type": "ephemeral" }));
    assert_eq!(body["system"][0]["cache_control"], json!({ "type": "ephemeral" }));
    assert_eq!(body["tools"][0]["name"], "list_tags");
    // Opus always thinks; visible thoughts are always sent back.
    let body = encoded(Wire::Anthropic, "claude-opus-5-5", &request);
    assert_eq!(body["thinking"], json!({ "type": "adaptive", "display": "summarized" }));
    assert_eq!(body["output_config"], json!({ "effort": "low" }));
    let hard = TurnRequest { effort: Some(Effort::High), ..request.clone() };
    let body = encoded(Wire::Anthropic, "claude-haiku-4-5", &hard);
    assert_eq!(body["thinking"], json!({ "type": "enabled", "budget_tokens": 4_096 }));

    let body = encoded(Wire::Responses, "gpt-6-astra", &request);
    assert_eq!(body["reasoning"]["effort"], "low", "it refuses `none`");
    assert_eq!(body["max_output_tokens"], 128_000);
    let key = |request: &TurnRequest| {
        encoded(Wire::Responses, "gpt-6-astra", request)["prompt_cache_key"].clone()
    };
    let other = TurnRequest { installation: "4f".into(), ..request.clone() };
    let later = TurnRequest { messages: vec![Message::user("later")], ..request.clone() };
    assert_eq!(key(&later), key(&request), "a new conversation finds what is there");
    assert_ne!(key(&other), key(&request), "and nobody else does");
    let key = key(&request);
    assert!(key.as_str().is_some_and(|key| key.len() == 32), "{key}");
    let body = encoded(Wire::Responses, "gpt-6-luna", &request);
    assert_eq!(body["reasoning"]["effort"], "none");

    let body = encoded(Wire::Chat, "qwen3:8b", &request);
    assert_eq!(body["max_tokens"], 8_192);
    assert_eq!(body["stream_options"], json!({ "include_usage": true }));
    assert!(body.get("reasoning_effort").is_none());

    let body = encoded(Wire::Gemini, "gemini-4-argon", &request);
    let config = &body["generationConfig"];
    assert_eq!(config["thinkingConfig"]["thinkingLevel"], "LOW", "it knows no off");
    let tool = &body["tools"][0]["functionDeclarations"][0];
    assert_eq!(tool["parametersJsonSchema"]["type"], "object");
    assert_eq!(body["systemInstruction"]["parts"][0]["text"], "Be brief.");
    let url = target(Wire::Gemini, "gemini-4-argon").encode(&request).unwrap().url;
    assert!(url.ends_with("/models/gemini-4-argon:streamGenerateContent?alt=sse"), "{url}");

    for (wire, model) in [
        (Wire::Anthropic, "claude-sonnet-5-5"),
        (Wire::Responses, "gpt-6-luna"),
        (Wire::Chat, "m"),
        (Wire::Gemini, "gemini-4-argon"),
    ] {
        let none = TurnRequest { tool_choice: ToolChoice::None, ..request.clone() };
        let text = encoded(wire, model, &none).to_string();
        assert!(text.contains("list_tags"), "the tools stay as they are");
        assert!(text.to_lowercase().contains("\"none\""), "{text}");
        let sampled = ["temperature", "top_p", "top_k", "topP"];
        assert!(!sampled.iter().any(|key| text.contains(&format!("\"{key}\""))), "{text}");
    }
}

#[test]
fn images_go_where_each_vendor_wants_them() {
    let image = || Block {
        kind: BlockKind::Image { mime: "image/png".into(), base64: "QUJD".into() },
        native: None,
    };
    let result = ToolResult {
        call_id: "a.1".to_owned(),
        name: "read_file".to_owned(),
        content: vec![Block::text("a picture"), image()],
        is_error: false,
    };
    let messages = vec![
        Message::User { content: vec![Block::text("look"), image()] },
        Message::ToolResults { results: vec![result] },
    ];
    let request = TurnRequest::new(messages);
    let body = encoded(Wire::Anthropic, "claude-sonnet-5-5", &request);
    assert_eq!(body["messages"][0]["content"][1]["source"]["data"], "QUJD");
    let result = &body["messages"][1]["content"][0];
    assert_eq!(result["content"][1]["source"]["media_type"], "image/png");
    assert_eq!(result["tool_use_id"], "a_1", "ids as Anthropic takes them");
    let body = encoded(Wire::Responses, "gpt-6-luna", &request);
    assert_eq!(body["input"][0]["content"][1]["image_url"], "data:image/png;base64,QUJD");
    assert_eq!(body["input"][1]["output"][1]["type"], "input_image");
    let body = encoded(Wire::Gemini, "gemini-4-argon", &request);
    assert_eq!(body["contents"][0]["parts"][1]["inlineData"]["data"], "QUJD");
    // A model without vision is told so, and gets no bytes.
    let text = encoded(Wire::Chat, "qwen3:8b", &request).to_string();
    assert!(text.contains("cannot see") && !text.contains("QUJD"), "{text}");
    let seeing = Facts { vision: Some(true), ..Facts::default() };
    let seeing = Target { facts: seeing, ..target(Wire::Chat, "qwen3-vl") };
    let body: Value = serde_json::from_slice(&seeing.encode(&request).unwrap().body).unwrap();
    assert_eq!(body["messages"][1]["role"], "tool");
    assert_eq!(body["messages"][2]["role"], "user", "images follow the results");
    assert_eq!(body["messages"][2]["content"][0]["type"], "image_url");
}

#[test]
fn nothing_empty_is_sent() {
    let messages = vec![
        Message::user("hi"),
        Message::Assistant { content: vec![Block::text(" \n")], origin: None },
        Message::Assistant { content: vec![], origin: None },
        Message::user("still there?"),
    ];
    let request = TurnRequest::new(messages);
    let body = encoded(Wire::Anthropic, "claude-sonnet-5-5", &request);
    assert_eq!(body["messages"].as_array().unwrap().len(), 2);
    assert!(body.get("system").is_none() && body.get("tools").is_none());
    for (wire, key) in [(Wire::Responses, "input"), (Wire::Gemini, "contents")] {
        let body = encoded(wire, "m", &request);
        assert!(body[key].as_array().unwrap().len() <= 3, "{body}");
    }
}
