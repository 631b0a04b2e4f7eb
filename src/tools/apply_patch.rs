//! `apply_patch`

use std::collections::{HashMap, HashSet};

use super::ReadUpdate;
use super::prelude::*;
use super::relinked::Relinked;
use super::text_file::{self, fits};
use crate::edits::ReadOnly;
use crate::journal::{Change, Outcome};
use crate::note::code::ErrorCode;
use crate::note::counted::counted;
use crate::note::diff;
use crate::note::patch::{self, Action, FilePatch, PatchError};
use crate::note::path::VaultPath;
use crate::vault::{Precondition, VaultError, WriteTarget};

/// Outcomes for a file.
const CREATED: &str = "created";
const DELETED: &str = "deleted";

/// Bytes of diffs in one answer, after which no further one begins.
const MAX_DIFFS: usize = 100 << 10;

/// Files in one patch: each is held open and whole until all are written.
const MAX_FILES: usize = 200;

/// Applies a unified diff to one or more files; it can also create (`--- /dev/null`) and delete
/// (`+++ /dev/null`) files. If one hunk does not fit, no file changes. The context lines must match
/// the file exactly; a hunk may lie some lines away from where its header says, if it matches
/// nowhere else nearby. The answer says where each hunk was applied and shows a diff.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ApplyPatch {
    /// The patch: `--- a/path`, `+++ b/path`, `@@ -1,3 +1,4 @@` and the lines. Paths are from the
    /// vault's root.
    patch: String,
}

/// The result.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Each file of the patch, in its order.
    files: Vec<FileResult>,
    /// Hunks applied in all files together.
    hunks_applied: usize,
    /// The change set, for `undo`.
    change_set: u64,
    /// Links to another file with a new file's name, rewritten to keep their targets.
    links: Relinked,
}

/// The outcome for one file.
#[derive(Serialize, JsonSchema)]
pub struct FileResult {
    /// The real path.
    path: String,
    /// `created`, `modified` or `deleted`.
    action: &'static str,
    /// Hunks applied to it.
    hunks: usize,
    /// Where each hunk went, in their order.
    places: Vec<HunkPlace>,
    /// The change of a modified file as a unified diff; long ones are cut, with a note. Empty for other files, and once
    /// the answer is full.
    diff: String,
    /// Identity of the new content; none for a deleted file.
    revision: Option<String>,
}

/// Where a hunk went.
#[derive(Serialize, JsonSchema)]
pub struct HunkPlace {
    /// Its first line in the old file, from 1.
    line: usize,
    /// How many lines below the position in its header; negative: above.
    drift: i64,
}

impl Tool for ApplyPatch {
    const NAME: &'static str = "apply_patch";
    const TITLE: &'static str = "Apply a patch";
    const TIER: Tier = Tier::Dangerous;
    const SELDOM: bool = true;
    const EXAMPLE: &'static str =
        r#"{"patch": "--- a/a.md\n+++ b/a.md\n@@ -1 +1 @@\n-one\n+two\n"}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let patches = patch::parse(&self.patch).map_err(|error| patch_failure(&error))?;
        if patches.len() > MAX_FILES {
            return Err(ToolError::new(
                ErrorCode::PatchFailed,
                format!("the patch names {} files; the limit is {MAX_FILES}", patches.len()),
                "apply it in parts",
            ));
        }
        let (mut seen, mut new) = (HashSet::new(), New::default());
        let mut files = Vec::new();
        let mut changes = Vec::new();
        for patch in &patches {
            let (path, change, result) = plan(context, patch, &mut new)?;
            let is_twin = patch.action == Action::Create && !new.files.insert(path.fold_key());
            if !seen.insert(path.clone()) || is_twin {
                return Err(ToolError::new(
                    ErrorCode::PatchFailed,
                    format!("the patch names `{path}` twice"),
                    "put all hunks of a file below one header",
                ));
            }
            changes.push(change);
            files.push(result);
        }
        let title = match &files[..] {
            [one] => format!("patch `{}`", one.path),
            several => format!("patch {}", counted(several.len(), "file")),
        };
        let (applied, links) =
            context.editor().apply_with_links(title, changes, ReadOnly::Refuse)?;
        let links = Relinked::of(context.vault.view(), &links);
        let change_set = applied.change_set.0;
        for (file, outcome) in files.iter_mut().zip(&applied.outcomes) {
            // A link rewritten in it changes the text beyond the patch.
            if let Outcome::Written(saved) = outcome {
                file.revision = Some(saved.revision.to_string());
            }
        }
        let hunks_applied = files.iter().map(|file| file.hunks).sum();
        let mut lines: Vec<String> = files.iter().map(line).collect();
        lines.extend(links.text(false));
        let (mut left_out, mut bytes) = (0, 0);
        for file in files.iter_mut().filter(|file| !file.diff.is_empty()) {
            if bytes > MAX_DIFFS {
                file.diff.clear();
                left_out += 1;
                continue;
            }
            bytes += file.diff.len();
            lines.push(file.diff.trim_end().to_owned());
        }
        if left_out > 0 {
            let left = counted(left_out, "diff");
            lines.push(format!(
                "[{left} left out; list_changes with change_set: {change_set} and diff shows them]"
            ));
        }
        let data = Output { files, hunks_applied, change_set, links };
        Ok(Answer::new(lines.join("\n"), data))
    }

    /// The caller knows a changed file only in its old revision, and has to read it again.
    fn read_updates(patched: &Output) -> Vec<ReadUpdate> {
        let update = |file: &FileResult| {
            let path = file.path.clone();
            match (file.action, &file.revision) {
                (CREATED, Some(revision)) => {
                    Some(ReadUpdate::Written { path, revision: revision.clone() })
                }
                (DELETED, _) => Some(ReadUpdate::Gone { path }),
                _ => None,
            }
        };
        patched.files.iter().filter_map(update).collect()
    }
}

