//! The file of the installed encoder: created from the original weights, and loaded.

use std::collections::HashMap;

use ndarray::{Array1, Array2};
use serde::Deserialize;

use super::super::wordpiece::Vocabulary;
use super::encoder::{Encoder, INNER, LAYERS, Layer, Linear, MAX_TOKENS, Norm, WIDTH};

/// The tokens for the beginning, the end, and an unknown word.
const MARKS: [&[u8]; 3] = [b"[CLS]", b"[SEP]", b"[UNK]"];

/// The names of a layer's matrices, each with the sizes of its results and its input.
const MATRICES: [(&str, usize, usize); 6] = [
    ("attention.self.query", WIDTH, WIDTH),
    ("attention.self.key", WIDTH, WIDTH),
    ("attention.self.value", WIDTH, WIDTH),
    ("attention.output.dense", WIDTH, WIDTH),
    ("intermediate.dense", INNER, WIDTH),
    ("output.dense", WIDTH, INNER),
];
const NORMS: [&str; 2] = ["attention.output.LayerNorm", "output.LayerNorm"];

/// Tensors of a file in the format safetensors.
struct Tensors<'f> {
    head: HashMap<String, Tensor>,
    data: &'f [u8],
}

#[derive(Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

impl<'f> Tensors<'f> {
    fn new(file: &'f [u8]) -> Option<Self> {
        let (length, rest) = file.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (head, data) = rest.split_at_checked(length)?;
        let head: HashMap<String, serde_json::Value> = serde_json::from_slice(head).ok()?;
        let tensors = head.into_iter();
        let head = tensors.filter_map(|(name, it)| Some((name, serde_json::from_value(it).ok()?)));
        Some(Self { head: head.collect(), data })
    }

    fn floats(&self, name: &str, shape: &[usize]) -> Option<Vec<f32>> {
        let tensor = self.head.get(name).filter(|it| it.dtype == "F32" && it.shape == shape)?;
        let (start, end) = tensor.data_offsets;
        let bytes = self.data.get(start..end)?;
        let floats: Vec<f32> =
            bytes.as_chunks::<4>().0.iter().map(|it| f32::from_le_bytes(*it)).collect();
        (floats.len() == shape.iter().product::<usize>()).then_some(floats)
    }
}

fn put_floats(to: &mut Vec<u8>, floats: &[f32]) {
    floats.iter().for_each(|value| to.extend(value.to_le_bytes()));
}

/// Appends the scale of each row, then the rows in 8 bits a number.
fn put_rows<'r>(to: &mut Vec<u8>, rows: impl Iterator<Item = &'r [f32]> + Clone) {
    let scale = |row: &[f32]| {
        let most = row.iter().fold(0.0f32, |most, value| most.max(value.abs()));
        if most > 0.0 { most / 127.0 } else { 1.0 }
    };
    rows.clone().for_each(|row| to.extend(scale(row).to_le_bytes()));
    for row in rows {
        let scale = scale(row);
        to.extend(row.iter().map(|value| ((value / scale).round() as i8).cast_unsigned()));
    }
}

