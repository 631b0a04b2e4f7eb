//! The meaning of a text as a vector of length 1: the mean of the vectors of its tokens.
//!
//! The model is Minish Lab's potion-base-8M in 8 bits, which is part of the program
//! (`data/potion-base-8m`). It is good at English and has some knowledge of other languages; a
//! chunk takes a fraction of a millisecond.

pub mod minilm;
mod passages;
pub(super) mod vectors;
mod wordpiece;

use std::sync::LazyLock;

/// Numbers in a vector.
const DIMENSIONS: usize = 256;

/// The model's name.
pub(super) const MODEL: &str = "potion-base-8M";

/// The SHA-256 of the model's file.
const MODEL_SUM: &str = "b388087a522383ac723934486806b2176f3d2c686983016aba965dcd2135f619";

/// The first bytes of a model file.
const MAGIC: &[u8] = b"steward static 1";

static BUILT_IN: LazyLock<Option<Model>> =
    LazyLock::new(|| Model::read(include_bytes!("../../../../data/potion-base-8m/model.i8")));

/// A static model: a vector for each token. `scripts/potion.py` documents the format of its file.
struct Model {
    vocabulary: wordpiece::Vocabulary,
    /// By token: the scale of its row.
    scales: &'static [u8],
    rows: &'static [u8],
}

impl Model {
    /// Reads a model file; `None` if it is damaged.
    fn read(file: &'static [u8]) -> Option<Self> {
        let rest = file.strip_prefix(MAGIC)?;
        let (count, rest) = rest.split_first_chunk::<4>()?;
        let (dimensions, rest) = rest.split_first_chunk::<4>()?;
        let count = u32::from_le_bytes(*count) as usize;
        if u32::from_le_bytes(*dimensions) as usize != DIMENSIONS {
            return None;
        }
        let (ends, rest) = rest.split_at_checked(count.checked_mul(4)?)?;
        let (scales, rest) = rest.split_at_checked(ends.len())?;
        let (rows, names) = rest.split_at_checked(count.checked_mul(DIMENSIONS)?)?;
        Some(Self { vocabulary: wordpiece::Vocabulary::new(ends, names)?, scales, rows })
    }

    fn add(&self, token: usize, sum: &mut [f32; DIMENSIONS]) {
        let row = &self.rows[token * DIMENSIONS..][..DIMENSIONS];
        let scale = f32::from_le_bytes(std::array::from_fn(|at| self.scales[token * 4 + at]));
        for (sum, value) in sum.iter_mut().zip(row) {
            *sum += scale * f32::from(value.cast_signed());
        }
    }

    fn embed(&self, text: &str) -> Option<Vector> {
        let mut sum = [0.0; DIMENSIONS];
        self.vocabulary.tokens(text, None, |token| self.add(token, &mut sum));
        Vector::of(&sum)
    }
}

/// The number of sums in which vectors are multiplied.
const SUMS: usize = 8;

/// The meaning of a text: a vector of length 1 in 8 bits a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Vector<const D: usize = DIMENSIONS> {
    row: [i8; D],
    scale: f32,
}

impl<const D: usize> Vector<D> {
    /// The vector of a text without a known word; nothing is near to it.
    const NONE: Self = Self { row: [0; D], scale: 0.0 };

    /// A vector from its bytes.
    fn of_row(row: &[u8]) -> Self {
        let row = std::array::from_fn(|at| row.get(at).map_or(0, |value| value.cast_signed()));
        // Of the rounded numbers, so that the cosine of a vector with itself is 1.
        let squares: i32 = row.iter().map(|value| i32::from(*value).pow(2)).sum();
        let scale = if squares == 0 { 0.0 } else { 1.0 / (squares as f32).sqrt() };
        Self { row, scale }
    }

    /// Rounds a vector of any length but 0.
    fn of(values: &[f32; D]) -> Option<Self> {
        let most = values.iter().fold(0.0f32, |most, value| most.max(value.abs()));
        if !(most > 0.0 && most.is_finite()) {
            return None;
        }
        let row = values.map(|value| ((value / most * 127.0).round() as i8).cast_unsigned());
        Some(Self::of_row(&row))
    }

    /// The cosine of the angle to another vector: 1 for the same meaning, about 0 for an unrelated one.
    pub fn cosine(&self, other: &Self) -> f32 {
        // Compilers make vector instructions of several sums, in less than half the time of one: a search multiplies with
        // the vectors of all notes.
        let (rows, others) = (self.row.as_chunks::<SUMS>(), other.row.as_chunks::<SUMS>());
        let mut sums = [0; SUMS];
        for (row, other) in rows.0.iter().zip(others.0) {
            for ((sum, a), b) in sums.iter_mut().zip(row).zip(other) {
                *sum += i32::from(*a) * i32::from(*b);
            }
        }
        let rest = rows.1.iter().zip(others.1).map(|(a, b)| i32::from(*a) * i32::from(*b));
        let sum = sums.iter().sum::<i32>() + rest.sum::<i32>();
        sum as f32 * self.scale * other.scale
    }
}

