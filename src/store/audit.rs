//! The audit log, a person's standing approvals, and settings that a person changed.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::params;

use super::database::Database;
use super::error::StoreError;
use super::query::row;

row! {
    /// A tool call and the decision on it.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct AuditRow in "audit" numbered {
        /// 0 before it is stored.
        pub id: i64,
        /// When the call was made, in milliseconds since the Unix epoch.
        pub time: i64,
        /// The caller's name for itself.
        pub caller: String,
        /// The caller's scope.
        pub scope: String,
        pub conversation: Option<String>,
        pub tool: String,
        /// The paths that the call names, one per line.
        pub paths: String,
        /// `allowed`, `refused`, `dry_run`, `asked`.
        pub decision: String,
        pub layer: Option<String>,
        pub reason: Option<String>,
        /// Who answered the approval request, if there was one.
        pub answered_by: Option<String>,
        /// `ok`, or the error kind.
        pub outcome: Option<String>,
        pub microseconds: i64,
        /// Bytes returned or written.
        pub bytes: i64,
        /// The change set that the call made.
        pub change_set: Option<i64>,
    }
}

/// A filter of audit rows; all conditions must hold.
#[derive(Debug, Clone, Default)]
pub struct AuditFilter {
    pub tool: Option<String>,
    pub caller: Option<String>,
    pub decision: Option<String>,
    /// At or after this time, in milliseconds since the Unix epoch.
    pub since: Option<i64>,
    /// With a higher number than this.
    pub after: Option<i64>,
    /// Maximum number of rows: the oldest with `after`, else the newest.
    pub limit: u32,
}

/// How a change set came about, by the audit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MadeBy {
    /// The scope of its last caller.
    pub scope: String,
    pub tools: BTreeSet<String>,
}

row! {
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ApprovalRow in "approval" {
        pub id: i64,
        pub tool: String,
        /// The folder in which the tool needs no further approval.
        pub folder: String,
        /// The program in which the person agreed.
        pub agreed_by: String,
        /// When, in milliseconds since the Unix epoch.
        pub time: i64,
    }
}

const COLUMNS: &str = AuditRow::COLUMNS;
const APPROVAL: &str = ApprovalRow::COLUMNS;

#[derive(Debug, Clone)]
pub struct Audit(pub(super) Database);

impl Audit {
    /// Writes rows in one transaction. Returns the number of the last.
    pub fn write(&self, rows: &[AuditRow]) -> Result<i64, StoreError> {
        self.0.change("write the audit", |change| {
            rows.iter().try_fold(0, |_, row| row.insert(change))
        })
    }

