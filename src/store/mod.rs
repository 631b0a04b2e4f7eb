//! The steward's own database, and the file contents that it names.
//!
//! Floor 2. It knows rows and bytes, no vault and no note. Everything is in the state folder, never in the vault: sync programs
//! corrupt databases.
//!
//! [`Store`] hands out one handle for each part:
//!
//! - [`database`](Database): the connection. `file` opens `state.db`, every commit durable when it returns;
//!   `repair` handles a damaged or missing database; `clean_shutdown` postpones the check at startup.
//! - [`blobs`]: bytes by their hash, verified on every read.
//! - [`journal`]: the rows of the journal.
//! - [`audit`]: decisions on calls, standing approvals, settings that a person changed.
//! - [`Owner`]: the vault that the database belongs to.
//! - [`DelayedLimit`]: limits that take effect with a delay when lowered.
//! - [`conversations`]: conversations, their turns and items, and search over them.
//! - [`inbox`]: messages as they arrived, stored before they are acknowledged.
//! - [`usage`]: tokens and cost of models.
//! - [`workflows`]: workflow runs and their steps.
//! - [`plans`] and [`jobs`]: plans, and which items were applied.
//! - [`rule_marks`]: files that a rule has processed, for rules that process each file once.
//! - [`enabled_rules`]: rules that a person enabled, and what they changed.
//!
//! Unless it says otherwise, a method fails if the database does, with nothing recorded.
//!
//! A commit that spans parts is one transaction, which one part hands to functions of another: the
//! end of a turn marks the message in the inbox.
//!
//! Invariant: a row never names bytes that are not durable yet. So blobs are written before rows, and
//! deleted after them.

#![expect(clippy::disallowed_methods, reason = "the state folder is the steward's own")]

pub mod audit;
pub mod blobs;
mod clean_shutdown;
pub mod conversations;
mod database;
pub mod enabled_rules;
mod error;
mod file;
mod header;
pub mod inbox;
pub mod jobs;
pub mod journal;
mod limit;
mod owner;
pub mod plans;
mod query;
mod repair;
pub mod rule_marks;
pub mod usage;
pub mod workflows;

use std::path::Path;

pub use blobs::{BlobError, BlobHash, Blobs};
pub use database::Database;
pub use error::{Each, StoreError, is_full};
pub use file::DATABASE;
pub use limit::DelayedLimit;
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

/// The store of one vault. Its parts, and those of clones, share one connection.
#[derive(Debug, Clone)]
pub struct Store {
    pub database: Database,
    pub blobs: Blobs,
    pub journal: JournalRows,
    pub conversations: Conversations,
    pub inbox: Inbox,
    pub usage: Usage,
    pub workflows: WorkflowRows,
    pub audit: Audit,
    /// A person's standing approvals.
    pub approvals: Approvals,
    /// Settings that a person changed while the steward ran.
    pub settings: SetValues,
    pub plans: Plans,
    pub jobs: Jobs,
    pub rule_marks: RuleMarks,
    pub enabled_rules: EnabledRules,
}

impl Store {
    /// The store in this state folder, of any vault. Does no I/O.
    pub fn at(folder: &Path) -> Self {
        Self::on(Database::at(folder, None), Blobs::at(&folder.join("blobs")))
    }

    /// The store of this vault in this state folder. A database of another vault is refused.
    pub fn of(owner: Owner, folder: &Path) -> Self {
        Self::on(Database::at(folder, Some(owner)), Blobs::at(&folder.join("blobs")))
    }

    /// The same store with another connection, for a caller that should not wait for others' writes.
    pub fn new_connection(&self) -> Self {
        Self::on(self.database.new_connection(false), self.blobs.clone())
    }

    /// As [`Self::new_connection`], with a small page cache, for a caller that mostly inserts.
    pub fn append_connection(&self) -> Self {
        Self::on(self.database.new_connection(true), self.blobs.clone())
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
