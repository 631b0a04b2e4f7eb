//! `search_notes`

mod passage;

use std::collections::HashMap;

use chrono::{DateTime, Local};
use rayon::prelude::*;

use super::prelude::*;
use super::{graph, paging, time_text};
use crate::index::knowledge::{
    self, FoundNote, Knowledge, MeaningUse, Query, SearchResults, SearchScope,
};
use crate::index::links::VisibleLinks;
use crate::note::counted::counted;
use crate::note::path::VaultPath;
use crate::note::search_query;
use passage::Passage;

/// Notes in one answer.
const MAX_NOTES: usize = 50;

/// The most characters of the query's description in an answer.
const MAX_UNDERSTOOD: usize = 1_000;

/// The most parts of the query that are reported as misunderstood.
const MAX_IGNORED: usize = 20;

/// The sentence in an answer while vectors are being made.
pub(super) const NOT_READY: &str =
    "[found by words only: the meaning of the notes is still being read; ask again in a while]";

/// Finds the notes that answer a question or contain some words, best first, with passages and
/// links to cite. Words may be inflected, misspelt, in any language, or replaced by words of the
/// same meaning. Also finds canvases, and attachments by name. Obsidian's search operators filter
/// exactly: `"exact words"`, `-word`, `OR`, `( )`, `/regex/`, `path:`, `file:`, `tag:#t`, `line:(
/// )`, `block:( )`, `section:( )`, `task-todo:`, `[property:value]`. For lines that match a pattern
/// use search_files, for properties query_notes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchNotes {
    /// A question, words or a search: `how to descale the kettle`, `"green tea" -black tag:#drink`.
    query: String,
    /// Only notes in this folder, or only this note.
    path: Option<String>,
    /// Maximum number of notes, up to 50.
    #[serde(default = "paging::default::<10>")]
    limit: usize,
    /// The first note to show, from 1, to continue a list.
    #[serde(default = "paging::default::<1>")]
    first_result: usize,
    /// `ranked`: notes with any of the words; `all`: only notes with all words in that spelling, as
    /// in Obsidian.
    #[serde(default, rename = "match")]
    matching: Matching,
    /// `auto`: besides words; `only`: by meaning alone.
    #[serde(default)]
    meaning: Meaning,
    /// Only notes changed then or later: `2026-11-20`, `3 days`, `yesterday`.
    since: Option<String>,
    /// Only notes changed before then.
    until: Option<String>,
}

/// Which notes match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Matching {
    /// Notes with any of the words.
    #[default]
    Ranked,
    /// Notes with all words as typed, within longer words too.
    All,
}

/// The role of meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Meaning {
    #[default]
    Auto,
    Off,
    Only,
}

/// The notes.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The best first.
    pub(super) notes: Vec<NoteFound>,
    /// The number of all notes found.
    total: usize,
    /// The interpretation of the query.
    understood: String,
    /// Parts of the query that were not read as probably intended, with the reason; at most 20.
    ignored: Vec<String>,
    /// Notes that have not been indexed yet, and so could not be found.
    pub(super) unread_notes: usize,
    /// The commonest words, dropped because there were more than 32.
    words_left_out: usize,
    /// Whether meaning counted: `used`, `off`, `not_ready` (still being read), `no_words` (no word is known).
    meaning: &'static str,
}

/// A found note.
#[derive(Serialize, JsonSchema)]
pub struct NoteFound {
    /// Its path.
    pub(super) path: String,
    /// Its name.
    title: String,
    /// Its relative score, from 0 to 1; the best note has 1.
    score: f64,
    /// Where the words occur: `title` (the name or an alias), `words` (the text); `meaning`.
    pub(super) why: Vec<&'static str>,
    /// Whether Obsidian excludes it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    excluded: bool,
    /// The best passages, best first; at most 3.
    pub(super) chunks: Vec<ChunkFound>,
}

