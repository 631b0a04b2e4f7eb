//! The encoder compared with an independent program, whose vectors are in
//! `fixtures/knowledge/minilm.json`.

use serde::Deserialize;
use serde_json::json;

use super::encoder::{Encoder, INNER, LAYERS, WIDTH};
use super::{file, source};

#[derive(Deserialize)]
struct Fixture {
    /// The vector of [`TEXT`] by [`invented`] weights, in thousandths.
    invented: Vec<i16>,
    /// Vectors by the real weights.
    texts: Vec<Reference>,
}

#[derive(Deserialize)]
struct Reference {
    text: String,
    vector: Vec<i16>,
}

const VOCABULARY: &str = "[CLS]\n[SEP]\n[UNK]\na\nkettle\nboil\n##s\n.\n";
const TEXT: &str = "A kettle boils xyz.";

fn fixture() -> Fixture {
    let text = include_str!("../../../../../fixtures/knowledge/minilm.json");
    serde_json::from_str(text).expect("references")
}

/// Weights that a formula invents, in the format of the original file.
fn invented() -> Vec<u8> {
    let mut tensors: Vec<(String, Vec<usize>)> = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![VOCABULARY.lines().count(), WIDTH]),
        ("embeddings.position_embeddings.weight".to_owned(), vec![512, WIDTH]),
        ("embeddings.token_type_embeddings.weight".to_owned(), vec![2, WIDTH]),
    ];
    let norm = |name: &str| ["weight", "bias"].map(|part| (format!("{name}.{part}"), vec![WIDTH]));
    tensors.extend(norm("embeddings.LayerNorm"));
    for layer in 0..LAYERS {
        for (name, results, inputs) in [
            ("attention.self.query", WIDTH, WIDTH),
            ("attention.self.key", WIDTH, WIDTH),
            ("attention.self.value", WIDTH, WIDTH),
            ("attention.output.dense", WIDTH, WIDTH),
            ("intermediate.dense", INNER, WIDTH),
            ("output.dense", WIDTH, INNER),
        ] {
            let name = format!("encoder.layer.{layer}.{name}");
            tensors.push((format!("{name}.weight"), vec![results, inputs]));
            tensors.push((format!("{name}.bias"), vec![results]));
        }
        for name in ["attention.output.LayerNorm", "output.LayerNorm"] {
            tensors.extend(norm(&format!("encoder.layer.{layer}.{name}")));
        }
    }
    let (mut head, mut data) = (json!({"__metadata__": {"format": "pt"}}), Vec::new());
    for (number, (name, shape)) in (0u32..).zip(tensors) {
        let start = data.len();
        for at in 0..shape.iter().product::<usize>() as u32 {
            let mixed = at.wrapping_add(number.wrapping_mul(1_000_003)).wrapping_mul(2_654_435_761);
            let value = (f64::from(mixed) / 4_294_967_296.0 - 0.5) * 0.2;
            let value = if name.ends_with("LayerNorm.weight") { value + 1.0 } else { value };
            data.extend((value as f32).to_le_bytes());
        }
        head[name] = json!({"dtype": "F32", "shape": shape, "data_offsets": [start, data.len()]});
    }
    let head = head.to_string();
    [&(head.len() as u64).to_le_bytes(), head.as_bytes(), &data].concat()
}

fn cosine(encoder: &Encoder, text: &str, expected: &[i16]) -> f32 {
    let found = encoder.embed(text).expect("it has words");
    let expected: Vec<f32> = expected.iter().map(|value| f32::from(*value)).collect();
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let lengths = product(&found, &found) * product(&expected, &expected);
    product(&found, &expected) / lengths.sqrt()
}

#[test]
fn an_encoder_of_invented_weights_reads_as_the_reference() {
    let made = file::made(&invented(), VOCABULARY).expect("weights");
    let encoder = file::read(&made).expect("an encoder");
    let found = cosine(&encoder, TEXT, &fixture().invented);
    assert!((0.999..1.001).contains(&found), "{found}");
    for nothing in ["", " \n", "xyz"] {
        assert_eq!(encoder.embed(nothing), None, "{nothing:?}");
    }
    assert!(encoder.embed(&"kettle ".repeat(1_000)).is_some(), "of a long text its beginning");
    for end in [0, 3, 4, 30, 60, 10_000, 400_000, 5_000_000, made.len() - 1] {
        assert!(file::read(&made[..end]).is_none(), "{end}");
    }
    assert!(file::read(&[&made[..], b" "].concat()).is_none());
    assert!(file::made(&invented()[..1_000_000], VOCABULARY).is_none());
    assert!(file::made(&invented(), "too\nfew\n").is_none());
}

/// Needs the model: `STEWARD_MINILM` names an archive with its files (`fixtures/README.md`).
#[test]
fn the_real_model_reads_as_the_reference_where_it_is_at_hand() {
    let Ok(path) = std::env::var("STEWARD_MINILM") else { return };
    let [weights, vocabulary] =
        source::unpacked(&std::fs::read(path).expect("an archive")).expect("the files");
    let folder = tempfile::tempdir().expect("a folder");
    source::install(folder.path(), [&weights, &vocabulary]).expect("the model");
    let made = file::made(&weights, &String::from_utf8(vocabulary).expect("text")).expect("made");
    let encoder = file::read(&made).expect("an encoder");
    for Reference { text, vector } in fixture().texts {
        let found = cosine(&encoder, &text, &vector);
        println!("{found:.4} {:?}", text.chars().take(40).collect::<String>());
        assert!((0.999..1.001).contains(&found), "{found} for {text:?}");
    }
}
