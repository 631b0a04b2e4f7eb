//! Which renames of others came before which operation.

/// How many marks are kept: there is one for each noticed rename at most, and the vault remembers
/// no more of those.
const MARKS: usize = 1_000;

/// How many renames had been noticed when an operation ended, where that had become another number:
/// what was renamed before it was done is not renamed since.
#[derive(Debug, Default)]
pub(super) struct Marks(Vec<(i64, u64)>);

impl Marks {
    pub fn note(&mut self, operation: i64, renames: u64) {
        if self.0.last().map_or(0, |last| last.1) == renames {
            return;
        }
        if self.0.len() >= MARKS {
            self.0.remove(0);
        }
        self.0.push((operation, renames));
    }

    /// Of an operation before the first: none was noticed yet, or it was another process's.
    pub fn of(&self, operation: i64) -> u64 {
        let after = self.0.partition_point(|mark| mark.0 <= operation);
        after.checked_sub(1).map_or(0, |at| self.0[at].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_has_the_mark_of_the_last_before_it() {
        let mut marks = Marks::default();
        for (operation, renames) in [(3, 0), (4, 2), (6, 2), (9, 5)] {
            marks.note(operation, renames);
        }
        assert_eq!(marks.0.len(), 2);
        let of = |operation| marks.of(operation);
        assert_eq!([of(1), of(3), of(4), of(6), of(8), of(9), of(10)], [0, 0, 2, 2, 2, 5, 5]);
        (0..2_000).for_each(|n| marks.note(10 + n, 10 + n.cast_unsigned()));
        assert_eq!((marks.0.len(), marks.of(2_009)), (MARKS, 2_009));
    }
}
