//! `list_files`

use super::paging;
use super::prelude::*;
use super::text_file::{local, shown, size};
use crate::note::counted::counted;
use crate::note::glob::Glob;
use crate::note::path::VaultPath;
use crate::vault::{Entry, EntryQuery, Kind, Order, Want, nonblocking};

const MAX_RESULTS: usize = 1_000;

/// Lists files and folders that match a pattern, newest first. Case does not matter. `*` stands for
/// any characters in a name, `**` for any folders, `?` for one character, `{a,b}` for either;
/// brackets are literal, and so are braces without a comma, and characters after `\` if something
/// has that name. A pattern without a slash looks only into the folder itself: `*.md` lists its
/// notes, `**/*.md` also those in all folders below.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListFiles {
    /// The pattern, below `path`. Default: `*`, everything in the folder.
    #[serde(default = "everything")]
    pattern: String,
    /// The folder to list, from the vault's root. Default: the root.
    #[serde(default)]
    path: String,
    /// Maximum number of entries, 1 to 1,000. Default: 100.
    #[serde(default = "paging::signed::<100>")]
    max_results: i64,
    /// The first entry to show, from 1, to continue a list that was cut off.
    #[serde(default = "paging::default::<1>")]
    first_result: usize,
    /// The type of the entries.
    #[serde(default, rename = "type")]
    kind: WantedKind,
    /// The order.
    #[serde(default)]
    sort_by: SortBy,
}

fn everything() -> String {
    "*".to_owned()
}

/// The type of the listed entries.
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

impl WantedKind {
    fn kind(self) -> Option<Kind> {
        match self {
            Self::Any => None,
            Self::File => Some(Kind::File),
            Self::Folder => Some(Kind::Folder),
        }
    }
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

impl SortBy {
    fn order(self) -> Order {
        match self {
            Self::Modified => Order::Modified,
            Self::Name => Order::Name,
            Self::Size => Order::Size,
        }
    }
}

/// The entries.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The folder listed.
    path: String,
    /// The entries, in order.
    entries: Vec<Listed>,
    /// The number of all that match, including those beyond the limit.
    total: usize,
    /// The number that match in folders below, if nothing matches in the folder itself.
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
    /// had changed the file. Neither is changed automatically.
    #[serde(skip_serializing_if = "Option::is_none")]
    conflict_of: Option<String>,
}

impl Tool for ListFiles {
    const NAME: &'static str = "list_files";
    const TITLE: &'static str = "List files";
    const TIER: Tier = Tier::Safe;
    const KIND: ToolKind = ToolKind::Search;
    const QUICK: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: path, Pattern: pattern);
    const EXAMPLE: &'static str = "{}";
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let limit = paging::within(1..=MAX_RESULTS, "max_results", self.max_results)?;
        let folder = context.find(&self.path, Want::Folder)?.path;
        let glob = glob_below(context, &folder, &self.pattern, false)?;
        let query = EntryQuery { folder: &folder, glob: &glob, kind: self.kind.kind() };
        let skipped = paging::skipped(self.first_result);
        let upto = skipped.saturating_add(limit);
        let (mut entries, total) = listed(context, &query, self.sort_by.order(), upto);
        entries.drain(..skipped.min(entries.len()));
        let below = |glob: &Glob| {
            let query = EntryQuery { glob, ..query };
            context.vault.catalogue().list(&query, Order::Name, 0).total
        };
        let total_below = (total == 0 && !glob.has_slash())
            .then(|| below(&glob.anywhere()))
            .filter(|below| *below > 0);
        let text = text(&self.pattern, &folder, &entries, (skipped, total), total_below);
        let path = folder.as_str().to_owned();
        Ok(Answer::new(text, Output { path, entries, total, total_below }))
    }
}

/// How often a listing is retried because an entry was gone.
const ATTEMPTS: usize = 8;

