//! Branches: an edited message starts a new one, and the old one is kept.

use rusqlite::{OptionalExtension, params};

use super::rows::{self, ITEM};
use super::write::{check_no_turn, reopen, touch};
use crate::conversation::{BranchId, ConversationId, Item, ItemNumber};
use crate::store::database::Database;
use crate::store::error::{Each, StoreError};
use crate::store::query::{all, each};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    pub number: BranchId,
    /// The parent branch, and its first item that this branch does not have.
    pub parent: Option<(BranchId, ItemNumber)>,
    /// When it began, in milliseconds since the Unix epoch.
    pub began: i64,
    /// Number of its own items.
    pub items: u64,
}

/// The branch asked for and its ancestors, each with the first item number that is not part of the history.
const PATH: &str = "WITH RECURSIVE path (number, before) AS (
         SELECT ?2, 9223372036854775807
         UNION ALL
         SELECT branch.parent, min(branch.before, path.before)
         FROM branch JOIN path ON branch.number = path.number
         WHERE branch.conversation = ?1 AND branch.parent IS NOT NULL)";

#[derive(Debug, Clone)]
pub struct Branches(pub(super) Database);

impl Branches {
    /// The undamaged items of the live branch, in order.
    pub fn readable_history(&self, conversation: ConversationId) -> Result<Vec<Item>, StoreError> {
        let each = self.each_of_history(conversation, None)?;
        Ok(each.into_iter().filter_map(Result::ok).collect())
    }

    /// The items of a branch and its ancestors, in order; of the live branch by default. A damaged item is
    /// an error in its place.
    pub fn each_of_history(
        &self,
        conversation: ConversationId,
        branch: Option<BranchId>,
    ) -> Result<Each<Item>, StoreError> {
        self.0.read(|connection| {
            let live = "SELECT branch FROM conversation WHERE id = ?1";
            let live: Option<i64> =
                connection.query_row(live, [conversation.0], |row| row.get(0)).optional()?;
            let Some(branch) = branch.map(|branch| branch.0).or(live) else {
                return Ok(Vec::new());
            };
            let query = format!(
                "{PATH} SELECT {ITEM} FROM path
                 JOIN item ON item.conversation = ?1 AND item.branch = path.number
                          AND item.number < path.before
                 ORDER BY item.number"
            );
            each(connection, &query, params![conversation.0, branch], rows::item)
        })
    }

    /// One item, on any branch.
    pub fn item(
        &self,
        conversation: ConversationId,
        number: ItemNumber,
    ) -> Result<Option<Item>, StoreError> {
        let query = format!("SELECT {ITEM} FROM item WHERE conversation = ?1 AND number = ?2");
        self.0.first(&query, params![conversation.0, number.0], rows::item)
    }

    /// Starts a new branch before `item`, whose branch stays as it is. Returns the new branch, which becomes
    /// the live one.
    ///
    /// # Errors
    /// [`StoreError::Unknown`]: there is no such item; [`StoreError::Conflict`]: a turn is running.
    pub fn fork(
        &self,
        conversation: ConversationId,
        item: ItemNumber,
        time: i64,
    ) -> Result<BranchId, StoreError> {
        self.0.change("fork a conversation", |change| {
            check_no_turn(change, conversation)?;
            let query = "SELECT branch FROM item WHERE conversation = ?1 AND number = ?2";
            let parent: Option<i64> = change
                .query_row(query, params![conversation.0, item.0], |row| row.get(0))
                .optional()?;
            let parent = parent.ok_or(StoreError::Unknown { what: "item", number: item.0 })?;
            reopen(change, conversation)?;
            touch(change, conversation, time)?;
            let number: i64 = change.query_row(
                "UPDATE conversation SET branches = branches + 1, branch = branches + 1,
                        waiting_since = NULL, question = NULL
                 WHERE id = ?1 RETURNING branch",
                [conversation.0],
                |row| row.get(0),
            )?;
            change.execute(
                "INSERT INTO branch (conversation, number, parent, before, began)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
                params![conversation.0, number, parent, item.0, time],
            )?;
            Ok(BranchId(number))
        })
    }

    /// Makes another branch the live one.
    pub fn switch(
        &self,
        conversation: ConversationId,
        branch: BranchId,
        time: i64,
    ) -> Result<(), StoreError> {
        self.0.change("switch to a branch", |change| {
            check_no_turn(change, conversation)?;
            let changed = change.execute(
                "UPDATE conversation SET branch = ?2, waiting_since = NULL, question = NULL
                 WHERE id = ?1 AND EXISTS (
                     SELECT 1 FROM branch WHERE conversation = ?1 AND number = ?2)",
                params![conversation.0, branch.0],
            )?;
            if changed == 0 {
                return Err(StoreError::Unknown { what: "branch", number: branch.0 });
            }
            reopen(change, conversation)?;
            touch(change, conversation, time)
        })
    }

    /// The branches of a conversation, in the order in which they began.
    pub fn list(&self, conversation: ConversationId) -> Result<Vec<Branch>, StoreError> {
        self.0.read(|connection| {
            let query = "SELECT number, parent, before, began,
                     (SELECT count(*) FROM item WHERE item.conversation = branch.conversation
                          AND item.branch = branch.number)
                 FROM branch WHERE conversation = ?1 ORDER BY number";
            all(connection, query, [conversation.0], |row| {
                let parent: Option<i64> = row.get(1)?;
                let before: Option<i64> = row.get(2)?;
                Ok(Branch {
                    number: BranchId(row.get(0)?),
                    parent: parent.map(BranchId).zip(before.map(ItemNumber)),
                    began: row.get(3)?,
                    items: u64::try_from(row.get::<_, i64>(4)?).unwrap_or(0),
                })
            })
        })
    }
}
