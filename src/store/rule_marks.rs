//! Files that a rule has processed, for rules that process each file once.

use rusqlite::params;

use super::database::Database;
use super::error::StoreError;
use super::query::row;

row! {
    /// A file that a rule has processed.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct RuleMark in "rule_mark" {
        /// The hash of the rule's meaning.
        pub rule: String,
        pub change_set: i64,
        /// Number of the change in its change set.
        pub number: u32,
        /// The file's path after that change.
        pub path: String,
    }
}

const COLUMNS: &str = RuleMark::COLUMNS;

#[derive(Debug, Clone)]
pub struct RuleMarks(pub(super) Database);

impl RuleMarks {
    /// Stores marks; a stored one stays as it is.
    pub fn add(&self, marks: &[RuleMark]) -> Result<(), StoreError> {
        if marks.is_empty() {
            return Ok(());
        }
        self.0.change("store the marks of rules", |change| {
            let mut insert = change.prepare_cached(
                "INSERT INTO rule_mark (rule, change_set, number, path) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO NOTHING",
            )?;
            for mark in marks {
                insert.execute(params![mark.rule, mark.change_set, mark.number, mark.path])?;
            }
            Ok(())
        })
    }

    pub fn list(&self, rule: &str) -> Result<Vec<RuleMark>, StoreError> {
        let query =
            format!("SELECT {COLUMNS} FROM rule_mark WHERE rule = ?1 ORDER BY change_set, number");
        self.0.all(&query, [rule], RuleMark::read)
    }

    /// Removes marks, so that the rule takes these files again. Returns how many there were.
    pub fn remove(&self, marks: &[RuleMark]) -> Result<usize, StoreError> {
        self.0.change("delete the marks of rules", |change| {
            let mut delete = change.prepare_cached(
                "DELETE FROM rule_mark WHERE rule = ?1 AND change_set = ?2 AND number = ?3",
            )?;
            let mut removed = 0;
            for mark in marks {
                removed += delete.execute(params![mark.rule, mark.change_set, mark.number])?;
            }
            Ok(removed)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Store;
    use super::*;

    #[test]
    fn marks_are_stored_once_for_each_rule() {
        let folder = tempfile::tempdir().unwrap();
        let marks = Store::at(folder.path()).rule_marks;
        let mark = |rule: &str, number, path: &str| RuleMark {
            rule: rule.to_owned(),
            change_set: 7,
            number,
            path: path.to_owned(),
        };
        assert_eq!(marks.list("a").unwrap(), []);
        marks.add(&[mark("a", 2, "x.md"), mark("b", 1, "y.md")]).unwrap();
        marks.add(&[mark("a", 1, "z.md"), mark("a", 2, "x.md")]).unwrap();
        assert_eq!(marks.list("a").unwrap(), [mark("a", 1, "z.md"), mark("a", 2, "x.md")]);
        let gone = [mark("a", 2, "x.md"), mark("a", 3, "never.md")];
        assert_eq!(marks.remove(&gone).unwrap(), 1);
        assert_eq!(marks.list("a").unwrap(), [mark("a", 1, "z.md")]);
        assert_eq!(marks.list("b").unwrap(), [mark("b", 1, "y.md")]);
    }
}
