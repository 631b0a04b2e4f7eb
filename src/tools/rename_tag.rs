//! `rename_tag`

use super::graph;
use super::prelude::*;
use super::text_file::{self, fits};
use crate::journal::Change;
use crate::note::code::ErrorCode;
use crate::note::counted::counted;
use crate::note::path::VaultPath;
use crate::note::tag;
use crate::note::tag::rename::{self, Renamed};
use crate::vault::{Precondition, VaultError};

/// How often to retry if one of the notes changes meanwhile.
const ATTEMPTS: usize = 5;

/// Notes named in one answer.
const MAX_NAMED: usize = 100;

/// Renames a tag in all notes, in their text and in the property `tags`, together with its nested
/// tags: renaming `garden` to `plot` makes `garden/soil` into `plot/soil`. Case does not matter.
/// Text in code, math, links and addresses is not a tag and stays. If the new tag already exists,
/// the two are merged and cannot be told apart later; the answer says so, also with `dry_run`. All
/// notes change together or none does.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RenameTag {
    /// The present tag, with or without `#`: `garden` or `garden/soil`.
    from: String,
    /// Its new name: letters, digits, `_`, `-`, and `/` for nesting; not digits alone.
    to: String,
    /// Only in this note or in those below this folder. Default: the whole vault.
    path: Option<String>,
    /// Only report what would change.
    #[serde(default)]
    dry_run: bool,
}

/// The result.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The old tag, without `#`.
    from: String,
    /// Its new name.
    to: String,
    /// Tags that were renamed, nested ones included.
    tags: usize,
    /// The number of these in `tags` properties.
    in_properties: usize,
    /// Tags taken out of properties that had the new one already.
    dropped: usize,
    /// Notes that changed.
    notes: usize,
    /// The notes with the number of tags renamed in each, by path; at most 100.
    changed: Vec<Changed>,
    /// Notes that already had the new tag, which is now merged with the renamed one.
    merged_with: usize,
    /// Notes with the tag that could not be changed, with the reason.
    skipped: Vec<Skipped>,
    /// Files of the vault whose tags are not, or only partly, known.
    unknown_files: usize,
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
    /// Tags renamed in it.
    tags: usize,
}

/// A note that could not be changed.
#[derive(Serialize, JsonSchema)]
pub struct Skipped {
    /// Its path.
    path: String,
    /// Why.
    reason: String,
}

#[derive(Default)]
struct Plan {
    changes: Vec<Change>,
    notes: Vec<(VaultPath, Renamed)>,
    skipped: Vec<Skipped>,
    /// Whether there is such a tag at all.
    found: bool,
}

impl Tool for RenameTag {
    const NAME: &'static str = "rename_tag";
    const TITLE: &'static str = "Rename a tag";
    const TIER: Tier = Tier::Dangerous;
    const SELDOM: bool = true;
    const HEAVY: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: path, Tag: from);
    const EXAMPLE: &'static str = r#"{"from": "garden", "to": "plot"}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let (from, to) = (name(&self.from)?, name(&self.to)?);
        if from == to {
            let message = format!("`{from}` already has this name");
            return Err(ToolError::invalid(message, "give another name as `to`"));
        }
        let place = graph::place(context, self.path.as_deref())?;
        let mut attempts = 0;
        let (plan, merged_with, change_set) = loop {
            graph::links(context)?;
            let merged_with = merged(context, from, to);
            let plan = plan(context, &place, from, to)?;
            if self.dry_run || plan.changes.is_empty() {
                break (plan, merged_with, None);
            }
            let title = format!("rename the tag `{from}` to `{to}`");
            attempts += 1;
            match context.editor().apply(title, plan.changes.clone()) {
                Ok(applied) => break (plan, merged_with, Some(applied.change_set.0)),
                // One of the notes changed meanwhile; nothing was written, so retry.
                Err(error) if error.code() == ErrorCode::StaleRevision && attempts < ATTEMPTS => {}
                Err(error) => return Err(error.into()),
            }
        };
        if !plan.found {
            let message = format!("no note {}has the tag `{from}`", in_folder(&place));
            return Err(ToolError::not_found(message, "list_tags shows the tags that there are"));
        }
        let sum = |of: fn(&Renamed) -> usize| plan.notes.iter().map(|(_, note)| of(note)).sum();
        let data = Output {
            from: from.to_owned(),
            to: to.to_owned(),
            tags: sum(|note| note.inline + note.properties),
            in_properties: sum(|note| note.properties),
            dropped: sum(|note| note.dropped),
            notes: plan.notes.len(),
            changed: plan.notes.iter().take(MAX_NAMED).map(changed_note).collect(),
            merged_with,
            skipped: plan.skipped,
            unknown_files: graph::visible_links(context).gaps().len(),
            dry_run: self.dry_run,
            change_set,
        };
        Ok(Answer::new(words(&data), data))
    }
}

