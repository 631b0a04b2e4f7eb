//! The request that clients get for a question to a person.

use crate::calls::Question;
use crate::calls::call::word;
use crate::policy::Action;
use crate::protocol::permission::{
    PermissionChange, PermissionContent, PermissionLocation, PermissionMeta, PermissionToolCall,
    PermissionVaultMeta, RequestPermissionParams,
};
use crate::protocol::tools::Content;

/// The most bytes of a file's two texts to send in full.
const MAX_TEXT: usize = 64 << 10;

/// The most bytes of all texts sent in full.
const MAX_TEXTS: usize = 1 << 20;

/// The parameters of the request; the server adds ids and options.
pub fn params(question: &Question) -> RequestPermissionParams {
    let root = question.calls().context().vault.root();
    let absolute = |path: &str| root.join(path).to_string_lossy().into_owned();
    let changes = question.changes();
    let mut room = MAX_TEXTS;
    let text = |text: &str| PermissionContent::Content {
        content: Content::Text { text: text.to_owned() },
    };
    let outline = question.outline().map(text);
    let content = changes.iter().filter_map(|change| match change.texts(room.min(MAX_TEXT)) {
        Some((old_text, new_text)) => {
            room -= old_text.map_or(0, str::len) + new_text.len();
            Some(PermissionContent::Diff {
                path: absolute(&change.path),
                old_text: old_text.map(str::to_owned),
                new_text: new_text.to_owned(),
            })
        }
        None if change.diff.is_empty() => None,
        None => Some(text(&change.diff)),
    });
    let paths = changes.iter().flat_map(|change| change.from.iter().chain([&change.path]));
    let kind = match changes.first().map(|change| change.action) {
        Some(Action::Write) => "edit",
        Some(Action::Delete) => "delete",
        Some(Action::Move) => "move",
        Some(Action::CreateFolder | Action::RemoveFolder | Action::Restore) | None => "other",
    };
    RequestPermissionParams {
        session_id: question.conversation().unwrap_or("direct").to_owned(),
        tool_call: PermissionToolCall {
            tool_call_id: String::new(),
            title: question.title().to_owned(),
            kind: kind.to_owned(),
            status: "pending".to_owned(),
            locations: paths.map(|path| PermissionLocation { path: absolute(path) }).collect(),
            content: outline.into_iter().chain(content).collect(),
        },
        options: Vec::new(),
        meta: PermissionMeta {
            vault: PermissionVaultMeta {
                question: question.number(),
                tool: question.tool().to_owned(),
                caller: question.caller().name.clone(),
                scope: question.caller().scope.word().to_owned(),
                reasons: question.reasons().to_vec(),
                changes: changes
                    .iter()
                    .map(|change| PermissionChange {
                        action: word(change.action).to_owned(),
                        path: change.path.clone(),
                        from: change.from.clone(),
                        diff: change.diff.clone(),
                        added: change.added as u64,
                        removed: change.removed as u64,
                        more: change.more as u64,
                    })
                    .collect(),
                outline: question.outline().map(str::to_owned),
                folder: question.folder().map(str::to_owned),
            },
        },
    }
}
