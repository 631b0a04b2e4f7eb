//! The client side of the Agent Client Protocol, version 1: our requests, and an agent's messages.
//! No I/O.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::llm::{Stop, Usage};

/// The version that we speak.
pub(super) const VERSION: u64 = 1;

/// The name of our MCP server for the guest.
pub(super) const SERVER: &str = "vault";

/// The error of an agent that wants its user to sign in first.
const AUTH_REQUIRED: i64 = -32_000;

/// The longest title that is shown, in characters.
const TITLE: usize = 200;

/// The most tool calls of a prompt that are remembered.
const MAX_CALLS: usize = 256;

/// A line of the agent's output, parsed.
#[derive(Debug, PartialEq)]
pub(super) enum AgentMessage {
    /// The answer to our request with this id.
    Answer {
        id: u64,
        result: Result<Value, String>,
    },
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Update {
        session: String,
        update: Value,
    },
    /// An irrelevant notification.
    Other,
    /// Not a message.
    Malformed,
}

#[derive(Deserialize)]
struct Message {
    id: Option<Value>,
    method: Option<String>,
    params: Option<Value>,
    result: Option<Value>,
    error: Option<ErrorObject>,
}

#[derive(Deserialize)]
struct ErrorObject {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
}

pub(super) fn parse(line: &str) -> AgentMessage {
    let Ok(message) = serde_json::from_str::<Message>(line) else { return AgentMessage::Malformed };
    let Message { id, method, params, result, error } = message;
    let params = params.unwrap_or_default();
    match (method, id) {
        (Some(method), Some(id)) => AgentMessage::Request { id, method, params },
        (Some(method), None) if method == "session/update" => {
            let Value::Object(mut params) = params else { return AgentMessage::Malformed };
            let session = params.get("sessionId").and_then(Value::as_str).unwrap_or_default();
            let session = session.to_owned();
            let update = params.remove("update").unwrap_or_default();
            AgentMessage::Update { session, update }
        }
        (Some(_), None) => AgentMessage::Other,
        (None, Some(id)) => match (id.as_u64(), error) {
            (Some(id), None) => AgentMessage::Answer { id, result: Ok(result.unwrap_or_default()) },
            (Some(id), Some(error)) => AgentMessage::Answer { id, result: Err(words(&error)) },
            (None, _) => AgentMessage::Other,
        },
        (None, None) => AgentMessage::Malformed,
    }
}

fn words(error: &ErrorObject) -> String {
    match error.code {
        AUTH_REQUIRED => format!("its user has to sign in first: {}", error.message),
        code => format!("{} ({code})", error.message),
    }
}

/// A request to the agent.
pub(super) fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// The params of `initialize`: the guest gets neither our files nor a terminal.
pub(super) fn introduction() -> Value {
    json!({
        "protocolVersion": VERSION,
        "clientCapabilities": {
            "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false,
        },
        "clientInfo": {
            "name": "vault-steward", "title": "Vault Steward", "version": env!("CARGO_PKG_VERSION"),
        },
    })
}

/// The answer to a request that we do not serve.
pub(super) fn unknown(id: &Value, method: &str) -> Value {
    let method: String = method.chars().take(80).collect();
    let message = format!("`{method}` is not offered: use the tools of the MCP server `{SERVER}`");
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32_601, "message": message } })
}

/// Whether a session has this mode, according to the agent's answer to `session/new`; the error
/// names the available modes.
pub(super) fn has_mode(session: &Value, mode: &str) -> Result<(), String> {
    // Some do not report the modes of a session that they load.
    let Some(modes) = session["modes"]["availableModes"].as_array() else { return Ok(()) };
    let names: Vec<&str> = modes.iter().filter_map(|mode| mode["id"].as_str()).collect();
    if names.contains(&mode) {
        Ok(())
    } else {
        Err(format!(
            "it has no mode `{mode}`; set `session_mode` to one of: {}",
            names.join(", ").chars().take(TITLE).collect::<String>()
        ))
    }
}

/// The tool calls of the agent in a prompt, by their ids; later messages contain only what changed.
#[derive(Debug, Default)]
pub(super) struct ToolCalls(HashMap<String, Map<String, Value>>);