/// The meaning of a text; `None` if the model knows none of its words.
pub(super) fn of(text: &str) -> Option<Vector> {
    BUILT_IN.as_ref()?.embed(text)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;
    use serde::Deserialize;
    use sha2::{Digest as _, Sha256};

    use super::*;

    /// A text with the vector of the original model.
    #[derive(Deserialize)]
    struct Reference {
        text: String,
        tokens: Vec<String>,
        /// In thousandths.
        vector: Vec<i16>,
    }

    fn references() -> Vec<Reference> {
        let text = include_str!("../../../../fixtures/knowledge/potion.json");
        serde_json::from_str(text).expect("references")
    }

    fn model() -> &'static Model {
        BUILT_IN.as_ref().expect("the model is sound")
    }

    #[test]
    fn the_model_is_the_one_that_its_notice_names() {
        let file = include_bytes!("../../../../data/potion-base-8m/model.i8");
        let sum: String = Sha256::digest(file).iter().map(|byte| format!("{byte:02x}")).collect();
        let notice = include_str!("../../../../data/potion-base-8m/README.md");
        assert!(sum == MODEL_SUM && notice.contains(&sum), "{sum}");
    }

    #[test]
    fn tokens_are_those_of_the_original() {
        for Reference { text, tokens, .. } in references() {
            let mut found = Vec::new();
            model()
                .vocabulary
                .tokens(&text, None, |token| found.push(model().vocabulary.name(token)));
            let tokens: Vec<&[u8]> = tokens.iter().map(|token| token.as_bytes()).collect();
            assert_eq!(found, tokens, "{text:?}");
        }
    }

    #[test]
    fn vectors_are_those_of_the_original() {
        for Reference { text, vector, .. } in references() {
            let Some(found) = of(&text) else {
                assert!(vector.is_empty(), "{text:?}");
                continue;
            };
            let expected: Vec<f32> = vector.iter().map(|value| f32::from(*value)).collect();
            let length = expected.iter().map(|value| value * value).sum::<f32>().sqrt();
            let pairs = found.row.iter().zip(&expected);
            let product: f32 = pairs.map(|(a, b)| f32::from(*a) * b).sum();
            let cosine = product * found.scale / length;
            assert!((0.999..1.001).contains(&cosine), "{cosine} for {text:?}");
        }
    }

    #[test]
    fn alike_in_meaning_is_near() {
        let near = |a: &str, b: &str| of(a).zip(of(b)).map(|(a, b)| a.cosine(&b));
        let (alike, other) = (
            near("the car is broken", "a damaged vehicle"),
            near("the car is broken", "green tea"),
        );
        assert!(alike > other, "{alike:?} {other:?}");
        assert!(near("tea", "tea").is_some_and(|same| (same - 1.0).abs() < 0.01));
        assert_eq!(of(""), None);
        assert_eq!(of("\u{10330}"), None);
    }

    #[test]
    fn a_model_that_is_cut_or_of_another_form_is_not_read() {
        let file: &'static [u8] = include_bytes!("../../../../data/potion-base-8m/model.i8");
        for end in [0, 10, 16, 20, 24, 1_000, 500_000, file.len() - 1] {
            assert!(Model::read(&file[..end]).is_none(), "{end}");
        }
        assert!(Model::read(&file[1..]).is_none());
    }

    /// The longest pieces of a word, found by trying every length.
    fn by_trial(known: &HashMap<&[u8], usize>, word: &str) -> Vec<usize> {
        let (mut pieces, mut rest) = (Vec::new(), word);
        while !rest.is_empty() {
            let prefix = if pieces.is_empty() { "" } else { "##" };
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
            let mut tried = ends.filter_map(|end| {
                known.get(format!("{prefix}{}", &rest[..end]).as_bytes()).map(|token| (*token, end))
            });
            let Some((token, end)) = tried.next() else { return Vec::new() };
            pieces.push(token);
            rest = &rest[end..];
        }
        pieces
    }

    proptest! {
        #[test]
        fn any_text_has_tokens(text in "(\\PC|[a-z#' ]|\\p{M}|\\s){0,40}") {
            model().vocabulary.tokens(&text, None, |token| assert!(!model().vocabulary.name(token).is_empty()));
            prop_assert!(of(&text).is_none_or(|found| (found.cosine(&found) - 1.0).abs() < 0.001));
        }

        #[test]
        fn the_pieces_of_a_word_are_the_longest(words in prop::collection::vec("[a-zαβγ0-9]{1,12}|un(do|believ|like)(able|ing|ly)", 1..20)) {
            let vocabulary = &model().vocabulary;
            let count = include_bytes!("../../../../data/potion-base-8m/model.i8")[16..20].try_into();
            let count = u32::from_le_bytes(count.expect("a count")) as usize;
            let known: HashMap<&[u8], usize> = (0..count).map(|token| (vocabulary.name(token), token)).collect();
            for word in &words {
                let mut found = Vec::new();
                vocabulary.tokens(word, None, |token| found.push(token));
                prop_assert_eq!(found, by_trial(&known, word), "{}", word);
            }
        }
    }
}
