//! Looking for words in everything that was ever said.

use rusqlite::types::Value;

use super::rows::{self, ITEM};
use crate::conversation::{ConversationId, Item};
use crate::store::{Store, StoreError};

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

impl Store {
    /// What holds all these terms, each as it is written but for its case and its accents: items,
    /// the newest first, at most `limit`; before them conversations whose title or summary does.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn search_items(&self, terms: &[String], limit: u32) -> Result<Vec<Hit>, StoreError> {
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        self.with(|database| {
            let connection = database.read();
            let mut hits = Vec::new();
            let (met, mut values) = like(terms, "title || ' ' || summary");
            values.push(limit.into());
            let titles = format!(
                "SELECT id FROM conversation WHERE title IS NOT NULL AND {met}
                 ORDER BY activity DESC LIMIT ?"
            );
            let mut statement = connection.prepare(&titles)?;
            let ids = statement.query_map(rusqlite::params_from_iter(values), |row| row.get(0))?;
            for id in ids {
                hits.push(Hit::Title(ConversationId(id?)));
            }
            let (long, short): (Vec<String>, Vec<String>) =
                terms.iter().cloned().partition(|term| term.chars().count() >= INDEXED);
            let (mut met, mut values) = like(&short, "item.text");
            let mut from = "item".to_owned();
            if !long.is_empty() {
                "item_text JOIN item ON item.id = item_text.rowid".clone_into(&mut from);
                met = format!("item_text MATCH ? AND {met}");
                values.insert(0, Value::Text(phrases(&long)));
            }
            values.push(limit.into());
            let query =
                format!("SELECT {ITEM} FROM {from} WHERE {met} ORDER BY item.id DESC LIMIT ?");
            let mut statement = connection.prepare(&query)?;
            let mut found = statement.query(rusqlite::params_from_iter(values))?;
            while let Some(row) = found.next()? {
                match rows::item(row) {
                    Ok(item) => hits.push(Hit::Item(item)),
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
