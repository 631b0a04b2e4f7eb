//! A conversation as a note in Markdown.

#![expect(clippy::disallowed_methods, reason = "a file of the person's, outside of the vault")]

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use super::conversations::short;
use super::failure::Failure;
use crate::protocol::conversations::{ConversationResult, ItemInfo};

/// The whole note: properties, then what was said, each by its speaker. What tools answered is left
/// out, since it is a copy of what stands in the vault.
pub fn note(whole: &ConversationResult) -> String {
    let one = &whole.conversation;
    let title = one.title.as_deref().unwrap_or("Conversation that goes on");
    let mut text = String::from("---\n");
    let mut property = |name: &str, value: &str| {
        // A JSON text is a quoted text of YAML too.
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
    let told = |item: &&ItemInfo| !matches!(item.kind.as_str(), "tool_results" | "notice");
    for item in whole.items.iter().filter(told) {
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

/// Who said an item.
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

/// Where below the vault's root this file would lie, if it would.
pub fn within(root: &Path, file: &Path) -> Option<String> {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // The nearest folder that is there decides: the others would be made below it.
    let there = folder.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let (above, real) =
        there.or_else(|| Some((Path::new(""), Path::new(".").canonicalize().ok()?)))?;
    let rest = folder.strip_prefix(above).ok()?;
    let place = real.strip_prefix(root).ok()?.join(rest).join(file.file_name()?);
    let parts: Vec<String> =
        place.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    Some(parts.join("/"))
}

/// Writes a new file outside of the vault.
///
/// # Errors
/// A file that is there already; as the system says.
pub fn write(file: &Path, note: &str) -> Result<(), Failure> {
    let shown = file.display();
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::AlreadyExists => {
            Failure::other("already_exists", format!("`{shown}` exists"), "choose another name")
        }
        _ => Failure::other(
            "io_error",
            format!("could not write `{shown}`: {error}"),
            "check that the folder is there and can be written",
        ),
    };
    let mut made = OpenOptions::new().write(true).create_new(true).open(file).map_err(failed)?;
    made.write_all(note.as_bytes()).and_then(|()| made.sync_all()).map_err(failed)
}

/// A local time as Obsidian keeps it in a property.
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
    use crate::protocol::conversations::ConversationInfo;

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
    fn what_lies_in_the_vault_is_told_from_what_does_not() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap().join("vault");
        std::fs::create_dir_all(root.join("Talks")).unwrap();
        let found = |file: &str| within(&root, &root.join(file));
        assert_eq!(found("a.md").as_deref(), Some("a.md"));
        assert_eq!(found("Talks/new/a.md").as_deref(), Some("Talks/new/a.md"));
        assert_eq!(found("Talks/../a.md").as_deref(), Some("a.md"));
        assert_eq!(found("../a.md"), None);
        assert_eq!(within(&root, Path::new("a.md")), None);
    }
}
