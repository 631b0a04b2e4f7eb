//! Completes a replay for an ACP client with the diffs that were shown live, which the journal
//! still has.

use std::collections::{HashMap, VecDeque};
use std::path::Path;

use super::session_updates::changed;
use crate::agent::changed_files::of_changes;
use crate::agent::toolbox::turn_name;
use crate::agent::wrap::unmarked;
use crate::journal::{Journal, ListedChange};
use crate::protocol::session::{
    SessionUpdate, SessionUpdateParams, ToolCallContent, ToolCallStatus,
};
use crate::protocol::tools::Content;
use crate::tools::{Registry, Tier};

/// The changes of each turn that have not been assigned to a call yet.
struct Left<'a> {
    journal: &'a Journal,
    turns: HashMap<String, VecDeque<ListedChange>>,
}

/// Adds the changed files to the calls of a history, and removes what concerns only the model and
/// the agent.
pub fn complete(updates: &mut [SessionUpdateParams], journal: Option<&Journal>, root: &Path) {
    let mut left = journal.map(|journal| Left { journal, turns: HashMap::new() });
    let mut calls: HashMap<String, Option<String>> = HashMap::new();
    for params in updates {
        match &mut params.update {
            SessionUpdate::ToolCall { tool_call_id, raw_input, meta, .. } => {
                let tool = Registry::built_in().get(&meta.vault.tool);
                if tool.is_some_and(|tool| tool.tier != Tier::Safe) {
                    let path = raw_input.get("path").and_then(|path| path.as_str());
                    calls.insert(tool_call_id.clone(), path.map(str::to_owned));
                }
            }
            SessionUpdate::ToolCallUpdate { tool_call_id, status, content, files, .. } => {
                for ToolCallContent::Content { content } in content {
                    let Content::Text { text } = content;
                    *text = unmarked(text);
                }
                let call = calls.remove(tool_call_id);
                if let (Some(path), ToolCallStatus::Completed) = (call, *status)
                    && let (Some(left), Some(turn)) = (&mut left, &params.meta.vault.turn)
                    && let Some(change) = left.take(&params.session_id, turn, path.as_deref())
                {
                    let journal = left.journal;
                    let found = of_changes(journal, std::slice::from_ref(&change)).into_iter();
                    *files = found.map(|file| changed(file, root)).collect();
                }
            }
            _ => {}
        }
    }
}

impl Left<'_> {
    /// Takes the next change of a turn: of the file that the call named, if it named one.
    fn take(&mut self, session: &str, turn: &str, path: Option<&str>) -> Option<ListedChange> {
        let journal = self.journal;
        let changes = self.turns.entry(turn.to_owned()).or_insert_with(|| {
            let set = journal.history().change_set_of_turn(&turn_name(session, turn));
            set.ok().flatten().map(|set| set.changes.into()).unwrap_or_default()
        });
        let at = match path {
            Some(path) => changes.iter().position(|change| is_named(change, path))?,
            None => 0,
        };
        changes.remove(at)
    }
}

/// Whether `called_path`, the path in a call, names the file of a change.
fn is_named(change: &ListedChange, called_path: &str) -> bool {
    let real = change.path.as_str().to_lowercase();
    let called_path = called_path.trim_start_matches('/').to_lowercase();
    let stem = real.strip_suffix(".md").unwrap_or(&real);
    let ends = |whole: &str| {
        whole
            .strip_suffix(called_path.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    !called_path.is_empty() && (ends(&real) || ends(stem))
}