/// A passage of a note.
#[derive(Serialize, JsonSchema)]
pub struct ChunkFound {
    /// The headings above it, the top one first; of a PDF the page.
    headings: Vec<String>,
    /// Its first line, from 1; 0 in a canvas or a PDF.
    first_line: usize,
    /// Its last line.
    last_line: usize,
    /// Up to 300 characters around the words.
    pub(super) snippet: String,
    /// A link to the heading or page, to cite it by.
    pub(super) link: String,
}

impl Tool for SearchNotes {
    const NAME: &'static str = "search_notes";
    const TITLE: &'static str = "Search notes by words and meaning";
    const TIER: Tier = Tier::Safe;
    const KIND: ToolKind = ToolKind::Search;
    const LONG_ANSWER: bool = true;
    const HEAVY: bool = true;
    const DRAWN: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: path, Pattern: query);
    const EXAMPLE: &'static str = r#"{"query": "one"}"#;
    type Output = Output;

    fn run(mut self, context: &Context) -> Result<Answer<Output>, ToolError> {
        for text in [&mut self.path, &mut self.since, &mut self.until] {
            // Models fill in arguments that they do not need.
            text.take_if(|text| text.trim().is_empty());
        }
        let limit = paging::within(1..=MAX_NOTES, "limit", self.limit)?;
        let skipped = paging::skipped(self.first_result);
        let place = graph::place(context, self.path.as_deref())?;
        let now: DateTime<Local> = context.clock.now().into();
        let moment = |text: &Option<String>| {
            let moment = text.as_deref().map(|text| time_text::parse(text, now)).transpose()?;
            Ok::<_, ToolError>(moment.and_then(|moment| moment.timestamp_nanos_opt()))
        };
        let (since, until) = (moment(&self.since)?, moment(&self.until)?);
        let wants = |path: &VaultPath, changed: i64| {
            path.is_within(&place)
                && since.is_none_or(|since| changed >= since)
                && until.is_none_or(|until| changed < until)
        };
        let (query, understood, mut ignored) = query(&self)?;
        ignored.truncate(MAX_IGNORED);
        let links = graph::so_far(context)?;
        let view = context.vault.view();
        let scope = SearchScope {
            view,
            cancel: &context.cancel,
            wants: &wants,
            links: &|path| links.backlinks_as_read(path),
            links_at_most: &|path| links.backlinks_at_most(path),
            page: skipped..skipped.saturating_add(limit),
        };
        let found = context.index.knowledge.search(&query, &scope);
        let found = found.map_err(|_| ToolError::cancelled())?;
        let SearchResults { notes, total, unread, words_left_out, marks, meaning_use } = found;
        let knowledge = &context.index.knowledge;
        // Reading the notes dominates in a small vault.
        let notes = notes.into_par_iter().map(|note| note_found(knowledge, &links, note, &marks));
        let notes = notes.collect();
        let (unread_notes, meaning) = (unread, word(meaning_use));
        let data =
            Output { notes, total, understood, ignored, unread_notes, words_left_out, meaning };
        Ok(Answer::new(text(&data, skipped), data))
    }
}

/// The best notes for a query in the whole vault.
pub(super) fn best(context: &Context, query: &str, limit: usize) -> Result<Output, ToolError> {
    let input = SearchNotes {
        query: query.to_owned(),
        path: None,
        limit,
        first_result: 1,
        matching: Matching::Ranked,
        meaning: Meaning::Auto,
        since: None,
        until: None,
    };
    Ok(input.run(context)?.data)
}

