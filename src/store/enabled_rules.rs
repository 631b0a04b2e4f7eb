//! Rules that a person enabled, and their changes.

use rusqlite::params;

use super::database::Database;
use super::error::StoreError;
use super::query::row;

/// How long hits are stored, in milliseconds.
const STORED_FOR: i64 = 366 * 24 * 60 * 60 * 1000;

row! {
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct EnabledRule in "enabled_rule" numbered {
        /// 0 before it is stored.
        pub id: i64,
        /// The rule file: a path in the vault, or an absolute one.
        pub source: String,
        /// At most one rule of this name is enabled.
        pub name: String,
        /// The hash of the rule's meaning.
        pub hash: String,
        /// The text of its file when the rule was enabled.
        pub definition: String,
        /// A description of the rule, as a sentence.
        pub sentence: String,
        /// The folders that the rule may touch, as a JSON list.
        pub folders: String,
        /// Its kinds of actions, as a JSON list.
        pub actions: String,
        /// Whether the rule may move files to the trash.
        pub with_trash: bool,
        /// `automatic`, `ask`, `stopped` or `off`.
        pub state: String,
        /// Why the rule is stopped.
        pub reason: Option<String>,
        /// When it was enabled, in milliseconds since the Unix epoch.
        pub enabled: i64,
        pub enabled_by: String,
        /// Files last changed before this time are skipped: milliseconds since the Unix epoch.
        pub since: i64,
        /// The scheduled time of its last run, in milliseconds since the Unix epoch.
        pub last_run: Option<i64>,
        /// The plan that waits for a person's approval.
        pub waiting: Option<i64>,
    }
}

row! {
    /// The change of one file by an enabled rule.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct RuleHit in "rule_hit" {
        pub rule: i64,
        /// Milliseconds since the Unix epoch.
        pub time: i64,
        pub job: i64,
        pub change_set: i64,
        /// Number of the change in its change set.
        pub number: u32,
        /// The file's path before the change.
        pub path: String,
        /// The file's path after the change.
        pub left_at: String,
        /// The file's revision before the change; empty if it was not read.
        pub revision: String,
        /// The rule's actions and reasons, as JSON.
        pub why: String,
    }
}

const RULE: &str = EnabledRule::COLUMNS;
const HIT: &str = RuleHit::COLUMNS;

#[derive(Debug, Clone)]
pub struct EnabledRules(pub(super) Database);

impl EnabledRules {
    /// Enables a rule and disables the one of the same name. Returns its number.
    pub fn enable(&self, rule: &EnabledRule) -> Result<i64, StoreError> {
        self.0.change("enable a rule", |change| {
            change.execute(
                "UPDATE enabled_rule SET state = 'off', waiting = NULL WHERE name = ?1 AND state != 'off'",
                [&rule.name],
            )?;
            rule.insert(change)
        })
    }

    /// The enabled rules, in the order in which they were enabled.
    pub fn list(&self) -> Result<Vec<EnabledRule>, StoreError> {
        let query = format!("SELECT {RULE} FROM enabled_rule WHERE state != 'off' ORDER BY id");
        self.0.all(&query, [], EnabledRule::read)
    }

    /// One rule, enabled or not.
    pub fn get(&self, id: i64) -> Result<Option<EnabledRule>, StoreError> {
        let query = format!("SELECT {RULE} FROM enabled_rule WHERE id = ?1");
        self.0.first(&query, [id], EnabledRule::read)
    }

    /// Disables a rule. Returns whether it was enabled.
    pub fn disable(&self, id: i64) -> Result<bool, StoreError> {
        let update = "UPDATE enabled_rule SET state = 'off', waiting = NULL WHERE id = ?1 AND state != 'off'";
        Ok(self.0.execute("disable a rule", update, [id])? > 0)
    }

    /// Stops a rule until it is enabled again.
    pub fn stop(&self, id: i64, reason: &str) -> Result<(), StoreError> {
        let update = "UPDATE enabled_rule SET state = 'stopped', reason = ?2 WHERE id = ?1 AND state != 'off'";
        self.0.execute("stop a rule", update, params![id, reason]).map(|_| ())
    }

    /// Records that all rules have processed the files that changed until `until`.
    pub fn set_processed(&self, until: i64) -> Result<(), StoreError> {
        let update = "UPDATE enabled_rule SET since = ?1 WHERE state != 'off' AND since < ?1";
        self.0.execute("record the progress of rules", update, [until]).map(|_| ())
    }

    /// Records the scheduled time of a rule's last run.
    pub fn set_last_run(&self, id: i64, time: i64) -> Result<(), StoreError> {
        let update = "UPDATE enabled_rule SET last_run = ?2 WHERE id = ?1";
        self.0.execute("note when a rule runs", update, [id, time]).map(|_| ())
    }

    /// Sets the plan of a rule that waits for a person's approval.
    pub fn set_waiting(&self, id: i64, plan: Option<i64>) -> Result<(), StoreError> {
        let update = "UPDATE enabled_rule SET waiting = ?2 WHERE id = ?1";
        self.0.execute("note that a rule waits", update, params![id, plan]).map(|_| ())
    }

