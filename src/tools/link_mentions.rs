//! `link_mentions`

use std::collections::HashSet;

use super::graph;
use super::mentions::{self, Direction, Mention};
use super::prelude::*;
use super::text_file::{TextFile, fits, shown};
use crate::journal::Change;
use crate::note::code::ErrorCode;
use crate::note::counted::counted;
use crate::note::path::VaultPath;
use crate::vault::Precondition;

/// How often to retry if one of the notes changes meanwhile.
const ATTEMPTS: usize = 5;

/// Notes named in one answer.
const MAX_NAMED: usize = 100;

/// Turns the places that `unlinked_mentions` lists into links: `kettle` becomes
/// `[[Kettle|kettle]]`, the first in each note or every one. Nothing else in the notes changes. All
/// notes change together or none does; `undo` reverts it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkMentions {
    /// The note, from the vault's root, or its name.
    path: String,
    /// `to`: link to this note where others name it; `from`: link to others where this one names them.
    #[serde(default)]
    direction: Direction,
    /// With `to`: only in this note or in notes below this folder.
    within: Option<String>,
    /// With `to`: other words that mean the note, besides its name and aliases.
    #[serde(default)]
    names: Vec<String>,
    /// Link every place, not only the first in each note.
    #[serde(default)]
    every: bool,
    /// Also in notes that already link to the named note.
    #[serde(default)]
    also_linked: bool,
    /// Only report what would change.
    #[serde(default)]
    dry_run: bool,
}

/// The result.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The note asked about.
    path: String,
    /// The number of links made.
    links: usize,
    /// The number of notes changed.
    notes: usize,
    /// The notes with the new links, by path; at most 100.
    changed: Vec<Changed>,
    /// Whether this was a dry run.
    dry_run: bool,
    /// The change set, for `undo`; none if nothing changed.
    change_set: Option<u64>,
}

/// A note that changed.
#[derive(Serialize, JsonSchema)]
pub struct Changed {
    /// Its path.
    path: String,
    /// The new links, in the order of the text.
    links: Vec<String>,
}

impl Tool for LinkMentions {
    const NAME: &'static str = "link_mentions";
    const TITLE: &'static str = "Link unlinked mentions";
    const TIER: Tier = Tier::Dangerous;
    const SELDOM: bool = true;
    const HEAVY: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: path, Path: within);
    const EXAMPLE: &'static str = r#"{"path": "t.md", "names": ["one"]}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let note = mentions::note(context, &self.path)?;
        let within = self.within.as_deref().filter(|path| !path.trim().is_empty());
        if self.direction == Direction::From && (within.is_some() || !self.names.is_empty()) {
            let message = "`within` and `names` do not go with `from`";
            return Err(ToolError::invalid(message, "leave them out, or use `to`"));
        }
        let place = graph::place(context, within)?;
        let mut attempts = 0;
        let (changed, change_set) = loop {
            let (changes, changed) = plan(context, &self, &note, &place)?;
            if self.dry_run || changes.is_empty() {
                break (changed, None);
            }
            let title = match self.direction {
                Direction::To => format!("link mentions of {note}"),
                Direction::From => format!("link mentions in {note}"),
            };
            attempts += 1;
            match context.editor().apply(title, changes) {
                Ok(applied) => break (changed, Some(applied.change_set.0)),
                // One of the notes changed meanwhile; nothing was written, so retry.
                Err(error) if error.code() == ErrorCode::StaleRevision && attempts < ATTEMPTS => {}
                Err(error) => return Err(error.into()),
            }
        };
        let data = Output {
            path: note.as_str().to_owned(),
            links: changed.iter().map(|note| note.links.len()).sum(),
            notes: changed.len(),
            changed: changed.into_iter().take(MAX_NAMED).collect(),
            dry_run: self.dry_run,
            change_set,
        };
        Ok(Answer::new(text(&data), data))
    }
}

fn plan(
    context: &Context,
    input: &LinkMentions,
    note: &VaultPath,
    place: &VaultPath,
) -> Result<(Vec<Change>, Vec<Changed>), ToolError> {
    let links = graph::links(context)?;
    let (direction, names, linked) = (input.direction, &input.names, input.also_linked);
    let found = mentions::gather(context, &links, note, direction, place, names, linked)?;
    let (mut changes, mut changed) = (Vec::new(), Vec::new());
    for (file, mut mentions) in found {
        if !input.every {
            let mut targets = HashSet::new();
            mentions.retain(|mention| targets.insert(mention.target.clone()));
        }
        let content = linked_text(&file, &mentions)?;
        fits(&context.vault, &file.path, content.len())?;
        changed.push(Changed {
            path: file.path.as_str().to_owned(),
            links: mentions.into_iter().map(|mention| mention.link).collect(),
        });
        let before = Precondition::Revision(file.content.revision);
        changes.push(Change::Write { path: file.path, content, before });
    }
    Ok((changes, changed))
}

/// The file with links in the places of the mentions, which do not overlap.
fn linked_text(file: &TextFile, mentions: &[Mention]) -> Result<Vec<u8>, ToolError> {
    let text = file.editable()?;
    let mut body = text.body().to_owned();
    for mention in mentions.iter().rev() {
        body.replace_range(mention.range.clone(), &mention.link);
    }
    Ok([text.lead(), body.as_bytes()].concat())
}

fn text(data: &Output) -> String {
    if data.notes == 0 {
        return "nothing to link: no unlinked mentions".to_owned();
    }
    let what = if data.dry_run { "would make" } else { "made" };
    let (links, notes) = (counted(data.links, "link"), counted(data.notes, "note"));
    let mut lines = vec![format!("{what} {links} in {notes}")];
    let line = |note: &Changed| format!("{}: {}", shown(&note.path), note.links.join(", "));
    lines.extend(data.changed.iter().map(line));
    if data.notes > data.changed.len() {
        lines.push(format!("[{} more notes]", data.notes - data.changed.len()));
    }
    lines.join("\n")
}
