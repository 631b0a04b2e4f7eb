//! Which bits the signature of a text must have for a pattern to match, derived from the pattern's structure.
//!
//! Every match contains certain adjacent letters, two, three or four: those of literals, of the alternatives of
//! an alternation, of the members of a small class. A [`Plan`] never excludes a text with a match. A part that
//! is not known (`.`, one letter) needs nothing. How plans are made: `strings`.

use super::signature::SEQUENCES;
#[cfg(any(test, feature = "conformance"))]
use super::signature::Signature;

/// A necessary condition for a text to match.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Plan {
    /// Any text may match.
    All,
    /// No text matches.
    Nothing,
    /// It has this bit of the signature.
    Row(u16),
    And(Vec<Plan>),
    Or(Vec<Plan>),
}

impl Plan {
    /// Whether every text that it allows has a bit of a sequence; other bits exclude less.
    pub(super) fn asks_for_sequences(&self) -> bool {
        match self {
            Self::All => false,
            Self::Nothing => true,
            Self::Row(bit) => usize::from(*bit) < SEQUENCES,
            Self::And(all) => all.iter().any(Self::asks_for_sequences),
            Self::Or(any) => any.iter().all(Self::asks_for_sequences),
        }
    }

    /// Whether a text with this signature may match.
    #[cfg(any(test, feature = "conformance"))]
    pub fn allows(&self, signature: &Signature) -> bool {
        match self {
            Self::All => true,
            Self::Nothing => false,
            Self::Row(row) => signature[usize::from(row / 64)] >> (row % 64) & 1 == 1,
            Self::And(all) => all.iter().all(|plan| plan.allows(signature)),
            Self::Or(any) => any.iter().any(|plan| plan.allows(signature)),
        }
    }
}

pub(super) fn and(plans: Vec<Plan>) -> Plan {
    let mut all = Vec::new();
    for plan in plans {
        match plan {
            Plan::All => {}
            Plan::Nothing => return Plan::Nothing,
            Plan::And(more) => all.extend(more),
            plan => all.push(plan),
        }
    }
    // Rows come first: they are the cheapest to check, and the others check only the notes that pass.
    all.sort_unstable();
    all.dedup();
    match all.len() {
        0 => Plan::All,
        1 => all.remove(0),
        _ => Plan::And(all),
    }
}