    /// Stores hits; a stored one stays as it is. Deletes those older than a year.
    pub fn add_hits(&self, hits: &[RuleHit]) -> Result<(), StoreError> {
        let Some(newest) = hits.iter().map(|hit| hit.time).max() else { return Ok(()) };
        self.0.change("store what rules did", |change| {
                        change.execute("DELETE FROM rule_hit WHERE time < ?1", [newest - STORED_FOR])?;
            let mut insert = change.prepare_cached(
                "INSERT INTO rule_hit (rule, time, job, change_set, number, path, left_at, revision, why)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
            )?;
            for hit in hits {
                insert.execute(params![
                    hit.rule,
                    hit.time,
                    hit.job,
                    hit.change_set,
                    hit.number,
                    hit.path,
                    hit.left_at,
                    hit.revision,
                    hit.why,
                ])?;
            }
            Ok(())
        })
    }

    /// The hits after `since`, oldest first.
    pub fn hits_after(&self, since: i64) -> Result<Vec<RuleHit>, StoreError> {
        let query =
            format!("SELECT {HIT} FROM rule_hit WHERE time > ?1 ORDER BY time, change_set, number");
        self.0.all(&query, [since], RuleHit::read)
    }

    pub fn hits_of(&self, change_set: i64) -> Result<Vec<RuleHit>, StoreError> {
        let query =
            format!("SELECT {HIT} FROM rule_hit WHERE change_set = ?1 ORDER BY number, rule");
        self.0.all(&query, [change_set], RuleHit::read)
    }

    /// The newest hit of a rule on the file that was at `path`.
    pub fn last_hit(&self, rule: i64, path: &str) -> Result<Option<RuleHit>, StoreError> {
        let query = format!(
            "SELECT {HIT} FROM rule_hit WHERE rule = ?1 AND path = ?2
             ORDER BY time DESC, change_set DESC, number DESC LIMIT 1"
        );
        self.0.first(&query, params![rule, path], RuleHit::read)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Store;
    use super::*;

    fn rule(name: &str, state: &str) -> EnabledRule {
        EnabledRule { name: name.to_owned(), state: state.to_owned(), ..EnabledRule::default() }
    }

    #[test]
    fn a_name_is_enabled_once_and_disabled_rules_stay_stored() {
        let folder = tempfile::tempdir().unwrap();
        let rules = Store::at(folder.path()).enabled_rules;
        assert_eq!(rules.list().unwrap(), []);
        let first = rules.enable(&rule("a", "automatic")).unwrap();
        let other = rules.enable(&rule("b", "ask")).unwrap();
        rules.set_waiting(first, Some(4)).unwrap();
        let again = rules.enable(&rule("a", "automatic")).unwrap();
        let ids: Vec<i64> = rules.list().unwrap().iter().map(|rule| rule.id).collect();
        assert_eq!(ids, [other, again]);
        let before = rules.get(first).unwrap().unwrap();
        assert_eq!((&*before.state, before.waiting), ("off", None));
        rules.stop(again, "it goes in circles").unwrap();
        rules.stop(first, "too late").unwrap();
        rules.set_processed(7).unwrap();
        rules.set_processed(5).unwrap();
        rules.set_last_run(other, 3).unwrap();
        let list = rules.list().unwrap();
        assert_eq!((list[0].since, list[0].last_run), (7, Some(3)));
        assert_eq!(
            (&*list[1].state, list[1].reason.as_deref()),
            ("stopped", Some("it goes in circles"))
        );
        assert!(rules.disable(other).unwrap() && !rules.disable(other).unwrap());
        assert_eq!(rules.get(first).unwrap().unwrap().reason, None);
    }

    #[test]
    fn hits_are_stored_for_a_year() {
        let folder = tempfile::tempdir().unwrap();
        let rules = Store::at(folder.path()).enabled_rules;
        let id = rules.enable(&rule("a", "automatic")).unwrap();
        let hit = |time, change_set, path: &str| RuleHit {
            rule: id,
            time,
            change_set,
            number: 1,
            path: path.to_owned(),
            ..RuleHit::default()
        };
        rules.add_hits(&[hit(1, 1, "x.md"), hit(10, 2, "x.md")]).unwrap();
        rules.add_hits(&[hit(99, 2, "again.md")]).unwrap();
        assert_eq!(rules.hits_after(1).unwrap(), [hit(10, 2, "x.md")]);
        assert_eq!(rules.last_hit(id, "x.md").unwrap(), Some(hit(10, 2, "x.md")));
        assert_eq!(rules.last_hit(id, "y.md").unwrap(), None);
        assert_eq!(rules.hits_of(2).unwrap(), [hit(10, 2, "x.md")]);
        rules.add_hits(&[hit(STORED_FOR + 5, 4, "z.md")]).unwrap();
        assert_eq!(rules.hits_of(1).unwrap(), [], "older than a year");
        assert_eq!(rules.hits_of(2).unwrap().len(), 1);
    }
}
