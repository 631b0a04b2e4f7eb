//! `list_links`

use super::graph;
use super::paging;
use super::prelude::*;
use crate::index::links::{Scope, StoredLink};
use crate::note::counted::counted;
use crate::note::path::VaultPath;

const MAX_RESULTS: usize = 1_000;

/// Lists broken links, notes without backlinks, or notes without links.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListLinks {
    /// What to list.
    kind: WantedLinks,
    /// Only in this file or below this folder. Default: the whole vault.
    path: Option<String>,
    /// Maximum number of entries, 1 to 1,000. Default: 100.
    #[serde(default = "paging::signed::<100>")]
    max_results: i64,
    /// The first entry to show, from 1, to continue a list that was cut off.
    #[serde(default = "paging::default::<1>")]
    first_result: usize,
}

/// The kind of the listed entries.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum WantedLinks {
    /// Links that lead to no file, with their lines.
    Unresolved,
    /// Notes that no other file links to.
    Orphans,
    /// Notes that link to no other file that exists.
    DeadEnds,
}

/// The entries.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The links or notes, by path.
    entries: Vec<Entry>,
    /// The number of all, including those beyond the limit.
    total: usize,
    /// Files of the vault whose links are not, or only partly, known.
    unknown_files: usize,
}

/// A link that leads nowhere, or a note.
#[derive(Serialize, JsonSchema)]
pub struct Entry {
    /// The file.
    path: String,
    /// The link's target as written; none for notes.
    link: Option<String>,
    /// The link's line from 1, in a canvas the node's number from 0.
    line: Option<u32>,
}

impl Tool for ListLinks {
    const NAME: &'static str = "list_links";
    const TITLE: &'static str = "List broken links and lonely notes";
    const TIER: Tier = Tier::Safe;
    const KIND: ToolKind = ToolKind::Search;
    const SELDOM: bool = true;
    const HEAVY: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: path);
    const EXAMPLE: &'static str = r#"{"kind": "unresolved"}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let limit = paging::within(1..=MAX_RESULTS, "max_results", self.max_results)?;
        let place = graph::place(context, self.path.as_deref())?;
        let links = graph::so_far(context)?;
        let skipped = paging::skipped(self.first_result);
        let notes = |scope| {
            let notes = links.notes(&place, scope);
            let page = notes.iter().skip(skipped).take(limit);
            let entry = |path: &VaultPath| Entry::of(path, None);
            (page.map(entry).collect::<Vec<_>>(), notes.len())
        };
        let ((entries, total), nothing) = match self.kind {
            WantedLinks::Unresolved => {
                let found = links.doubtful(&place, false);
                let page = found.iter().skip(skipped).take(limit);
                let entries = page.map(|found| Entry::of(&found.source, Some(&found.lead.link)));
                ((entries.collect(), found.len()), "every link leads to a file")
            }
            WantedLinks::Orphans => (notes(Scope::Orphans), "every note is linked to"),
            WantedLinks::DeadEnds => (notes(Scope::DeadEnds), "every note links to another file"),
        };
        let (unknown_files, unknown) = graph::unknown(&links);
        let mut lines: Vec<String> = entries.iter().map(line).collect();
        lines.push(match total {
            0 => {
                let nothing = if links.unread() > 0 { "none found so far" } else { nothing };
                format!("{nothing} ({} looked at)", counted(links.count(), "file"))
            }
            _ => {
                let narrow = "raise max_results or narrow it with path";
                paging::summary(skipped, entries.len(), total, narrow)
            }
        });
        lines.extend(unknown);
        let data = Output { entries, total, unknown_files };
        Ok(Answer::new(lines.join("\n"), data))
    }
}

impl Entry {
    fn of(path: &VaultPath, link: Option<&StoredLink>) -> Self {
        Self {
            path: path.as_str().to_owned(),
            link: link.map(|link| link.path().to_owned()),
            line: link.map(|link| link.line),
        }
    }
}

fn line(entry: &Entry) -> String {
    match (&entry.link, entry.line) {
        (Some(link), Some(line)) => format!("{}:{line}: {link}", entry.path),
        _ => entry.path.clone(),
    }
}
