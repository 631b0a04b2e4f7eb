//! The rows of the audit, of what a person agreed to for good, and of what a person set.

use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::database::Database;
use super::error::StoreError;
use super::query::all;

/// One call and what was decided on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditRow {
    /// Its number; 0 before it is stored.
    pub id: i64,
    /// When it came, in milliseconds since the Unix epoch.
    pub time: i64,
    /// The name the caller gave of itself.
    pub caller: String,
    /// What kind of caller it is.
    pub scope: String,
    /// The conversation it belongs to.
    pub conversation: Option<String>,
    pub tool: String,
    /// The paths it was about, one a line.
    pub paths: String,
    /// `allowed`, `refused`, `dry_run`, `asked`.
    pub decision: String,
    /// The layer that refused or asked.
    pub layer: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// Who agreed or refused, where somebody was asked.
    pub answered_by: Option<String>,
    /// `ok`, or the word for its failure.
    pub outcome: Option<String>,
    /// How long it took, in microseconds.
    pub microseconds: i64,
    /// Bytes of the answer, or written.
    pub bytes: i64,
    /// The change set it made.
    pub change_set: Option<i64>,
}

/// Which rows are asked for; all conditions hold together.
#[derive(Debug, Clone, Default)]
pub struct AuditWanted {
    pub tool: Option<String>,
    pub caller: Option<String>,
    pub decision: Option<String>,
    /// At or after this time, in milliseconds since the Unix epoch.
    pub since: Option<i64>,
    /// After this number.
    pub after: Option<i64>,
    /// At most so many: the oldest with `after`, else the newest.
    pub limit: u32,
}

/// What a person agreed to for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRow {
    pub id: i64,
    pub tool: String,
    /// The folder in which it needs no further agreement.
    pub folder: String,
    /// The name of the program in which the person agreed.
    pub agreed_by: String,
    /// When, in milliseconds since the Unix epoch.
    pub time: i64,
}

const COLUMNS: &str = "id, time, caller, scope, conversation, tool, paths, decision, layer, \
                       reason, answered_by, outcome, microseconds, bytes, change_set";

fn read(row: &Row) -> Result<AuditRow, StoreError> {
    Ok(AuditRow {
        id: row.get(0)?,
        time: row.get(1)?,
        caller: row.get(2)?,
        scope: row.get(3)?,
        conversation: row.get(4)?,
        tool: row.get(5)?,
        paths: row.get(6)?,
        decision: row.get(7)?,
        layer: row.get(8)?,
        reason: row.get(9)?,
        answered_by: row.get(10)?,
        outcome: row.get(11)?,
        microseconds: row.get(12)?,
        bytes: row.get(13)?,
        change_set: row.get(14)?,
    })
}