/// The outcome for a file, with the positions of hunks that were not where their headers say.
fn line(file: &FileResult) -> String {
    let drifted = file.places.iter().enumerate().filter(|(_, place)| place.drift != 0);
    let drifted: Vec<String> = drifted
        .map(|(at, place)| {
            let way = if place.drift < 0 { "above" } else { "below" };
            let lines =
                counted(usize::try_from(place.drift.unsigned_abs()).unwrap_or(usize::MAX), "line");
            format!(
                "; hunk {} went to line {}, {lines} {way} where its header says",
                at + 1,
                place.line
            )
        })
        .collect();
    let hunks = counted(file.hunks, "hunk");
    format!("{} `{}` ({hunks}{})", file.action, file.path, drifted.concat())
}

/// New paths of the patch, so that two spellings of one name do not become two files.
#[derive(Default)]
struct New {
    /// The fold keys of its files.
    files: HashSet<String>,
    /// Its folders by their fold keys, as they were spelt first.
    folders: HashMap<String, VaultPath>,
}

impl New {
    /// The path, in the spelling of folders that the patch already creates.
    fn in_known_spelling(&mut self, context: &Context, path: &VaultPath) -> VaultPath {
        let mut folder = VaultPath::root();
        for name in path.parent().iter().flat_map(VaultPath::components) {
            let here = folder.join(name).expect("a component is a name");
            folder = match context.vault.stat(&here) {
                Ok(_) => here,
                Err(_) => self.folders.entry(here.fold_key()).or_insert(here).clone(),
            };
        }
        folder.join(path.name()).expect("a component is a name")
    }
}

/// The change that one file's part of the patch makes.
fn plan(
    context: &Context,
    patch: &FilePatch,
    new: &mut New,
) -> Result<(VaultPath, Change, FileResult), ToolError> {
    let result =
        |path: &VaultPath, action, places: Vec<patch::HunkPosition>, content: Option<&[u8]>| {
            let places = places.into_iter();
            FileResult {
                path: path.as_str().to_owned(),
                action,
                hunks: patch.hunks.len(),
                places: places.map(|one| HunkPlace { line: one.line, drift: one.drift }).collect(),
                diff: String::new(),
                revision: content.map(|content| crate::vault::Revision::of(content).to_string()),
            }
        };
    if patch.action == Action::Create {
        let path = match context.vault.resolve_new(&patch.path)? {
            WriteTarget::Existing(found) => {
                return Err(already_exists_error(found.path));
            }
            WriteTarget::Free(path) => new.in_known_spelling(context, &path),
        };
        let applied = patch::apply(None, patch).map_err(|error| patch_failure(&error))?;
        let content = applied.bytes.unwrap_or_default();
        let result = result(&path, CREATED, applied.places, Some(&content));
        let change = Change::Write { path: path.clone(), content, before: Precondition::Absent };
        return Ok((path, change, result));
    }
    let file = text_file::read(context, &patch.path)?;
    file.text()?;
    let applied =
        patch::apply(Some(&file.content.bytes), patch).map_err(|error| patch_failure(&error))?;
    let path = file.path.clone();
    let before = Precondition::Revision(file.content.revision);
    let (change, result) = match applied.bytes {
        Some(content) => {
            fits(&context.vault, &path, content.len())?;
            let diff = diff::unified(&file.content.bytes, &content, path.as_str());
            let result =
                FileResult { diff, ..result(&path, "modified", applied.places, Some(&content)) };
            (Change::Write { path: path.clone(), content, before }, result)
        }
        None => (
            Change::Delete { path: path.clone(), before, past_trash: false },
            result(&path, DELETED, applied.places, None),
        ),
    };
    Ok((path, change, result))
}

/// The error for a patch that creates an existing file.
fn already_exists_error(path: VaultPath) -> ToolError {
    let hint = format!(
        "the patch creates it, but it exists; to change it, name it in both lines (`--- a/{path}`, \
         `+++ b/{path}`) with the lines around the change; write_file replaces all of it"
    );
    ToolError { hint: Some(hint), ..ToolError::from(VaultError::AlreadyExists { path }) }
}

fn patch_failure(error: &PatchError) -> ToolError {
    let hint = error.hint().map(|hint| hint.to_string());
    ToolError { hint, ..ToolError::plain(error.code(), error.to_string()) }
}
