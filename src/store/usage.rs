//! Tokens and cost of models, by conversation, day and model.

use rusqlite::{Transaction, params};

use super::database::Database;
use super::error::StoreError;
use crate::conversation::ConversationId;

/// Tokens and cost of one or more requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    pub requests: u64,
    /// Input tokens, including the two below.
    pub input: u64,
    /// Input tokens read from the vendor's cache.
    pub cache_read: u64,
    /// Input tokens written to it.
    pub cache_write: u64,
    /// Output tokens, including thinking.
    pub output: u64,
    /// Estimated cost in millionths of a US dollar, of the requests with a known price.
    pub cost: u64,
    /// Requests without a known price.
    pub unpriced: u64,
}

impl Used {
    /// Adds another to this one.
    pub fn add(&mut self, other: &Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.input = self.input.saturating_add(other.input);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.output = self.output.saturating_add(other.output);
        self.cost = self.cost.saturating_add(other.cost);
        self.unpriced = self.unpriced.saturating_add(other.unpriced);
    }
}

/// Usage of one model on one day in one conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRow {
    /// The local date, as `2026-11-20`.
    pub day: String,
    /// The model, as `provider/model`.
    pub model: String,
    /// The conversation; `None` for all deleted ones together.
    pub conversation: Option<ConversationId>,
    pub used: Used,
}

/// The conversation id under which usage of deleted conversations is counted.
const DELETED: i64 = 0;

#[derive(Debug, Clone)]
pub struct Usage(pub(super) Database);

impl Usage {
    pub fn count(&self, row: &UsageRow) -> Result<(), StoreError> {
        let used = &row.used;
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let insert =
            format!("INSERT INTO usage VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) {ADD}");
        let values = params![
            row.day,
            row.model,
            row.conversation.map_or(DELETED, |id| id.0),
            number(used.requests),
            number(used.input),
            number(used.cache_read),
            number(used.cache_write),
            number(used.output),
            number(used.cost),
            number(used.unpriced),
        ];
        self.0.execute("count the usage", &insert, values).map(|_| ())
    }

    /// Usage since this date, in order; of one conversation or of all.
    pub fn rows(
        &self,
        since: Option<&str>,
        conversation: Option<ConversationId>,
    ) -> Result<Vec<UsageRow>, StoreError> {
        let query = "SELECT day, model, conversation, requests, input, cache_read, cache_write,
                                output, cost, unpriced
                 FROM usage WHERE (?1 IS NULL OR day >= ?1) AND (?2 IS NULL OR conversation = ?2)
                 ORDER BY day, model, conversation";
        self.0.all(query, params![since, conversation.map(|id| id.0)], |row| {
            let number =
                |index| row.get::<_, i64>(index).map(|number| u64::try_from(number).unwrap_or(0));
            let conversation: i64 = row.get(2)?;
            Ok(UsageRow {
                day: row.get(0)?,
                model: row.get(1)?,
                conversation: (conversation != DELETED).then_some(ConversationId(conversation)),
                used: Used {
                    requests: number(3)?,
                    input: number(4)?,
                    cache_read: number(5)?,
                    cache_write: number(6)?,
                    output: number(7)?,
                    cost: number(8)?,
                    unpriced: number(9)?,
                },
            })
        })
    }
}

const ADD: &str = "ON CONFLICT (day, model, conversation) DO UPDATE SET
     requests = requests + excluded.requests, input = input + excluded.input,
     cache_read = cache_read + excluded.cache_read,
     cache_write = cache_write + excluded.cache_write,
     output = output + excluded.output, cost = cost + excluded.cost,
     unpriced = unpriced + excluded.unpriced";

/// Counts the usage of a conversation that is being deleted under [`DELETED`].
pub(super) fn move_to_deleted(
    change: &Transaction<'_>,
    conversation: i64,
) -> Result<(), StoreError> {
    // Without `true`, SQLite's parser would take `ON` for a join.
    let moved = format!(
        "INSERT INTO usage SELECT day, model, {DELETED}, requests, input, cache_read, cache_write,
                output, cost, unpriced
                  FROM usage WHERE conversation = ?1 AND true {ADD}"
    );
    change.prepare_cached(&moved)?.execute([conversation])?;
    change.prepare_cached("DELETE FROM usage WHERE conversation = ?1")?.execute([conversation])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Store;
    use super::*;

    fn row(day: &str, model: &str, conversation: i64, output: u64) -> UsageRow {
        let used = Used { requests: 1, input: 100, output, cost: 7, ..Used::default() };
        let conversation = Some(ConversationId(conversation));
        UsageRow { day: day.into(), model: model.into(), conversation, used }
    }

    #[test]
    fn usage_adds_up_and_outlives_its_conversation() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        for one in [row("2026-11-20", "a/m", 1, 5), row("2026-11-20", "a/m", 1, 6)] {
            store.usage.count(&one).unwrap();
        }
        store.usage.count(&row("2026-11-20", "a/m", 2, 10)).unwrap();
        store.usage.count(&row("2026-11-21", "b/m", 2, 20)).unwrap();
        let one = store.usage.rows(None, Some(ConversationId(1))).unwrap();
        assert_eq!((one.len(), one[0].used.output, one[0].used.requests), (1, 11, 2));
        for id in [1, 2] {
            store.conversations.delete(ConversationId(id), " token").unwrap();
        }
        let days = store.usage.rows(None, None).unwrap();
        let totals: Vec<_> =
            days.iter().map(|row| (&*row.day, row.conversation, row.used.output)).collect();
        assert_eq!(totals, [("2026-11-20", None, 21), ("2026-11-21", None, 20)]);
        assert_eq!(store.usage.rows(Some("2026-11-21"), None).unwrap().len(), 1);
    }
}
