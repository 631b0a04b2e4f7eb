//! Similarity of one text to very many others.
//!
//! It is based on the optimal string alignment distance: insertions, deletions, substitutions, and
//! transpositions of neighbours.

/// The most letters of a compared text.
pub const LONGEST: usize = 128;

/// The fewest pairs of letters by which texts are compared.
const MIN_PAIRS: usize = 2;

/// The share of its pairs from which a text is a part of another, and the weight of that share.
const MIN_PART: f64 = 0.75;
const OF_A_PART: f64 = 0.7;

/// The set of letters of an ASCII text as bits; a quick upper bound of similarity.
pub fn letters(text: &str) -> u64 {
    text.bytes().fold(0, |bits, byte| bits | 1 << (byte % 64))
}

/// An upper bound of [`Likeness::with`] for texts with these letters, the longer of which has `long`.
pub fn most_alike(one: u64, other: u64, long: usize) -> f64 {
    // Each change of a letter brings or takes at most one of the set.
    let changes = (one & !other).count_ones().max((other & !one).count_ones());
    1.0 - f64::from(changes) / long.max(1) as f64
}

/// A signature of a text: its letters, those that occur at least twice, and its length. It excludes most dissimilar
/// texts.
#[derive(Debug, Clone, Copy)]
pub struct Bag(u64);

impl Bag {
    /// The signature of a text of ASCII letters and digits.
    pub fn of(text: &str) -> Self {
        let (mut once, mut twice) = (0_u64, 0_u64);
        for byte in text.bytes() {
            let bit = 1 << (byte % 32);
            twice |= once & bit;
            once |= bit;
        }
        // Two letters may share a bit among those that occur twice: the bound is weaker then, but still valid.
        let twice = (twice | twice >> 24) & 0xff_ffff;
        Self(once << 32 | twice << 8 | text.len().min(255) as u64)
    }

    /// An upper bound of [`Likeness::with`] for texts with these signatures.
    pub fn most_alike(self, other: Self) -> f64 {
        let (letters, others) = (self.0 >> 8, other.0 >> 8);
        let (length, other) = ((self.0 & 0xff) as u32, (other.0 & 0xff) as u32);
        let changes = (letters & !others).count_ones().max((others & !letters).count_ones());
        let changes = changes.max(length.abs_diff(other));
        1.0 - f64::from(changes) / f64::from(length.max(other).max(1))
    }
}

/// A text to be compared with many.
pub struct Likeness {
    letters: usize,
    text: String,
}

impl Likeness {
    pub fn of(text: &str) -> Self {
        Self { letters: text.chars().count(), text: text.to_owned() }
    }

    /// From 0 (nothing in common) to 1 (equal): one minus the distance as a share of the longer text's
    /// letters. Also 0 if it cannot reach `least`, or a text is too long.
    pub fn with(&self, other: &str, least: f64) -> f64 {
        if self.text == other {
            return 1.0;
        }
        let letters = if other.is_ascii() { other.len() } else { other.chars().count() };
        let (short, long) = (self.letters.min(letters), self.letters.max(letters));
        // The difference in length is a lower bound of the distance.
        if long > LONGEST || (short as f64) < least * long as f64 {
            return 0.0;
        }
        1.0 - strsim::osa_distance(&self.text, other) as f64 / long as f64
    }
}

/// The pairs of neighbouring letters of a text, to compare it with many that share no word and few places with it.
pub struct Pairs(Vec<[u8; 2]>);

impl Pairs {
    pub fn of(text: &str) -> Self {
        let mut pairs = Self(Vec::new());
        pairs.set(text);
        pairs
    }

    /// Takes those of another text.
    pub fn set(&mut self, text: &str) {
        self.0.clear();
        self.0.extend(text.as_bytes().windows(2).map(|pair| [pair[0], pair[1]]));
        self.0.sort_unstable();
        self.0.dedup();
    }

    /// From 0 to 1: the Dice coefficient of the pairs, or most of their share in the longer text if the shorter is
    /// hardly more than a part of it.
    pub fn alike(&self, other: &Self) -> f64 {
        let (short, long) =
            if self.0.len() <= other.0.len() { (&self.0, &other.0) } else { (&other.0, &self.0) };
        if short.len() < MIN_PAIRS {
            return 0.0;
        }
        let common = short.iter().filter(|pair| long.binary_search(pair).is_ok()).count() as f64;
        let dice = 2.0 * common / (short.len() + long.len()) as f64;
        let part = common / short.len() as f64;
        dice.max(if part >= MIN_PART { part * OF_A_PART } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]
        #[test]
        fn a_bound_never_says_less_than_there_is(a in "[a-z0-9-]{0,16}", b in "[a-z0-9-]{0,16}|[ab]{0,16}") {
            let alike = Likeness::of(&a).with(&b, 0.0);
            let long = a.len().max(b.len());
            prop_assert!(most_alike(letters(&a), letters(&b), long) >= alike, "{a} {b}: {alike}");
            prop_assert!(Bag::of(&a).most_alike(Bag::of(&b)) >= alike, "{a} {b}: {alike}");
        }
    }

    #[test]
    fn parts_and_mixed_letters_are_alike_by_pairs() {
        let alike = |a: &str, b: &str| Pairs::of(a).alike(&Pairs::of(b));
        for (near, far, name) in [
            ("tation", "station", "croprotation"),
            ("mortisetenon", "tenants", "mortiseandtenon"),
            ("croprotaton", "carrots", "croprotation"),
        ] {
            assert!(alike(near, name) > alike(far, name), "{near} {far} {name}");
            assert!(alike(near, name) >= 0.5 && alike(name, near) == alike(near, name), "{near}");
        }
        assert_eq!((alike("ab", "ab"), alike("", "abc"), alike("abc", "abc")), (0.0, 0.0, 1.0));
    }

    #[test]
    fn what_is_too_long_is_like_nothing_but_itself() {
        let long = "a".repeat(300);
        assert_eq!(Likeness::of(&long).with(&long, 0.5), 1.0);
        assert_eq!(Likeness::of(&long).with("a", 0.0), 0.0);
        assert_eq!(Likeness::of("a").with(&long, 0.0), 0.0);
    }
}