impl ToolCalls {
    /// Merges a message about a call; returns everything known about the call.
    pub fn add(&mut self, call_update: &Value) -> Value {
        let id = call_update["toolCallId"].as_str().unwrap_or_default();
        // Without an id it cannot be merged with earlier messages.
        if id.is_empty() || (self.0.len() >= MAX_CALLS && !self.0.contains_key(id)) {
            return call_update.clone();
        }
        let known = self.0.entry(id.to_owned()).or_default();
        for key in ["title", "kind", "rawInput", "locations", "content", "_meta"] {
            if let Some(value) = call_update.get(key).filter(|value| !value.is_null()) {
                known.insert(key.to_owned(), value.clone());
            }
        }
        Value::Object(known.clone())
    }

    pub fn forget(&mut self) {
        self.0.clear();
    }
}

/// A permission request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Permission {
    /// What it is about; one line.
    pub title: String,
    /// What the guest would do, as JSON.
    pub input: String,
    /// Whether it is about a tool of the vault.
    pub is_ours: bool,
    yes: Option<String>,
    no: Option<String>,
}

impl Permission {
    /// Reads the params; `call` has everything known about the tool call, and `tools` are the names
    /// of our tools.
    pub fn read(params: &Value, call: &Value, tools: &[String]) -> Self {
        let option = |kinds: [&str; 2]| {
            let options = params["options"].as_array().map(Vec::as_slice).unwrap_or_default();
            let found = kinds.iter().find_map(|kind| options.iter().find(|it| it["kind"] == *kind));
            found.and_then(|it| it["optionId"].as_str()).map(str::to_owned)
        };
        let input = match &call["rawInput"] {
            Value::Null => json!({ "content": call["content"], "locations": call["locations"] }),
            input => input.clone(),
        };
        let input: String = input.to_string().chars().take(2_000).collect();
        Self {
            title: title(call),
            input,
            is_ours: is_ours(call, tools),
            yes: option(["allow_once", "allow_always"]),
            no: option(["reject_once", "reject_always"]),
        }
    }

    /// The answer. If the guest offers no option for a yes, a yes becomes a no.
    pub fn answer(&self, id: &Value, agreed: bool) -> Value {
        let option = if agreed { &self.yes } else { &self.no };
        let outcome = match option {
            Some(option) => json!({ "outcome": "selected", "optionId": option }),
            None => json!({ "outcome": "cancelled" }),
        };
        json!({ "jsonrpc": "2.0", "id": id, "result": { "outcome": outcome } })
    }
}

/// The title of a tool call; one line.
fn title(call: &Value) -> String {
    let title = call["title"].as_str().or_else(|| call["kind"].as_str()).unwrap_or("something");
    title.chars().map(|c| if c.is_control() { ' ' } else { c }).take(TITLE).collect()
}

/// Whether a tool call is for one of our tools, by the names that known agents give to them. The
/// name must be the whole title: the title of a shell command is the command, which can quote
/// anything.
fn is_ours(call: &Value, tools: &[String]) -> bool {
    let is_tool = |name: &str| tools.iter().any(|tool| tool == name);
    // Codex marks every MCP call as executing something.
    if call["_meta"]["is_mcp_tool_call"] == true {
        let input = &call["rawInput"];
        return input["server"] == SERVER && input["tool"].as_str().is_some_and(is_tool);
    }
    if ["execute", "edit", "delete", "move", "fetch"].iter().any(|kind| call["kind"] == *kind) {
        return false;
    }
    let names = [&call["title"], &call["_meta"]["claudeCode"]["toolName"]];
    names.iter().filter_map(|name| name.as_str()).any(|name| {
        let claude = name.strip_prefix("mcp__").and_then(|rest| rest.strip_prefix(SERVER));
        let claude = claude.and_then(|rest| rest.strip_prefix("__"));
        let codex = name.strip_prefix("Tool: ").unwrap_or(name);
        let codex = ["/", "."].iter().find_map(|it| codex.strip_prefix(&format!("{SERVER}{it}")));
        let gemini = name.strip_suffix(&format!(" ({SERVER} MCP Server)"));
        let mut found = [claude, codex, gemini].into_iter().flatten();
        found.any(is_tool)
    })
}