fn name(requested: &str) -> Result<&str, ToolError> {
    rename::name_of(requested).ok_or_else(|| {
        ToolError::invalid(
            format!("`{requested}` is not a tag"),
            "tags are made of letters, digits, `_`, `-` and `/` between two names, without blanks \
             and not of digits alone",
        )
    })
}

/// The number of notes that already have the new tag, unless it is the old one in another case.
fn merged(context: &Context, from: &str, to: &str) -> usize {
    if tag::key(from) == tag::key(to) {
        0
    } else {
        graph::visible_links(context).tagged(&VaultPath::root(), to).len()
    }
}

/// Reads the notes with the tag and plans the change of each.
fn plan(context: &Context, place: &VaultPath, from: &str, to: &str) -> Result<Plan, ToolError> {
    let mut plan = Plan::default();
    for path in graph::visible_links(context).tagged(place, from) {
        context.check_cancelled()?;
        let content = match context.vault.read(&path) {
            Ok(content) => content,
            Err(VaultError::NotFound { .. }) => continue,
            Err(error) => {
                plan.found = true;
                let reason = error.to_string();
                plan.skipped.push(Skipped { path: path.as_str().to_owned(), reason });
                continue;
            }
        };
        plan.found = true;
        let file = text_file::TextFile { path, content };
        let renamed = file.editable().map_err(|error| error.message).and_then(|text| {
            let renamed =
                rename::rename(text.body(), from, to).map_err(|error| error.to_string())?;
            Ok((text.lead(), renamed))
        });
        let (lead, renamed) = match renamed {
            Ok(renamed) => renamed,
            Err(reason) => {
                plan.skipped.push(Skipped { path: file.path.as_str().to_owned(), reason });
                continue;
            }
        };
        let content = [lead, renamed.text.as_bytes()].concat();
        if content == file.content.bytes {
            continue;
        }
        fits(&context.vault, &file.path, content.len())?;
        plan.changes.push(Change::Write {
            path: file.path.clone(),
            content,
            before: Precondition::Revision(file.content.revision),
        });
        plan.notes.push((file.path, Renamed { text: String::new(), ..renamed }));
    }
    Ok(plan)
}

fn changed_note((path, note): &(VaultPath, Renamed)) -> Changed {
    Changed { path: path.as_str().to_owned(), tags: note.inline + note.properties }
}

fn in_folder(place: &VaultPath) -> String {
    if place.is_root() { String::new() } else { format!("in `{place}` ") }
}

fn words(data: &Output) -> String {
    let what = if data.dry_run { "would rename" } else { "renamed" };
    let (tags, notes) = (counted(data.tags, "tag"), counted(data.notes, "note"));
    let mut lines = vec![format!("{what} #{} to #{}: {tags} in {notes}", data.from, data.to)];
    if data.merged_with > 0 {
        let verb = if data.dry_run { "would become" } else { "is now" };
        let notes = counted(data.merged_with, "note");
        lines.push(format!("it {verb} one with #{}, which {notes} had before", data.to));
    }
    if data.dropped > 0 {
        lines.push(format!(
            "{} stood twice then and was taken out once",
            counted(data.dropped, "tag")
        ));
    }
    lines.extend(data.changed.iter().map(|note| format!("{}: {}", note.path, note.tags)));
    if data.notes > data.changed.len() {
        lines.push(format!("[{} more notes]", data.notes - data.changed.len()));
    }
    lines.extend(
        data.skipped.iter().map(|note| format!("not changed: {}: {}", note.path, note.reason)),
    );
    if data.unknown_files > 0 {
        lines.push(format!("[the tags of {} are not known]", counted(data.unknown_files, "file")));
    }
    lines.join("\n")
}
