//! The name under which a steward is registered.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// SmartHole's limit, in characters.
const MAX: usize = 64;

/// Converts a name to what SmartHole accepts: a letter, then letters, digits, `-` and `_`, at most
/// 64 in all. Removes accents, and replaces other characters by `-`. `None` if no letter is left.
pub fn registered(name: &str) -> Option<String> {
    let mut taken = String::new();
    for letter in name.nfd().filter(|letter| !is_combining_mark(*letter)) {
        if letter.is_ascii_alphabetic() || (!taken.is_empty() && letter.is_ascii_digit()) {
            taken.push(letter);
        } else if !taken.is_empty() && letter == '_' {
            taken.push('_');
        } else if !taken.is_empty() && !taken.ends_with('-') && letter != '\'' {
            taken.push('-');
        }
    }
    taken.truncate(MAX);
    let kept = taken.trim_end_matches('-');
    (!kept.is_empty()).then(|| kept.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_with_spaces_becomes_one_that_is_taken() {
        for (name, taken) in [
            ("obsidian", Some("obsidian")),
            ("Miss Simone", Some("Miss-Simone")),
            ("  Zoë's  notes! ", Some("Zoes-notes")),
            ("7th heaven", Some("th-heaven")),
            ("my_vault", Some("my_vault")),
            ("ノート", None),
            ("", None),
        ] {
            assert_eq!(registered(name).as_deref(), taken, "{name:?}");
        }
        assert_eq!(registered(&"a".repeat(80)).unwrap().len(), 64);
    }

    proptest! {
        #[test]
        fn what_is_made_is_taken_and_stays_as_it_is(name in ".*") {
            if let Some(taken) = registered(&name) {
                prop_assert!(taken.len() <= MAX && taken.as_bytes()[0].is_ascii_alphabetic());
                prop_assert!(taken.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)));
                prop_assert_eq!(registered(&taken), Some(taken.clone()));
            }
        }
    }
}
