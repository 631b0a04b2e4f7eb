#![expect(clippy::disallowed_methods, reason = "tests make the files they search")]

use std::time::{Duration, Instant};

use super::*;
use crate::vault::Cancel;
use proptest::prelude::*;

fn query(pattern: &str, mode: Mode, around: usize) -> Query {
    Query {
        pattern: pattern.to_owned(),
        ignore_case: None,
        files: None,
        folder: VaultPath::root(),
        before: around,
        after: around / 2,
        mode,
        max_files: 10,
        max_matches: 50,
    }
}

#[test]
fn a_line_that_fits_is_shown_as_if_it_were_cut() {
    for line in ["", "a\r\n", "ü needle ü\n", &"ü".repeat(150), &"x".repeat(300)] {
        let whole = short_line(line.as_bytes()).expect("short and sound");
        for (place, _) in line.trim_end().char_indices() {
            assert_eq!(shown_line(line.as_bytes(), place), whole);
        }
    }
    assert_eq!(short_line("x".repeat(301).as_bytes()), None);
    assert_eq!(short_line(b"a \xff"), None);
    let inside =
        |pattern| !Pattern::compile(pattern, None).expect("a pattern").begins_at_characters();
    assert!(inside(r"(?-u)\xbc") && inside(r"(?-u:\B)") && inside("x*"));
    assert!(!inside("needle") && !inside(r"\bü+"));
}

/// A searcher that counts lines and is asked for every one.
fn by_the_engine(search: &Search<'_>, text: &[u8]) -> Outcome {
    let mut gather = search.gather();
    let query = search.query;
    let content = query.mode == Mode::Content;
    let mut searcher = SearcherBuilder::new()
        .line_terminator(search.pattern.line_terminator())
        .line_number(true)
        .before_context(if content { query.before } else { 0 })
        .after_context(if content { query.after } else { 0 })
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_LINE_BYTES))
        .build();
    let searched = searcher.search_reader(search.matcher(), text, &mut gather);
    Search::outcome(gather, searched)
}

fn summary(outcome: Outcome) -> String {
    match outcome {
        Outcome::Searched(SearchedFile { matches, excerpts, timed_out }) => {
            format!("{matches} {timed_out} {excerpts:?}")
        }
        Outcome::Gone => "gone".to_owned(),
        Outcome::Binary => "binary".to_owned(),
        Outcome::Skipped(reason) => reason,
    }
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        &b"a"[..],
        b"ab",
        b"b ",
        b"\n",
        b"\n",
        b"\n\n",
        b"\r\n",
        b"ask",
        b"\xc3\xbc",
        b"\xff",
        b"\0",
    ]);
    let mark = prop::sample::select(vec![
        &b""[..],
        b"",
        b"",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\xfe\xff",
        b"a\n\0",
    ]);
    let long = prop::sample::select(vec![0_usize, 0, 0, 0, 9_000]);
    (mark, prop::collection::vec(piece, 0..24), long).prop_map(|(mark, pieces, long)| {
        [mark, &pieces.concat(), &b"a line\n".repeat(long), &pieces.concat()].concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn a_file_read_at_once_is_searched_as_in_pieces(
        text in content(),
        patterns in prop::collection::vec(
            "(([ab ksü.]|\\\\b|\\\\w|\\^|\\$|\\\\A|\\\\z|\\(ab\\|k?\\))[*+?]?){1,4}", 6),
        grown in prop::sample::select(vec![-3_i64, 0, 0, 0, 0, 2]),
        around in 0_usize..3,
    ) {
        let limit =
            Limit { until: Instant::now() + Duration::from_secs(1000), cancel: Cancel::default() };
        let folder = tempfile::tempdir().expect("made");
        let place = folder.path().join("a.md");
        std::fs::write(&place, &text).expect("written");
        for pattern in patterns {
            let Ok(compiled) = Pattern::compile(&pattern, None) else { continue };
            for mode in [Mode::Content, Mode::Count, Mode::FilesWithMatches] {
                let query = query(&pattern, mode, around);
                let search = Search { pattern: &compiled, query: &query, limit: &limit };
                let expected = summary(by_the_engine(&search, &text));
                let mut scratch = search.scratch();
                for _ in 0..2 {
                    let file = File::open(&place).expect("opened");
                    let size = (text.len() as i64 - grown).max(0) as u64;
                    let read = summary(search.opened(file, size, &mut scratch));
                    prop_assert_eq!(&read, &expected, "{} {:?}", &pattern, mode);
                }
                if !text.contains(&0) {
                    let known = summary(search.text(&text, &mut scratch));
                    prop_assert_eq!(&known, &expected, "{} {:?}", &pattern, mode);
                }
            }
        }
    }
}

#[test]
fn long_lines_are_cut_around_the_match() {
    assert_eq!(shown_line("short ü\r\n".as_bytes(), 3), "short ü");
    let line = format!("{}NEEDLE{}", "a".repeat(1000), "b".repeat(1000));
    let cut = shown_line(line.as_bytes(), 1000);
    assert!(cut.contains("aNEEDLEb") && cut.starts_with('…') && cut.ends_with('…'), "{cut}");
    assert!(cut.chars().count() <= SHOWN_CHARACTERS + 2);
    let end = format!("{}END", "ü".repeat(1000));
    let cut = shown_line(end.as_bytes(), 2000);
    assert!(cut.starts_with('…') && cut.ends_with("END"), "{cut}");
}

#[test]
fn the_room_left_bounds_the_matches_shown() {
    let line = |number, is_match| Line { number, text: String::new(), is_match };
    let mut excerpts = vec![
        Excerpt { lines: vec![line(1, true), line(2, false), line(3, true)] },
        Excerpt { lines: vec![line(9, true)] },
    ];
    assert_eq!(trim(&mut excerpts, 1), 1);
    assert_eq!(excerpts, [Excerpt { lines: vec![line(1, true), line(2, false)] }]);
}