/// The query, its description in English, and its parts that were not read as probably intended.
fn query(input: &SearchNotes) -> Result<(Query, String, Vec<String>), ToolError> {
    if input.query.trim().is_empty() {
        return Err(ToolError::invalid(
            "`query` is empty",
            "give a question or some words, such as `descale kettle`",
        ));
    }
    let search_query::Query { words, filter, understood, ignored } =
        search_query::parse(&input.query);
    let needs_word = input.matching == Matching::Ranked && filter.has_bare_words();
    let (filter, mut understood) = if needs_word {
        let filter = filter.without_words();
        let only =
            if filter.is_empty() { String::new() } else { format!("; only {}", filter.sentence()) };
        let ranked = format!("the best for \"{}\" first{only}", words.join(" "));
        (filter, ranked)
    } else {
        (filter, understood)
    };
    if let Some((end, _)) = understood.char_indices().nth(MAX_UNDERSTOOD) {
        understood.truncate(end);
        understood.push('…');
    }
    let meaning = match input.meaning {
        Meaning::Auto => knowledge::Meaning::Auto,
        Meaning::Off => knowledge::Meaning::Off,
        Meaning::Only => knowledge::Meaning::Only,
    };
    Ok((Query { words, filter, needs_word, meaning }, understood, ignored))
}

/// Whether meaning counted, as a word.
pub(super) fn word(meaning_use: MeaningUse) -> &'static str {
    match meaning_use {
        MeaningUse::Used => "used",
        MeaningUse::Off => "off",
        MeaningUse::NotReady => "not_ready",
        MeaningUse::NoWords => "no_words",
    }
}

/// A note for the answer, with passages from its current text.
fn note_found(
    knowledge: &Knowledge,
    links: &VisibleLinks<'_>,
    note: FoundNote,
    marks: &HashMap<String, f64>,
) -> NoteFound {
    let linkpath = links.linkpath_to(&note.path);
    let chunk = |passage: Passage| ChunkFound {
        link: format!("[[{linkpath}{}]]", passage.subpath),
        headings: passage.headings,
        first_line: passage.first_line,
        last_line: passage.last_line,
        snippet: passage.snippet,
    };
    let passages = knowledge
        .with_content(&note.path, |content| passage::of(content, &note.chunks, note.near, marks));
    let why =
        [("title", note.is_called), ("words", note.is_in_text), ("meaning", note.near.is_some())];
    NoteFound {
        title: note.path.stem().to_owned(),
        path: note.path.as_str().to_owned(),
        score: (note.score * 1_000.0).round() / 1_000.0,
        why: why.iter().filter(|(_, is_so)| *is_so).map(|(word, _)| *word).collect(),
        excluded: note.is_excluded,
        chunks: passages.unwrap_or_default().into_iter().map(chunk).collect(),
    }
}

fn text(found: &Output, skipped: usize) -> String {
    let mut lines = Vec::new();
    for note in &found.notes {
        let excluded = if note.excluded { "  (an excluded file)" } else { "" };
        let why = note.why.join(", ");
        lines.push(format!("{}  {:.2}  {why}{excluded}", note.path, note.score));
        for chunk in &note.chunks {
            lines.push(match chunk.first_line {
                0 => format!("  {}", chunk.link),
                first => format!("  {first}-{}  {}", chunk.last_line, chunk.link),
            });
            lines.push(format!("    {}", chunk.snippet));
        }
    }
    lines.push(match found.total {
        0 => "no note is found; try other words, or search_files for a pattern".to_owned(),
        total => paging::summary(skipped, found.notes.len(), total, "or ask with rarer words"),
    });
    if found.total == 0 || !found.ignored.is_empty() {
        lines.push(format!("[read as: {}]", found.understood));
    }
    lines.extend(found.ignored.iter().map(|ignored| format!("[{ignored}]")));
    if found.words_left_out > 0 {
        lines.push(format!(
            "[{} not searched for: the most frequent]",
            counted(found.words_left_out, "word")
        ));
    }
    if found.unread_notes > 0 {
        let unread = counted(found.unread_notes, "note");
        lines.push(format!("[incomplete: {unread} are still to be read; ask again in a while]"));
    }
    if found.meaning == word(MeaningUse::NotReady) {
        lines.push(NOT_READY.to_owned());
    }
    lines.join("\n")
}