/// The first `limit` entries as they are on disk now, and the number of all. If the system reports
/// every change, the catalogue is current; else each entry is checked, and others take the place of
/// those that are gone.
pub(super) fn listed(
    context: &Context,
    query: &EntryQuery<'_>,
    order: Order,
    limit: usize,
) -> (Vec<Listed>, usize) {
    let is_watched = context.vault.is_watched();
    if !is_watched && nonblocking::would_block() {
        return (Vec::new(), 0);
    }
    let mut attempt = 0;
    loop {
        let (found, total): (Vec<(bool, Listed)>, usize) = {
            let catalogue = context.vault.catalogue();
            let listing = catalogue.list(query, order, limit);
            let conflict_of = |entry: &Entry<'_>| {
                let original = catalogue.conflict_of(entry.path());
                original.map(|original| original.as_str().to_owned())
            };
            let found = listing.first.iter().map(|entry| {
                let conflict_of = (entry.kind == Kind::File).then(|| conflict_of(entry)).flatten();
                (entry.unnameable, Listed::of(entry, conflict_of))
            });
            (found.collect(), listing.total)
        };
        if is_watched {
            return (found.into_iter().map(|(_, listed)| listed).collect(), total);
        }
        let shown = found.len();
        let there: Vec<Listed> = found
            .into_iter()
            .filter_map(
                |(is_unnameable, listed)| {
                    if is_unnameable { Some(listed) } else { listed.looked_at(context) }
                },
            )
            .collect();
        attempt += 1;
        let gone = shown - there.len();
        if gone == 0 || attempt == ATTEMPTS {
            return (there, total - gone);
        }
    }
}

impl Listed {
    fn of(entry: &Entry<'_>, conflict_of: Option<String>) -> Self {
        let kind = if entry.unnameable { Kind::Other } else { entry.kind };
        Self {
            path: entry.path().as_str().to_owned(),
            kind: kind.word(),
            modified: local(entry.modified),
            size: (kind != Kind::Folder).then_some(entry.size),
            conflict_of,
        }
    }

    /// Whether it is a file that can be read by its name.
    pub(super) fn is_file(&self) -> bool {
        self.kind == Kind::File.word()
    }

    /// The entry with its state on disk; `None` if it is gone.
    fn looked_at(mut self, context: &Context) -> Option<Self> {
        let meta = context.vault.recheck(&VaultPath::from_disk(&self.path)?)?;
        self.kind = meta.kind.word();
        self.modified = local(meta.modified);
        self.size = (meta.kind != Kind::Folder).then_some(meta.size);
        Some(self)
    }
}

/// Takes the literal reading of a pattern if something below this folder has such a name: `{draft}.md`,
/// `\[x\].md`. `anywhere`: without a slash the pattern fits names at any depth.
pub(super) fn glob_below(
    context: &Context,
    folder: &VaultPath,
    pattern: &str,
    anywhere: bool,
) -> Result<Glob, ToolError> {
    if let Ok(Some(literal)) = Glob::literal(pattern) {
        let deep = (anywhere && !literal.has_slash()).then(|| literal.anywhere());
        let query = EntryQuery { folder, glob: deep.as_ref().unwrap_or(&literal), kind: None };
        if context.vault.catalogue().list(&query, Order::Name, 0).total > 0 {
            return Ok(literal);
        }
    }
    parse_glob(pattern)
}

pub(super) fn parse_glob(pattern: &str) -> Result<Glob, ToolError> {
    Glob::parse(pattern)
        .map_err(|error| ToolError::new(error.code(), error.to_string(), error.hint()))
}

fn text(
    pattern: &str,
    folder: &VaultPath,
    entries: &[Listed],
    (skipped, total): (usize, usize),
    total_below: Option<usize>,
) -> String {
    if total == 0 {
        let below = total_below.map_or(String::new(), |below| {
            format!("; `**/{pattern}` would find {} below it", counted(below, "match"))
        });
        return format!("nothing in `{folder}` fits `{pattern}`{below}");
    }
    let mut lines = String::with_capacity(entries.len() * 96 + 80);
    entries.iter().for_each(|entry| line(entry, &mut lines));
    let narrow = "raise max_results or narrow the pattern";
    lines.push_str(&paging::summary(skipped, entries.len(), total, narrow));
    lines
}

fn line(entry: &Listed, lines: &mut String) {
    let (day, time) = entry.modified.split_once('T').unwrap_or_default();
    for part in [day, " ", time.get(..5).unwrap_or_default(), "  ", &shown(&entry.path)] {
        lines.push_str(part);
    }
    match (entry.kind, entry.size) {
        ("folder", _) => lines.push('/'),
        ("file", Some(bytes)) => {
            lines.push_str("  ");
            lines.push_str(&size(bytes));
            if let Some(of) = &entry.conflict_of {
                lines.push_str(&format!("  [conflict copy of `{of}`]"));
            }
        }
        (kind, _) => lines.push_str(&format!("  [{kind}]")),
    }
    lines.push('\n');
}
