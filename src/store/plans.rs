//! Plans, until they are forgotten. What a plan says is JSON, of which this room knows nothing.

use rusqlite::params;

use super::database::Database;
use super::error::StoreError;
use super::query::{column, first};

/// A plan that is to be kept.
#[derive(Debug, Clone)]
pub struct NewPlan<'a> {
    /// The hash of what it would do.
    pub identity: &'a str,
    /// Milliseconds since the Unix epoch.
    pub made: i64,
    /// The program that asked for it.
    pub caller: &'a str,
    /// Whether whoever asked for it sees the whole vault.
    pub whole: bool,
    /// The plan as JSON.
    pub content: &'a str,
    /// The rules that it was made from, as JSON.
    pub rules: &'a str,
}

/// A plan as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanRow {
    pub id: i64,
    pub identity: String,
    /// Milliseconds since the Unix epoch.
    pub made: i64,
    /// The program that asked for it.
    pub caller: String,
    /// Whether whoever asked for it sees the whole vault.
    pub whole: bool,
    /// The plan as JSON.
    pub content: String,
    /// The rules that it was made from, as JSON.
    pub rules: String,
}

/// The plans.
#[derive(Debug, Clone)]
pub struct Plans(pub(super) Database);

impl Plans {
    /// Keeps a plan, in place of the one with the number `id` if one is given, and forgets those made before
    /// `forget_before`. Gives its number.
    ///
    /// # Errors
    /// [`StoreError::Unknown`]: there is no plan `id`.
    pub fn keep(
        &self,
        id: Option<i64>,
        plan: &NewPlan,
        forget_before: i64,
    ) -> Result<i64, StoreError> {
        self.0.change("keep a plan", |change| {
            change.execute(
                "DELETE FROM plan WHERE made < ?1 AND id IS NOT ?2",
                params![forget_before, id],
            )?;
            let NewPlan { identity, made, caller, whole, content, rules } = *plan;
            let Some(id) = id else {
                change.execute(
                    "INSERT INTO plan (identity, made, caller, whole, content, rules)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    params![identity, made, caller, whole, content, rules],
                )?;
                return Ok(change.last_insert_rowid());
            };
            let kept = change.execute(
                "UPDATE plan SET identity = ?2, made = ?3, caller = ?4, whole = ?5, content = ?6, rules = ?7
                 WHERE id = ?1",
                params![id, identity, made, caller, whole, content, rules],
            )?;
            if kept == 0 { Err(StoreError::Unknown { what: "plan", number: id }) } else { Ok(id) }
        })
    }

    /// One plan, unless it was made before `forget_before`.
    pub fn get(&self, id: i64, forget_before: i64) -> Result<Option<PlanRow>, StoreError> {
        self.0.read(|connection| {
            let query = "SELECT id, identity, made, caller, whole, content, rules FROM plan WHERE id = ?1 AND made >= ?2";
            first(connection, query, params![id, forget_before], |row| {
                const T: &str = "plan";
                Ok(PlanRow {
                    id: column(row, T, 0)?,
                    identity: column(row, T, 1)?,
                    made: column(row, T, 2)?,
                    caller: column(row, T, 3)?,
                    whole: column(row, T, 4)?,
                    content: column(row, T, 5)?,
                    rules: column(row, T, 6)?,
                })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Store;
    use super::*;

    fn plan(made: i64, content: &str) -> NewPlan<'_> {
        NewPlan { identity: "i", made, caller: "test", whole: true, content, rules: "[]" }
    }

    #[test]
    fn a_plan_is_replaced_under_its_number_and_forgotten_with_time() {
        let folder = tempfile::tempdir().unwrap();
        let plans = Store::at(folder.path()).plans;
        let first = plans.keep(None, &plan(10, "a"), 0).unwrap();
        assert_eq!(plans.keep(Some(first), &plan(20, "b"), 0).unwrap(), first);
        assert_eq!(plans.get(first, 0).unwrap().unwrap().content, "b");
        assert!(plans.get(first, 21).unwrap().is_none(), "too old to be shown");
        let second = plans.keep(None, &plan(30, "c"), 25).unwrap();
        assert!(second > first && plans.get(first, 0).unwrap().is_none());
        let missing = plans.keep(Some(first), &plan(40, "d"), 0).unwrap_err();
        assert!(matches!(missing, StoreError::Unknown { what: "plan", .. }), "{missing}");
    }
}
