//! Replays the fuzz corpora through the functions that the fuzz targets run, and mutants of each
//! input besides: a poor fuzzer's run, the same every time, on stable Rust.

use std::path::Path;

use proptest::prelude::*;
use vault_steward::fuzzing;

/// How many mutants of each input are tried.
const MUTANTS: u64 = 200;

type Target = fn(&[u8]);

/// Every target with its corpus, `fuzz/corpus/<name>/`.
const TARGETS: [(&str, Target); 7] = [
    ("paths", fuzzing::fuzz_paths),
    ("glob", fuzzing::fuzz_glob),
    ("edit", fuzzing::fuzz_edit),
    ("patch", fuzzing::fuzz_patch),
    ("message", fuzzing::fuzz_message),
    ("links", fuzzing::fuzz_links),
    ("stream", fuzzing::fuzz_stream),
];

fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut inputs: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{} is there: {error}", folder.display()))
        .map(|entry| {
            let entry = entry.expect("the corpus can be listed");
            let input = std::fs::read(entry.path()).expect("the corpus can be read");
            (entry.file_name().to_string_lossy().into_owned(), input)
        })
        .collect();
    inputs.sort();
    inputs
}

/// A change that only the input and the number decide: bytes replaced, put in, taken out, doubled.
fn mutant(input: &[u8], number: u64) -> Vec<u8> {
    const BYTES: &[u8] = b"\x1e\n\r ab./\\*?{},@-+\"0919\0\xc3\xa9\xef\xbb\xbf";
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut draw = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    let mut bytes = input.to_vec();
    for _ in 0..=draw(4) {
        let at = draw(bytes.len() + 1);
        let end = (at + draw(6)).min(bytes.len());
        match draw(4) {
            0 => bytes.insert(at, BYTES[draw(BYTES.len())]),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let part = bytes[at..end].to_vec();
                let to = draw(bytes.len() + 1);
                bytes.splice(to..to, part);
            }
            _ if at < bytes.len() => bytes[at] = BYTES[draw(BYTES.len())],
            _ => {}
        }
    }
    bytes
}

#[test]
fn every_input_and_its_mutants_keep_the_invariants() {
    let mutants = std::env::var("FUZZ_MUTANTS").ok().and_then(|count| count.parse().ok());
    for (target, run) in TARGETS {
        let inputs = corpus(target);
        assert!(inputs.len() >= 10, "the corpus of {target} is there");
        for (name, input) in inputs {
            let tried = (1..=mutants.unwrap_or(MUTANTS)).map(|number| mutant(&input, number));
            for bytes in std::iter::once(input.clone()).chain(tried) {
                let outcome = std::panic::catch_unwind(|| run(&bytes));
                assert!(outcome.is_ok(), "{target}/{name}: {:?}", String::from_utf8_lossy(&bytes));
            }
        }
    }
}

#[test]
fn every_target_is_listed() {
    let manifest = include_str!("../fuzz/Cargo.toml");
    let bins = manifest.matches("[[bin]]").count();
    assert_eq!(bins, TARGETS.len(), "fuzz/Cargo.toml and this file list the same targets");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    /// The invariants themselves stand beside the fuzz targets.
    #[test]
    fn any_text_is_a_path_or_an_error(text in "\\PC{0,30}|([./\\\\~:\"' a\u{301}é\u{a0}]|C:|\\.\\.|/home/me/Vault){0,12}") {
        fuzzing::fuzz_paths(text.as_bytes());
    }

    #[test]
    fn links_lie_where_they_say(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "[[", "]]", "[", "]", "(", ")", "!", "|", "\\|", "#", "^", "`", "```", "~~~", "\n",
            "\r\n", "\n\n", "$", "$$", "%%", "<", ">", "<!--", "-->", "a", "ü", "大", "🌱", " ",
            "    ", "- ", "> ", "---\n", "|-|", "\"", "'", "\\", ":", "x: ", "{", "%20", "<div>",
            "\u{feff}", "&a ", "*a",
        ]), 0..40)
    ) {
        fuzzing::fuzz_links(pieces.concat().as_bytes());
    }
}
