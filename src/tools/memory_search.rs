//! `memory_search`

use std::cmp::Reverse;
use std::collections::HashMap;

use super::prelude::*;
use super::text_file::{local, shown};
use super::{get_conversation, paging, search_notes};
use crate::conversation::ConversationId;
use crate::index::knowledge::words;
use crate::journal::{self, ListedSet};
use crate::note::search_query;

const MAX_RESULTS: usize = 30;

/// Results taken from each source before the lists are merged.
const OF_EACH: usize = 30;

/// The number of newest change sets that are searched.
const CHANGE_SETS: usize = 2_000;

/// The most words of the question that are searched for in conversations.
const WORDS: usize = 12;

/// The weight of an occurrence of all words in a conversation, relative to a single word.
const ALL_WORDS: f64 = 100.0;

/// The rank at which a result counts half.
const RANK: f64 = 10.0;

/// Characters of a snippet.
const SNIPPET: usize = 300;

/// Searches everything that the user may remember: notes, earlier conversations, and changes made
/// through the steward. Merges the best results of each into one list, and says how to open them.
/// Use it when it is unclear where something was said or done; for notes alone use `search_notes`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemorySearch {
    /// A question or words.
    query: String,
    /// Where to search: `notes`, `conversations`, `changes`. Default: everywhere.
    #[serde(default)]
    sources: Vec<Source>,
    /// Maximum number of results, up to 30.
    #[serde(default = "paging::default::<10>")]
    limit: usize,
}

/// A source of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The text and names of notes.
    Notes,
    /// Earlier conversations.
    Conversations,
    /// The titles and paths of changes made through the steward.
    Changes,
}

impl Source {
    const ALL: [Self; 3] = [Self::Notes, Self::Conversations, Self::Changes];

    fn weight(self) -> f64 {
        match self {
            Self::Notes => 1.0,
            Self::Conversations => 0.8,
            Self::Changes => 0.4,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Notes => "note",
            Self::Conversations => "conversation",
            Self::Changes => "change",
        }
    }
}

/// The results.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The best first.
    results: Vec<FoundThing>,
    /// The sources that were searched.
    sources: Vec<Source>,
    /// Notes that have not been indexed yet, and so could not be found.
    unread_notes: usize,
}

/// A note, a conversation or a change.
#[derive(Serialize, JsonSchema)]
pub struct FoundThing {
    source: Source,
    /// The path of the note, or the title of the conversation or change.
    title: String,
    /// When the conversation was last active or the change was made, local time; none for notes.
    time: Option<String>,
    /// For a note what was found: `title`, `words`, `meaning`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    why: Vec<&'static str>,
    /// The text around the words.
    snippet: String,
    /// How to open it: a link to the note, or a tool with its arguments.
    open: String,
    /// Its relative score among these results, from 0 to 1.
    score: f64,
}

impl Tool for MemorySearch {
    const NAME: &'static str = "memory_search";
    const TITLE: &'static str = "Search notes, conversations and changes";
    const TIER: Tier = Tier::Safe;
    const KIND: ToolKind = ToolKind::Search;
    const SELDOM: bool = true;
    const QUOTES: bool = true;
    const HEAVY: bool = true;
    const LONG_ANSWER: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Pattern: query);
    const EXAMPLE: &'static str = r#"{"query": "one"}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let limit = paging::within(1..=MAX_RESULTS, "limit", self.limit)?;
        if self.query.trim().is_empty() {
            return Err(ToolError::invalid("`query` is empty", "give a question or some words"));
        }
        let is_wanted = |source: &Source| self.sources.is_empty() || self.sources.contains(source);
        let mut sources: Vec<Source> = Source::ALL.into_iter().filter(is_wanted).collect();
        let view = get_conversation::conversation_view(context);
        if self.sources.is_empty() && view.is_err() {
            sources.retain(|source| *source != Source::Conversations);
        }
        let query_words = words_of(&self.query);
        let (mut results, mut unread_notes) = (Vec::new(), 0);
        for source in &sources {
            let found = match source {
                Source::Notes => notes(context, &self.query, &mut unread_notes)?,
                Source::Conversations => conversations(context, &query_words)?,
                Source::Changes => changes(context, &query_words)?,
            };
            let ranked = found.into_iter().enumerate().map(|(rank, thing)| FoundThing {
                score: source.weight() / (RANK + rank as f64),
                ..thing
            });
            results.extend(ranked);
        }
        // The order of the sources decides among equals.
        results.sort_by(|a, b| b.score.total_cmp(&a.score));
        results.truncate(limit);
        for result in &mut results {
            result.score = (result.score * RANK * 1_000.0).round() / 1_000.0;
        }
        let data = Output { results, sources, unread_notes };
        Ok(Answer::new(text(&data), data))
    }
}

/// The significant words of a query, as typed.
fn words_of(query: &str) -> Vec<String> {
    let mut query_words = search_query::parse(query).words;
    let is_significant =
        |word: &String| words::of(word).iter().any(|word| !words::is_stop_word(word));
    if query_words.iter().any(is_significant) {
        query_words.retain(is_significant);
    }
    query_words.truncate(WORDS);
    query_words
}