pub(super) fn or(plans: Vec<Plan>) -> Plan {
    let mut any = Vec::new();
    for plan in plans {
        match plan {
            Plan::All => return Plan::All,
            Plan::Nothing => {}
            Plan::Or(more) => any.extend(more),
            plan => any.push(plan),
        }
    }
    any.sort_unstable();
    any.dedup();
    match any.len() {
        0 => Plan::Nothing,
        1 => any.remove(0),
        _ => Plan::Or(any),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::search::matcher::{self, Pattern};
    use crate::index::text::signature;
    use crate::index::text::strings::Alphabet;

    fn plan(pattern: &str) -> Plan {
        matcher::Pattern::compile(pattern, None).expect("a pattern").plan().clone()
    }

    fn rows(text: &str) -> Plan {
        of(Alphabet::Letters, text.as_bytes())
    }

    fn kinds(text: &[u8]) -> Plan {
        of(Alphabet::Kinds, text)
    }

    fn of(alphabet: Alphabet, text: &[u8]) -> Plan {
        let spelt = alphabet.spell(text).expect("characters");
        alphabet.of_string(spelt.first().expect("one line"))
    }

    #[test]
    fn literals_alternatives_classes_and_repetitions_are_used() {
        assert_eq!(plan("needle"), rows("needle"));
        assert_eq!(plan("Needle"), rows("needle"), "the signature has no case");
        assert_eq!(plan("abcd|efgh"), or(vec![rows("abcd"), rows("efgh")]));
        assert_eq!(plan("(abc){2}"), rows("abcabc"));
        assert_eq!(plan("abc[xy]"), or(vec![rows("abcx"), rows("abcy")]));
        assert_eq!(plan("abc?de"), or(vec![rows("abde"), rows("abcde")]));
        // A part after a wildcard is known by its first two letters sooner than by three.
        assert_eq!(plan(r"abc.*def"), and(vec![rows("abc"), rows("def"), rows("de")]));
        assert_eq!(plan(r"\bword\b"), rows("word"));
        assert_eq!(plan(r"^- \[ \]"), rows("- [ ]"));
        assert_eq!(plan("(abc)+"), rows("abc"));
        assert_eq!(plan("ab(cd)+ef"), and(vec![rows("abcd"), rows("cdef"), rows("cd")]));
        // After a wildcard four letters are known, in either case.
        assert_eq!(plan(".*wind"), and(vec![rows("wind"), rows("wi")]));
        assert_eq!(plan(".*Wind"), rows("wind"));
        assert_eq!(plan("K"), Plan::All);
    }

    #[test]
    fn relatives_outside_ascii_are_thought_of() {
        // The long s and the Kelvin sign are letters with another case, as the signature has it.
        assert_eq!(plan("task"), rows("task"));
        assert_eq!(plan("привет"), rows("привет"));
        assert_eq!(plan("σίσυφος"), rows("ΣΊΣΥΦΟΣ"));
        let wide = or(vec![rows("\u{ff41}b"), rows("\u{ff21}b")]);
        assert_eq!(plan("\u{ff41}b"), wide, "what the signature tells apart is spelt both ways");
    }

    #[test]
    fn words_beyond_ascii_are_recognised() {
        for (pattern, with, without) in [
            ("весна", "Ранняя ВЕСНА", "Ранняя осень, всё нас несёт"),
            ("été", "cet ÉTÉ-là", "cet ete, les"),
            ("会议", "今天的会议记录", "开会。议程"),
            ("猫", "这只猫", "这只狗"),
            ("✅", "done ✅", "done ❌"),
            ("don’t", "I DON’T", "don't, on’s"),
            ("第[0-9]章", "第3章", "第三章 3"),
        ] {
            let plan = plan(pattern);
            let allowed = |text: &str| plan.allows(&signature::sign(text.as_bytes()));
            assert!(allowed(with) && !allowed(without), "{pattern}: {plan:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_characters_ask_for_nothing() {
        for pattern in [r"(?-u:\xff)", r"(?-u:\xc3\xa9)"] {
            let Ok(compiled) = Pattern::compile(pattern, None) else { continue };
            for text in [&b"\xff"[..], b"x\xc3\xa9y", b"\xe4\xc3\xa9"] {
                if compiled.is_match(text) {
                    assert!(compiled.plan().allows(&signature::sign(text)), "{pattern} {text:?}");
                }
            }
        }
    }

    #[test]
    fn unknown_parts_need_nothing() {
        for pattern in
            [".*", r"\w+", "a|bcd", "x*", "(abc)*", "[a-z]+", "a?b?c?", ".{5}", "[^a]{9}"]
        {
            assert_eq!(plan(pattern), Plan::All, "{pattern}");
        }
        assert_eq!(plan(r"[^\s\S]"), Plan::Nothing);
    }

    #[test]
    fn pairs_are_used() {
        assert_eq!(plan("ab"), rows("ab"));
        assert_eq!(plan("zQ"), rows("zq"));
        assert_eq!(plan("ab|cd"), or(vec![rows("ab"), rows("cd")]));
        assert_eq!(plan("a.*cd.*e"), rows("cd"));
        assert_eq!(plan("zk"), rows("z\u{212a}"), "the Kelvin sign is a k");
        let zq = plan("zq");
        let allowed = |text: &str| zq.allows(&signature::sign(text.as_bytes()));
        assert!(allowed("a ZQ b") && !allowed("z q\nqz"));
    }

    #[test]
    fn ranges_use_kinds() {
        assert_eq!(plan("[A-Z]{9}[0-9]{9}"), kinds(b"ABCD1234"));
        assert_eq!(plan("[A-Z]+[a-z]+[0-9]{5}"), and(vec![kinds(b"a11"), kinds(b"111")]));
        assert_eq!(plan("[A-Z]{2}[0-9]"), kinds(b"AB1"));
        let mixed = plan("[A-Z]{2}_[0-9]");
        let allowed = |text: &str| mixed.allows(&signature::sign(text.as_bytes()));
        assert!(allowed("XY_1") && !allowed("Xy_1") && !allowed("XY_ 1"), "by pairs and kinds");
        let date = plan(r"\d{4}-\d{2}-\d{2}");
        let allowed = |text: &str| date.allows(&signature::sign(text.as_bytes()));
        assert!(allowed("on 2025-01-02") && allowed("\u{661}\u{661}23-1\u{7c1}-11"));
        assert!(!allowed("12 ab 34-cd") && !allowed("1234\n-"));
    }

    #[test]
    fn large_patterns_have_small_plans() {
        let words: Vec<String> = (0..150).map(|n| format!("w{n:03}")).collect();
        let any = plan(&words.join("|"));
        assert!(words.iter().all(|word| any.allows(&signature::sign(word.as_bytes()))));
        assert!(!any.allows(&signature::sign(b"words w9 w150 000")), "{any:?}");
        assert_ne!(plan("[a-m][a-m][a-m]needle[a-m][a-m][a-m]"), Plan::All);
        let Plan::And(all) = plan("ssssssssss") else { panic!("a literal") };
        assert!(all.len() < 100);
    }

    /// Checks that a line that matches is allowed by its signature.
    #[track_caller]
    fn check(pattern: &Pattern, line: impl AsRef<[u8]>) {
        let line = line.as_ref();
        if pattern.is_match(line) {
            let allowed = pattern.plan().allows(&signature::sign(line));
            assert!(allowed, "{:?}: {}", pattern.plan(), line.escape_ascii());
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(1_000))]
        #[test]
        fn no_match_is_excluded(
            pattern in "(([aksKſß.]|[kx]?|\\[[a-k]{1,2}\\]|\\([ask]{1,3}\\|[bk]{0,3}\\)|\\\\w|\\\\b)[*+?]?(\\{1,2\\})?){1,6}",
            lines in proptest::collection::vec("[abkKsSſ\u{212a}ßx ]{0,16}", 20),
        ) {
            if let Ok(pattern) = Pattern::compile(&pattern, None) {
                lines.iter().for_each(|line| check(&pattern, line));
            }
        }

        #[test]
        fn no_match_beyond_ascii_is_excluded(
            pattern in "(([aвВςéǅßİ会議🎉’ａ.]|\\[вг\\]|\\[а-я\\]|\\[一-七\\]|\\(会\\|é?\\)|\\\\w|\\\\p\\{Greek\\})[*+?]?){1,6}",
            lines in proptest::collection::vec("[aAвВᲀгσςΣéÉǄǅǆßẞİı会議三🎉’ａＡ ]{0,12}", 30),
            ignore_case in proptest::option::of(proptest::bool::ANY),
        ) {
            if let Ok(pattern) = Pattern::compile(&pattern, ignore_case) {
                lines.iter().for_each(|line| check(&pattern, line));
            }
        }

        #[test]
        fn no_match_in_invalid_utf8_is_excluded(
            pattern in "(([aé会🎉]|\\(\\?-u:(\\\\xc3|\\\\xa9|\\\\xe4\\\\xbc|\\[\\\\xa9\\\\xaa\\]|\\\\xff|[a.])\\))[*+?]?){1,5}",
            lines in proptest::collection::vec(
                proptest::collection::vec(
                    proptest::sample::select(vec![
                        &b"a"[..], b"\xc3", b"\xa9", b"\xc3\xa9", b"\xe4\xbc", b"\xe4\xbc\x9a",
                        b"\xff", b"\xf0\x9f\x8e\x89", b"\xf0\x9f", b" ",
                    ]),
                    0..8,
                ),
                30,
            ),
        ) {
            if let Ok(pattern) = Pattern::compile(&pattern, None) {
                lines.iter().for_each(|line| check(&pattern, line.concat()));
            }
        }

        #[test]
        fn no_match_of_ranges_is_excluded(
            pattern in "(([aZ1é-]|\\[A-Z\\]|\\[a-z\\]|\\[0-9_\\]|\\[\\^ab\\]|\\[Z-é\\]|\\\\[dws]|\\.|\\(ab\\|[A1]{0,2}\\))([*+?]|\\{[1-5]\\}|\\{2,\\})?){1,5}",
            lines in proptest::collection::vec("[abzABZ019_é\u{661}\u{7c1}\u{ff11}\u{1d7ce} -]{0,12}", 30),
            ignore_case in proptest::option::of(proptest::bool::ANY),
        ) {
            if let Ok(pattern) = Pattern::compile(&pattern, ignore_case) {
                lines.iter().for_each(|line| check(&pattern, line));
            }
        }
    }
}
