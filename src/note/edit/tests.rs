use proptest::prelude::*;

use super::*;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn swap(old: &str, new: &str, replace_all: bool) -> Edit {
    Edit::Replace { old_text: old.to_owned(), new_text: new.to_owned(), replace_all }
}

fn after(line: i64, content: &str) -> Edit {
    Edit::InsertAfter { line, content: content.to_owned() }
}

fn before(line: i64, content: &str) -> Edit {
    Edit::InsertBefore { line, content: content.to_owned() }
}

fn lines(start: i64, end: i64, content: &str) -> Edit {
    Edit::ReplaceLines { start, end, content: content.to_owned() }
}

#[track_caller]
fn check(file: &str, edit: Edit, expected: &str) -> Edited {
    let edited = apply_edit(file.as_bytes(), &edit).unwrap();
    assert_eq!(text(&edited.bytes), expected, "{edit:?} on {file:?}");
    edited
}

#[track_caller]
fn fails(file: &str, edit: Edit, message: &str) -> EditError {
    let error = apply_edit(file.as_bytes(), &edit).unwrap_err();
    assert_eq!(error.to_string(), message, "{edit:?} on {file:?}");
    error
}

#[test]
fn replaces_exactly_one() {
    check("- [ ] a\n- [ ] b\n", swap("- [ ] b", "- [x] b", false), "- [ ] a\n- [x] b\n");
    check("a.c", swap(".", "*", false), "a*c");
    check("one\ntwo\n", swap("one\n", "", false), "two\n");
    let edited = check("a\nb\nc\n", swap("b", "x\ny", false), "a\nx\ny\nc\n");
    assert_eq!((edited.first_line, edited.lines_added, edited.lines_removed), (2, 2, 1));
    let edited = check("a\nb\n", swap("a\nb", "a\nx\nb", false), "a\nx\nb\n");
    assert_eq!((edited.first_line, edited.lines_added, edited.lines_removed), (2, 1, 0));
    let edited = check("a\nb\nc\n", swap("b\n", "", false), "a\nc\n");
    assert_eq!((edited.first_line, edited.lines_added, edited.lines_removed), (2, 0, 1));
}

#[test]
fn replaces_all() {
    let edited = check("a a\na\n", swap("a", "bb", true), "bb bb\nbb\n");
    assert_eq!((edited.replacements, edited.lines_added, edited.lines_removed), (3, 2, 2));
    check("aaa", swap("aa", "b", true), "ba");
    check("a\r\nb\r\na\r\n", swap("a\n", "x\ny\n", true), "x\r\ny\r\nb\r\nx\r\ny\r\n");
}

#[test]
fn line_endings_are_the_files() {
    check("a\r\nb\r\nc\n", swap("a\nb", "a\nx\nb", false), "a\r\nx\r\nb\r\nc\n");
    check("a\nb\n", swap("a\r\nb", "a\r\nx\r\nb", false), "a\nx\nb\n");
    // Lines common to old and new keep their bytes, with mixed line endings.
    check("a\r\nb\nc\r\n", swap("a\nb\nc\n", "a\nB\nc\n", false), "a\r\nB\nc\r\n");
    check("a\rb\n", swap("a\rb", "ab", false), "ab\n");
    check("x\r\ny\r\n", swap("x\n", "x", false), "xy\r\n");
    check("x\r\ny", swap("y", "y\nz", false), "x\r\ny\r\nz");
    check("\u{feff}a\r\n", swap("a", "b\nc", false), "\u{feff}b\r\nc\r\n");
    check("\u{feff}a\n", swap("\u{feff}a", "b", false), "\u{feff}b\n");
}

/// Reliability case 55.
#[test]
fn what_cannot_be_replaced() {
    fails("a", swap("a", "\0", true), "the new text holds a NUL, which would make the file binary");
    fails("a", swap("", "x", true), "the text to replace is empty");
    fails(
        "a\r\n",
        swap("a\r\n", "a\n", false),
        "the new text is the same as the old, so nothing would change",
    );
    let error = fails(
        "a\nb\na\na a\n",
        swap("a", "x", false),
        "the text to replace is in the file 4 times, at line 1, 3, 4, 4",
    );
    assert_eq!(error.code(), ErrorCode::MultipleMatches);
    fails(
        "aaa",
        swap("aa", "x", false),
        "the text to replace is in the file 2 times, at line 1, 1",
    );
    let EditError::Several { lines, count: 50 } =
        apply_edit("x\n".repeat(50).as_bytes(), &swap("x", "y", false)).unwrap_err()
    else {
        panic!("several are expected")
    };
    assert_eq!(lines, (1..=20).collect::<Vec<_>>());
}

