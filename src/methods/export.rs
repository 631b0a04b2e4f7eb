//! Exports a conversation as a Markdown note.

use serde_json::json;

use super::conversations::StoredConversations;
use crate::calls::{Calls, Outcome, Request};
use crate::note::code::ErrorCode;
use crate::protocol::conversations::{
    ConversationInfo, ConversationParams, ConversationResult, ExportConversationParams,
    ExportConversationResult, ItemInfo,
};
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::server::table::Client;
use crate::tools::{Tool, ToolError, WriteFile};
use crate::vault::{Cancel, Want};

/// How many names are tried if the first ones are taken.
const MAX_TRIED: usize = 1_000;

/// The folder for exported conversations if the caller names none.
const FOLDER: &str = "Conversations";
/// Characters of a title in a note's name.
const LONGEST: usize = 80;
/// Characters that some system or a link cannot hold in a note's name.
const UNFIT: &str = "\\/:*?\"<>|#^[]%";

/// The text of the note: properties, then the messages, each with its speaker. Tool results are
/// left out, since they copy text that is in the vault.
pub fn note(whole: &ConversationResult) -> String {
    let one = &whole.conversation;
    let title = one.title.as_deref().unwrap_or("Open conversation");
    let mut text = String::from("---\n");
    let mut property = |name: &str, value: &str| {
        // A JSON string is also a valid quoted YAML string.
        let quoted = serde_json::Value::from(value).to_string();
        text.push_str(&format!("{name}: {quoted}\n"));
    };
    property("title", title);
    if let Some(summary) = &one.summary {
        property("summary", summary);
    }
    property("source", &one.source);
    property("state", &one.state);
    text.push_str(&format!("conversation: {}\n", one.session_id));
    text.push_str(&format!("began: {}\n", date(&one.began)));
    text.push_str(&format!("last_active: {}\n", date(&one.last_active)));
    if let Some(ended) = &one.ended {
        text.push_str(&format!("ended: {}\n", date(ended)));
    }
    text.push_str(&format!("---\n\n# {}\n", heading(title)));
    let is_exported = |item: &&ItemInfo| !matches!(item.kind.as_str(), "tool_results" | "notice");
    for item in whole.items.iter().filter(is_exported) {
        text.push_str(&format!("\n## {}, {}\n", capital(who(item)), short(&item.time)));
        if !item.text.trim().is_empty() {
            text.push_str(&format!("\n{}\n", item.text.trim_end()));
        }
        if !item.tools.is_empty() {
            text.push('\n');
        }
        for tool in &item.tools {
            text.push_str(&format!("- used `{}`\n", tool.replace('`', "'")));
        }
        if item.cut {
            text.push_str("\n(the rest is too long)\n");
        }
    }
    text
}

/// Writes a conversation into a new note of the vault: journaled and undoable, as every change.
pub fn into_vault(
    calls: &Calls,
    stored: &StoredConversations,
    params: ExportConversationParams,
    by: &Client,
) -> Result<ExportConversationResult> {
    let wanted =
        ConversationParams { session_id: Some(params.session_id), ..ConversationParams::default() };
    let whole = stored.show(wanted, u64::MAX)?;
    let text = note(&whole);
    let is_free = |path: &String| calls.context().vault.resolve(path, Want::Entry).is_err();
    let path = match params.path {
        Some(path) => path,
        None => places(&whole.conversation).take(MAX_TRIED).find(is_free).ok_or_else(|| {
            ErrorObject::new(Kind::Failed, "every name for the note is taken").hint("name a path")
        })?,
    };
    let request = Request {
        tool: WriteFile::NAME.to_owned(),
        arguments: json!({ "path": path, "content": text, "if_exists": "fail" }),
        caller: by.caller(),
        // The person asked for exactly this change.
        confirmed: by.scope.is_person(),
        ..Request::default()
    };
    match calls.call(request, &Cancel::default()) {
        Outcome::Answered(Ok(answer)) => {
            let facts = answer.data.value();
            Ok(ExportConversationResult {
                path: facts["path"].as_str().unwrap_or(&path).to_owned(),
                change_set: facts["change_set"].as_u64().unwrap_or_default(),
            })
        }
        Outcome::Answered(Err(error)) => Err(refusal_error(&error)),
        Outcome::Ask(question) => {
            let message = format!("a person has to approve this first: {}", question.title());
            Err(ErrorObject::new(Kind::NotPermitted, message)
                .hint("`steward conversations export` asks on the terminal"))
        }
    }
}

