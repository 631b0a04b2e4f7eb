//! Replays the fuzz corpora, and mutants of each input, through the functions that the fuzz targets
//! run: a simple fuzzer's run, the same every time, on stable Rust.

use std::path::Path;

use proptest::prelude::*;
use serde_json::Value;
use vault_steward::note::frontmatter::edit::{self, PropertyChange};

use crate::fuzzing;

/// The number of mutants of each input.
const MUTANTS: u64 = 200;

type Target = fn(&[u8]);

/// Every target with its corpus, `fuzz/corpus/<name>/`.
const TARGETS: [(&str, Target); 18] = [
    ("paths", fuzzing::fuzz_paths),
    ("glob", fuzzing::fuzz_glob),
    ("edit", fuzzing::fuzz_edit),
    ("patch", fuzzing::fuzz_patch),
    ("merge", fuzzing::fuzz_merge),
    ("message", fuzzing::fuzz_message),
    ("links", fuzzing::fuzz_links),
    ("relink", fuzzing::fuzz_relink),
    ("properties", fuzzing::fuzz_properties),
    ("stream", fuzzing::fuzz_stream),
    ("smarthole", fuzzing::fuzz_smarthole),
    ("planner", fuzzing::fuzz_planner),
    ("expression", fuzzing::fuzz_expression),
    ("base_file", fuzzing::fuzz_base_file),
    ("rules_file", fuzzing::fuzz_rules_file),
    ("search_query", fuzzing::fuzz_search_query),
    ("pdf", fuzzing::fuzz_pdf),
    ("challenge", fuzzing::fuzz_challenge),
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

/// A mutation that depends only on the input and the number: bytes replaced, inserted, removed,
/// duplicated.
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
    let manifest = include_str!("../../fuzz/Cargo.toml");
    let bins = manifest.matches("[[bin]]").count();
    assert_eq!(bins, TARGETS.len(), "fuzz/Cargo.toml and this file list the same targets");
}

/// Values that YAML parsers could take for others.
fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        "[ -~äß\u{85}\u{a0}\u{2028}\u{feff}🌱\t\n\r]{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "yes",
            "No",
            "~",
            "null",
            "1.0",
            "1e3",
            "0x1F",
            "1_000",
            "12:30",
            "a: b",
            "[[Link]]",
            "#tag",
            " x",
            "x ",
            "- a",
            "? a",
            "a #b",
            "*a",
            "&a",
            "!!str a",
            "|",
            ">",
            "%a",
            "@a",
            "'a'",
            "\"a\"",
            "---",
            "...",
            "{a}",
            "a,b",
            "2026-11-21",
            "<<",
            "=",
            ".5",
            ".inf",
            "+1",
        ])
        .prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("a number", |n| n.is_finite()).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![3 => scalar(), 1 => prop::collection::vec(scalar(), 0..4).prop_map(Value::from)]
}

/// Properties as in notes, each name once.
fn block() -> impl Strategy<Value = String> {
    let values = [
        " plain",
        " 'single'",
        " \"double\"",
        "",
        " ~",
        " 5",
        " [a, 'b', \"c\"]",
        "\n  - a\n  - b",
        "\n- a # x\n# y\n- 'b'",
        " |\n  # t\n  u\n",
        " >-\n  a\n  b",
        " &x b",
        " {p: 1}",
        "\n  p: 1",
        "\n  - p: 1\n    q: 2",
        " two\n  lines",
        " # only a comment",
        " x # comment",
        "   wide   ",
        " \"a\n  b\"",
        "\n\n  - a\n\n  - b",
        " [a,\n  b]",
        " !!str 5",
        " \"[[L]]\"",
    ];
    let comments = ["", "# about\n", "\n", "  # deep\n"];
    let property = (prop::sample::select(values.to_vec()), prop::sample::select(comments.to_vec()));
    (prop::collection::vec(property, 0..5), any::<bool>(), "[ab\n-]{0,6}").prop_map(
        |(all, wide, body)| {
            let lines = all
                .iter()
                .enumerate()
                .map(|(at, (value, after))| format!("k{at}:{value}\n{after}"));
            let text = format!("---\n{}---\n{body}", lines.collect::<String>());
            if wide { text.replace('\n', "\r\n") } else { text }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    /// The fuzz targets check the invariants.
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

    #[test]
    fn what_was_set_is_read_and_the_rest_stays(text in block(), at in 0_usize..6, value in value(), gone in any::<bool>()) {
        let name = format!("K{at}");
        let value = if gone { "-".to_owned() } else { value.to_string() };
        let input = format!("{name}\u{1e}{value}\u{1e}{text}");
        fuzzing::fuzz_properties(input.as_bytes());
        // Blocks such as these can all be changed.
        if !gone {
            let value = serde_json::from_str(&value).expect("written a moment ago");
            let change = PropertyChange { name, value: Some(value) };
            let edited = edit::apply(&text, &[change]);
            prop_assert!(edited.is_ok(), "{:?}", edited);
        }
    }
}
