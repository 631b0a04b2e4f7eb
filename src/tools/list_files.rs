//! `list_files`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text_file::{count, local, shown, size};
use super::{Answer, Context, Tier, Tool, ToolError};
use crate::note::code::ErrorCode;
use crate::note::glob::Glob;
use crate::note::path::VaultPath;
use crate::vault::{Entry, Kind, Want};

pub(super) struct ListFiles;

const DEFAULT_RESULTS: usize = 100;
const MAX_RESULTS: usize = 1_000;

/// Lists files and folders whose path fits a pattern, the newest first. Case does not matter. `*`
/// stands for any characters within a name, `**` for any folders, `?` for one character, `{a,b}`
/// for either; brackets are literal. A pattern without a slash looks only into the folder itself:
/// `*.md` lists its notes, `**/*.md` those in all folders below it too.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The pattern, below `path`. Left out: `*`, everything in the folder.
    #[serde(default = "everything")]
    pattern: String,
    /// The folder to list, from the vault's root. Left out: the root.
    #[serde(default)]
    path: String,
    /// How many entries at most, 1 to 1,000. Left out: 100.
    #[serde(default = "default_results")]
    max_results: i64,
    /// What to list.
    #[serde(default, rename = "type")]
    kind: WantedKind,
    /// The order.
    #[serde(default)]
    sort_by: SortBy,
}

fn everything() -> String {
    "*".to_owned()
}

fn default_results() -> i64 {
    DEFAULT_RESULTS as i64
}

/// What to list.
#[derive(Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum WantedKind {
    /// Files, folders and links.
    #[default]
    Any,
    /// Files only.
    File,
    /// Folders only.
    Folder,
}

/// The order of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SortBy {
    /// The newest first.
    #[default]
    Modified,
    /// By path.
    Name,
    /// The largest first.
    Size,
}

/// What is there.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The folder listed.
    path: String,
    /// The entries, in order.
    entries: Vec<Listed>,
    /// How many fit, those beyond the limit included.
    total: usize,
    /// How many fit in folders below, where nothing fits in the folder itself.
    total_below: Option<usize>,
}

/// One entry of the list.
#[derive(Serialize, JsonSchema)]
pub struct Listed {
    /// Its path from the vault's root.
    path: String,
    /// `file`, `folder`, `link` or `special file`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Last change, local time.
    modified: String,
    /// Bytes; none for folders.
    size: Option<u64>,
    /// The file that this one is a copy of, by its name: a sync program made it when two machines
    /// had changed the file. Nothing touches either by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    conflict_of: Option<String>,
}

impl Tool for ListFiles {
    const NAME: &'static str = "list_files";
    const TITLE: &'static str = "List files";
    const TIER: Tier = Tier::Safe;
    const IDEMPOTENT: bool = true;
    type Input = Input;
    type Output = Output;

    fn run(context: &Context, input: Input) -> Result<Answer<Output>, ToolError> {
        let limit = usize::try_from(input.max_results).unwrap_or(0);
        if !(1..=MAX_RESULTS).contains(&limit) {
            return Err(ToolError::new(
                ErrorCode::InvalidInput,
                format!("`max_results` is {}", input.max_results),
                format!("give a number from 1 to {MAX_RESULTS}"),
            ));
        }
        let glob = parse_glob(&input.pattern)?;
        let folder = context.vault.resolve(&input.path, Want::Folder)?.path;
        let found = matching(context, &folder, &glob, input.kind, input.sort_by);
        let below = |glob: &Glob| matching(context, &folder, glob, input.kind, SortBy::Name).len();
        let total_below = (found.is_empty() && !glob.has_slash())
            .then(|| below(&glob.anywhere()))
            .filter(|below| *below > 0);
        let (entries, gone) = confirmed(context, &found, limit);
        let total = found.len() - gone;
        let text = text(&input.pattern, &folder, &entries, total, total_below);
        let path = folder.as_str().to_owned();
        Ok(Answer { text, data: Output { path, entries, total, total_below } })
    }
}

/// An entry that fits: enough to put it in order, without a copy of its texts.
struct Fit {
    path: VaultPath,
    size: u64,
    modified: i64,
    unnameable: bool,
}

