//! `delete`

use super::prelude::*;
use super::{ReadUpdate, graph};
use crate::edits;
use crate::index::links::rewrite;
use crate::journal::{Action, Change, ChangeSetId, ListedChange, Outcome};
use crate::note::code::ErrorCode;
use crate::note::counted::counted;
use crate::note::path::VaultPath;
use crate::vault::{Kind, Precondition, Trashed};

/// Deletes a file or folder to the trash that Obsidian is set to use: the system's trash or the
/// vault's `.trash` folder. It can be restored from there. A link is deleted itself, never its
/// target.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delete {
    /// The file or folder to delete, from the vault's root.
    path: String,
    /// Bypass the trash: nothing stays in the vault or in the system's trash. A person has to
    /// agree. The steward stores a copy until that is emptied.
    #[serde(default)]
    permanent: bool,
}

/// The result.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Its former path.
    path: String,
    /// `file`, `folder` or `link`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The number of deleted files, including itself.
    files: usize,
    /// `system` (the system's trash), `local` (the vault's `.trash`), `kept` (the steward's own
    /// store: the vault has no trash, or the deletion was to bypass it).
    trash: &'static str,
    /// Where it is now: below `.trash/`, or a path on this machine; none in the system's trash.
    location: Option<String>,
    /// The change set, for `undo`.
    change_set: u64,
    /// Links of other files to the deleted ones. They stay unchanged.
    links_lost: usize,
    /// Number of files with such links.
    files_with_links_lost: usize,
}

impl Tool for Delete {
    const NAME: &'static str = "delete";
    const TITLE: &'static str = "Delete a file or folder";
    const TIER: Tier = Tier::Dangerous;
    const KIND: ToolKind = ToolKind::Delete;
    const TOUCHES: &'static [Touch] = touches!(Path: path);
    const PERMANENT: Option<&'static str> = Some(argument!(permanent));
    const EXAMPLE: &'static str = r#"{"path": "a.md"}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let found = context.resolve_to_modify(&self.path)?;
        if found.path.is_root() {
            let message = "the vault itself cannot be deleted";
            return Err(ToolError::invalid(message, "name a file or folder in it"));
        }
        // The gate checks the approval; without a gate there is none.
        if self.permanent && context.gate.is_none() {
            return Err(ToolError::new(
                ErrorCode::Denied,
                format!("deleting `{}` for good needs a person's approval", found.path),
                "leave `permanent` out to delete it to the trash",
            ));
        }
        let kind = found.meta.kind;
        let files = match kind {
            Kind::Folder => {
                let catalogue = context.vault.catalogue();
                catalogue.within(&found.path).filter(|entry| entry.kind == Kind::File).count()
            }
            _ => 1,
        };
        let (path, before, past_trash) = (found.path.clone(), Precondition::Any, self.permanent);
        let changes = vec![Change::Delete { path, before, past_trash }];
        let links = graph::links(context)?;
        let lost = rewrite::lost(links, &edits::names(&context.vault, &changes));
        let past = if past_trash { " past the trash" } else { "" };
        let applied = context.editor().apply(format!("delete `{}`{past}", found.path), changes)?;
        let [Outcome::Deleted(trashed)] = &applied.outcomes[..] else {
            unreachable!("a deletion has one outcome, that it was deleted")
        };
        let (trash, location, whereto) = match trashed {
            Trashed::System { .. } => ("system", None, "the system's trash".to_owned()),
            Trashed::Local { path, instead } => {
                let reason = instead.as_ref().map(|reason| format!(" ({reason})"));
                let whereto = format!("`{path}`{}", reason.unwrap_or_default());
                ("local", Some(path.as_str().to_owned()), whereto)
            }
            Trashed::Kept { place } => {
                let place = place.display();
                let whereto = if past_trash {
                    format!("`{place}`, until `steward trash empty` removes it permanently")
                } else {
                    format!("`{place}`, since the vault keeps no trash")
                };
                ("kept", Some(place.to_string()), whereto)
            }
        };
        let what = match kind {
            Kind::Folder => format!("folder `{}` with {}", found.path, counted(files, "file")),
            other => format!("{} `{}`", other.word(), found.path),
        };
        let data = Output {
            path: found.path.as_str().to_owned(),
            kind: kind.word(),
            files,
            trash,
            location,
            change_set: applied.change_set.0,
            links_lost: lost.links,
            files_with_links_lost: lost.files,
        };
        let links = match lost.links {
            0 => String::new(),
            links => format!(
                "\n{} in {} led there and now do not; list_links finds what leads nowhere",
                counted(links, "link"),
                counted(lost.files, "file")
            ),
        };
        let back = way_back(context, applied.change_set, &found.path);
        let text = format!(
            "deleted the {what}: it is now in {whereto}; undo {back} to have it back{links}"
        );
        Ok(Answer::new(text, data))
    }

    fn read_updates(deleted: &Output) -> Vec<ReadUpdate> {
        vec![ReadUpdate::Gone { path: deleted.path.clone() }]
    }
}

/// The argument of `undo` that restores only this file: the change set, or this change of it if the set has others of
/// the same turn.
fn way_back(context: &Context, set: ChangeSetId, path: &VaultPath) -> String {
    let whole = format!("change set {set}");
    let Ok(Some(listed)) = context.journal.history().change_set(set) else { return whole };
    let is_this = |change: &&ListedChange| change.action == Action::Deleted && change.path == *path;
    match listed.changes.iter().rfind(is_this) {
        Some(change) if listed.changes.len() > 1 => format!("change {}", change.id),
        _ => whole,
    }
}
