//! `related_notes`

use std::collections::{BTreeSet, HashMap};

use super::prelude::*;
use super::{graph, mentions, paging, search_notes};
use crate::index::knowledge::{Related, RelatedNote, SearchScope};
use crate::index::links::VisibleLinks;
use crate::note::path::VaultPath;
use crate::note::text::Text;

/// Notes in one answer.
const MAX_NOTES: usize = 50;

/// The most links considered: a file with more has little in common with each of them.
const MAX_LINKS: usize = 200;

/// Finds notes related to a note by meaning, rare words or links; by default without those linked
/// to or from it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RelatedNotes {
    /// The note.
    path: String,
    /// Also notes that it links to or that link to it.
    #[serde(default)]
    linked: bool,
    /// Up to 50.
    #[serde(default = "paging::default::<10>")]
    limit: usize,
    /// From 1, to continue a list.
    #[serde(default = "paging::default::<1>")]
    first_result: usize,
}

/// The related notes.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The note.
    path: String,
    /// The most related first.
    notes: Vec<NoteData>,
    /// The number of all.
    total: usize,
    /// Whether notes are still being read.
    partial: bool,
    /// As in search_notes.
    meaning: &'static str,
}

/// A related note.
#[derive(Serialize, JsonSchema)]
pub struct NoteData {
    /// Its path.
    path: String,
    /// Its name.
    title: String,
    /// How related it is, from 0 to 1.
    score: f64,
    /// What they have in common: `meaning`, `words`, `links`.
    why: Vec<&'static str>,
    /// A link to it.
    link: String,
}

impl Tool for RelatedNotes {
    const NAME: &'static str = "related_notes";
    const TITLE: &'static str = "Find related notes";
    const TIER: Tier = Tier::Safe;
    const KIND: ToolKind = ToolKind::Search;
    const IDEMPOTENT: bool = true;
    const SELDOM: bool = true;
    const HEAVY: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: path);
    const EXAMPLE: &'static str = r#"{"path": "a.md"}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let limit = paging::within(1..=MAX_NOTES, "limit", self.limit)?;
        let skipped = paging::skipped(self.first_result);
        let path = mentions::note(context, &self.path)?;
        let content = context.vault.read(&path)?;
        let text = Text::decode(&content.bytes, path.name());
        let text = text.as_ref().map_or("", |text| text.body());
        let graph = graph::so_far(context)?;
        let linked = neighbours(&graph, &path);
        let wants = |other: &VaultPath, _: i64| self.linked || !linked.contains(other);
        let scope = SearchScope {
            view: context.vault.view(),
            cancel: &context.cancel,
            wants: &wants,
            links: &|_| 0,
            links_at_most: &|_| 0,
            page: skipped..skipped.saturating_add(limit),
        };
        let common = common(&graph, &linked);
        let found = context.index.knowledge.related(&path, text, &common, &scope);
        let Related { notes, total, meaning_use, is_part } =
            found.map_err(|_| ToolError::cancelled())?;
        let notes = notes.into_iter().map(|note| note_data(&graph, &note)).collect();
        let partial = is_part || graph.unread() > 0;
        let meaning = search_notes::word(meaning_use);
        let data = Output { path: path.as_str().to_owned(), notes, total, partial, meaning };
        Ok(Answer::new(self::text(&data, skipped), data))
    }
}

/// The other files that a file links to, and those that link to it.
fn neighbours(graph: &VisibleLinks<'_>, path: &VaultPath) -> BTreeSet<VaultPath> {
    let leads = graph.outgoing(path).unwrap_or_default().into_iter();
    let mut files: BTreeSet<VaultPath> = leads.filter_map(|lead| lead.resolution.target).collect();
    files.extend(graph.backlinks(path).into_iter().map(|found| found.source));
    files.remove(path);
    files
}

/// For each file, how much it has in common with a file with these neighbours: a common neighbour
/// counts less the more neighbours it has.
fn common(graph: &VisibleLinks<'_>, linked: &BTreeSet<VaultPath>) -> HashMap<VaultPath, f64> {
    let mut common: HashMap<VaultPath, f64> = HashMap::new();
    for file in linked.iter().take(MAX_LINKS) {
        let others = neighbours(graph, file);
        if others.len() > MAX_LINKS {
            continue;
        }
        let weight = 1.0 / (1.0 + others.len() as f64).ln().max(f64::MIN_POSITIVE);
        for other in others {
            *common.entry(other).or_default() += weight;
        }
    }
    common
}

fn note_data(graph: &VisibleLinks<'_>, note: &RelatedNote) -> NoteData {
    let why =
        [("meaning", note.near.is_some()), ("words", note.has_words), ("links", note.has_links)];
    NoteData {
        path: note.path.as_str().to_owned(),
        title: note.path.stem().to_owned(),
        score: (note.score * 1_000.0).round() / 1_000.0,
        why: why.iter().filter(|(_, is_so)| *is_so).map(|(word, _)| *word).collect(),
        link: format!("[[{}]]", graph.linkpath_to(&note.path)),
    }
}

fn text(found: &Output, skipped: usize) -> String {
    let mut lines: Vec<String> = found
        .notes
        .iter()
        .map(|note| {
            format!("{}  {:.2}  {}  {}", note.path, note.score, note.why.join(", "), note.link)
        })
        .collect();
    lines.push(match found.total {
        0 => format!("no other note has to do with `{}`", found.path),
        total => paging::summary(skipped, found.notes.len(), total, "or set a higher `limit`"),
    });
    if found.partial {
        lines.push("[incomplete: notes are still to be read; ask again in a while]".to_owned());
    } else if found.meaning == "not_ready" {
        lines.push(search_notes::NOT_READY.to_owned());
    }
    lines.join("\n")
}
