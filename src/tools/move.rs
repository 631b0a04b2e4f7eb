//! `move`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text_file::has_type;
use super::{Answer, Context, Tier, Tool, ToolError, relink};
use crate::journal::Change;
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::vault::{Kind, VaultError, Want};

pub(super) struct Move;

/// Moves or renames a file or folder. Missing folders of the destination are made. Nothing is ever
/// replaced: an existing destination is an error. The destination is the whole new path, name
/// included, not the folder to move into. Changing only the case of a name works. Links in all
/// notes and canvases, and those in what moves, are rewritten where they would lead elsewhere, in
/// the form that Obsidian is set to; the move and all of them are one change set.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What to move, from the vault's root.
    source: String,
    /// Its new path, from the vault's root. A file whose new name has no extension keeps its own.
    destination: String,
    /// Show what would change, links included, and change nothing.
    #[serde(default)]
    dry_run: bool,
}

/// What was moved.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The real path before.
    source: String,
    /// The path now.
    destination: String,
    /// `file`, `folder` or `link`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Whether anything had to be done. In a dry run: would have.
    moved: bool,
    /// Whether this only shows what would be done.
    dry_run: bool,
    /// The change set this is part of: what `undo` takes; none where nothing had to be done.
    change_set: Option<u64>,
    /// The links that follow.
    links: relink::Relinked,
    /// Lines of bases that name what moves, the first 20. Bases are never edited.
    base_lines: Vec<relink::BaseLine>,
}

impl Tool for Move {
    const NAME: &'static str = "move";
    const TITLE: &'static str = "Move or rename";
    const TIER: Tier = Tier::Dangerous;
    const IDEMPOTENT: bool = false;
    type Input = Input;
    type Output = Output;

    fn run(context: &Context, input: Input) -> Result<Answer<Output>, ToolError> {
        let source = context.vault.resolve(&input.source, Want::Entry)?;
        if source.path.is_root() {
            return Err(ToolError::new(
                ErrorCode::InvalidInput,
                "the vault itself cannot be moved",
                "name a file or folder in it",
            ));
        }
        let destination = destination(context, &source.path, source.meta.kind, &input.destination)?;
        let moved = destination != source.path;
        let (mut change_set, mut links) = (None, relink::Relinked::default());
        let mut base_lines = Vec::new();
        if moved {
            if destination.is_within(&source.path) {
                return Err(VaultError::IntoItself { from: source.path }.into());
            }
            let (from, to) = (source.path.clone(), destination.clone());
            let title = format!("move `{from}` to `{to}`");
            let changes = vec![Change::Move { from, to }];
            base_lines = relink::base_lines(context, &source.path, &changes);
            if input.dry_run {
                links = relink::preview(context, &changes)?;
            } else {
                let (applied, followed) = relink::apply(context, title, changes)?;
                (change_set, links) = (Some(applied.change_set.0), followed);
            }
        }
        let kind = source.meta.kind.word();
        let mut lines = vec![match moved {
            true => {
                let verb = if input.dry_run { "would move" } else { "moved" };
                format!("{verb} the {kind} `{}` to `{destination}`", source.path)
            }
            false => format!("`{destination}` is there already under exactly this name; no change"),
        }];
        lines.extend(links.text(input.dry_run));
        lines.extend(base_lines.iter().map(|line| {
            format!("not edited, names it: {}:{}: {}", line.path, line.line, line.text)
        }));
        let data = Output {
            source: source.path.as_str().to_owned(),
            destination: destination.as_str().to_owned(),
            kind,
            moved,
            dry_run: input.dry_run,
            change_set,
            links,
            base_lines,
        };
        Ok(Answer { text: lines.join("\n"), data })
    }
}

/// The new path, its folders spelt as they are on disk.
fn destination(
    context: &Context,
    source: &VaultPath,
    kind: Kind,
    asked: &str,
) -> Result<VaultPath, ToolError> {
    match context.vault.resolve(asked, Want::Entry) {
        Err(VaultError::NotFound { .. }) => {}
        Err(error) => return Err(error.into()),
        Ok(found) if found.path == *source => {
            // The thing itself under another spelling: a change of case. "todo" for `Todo.md`
            // means the name, not the extension.
            let mut new = context.vault.new_path(asked)?;
            let named_whole = new.fold_key() == source.fold_key();
            if let (false, Some(extension)) = (named_whole, source.extension()) {
                let with_extension = format!("{}.{extension}", new.as_str());
                new = VaultPath::from_disk(&with_extension).unwrap_or(new);
            }
            return Ok(new);
        }
        Ok(found) => {
            // A name without extension also finds the note of that name, which is no obstacle.
            let new = context.vault.new_path(asked)?;
            if found.path.fold_key() == new.fold_key() || kind == Kind::File {
                let mut error =
                    ToolError::from(VaultError::AlreadyExists { path: found.path.clone() });
                if found.meta.kind == Kind::Folder {
                    let inside = format!("{}/{}", found.path.as_str(), source.name());
                    error.hint = Some(format!("to move it into that folder, say `{inside}`"));
                }
                return Err(error);
            }
            return Ok(new);
        }
    }
    let new = context.vault.new_path(asked)?;
    match type_for(source, &new).filter(|_| kind == Kind::File) {
        // What lies there under any spelling is looked for by the whole name.
        Some(extension) => {
            destination(context, source, kind, &format!("{}.{extension}", new.as_str()))
        }
        None => Ok(new),
    }
}

/// What a note may become by its new name.
const OTHER_TEXTS: [&str; 21] = [
    "base", "bak", "bib", "canvas", "csv", "htm", "html", "json", "log", "markdown", "md", "mdx",
    "org", "rst", "tex", "text", "tsv", "txt", "xml", "yaml", "yml",
];

/// The extension that a new path is to have from the old one, where it names none: people name notes and
/// not files, and what is behind a dot (`Release 2.0`, `Dr. Who`) is hardly ever meant as one.
fn type_for<'a>(source: &'a VaultPath, new: &VaultPath) -> Option<&'a str> {
    let extension = source.extension()?;
    let is_same = new.extension().is_some_and(|new| new.eq_ignore_ascii_case(extension));
    let names_one = match source.is_note() {
        true => new
            .extension()
            .is_some_and(|new| OTHER_TEXTS.iter().any(|other| new.eq_ignore_ascii_case(other))),
        false => has_type(new),
    };
    (!names_one && !is_same).then_some(extension)
}
