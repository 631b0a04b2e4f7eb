//! Counts the bytes that a change adds.

/// The number of bytes of `new` that differ when it replaces `old`. Texts with the same number of
/// lines are compared line by line, others from the first differing byte to the last; the smaller
/// count wins. Deleted bytes do not count.
pub fn changed(old: &[u8], new: &[u8]) -> u64 {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    let span = new.len() as u64;
    by_line(old, new).map_or(span, |lines| lines.min(span))
}

/// The bytes of the new lines that differ; `None` if the line counts differ.
fn by_line(old: &[u8], new: &[u8]) -> Option<u64> {
    let (mut old, mut new) = (old.split(|byte| *byte == b'\n'), new.split(|byte| *byte == b'\n'));
    let mut changed = 0;
    loop {
        match (old.next(), new.next()) {
            (Some(a), Some(b)) if a == b => {}
            (Some(_), Some(b)) => changed += b.len() as u64,
            (None, None) => return Some(changed),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_counts() {
        for (old, new, expected) in [
            ("", "", 0),
            ("same", "same", 0),
            ("", "new", 3),
            ("gone", "", 0),
            ("one word here", "one verb here", 4),
            ("aaaa", "aaa", 0),
            ("aaa", "aaaa", 1),
            ("aXa", "aYYYa", 3),
            // Far apart, in lines that stay where they were.
            ("x\nlong line\ny\n", "z\nlong line\nw\n", 2),
            // An inserted line: the lines around it stay.
            ("a\nb\n", "a\nnew\nb\n", 4),
            // Another number of lines, changed at both ends.
            ("a\n1\n2\nb\n", "c\n1\n2\n3\nd\n", 9),
        ] {
            assert_eq!(changed(old.as_bytes(), new.as_bytes()), expected, "{old:?} to {new:?}");
        }
    }
}
