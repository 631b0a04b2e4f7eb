//! `move`

use super::destination::{self, Operation};
use super::prelude::*;
use super::relinked::Relinked;
use super::{ReadUpdate, base_lines};
use crate::edits::{Followed, ReadOnly};
use crate::journal::Change;
use crate::note::counted::counted;
use crate::vault::{self, VaultError};

/// Symbolic links named in an answer.
const MAX_TURNED: usize = 20;

/// Moves or renames a file or folder. Missing folders of the destination are created. Never
/// overwrites: an existing destination is an error. The destination is the full new path including
/// the name, not the folder to move into. Changing only the case of a name works. Links in all
/// notes and canvases, and in what moves, are updated in the form set in Obsidian; all of this is
/// one change set.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Move {
    /// The file or folder to move, from the vault's root.
    source: String,
    /// Its new path, from the vault's root. A file whose new name has no extension keeps its own.
    destination: String,
    /// Only report what would change, including links.
    #[serde(default)]
    dry_run: bool,
    /// Move it even if files that link to it are read-only. Their links will break or lead
    /// elsewhere, and are listed. By default nothing is moved, and the error lists these files.
    #[serde(default)]
    leave_read_only: bool,
}

/// The result.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The real path before.
    source: String,
    /// The path now.
    destination: String,
    /// `file`, `folder` or `link`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Whether it was moved, or in a dry run would be.
    moved: bool,
    /// Whether this was a dry run.
    dry_run: bool,
    /// The change set, for `undo`; none if nothing had to be done.
    change_set: Option<u64>,
    /// The links that follow.
    links: Relinked,
    /// The first 20 lines of bases that name moved files. Bases are never edited.
    base_lines: Vec<base_lines::BaseLine>,
    /// Symbolic links in the vault that lead elsewhere or nowhere afterwards, the first 20. They are
    /// never edited.
    turned_links: Vec<TurnedLink>,
    /// The number of all of those.
    total_turned_links: usize,
}

/// A symbolic link that no longer has its old target.
#[derive(Serialize, JsonSchema)]
pub struct TurnedLink {
    /// Its path, afterwards.
    path: String,
    /// The link's current text.
    says: String,
    /// The text with which it would lead to its old target; none if that is outside the vault.
    should_say: Option<String>,
}

impl Tool for Move {
    const NAME: &'static str = "move";
    const TITLE: &'static str = "Move or rename";
    const TIER: Tier = Tier::Dangerous;
    const KIND: ToolKind = ToolKind::Move;
    const TOUCHES: &'static [Touch] = touches!(Path: source, Path: destination);
    const EXAMPLE: &'static str = r#"{"source": "a.md", "destination": "b.md"}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let source = context.resolve_to_modify(&self.source)?;
        if source.path.is_root() {
            let message = "the vault itself cannot be moved";
            return Err(ToolError::invalid(message, "name a file or folder in it"));
        }
        let destination =
            destination::resolve(context, Operation::Move, &source, &self.destination)?;
        let moved = destination != source.path;
        let (mut change_set, mut links) = (None, Followed::default());
        let (mut base_lines, mut redirected) = (Vec::new(), Vec::new());
        if moved {
            if destination.is_within(&source.path) {
                return Err(VaultError::IntoItself { from: source.path }.into());
            }
            let read_only = if self.leave_read_only { ReadOnly::Leave } else { ReadOnly::Refuse };
            redirected = context.vault.redirected_links(&source.path, &destination);
            let (from, to) = (source.path.clone(), destination.clone());
            let title = format!("move `{from}` to `{to}`");
            let changes = vec![Change::Move { from, to }];
            base_lines = base_lines::base_lines(context, &source.path, &changes);
            if self.dry_run {
                links = context.editor().preview(&changes, read_only)?;
            } else {
                let (applied, followed) =
                    context.editor().apply_with_links(title, changes, read_only)?;
                (change_set, links) = (Some(applied.change_set.0), followed);
            }
        }
        let links = Relinked::of(context.vault.view(), &links);
        let kind = source.meta.kind.word();
        let mut lines = vec![if moved {
            let verb = if self.dry_run { "would move" } else { "moved" };
            format!("{verb} the {kind} `{}` to `{destination}`", source.path)
        } else {
            format!("`{destination}` already has exactly this name; no change")
        }];
        lines.extend(links.text(self.dry_run));
        lines.extend(base_lines.iter().map(|line| {
            format!("not edited, names it: {}:{}: {}", line.path, line.line, line.text)
        }));
        lines.extend(redirected_text(&redirected, self.dry_run));
        let data = Output {
            source: source.path.as_str().to_owned(),
            destination: destination.as_str().to_owned(),
            kind,
            moved,
            dry_run: self.dry_run,
            change_set,
            links,
            base_lines,
            total_turned_links: redirected.len(),
            turned_links: redirected.into_iter().take(MAX_TURNED).map(TurnedLink::from).collect(),
        };
        Ok(Answer::new(lines.join("\n"), data))
    }

    fn read_updates(moved: &Output) -> Vec<ReadUpdate> {
        let (from, to) = (moved.source.clone(), moved.destination.clone());
        if moved.dry_run { Vec::new() } else { vec![ReadUpdate::Moved { from, to }] }
    }
}

impl From<vault::RedirectedLink> for TurnedLink {
    fn from(link: vault::RedirectedLink) -> Self {
        Self { path: link.now.as_str().to_owned(), says: link.says, should_say: link.should_say }
    }
}

/// The symbolic links that lead elsewhere, one line each.
fn redirected_text(redirected: &[vault::RedirectedLink], dry_run: bool) -> Vec<String> {
    let mut lines = Vec::new();
    if !redirected.is_empty() {
        let (links, would) =
            (counted(redirected.len(), "symbolic link"), if dry_run { " would" } else { "" });
        let lead = if redirected.len() == 1 && !dry_run { "leads" } else { "lead" };
        lines.push(format!("[not edited:{would} {lead} elsewhere or nowhere: {links}]"));
    }
    lines.extend(redirected.iter().take(MAX_TURNED).map(|link| {
        let mended = link.should_say.as_ref();
        let mended =
            mended.map_or(String::new(), |text| format!("; it would have to say `{text}`"));
        format!("  {} says `{}`{mended}", link.now, link.says)
    }));
    if redirected.len() > MAX_TURNED {
        lines.push(format!("  [{} more]", redirected.len() - MAX_TURNED));
    }
    lines
}
