//! The tools, resources and prompts that the protocol's conformance suite requires of a server.
//! They exist only with the Cargo feature `conformance`, which no release has, and only if the
//! variable `MCP_FIXTURES` is set, so the same build runs all other tests without them.
//!
//! The fixtures are content only. The suite tests the code that all other requests use: messages,
//! eras, headers, states, streams and the common fields of results.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::call::Answered;
use super::fault::{Fault, MISSING};
use super::identity::sign;
use super::{Era, ask};
use crate::protocol::envelope::RequestId;

/// An image of one pixel, in base64.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/// An empty sound, in base64.
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

/// The error code for a request that needs a capability that the client did not declare.
const MISSING_CAPABILITY: i32 = -32021;

/// Addresses of resources.
const SCHEME: &str = "test://";

const TOOLS: [&str; 21] = [
    "test_audio_content",
    "test_embedded_resource",
    "test_error_handling",
    "test_image_content",
    "test_input_required_result_capabilities",
    "test_input_required_result_elicitation",
    "test_input_required_result_list_roots",
    "test_input_required_result_multi_round",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_request_state",
    "test_input_required_result_sampling",
    "test_input_required_result_tampered_state",
    "test_logging_tool",
    "test_missing_capability",
    "test_multiple_content_types",
    "test_simple_text",
    "test_streaming_elicitation",
    "test_tool_with_logging",
    "test_tool_with_progress",
    "test_trigger_prompt_change",
    "test_trigger_tool_change",
];

/// A request for one of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Fixture {
    pub id: RequestId,
    era: Era,
    /// The tool's or prompt's name, or the resource's address.
    pub name: String,
    params: Map<String, Value>,
    capabilities: Value,
    /// The token of progress notifications.
    pub progress: Option<Value>,
}

/// Makes and recognises states; each can be used once, for its purpose.
pub trait States {
    /// Makes a new state.
    fn make(&self, purpose: &str) -> String;

    /// Consumes a state; returns whether it was for this purpose.
    fn take(&self, purpose: &str, state: &str) -> bool;
}

/// Whether this process offers them.
fn are_offered() -> bool {
    static OFFERED: LazyLock<bool> = LazyLock::new(|| std::env::var_os("MCP_FIXTURES").is_some());
    *OFFERED
}

/// The tools, as clients are shown them.
pub(super) fn tools() -> impl Iterator<Item = Value> {
    let tool = |name: &str| json!({ "name": name, "description": "Of the conformance suite.", "inputSchema": { "type": "object" } });
    TOOLS.into_iter().filter(|_| are_offered()).map(tool)
}

/// The address of a resource, instead of a path.
pub(super) fn path(address: &str) -> Option<String> {
    (are_offered() && address.starts_with(SCHEME)).then(|| address.to_owned())
}

pub(super) fn find(
    id: &RequestId,
    era: Era,
    method: &str,
    params: &Map<String, Value>,
    meta: Option<&Map<String, Value>>,
) -> Option<Fixture> {
    let key = if method == "resources/read" { "uri" } else { "name" };
    let name = params.get(key)?.as_str()?.to_owned();
    let is_one = are_offered()
        && match method {
            "tools/call" => TOOLS.contains(&&*name),
            "prompts/get" => name.starts_with("test_"),
            "resources/read" => name.starts_with(SCHEME) && !name.contains("nonexistent"),
            _ => false,
        };
    let of_meta = |key: &str| meta.and_then(|meta| meta.get(key)).cloned();
    is_one.then(|| Fixture {
        id: id.clone(),
        era,
        name,
        params: params.clone(),
        capabilities: of_meta(super::CAPABILITIES).unwrap_or_default(),
        progress: of_meta("progressToken"),
    })
}

impl Fixture {
    pub fn answer(&self, states: &dyn States) -> Answered {
        match self.outcome(states) {
            Ok(Outcome::Whole(mut result)) => {
                if let (Era::Modern, Some(result)) = (self.era, result.as_object_mut()) {
                    sign(result);
                    result.insert("ttlMs".to_owned(), 0.into());
                    result.insert("cacheScope".to_owned(), "private".into());
                }
                (200, json!({ "jsonrpc": "2.0", "id": self.id, "result": result }).to_string())
            }
            Ok(Outcome::Wants(requests, state)) => {
                (200, ask::required(&self.id, &requests, &state))
            }
            Err(fault) => (fault.status(self.era), fault.text(Some(&self.id))),
        }
    }