/// What an update shows.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AgentOutput {
    Text {
        text: String,
        /// The id of the message that it belongs to.
        message: Option<String>,
    },
    Thought(String),
}

/// What a `session/update` shows, if anything. Calls of our tools are shown by the turn.
pub(super) fn shown(update: &Value, tools: &[String]) -> Option<AgentOutput> {
    let text = || update["content"]["text"].as_str().filter(|text| !text.is_empty());
    match update["sessionUpdate"].as_str()? {
        "agent_message_chunk" => text().map(|text| {
            let message = update["messageId"].as_str().map(str::to_owned);
            AgentOutput::Text { text: text.to_owned(), message }
        }),
        "agent_thought_chunk" => text().map(|text| AgentOutput::Thought(text.to_owned())),
        "tool_call" if !is_ours(update, tools) => {
            Some(AgentOutput::Thought(format!("\n[its own tool: {}]\n", title(update))))
        }
        "plan" => {
            let entries = update["entries"].as_array()?.iter().take(50);
            let line = |entry: &Value| {
                let text = entry["content"].as_str().unwrap_or_default();
                let done = if entry["status"] == "completed" { "x" } else { " " };
                format!("- [{done}] {}", text.chars().take(TITLE).collect::<String>())
            };
            let lines: Vec<String> = entries.map(line).collect();
            Some(AgentOutput::Thought(format!("\n{}\n", lines.join("\n"))))
        }
        _ => None,
    }
}

/// Why the agent stopped, and what it used, from the answer to `session/prompt`.
pub(super) fn stopped(result: &Value) -> (Stop, Option<Usage>) {
    let stop = match result["stopReason"].as_str() {
        Some("end_turn") => Stop::EndTurn,
        Some("max_tokens") => Stop::MaxTokens,
        Some("refusal") => Stop::Refusal(String::new()),
        Some(other) => Stop::Other(other.chars().take(40).collect()),
        None => Stop::Other(String::new()),
    };
    let usage = result["usage"].as_object().map(|usage| {
        let count = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or_default();
        let (cache_read, cache_write) = (count("cachedReadTokens"), count("cachedWriteTokens"));
        Usage {
            input: count("inputTokens").saturating_add(cache_read).saturating_add(cache_write),
            cache_read,
            cache_write,
            output: count("outputTokens"),
            reasoning: usage.get("thoughtTokens").and_then(Value::as_u64),
        }
    });
    (stop, usage)
}

/// The entry for our MCP server.
pub(super) fn server(program: &str, variable: Option<(&str, &str)>) -> Value {
    let env = variable.map(|(name, value)| json!({ "name": name, "value": value }));
    let env: Vec<Value> = env.into_iter().collect();
    json!({ "name": SERVER, "command": program, "args": ["mcp"], "env": env })
}

/// The params of `session/new`.
pub(super) fn session(cwd: &str, server: Value, meta: &Value) -> Value {
    let mut params = Map::new();
    params.insert("cwd".to_owned(), cwd.into());
    params.insert("mcpServers".to_owned(), json!([server]));
    if meta.is_object() {
        params.insert("_meta".to_owned(), meta.clone());
    }
    Value::Object(params)
}

/// The params of `session/set_mode`.
pub(super) fn mode(id: &str, mode: &str) -> Value {
    json!({ "sessionId": id, "modeId": mode })
}