#[test]
fn what_is_not_there_is_shown_where_it_almost_is() {
    let file = "# Garden\n\n- water the  tomatoes\n- plant beans\n";
    for (old, line, found) in [
        ("- Water the tomatoes", 3, "- water the  tomatoes"),
        ("- plant the beans", 4, "- plant beans"),
        ("# Garden\n\n- water tomatoes", 3, "- water the  tomatoes"),
        ("- plant beans\n\n", 4, "- plant beans"),
    ] {
        let error = apply_edit(file.as_bytes(), &swap(old, "x", false)).unwrap_err();
        let EditError::NotFound { nearest: Some(nearest) } = error else { panic!("{error:?}") };
        assert_eq!((nearest.line, &*nearest.found), (line, found), "{old}");
    }
    fails(
        "- plant beans",
        swap("- plant beans\n", "x", false),
        "the text to replace is not in the file; the nearest is line 1, `- plant beans`, where \
         `- plant beans and a newline` is asked for",
    );
    let error = fails("abc\n", swap("xyz", "x", false), "the text to replace is not in the file");
    assert_eq!(error.code(), ErrorCode::NoMatch);
    fails("", swap("xyz", "x", false), "the text to replace is not in the file");
}

#[test]
fn looking_for_the_nearest_is_bounded() {
    let started = std::time::Instant::now();
    let file = "some words that are much like the words asked for\n".repeat(200_000);
    let old = "some words that are much like the word asked for".repeat(3);
    apply_edit(file.as_bytes(), &swap(&old, "x", false)).unwrap_err();
    apply_edit("a".repeat(5_000_000).as_bytes(), &swap(&"a".repeat(3000), "x", false)).unwrap_err();
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
}

#[test]
fn a_few_bytes_cannot_ask_for_all_memory() {
    let file = "a".repeat(1_000_000);
    let error = apply_edit(file.as_bytes(), &swap("a", &"b".repeat(1_000_000), true)).unwrap_err();
    assert_eq!(error.code(), ErrorCode::TooLarge, "{error}");
    apply_edit(file.as_bytes(), &swap("a", "bc", true)).unwrap();
}

#[test]
fn inserts() {
    check("a\nb\n", after(0, "x"), "x\na\nb\n");
    check("a\nb\n", after(1, "x\n"), "a\nx\nb\n");
    check("a\nb\n", after(-1, "x\n"), "a\nb\nx\n");
    check("a\nb\n", after(2, "x\ny"), "a\nb\nx\ny\n");
    check("a\nb", after(-1, "x\n"), "a\nb\nx");
    check("a", after(0, "x"), "x\na");
    check("a\n", after(1, "\n"), "a\n\n");
    check("a\n", after(1, "x\n\n"), "a\nx\n\n");
    check("a\nb\n", before(1, "x"), "x\na\nb\n");
    check("a\nb\n", before(2, "x"), "a\nx\nb\n");
    check("", after(0, "x\n"), "x\n");
    check("", after(-1, "x"), "x");
    check("", before(1, "x\r\ny\r\n"), "x\r\ny\r\n");
    check("\u{feff}a\r\nb\r\n", after(0, "x\ny\n"), "\u{feff}x\r\ny\r\na\r\nb\r\n");
    check("a\r\nb\n", after(1, "x"), "a\r\nx\r\nb\n");
    check("a\r\nb\n", after(2, "x\r\n"), "a\r\nb\nx\n");
    check("a\nb", after(-1, "x\r"), "a\nb\nx\r");
    // An empty line at the end exists by its newline only.
    check("a\nb", after(-1, "\n"), "a\nb\n\n");
    let edited = check("a\nb\n", after(1, "x\ny"), "a\nx\ny\nb\n");
    assert_eq!((edited.first_line, edited.lines_added, edited.lines_removed), (2, 2, 0));
}

#[test]
fn deletes_and_replaces_lines() {
    let delete = |start, end| Edit::DeleteLines { start, end };
    check("a\nb\nc\n", delete(2, 2), "a\nc\n");
    check("a\nb\nc\n", delete(2, -1), "a\n");
    check("a\nb\nc", delete(3, 3), "a\nb");
    check("a\r\nb", delete(2, 2), "a");
    check("\u{feff}a\nb\n", delete(1, -1), "\u{feff}");
    check("a\nb\nc\n", lines(2, 2, "x\ny\n"), "a\nx\ny\nc\n");
    check("a\nb\nc", lines(3, 3, "x\n"), "a\nb\nx");
    check("a\nb\nc", lines(1, -1, "x"), "x");
    check("a\nb\nc\n", lines(1, 2, ""), "c\n");
    check("a\nb\nc\n", lines(2, 2, "\n"), "a\n\nc\n");
    check("a\r\nb\nc\n", lines(1, 2, "x\ny\nz"), "x\r\ny\nz\nc\n");
    let edited = check("a\nb\nc\n", lines(2, 3, "x"), "a\nx\n");
    assert_eq!((edited.first_line, edited.lines_added, edited.lines_removed), (2, 1, 2));
}

