//! Searching conversations.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rusqlite::types::Value;

use super::indexing::index_items;
use super::rows::{self, ITEM};
use crate::conversation::{ConversationId, Item};
use crate::store::database::Database;
use crate::store::error::StoreError;

/// The trigram index does not know shorter terms; they are searched with `LIKE`.
const MIN_INDEXED: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hit {
    Item(Item),
    /// A conversation whose title or summary has the terms.
    Title(ConversationId),
}

#[derive(Debug, Clone)]
pub struct Search(pub(super) Database);

impl Search {
    /// Finds what contains all terms, ignoring case and accents: first conversations by title or summary,
    /// then items, newest first. Returns at most `conversations` conversations and `items` items of each.
    pub fn find(
        &self,
        terms: &[String],
        conversations: usize,
        items: usize,
    ) -> Result<Vec<Hit>, StoreError> {
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        // If the index cannot be written, items that are not indexed are not found.
        if let Err(error) = index_items(&self.0) {
            tracing::warn!(%error, "the newest messages are not in the index");
        }
        self.0.read(|connection| {
            let mut hits = Vec::new();
            let (condition, values) = like(terms, "title || ' ' || coalesce(summary, '')");
            let titles = format!(
                "SELECT id FROM conversation WHERE title IS NOT NULL AND {condition}
                             ORDER BY activity DESC"
            );
            let mut statement = connection.prepare(&titles)?;
            let ids = statement.query_map(rusqlite::params_from_iter(values), |row| row.get(0))?;
            let mut found: HashMap<i64, usize> = HashMap::new();
            for id in ids.take(conversations) {
                let id = id?;
                found.insert(id, 0);
                hits.push(Hit::Title(ConversationId(id)));
            }
            let (long, short): (Vec<String>, Vec<String>) =
                terms.iter().cloned().partition(|term| term.chars().count() >= MIN_INDEXED);
            let (mut condition, mut values) = like(&short, "item.text");
            let (mut from, mut order) = ("item", "item.id");
            if !long.is_empty() {
                from = "item_text JOIN item ON item.id = item_text.rowid";
                // The index's own order, so that SQLite need not sort.
                order = "item_text.rowid";
                condition = format!("item_text MATCH ? AND {condition}");
                values.insert(0, Value::Text(phrases(&long)));
            }
            let query =
                format!("SELECT {ITEM} FROM {from} WHERE {condition} ORDER BY {order} DESC");
            let mut statement = connection.prepare(&query)?;
            let mut rows_found = statement.query(rusqlite::params_from_iter(values))?;
            // Rows are skipped one by one, since many may be of one conversation.
            while let Some(row) = rows_found.next()? {
                let conversation: i64 = row.get(1)?;
                let known = found.len();
                let shown = match found.entry(conversation) {
                    Entry::Occupied(entry) => entry.into_mut(),
                    Entry::Vacant(_) if known >= conversations => break,
                    Entry::Vacant(entry) => entry.insert(0),
                };
                if *shown >= items {
                    continue;
                }
                match rows::item(row) {
                    Ok(item) => {
                        *shown += 1;
                        hits.push(Hit::Item(item));
                    }
                    Err(error) => tracing::error!(%error, "an item cannot be shown"),
                }
            }
            Ok(hits)
        })
    }
}

/// The terms as quoted FTS5 phrases, so that no term is query syntax.
fn phrases(terms: &[String]) -> String {
    let quoted = terms.iter().map(|term| format!("\"{}\"", term.replace('"', "\"\"")));
    quoted.collect::<Vec<_>>().join(" AND ")
}

/// A condition that `column` contains all terms, and its values. `LIKE` folds ASCII only, so other
/// spellings of each term are tried, too.
fn like(terms: &[String], column: &str) -> (String, Vec<Value>) {
    let mut values = Vec::new();
    let mut conditions = vec!["true".to_owned()];
    for term in terms {
        let mut first = term.chars();
        let capital = match first.next() {
            Some(c) => c.to_uppercase().chain(first.flat_map(char::to_lowercase)).collect(),
            None => String::new(),
        };
        let mut forms = vec![term.clone(), term.to_lowercase(), term.to_uppercase(), capital];
        forms.sort();
        forms.dedup();
        let each: Vec<String> =
            forms.iter().map(|_| format!("{column} LIKE ? ESCAPE '\\'")).collect();
        conditions.push(format!("({})", each.join(" OR ")));
        values.extend(forms.iter().map(|form| Value::Text(format!("%{}%", escape_like(form)))));
    }
    (conditions.join(" AND "), values)
}

fn escape_like(term: &str) -> String {
    term.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}
