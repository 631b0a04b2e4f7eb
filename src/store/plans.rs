//! Stored plans. Their content is JSON, which this room does not interpret.

use rusqlite::params;

use super::database::Database;
use super::error::StoreError;
use super::query::row;

#[derive(Debug, Clone)]
pub struct NewPlan<'a> {
    /// The hash of the plan's items.
    pub identity: &'a str,
    /// Milliseconds since the Unix epoch.
    pub made: i64,
    /// The program that requested it.
    pub caller: &'a str,
    /// Whether the caller sees the whole vault.
    pub whole: bool,
    /// The plan, as JSON.
    pub content: &'a str,
    /// The rules it was made from, as JSON.
    pub rules: &'a str,
}

row! {
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct PlanRow in "plan" {
        pub id: i64,
        pub identity: String,
        /// Milliseconds since the Unix epoch.
        pub made: i64,
        /// The program that requested it.
        pub caller: String,
        /// Whether the caller sees the whole vault.
        pub whole: bool,
        /// The plan, as JSON.
        pub content: String,
        /// The rules it was made from, as JSON.
        pub rules: String,
    }
}

const COLUMNS: &str = PlanRow::COLUMNS;

#[derive(Debug, Clone)]
pub struct Plans(pub(super) Database);

impl Plans {
    /// Stores a plan, or replaces the one with the number `id`, and deletes those made before `expired_before`.
    /// Returns its number.
    pub fn store(
        &self,
        id: Option<i64>,
        plan: &NewPlan,
        expired_before: i64,
    ) -> Result<i64, StoreError> {
        self.0.change("keep a plan", |change| {
            change.execute(
                "DELETE FROM plan WHERE made < ?1 AND id IS NOT ?2",
                                params![expired_before, id],
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
                        let changed = change.execute(
                "UPDATE plan SET identity = ?2, made = ?3, caller = ?4, whole = ?5, content = ?6, rules = ?7
                 WHERE id = ?1",
                params![id, identity, made, caller, whole, content, rules],
            )?;
                        if changed == 0 { Err(StoreError::Unknown { what: "plan", number: id }) } else { Ok(id) }
        })
    }

    /// One plan, unless it was made before `expired_before`.
    pub fn get(&self, id: i64, expired_before: i64) -> Result<Option<PlanRow>, StoreError> {
        let query = format!("SELECT {COLUMNS} FROM plan WHERE id = ?1 AND made >= ?2");
        self.0.first(&query, params![id, expired_before], PlanRow::read)
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
    fn a_plan_is_replaced_under_its_number_and_expires() {
        let folder = tempfile::tempdir().unwrap();
        let plans = Store::at(folder.path()).plans;
        let first = plans.store(None, &plan(10, "a"), 0).unwrap();
        assert_eq!(plans.store(Some(first), &plan(20, "b"), 0).unwrap(), first);
        assert_eq!(plans.get(first, 0).unwrap().unwrap().content, "b");
        assert!(plans.get(first, 21).unwrap().is_none(), "expired");
        let second = plans.store(None, &plan(30, "c"), 25).unwrap();
        assert!(second > first && plans.get(first, 0).unwrap().is_none());
        let missing = plans.store(Some(first), &plan(40, "d"), 0).unwrap_err();
        assert!(matches!(missing, StoreError::Unknown { what: "plan", .. }), "{missing}");
    }
}
