//! The tools only the agent's own model has: they write to its person and end its conversation.
//! They are not vault tools, so no server lists them.

use serde_json::{Value, json};

use crate::llm::{ToolArgs, ToolCall, ToolSpec};

/// The longest message, in characters.
const MAX_CHARS: usize = 20_000;

const SEND: &str = "send_message";
const END: &str = "end_conversation";

pub fn is_own(tool: &str) -> bool {
    [SEND, END].contains(&tool)
}

/// A call of one of these tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnCall {
    /// Send a message to the person now.
    Send {
        text: String,
        /// Whether the turn ends and waits for the answer.
        is_question: bool,
    },
    /// End the conversation after this turn.
    End { reason: String },
}

pub fn specs() -> Vec<ToolSpec> {
    let spec = |name: &str, description: &str, properties: Value, required: Value| ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "properties": properties,
            "required": required,
        }),
    };
    vec![
        spec(
            END,
            "Ends this conversation after the present turn, when the user says goodbye or a matter \
             is settled for good. The next message then begins a new one, which knows this one by \
             its summary only. Say what you still have to say before.",
            json!({ "reason": {
                "type": "string",
                "description": "Why it ends, in a few words.",
            }}),
            json!(["reason"]),
        ),
        spec(
            SEND,
            "Tells the user something at once, while you are still at work: progress in longer \
             work, or a question. With `is_question` the turn ends here and waits for the answer, \
             so ask last and do nothing in the same step that depends on it. The answer you give \
             at the end of a turn needs no call of this.",
            json!({
                "text": { "type": "string", "description": "What to tell, as Markdown." },
                "is_question": {
                    "type": "boolean",
                    "description": "Whether you need the user's answer to go on. Default: false.",
                },
            }),
            json!(["text"]),
        ),
    ]
}

/// Parses a call; `None` for a call of another tool.
///
/// # Errors
/// The arguments are invalid; the error is for the model.
pub fn read(call: &ToolCall) -> Option<Result<OwnCall, String>> {
    let ToolArgs::Object(arguments) = &call.args else { return None };
    let text = |key: &str| match arguments.get(key) {
        Some(Value::String(text)) if text.trim().is_empty() => Err(format!("`{key}` is empty")),
        Some(Value::String(text)) => Ok(text.chars().take(MAX_CHARS).collect::<String>()),
        Some(_) => Err(format!("`{key}` must be a string")),
        None => Err(format!("`{key}` is missing")),
    };
    let known = |keys: &[&str]| match arguments.keys().find(|key| !keys.contains(&key.as_str())) {
        Some(key) => Err(format!("there is no argument `{key}`")),
        None => Ok(()),
    };
    match call.name.as_str() {
        SEND => Some(known(&["text", "is_question"]).and_then(|()| {
            let is_question = match arguments.get("is_question") {
                None | Some(Value::Null) => false,
                Some(Value::Bool(is_question)) => *is_question,
                Some(_) => return Err("`is_question` must be true or false".to_owned()),
            };
            Ok(OwnCall::Send { text: text("text")?, is_question })
        })),
        END => Some(known(&["reason"]).and_then(|()| Ok(OwnCall::End { reason: text("reason")? }))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, args: Value) -> ToolCall {
        let args = ToolArgs::parse(&args.to_string());
        ToolCall { id: "1".to_owned(), name: name.to_owned(), args }
    }

    #[test]
    fn arguments_are_read_or_named() {
        let parsed = |args| read(&call("send_message", args)).unwrap();
        let sent = OwnCall::Send { text: "hm".to_owned(), is_question: false };
        assert_eq!(parsed(json!({"text": "hm"})), Ok(sent));
        assert_eq!(parsed(json!({"text": " "})).unwrap_err(), "`text` is empty");
        assert_eq!(parsed(json!({})).unwrap_err(), "`text` is missing");
        assert_eq!(parsed(json!({"text": 1})).unwrap_err(), "`text` must be a string");
        assert!(parsed(json!({"text": "a", "is_question": "yes"})).is_err());
        assert!(parsed(json!({"text": "a", "to": "b"})).unwrap_err().contains("`to`"));
        assert!(read(&call("read_file", json!({}))).is_none());
        assert!(read(&call("end_conversation", json!({"reason": "done"}))).unwrap().is_ok());
    }
}