fn insert(change: &Transaction, row: &AuditRow) -> Result<i64, StoreError> {
    let mut statement = change.prepare_cached(
        "INSERT INTO audit (time, caller, scope, conversation, tool, paths, decision, layer, \
         reason, answered_by, outcome, microseconds, bytes, change_set)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    )?;
    statement.execute(params![
        row.time,
        row.caller,
        row.scope,
        row.conversation,
        row.tool,
        row.paths,
        row.decision,
        row.layer,
        row.reason,
        row.answered_by,
        row.outcome,
        row.microseconds,
        row.bytes,
        row.change_set,
    ])?;
    Ok(change.last_insert_rowid())
}

/// The rows of the audit.
#[derive(Debug, Clone)]
pub struct Audit(pub(super) Database);

impl Audit {
    /// Writes rows of the audit in one step; the number of the last.
    ///
    /// # Errors
    /// [`StoreError`]: none is written then.
    pub fn write(&self, rows: &[AuditRow]) -> Result<i64, StoreError> {
        self.0.change("write the audit", |change| {
            rows.iter().try_fold(0, |_, row| insert(change, row))
        })
    }

    /// Puts what became of a call in the place of the row that says that a person was asked.
    pub fn settle(&self, row: &AuditRow) -> Result<(), StoreError> {
        self.0.change("settle a question", |change| {
            change.execute("DELETE FROM audit WHERE id = ?1 AND decision = 'asked'", [row.id])?;
            insert(change, row).map(|_| ())
        })
    }

    /// Counts as refused what was asked and never answered, because the steward ended first.
    pub fn refuse_unanswered(&self, reason: &str) -> Result<usize, StoreError> {
        // Usually there is none, and who only reads waits for nobody.
        let waits = self.0.read(|connection| {
            let query = "SELECT EXISTS (SELECT 1 FROM audit WHERE decision = 'asked')";
            Ok(connection.query_row(query, [], |row| row.get::<_, bool>(0))?)
        })?;
        if !waits {
            return Ok(0);
        }
        self.0.change("refuse the unanswered", |change| {
            Ok(change.execute(
                "UPDATE audit SET decision = 'refused', reason = ?1, outcome = 'denied'
                 WHERE decision = 'asked'",
                [reason],
            )?)
        })
    }

    /// Rows of the audit, oldest first.
    pub fn rows(&self, wanted: &AuditWanted) -> Result<Vec<AuditRow>, StoreError> {
        self.0.read(|connection| {
            let order = if wanted.after.is_some() { "ASC" } else { "DESC" };
            let query = format!(
                "SELECT {COLUMNS} FROM audit
                 WHERE (?1 IS NULL OR tool = ?1) AND (?2 IS NULL OR caller = ?2)
                   AND (?3 IS NULL OR decision = ?3) AND (?4 IS NULL OR time >= ?4)
                   AND (?5 IS NULL OR id > ?5)
                 ORDER BY id {order} LIMIT ?6"
            );
            let given = params![
                wanted.tool,
                wanted.caller,
                wanted.decision,
                wanted.since,
                wanted.after,
                wanted.limit
            ];
            let mut rows = all(connection, &query, given, read)?;
            if wanted.after.is_none() {
                rows.reverse();
            }
            Ok(rows)
        })
    }

    /// Lets go of rows from before `time`, and of the oldest beyond `most`; how many.
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

/// What a person agreed to for good.
#[derive(Debug, Clone)]
pub struct Approvals(pub(super) Database);

impl Approvals {
    /// All of it, oldest first.
    pub fn list(&self) -> Result<Vec<ApprovalRow>, StoreError> {
        self.0.read(|connection| {
            let query = "SELECT id, tool, folder, agreed_by, time FROM approval ORDER BY id";
            all(connection, query, [], |row| {
                Ok(ApprovalRow {
                    id: row.get(0)?,
                    tool: row.get(1)?,
                    folder: row.get(2)?,
                    agreed_by: row.get(3)?,
                    time: row.get(4)?,
                })
            })
        })
    }

    /// Keeps what a person agreed to for good; durable when this returns.
    pub fn add(
        &self,
        tool: &str,
        folder: &str,
        agreed_by: &str,
        time: i64,
    ) -> Result<(), StoreError> {
        self.0.change("keep an approval", |change| {
            change.execute(
                "INSERT OR IGNORE INTO approval (tool, folder, agreed_by, time)
                 VALUES (?1, ?2, ?3, ?4)",
                params![tool, folder, agreed_by, time],
            )?;
            Ok(())
        })
    }

    /// Takes an agreement back; whether there was one.
    pub fn revoke(&self, id: i64) -> Result<bool, StoreError> {
        self.0.change("revoke an approval", |change| {
            Ok(change.execute("DELETE FROM approval WHERE id = ?1", [id])? > 0)
        })
    }
}

/// What a person set while the steward ran.
#[derive(Debug, Clone)]
pub struct SetValues(pub(super) Database);

impl SetValues {
    /// What a person set under this name.
    pub fn get(&self, name: &str) -> Result<Option<String>, StoreError> {
        self.0.read(|connection| {
            let query = "SELECT value FROM setting WHERE name = ?1";
            Ok(connection.query_row(query, [name], |row| row.get(0)).optional()?)
        })
    }

    /// Keeps what a person set, or with `None` forgets it; durable when this returns.
    pub fn set(&self, name: &str, value: Option<&str>) -> Result<(), StoreError> {
        self.0.change("keep a setting", |change| {
            match value {
                Some(value) => change.execute(
                    "INSERT OR REPLACE INTO setting (name, value) VALUES (?1, ?2)",
                    params![name, value],
                )?,
                None => change.execute("DELETE FROM setting WHERE name = ?1", [name])?,
            };
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Store;
    use super::*;

    fn row(time: i64, tool: &str, decision: &str) -> AuditRow {
        AuditRow { time, tool: tool.into(), decision: decision.into(), ..AuditRow::default() }
    }

    fn times(store: &Store, wanted: AuditWanted) -> Vec<i64> {
        let limit = if wanted.limit == 0 { 100 } else { wanted.limit };
        let rows = store.audit.rows(&AuditWanted { limit, ..wanted }).unwrap();
        rows.into_iter().map(|row| row.time).collect()
    }

    #[test]
    fn the_audit_is_asked_followed_and_trimmed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        let rows: Vec<AuditRow> =
            (1..=6).map(|n| row(n, if n % 2 == 0 { "move" } else { "undo" }, "allowed")).collect();
        let last = store.audit.write(&rows).unwrap();
        let all = AuditWanted::default;
        assert_eq!(times(&store, all()), [1, 2, 3, 4, 5, 6]);
        assert_eq!(times(&store, AuditWanted { limit: 2, ..all() }), [5, 6], "the newest");
        assert_eq!(times(&store, AuditWanted { tool: Some("move".into()), ..all() }), [2, 4, 6]);
        assert_eq!(times(&store, AuditWanted { since: Some(5), ..all() }), [5, 6]);
        let after = Some(last - 3);
        assert_eq!(times(&store, AuditWanted { after, limit: 2, ..all() }), [4, 5], "in order");
        assert_eq!(store.audit.trim(3, 3).unwrap(), 3);
        assert_eq!(times(&store, all()), [4, 5, 6]);
    }

    #[test]
    fn who_only_adds_keeps_little_of_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        let adding = store.another_to_add();
        let rows: Vec<AuditRow> = (0..20_000).map(|n| row(n, "undo", "allowed")).collect();
        adding.audit.write(&rows).unwrap();
        assert_eq!(adding.database.cache_bytes(), 256 << 10);
        store.database.check().unwrap();
        assert!(store.database.cache_bytes() > 1 << 20, "of a database that is larger than that");
        assert_eq!(times(&adding, AuditWanted { limit: 1, ..AuditWanted::default() }), [19_999]);
    }

    #[test]
    fn what_was_asked_is_settled_or_counts_as_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        let first = store.audit.write(&[row(1, "move", "asked")]).unwrap();
        store.audit.write(&[row(2, "move", "asked")]).unwrap();
        store.audit.settle(&AuditRow { id: first, ..row(1, "move", "allowed") }).unwrap();
        assert_eq!(store.audit.refuse_unanswered("gone").unwrap(), 1);
        let rows = store.audit.rows(&AuditWanted { limit: 9, ..AuditWanted::default() }).unwrap();
        let said: Vec<_> = rows.iter().map(|row| (row.time, row.decision.as_str())).collect();
        assert_eq!(said, [(2, "refused"), (1, "allowed")]);
    }

    #[test]
    fn agreements_and_settings_are_kept_and_taken_back() {
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