/// Creates the file from the original weights and the vocabulary (one token per line); `None` if
/// these are invalid.
pub(super) fn made(weights: &[u8], vocabulary: &str) -> Option<Vec<u8>> {
    let tensors = Tensors::new(weights)?;
    let mut tokens: Vec<(&str, usize)> = vocabulary.lines().zip(0..).collect();
    let table = tensors.floats("embeddings.word_embeddings.weight", &[tokens.len(), WIDTH])?;
    tokens.sort_unstable_by_key(|(name, _)| name.as_bytes());
    let mut file = Vec::with_capacity(24 << 20);
    file.extend(u32::try_from(tokens.len()).ok()?.to_le_bytes());
    let mut end = 0u32;
    for (name, _) in &tokens {
        end += u32::try_from(name.len()).ok()?;
        file.extend(end.to_le_bytes());
    }
    tokens.iter().for_each(|(name, _)| file.extend(name.as_bytes()));
    put_rows(&mut file, tokens.iter().map(|(_, number)| &table[number * WIDTH..][..WIDTH]));
    let mut positions = tensors.floats("embeddings.position_embeddings.weight", &[512, WIDTH])?;
    positions.truncate(MAX_TOKENS * WIDTH);
    // Every text is of the first kind, so its vector can be added beforehand.
    let kinds = tensors.floats("embeddings.token_type_embeddings.weight", &[2, WIDTH])?;
    for row in positions.chunks_mut(WIDTH) {
        row.iter_mut().zip(&kinds).for_each(|(value, kind)| *value += kind);
    }
    put_floats(&mut file, &positions);
    let norm = |file: &mut Vec<u8>, name: &str| {
        put_floats(file, &tensors.floats(&format!("{name}.weight"), &[WIDTH])?);
        put_floats(file, &tensors.floats(&format!("{name}.bias"), &[WIDTH])?);
        Some(())
    };
    norm(&mut file, "embeddings.LayerNorm")?;
    for layer in 0..LAYERS {
        for (name, results, inputs) in MATRICES {
            let name = format!("encoder.layer.{layer}.{name}");
            let weight = tensors.floats(&format!("{name}.weight"), &[results, inputs])?;
            put_rows(&mut file, weight.chunks(inputs));
            put_floats(&mut file, &tensors.floats(&format!("{name}.bias"), &[results])?);
        }
        for name in NORMS {
            norm(&mut file, &format!("encoder.layer.{layer}.{name}"))?;
        }
    }
    Some(file)
}

/// The rest of a file that is being read.
struct Rest<'f>(&'f [u8]);

impl<'f> Rest<'f> {
    fn bytes(&mut self, count: usize) -> Option<&'f [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    fn floats(&mut self, count: usize) -> Option<Vec<f32>> {
        let bytes = self.bytes(count.checked_mul(4)?)?;
        Some(bytes.as_chunks::<4>().0.iter().map(|it| f32::from_le_bytes(*it)).collect())
    }

    fn linear(&mut self, (_, results, inputs): (&str, usize, usize)) -> Option<Linear> {
        let scales = self.floats(results)?;
        let rows = self.bytes(results * inputs)?.chunks(inputs).zip(scales);
        let weight = rows.flat_map(|(row, scale)| {
            row.iter().map(move |byte| scale * f32::from(byte.cast_signed()))
        });
        let weight = Array2::from_shape_vec((results, inputs), weight.collect()).ok()?;
        let weight = weight.t().as_standard_layout().into_owned();
        Some(Linear { weight, bias: Array1::from_vec(self.floats(results)?) })
    }

    fn norm(&mut self) -> Option<Norm> {
        let [weight, bias] = [self.floats(WIDTH)?, self.floats(WIDTH)?].map(Array1::from_vec);
        Some(Norm { weight, bias })
    }

    fn layer(&mut self) -> Option<Layer> {
        let [query, key, value, output, inner, outer] = MATRICES.map(|matrix| self.linear(matrix));
        let [attended, normal] = NORMS.map(|_| self.norm());
        Some(Layer {
            query: query?,
            key: key?,
            value: value?,
            output: output?,
            attended: attended?,
            inner: inner?,
            outer: outer?,
            normal: normal?,
        })
    }
}

/// Reads a file; `None` if its format differs.
pub(super) fn read(file: &[u8]) -> Option<Encoder> {
    let mut rest = Rest(file);
    let count = u32::from_le_bytes(*rest.bytes(4)?.first_chunk()?) as usize;
    let ends = rest.bytes(count.checked_mul(4)?)?.to_vec();
    let length = u32::from_le_bytes(*ends.last_chunk::<4>()?) as usize;
    let names = rest.bytes(length)?.to_vec();
    let vocabulary = Vocabulary::new(ends, names)?;
    let scales = rest.floats(count)?;
    let rows = rest.bytes(count.checked_mul(WIDTH)?)?.to_vec();
    let positions = rest.floats(MAX_TOKENS * WIDTH)?;
    let positions = Array2::from_shape_vec((MAX_TOKENS, WIDTH), positions).ok()?;
    let normal = rest.norm()?;
    let layers = (0..LAYERS).map(|_| rest.layer()).collect::<Option<Vec<Layer>>>()?;
    let [begin, end, unknown] = MARKS.map(|mark| vocabulary.find(mark));
    let marks = [begin?, end?, unknown?];
    rest.0.is_empty().then_some(())?;
    Some(Encoder { vocabulary, rows, scales, positions, normal, layers, marks })
}