fn refusal_error(error: &ToolError) -> ErrorObject {
    let kind = match error.code {
        ErrorCode::AlreadyExists
        | ErrorCode::InvalidPath
        | ErrorCode::OutsideVault
        | ErrorCode::ProtectedPath
        | ErrorCode::NotAFolder => Kind::InvalidParams,
        ErrorCode::Denied => Kind::NotPermitted,
        _ => Kind::Failed,
    };
    let object = ErrorObject::new(kind, error.message.clone());
    match &error.hint {
        Some(hint) => object.hint(hint.clone()),
        None => object,
    }
}

/// The speaker of an item.
pub fn who(item: &ItemInfo) -> &'static str {
    match item.kind.as_str() {
        "user" => "you",
        "assistant" | "message" => "steward",
        "question" => "steward asks",
        "tool_results" => "tools",
        "compaction" => "what came before, in short",
        "ended" => "end",
        "note" => "looking back",
        _ => "notice",
    }
}

/// A time, cut to the minute.
pub fn short(time: &str) -> String {
    time.get(..16).unwrap_or(time).replace('T', " ")
}

/// The paths to try for a conversation if the caller names none: day and title, as a name that
/// every system accepts. Further ones are numbered, in words that no sync program uses for its
/// copies.
pub fn places(one: &ConversationInfo) -> impl Iterator<Item = String> + use<> {
    let day = one.began.get(..10).unwrap_or_default();
    let title = one.title.as_deref().unwrap_or("Conversation");
    let plain = |c: char| if c.is_control() || UNFIT.contains(c) { ' ' } else { c };
    let words: Vec<String> = title
        .chars()
        .map(plain)
        .collect::<String>()
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    let title: String = words.join(" ").chars().take(LONGEST).collect();
    let name = format!("{FOLDER}/{day} {}", title.trim_matches([' ', '.']));
    let name = name.trim_end().to_owned();
    (1_u32..).map(move |number| match number {
        1 => format!("{name}.md"),
        number => format!("{name}, export {number}.md"),
    })
}

/// A local time in the form of Obsidian's properties.
fn date(time: &str) -> &str {
    time.get(..19).unwrap_or(time)
}

fn heading(title: &str) -> String {
    title.replace(['#', '\n'], " ").trim().to_owned()
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_has_properties_and_each_speaker() {
        let item = |item, kind: &str, text: &str, tools: &[&str]| ItemInfo {
            item,
            kind: kind.into(),
            time: "2026-11-20T14:30:59+01:00".into(),
            text: text.into(),
            tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
            ..ItemInfo::default()
        };
        let whole = ConversationResult {
            conversation: ConversationInfo {
                session_id: "12".into(),
                title: Some("Notes: \"sorted\" #1".into()),
                summary: Some("Six moved.".into()),
                source: "chat".into(),
                state: "ended".into(),
                began: "2026-11-20T14:30:00+01:00".into(),
                last_active: "2026-11-20T14:31:00+01:00".into(),
                ..ConversationInfo::default()
            },
            items: vec![
                item(1, "user", "sort my notes\n---\n", &[]),
                item(2, "assistant", "", &["move a.md"]),
                item(3, "tool_results", "secret", &[]),
                item(4, "message", "Done.", &[]),
            ],
            ..ConversationResult::default()
        };
        insta::assert_snapshot!(note(&whole), @r#"
        ---
        title: "Notes: \"sorted\" #1"
        summary: "Six moved."
        source: "chat"
        state: "ended"
        conversation: 12
        began: 2026-11-20T14:30:00
        last_active: 2026-11-20T14:31:00
        ---

        # Notes: "sorted"  1

        ## You, 2026-11-20 14:30

        sort my notes
        ---

        ## Steward, 2026-11-20 14:30

        - used `move a.md`

        ## Steward, 2026-11-20 14:30

        Done.
        "#);
    }

    #[test]
    fn a_note_is_named_after_day_and_title_as_every_system_can_hold() {
        let place = |title: Option<&str>| {
            let one = ConversationInfo {
                title: title.map(str::to_owned),
                began: "2026-11-20T14:30:00+01:00".into(),
                ..ConversationInfo::default()
            };
            places(&one).take(2).collect::<Vec<_>>().join(" | ")
        };
        assert_eq!(
            place(Some("What: is \"due\" #today?  [[x]]\u{7}. ")),
            "Conversations/2026-11-20 What is due today x.md | \
             Conversations/2026-11-20 What is due today x, export 2.md"
        );
        assert_eq!(
            place(None),
            "Conversations/2026-11-20 Conversation.md | Conversations/2026-11-20 Conversation, export 2.md"
        );
        assert_eq!(
            place(Some("???")),
            "Conversations/2026-11-20.md | Conversations/2026-11-20, export 2.md"
        );
    }
}
