//! Which signatures a pattern's matches can have, from the pattern's own structure.
//!
//! Every match of a pattern contains certain trigrams: those of its literals, of the alternatives of
//! an alternation, of the members of a small class. A [`Plan`] says which rows a piece of text must
//! have to hold a match at all; it never leaves out one that does. What cannot be told (`.`, a large
//! class, two letters) asks for nothing.
//!
//! Sets of short strings are carried up the tree as in Russ Cox's "Regular Expression Matching with
//! a Trigram Index": all a part can match where these are few, else how its matches begin and end.
//! They are strings of classes (`signature`), so an ignored case costs no alternatives but for the
//! letters that have relatives outside ASCII: k with the Kelvin sign, s with the long s. Those are
//! members of the class that the parser makes of the letter.

use regex_syntax::hir::{Class, Hir, HirKind};

use super::signature::{self, ROWS, Signature};

/// Strings carried for one part of the pattern; more are given up for what all have in common.
const MAX_STRINGS: usize = 64;

/// Characters of a class that is written out.
const MAX_MEMBERS: u32 = 64;

/// Copies that a repetition is written out as.
const MAX_COPIES: u32 = 4;

/// What a text must have to hold a match.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Plan {
    /// Any text may hold one.
    All,
    /// No text does.
    Nothing,
    /// The bit of this row.
    Row(u16),
    /// All of these.
    And(Vec<Plan>),
    /// One of these.
    Or(Vec<Plan>),
}

/// A bit for each column of a block.
pub type Mask = [u64; 8];

impl Plan {
    /// The plan for a pattern.
    pub fn of(hir: &Hir) -> Self {
        let part = Part::of(hir);
        match part.all {
            Some(all) => of_strings(&all),
            None => part.plan,
        }
    }

    /// Whether a text with this signature may hold a match.
    pub fn allows(&self, signature: &Signature) -> bool {
        match self {
            Self::All => true,
            Self::Nothing => false,
            Self::Row(row) => signature[usize::from(row / 64)] >> (row % 64) & 1 == 1,
            Self::And(all) => all.iter().all(|plan| plan.allows(signature)),
            Self::Or(any) => any.iter().any(|plan| plan.allows(signature)),
        }
    }

    /// The columns that may hold a match, among those of `within`.
    pub(super) fn select(&self, rows: &[Mask], within: &Mask) -> Mask {
        match self {
            Self::All => *within,
            Self::Nothing => [0; 8],
            Self::Row(row) => both(&rows[usize::from(*row) % ROWS], within),
            Self::And(all) => {
                let mut left = *within;
                for plan in all {
                    left = plan.select(rows, &left);
                    if left == [0; 8] {
                        break;
                    }
                }
                left
            }
            Self::Or(any) => {
                let mut found = [0; 8];
                for plan in any {
                    let more = plan.select(rows, within);
                    found = std::array::from_fn(|at| found[at] | more[at]);
                    if found == *within {
                        break;
                    }
                }
                found
            }
        }
    }
}

fn both(a: &Mask, b: &Mask) -> Mask {
    std::array::from_fn(|at| a[at] & b[at])
}

/// A string of classes.
type Classes = Vec<u8>;

/// What is known of the matches of a part of the pattern.
#[derive(Debug, Clone)]
struct Part {
    /// All that it can match, if that is known.
    all: Option<Vec<Classes>>,
    /// How each match begins, and how it ends, where `all` is not known: at most two classes.
    starts: Vec<Classes>,
    ends: Vec<Classes>,
    /// What else each match asks for, where `all` is not known.
    plan: Plan,
}

