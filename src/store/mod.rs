//! The steward's own memory: a database beside the vault, and the texts it names.
//!
//! May import `chaos` and the values of `conversation`, nothing else of ours: it knows rows and
//! bytes, no vault and no path. All of it lies in the state folder, never in the vault, since a
//! synced folder is where databases die.
//!
//! Each part is a handle of its own, which [`Store`] hands out: who needs one part takes that one.
//!
//! - [`database`](Database): the one connection below all parts, and what is to be done with a
//!   database that is damaged, foreign, newer or gone (`repair`), and at a clean end (`sound`).
//!   `file` is `state.db` as it lies there: every commit durable when it returns.
//! - [`blobs`]: bytes by their hash, checked on every read.
//! - [`journal`]: the rows of the journal.
//! - [`audit`]: what was decided on calls, and what a person agreed to or set.
//! - [`Owner`]: the vault that it is the memory of.
//! - [`Held`]: limits, of which a smaller one holds only after a while.
//! - [`conversations`]: what was said, in which turn of which conversation, and search over it.
//! - [`inbox`]: messages as they came, kept before they are acknowledged.
//! - [`usage`]: what models were used for.
//! - [`workflows`]: workflows that change something, and their steps.
//! - [`plans`] and [`jobs`]: what would happen to the vault, and what was applied of it.
//! - [`rule_marks`]: which files rules took that take each a single time.
//! - [`enabled_rules`]: rules that a person enabled, and what they did by themselves.
//!
//! A method that says nothing of its errors fails as the database does, with nothing recorded.
//!
//! A commit that spans parts is one transaction, which one part hands to functions of another: the
//! end of a turn marks the message in the inbox.
//!
//! Invariant: a row never names bytes that are not durable yet, so bytes are put first and rows
//! follow; taken away in the other order.

#![expect(clippy::disallowed_methods, reason = "the state folder is the steward's own")]

pub mod audit;
pub mod blobs;
pub mod conversations;
mod database;
pub mod enabled_rules;
mod error;
mod file;
mod head;
mod held;
pub mod inbox;
pub mod jobs;
pub mod journal;
mod owner;
pub mod plans;
mod query;
mod repair;
pub mod rule_marks;
mod sound;
pub mod usage;
pub mod workflows;

use std::path::Path;

pub use blobs::{BlobError, BlobHash, Blobs};
pub use database::Database;
pub use error::{Each, StoreError, is_full};
pub use file::DATABASE;
pub use held::Held;
pub use owner::{Owner, owner_of};
pub use repair::{Prepared, REPLACED};

use audit::{Approvals, Audit, SetValues};
use conversations::Conversations;
use enabled_rules::EnabledRules;
use inbox::Inbox;
use jobs::Jobs;
use journal::JournalRows;
use plans::Plans;
use rule_marks::RuleMarks;
use usage::Usage;
use workflows::WorkflowRows;

/// The store of one vault: its parts. All of them, and those of clones, share one connection.
#[derive(Debug, Clone)]
pub struct Store {
    /// The connection below, and what becomes of the database as a whole.
    pub database: Database,
    /// The bytes by hash.
    pub blobs: Blobs,
    pub journal: JournalRows,
    /// What was said.
    pub conversations: Conversations,
    /// Messages as they came.
    pub inbox: Inbox,
    /// What models were used for.
    pub usage: Usage,
    pub workflows: WorkflowRows,
    /// What was decided on calls.
    pub audit: Audit,
    /// What a person agreed to for good.
    pub approvals: Approvals,
    /// What a person set.
    pub settings: SetValues,
    /// What would happen to the vault.
    pub plans: Plans,
    /// What was applied of plans.
    pub jobs: Jobs,
    /// Which files rules took that take each a single time.
    pub rule_marks: RuleMarks,
    /// Rules that a person enabled, and what they did by themselves.
    pub enabled_rules: EnabledRules,
}

impl Store {
    /// The store in this state folder, whosever it is. Touches nothing yet.
    pub fn at(folder: &Path) -> Self {
        Self::on(Database::at(folder, None), Blobs::at(&folder.join("blobs")))
    }

    /// The store of this vault in this state folder: a database of another vault is refused.
    pub fn of(owner: Owner, folder: &Path) -> Self {
        Self::on(Database::at(folder, Some(owner)), Blobs::at(&folder.join("blobs")))
    }

    /// The same store with a connection of its own, for who should not wait for what others write.
    pub fn another(&self) -> Self {
        Self::on(self.database.another(false), self.blobs.clone())
    }

    /// As [`Self::another`], for who adds rows and reads hardly any: what was written stays out of this
    /// process's memory.
    pub fn another_to_add(&self) -> Self {
        Self::on(self.database.another(true), self.blobs.clone())
    }

    fn on(database: Database, blobs: Blobs) -> Self {
        Self {
            blobs,
            journal: JournalRows::on(&database),
            conversations: Conversations::on(&database),
            inbox: Inbox(database.clone()),
            usage: Usage(database.clone()),
            workflows: WorkflowRows(database.clone()),
            audit: Audit(database.clone()),
            approvals: Approvals(database.clone()),
            settings: SetValues(database.clone()),
            plans: Plans(database.clone()),
            jobs: Jobs(database.clone()),
            rule_marks: RuleMarks(database.clone()),
            enabled_rules: EnabledRules(database.clone()),
            database,
        }
    }
}