#[test]
fn lines_that_are_not_there() {
    let delete = |start, end| Edit::DeleteLines { start, end };
    fails("a\nb\n", after(3, "x"), "there is no line 3: the file has 2 lines");
    fails("a\nb\n", after(-2, "x"), "there is no line -2: the file has 2 lines");
    fails("a\nb\n", before(0, "x"), "there is no line 0: the file has 2 lines");
    fails("a\nb\n", before(3, "x"), "there is no line 3: the file has 2 lines");
    fails("", delete(1, -1), "there is no line 1: the file has 0 lines");
    fails("a\nb\n", delete(1, 3), "there is no line 3: the file has 2 lines");
    fails("a\nb\n", delete(2, 1), "line 1 comes before line 2: the range is empty");
    fails("a\n", after(1, ""), "there is nothing to insert");
    fails("a\n", lines(1, 1, "a"), "the new text is the same as the old, so nothing would change");
    fails(
        "a\n",
        lines(i64::MAX, 1, "a"),
        "there is no line 9223372036854775807: the file has 1 lines",
    );
}

#[test]
fn what_is_no_utf8_text() {
    for (file, code) in
        [(&b"\xff\xfea\0"[..], ErrorCode::BinaryFile), (b"a\0", ErrorCode::BinaryFile)]
    {
        assert_eq!(apply_edit(file, &after(0, "x")).unwrap_err().code(), code);
    }
}

/// Files with mixed endings, with and without byte-order mark and final newline.
fn file() -> impl Strategy<Value = String> {
    "\u{feff}?([abé]{0,3}(\n|\r\n|\r)){0,6}[ab]{0,2}"
}

/// How far the two are alike from the front, in bytes.
fn alike<'a>(a: impl Iterator<Item = &'a u8>, b: impl Iterator<Item = &'a u8>) -> usize {
    a.zip(b).take_while(|(a, b)| a == b).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn bytes_outside_a_replacement_never_change(
        file in file(), old in "[abé]{1,2}((\n|\r\n)[ab]{0,2})?", new in "[abx]{0,2}((\n|\r\n)[ab]{0,2}){0,2}",
    ) {
        if let Ok(edited) = apply_edit(file.as_bytes(), &swap(&old, &new, false)) {
            // The one place where `old` is, found the slow way: as a range of bytes that reads so.
            let unify = |text: &str| text.replace("\r\n", "\n");
            let places: Vec<_> = (0..file.len())
                .flat_map(|start| (start..=file.len()).map(move |end| (start, end)))
                .filter(|&(start, end)| file.get(start..end).is_some_and(|text| unify(text) == unify(&old)))
                .filter(|&(_, end)| !file[..end].ends_with('\r') || old.ends_with('\r'))
                .collect();
            prop_assert_eq!(places.len(), 1, "{:?} in {:?}: {:?}", old, file, places);
            let (start, end) = places[0];
            prop_assert!(edited.bytes.starts_with(&file.as_bytes()[..start]));
            prop_assert!(edited.bytes.ends_with(&file.as_bytes()[end..]));
            let put = text(&edited.bytes[start..edited.bytes.len() - (file.len() - end)]);
            prop_assert_eq!(unify(&put), unify(&new));
        }
    }

    #[test]
    fn bytes_outside_edited_lines_never_change(
        file in file(), start in 0_i64..8, end in -1_i64..8, content in "([ab]{0,2}(\n|\r\n)){0,3}[ab]{0,2}", which in 0..4,
    ) {
        let edit = match which {
            0 => after(start, &content),
            1 => before(start, &content),
            2 => Edit::DeleteLines { start, end },
            _ => lines(start, end, &content),
        };
        if let Ok(edited) = apply_edit(file.as_bytes(), &edit) {
            let body = file.strip_prefix('\u{feff}').unwrap_or(&file);
            let lead = file.len() - body.len();
            let raw: Vec<&str> = body.split_inclusive('\n').collect();
            let kept_before: usize = raw[..edited.first_line - 1].iter().map(|line| line.len()).sum();
            let kept_after: usize =
                raw[edited.first_line - 1 + edited.lines_removed..].iter().map(|line| line.len()).sum();
            // Only the newline before the edit may go, and only where the file then ends.
            let front = alike(file.as_bytes().iter(), edited.bytes.iter());
            prop_assert!(front >= (lead + kept_before).saturating_sub(2) || front == edited.bytes.len());
            if kept_after > 0 {
                prop_assert!(front >= lead + kept_before);
            }
            prop_assert!(edited.bytes.ends_with(&file.as_bytes()[file.len() - kept_after..]));
            let new = text(&edited.bytes);
            let empty_last = new[lead..].lines().next_back().is_none_or(str::is_empty);
            if !body.is_empty() && !empty_last {
                prop_assert_eq!(new.ends_with('\n'), body.ends_with('\n'));
            }
            let count = |text: &str| text.split_inclusive('\n').count();
            prop_assert_eq!(
                count(&new[lead..]) + edited.lines_removed,
                count(body) + edited.lines_added
            );
        }
    }
}