    /// The calls that made the change sets of this range of numbers, by set.
    pub fn made_by(&self, range: (i64, i64)) -> Result<BTreeMap<i64, MadeBy>, StoreError> {
        let query = "SELECT change_set, scope, tool FROM audit
                     WHERE change_set BETWEEN ?1 AND ?2 ORDER BY id";
        let rows: Vec<(i64, String, String)> = self
            .0
            .all(query, [range.0, range.1], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let mut made: BTreeMap<i64, MadeBy> = BTreeMap::new();
        for (set, scope, tool) in rows {
            let one = made.entry(set).or_default();
            one.scope = scope;
            one.tools.insert(tool);
        }
        Ok(made)
    }

    /// The change sets that calls of this tool made.
    pub fn sets_of_tool(&self, tool: &str) -> Result<BTreeSet<i64>, StoreError> {
        let query = "SELECT change_set FROM audit WHERE tool = ?1 AND change_set IS NOT NULL";
        Ok(self.0.all(query, [tool], |row| Ok(row.get(0)?))?.into_iter().collect())
    }

    /// Replaces the row of a pending approval request by the call's result.
    pub fn settle(&self, row: &AuditRow) -> Result<(), StoreError> {
        self.0.change("settle a question", |change| {
            change.execute("DELETE FROM audit WHERE id = ?1 AND decision = 'asked'", [row.id])?;
            row.insert(change).map(|_| ())
        })
    }

    /// Marks approval requests left unanswered when the steward ended as refused.
    pub fn refuse_unanswered(&self, reason: &str) -> Result<usize, StoreError> {
        // Usually there is none; then no write lock is needed.
        let pending = "SELECT 1 FROM audit WHERE decision = 'asked' LIMIT 1";
        if self.0.first(pending, [], |_| Ok(()))?.is_none() {
            return Ok(0);
        }
        self.0.execute(
            "refuse the unanswered",
            "UPDATE audit SET decision = 'refused', reason = ?1, outcome = 'denied'
                 WHERE decision = 'asked'",
            [reason],
        )
    }

    /// The rows that match the filter, oldest first.
    pub fn rows(&self, filter: &AuditFilter) -> Result<Vec<AuditRow>, StoreError> {
        let order = if filter.after.is_some() { "ASC" } else { "DESC" };
        let query = format!(
            "SELECT {COLUMNS} FROM audit
             WHERE (?1 IS NULL OR tool = ?1) AND (?2 IS NULL OR caller = ?2)
               AND (?3 IS NULL OR decision = ?3) AND (?4 IS NULL OR time >= ?4)
               AND (?5 IS NULL OR id > ?5)
             ORDER BY id {order} LIMIT ?6"
        );
        let AuditFilter { tool, caller, decision, since, after, limit } = filter;
        let values = params![tool, caller, decision, since, after, limit];
        let mut rows = self.0.all(&query, values, AuditRow::read)?;
        if after.is_none() {
            rows.reverse();
        }
        Ok(rows)
    }

    /// Deletes rows from before `time`, and the oldest beyond `most`. Returns how many.
    pub fn trim(&self, time: i64, most: u32) -> Result<usize, StoreError> {
        self.0.change("trim the audit", |change| {
            let old = change.execute("DELETE FROM audit WHERE time < ?1", [time])?;
            let beyond = change.execute(
                "DELETE FROM audit WHERE id <= (
                     SELECT id FROM audit ORDER BY id DESC LIMIT 1 OFFSET ?1)",
                [most],
            )?;
            Ok(old + beyond)
        })
    }
}

/// A person's standing approvals.
#[derive(Debug, Clone)]
pub struct Approvals(pub(super) Database);

impl Approvals {
    /// All approvals, oldest first.
    pub fn list(&self) -> Result<Vec<ApprovalRow>, StoreError> {
        self.0.all(&format!("SELECT {APPROVAL} FROM approval ORDER BY id"), [], ApprovalRow::read)
    }

    /// Stores an approval; durable when this returns.
    pub fn add(
        &self,
        tool: &str,
        folder: &str,
        agreed_by: &str,
        time: i64,
    ) -> Result<(), StoreError> {
        let insert = "INSERT OR IGNORE INTO approval (tool, folder, agreed_by, time)
                          VALUES (?1, ?2, ?3, ?4)";
        let values = params![tool, folder, agreed_by, time];
        self.0.execute("keep an approval", insert, values).map(|_| ())
    }

    /// Deletes an approval. Returns whether there was one.
    pub fn revoke(&self, id: i64) -> Result<bool, StoreError> {
        let delete = "DELETE FROM approval WHERE id = ?1";
        Ok(self.0.execute("revoke an approval", delete, [id])? > 0)
    }
}

/// Settings that a person changed while the steward ran, by name.
#[derive(Debug, Clone)]
pub struct SetValues(pub(super) Database);

impl SetValues {
    /// The value of a setting.
    pub fn get(&self, name: &str) -> Result<Option<String>, StoreError> {
        let query = "SELECT value FROM setting WHERE name = ?1";
        self.0.first(query, [name], |row| Ok(row.get(0)?))
    }

