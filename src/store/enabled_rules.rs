//! Rules that a person enabled, and what they did by themselves.

use rusqlite::{Connection, Row, params};

use super::database::Database;
use super::error::StoreError;
use super::query::{all, column, first};

/// How long it is known what a rule did, in milliseconds.
const KEPT: i64 = 366 * 24 * 60 * 60 * 1000;

/// A rule that a person enabled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnabledRule {
    /// 0 before it is stored.
    pub id: i64,
    /// The rule file: a path in the vault, or an absolute one.
    pub source: String,
    /// One name is enabled once.
    pub name: String,
    /// The hash of what the rule means.
    pub hash: String,
    /// The text of its file when it was enabled.
    pub definition: String,
    /// What it does, as a sentence.
    pub sentence: String,
    /// The folders that it may touch, as a JSON list.
    pub folders: String,
    /// The words for what it does, as a JSON list.
    pub actions: String,
    /// Whether it may put files into the trash by itself.
    pub with_trash: bool,
    /// `automatic`, `ask`, `stopped` or `off`.
    pub state: String,
    /// Why it is stopped.
    pub reason: Option<String>,
    /// When, in milliseconds since the Unix epoch.
    pub enabled: i64,
    /// The program of the person.
    pub enabled_by: String,
    /// Files that changed until then are not looked at: milliseconds since the Unix epoch.
    pub since: i64,
    /// The time of a schedule that it ran for last, in milliseconds since the Unix epoch.
    pub last_run: Option<i64>,
    /// The plan of it that waits for a person.
    pub waiting: Option<i64>,
}

/// What a rule did to one file by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleHit {
    /// The enabled rule.
    pub rule: i64,
    /// Milliseconds since the Unix epoch.
    pub time: i64,
    pub job: i64,
    /// The change set of the journal, and which change of it.
    pub change_set: i64,
    pub number: u32,
    /// Where the file was before.
    pub path: String,
    /// Where that change left it.
    pub left_at: String,
    /// The revision that it had before; empty where nobody had read it.
    pub revision: String,
    /// What it did and why, as JSON.
    pub why: String,
}

const RULE: &str = "id, source, name, hash, definition, sentence, folders, actions, with_trash, state, reason, \
                    enabled, enabled_by, since, last_run, waiting";
const HIT: &str = "rule, time, job, change_set, number, path, left_at, revision, why";

/// The enabled rules.
#[derive(Debug, Clone)]
pub struct EnabledRules(pub(super) Database);

