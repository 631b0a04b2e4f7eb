//! Questions to the client about its own call: the question is the call's result, and the client repeats the call with
//! the answer.

use serde_json::{Map, Value, json};

use super::fault::Fault;
use crate::protocol::envelope::RequestId;

const NAME: &str = "approval";

/// The most characters of a diff in the question.
const MAX_DIFF: usize = 2_000;

/// Whether a client with these capabilities can show its user a form.
pub(super) fn can_ask(capabilities: &Value) -> bool {
    let Some(ways) = capabilities.get("elicitation").and_then(Value::as_object) else {
        return false;
    };
    // A client that names no mode supports forms.
    ways.contains_key("form") || !ways.contains_key("url")
}

/// The client's answer in a repeated call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub state: String,
    pub choice: Choice,
}

/// The answer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    Yes,
    No,
    /// The user closed the form.
    Dismissed,
    /// The answer is missing or is not one of the choices.
    Nothing,
}

/// The answer in these params, if any.
pub(super) fn reply(params: &Map<String, Value>) -> Result<Option<Reply>, Fault> {
    let state = match params.get("requestState") {
        None => return Ok(None),
        Some(Value::String(state)) => state.clone(),
        Some(_) => return Err(Fault::params("`requestState` must be a text")),
    };
    let responses = match params.get("inputResponses") {
        None => None,
        Some(Value::Object(responses)) => responses.get(NAME),
        Some(_) => return Err(Fault::params("`inputResponses` must be an object")),
    };
    let text = |of: &Value, name: &str| of.get(name)?.as_str().map(str::to_owned);
    let action = responses.and_then(|response| text(response, "action"));
    let answer = responses.and_then(|response| text(response.get("content")?, "answer"));
    let choice = match (action.as_deref(), answer.as_deref()) {
        (Some("accept"), Some("allow")) => Choice::Yes,
        (Some("accept"), Some("refuse")) | (Some("decline"), _) => Choice::No,
        (Some("cancel"), _) => Choice::Dismissed,
        _ => Choice::Nothing,
    };
    Ok(Some(Reply { state, choice }))
}

/// The result that asks the user to approve `title` for these reasons; `diff` shows the change.
pub fn question(
    id: &RequestId,
    title: &str,
    reasons: &[String],
    diff: &str,
    state: &str,
) -> String {
    let mut message =
        format!("Allow the assistant to {title}?\nAsked because {}.", reasons.join("; "));
    if !diff.is_empty() {
        let shown: String = diff.chars().take(MAX_DIFF).collect();
        let more = if shown.len() < diff.len() { "\n(and more)" } else { "" };
        message = format!("{message}\n\n{shown}{more}");
    }
    let schema = json!({
        "type": "object",
        "properties": { "answer": {
            "type": "string", "title": "Answer", "oneOf": [
                { "const": "allow", "title": "Allow it this once" },
                { "const": "refuse", "title": "Refuse it" },
            ],
        } },
        "required": ["answer"],
    });
    let ask = json!({ "method": "elicitation/create", "params": {
        "mode": "form", "message": message, "requestedSchema": schema,
    } });
    required(id, &json!({ NAME: ask }), state)
}

/// A result that requires these inputs of the client.
pub(super) fn required(id: &RequestId, requests: &Value, state: &str) -> String {
    let mut result = Map::new();
    super::identity::sign(&mut result);
    result.insert("resultType".to_owned(), "input_required".into());
    result.insert("inputRequests".to_owned(), requests.clone());
    if !state.is_empty() {
        result.insert("requestState".to_owned(), state.into());
    }
    json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_yes_only_where_it_says_so() {
        let choice = |response: Value| {
            let params = json!({ "requestState": "s", "inputResponses": response });
            reply(params.as_object().unwrap()).map(|reply| reply.unwrap().choice)
        };
        let with = |action: &str, answer: &str| json!({ NAME: { "action": action, "content": { "answer": answer } } });
        assert_eq!(choice(with("accept", "allow")), Ok(Choice::Yes));
        assert_eq!(choice(with("accept", "refuse")), Ok(Choice::No));
        assert_eq!(choice(with("decline", "allow")), Ok(Choice::No));
        assert_eq!(choice(with("cancel", "allow")), Ok(Choice::Dismissed));
        for nothing in [
            with("accept", "yes"),
            json!({ NAME: { "action": "accept" } }),
            json!({ NAME: { "content": { "answer": "allow" } } }),
            json!({ NAME: 3 }),
            json!({ "other": { "action": "accept", "content": { "answer": "allow" } } }),
            json!({}),
        ] {
            assert_eq!(choice(nothing.clone()), Ok(Choice::Nothing), "{nothing}");
        }
        assert!(choice(json!([])).is_err() && choice(json!(null)).is_err());
        assert_eq!(reply(&Map::new()), Ok(None), "it brings none");
    }

    #[test]
    fn who_can_show_a_form_says_so() {
        for (capabilities, can) in [
            (json!({ "elicitation": {} }), true),
            (json!({ "elicitation": { "form": {}, "url": {} } }), true),
            (json!({ "elicitation": { "url": {} } }), false),
            (json!({ "elicitation": true }), false),
            (json!({ "sampling": {} }), false),
        ] {
            assert_eq!(can_ask(&capabilities), can, "{capabilities}");
        }
    }
}
