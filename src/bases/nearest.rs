//! Suggests a known name for an unknown one.

/// The known name nearest to `name`: equal but for case, else by edit distance; of equally near ones the first.
pub fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let folded = name.to_lowercase();
    let letters = folded.chars().count();
    // A name that differs in half of its letters is another name.
    let is_near = |distance: usize, of_known: usize| {
        distance == 0 || distance <= 1 + of_known / 4 && distance * 2 < of_known.min(letters)
    };
    let counted = letter_counts(&folded);
    let distance = |known: &str| {
        let known = known.to_lowercase();
        let of_known = known.chars().count();
        // Lower bounds of the distance, cheap for thousands of names.
        let may_be_near = is_near(of_known.abs_diff(letters), of_known)
            && is_near(missing_letters(&counted, &self::letter_counts(&known)), of_known);
        let distance = may_be_near.then(|| strsim::osa_distance(&folded, &known));
        distance.filter(|distance| is_near(*distance, of_known))
    };
    known
        .filter_map(|known| Some((distance(known)?, known)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

/// The hint with the known name nearest to `name`.
pub fn did_you_mean<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<String> {
    nearest(name, known).map(|near| format!("did you mean `{near}`?"))
}

/// How often each letter occurs, where letters with equal low bits count as one.
fn letter_counts(name: &str) -> [u16; 32] {
    let mut counts = [0; 32];
    for letter in name.chars() {
        let count: &mut u16 = &mut counts[letter as usize % 32];
        *count = count.saturating_add(1);
    }
    counts
}

/// The number of letters of `other` that `one` lacks: an edit adds at most one of them.
fn missing_letters(one: &[u16; 32], other: &[u16; 32]) -> usize {
    let lacks = |of: &[u16; 32], in_: &[u16; 32]| {
        of.iter().zip(in_).map(|(of, in_)| usize::from(of.saturating_sub(*in_))).sum::<usize>()
    };
    lacks(one, other).max(lacks(other, one))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn missing_letters_never_exceed_the_distance(one in "[a-eé0-9 /]{0,12}", other in "[a-eé0-9 /]{0,12}") {
            prop_assert!(missing_letters(&letter_counts(&one), &letter_counts(&other)) <= strsim::osa_distance(&one, &other));
        }
    }
}
