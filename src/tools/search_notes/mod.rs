//! `search_notes`

mod passage;

use std::collections::HashMap;

use chrono::{DateTime, Local};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text_file::count;
use super::tool::touches;
use super::{Answer, Context, Tier, Tool, ToolError, ToolKind, Touch, graph, paging, when};
use crate::index::knowledge::{Asking, Found, FoundNote, Query};
use crate::index::links::Seen;
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::note::text::Text;
use passage::Passage;

/// Notes in one answer.
const MOST: usize = 50;

/// Finds notes by words.
pub struct SearchNotes;

/// Finds the notes that answer a question or have some words, the best first, each with the passages that
/// answer best and a link to cite them by. Words may be inflected or misspelt, in any language; notes with more of
/// them, and with rarer ones, come first. Ask in the words that the notes would use. `"exact words"` in
/// quotes must stand in a note just so; a note with a word after `-` is left out. To find text by a pattern, use
/// search_files; by properties, query_notes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The question or the words: `how to descale the kettle`, `"green tea" -black`.
    query: String,
    /// Only notes below this folder, or only this note. Left out: the whole vault.
    #[serde(default)]
    path: Option<String>,
    /// How many notes, up to 50.
    #[serde(default = "ten")]
    limit: usize,
    /// The first note shown, from 1: how to go on where an answer ended.
    #[serde(default = "paging::first")]
    first_result: usize,
    /// Which notes: `ranked` has those with any of the words, `all` only those that have all of them.
    #[serde(default, rename = "match")]
    matching: Matching,
    /// Only notes last changed then or later: `2026-11-20`, `3 days`, `yesterday`.
    #[serde(default)]
    since: Option<String>,
    /// Only notes last changed before then.
    #[serde(default)]
    until: Option<String>,
}

/// Which notes are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Matching {
    /// Those with any of the words.
    #[default]
    Ranked,
    /// Those with all of them.
    All,
}

fn ten() -> usize {
    10
}

/// The notes.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The best first.
    notes: Vec<NoteFound>,
    /// How many notes have any of the words, or words like them; all of them where `match` is `all`.
    total: usize,
    /// Notes of the vault that are still to be read, so that they could not be found.
    unread_notes: usize,
    /// Words that were not looked for, since there were more than 32: the commonest.
    words_left_out: usize,
}

/// A note that answers.
#[derive(Serialize, JsonSchema)]
pub struct NoteFound {
    /// Its path.
    path: String,
    /// Its name.
    title: String,
    /// How well it answers, from 0 to 1; 1 is the best for this question.
    score: f64,
    /// Where the words stand: `title` (the name or an alias), `words` (the text).
    why: Vec<&'static str>,
    /// The passages that answer best, the best first; at most 3.
    chunks: Vec<ChunkFound>,
}

/// A passage of a note.
#[derive(Serialize, JsonSchema)]
pub struct ChunkFound {
    /// The headings above it, the top one first.
    headings: Vec<String>,
    /// Its first line, from 1.
    first_line: usize,
    /// Its last line.
    last_line: usize,
    /// Up to 300 characters around the words.
    snippet: String,
    /// A link to the heading, to cite it by.
    link: String,
}

impl Tool for SearchNotes {
    const NAME: &'static str = "search_notes";
    const TITLE: &'static str = "Search notes by words";
    const TIER: Tier = Tier::Safe;
    const KIND: ToolKind = ToolKind::Search;
    const IDEMPOTENT: bool = true;
    const LONG_ANSWER: bool = true;
    const HEAVY: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: path, Pattern: query);
    const EXAMPLE: &'static str = r#"{"query": "one"}"#;
    type Input = Input;
    type Output = Output;

    fn run(context: &Context, mut input: Input) -> Result<Answer<Output>, ToolError> {
        for text in [&mut input.path, &mut input.since, &mut input.until] {
            // Models fill in what they have nothing to say for.
            text.take_if(|text| text.trim().is_empty());
        }
        let limit = paging::within(1..=MOST, "limit", input.limit)?;
        let skipped = paging::skipped(input.first_result);
        let place = graph::place(context, input.path.as_deref())?;
        let now: DateTime<Local> = context.clock.now().into();
        let moment = |text: &Option<String>| {
            let moment = text.as_deref().map(|text| when::parse(text, now)).transpose()?;
            Ok::<_, ToolError>(moment.and_then(|moment| moment.timestamp_nanos_opt()))
        };
        let (since, until) = (moment(&input.since)?, moment(&input.until)?);
        let wants = |path: &VaultPath, changed: i64| {
            path.is_within(&place)
                && since.is_none_or(|since| changed >= since)
                && until.is_none_or(|until| changed < until)
        };
        let query = Query { all: input.matching == Matching::All, ..query(&input.query)? };
        let links = graph::so_far(context)?;
        let view = context.vault.view();
        let asking = Asking {
            view,
            cancel: &context.cancel,
            wants: &wants,
            links: &|path| links.backlinks_as_read(path),
            page: skipped..skipped.saturating_add(limit),
        };
        let found = context.index.knowledge.search(&query, &asking);
        let found = found.map_err(|_| ToolError::cancelled())?;
        let Found { notes, total, unread, words_left_out, marks } = found;
        let notes = notes.into_iter().map(|note| shown(context, &links, note, &marks)).collect();
        let data = Output { notes, total, unread_notes: unread, words_left_out };
        Ok(Answer::new(text(&data, skipped), data))
    }
}