/// The params of `session/load`.
pub(super) fn loaded(id: &str, cwd: &str, server: Value, meta: &Value) -> Value {
    let mut params = session(cwd, server, meta);
    params["sessionId"] = id.into();
    params
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_name_makes_a_tool_ours() {
        let tools = ["read_file".to_owned()];
        let ours = |call: Value| is_ours(&call, &tools);
        for title in [
            "mcp__vault__read_file",
            "vault/read_file",
            "Tool: vault/read_file",
            "vault.read_file",
            "read_file (vault MCP Server)",
        ] {
            assert!(ours(json!({ "title": title, "kind": "other" })), "{title}");
        }
        for title in ["`echo mcp__vault__read_file`", "mcp__vault__rm", "mcp__other__read_file"] {
            assert!(!ours(json!({ "title": title })), "{title}");
        }
        assert!(!ours(json!({ "title": "mcp__vault__read_file", "kind": "execute" })));
        let named = json!({ "title": "Read", "_meta": { "claudeCode": { "toolName": "mcp__vault__read_file" } } });
        assert!(ours(named));
    }

    #[test]
    fn a_permission_is_answered_with_an_option_that_it_offers() {
        let params = json!({
            "toolCall": { "title": "rm -rf\n~", "kind": "execute" },
            "options": [{ "optionId": "a", "kind": "allow_always" }, { "optionId": "r", "kind": "reject_once" }],
        });
        let permission = Permission::read(&params, &params["toolCall"], &[]);
        assert_eq!((permission.title.as_str(), permission.is_ours), ("rm -rf ~", false));
        assert_eq!(permission.answer(&json!(1), true)["result"]["outcome"]["optionId"], "a");
        assert_eq!(permission.answer(&json!(1), false)["result"]["outcome"]["optionId"], "r");
        let none = Permission::read(&json!({}), &json!({}), &[]);
        assert_eq!(none.answer(&json!("x"), true)["result"]["outcome"]["outcome"], "cancelled");
    }

    #[test]
    fn a_permission_is_about_the_call_that_was_announced() {
        let tools = ["move".to_owned()];
        let mut calls = ToolCalls::default();
        // How codex-acp 2.6.0 announces an MCP call and asks about it.
        calls.add(&json!({
            "sessionUpdate": "tool_call", "toolCallId": "c1", "kind": "execute", "title": "mcp.vault.move",
            "rawInput": { "server": "vault", "tool": "move", "arguments": {} },
            "_meta": { "is_mcp_tool_call": true },
        }));
        let params =
            json!({ "toolCall": { "toolCallId": "c1", "kind": "execute", "title": null } });
        let permission = Permission::read(&params, &calls.add(&params["toolCall"]), &tools);
        assert_eq!((permission.title.as_str(), permission.is_ours), ("mcp.vault.move", true));
        for (server, tool) in [("other", "move"), ("vault", "rm")] {
            let call_update = json!({
                "toolCallId": "c2", "_meta": { "is_mcp_tool_call": true },
                "rawInput": { "server": server, "tool": tool },
            });
            assert!(!is_ours(&calls.add(&call_update), &tools), "{call_update}");
        }
        // A different call, not the announced one.
        let other = json!({ "toolCall": { "toolCallId": "c3", "kind": "execute" } });
        assert!(!Permission::read(&other, &calls.add(&other["toolCall"]), &tools).is_ours);
        let edit =
            json!({ "toolCallId": "c4", "title": "Edit files", "locations": [{ "path": "/a" }] });
        let permission = Permission::read(&json!({}), &calls.add(&edit), &tools);
        assert!(permission.input.contains("/a"), "{}", permission.input);
    }

    #[test]
    fn a_mode_that_a_session_lacks_is_named() {
        let session =
            json!({ "modes": { "availableModes": [{ "id": "read-only" }, { "id": "auto" }] } });
        assert_eq!(has_mode(&session, "auto"), Ok(()));
        let why = has_mode(&session, "x").unwrap_err();
        assert!(why.contains("`x`") && why.contains("read-only, auto"), "{why}");
        assert_eq!(has_mode(&Value::Null, "auto"), Ok(()));
    }

    #[test]
    fn what_is_no_message_is_malformed() {
        for line in ["", "hello", "[]", "1", "{}", r#"{"method":"session/update","params":3}"#] {
            assert_eq!(parse(line), AgentMessage::Malformed, "{line}");
        }
        assert_eq!(parse(r#"{"id":"x","result":{}}"#), AgentMessage::Other);
        let answer = parse(r#"{"id":3,"error":{"code":-32000,"message":"Run login"}}"#);
        let AgentMessage::Answer { id: 3, result: Err(words) } = answer else {
            panic!("{answer:?}")
        };
        assert_eq!(words, "its user has to sign in first: Run login");
    }
}