impl EnabledRules {
    /// Enables a rule, in place of the one of its name. Gives its number.
    pub fn enable(&self, rule: &EnabledRule) -> Result<i64, StoreError> {
        self.0.change("enable a rule", |change| {
            change.execute(
                "UPDATE enabled_rule SET state = 'off', waiting = NULL WHERE name = ?1 AND state != 'off'",
                [&rule.name],
            )?;
            change.execute(
                "INSERT INTO enabled_rule (source, name, hash, definition, sentence, folders, actions, with_trash,
                     state, enabled, enabled_by, since)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
                params![
                    rule.source,
                    rule.name,
                    rule.hash,
                    rule.definition,
                    rule.sentence,
                    rule.folders,
                    rule.actions,
                    rule.with_trash,
                    rule.state,
                    rule.enabled,
                    rule.enabled_by,
                    rule.since,
                ],
            )?;
            Ok(change.last_insert_rowid())
        })
    }

    /// The rules that are enabled, in the order in which they were.
    pub fn list(&self) -> Result<Vec<EnabledRule>, StoreError> {
        self.0.read(|connection| {
            let query = format!("SELECT {RULE} FROM enabled_rule WHERE state != 'off' ORDER BY id");
            all(connection, &query, [], read_rule)
        })
    }

    /// One rule, enabled or not any more.
    pub fn get(&self, id: i64) -> Result<Option<EnabledRule>, StoreError> {
        self.0.read(|connection| get(connection, id))
    }

    /// Disables a rule; whether it was enabled.
    pub fn disable(&self, id: i64) -> Result<bool, StoreError> {
        self.0.change("disable a rule", |change| {
            let query =
                "UPDATE enabled_rule SET state = 'off', waiting = NULL WHERE id = ?1 AND state != 'off'";
            Ok(change.execute(query, [id])? > 0)
        })
    }

    /// Stops a rule until it is enabled again, and says why.
    pub fn stop(&self, id: i64, reason: &str) -> Result<(), StoreError> {
        self.0.change("stop a rule", |change| {
            let query = "UPDATE enabled_rule SET state = 'stopped', reason = ?2 WHERE id = ?1 AND state != 'off'";
            change.execute(query, params![id, reason])?;
            Ok(())
        })
    }

    /// Files that changed until `until` have been looked at.
    pub fn looked_at(&self, until: i64) -> Result<(), StoreError> {
        self.0.change("note how far rules have looked", |change| {
            let query = "UPDATE enabled_rule SET since = ?1 WHERE state != 'off' AND since < ?1";
            change.execute(query, [until])?;
            Ok(())
        })
    }

    /// A rule runs for this time of its schedule.
    pub fn runs(&self, id: i64, time: i64) -> Result<(), StoreError> {
        self.0.change("note when a rule runs", |change| {
            change.execute("UPDATE enabled_rule SET last_run = ?2 WHERE id = ?1", [id, time])?;
            Ok(())
        })
    }

    /// What a rule would do waits for a person in this plan, or nothing does.
    pub fn wait(&self, id: i64, plan: Option<i64>) -> Result<(), StoreError> {
        self.0.change("note that a rule waits", |change| {
            change
                .execute("UPDATE enabled_rule SET waiting = ?2 WHERE id = ?1", params![id, plan])?;
            Ok(())
        })
    }

    /// Stores what rules did; what is stored already stays as it is.
    pub fn add_hits(&self, hits: &[RuleHit]) -> Result<(), StoreError> {
        let Some(newest) = hits.iter().map(|hit| hit.time).max() else { return Ok(()) };
        self.0.change("store what rules did", |change| {
            change.execute("DELETE FROM rule_hit WHERE time < ?1", [newest - KEPT])?;
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

    /// What rules have done after `since`, oldest first.
    pub fn hits_after(&self, since: i64) -> Result<Vec<RuleHit>, StoreError> {
        self.0.read(|connection| {
            let query = format!(
                "SELECT {HIT} FROM rule_hit WHERE time > ?1 ORDER BY time, change_set, number"
            );
            all(connection, &query, [since], read_hit)
        })
    }

    /// What rules did in this change set.
    pub fn hits_of(&self, change_set: i64) -> Result<Vec<RuleHit>, StoreError> {
        self.0.read(|connection| {
            let query =
                format!("SELECT {HIT} FROM rule_hit WHERE change_set = ?1 ORDER BY number, rule");
            all(connection, &query, [change_set], read_hit)
        })
    }

    /// The last that a rule did to the file that was at `path`.
    pub fn last_hit(&self, rule: i64, path: &str) -> Result<Option<RuleHit>, StoreError> {
        self.0.read(|connection| {
            let query = format!(
                "SELECT {HIT} FROM rule_hit WHERE rule = ?1 AND path = ?2
                 ORDER BY time DESC, change_set DESC, number DESC LIMIT 1"
            );
            first(connection, &query, params![rule, path], read_hit)
        })
    }
}

fn get(connection: &Connection, id: i64) -> Result<Option<EnabledRule>, StoreError> {
    first(connection, &format!("SELECT {RULE} FROM enabled_rule WHERE id = ?1"), [id], read_rule)
}

fn read_rule(row: &Row) -> Result<EnabledRule, StoreError> {
    const T: &str = "enabled_rule";
    Ok(EnabledRule {
        id: column(row, T, 0)?,
        source: column(row, T, 1)?,
        name: column(row, T, 2)?,
        hash: column(row, T, 3)?,
        definition: column(row, T, 4)?,
        sentence: column(row, T, 5)?,
        folders: column(row, T, 6)?,
        actions: column(row, T, 7)?,
        with_trash: column(row, T, 8)?,
        state: column(row, T, 9)?,
        reason: column(row, T, 10)?,
        enabled: column(row, T, 11)?,
        enabled_by: column(row, T, 12)?,
        since: column(row, T, 13)?,
        last_run: column(row, T, 14)?,
        waiting: column(row, T, 15)?,
    })
}

fn read_hit(row: &Row) -> Result<RuleHit, StoreError> {
    const T: &str = "rule_hit";
    Ok(RuleHit {
        rule: column(row, T, 0)?,
        time: column(row, T, 1)?,
        job: column(row, T, 2)?,
        change_set: column(row, T, 3)?,
        number: column(row, T, 4)?,
        path: column(row, T, 5)?,
        left_at: column(row, T, 6)?,
        revision: column(row, T, 7)?,
        why: column(row, T, 8)?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Store;
    use super::*;

    fn rule(name: &str, state: &str) -> EnabledRule {
        EnabledRule { name: name.to_owned(), state: state.to_owned(), ..EnabledRule::default() }
    }

    #[test]
    fn a_name_is_enabled_once_and_what_was_enabled_stays_known() {
        let folder = tempfile::tempdir().unwrap();
        let rules = Store::at(folder.path()).enabled_rules;
        assert_eq!(rules.list().unwrap(), []);
        let first = rules.enable(&rule("a", "automatic")).unwrap();
        let other = rules.enable(&rule("b", "ask")).unwrap();
        rules.wait(first, Some(4)).unwrap();
        let again = rules.enable(&rule("a", "automatic")).unwrap();
        let ids: Vec<i64> = rules.list().unwrap().iter().map(|rule| rule.id).collect();
        assert_eq!(ids, [other, again]);
        let before = rules.get(first).unwrap().unwrap();
        assert_eq!((&*before.state, before.waiting), ("off", None));
        rules.stop(again, "it goes in circles").unwrap();
        rules.stop(first, "too late").unwrap();
        rules.looked_at(7).unwrap();
        rules.looked_at(5).unwrap();
        rules.runs(other, 3).unwrap();
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
    fn what_rules_did_is_known_for_a_year() {
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
        rules.add_hits(&[hit(KEPT + 5, 4, "z.md")]).unwrap();
        assert_eq!(rules.hits_of(1).unwrap(), [], "older than a year");
        assert_eq!(rules.hits_of(2).unwrap().len(), 1);
    }
}
