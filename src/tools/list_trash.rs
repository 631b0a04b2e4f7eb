//! `list_trash`

use super::history;
use super::list_files::parse_glob;
use super::paging;
use super::prelude::*;
use super::text_file::{local, local_short, size};
use crate::journal::TrashItem;
use crate::note::counted::counted;
use crate::note::fold::fold_key;
use crate::note::glob::Glob;
use crate::note::path::VaultPath;
use crate::vault::Kind;

/// Entries in one answer.
const MAX_ITEMS: usize = 1000;

/// Lists deleted files and folders that `restore` can bring back, newest first: from the vault's
/// `.trash`, the system's trash and the steward's own store, and texts that only the journal has.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListTrash {
    /// Only entries whose path or name matches this glob, such as `*.md` or `Projects/**`.
    pattern: Option<String>,
    /// Maximum number of entries, up to 1,000.
    #[serde(default = "paging::default::<100>")]
    limit: usize,
    /// The first entry to show, from 1, to continue a list that was cut off.
    #[serde(default = "paging::default::<1>")]
    first_result: usize,
}

/// The entries that can be restored.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Newest first.
    items: Vec<Item>,
    /// The number of all.
    total: usize,
}

/// A deleted file or folder.
#[derive(Serialize, JsonSchema)]
pub struct Item {
    /// The argument of `restore`.
    item: String,
    /// Its former path in the vault; none if another program deleted it.
    was: Option<String>,
    /// `file`, `folder` or `link`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// Bytes of a file; 0 for folders.
    size: u64,
    /// When it was deleted, local time, if known.
    deleted: Option<String>,
    /// `local` (`.trash`), `system`, `kept` (the steward's own store), `text` (only in the
    /// journal).
    place: &'static str,
    /// Its present path.
    location: Option<String>,
}

impl Tool for ListTrash {
    const NAME: &'static str = "list_trash";
    const TITLE: &'static str = "List the trash";
    const TIER: Tier = Tier::Safe;
    const KIND: ToolKind = ToolKind::Search;
    const SELDOM: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Pattern: pattern);
    const EXAMPLE: &'static str = "{}";
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let glob = self.pattern.as_deref().map(glob).transpose()?;
        let mut items = history::visible(context, context.journal.trash().list()?);
        if let Some(glob) = &glob {
            items.retain(|item| fits(item, glob));
        }
        let total = items.len();
        let skipped = paging::skipped(self.first_result).min(total);
        items.drain(..skipped);
        let (limit, limit_note) = paging::bounded(self.limit, MAX_ITEMS);
        items.truncate(limit);
        let mut lines: Vec<String> = items.iter().map(line).collect();
        match total {
            0 if glob.is_some() => lines.push("nothing of that name is in the trash".to_owned()),
            0 => lines.push("the trash is empty".to_owned()),
            _ if total > skipped + items.len() => {
                let shown = skipped + items.len();
                let (rest, next) = (counted(total - shown, "older thing"), shown + 1);
                let how = format!("first_result: {next}, `limit` or `pattern` show them");
                lines.push(format!("and {rest}; {how}"));
            }
            _ if items.is_empty() => lines.push(paging::summary(skipped, 0, total, "")),
            _ => {}
        }
        lines.extend(limit_note);
        let items = items.iter().map(item).collect();
        Ok(Answer::new(lines.join("\n"), Output { items, total }))
    }
}

/// A pattern without a slash is about names, at any depth.
fn glob(pattern: &str) -> Result<Glob, ToolError> {
    let glob = parse_glob(pattern)?;
    Ok(if glob.has_slash() { glob } else { glob.anywhere() })
}

fn fits(item: &TrashItem, glob: &Glob) -> bool {
    let was = item.was.as_ref().map_or(item.id.as_str(), VaultPath::as_str);
    glob.matches(&fold_key(was))
}

fn item(item: &TrashItem) -> Item {
    Item {
        item: item.id.clone(),
        was: item.was.as_ref().map(|was| was.as_str().to_owned()),
        kind: item.kind.word(),
        size: item.size,
        deleted: item.deleted.and_then(|time| time.timestamp_nanos_opt()).map(local),
        place: item.place.word(),
        location: item.location.clone(),
    }
}

fn line(item: &TrashItem) -> String {
    let was = match &item.was {
        Some(was) => format!("was `{was}`"),
        None => "not deleted through the steward".to_owned(),
    };
    let time = item.deleted.and_then(|time| time.timestamp_nanos_opt()).map(local_short);
    let what = match item.kind {
        Kind::Folder => "folder".to_owned(),
        _ => size(item.size),
    };
    format!("{}  {}  {was}, {what}", item.id, time.as_deref().unwrap_or("-"))
}