/// Reads a query: words, `"exact words"`, and `-word` for what is not wanted.
fn query(text: &str) -> Result<Query, ToolError> {
    if text.trim().is_empty() {
        return Err(ToolError::new(
            ErrorCode::InvalidInput,
            "`query` is empty",
            "give a question or some words, such as `descale kettle`",
        ));
    }
    let mut query = Query::default();
    // A quote that is never closed is none.
    let quotes = text.matches(['"', '“', '”']).count() / 2 * 2;
    for (number, part) in text.splitn(quotes + 1, ['"', '“', '”']).enumerate() {
        if number % 2 == 1 {
            query.phrases.push(part.to_owned());
            continue;
        }
        for word in part.split_whitespace() {
            match word.strip_prefix('-').filter(|word| word.chars().any(char::is_alphanumeric)) {
                Some(word) => query.without.push(word.to_owned()),
                None => query.words.push(word.to_owned()),
            }
        }
    }
    Ok(query)
}

/// A note as it is shown, its passages from the text as it is now.
fn shown(
    context: &Context,
    links: &Seen<'_>,
    note: FoundNote,
    marks: &HashMap<String, f64>,
) -> NoteFound {
    let content = context.vault.read(&note.path).ok();
    let text = content.as_ref().and_then(|it| Text::decode(&it.bytes, note.path.name()).ok());
    let text = text.as_ref().map_or("", |text| text.body());
    let linkpath = links.linkpath_to(&note.path);
    let chunk = |passage: Passage| ChunkFound {
        link: format!("[[{linkpath}{}]]", passage.subpath),
        headings: passage.headings,
        first_line: passage.first_line,
        last_line: passage.last_line,
        snippet: passage.snippet,
    };
    let passages = passage::of(text, &note.chunks, marks);
    let why = [("title", note.is_called), ("words", note.is_in_text)];
    NoteFound {
        title: note.path.stem().to_owned(),
        path: note.path.as_str().to_owned(),
        score: (note.score * 1_000.0).round() / 1_000.0,
        why: why.iter().filter(|(_, is_so)| *is_so).map(|(word, _)| *word).collect(),
        chunks: passages.into_iter().map(chunk).collect(),
    }
}

fn text(found: &Output, skipped: usize) -> String {
    let mut lines = Vec::new();
    for note in &found.notes {
        lines.push(format!("{}  {:.2}  {}", note.path, note.score, note.why.join(", ")));
        for chunk in &note.chunks {
            lines.push(format!("  {}-{}  {}", chunk.first_line, chunk.last_line, chunk.link));
            lines.push(format!("    {}", chunk.snippet));
        }
    }
    lines.push(match found.total {
        0 => "no note has any of these words; try others".to_owned(),
        total => paging::summary(skipped, found.notes.len(), total, "or ask with rarer words"),
    });
    if found.words_left_out > 0 {
        lines.push(format!(
            "[{} not looked for: the commonest]",
            count(found.words_left_out, "word")
        ));
    }
    if found.unread_notes > 0 {
        let unread = count(found.unread_notes, "note");
        lines.push(format!("[not whole: {unread} are still to be read; ask again in a while]"));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_typed_is_an_error() {
        for (text, words, phrases, without) in [
            ("green tea", &["green", "tea"][..], &[][..], &[][..]),
            ("\"green tea\" -black x", &["x"], &["green tea"], &["black"]),
            ("“so it is”", &[], &["so it is"], &[]),
            ("it's \"open", &["it's", "\"open"], &[], &[]),
            ("a \"b\" \"c", &["a", "\"c"], &["b"], &[]),
            ("- -- NEAR( a:b * /(/", &["-", "--", "NEAR(", "a:b", "*", "/(/"], &[], &[]),
        ] {
            let query = query(text).expect("a query");
            assert_eq!(query.words, words, "{text}");
            assert_eq!(query.phrases, phrases, "{text}");
            assert_eq!(query.without, without, "{text}");
        }
        assert_eq!(query(" ").map_err(|error| error.code), Err(ErrorCode::InvalidInput));
    }
}
