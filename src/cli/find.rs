//! `steward find`: finds the notes that answer a question, best first.

use clap::Args;
use serde_json::json;

use super::{Result, Session, completions, words};
use crate::tools::{MemorySearch, SearchNotes, Tool as _};

#[derive(Debug, Args)]
pub struct FindArguments {
    /// A question, words, or Obsidian's search: '"these words"', tag:#t, 'line:(a b)'; -word after `--`
    #[arg(required = true)]
    pub words: Vec<String>,
    /// Only in this folder or note
    #[arg(long = "in", value_name = "FOLDER", add = completions::notes())]
    pub folder: Option<String>,
    /// Only notes that have all of the words
    #[arg(long, short)]
    pub all: bool,
    /// Only notes changed since then: 2026-11-20, 3d, yesterday
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only notes last changed before then
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Search these too or instead: notes, conversations, changes
    #[arg(
        long,
        value_name = "SOURCE",
        value_delimiter = ',',
        value_parser = ["notes", "conversations", "changes"],
        conflicts_with_all = ["folder", "all", "since", "until", "names", "first_result"]
    )]
    pub sources: Vec<String>,
    /// Only name the notes
    #[arg(long, short = 'l')]
    pub names: bool,
    /// Notes shown at most, up to 50
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
    pub limit: u32,
    /// The first note shown, to continue a list that was cut
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub first_result: u64,
}

pub fn run(session: &Session, find: &FindArguments) -> Result<()> {
    let query = find.words.join(" ");
    let (tool, arguments) = if find.sources.is_empty() {
        let arguments = json!({
            "query": query,
            "path": find.folder,
            "since": find.since,
            "until": find.until,
            "match": if find.all { "all" } else { "ranked" },
            "limit": find.limit,
            "first_result": find.first_result,
        });
        (SearchNotes::NAME, arguments)
    } else {
        let sources = &find.sources;
        let arguments = json!({ "query": query, "sources": sources, "limit": find.limit });
        (MemorySearch::NAME, arguments)
    };
    let found = session.call(tool, arguments)?;
    if find.names && !session.output.json() {
        let notes = found.data["notes"].as_array().into_iter().flatten();
        let paths: Vec<&str> = notes.filter_map(|note| note["path"].as_str()).collect();
        return session.output.text(&paths.join("\n"));
    }
    session.output.paged().answer(&found.data, words::answer(&found.text))
}
