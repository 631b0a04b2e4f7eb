//! What a conversation is called after its end.

use crate::conversation::ItemKind;
use crate::conversation::extract::{Action, Digest};
use crate::llm;

/// What a conversation came to: kind, text and body of its items, in order.
pub(super) fn digest<'a>(
    items: impl Iterator<Item = (ItemKind, &'a str, Option<&'a str>)>,
) -> Digest {
    let mut digest = Digest::default();
    for (kind, text, body) in items {
        match kind {
            ItemKind::User => digest.asked.push(text.to_owned()),
            ItemKind::Assistant => {
                digest.actions.extend(body.map(actions).unwrap_or_default());
                if !text.trim().is_empty() {
                    digest.outcome = Some(text.to_owned());
                }
            }
            ItemKind::Message | ItemKind::Question => digest.outcome = Some(text.to_owned()),
            ItemKind::ToolResults
            | ItemKind::Notice
            | ItemKind::Compaction
            | ItemKind::Ended
            | ItemKind::Note => {}
        }
    }
    digest
}

/// The calls in a model's answer.
fn actions(body: &str) -> Vec<Action> {
    let Ok(llm::Message::Assistant { content, .. }) = serde_json::from_str(body) else {
        return Vec::new();
    };
    let action = |call: &llm::ToolCall| {
        let path = match &call.args {
            llm::ToolArgs::Object(args) => ["path", "from", "note"]
                .iter()
                .find_map(|name| args.get(*name)?.as_str().map(str::to_owned)),
            llm::ToolArgs::Invalid(_) => None,
        };
        Action { tool: call.name.clone(), path }
    };
    content.iter().filter_map(llm::Block::call).map(action).collect()
}