fn notes(context: &Context, query: &str, unread: &mut usize) -> Result<Vec<FoundThing>, ToolError> {
    let found = search_notes::best(context, query, OF_EACH)?;
    *unread = found.unread_notes;
    let thing = |note: search_notes::NoteFound| {
        let best = note.chunks.into_iter().next();
        let (snippet, open) = best.map(|chunk| (chunk.snippet, chunk.link)).unwrap_or_default();
        let open = if open.is_empty() { format!("[[{}]]", note.path) } else { open };
        FoundThing {
            source: Source::Notes,
            title: note.path,
            time: None,
            why: note.why,
            snippet,
            open,
            score: 0.0,
        }
    };
    Ok(found.notes.into_iter().map(thing).collect())
}

/// Conversations with all words, then those with more and rarer ones, without the current one.
fn conversations(context: &Context, query_words: &[String]) -> Result<Vec<FoundThing>, ToolError> {
    let view = get_conversation::conversation_view(context)?;
    let mut found: HashMap<ConversationId, (f64, FoundThing, i64)> = HashMap::new();
    let mut take = |query: &str, is_all: bool| -> Result<(), ToolError> {
        let hits = view.search(query, OF_EACH)?;
        let rarity = (1.0 + (OF_EACH + 1) as f64 / (hits.len() + 1) as f64).ln();
        let weight = if is_all { ALL_WORDS } else { rarity };
        for (conversation, places) in hits {
            if context.origin.conversation.as_deref() == Some(&*conversation.id.to_string()) {
                continue;
            }
            let id = conversation.id;
            let known = found.entry(id).or_insert_with(|| {
                let title = conversation.title.unwrap_or_else(|| "not titled yet".to_owned());
                let first = places.first();
                let text = first.map(|place| place.text.clone()).or(conversation.summary);
                let item = first.map(|place| format!(", first_item: {}", place.item));
                let open =
                    format!("get_conversation conversation_id: {id}{}", item.unwrap_or_default());
                let thing = FoundThing {
                    source: Source::Conversations,
                    title,
                    time: Some(local(conversation.last_active.saturating_mul(1_000_000))),
                    why: Vec::new(),
                    snippet: text.unwrap_or_default().chars().take(SNIPPET).collect(),
                    open,
                    score: 0.0,
                };
                (0.0, thing, conversation.last_active)
            });
            known.0 += weight;
        }
        Ok(())
    };
    if query_words.len() > 1 {
        take(&query_words.join(" "), true)?;
    }
    for word in query_words {
        take(word, false)?;
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by(|(id, (a, _, at)), (other, (b, _, then))| {
        b.total_cmp(a).then(then.cmp(at)).then(other.0.cmp(&id.0))
    });
    found.truncate(OF_EACH);
    Ok(found.into_iter().map(|(_, (_, thing, _))| thing).collect())
}

/// Change sets whose title or paths have the words, those with more of them first, then the newest.
fn changes(context: &Context, query_words: &[String]) -> Result<Vec<FoundThing>, ToolError> {
    let query_words: Vec<String> = query_words.iter().flat_map(|word| words::of(word)).collect();
    let query = journal::Query {
        path: None,
        since: None,
        before: None,
        seen: context.vault.view().clone(),
        limit: CHANGE_SETS,
    };
    let sets = context.journal.history().change_sets(&query)?;
    let match_count = |set: &ListedSet| {
        let mut there = words::of(&set.title);
        for change in &set.changes {
            let paths = std::iter::once(&change.path).chain(&change.from);
            paths.for_each(|path| there.extend(words::of(path.as_str())));
        }
        query_words.iter().filter(|word| there.contains(word)).count()
    };
    let mut found: Vec<(usize, &ListedSet)> =
        sets.iter().map(|set| (match_count(set), set)).collect();
    found.retain(|(match_count, _)| *match_count > 0);
    found.sort_by_key(|(match_count, set)| (Reverse(*match_count), Reverse(set.id.0)));
    found.truncate(OF_EACH);
    let thing = |(_, set): (usize, &ListedSet)| {
        let paths: Vec<&str> = set.changes.iter().take(3).map(|it| it.path.as_str()).collect();
        FoundThing {
            source: Source::Changes,
            title: set.title.clone(),
            time: Some(local(set.time.timestamp_nanos_opt().unwrap_or_default())),
            why: Vec::new(),
            snippet: paths.join(", "),
            open: format!("list_changes change_set: {}", set.id),
            score: 0.0,
        }
    };
    Ok(found.into_iter().map(thing).collect())
}

fn text(data: &Output) -> String {
    let mut lines = Vec::new();
    for found in &data.results {
        let time =
            found.time.as_deref().map(|time| format!("  {}", time.get(..10).unwrap_or(time)));
        let (title, time) = (shown(&found.title), time.unwrap_or_default());
        lines.push(format!("{}  {title}{time}  {}", found.source.word(), found.open));
        if !found.snippet.is_empty() {
            lines.push(format!("    {}", found.snippet));
        }
    }
    if data.results.is_empty() {
        lines.push("nothing is found; try other words".to_owned());
    }
    if data.unread_notes > 0 {
        let unread = crate::note::counted::counted(data.unread_notes, "note");
        lines.push(format!("[incomplete: {unread} are still to be read; ask again in a while]"));
    }
    lines.join("\n")
}
