//! `undo`

use super::Basis;
use super::history::{self, ChangeSetData};
use super::prelude::*;
use super::relinked::Relinked;
use crate::journal::{ChangeSetId, ListedSet, Target};

/// Undoes a change set made through the steward, or one change of it; `list_changes` has the
/// numbers. Without a number, undoes the last change set that is neither undone nor an undo. An
/// undo is a change set itself and can be undone. Later edits of a file are kept, and renamed files
/// are found. If a later edit is in the same lines, nothing is done and the answer shows the
/// difference; `force` then restores the whole file (also a deleted one) and keeps the newer text
/// in the journal. Links follow what moves back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Undo {
    /// The number of a change set: 17.
    change_set: Option<u64>,
    /// One change of a change set: `17.2`.
    change: Option<String>,
    /// Undo even if the file has changed since in the same lines, or no longer exists; the newer
    /// text is kept in the journal.
    #[serde(default)]
    force: bool,
}

/// The result.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The change set, or the change, that was undone.
    undone: String,
    /// The change set of the undo: undo it to redo the change.
    change_set: u64,
    /// The changes made.
    changes: Option<ChangeSetData>,
    /// Links in other files that follow.
    links: Relinked,
    /// Notes for a person.
    notes: Vec<String>,
}

impl Tool for Undo {
    const NAME: &'static str = "undo";
    const TITLE: &'static str = "Undo a change";
    const TIER: Tier = Tier::Dangerous;
    const KIND: ToolKind = ToolKind::Other;
    const EXAMPLE: &'static str = "{}";
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let target = match (self.change_set, &self.change) {
            (Some(_), Some(_)) => {
                let message = "both `change_set` and `change` were given";
                return Err(ToolError::invalid(message, "give one of them"));
            }
            (Some(set), None) => Target::Set(ChangeSetId(set)),
            (None, Some(change)) => change.parse::<Target>().map_err(|error| {
                ToolError::invalid(error.to_string(), "list_changes has the numbers")
            })?,
            (None, None) => Target::Set(last(context)?.id),
        };
        let (undone, links) = context.editor().undo(target, self.force)?;
        let links = Relinked::of(context.vault.view(), &links);
        let set = undone.applied.change_set;
        let listed = context.journal.history().change_set(set)?;
        let mut lines = vec![format!("undid {target}; change set {set} brings it back")];
        if let Some(listed) = &listed {
            let shown = listed.changes.iter().take(history::MAX_CHANGES);
            lines.extend(history::lines(shown).iter().map(|line| format!("    {line}")));
            lines.extend(history::rest(listed, 0).map(|(rest, from)| {
                format!("    and {rest}; list_changes with change_set: {set}, first_change: {from} shows them")
            }));
        }
        lines.extend(links.text(false));
        lines.extend(undone.notes.iter().cloned());
        let data = Output {
            undone: target.to_string(),
            change_set: set.0,
            changes: listed.as_ref().map(|set| history::data(set, 0)),
            links,
            notes: undone.notes,
        };
        Ok(Answer::new(lines.join("\n"), data))
    }

    fn rests_on(&self) -> Option<Basis> {
        let is_last = self.change_set.is_none() && self.change.is_none();
        is_last.then_some(Basis::LastChange { change_set: argument!(change_set) })
    }
}

/// The last change set that is neither undone nor an undo.
fn last(context: &Context) -> Result<ListedSet, ToolError> {
    let last = context.journal.history().newest_standing(context.vault.view(), |_| true)?;
    last.ok_or_else(|| {
        let hint = "list_changes shows what was changed through the steward";
        ToolError::not_found("there is nothing to undo", hint)
    })
}