impl Part {
    fn of(hir: &Hir) -> Self {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => Self::exactly(vec![Classes::new()]),
            HirKind::Literal(literal) => match folded(&literal.0) {
                Some(classes) => Self::exactly(vec![classes]),
                None => Self::exactly(Vec::new()),
            },
            HirKind::Class(class) => Self::of_class(class),
            HirKind::Capture(capture) => Self::of(&capture.sub),
            HirKind::Concat(parts) => {
                let first = Self::exactly(vec![Classes::new()]);
                parts.iter().map(Self::of).fold(first, Self::then)
            }
            HirKind::Alternation(parts) => Self::one_of(parts.iter().map(Self::of).collect()),
            HirKind::Repetition(repetition) => {
                let part = Self::of(&repetition.sub);
                if repetition.min == 0 {
                    return match (repetition.max, part.all) {
                        (Some(1), Some(mut all)) => {
                            all.push(Classes::new());
                            Self::exactly(all)
                        }
                        (Some(0), _) => Self::exactly(vec![Classes::new()]),
                        _ => Self::anything(),
                    };
                }
                let copies = repetition.min.min(MAX_COPIES);
                let written = (1..copies).fold(part.clone(), |so_far, _| so_far.then(part.clone()));
                match repetition.max == Some(copies) {
                    true => written,
                    // More of it may follow: only how it begins and how it ends is known.
                    false => written.given_up(),
                }
            }
        }
    }

    fn of_class(class: &Class) -> Self {
        let mut strings = Vec::new();
        match class {
            Class::Unicode(class) => {
                let length = |range: &regex_syntax::hir::ClassUnicodeRange| {
                    u32::from(range.end()) - u32::from(range.start()) + 1
                };
                let members = class.iter().map(length).fold(0, u32::saturating_add);
                if members > MAX_MEMBERS {
                    return Self::anything();
                }
                for member in class.iter().flat_map(|range| range.start()..=range.end()) {
                    strings.extend(folded(member.encode_utf8(&mut [0; 4]).as_bytes()));
                }
            }
            Class::Bytes(class) => {
                for byte in class.iter().flat_map(|range| range.start()..=range.end()) {
                    strings.extend(folded(&[byte]));
                }
            }
        }
        Self::exactly(strings)
    }

    fn exactly(mut all: Vec<Classes>) -> Self {
        all.sort_unstable();
        all.dedup();
        let part = Self { all: Some(all), ..Self::anything() };
        match part.all.as_ref().is_some_and(|all| all.len() > MAX_STRINGS) {
            true => part.given_up(),
            false => part,
        }
    }

    fn anything() -> Self {
        let unknown = vec![Classes::new()];
        Self { all: None, starts: unknown.clone(), ends: unknown, plan: Plan::All }
    }

    /// The same with less known: where it begins, where it ends, which rows it asks for.
    fn given_up(self) -> Self {
        match &self.all {
            None => self,
            Some(all) => Self {
                starts: starts(all.clone()),
                ends: ends(all.clone()),
                plan: of_strings(all),
                all: None,
            },
        }
    }

    /// This and then another.
    fn then(self, next: Self) -> Self {
        if let (Some(here), Some(there)) = (&self.all, &next.all)
            && let Some(all) = product(here, there)
        {
            return Self::exactly(all);
        }
        let here = self.all.as_ref().unwrap_or(&self.ends);
        let there = next.all.as_ref().unwrap_or(&next.starts);
        let seam = product(here, there);
        let starts = match &self.all {
            Some(_) => seam.clone().map_or_else(|| starts(here.clone()), starts),
            None => self.starts.clone(),
        };
        let ends = match &next.all {
            Some(_) => seam.clone().map_or_else(|| ends(there.clone()), ends),
            None => next.ends.clone(),
        };
        let plan = match seam {
            // Holds what either asks for.
            Some(seam) => and(vec![self.plan, next.plan, of_strings(&seam)]),
            None => {
                let (here, there) = (self.given_up(), next.given_up());
                let seam = product(&here.ends, &there.starts);
                let seam = seam.map_or(Plan::All, |seam| of_strings(&seam));
                and(vec![here.plan, there.plan, seam])
            }
        };
        Self { all: None, starts, ends, plan }
    }

    fn one_of(parts: Vec<Self>) -> Self {
        let known: Option<Vec<&Vec<Classes>>> =
            parts.iter().map(|part| part.all.as_ref()).collect();
        if let Some(known) = known
            && known.iter().map(|all| all.len()).sum::<usize>() <= MAX_STRINGS
        {
            return Self::exactly(known.into_iter().flatten().cloned().collect());
        }
        let parts: Vec<Self> = parts.into_iter().map(Self::given_up).collect();
        Self {
            all: None,
            starts: starts(parts.iter().flat_map(|part| part.starts.clone()).collect()),
            ends: ends(parts.iter().flat_map(|part| part.ends.clone()).collect()),
            plan: or(parts.into_iter().map(|part| part.plan).collect()),
        }
    }
}

/// The classes of these bytes; `None` if there is a line end among them, which no line has.
fn folded(bytes: &[u8]) -> Option<Classes> {
    bytes.iter().map(|byte| signature::class(*byte)).collect()
}

/// Each of the one followed by each of the other, if these are few.
fn product(here: &[Classes], there: &[Classes]) -> Option<Vec<Classes>> {
    if here.len() * there.len() > MAX_STRINGS {
        return None;
    }
    let each = |a: &Classes| there.iter().map(|b| [&a[..], b].concat()).collect::<Vec<_>>();
    Some(here.iter().flat_map(each).collect())
}

/// At most the first two classes of each, fewer if that would be too many strings.
fn starts(strings: Vec<Classes>) -> Vec<Classes> {
    cut(strings, |string, length| string.truncate(length))
}