/// The first `limit` entries as they are on the disk now; those that are gone are left out.
fn confirmed(context: &Context, found: &[Fit], limit: usize) -> (Vec<Listed>, usize) {
    let (mut entries, mut gone) = (Vec::new(), 0);
    for fit in found {
        if entries.len() == limit {
            break;
        }
        let (kind, modified, bytes) = if fit.unnameable {
            ("special file", fit.modified, fit.size)
        } else {
            match context.vault.recheck(&fit.path) {
                Some(meta) => (meta.kind.word(), meta.modified, meta.size),
                None => {
                    gone += 1;
                    continue;
                }
            }
        };
        entries.push(Listed {
            path: fit.path.as_str().to_owned(),
            kind,
            modified: local(modified),
            size: (kind != Kind::Folder.word()).then_some(bytes),
            conflict_of: None,
        });
    }
    mark_conflicts(context, &mut entries);
    (entries, gone)
}

fn mark_conflicts(context: &Context, entries: &mut [Listed]) {
    let catalogue = context.vault.catalogue();
    for entry in entries.iter_mut().filter(|entry| entry.kind == Kind::File.word()) {
        let path = catalogue.get(&entry.path).map(|known| known.path());
        let original = path.and_then(|path| catalogue.conflict_of(path));
        entry.conflict_of = original.map(|original| original.as_str().to_owned());
    }
}

pub(super) fn parse_glob(pattern: &str) -> Result<Glob, ToolError> {
    Glob::parse(pattern)
        .map_err(|error| ToolError::new(error.code(), error.to_string(), error.hint()))
}

/// What fits, in order.
fn matching(
    context: &Context,
    folder: &VaultPath,
    glob: &Glob,
    kind: WantedKind,
    by: SortBy,
) -> Vec<Fit> {
    let base = folder.fold_key().len() + usize::from(!folder.is_root());
    let fits = |entry: &&Entry| {
        let wanted = match kind {
            WantedKind::Any => true,
            WantedKind::File => entry.kind == Kind::File,
            WantedKind::Folder => entry.kind == Kind::Folder,
        };
        wanted && entry.key().get(base..).is_some_and(|below| glob.matches(below))
    };
    let fit = |entry: &Entry| Fit {
        path: entry.path().clone(),
        size: entry.size,
        modified: entry.modified,
        unnameable: entry.unnameable,
    };
    let catalogue = context.vault.catalogue();
    match by {
        // The catalogue keeps both orders.
        SortBy::Modified => {
            let below = catalogue.recent().filter(|entry| entry.path().is_within(folder));
            below.filter(fits).map(fit).collect()
        }
        SortBy::Name => catalogue.within(folder).filter(fits).map(fit).collect(),
        SortBy::Size => {
            let mut found: Vec<Fit> = catalogue.within(folder).filter(fits).map(fit).collect();
            found.sort_by_key(|fit| std::cmp::Reverse(fit.size));
            found
        }
    }
}

fn text(
    pattern: &str,
    folder: &VaultPath,
    entries: &[Listed],
    total: usize,
    total_below: Option<usize>,
) -> String {
    if entries.is_empty() {
        let below = total_below.map_or(String::new(), |below| {
            format!("; `**/{pattern}` would find {} below it", count(below, "match"))
        });
        return format!("nothing in `{folder}` fits `{pattern}`{below}");
    }
    let mut lines: Vec<String> = entries.iter().map(line).collect();
    if total > entries.len() {
        lines.push(format!(
            "[{} of {total}; raise max_results or narrow the pattern]",
            entries.len()
        ));
    } else {
        lines.push(format!("[{total} in all]"));
    }
    lines.join("\n")
}

fn line(entry: &Listed) -> String {
    let time = entry.modified.get(..16).unwrap_or_default().replace('T', " ");
    match (entry.kind, entry.size) {
        ("folder", _) => format!("{time}  {}/", shown(&entry.path)),
        ("file", Some(bytes)) => {
            let conflict = entry.conflict_of.as_ref();
            let conflict =
                conflict.map_or(String::new(), |of| format!("  [conflict copy of `{of}`]"));
            format!("{time}  {}  {}{conflict}", shown(&entry.path), size(bytes))
        }
        (kind, _) => format!("{time}  {}  [{kind}]", shown(&entry.path)),
    }
}
