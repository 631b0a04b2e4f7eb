//! The full-text index of items, updated some items at a time: updating it with each message would
//! double the cost of a message.

use rusqlite::{Connection, Transaction};

use crate::store::database::Database;
use crate::store::error::StoreError;

/// Items that may wait to be indexed. A search indexes those that wait.
const MAX_WAITING: i64 = 32;

/// An item with at least this many bytes of text is indexed at once, so that few bytes wait.
const LONG: usize = 8 << 10;

/// Indexes the waiting items if there are many. Call it after an item was added, in the same commit.
pub(super) fn note_added(
    change: &Transaction<'_>,
    item: i64,
    text: &str,
) -> Result<(), StoreError> {
    if text.len() >= LONG || item - newest(change)? >= MAX_WAITING {
        catch_up(change)?;
    }
    Ok(())
}

/// The number of the newest indexed item.
fn newest(connection: &Connection) -> Result<i64, StoreError> {
    let mut statement = connection.prepare_cached("SELECT newest FROM item_indexed")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}

fn catch_up(change: &Transaction<'_>) -> Result<(), StoreError> {
    let mut add = change.prepare_cached(
        "INSERT INTO item_text (rowid, text)
         SELECT id, text FROM item WHERE id > (SELECT newest FROM item_indexed) ORDER BY id",
    )?;
    add.execute([])?;
    let mut note = change.prepare_cached(
        "UPDATE item_indexed SET newest = (SELECT coalesce(max(id), 0) FROM item)",
    )?;
    note.execute([])?;
    Ok(())
}

pub(super) fn index_items(database: &Database) -> Result<(), StoreError> {
    let waiting = "SELECT 1 FROM item WHERE id > (SELECT newest FROM item_indexed) LIMIT 1";
    match database.first(waiting, [], |_| Ok(()))? {
        None => Ok(()),
        Some(()) => database.change("index the items", catch_up),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{ConversationId, ItemKind};
    use crate::store::Store;
    use crate::store::conversations::{Conversations, Hit, NewConversation, NewItem};

    fn store() -> (tempfile::TempDir, Conversations) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path()).conversations;
        (folder, store)
    }

    fn append(
        store: &Conversations,
        into: Option<ConversationId>,
        texts: &[String],
    ) -> ConversationId {
        let id = into.unwrap_or_else(|| {
            store.begin(&NewConversation { source: "test", began: 1, cwd: None }).unwrap()
        });
        let items = texts.iter().map(|text| NewItem {
            kind: ItemKind::Message,
            text: text.clone(),
            body: None,
        });
        store.turns.append_items(id, None, 1, &items.collect::<Vec<_>>()).unwrap();
        id
    }

    fn found(store: &Conversations, word: &str) -> usize {
        let hits = store.search.find(&[word.to_owned()], 1_000, 1_000).unwrap();
        hits.iter().filter(|hit| matches!(hit, Hit::Item(_))).count()
    }

    /// The newest indexed item, and the newest item.
    fn state(store: &Conversations) -> (i64, i64) {
        let query = "SELECT newest, (SELECT coalesce(max(id), 0) FROM item) FROM item_indexed";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        store.search.0.read(|connection| Ok(connection.query_row(query, [], read)?)).unwrap()
    }

    /// Whether the index agrees with the items.
    fn is_whole(store: &Conversations) -> bool {
        let check = "INSERT INTO item_text (item_text, rank) VALUES ('integrity-check', 1)";
        store.search.0.read(|connection| Ok(connection.execute(check, []).is_ok())).unwrap()
    }

    #[test]
    fn items_are_found_whether_they_are_indexed_or_not() {
        let (_folder, store) = store();
        let id = append(&store, None, &["the first needle".into()]);
        assert_eq!(state(&store), (0, 1), "it waits");
        assert_eq!(found(&store, "needle"), 1);
        assert_eq!(state(&store), (1, 1), "a search indexes it");
        for number in 0..MAX_WAITING {
            append(&store, Some(id), &[format!("needle {number}")]);
        }
        let (indexed, newest) = state(&store);
        assert_eq!(indexed, newest, "so many do not wait");
        append(&store, Some(id), &["needle ".repeat(LONG / 7 + 1)]);
        let (indexed, newest) = state(&store);
        assert_eq!(indexed, newest, "a long one does not wait");
        let all = usize::try_from(newest).unwrap();
        assert_eq!(found(&store, "needle"), all);
        assert!(is_whole(&store));
    }

    #[test]
    fn items_with_reused_numbers_are_indexed_again() {
        let (_folder, store) = store();
        let keep = append(&store, None, &["kept hay".into()]);
        // The deleted items are indexed in part or whole, and are not always the newest.
        for (texts, search, later) in
            [(3, true, 0), (3, false, 0), (2, true, 2), (40, false, 3), (1, false, 1)]
        {
            let gone = append(&store, None, &vec!["gone straw".to_owned(); texts]);
            if search {
                assert_eq!(found(&store, "straw"), texts);
            }
            let stays = append(&store, None, &vec!["late twig".to_owned(); later]);
            store.delete(gone, "none").unwrap();
            let (indexed, newest) = state(&store);
            assert!(indexed <= newest, "{indexed} of {newest}");
            assert_eq!((found(&store, "straw"), found(&store, "twig")), (0, later));
            append(&store, Some(keep), &["new leaf".into(), "new leaf".into()]);
            assert_eq!(found(&store, "leaf") % 2, 0);
            assert!(found(&store, "leaf") >= 2 && found(&store, "hay") == 1);
            store.delete(stays, "none").unwrap();
            assert_eq!(found(&store, "twig"), 0);
            assert!(is_whole(&store));
        }
    }
}