/// At most the last two classes of each.
fn ends(strings: Vec<Classes>) -> Vec<Classes> {
    cut(strings, |string, length| drop(string.drain(..string.len().saturating_sub(length))))
}

fn cut(mut strings: Vec<Classes>, to: impl Fn(&mut Classes, usize)) -> Vec<Classes> {
    for length in [2, 1, 0] {
        strings.iter_mut().for_each(|string| to(string, length));
        strings.sort_unstable();
        strings.dedup();
        if strings.len() <= MAX_STRINGS / 4 {
            break;
        }
    }
    strings
}

/// What a text with one of these strings has.
fn of_strings(strings: &[Classes]) -> Plan {
    or(strings.iter().map(|string| of_string(string)).collect())
}

fn of_string(string: &[u8]) -> Plan {
    let row = |three: &[u8]| Plan::Row(signature::row([three[0], three[1], three[2]]));
    and(string.windows(3).map(row).collect())
}

fn and(plans: Vec<Plan>) -> Plan {
    let mut all = Vec::new();
    for plan in plans {
        match plan {
            Plan::All => {}
            Plan::Nothing => return Plan::Nothing,
            Plan::And(more) => all.extend(more),
            plan => all.push(plan),
        }
    }
    // Rows come first: the cheapest to ask, and what they leave the others need not look at.
    all.sort_unstable();
    all.dedup();
    match all.len() {
        0 => Plan::All,
        1 => all.remove(0),
        _ => Plan::And(all),
    }
}

fn or(plans: Vec<Plan>) -> Plan {
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

    fn plan(pattern: &str) -> Plan {
        matcher::Pattern::compile(pattern, None).expect("a pattern").plan().clone()
    }

    fn rows(text: &str) -> Plan {
        of_string(&folded(text.as_bytes()).expect("one line"))
    }

    #[test]
    fn literals_alternatives_classes_and_repetitions_are_used() {
        assert_eq!(plan("needle"), rows("needle"));
        assert_eq!(plan("Needle"), rows("needle"), "the signature has no case");
        assert_eq!(plan("abcd|efgh"), or(vec![rows("abcd"), rows("efgh")]));
        assert_eq!(plan("(abc){2}"), rows("abcabc"));
        assert_eq!(plan("abc[xy]"), or(vec![rows("abcx"), rows("abcy")]));
        assert_eq!(plan("abc?de"), or(vec![rows("abde"), rows("abcde")]));
        assert_eq!(plan(r"abc.*def"), and(vec![rows("abc"), rows("def")]));
        assert_eq!(plan(r"\bword\b"), rows("word"));
        assert_eq!(plan(r"^- \[ \]"), rows("- [ ]"));
        assert_eq!(plan("(abc)+"), rows("abc"));
        assert_eq!(plan("ab(cd)+ef"), and(vec![rows("abcd"), rows("cdef")]));
        assert_eq!(plan("K"), Plan::All);
    }

    #[test]
    fn relatives_outside_ascii_are_thought_of() {
        let task = or(vec![
            rows("task"),
            rows("ta\u{17f}k"),
            rows("tas\u{212a}"),
            rows("ta\u{17f}\u{212a}"),
        ]);
        assert_eq!(plan("task"), task);
        assert_eq!(plan("Task"), rows("task"), "with a capital case counts");
    }

    #[test]
    fn what_cannot_be_told_asks_for_nothing() {
        for pattern in ["ab", ".*", r"\w+", "a|bcd", "x*", "(abc)*", r"\d{4}", "[a-z]+", "a?b?c?"] {
            assert_eq!(plan(pattern), Plan::All, "{pattern}");
        }
        assert_eq!(plan(r"[^\s\S]"), Plan::Nothing);
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

    /// Every line that matches is allowed by its signature.
    #[track_caller]
    fn check(pattern: &Pattern, line: &str) {
        if pattern.is_match(line.as_bytes()) {
            let signature = signature::sign(line.as_bytes());
            assert!(pattern.plan().allows(&signature), "{:?}: {line:?}", pattern.plan());
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(1_000))]
        #[test]
        fn no_match_is_left_out(
            pattern in "(([aksKſß.]|[kx]?|\\[[a-k]{1,2}\\]|\\([ask]{1,3}\\|[bk]{0,3}\\)|\\\\w|\\\\b)[*+?]?(\\{1,2\\})?){1,6}",
            lines in proptest::collection::vec("[abkKsSſ\u{212a}ßx ]{0,16}", 20),
        ) {
            if let Ok(pattern) = Pattern::compile(&pattern, None) {
                lines.iter().for_each(|line| check(&pattern, line));
            }
        }
    }
}
