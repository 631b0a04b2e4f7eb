//! Checks a message from the wire and converts it for the agent.

use std::path::{Component, Path, PathBuf};

use crate::agent::attachments::{Attachments, BadAttachment, Excerpt, Image};
use crate::agent::entry::UserMessage;
use crate::agent::{foreign_source, is_foreign};
use crate::conversation::ConversationId;
use crate::policy::Scope;
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::protocol::session::{EmbeddedResource, PromptContent, SessionPromptParams};
use crate::server::table::Client;

/// The longest message, in characters.
const MAX_CHARS: usize = 200_000;

/// The most characters of an address outside the vault.
const MAX_URI: usize = 500;

/// The most characters of a name that a client gives.
const MAX_NAME: usize = 100;

/// The message of a client of the vault at `root` to the agent, in the conversation `to`.
pub(super) fn user_message(
    params: SessionPromptParams,
    to: Option<ConversationId>,
    speaker: &Client,
    root: &Path,
) -> Result<UserMessage> {
    // An editor may name any open file.
    let is_acp = speaker.scope == Scope::Acp;
    let mut texts = Vec::new();
    let mut attached = Attachments::default();
    for piece in params.prompt {
        texts.push(match piece {
            PromptContent::Text { text } => text,
            PromptContent::ResourceLink { uri, .. } => match in_vault(&uri, root) {
                Ok(path) => format!("(the note `{path}` is meant)"),
                Err(_) if is_acp => outside_link(&uri),
                Err(error) => return Err(error),
            },
            PromptContent::Resource { resource } if resource.uri == EmbeddedResource::STDIN => {
                let chars = resource.text.chars().count();
                attached.excerpts.push(Excerpt { path: None, text: resource.text });
                format!("(with a text of {chars} characters)")
            }
            PromptContent::Resource { resource }
                if is_acp && in_vault(&resource.uri, root).is_err() =>
            {
                let named = outside_link(&resource.uri);
                attached.excerpts.push(Excerpt { path: None, text: resource.text });
                named
            }
            PromptContent::Resource { resource } => {
                let path = in_vault(&resource.uri, root)?;
                let named = format!("(a part of the note `{path}` is meant)");
                attached.excerpts.push(Excerpt { path: Some(path), text: resource.text });
                named
            }
            PromptContent::Image { mime_type, data } => {
                attached.images.push(Image::new(&mime_type, &data).map_err(unfit)?);
                "(with a picture)".to_owned()
            }
            PromptContent::Other => {
                let text = "the agent accepts only text, images, notes and parts of notes";
                return Err(invalid_prompt(text.to_owned()).hint(
                    "send pieces of the types `text`, `image`, `resource_link` and `resource`",
                ));
            }
        });
    }
    attached.check().map_err(unfit)?;
    let text = texts.join("\n").trim().to_owned();
    let text = if is_acp { expand_command(text) } else { text };
    if text.is_empty() {
        return Err(invalid_prompt("the message is empty".to_owned()));
    }
    let long = text.chars().count();
    if long > MAX_CHARS {
        return Err(invalid_prompt(format!(
            "the message has {long} characters; the limit is {MAX_CHARS}"
        ))
        .hint("put a long text into a note and name the note"));
    }
    let ours = params.meta.and_then(|meta| meta.vault).unwrap_or_default();
    let source = ours.source.map(name).transpose()?.unwrap_or_else(|| "chat".to_owned());
    // The token decides the source of a program's message, not the program itself.
    let source = if !speaker.scope.is_person() {
        foreign_source(speaker.scope)
    } else if is_foreign(&source) {
        return Err(invalid_prompt("a person's words do not come from a token".to_owned())
            .hint("leave `source` out"));
    } else {
        source
    };
    let voice_scope = (source == "voice").then_some(Scope::Voice);
    Ok(UserMessage {
        number: 0,
        text,
        to,
        attached,
        scope: voice_scope.map_or(speaker.scope, |voice_scope| voice_scope.max(speaker.scope)),
        source,
        from: Some(speaker.connection),
        client_id: ours.client_message_id.map(name).transpose()?.filter(|id| !id.is_empty()),
        note: None,
    })
}

/// The commands that the user of an ACP client can type after a slash: name, description, hint for
/// the argument, and the text that the agent receives.
pub(super) const COMMANDS: [(&str, &str, &str, &str); 3] = [
    (
        "undo",
        "undo the last changes",
        "what, if not the last change",
        "Take back your last change with the tool `undo`.",
    ),
    (
        "daily",
        "show today's daily note, or add to it",
        "what to add",
        "Show me today's daily note, or add what follows to it.",
    ),
    (
        "find",
        "find notes",
        "words, a tag or a name",
        "Find the notes that this is about, and name them with a line each:",
    ),
];

