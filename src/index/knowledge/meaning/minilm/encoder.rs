//! A sentence encoder that reads whole sentences: all-MiniLM-L6-v2, a BERT of six layers. It is not
//! part of the program (`models`).
//!
//! In the file, weights have 8 bits with a scale for each row; in memory they are 32-bit floats,
//! except the word table.

use ndarray::{Array1, Array2, ArrayView2, Axis, s};

use super::super::wordpiece::Vocabulary;

/// Numbers of a token's state, and of the result.
pub(super) const WIDTH: usize = 384;
/// Numbers of the inner layer.
pub(super) const INNER: usize = 1_536;
pub(super) const LAYERS: usize = 6;
const HEADS: usize = 12;
/// Tokens of the longest text, its two ends included; of a longer one the beginning is read.
pub(super) const MAX_TOKENS: usize = 256;
/// Added to a variance before it divides.
const MIN_VARIANCE: f32 = 1e-12;

/// Sums of products and a constant.
pub(super) struct Linear {
    /// A row for each input. With a row for each output, each product would first copy the matrix number by number.
    pub weight: Array2<f32>,
    pub bias: Array1<f32>,
}

/// Normalises each token's state.
pub(super) struct Norm {
    pub weight: Array1<f32>,
    pub bias: Array1<f32>,
}

pub(super) struct Layer {
    pub query: Linear,
    pub key: Linear,
    pub value: Linear,
    pub output: Linear,
    pub attended: Norm,
    pub inner: Linear,
    pub outer: Linear,
    pub normal: Norm,
}

/// An encoder in memory.
pub(super) struct Encoder {
    pub vocabulary: Vocabulary,
    /// By token, a row of 8-bit numbers and what it is multiplied by.
    pub rows: Vec<u8>,
    pub scales: Vec<f32>,
    pub positions: Array2<f32>,
    pub normal: Norm,
    pub layers: Vec<Layer>,
    /// The tokens for the beginning, the end, and an unknown word.
    pub marks: [usize; 3],
}

impl Linear {
    fn of(&self, states: &Array2<f32>) -> Array2<f32> {
        let mut result = states.dot(&self.weight);
        result += &self.bias;
        result
    }
}

impl Norm {
    fn apply(&self, states: &mut Array2<f32>) {
        for mut state in states.rows_mut() {
            let count = state.len() as f32;
            let mean = state.sum() / count;
            let variance = state.fold(0.0, |sum, value| sum + (value - mean).powi(2)) / count;
            let scale = 1.0 / (variance + MIN_VARIANCE).sqrt();
            for ((value, weight), bias) in state.iter_mut().zip(&self.weight).zip(&self.bias) {
                *value = (*value - mean) * scale * weight + bias;
            }
        }
    }
}

impl Encoder {
    /// The meaning of a text; `None` for a text without words.
    pub fn embed(&self, text: &str) -> Option<[f32; WIDTH]> {
        let [begin, end, unknown] = self.marks;
        let mut tokens = vec![begin];
        self.vocabulary.tokens(text, Some(unknown), |token| {
            if tokens.len() < MAX_TOKENS - 1 {
                tokens.push(token);
            }
        });
        if tokens.iter().skip(1).all(|token| *token == unknown) {
            return None;
        }
        tokens.push(end);
        let mut states = self.read(&tokens);
        for layer in &self.layers {
            layer.apply(&mut states);
        }
        states.mean_axis(Axis(0))?.as_slice()?.try_into().ok()
    }

    fn read(&self, tokens: &[usize]) -> Array2<f32> {
        let mut states = self.positions.slice(s![..tokens.len(), ..]).to_owned();
        for (mut state, token) in states.rows_mut().into_iter().zip(tokens) {
            let row = &self.rows[token * WIDTH..][..WIDTH];
            let scale = self.scales[*token];
            for (value, byte) in state.iter_mut().zip(row) {
                *value += scale * f32::from(byte.cast_signed());
            }
        }
        self.normal.apply(&mut states);
        states
    }
}

impl Layer {
    fn apply(&self, states: &mut Array2<f32>) {
        let [query, key, value] =
            [&self.query, &self.key, &self.value].map(|linear| linear.of(states));
        let mut attended = Array2::zeros(states.raw_dim());
        let size = WIDTH / HEADS;
        for head in 0..HEADS {
            let part = s![.., head * size..(head + 1) * size];
            let of_head = attend(query.slice(part), key.slice(part), value.slice(part));
            attended.slice_mut(part).assign(&of_head);
        }
        *states += &self.output.of(&attended);
        self.attended.apply(states);
        let mut inner = self.inner.of(states);
        inner.mapv_inplace(gelu);
        *states += &self.outer.of(&inner);
        self.normal.apply(states);
    }
}

/// Mixes the values by how well the keys fit the queries.
fn attend(
    query: ArrayView2<'_, f32>,
    key: ArrayView2<'_, f32>,
    value: ArrayView2<'_, f32>,
) -> Array2<f32> {
    let mut weights = query.dot(&key.t());
    let scale = 1.0 / (query.ncols() as f32).sqrt();
    for mut row in weights.rows_mut() {
        let most = row.fold(f32::NEG_INFINITY, |most, value| most.max(*value));
        row.mapv_inplace(|value| ((value - most) * scale).exp());
        let sum = row.sum();
        row /= sum;
    }
    weights.dot(&value)
}

/// The activation of the inner layer.
fn gelu(value: f32) -> f32 {
    0.5 * value * (1.0 + erf(value * std::f32::consts::FRAC_1_SQRT_2))
}

/// The error function, to 1.5e-7 (Abramowitz and Stegun 7.1.26).
fn erf(value: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.327_591_1 * value.abs());
    let sum = ((((1.061_405_4 * t - 1.453_152_1) * t + 1.421_413_7) * t - 0.284_496_74) * t
        + 0.254_829_6)
        * t;
    (1.0 - sum * (-value * value).exp()).copysign(value)
}
