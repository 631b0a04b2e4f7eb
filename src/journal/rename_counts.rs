//! Whether a rename by another program came before or after an operation.

/// Maximum number of entries. There is at most one per noticed rename, and the vault remembers no
/// more renames than this.
const MAX_COUNTS: usize = 1_000;

/// The rename counter at the end of each operation that changed it. Only renames with a higher
/// counter came after the operation.
#[derive(Debug, Default)]
pub(super) struct RenameCounts(Vec<(i64, u64)>);

impl RenameCounts {
    pub fn record(&mut self, operation: i64, renames: u64) {
        if self.0.last().map_or(0, |last| last.1) == renames {
            return;
        }
        if self.0.len() >= MAX_COUNTS {
            self.0.remove(0);
        }
        self.0.push((operation, renames));
    }

    /// 0 for an operation before the first entry: no rename was noticed yet, or another process ran
    /// it.
    pub fn at_end_of(&self, operation: i64) -> u64 {
        let after = self.0.partition_point(|mark| mark.0 <= operation);
        after.checked_sub(1).map_or(0, |at| self.0[at].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_has_the_mark_of_the_last_before_it() {
        let mut counts = RenameCounts::default();
        for (operation, renames) in [(3, 0), (4, 2), (6, 2), (9, 5)] {
            counts.record(operation, renames);
        }
        assert_eq!(counts.0.len(), 2);
        let of = |operation| counts.at_end_of(operation);
        assert_eq!([of(1), of(3), of(4), of(6), of(8), of(9), of(10)], [0, 0, 2, 2, 2, 5, 5]);
        (0..2_000).for_each(|n| counts.record(10 + n, 10 + n.cast_unsigned()));
        assert_eq!((counts.0.len(), counts.at_end_of(2_009)), (MAX_COUNTS, 2_009));
    }
}