    /// Stores a setting, or deletes it with `None`; durable when this returns.
    pub fn set(&self, name: &str, value: Option<&str>) -> Result<(), StoreError> {
        const NAME: &str = "keep a setting";
        let insert = "INSERT OR REPLACE INTO setting (name, value) VALUES (?1, ?2)";
        let delete = "DELETE FROM setting WHERE name = ?1";
        let changed = match value {
            Some(value) => self.0.execute(NAME, insert, [name, value]),
            None => self.0.execute(NAME, delete, [name]),
        };
        changed.map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Store;
    use super::*;

    fn row(time: i64, tool: &str, decision: &str) -> AuditRow {
        AuditRow { time, tool: tool.into(), decision: decision.into(), ..AuditRow::default() }
    }

    fn times(store: &Store, filter: AuditFilter) -> Vec<i64> {
        let limit = if filter.limit == 0 { 100 } else { filter.limit };
        let rows = store.audit.rows(&AuditFilter { limit, ..filter }).unwrap();
        rows.into_iter().map(|row| row.time).collect()
    }

    #[test]
    fn the_audit_is_filtered_followed_and_trimmed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        let rows: Vec<AuditRow> =
            (1..=6).map(|n| row(n, if n % 2 == 0 { "move" } else { "undo" }, "allowed")).collect();
        let last = store.audit.write(&rows).unwrap();
        let all = AuditFilter::default;
        assert_eq!(times(&store, all()), [1, 2, 3, 4, 5, 6]);
        assert_eq!(times(&store, AuditFilter { limit: 2, ..all() }), [5, 6], "the newest");
        assert_eq!(times(&store, AuditFilter { tool: Some("move".into()), ..all() }), [2, 4, 6]);
        assert_eq!(times(&store, AuditFilter { since: Some(5), ..all() }), [5, 6]);
        let after = Some(last - 3);
        assert_eq!(times(&store, AuditFilter { after, limit: 2, ..all() }), [4, 5], "in order");
        assert_eq!(store.audit.trim(3, 3).unwrap(), 3);
        assert_eq!(times(&store, all()), [4, 5, 6]);
    }

    #[test]
    fn a_connection_for_appending_has_a_small_cache() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        let adding = store.append_connection();
        let rows: Vec<AuditRow> = (0..20_000).map(|n| row(n, "undo", "allowed")).collect();
        adding.audit.write(&rows).unwrap();
        assert_eq!(adding.database.cache_bytes(), 256 << 10);
        store.database.check().unwrap();
        assert!(store.database.cache_bytes() > 1 << 20, "the database is larger than that");
        assert_eq!(times(&adding, AuditFilter { limit: 1, ..AuditFilter::default() }), [19_999]);
    }

    #[test]
    fn a_pending_approval_is_settled_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        let first = store.audit.write(&[row(1, "move", "asked")]).unwrap();
        store.audit.write(&[row(2, "move", "asked")]).unwrap();
        store.audit.settle(&AuditRow { id: first, ..row(1, "move", "allowed") }).unwrap();
        assert_eq!(store.audit.refuse_unanswered("gone").unwrap(), 1);
        let rows = store.audit.rows(&AuditFilter { limit: 9, ..AuditFilter::default() }).unwrap();
        let decisions: Vec<_> = rows.iter().map(|row| (row.time, row.decision.as_str())).collect();
        assert_eq!(decisions, [(2, "refused"), (1, "allowed")]);
    }

    #[test]
    fn approvals_and_settings_are_stored_and_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        store.approvals.add("move", "Inbox", "chat", 1).unwrap();
        store.approvals.add("move", "Inbox", "chat", 2).unwrap();
        let kept = store.approvals.list().unwrap();
        assert_eq!((kept.len(), kept[0].folder.as_str()), (1, "Inbox"));
        assert!(store.approvals.revoke(kept[0].id).unwrap());
        assert!(!store.approvals.revoke(kept[0].id).unwrap());
        store.settings.set("mode", Some("ask")).unwrap();
        assert_eq!(Store::at(folder.path()).settings.get("mode").unwrap().as_deref(), Some("ask"));
        store.settings.set("mode", None).unwrap();
        assert_eq!(store.settings.get("mode").unwrap(), None);
    }
}
