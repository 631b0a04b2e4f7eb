//! `undo`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::history::{self, ChangeSetData};
use super::relinked::Relinked;
use super::tool::argument;
use super::{Answer, Basis, Context, Tier, Tool, ToolError, ToolKind};
use crate::journal::{ChangeSetId, ListedSet, Target};
use crate::note::code::ErrorCode;

pub struct Undo;

/// Takes back what was changed through the steward: a whole change set, or one change of it;
/// `list_changes` has the numbers. Without a number it takes back the last change set that was
/// neither undone nor an undo. An undo is a change set itself, so it can be undone again. What was
/// written in a file since stays, and a file that was renamed is found. If that was in the same lines
/// as the change, nothing is done and the answer shows the difference; `force` puts the whole file
/// back and keeps the newer text in the journal, and writes one anew that is gone. Links written since
/// then follow what goes back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The number of a change set: 17.
    #[serde(default)]
    change_set: Option<u64>,
    /// One change of a change set: `17.2`.
    #[serde(default)]
    change: Option<String>,
    /// Also undo if the file has changed since in the same lines, or is gone; the newer text stays in the journal.
    #[serde(default)]
    force: bool,
}

/// The result.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The change set, or the one change, that was taken back.
    undone: String,
    /// The change set that did it: undo this to bring it back.
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
    type Input = Input;
    type Output = Output;

    fn run(context: &Context, input: Input) -> Result<Answer<Output>, ToolError> {
        let target = match (input.change_set, &input.change) {
            (Some(_), Some(_)) => {
                return Err(ToolError::new(
                    ErrorCode::InvalidInput,
                    "both `change_set` and `change` were given",
                    "give one of them",
                ));
            }
            (Some(set), None) => Target::Set(ChangeSetId(set)),
            (None, Some(change)) => change.parse::<Target>().map_err(|error| {
                ToolError::new(
                    ErrorCode::InvalidInput,
                    error.to_string(),
                    "list_changes has the numbers",
                )
            })?,
            (None, None) => Target::Set(last(context)?.id),
        };
        let (undone, links) = context.editor().undo(target, input.force)?;
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

    fn rests_on(input: &Input) -> Option<Basis> {
        let is_last = input.change_set.is_none() && input.change.is_none();
        is_last.then_some(Basis::LastChange { change_set: argument!(change_set) })
    }
}

/// The last change set that can be taken back without taking back an undo.
fn last(context: &Context) -> Result<ListedSet, ToolError> {
    let last = context.journal.history().newest_standing(context.vault.view(), |_| true)?;
    last.ok_or_else(|| {
        ToolError::new(
            ErrorCode::NotFound,
            "there is nothing to undo",
            "list_changes shows what was changed through the steward",
        )
    })
}
