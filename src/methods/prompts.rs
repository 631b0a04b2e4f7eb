//! The person's own prompts: lists them with the examples that can be added, and fills one in.

use serde_json::{Value, json};

use crate::calls::{Calls, Outcome, Request};
use crate::note::code::ErrorCode;
use crate::note::prompt::{Prompt, name_of};
use crate::policy::Caller;
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::protocol::prompts::{
    PromptExample, PromptGetParams, PromptGetResult, PromptInfo, PromptSelection, PromptsResult,
};
use crate::protocol::session::{EmbeddedResource, PromptContent};
use crate::tools::ToolError;
use crate::vault::Cancel;

/// Example prompts, as notes. Written only after a person has seen them.
const EXAMPLES: [(&str, &str); 6] = [
    ("Connect", include_str!("../../data/prompts/Connect.md")),
    ("Improve", include_str!("../../data/prompts/Improve.md")),
    ("Summarize", include_str!("../../data/prompts/Summarize.md")),
    ("Tasks", include_str!("../../data/prompts/Tasks.md")),
    ("Translate", include_str!("../../data/prompts/Translate.md")),
    ("Weekly review", include_str!("../../data/prompts/Weekly review.md")),
];

pub fn list(calls: &Calls, caller: &Caller, cancel: &Cancel) -> Result<PromptsResult> {
    let found = look_up(calls, caller, "prompts/list", json!({}), cancel).map_err(refusal_error)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let folder = text(&found["folder"]);
    let listed = found["prompts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let prompts: Vec<PromptInfo> = listed
        .iter()
        .filter(|prompt| is_own(prompt))
        .map(|prompt| PromptInfo {
            name: text(&prompt["name"]),
            title: text(&prompt["title"]),
            description: text(&prompt["description"]),
            path: text(&prompt["_meta"]["vault"]["path"]),
            hint: prompt["_meta"]["vault"]["hint"].as_str().map(str::to_owned),
            needs: needs(&prompt["arguments"]),
        })
        .collect();
    let is_new = |name: &String| prompts.iter().all(|prompt| prompt.name != *name);
    let examples = EXAMPLES.iter().filter(|_| !folder.is_empty()).filter_map(|(title, text)| {
        let (name, prompt) = (name_of(title), Prompt::parse(text));
        is_new(&name).then(|| PromptExample {
            name,
            title: (*title).to_owned(),
            description: prompt.description.unwrap_or_default(),
            path: format!("{}/{title}.md", folder.trim_end_matches('/')),
            text: (*text).to_owned(),
        })
    });
    Ok(PromptsResult { examples: examples.collect(), folder, prompts })
}

pub fn get(
    calls: &Calls,
    params: &PromptGetParams,
    caller: &Caller,
    cancel: &Cancel,
) -> Result<PromptGetResult> {
    fill(calls, params, caller, cancel).map_err(refusal_error)
}

fn fill(
    calls: &Calls,
    params: &PromptGetParams,
    caller: &Caller,
    cancel: &Cancel,
) -> Result<PromptGetResult, ToolError> {
    let arguments = json!({
        "name": params.name, "arguments": params.arguments, "note": params.note,
        "selection": params.selection,
    });
    let found = look_up(calls, caller, "prompts/get", arguments, cancel)?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let selected = &found["selection"];
    let selection = text(&selected["path"]).zip(text(&selected["text"]));
    Ok(PromptGetResult {
        text: text(&found["text"]).unwrap_or_default(),
        selection: selection.map(|(path, text)| PromptSelection { path, text }),
    })
}

/// Replaces the name of one of the person's prompts, typed as `/name`, with its text; other
/// messages are unchanged.
pub(super) fn expand(
    calls: &Calls,
    message: Vec<PromptContent>,
    caller: &Caller,
    cancel: &Cancel,
) -> Result<Vec<PromptContent>> {
    let Some((PromptContent::Text { text }, rest)) = message.split_first() else {
        return Ok(message);
    };
    let Some(typed) = text.trim().strip_prefix('/') else { return Ok(message) };
    let (name, arguments) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    let params = PromptGetParams {
        name: name.to_owned(),
        arguments: Some(arguments.to_owned()),
        ..PromptGetParams::default()
    };
    let filled = match fill(calls, &params, caller, cancel) {
        Err(error) if error.code == ErrorCode::NotFound => return Ok(message),
        filled => filled.map_err(refusal_error)?,
    };
    let selection = filled.selection.map(|PromptSelection { path, text }| {
        PromptContent::Resource { resource: EmbeddedResource { uri: path, text } }
    });
    let own = std::iter::once(PromptContent::Text { text: filled.text });
    Ok(own.chain(selection).chain(rest.iter().cloned()).collect())
}

/// Whether a listed prompt is one of the person's own.
pub(super) fn is_own(prompt: &Value) -> bool {
    prompt["_meta"]["vault"]["path"].is_string()
}

fn needs(arguments: &Value) -> Vec<String> {
    let arguments = arguments.as_array().map(Vec::as_slice).unwrap_or_default();
    let needed = |one: &&Value| {
        one["required"] == true || one["name"] == "note" || one["name"] == "selection"
    };
    let names = arguments.iter().filter(needed).filter_map(|one| one["name"].as_str());
    names.map(str::to_owned).collect()
}

fn look_up(
    calls: &Calls,
    caller: &Caller,
    name: &str,
    arguments: Value,
    cancel: &Cancel,
) -> Result<Value, ToolError> {
    let (tool, caller) = (name.to_owned(), caller.clone());
    match calls.call(Request { tool, arguments, caller, ..Request::default() }, cancel) {
        Outcome::Answered(answer) => Ok(answer?.data.value()),
        // A lookup changes nothing.
        Outcome::Ask(question) => {
            Err(ToolError::plain(ErrorCode::ApprovalNeeded, question.title()))
        }
    }
}

fn refusal_error(error: ToolError) -> ErrorObject {
    let kind = match error.code {
        ErrorCode::InvalidInput | ErrorCode::NotFound => Kind::InvalidParams,
        _ => Kind::Failed,
    };
    ErrorObject::new(kind, error.message).maybe_hint(error.hint)
}
