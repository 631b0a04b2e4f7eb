//! Looking for words in everything that was ever said.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rusqlite::types::Value;

use super::indexing::index_items;
use super::rows::{self, ITEM};
use crate::conversation::{ConversationId, Item};
use crate::store::database::Database;
use crate::store::error::StoreError;

/// Fewer characters the index knows nothing about; such terms are looked for in the texts.
const INDEXED: usize = 3;

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hit {
    /// In what was said.
    Item(Item),
    /// In the title or the summary of a conversation.
    Title(ConversationId),
}

/// Search over all that was said.
#[derive(Debug, Clone)]
pub struct Search(pub(super) Database);

impl Search {
    /// What holds all these terms, each as it is written but for its case and its accents: first
    /// conversations whose title or summary does, then items, the newest first. At most so many
    /// `conversations`, and of each so many items.
    pub fn find(
        &self,
        terms: &[String],
        conversations: usize,
        items: usize,
    ) -> Result<Vec<Hit>, StoreError> {
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        // What cannot be written is looked for as far as the index goes.
        if let Err(error) = index_items(&self.0) {
            tracing::warn!(%error, "the newest of what was said is not in the index");
        }
        self.0.read(|connection| {
            let mut hits = Vec::new();
            let (met, values) = like(terms, "title || ' ' || coalesce(summary, '')");
            let titles = format!(
                "SELECT id FROM conversation WHERE title IS NOT NULL AND {met}
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
                terms.iter().cloned().partition(|term| term.chars().count() >= INDEXED);
            let (mut met, mut values) = like(&short, "item.text");
            let (mut from, mut order) = ("item", "item.id");
            if !long.is_empty() {
                from = "item_text JOIN item ON item.id = item_text.rowid";
                // In the index's own order: nothing is fetched only to be sorted.
                order = "item_text.rowid";
                met = format!("item_text MATCH ? AND {met}");
                values.insert(0, Value::Text(phrases(&long)));
            }
            let query = format!("SELECT {ITEM} FROM {from} WHERE {met} ORDER BY {order} DESC");
            let mut statement = connection.prepare(&query)?;
            let mut lines = statement.query(rusqlite::params_from_iter(values))?;
            // Many may lie in one conversation: what is not shown of it is stepped over.
            while let Some(row) = lines.next()? {
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
                    Err(error) => tracing::error!(%error, "something said cannot be shown"),
                }
            }
            Ok(hits)
        })
    }
}

/// Each term as one phrase, in which nothing has a meaning of its own.
fn phrases(terms: &[String]) -> String {
    let quoted = terms.iter().map(|term| format!("\"{}\"", term.replace('"', "\"\"")));
    quoted.collect::<Vec<_>>().join(" AND ")
}

/// A condition that `column` holds all terms, and its values. SQLite folds the case of ASCII alone,
/// so other forms are tried beside.
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
        values.extend(forms.iter().map(|form| Value::Text(format!("%{}%", escaped(form)))));
    }
    (conditions.join(" AND "), values)
}

fn escaped(term: &str) -> String {
    term.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}