/// The prefix of commands that make a note from a template, as in the names of prompts.
pub(super) const TEMPLATE: &str = "template_";

/// Whether a message begins with a built-in command.
pub(super) fn is_known(text: &str) -> bool {
    expand_command(text.to_owned()) != text
}

/// The message with a command replaced by its text.
fn expand_command(text: String) -> String {
    let Some(rest) = text.strip_prefix('/') else { return text };
    let (name, more) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let words = match COMMANDS.iter().find(|(known, ..)| *known == name) {
        Some((.., words)) => (*words).to_owned(),
        None => match name.strip_prefix(TEMPLATE).filter(|template| !template.is_empty()) {
            Some(template) => format!(
                "Make a new note from my template `{}` in the folder of templates: read it, and fill in its \
                 {{{{title}}}}, {{{{date}}}} and {{{{time}}}}. What the note is about:",
                template.replace('_', " ")
            ),
            None => return text,
        },
    };
    format!("{words} {}", more.trim()).trim().to_owned()
}

/// A file outside the vault: named, not read.
fn outside_link(uri: &str) -> String {
    let uri: String = uri.chars().filter(|c| !c.is_control()).take(MAX_URI).collect();
    format!("(`{uri}` is meant, which is outside of the vault and cannot be read)")
}

fn invalid_prompt(text: String) -> ErrorObject {
    ErrorObject::new(Kind::InvalidParams, text)
}

fn unfit(reason: BadAttachment) -> ErrorObject {
    let hint = match reason {
        BadAttachment::TooLarge { .. } => "make it smaller; a model sees it no sharper",
        BadAttachment::Kind | BadAttachment::Differs { .. } => {
            "send a PNG, JPEG, GIF or WebP, and its own `mimeType`"
        }
        BadAttachment::NoBase64 => "`data` is standard base64 with padding, without line breaks",
        BadAttachment::TooMany => "send the others with the next message",
        BadAttachment::TooLong { .. } => "put a long text into a note and name the note",
    };
    invalid_prompt(reason.to_string()).hint(hint)
}

fn name(text: String) -> Result<String> {
    if text.chars().count() <= MAX_NAME && !text.chars().any(char::is_control) {
        Ok(text)
    } else {
        Err(invalid_prompt(format!("a name is one line of at most {MAX_NAME} characters")))
    }
}

/// The vault path of an address: a path in the vault, or a `file:` address of one.
fn in_vault(uri: &str, root: &Path) -> Result<String> {
    let named: PathBuf = match uri.strip_prefix("file://") {
        Some(encoded) => decoded(encoded).into(),
        None => uri.into(),
    };
    let path = named.strip_prefix(root).unwrap_or(&named);
    let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
    let path = path.to_string_lossy().into_owned();
    if path.is_empty() || !is_inside || path.chars().any(char::is_control) {
        let uri: String = uri.chars().take(200).collect();
        return Err(invalid_prompt(format!(
            "`{}` is not a path in this vault",
            uri.escape_debug()
        ))
        .hint("name a note by its path in the vault, or by a `file:` address of it"));
    }
    Ok(path)
}

/// Decodes percent-encoding; invalid codes stay as they are.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|two| two.iter().all(u8::is_ascii_hexdigit));
        let code = digits
            .filter(|_| *first == b'%')
            .and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_becomes_its_prompt_and_other_text_stays() {
        let expanded = |text: &str| expand_command(text.to_owned());
        let note = expanded("/template_Meeting_notes  garden\nplan ");
        assert!(
            note.contains("`Meeting notes`") && note.ends_with("about: garden\nplan"),
            "{note}"
        );
        assert!(note.contains("{{title}}"), "{note}");
        assert!(expanded("/undo").starts_with("Take back"));
        for text in ["/template_", "/template", "/etc/hosts", "a /undo"] {
            assert_eq!(expanded(text), text);
        }
    }

    #[test]
    fn a_note_is_named_by_its_path_or_its_address_and_lies_in_the_vault() {
        let root = Path::new("/home/me/My Notes");
        for (uri, path) in [
            ("Projects/A.md", "Projects/A.md"),
            ("/home/me/My Notes/Projects/A.md", "Projects/A.md"),
            ("file:///home/me/My%20Notes/100%25%20%C3%BC.md", "100% ü.md"),
            ("file:///home/me/My%20Notes/50%.md", "50%.md"),
        ] {
            assert_eq!(in_vault(uri, root).unwrap(), path, "{uri}");
        }
        for uri in ["", "/etc/passwd", "../x", "a/../../x", "file:///etc/passwd", "a\nb", "file://"]
        {
            assert!(in_vault(uri, root).is_err(), "{uri}");
        }
    }
}