    /// The progress notification number `step` of three, from 0.
    pub fn progress(&self, step: u32) -> String {
        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": {
            "progressToken": self.progress, "progress": 50 * step, "total": 100,
        } })
        .to_string()
    }

    fn outcome(&self, states: &dyn States) -> Result<Outcome, Fault> {
        let argument = |name: &str| self.params.get("arguments").map(|all| all[name].clone());
        let argument = |name: &str| argument(name).and_then(|one| one.as_str().map(str::to_owned));
        let embedded = |uri: &str, text: &str| json!({ "type": "resource", "resource": { "uri": uri, "mimeType": "text/plain", "text": text } });
        let picture = || json!({ "type": "image", "data": PICTURE, "mimeType": "image/png" });
        let prompt = |contents: Vec<Value>| {
            let message = |content| json!({ "role": "user", "content": content });
            let messages: Vec<Value> = contents.into_iter().map(message).collect();
            Ok(Outcome::Whole(json!({ "messages": messages })))
        };
        let file = |mime: &str, key: &str, what: &str| {
            let contents = json!([{ "uri": self.name, "mimeType": mime, key: what }]);
            Ok(Outcome::Whole(json!({ "contents": contents })))
        };
        match &*self.name {
            "test_image_content" => tool(vec![picture()]),
            "test_audio_content" => {
                tool(vec![json!({ "type": "audio", "data": SOUND, "mimeType": "audio/wav" })])
            }
            "test_embedded_resource" => tool(vec![embedded(
                "test://embedded-resource",
                "This is an embedded resource content.",
            )]),
            "test_multiple_content_types" => tool(vec![
                text("Multiple content types test:"),
                picture(),
                json!({ "type": "resource", "resource": {
                    "uri": "test://mixed-content-resource", "mimeType": "application/json",
                    "text": r#"{"test":"data","value":123}"#,
                } }),
            ]),
            "test_error_handling" => Ok(Outcome::Whole(json!({
                "content": [text("This tool intentionally returns an error for testing")],
                "isError": true,
            }))),
            "test_missing_capability" if self.capabilities.get("sampling").is_none() => {
                let data = json!({ "requiredCapabilities": { "sampling": {} } });
                Err(Fault::new(MISSING_CAPABILITY, "it takes sampling").data(data))
            }
            "test_input_required_result_capabilities" => {
                let all = [("elicitation", form("What?", "what")), ("sampling", sampling("What?"))];
                let can = |(name, _): &(&str, Value)| self.capabilities.get(*name).is_some();
                let wanted = all.into_iter().filter(can);
                let wanted: Map<_, _> = wanted.map(|(name, ask)| (name.to_owned(), ask)).collect();
                Ok(Outcome::Wants(wanted.into(), String::new()))
            }
            name if name.starts_with("test_input_required_result_") => self.rounds(states),
            "test_streaming_elicitation" if self.era == Era::Modern => self.rounds(states),
            "test_simple_prompt" => prompt(vec![text("This is a simple prompt for testing.")]),
            "test_prompt_with_arguments" => {
                let (one, two) = (argument("arg1"), argument("arg2"));
                let (Some(one), Some(two)) = (one, two) else {
                    return Err(Fault::params("`arg1` and `arg2` are wanted"));
                };
                let state_text = format!("Prompt with arguments: arg1='{one}', arg2='{two}'");
                prompt(vec![text(&state_text)])
            }
            "test_prompt_with_embedded_resource" => {
                let uri = argument("resourceUri").unwrap_or_default();
                prompt(vec![
                    embedded(&uri, "Embedded resource content for testing."),
                    text("Please process the embedded resource above."),
                ])
            }
            "test_prompt_with_image" => {
                prompt(vec![picture(), text("Please analyze the image above.")])
            }
            "test://static-text" => {
                file("text/plain", "text", "This is the content of the static text resource.")
            }
            "test://static-binary" => file("image/png", "blob", PICTURE),
            uri if uri.starts_with("test://template/") => {
                let id = uri.split('/').nth(3).unwrap_or_default();
                let data =
                    json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
                file("application/json", "text", &data.to_string())
            }
            name if TOOLS.contains(&name) => {
                tool(vec![text("This is a simple text response for testing.")])
            }
            _ => Err(Fault::new(MISSING, "there is no such fixture")),
        }
    }

    /// The questions to the client, round by round, each with a state if there is one.
    fn rounds(&self, states: &dyn States) -> Result<Outcome, Fault> {
        let roots = || json!({ "method": "roots/list", "params": {} });
        let name = || form("What is your name?", "name");
        let rounds: Vec<Value> = match &*self.name {
            "test_input_required_result_sampling" => {
                vec![json!({ "capital_question": sampling("What is the capital of France?") })]
            }
            "test_input_required_result_list_roots" => vec![json!({ "client_roots": roots() })],
            "test_input_required_result_multiple_inputs" => vec![json!({
                "user_name": name(), "greeting": sampling("Generate a greeting"),
                "client_roots": roots(),
            })],
            "test_input_required_result_multi_round" => vec![
                json!({ "step1": form("Step 1: What is your name?", "name") }),
                json!({ "step2": form("Step 2: What is your favorite color?", "color") }),
            ],
            "test_input_required_result_prompt" => {
                vec![
                    json!({ "user_context": form("What context should the prompt use?", "context") }),
                ]
            }
            "test_input_required_result_request_state"
            | "test_input_required_result_tampered_state" => {
                vec![json!({ "confirm": form("Please confirm", "ok") })]
            }
            _ => vec![json!({ "user_name": name() })],
        };
        let purpose = |round: usize| format!("{} {round}", self.name);
        let is_stateful = ["state", "multi"].iter().any(|part| self.name.contains(part));
        let state = |round| if is_stateful { states.make(&purpose(round)) } else { String::new() };
        let request_state =
            self.params.get("requestState").map(|state| state.as_str().unwrap_or_default());
        let round = match request_state {
            None => 0,
            Some(request_state) => (0..rounds.len())
                .find(|round| states.take(&purpose(*round), request_state))
                .ok_or_else(|| Fault::params("`requestState` is none of ours"))?,
        };
        let answers = match self.params.get("inputResponses") {
            None => None,
            Some(Value::Object(answers)) => Some(answers),
            Some(_) => return Err(Fault::params("`inputResponses` must be an object")),
        };
        let wanted = rounds[round].as_object().into_iter().flat_map(Map::keys);
        let mut missing = wanted
            .filter(|key| !answers.is_some_and(|all| all.get(*key).is_some_and(Value::is_object)));
        if missing.next().is_some() {
            return Ok(Outcome::Wants(rounds[round].clone(), state(round)));
        }
        if let Some(next) = rounds.get(round + 1) {
            return Ok(Outcome::Wants(next.clone(), state(round + 1)));
        }
        let state_text = format!("state-ok: {}", Value::from(answers.cloned().unwrap_or_default()));
        if self.name.ends_with("prompt") {
            let messages = json!([{ "role": "user", "content": text(&state_text) }]);
            Ok(Outcome::Whole(json!({ "messages": messages })))
        } else {
            tool(vec![text(&state_text)])
        }
    }
}

enum Outcome {
    Whole(Value),
    /// A question to the client, and a state.
    Wants(Value, String),
}

fn tool(content: Vec<Value>) -> Result<Outcome, Fault> {
    Ok(Outcome::Whole(json!({ "content": content, "isError": false })))
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn form(message: &str, field: &str) -> Value {
    let kind = if field == "ok" { "boolean" } else { "string" };
    json!({ "method": "elicitation/create", "params": {
        "mode": "form", "message": message, "requestedSchema": {
            "type": "object", "properties": { field: { "type": kind } }, "required": [field],
        },
    } })
}

fn sampling(question: &str) -> Value {
    json!({ "method": "sampling/createMessage", "params": {
        "messages": [{ "role": "user", "content": text(question) }], "maxTokens": 100,
    } })
}
