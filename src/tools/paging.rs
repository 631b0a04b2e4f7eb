//! Paging: `first_result` selects the first entry, and the result says how to continue.

use std::fmt::Display;
use std::ops::RangeInclusive;

use super::error::ToolError;

/// The default of a number: `#[serde(default = "paging::default::<50>")]`.
pub(super) fn default<const NUMBER: usize>() -> usize {
    NUMBER
}

/// The same for a number that may be negative, so that the error can state the valid range.
pub(super) fn signed<const NUMBER: i64>() -> i64 {
    NUMBER
}

/// The number of entries before the first one.
pub(super) fn skipped(first_result: usize) -> usize {
    first_result.saturating_sub(1)
}

/// The last line of a result with `shown` of `total` entries after the first `skipped`; `narrow` is an
/// alternative to paging.
pub(super) fn summary(skipped: usize, shown: usize, total: usize, narrow: &str) -> String {
    let to = skipped.saturating_add(shown);
    let part = match skipped {
        0 => shown.to_string(),
        _ => format!("{} to {to}", skipped.saturating_add(1)),
    };
    match (shown, to < total) {
        (0, false) if total > 0 => format!("[there are only {total}]"),
        (_, true) => format!("[{part} of {total}; go on with first_result: {}, {narrow}]", to + 1),
        _ if skipped > 0 => format!("[{part} of {total}]"),
        _ => format!("[{total} in all]"),
    }
}

/// Clamps a limit, and returns a note if it was too large.
pub(super) fn bounded(limit: usize, most: usize) -> (usize, Option<String>) {
    let limit_note = format!("[limit is {most} at most, not {limit}]");
    (limit.clamp(1, most), (limit > most).then_some(limit_note))
}

/// Checks that a number is within its bounds.
pub(super) fn within<T: Display + Copy + TryInto<usize>>(
    bounds: RangeInclusive<usize>,
    name: &str,
    asked: T,
) -> Result<usize, ToolError> {
    let number = asked.try_into().ok().filter(|number| bounds.contains(number));
    number.ok_or_else(|| {
        let hint = format!("give a number from {} to {}", bounds.start(), bounds.end());
        ToolError::invalid(format!("`{name}` is {asked}"), hint)
    })
}

#[cfg(test)]
mod tests {
    use super::summary;

    #[test]
    fn it_says_how_to_continue() {
        for ((skipped, shown, total), expected) in [
            ((0, 0, 0), "[0 in all]"),
            ((0, 3, 3), "[3 in all]"),
            ((0, 2, 3), "[2 of 3; go on with first_result: 3, or not]"),
            ((2, 2, 9), "[3 to 4 of 9; go on with first_result: 5, or not]"),
            ((8, 1, 9), "[9 to 9 of 9]"),
            ((9, 0, 9), "[there are only 9]"),
            ((usize::MAX, 0, 9), "[there are only 9]"),
        ] {
            assert_eq!(summary(skipped, shown, total, "or not"), expected);
        }
    }
}
