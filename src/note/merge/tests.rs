use proptest::prelude::*;
use similar::TextMerge;

use super::*;

fn taken_out(done: &str, before: &str, now: &str) -> Option<String> {
    let merged = without(done.as_bytes(), before.as_bytes(), now.as_bytes());
    merged.map(|bytes| String::from_utf8(bytes).expect("text"))
}

fn joined(base: &str, one: &str, other: &str) -> Result<String, Unmerged> {
    let merged = lines(base.as_bytes(), one.as_bytes(), other.as_bytes());
    merged.map(|bytes| String::from_utf8(bytes).expect("text"))
}

/// A text of one line for each word, so that tables are short.
fn text(words: &str) -> String {
    words.split_whitespace().map(|word| format!("{}\n", word.replace('_', ""))).collect()
}

#[test]
fn a_link_goes_back_and_what_was_written_next_to_it_stays() {
    let (before, done) = ("see [[Old]] and\nmore\n", "see [[b/New one]] and\nmore\n");
    for (now, expected) in [
        ("see [[b/New one]] and\nmore by me\n", Some("see [[Old]] and\nmore by me\n")),
        ("I see [[b/New one]] and\nmore\n", Some("I see [[Old]] and\nmore\n")),
        ("see [[b/New one]], my note, and\nmore\n", Some("see [[Old]], my note, and\nmore\n")),
        ("top\n\nsee [[b/New one]] and\n", Some("top\n\nsee [[Old]] and\n")),
        // The edit was made before the change.
        ("see [[Old]] and\nmore by me\n", Some("see [[Old]] and\nmore by me\n")),
        // The link itself is theirs now.
        ("see [[b/New one too]] and\nmore\n", None),
        ("see [[Third]] and\nmore\n", None),
        ("all new\n", None),
    ] {
        assert_eq!(taken_out(done, before, now).as_deref(), expected, "{now:?}");
    }
    assert_eq!(without(b"\xff", b"a", b"b"), None);
}

/// The base, one version, another one, and the merged text; `!` where they conflict.
#[test]
fn changes_that_do_not_meet_are_joined() {
    for (base, one, other, both) in [
        // Lines that changed, came and went.
        ("a b c d", "A b c d", "a b c D", "A b c D"),
        ("a b c d", "b c d", "a b c d e", "b c d e"),
        ("a b c d", "x a b c d", "a b y c d", "x a b y c d"),
        ("a b c d", "a c d", "a b c", "a c"),
        ("", "a", "", "a"),
        // Next to each other, and the same line.
        ("a b c d", "a B c d", "a b C d", "!"),
        ("a b c d", "a B c d", "a b x c d", "!"),
        ("a b c d", "a c d", "a x b c d", "!"),
        ("a b c d", "a B c d", "a D c d", "!"),
        ("a b c d", "a x b c d", "a y b c d", "!"),
        ("a", "", "b", "!"),
        ("", "a", "b", "!"),
        // Both the same, next to another change.
        ("a b c d", "A b c d", "A b c D", "A b c D"),
        ("a b c d", "b c d", "b c", "b c"),
        ("a b c d", "a x b c d", "a x b c D", "a x b c D"),
        // One side made a part of the other's change.
        ("a b c d", "A B C d", "a B c d", "A B C d"),
        ("a b c d e f", "A B C d e f", "a B c d e F", "A B C d e F"),
        ("a x y z b", "a b", "a x z b", "a b"),
        ("a b", "a x y z b", "a y b", "a x y z b"),
        // A part of it, and more.
        ("a b c d", "A B C d", "a B c D", "!"),
        ("a x y z b", "a b", "a x Z b", "!"),
        ("a b", "a x y b", "a y w b", "!"),
        // Repeated lines are ambiguous.
        ("a x x x b", "a x x b", "a x Y x b", "!"),
        ("a x x x b", "a x x b", "a x x b", "a x x b"),
        ("a x x x b", "a x b", "a x x b", "a x b"),
        ("a x x x b", "a x x b", "a x x x B", "a x x B"),
        ("a x x x b", "a x x b", "A x x x B", "A x x B"),
        ("a x x b", "a x x x b", "A x x b", "A x x x b"),
        ("a x m x m x b", "a x m x b", "A x m x m x B", "A x m x B"),
        // Blank lines separate the written text from its neighbours, on one side or the other.
        ("p _ h t _ q", "p _ q", "P _ h t _ q", "P _ q"),
        ("p _ h t _ q", "p _ q", "p _ h t _ Q", "p _ Q"),
        ("p _ h t _ q", "p _ q", "P _ h t _ Q", "!"),
        ("p _ q", "p _ h t _ q", "p _ Q", "p _ h t _ Q"),
        ("p _ h t _ q", "p _ q", "p _ h _ q", "p _ q"),
        ("p _ h t _ q", "p _ q", "p _ h T _ q", "!"),
        ("p _ h t _ q", "p _ q", "p n _ h t _ q", "p n _ q"),
    ] {
        let (base, one, other) = (text(base), text(one), text(other));
        let expected = (both != "!").then(|| text(both));
        assert_eq!(joined(&base, &one, &other).ok(), expected, "{base:?} {one:?} {other:?}");
        assert_eq!(joined(&base, &other, &one).ok(), expected, "{base:?} {other:?} {one:?}");
    }
}

#[test]
fn clashing_lines_are_reported() {
    let (base, one, other) = ("a\nb\nc\nd\n", "a\nB\nc\nd\n", "new\na\nb\nC\nd\n");
    assert_eq!(joined(base, one, other), Err(Unmerged::Clash { line: 4 }));
    for bytes in [b"\xff".as_slice(), b"a\0b", b"\xff\xfea\0"] {
        assert_eq!(lines(bytes, b"a", b"b"), Err(Unmerged::NotText));
        assert_eq!(lines(b"a", b"b", bytes), Err(Unmerged::NotText));
    }
}

#[test]
fn endings_and_the_byte_order_mark_stay_each_where_they_were() {
    for (base, one, other, both) in [
        ("a\r\nb\nc\r\n", "A\r\nb\nc\r\n", "a\r\nb\nC\r\n", Ok("A\r\nb\nC\r\n")),
        (
            "\u{feff}a\r\nb\r\nc",
            "\u{feff}a\r\nb\r\nC",
            "\u{feff}A\r\nb\r\nc",
            Ok("\u{feff}A\r\nb\r\nC"),
        ),
        // The last line got an ending, or lost it together with the text after it.
        ("a\nb\nc\nd\n", "a\nb", "A\nb\nc\nd\n", Ok("A\nb")),
        ("a\r\nb\r\nc\r\nd\r\n", "a\r\nb\r\nc", "A\r\nb\r\nc\r\nd\r\n", Ok("A\r\nb\r\nc")),
        ("a\nb\nc", "A\nb\nc", "a\nb\nc\nd", Ok("A\nb\nc\nd")),
        ("a\nb\nc", "a\nb\nc\n", "A\nb\nc", Ok("A\nb\nc\n")),
        ("a\nb\nc\n", "a\nb\nc", "a\nb\nc\nd\n", Err(Unmerged::Clash { line: 4 })),
        ("a\nb\r", "A\nb\r", "a\nb\r", Ok("A\nb\r")),
        ("", "a", "", Ok("a")),
        // Frontmatter is lines like any other.
        (
            "---\ntags: x\n---\ntext\n",
            "---\n---\ntext\n",
            "---\ntags: x\n---\ntext\nmore\n",
            Ok("---\n---\ntext\nmore\n"),
        ),
    ] {
        let found = joined(base, one, other);
        assert_eq!(found, both.map(str::to_owned), "{base:?} {one:?} {other:?}");
    }
}

#[test]
fn links_of_a_merged_text_follow_but_for_those_that_went_back() {
    let now = "mine [[b/New]] and [[b/New#h]]\n\n[t](b/New.md) \"file\":\"b/New.md\"\n";
    let merged = "mine [[Old]] and [[b/New#h]]\n\n[t](b/New.md) \"file\":\"b/New.md\"\n";
    let followed = "mine [[a/Old]] and [[a/Old#h]]\n\n[t](a/Old.md) \"file\":\"a/Old.md\"\n";
    let expected = "mine [[Old]] and [[a/Old#h]]\n\n[t](a/Old.md) \"file\":\"a/Old.md\"\n";
    let found = following(now.as_bytes(), merged.as_bytes(), followed.as_bytes());
    assert_eq!(found.as_deref(), Some(expected.as_bytes()));
}

#[test]
fn a_text_with_other_links_differs_from_another_text() {
    for (one, other, alone) in [
        ("see [[Old]] and", "see [[b/New one|it]] and", true),
        ("[t](a.md) ![[p.png]]", "[t](<b c.md>) ![[q/p.png]]", true),
        ("---\nup: '[[a]]'\n---\n", "---\nup: '[[b/a]]'\n---\n", true),
        ("{\"file\":\"a.md\"}", "{\"file\":\"b/a.md\"}", true),
        ("[Old](a.md) end", "[New](b/New.md) end", true),
        ("![t](<a (b).md>).", "![t](<c.md>).", true),
        ("[t](a(b).md \"why\").", "[t](c.md \"why\").", true),
        ("[![i](p.png)](a.md)", "[![i](q/p.png)](b.md)", true),
        ("{\"file\": \"a.md\"}", "{\"file\": \"b/a.md\"}", true),
        ("[t](a.md) end", "[t](a.md) End", false),
        ("[t](a", "[t](b", false),
        ("[ ] a", "[x] a", false),
        ("see [[Old]] and", "see [[New]] or", false),
        ("see [[Old]] and", "see Old and", false),
        ("[[a]]", "[[a]] [[b]]", false),
        ("[[a\nb]]", "[[c\nb]]", false),
    ] {
        let found = differ_in_links_alone(one.as_bytes(), other.as_bytes());
        assert_eq!(found, alone, "{one:?} {other:?}");
    }
}

#[test]
fn much_that_opens_and_never_closes_takes_no_time() {
    let one = "[[".repeat(500_000);
    let started = std::time::Instant::now();
    assert!(differ_in_links_alone(one.as_bytes(), one.as_bytes()));
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
}

/// A line of the base goes, is another one, or has new ones before it; those are its own.
#[derive(Debug, Clone)]
struct Touched {
    goes: bool,
    before: usize,
}

fn touched() -> impl Strategy<Value = Touched> {
    let goes = prop::bool::weighted(0.1);
    let before = prop_oneof![12 => Just(0_usize), 1 => 1..3_usize];
    (goes, before).prop_map(|(goes, before)| Touched { goes, before })
}

/// A text made of numbered lines by changing some of them.
fn changed(side: &str, touched: &[Touched]) -> Vec<String> {
    let each = touched.iter().enumerate().flat_map(|(at, one)| {
        let new = (0..one.before).map(move |number| format!("{side}{at}.{number}\n"));
        new.chain((!one.goes).then(|| format!("{at}\n")))
    });
    each.collect()
}

fn is_among(part: &[String], all: &[String]) -> bool {
    let mut all = all.iter();
    part.iter().all(|line| all.any(|other| other == line))
}

proptest! {
    #[test]
    fn a_change_alone_goes_back_or_stays(
        one in "[ab \\[\\]\n]{0,30}", other in "[ab \\[\\]\n]{0,30}"
    ) {
        prop_assert_eq!(taken_out(&one, &other, &one), Some(other.clone()));
        prop_assert_eq!(taken_out(&one, &other, &other), Some(other.clone()));
        prop_assert_eq!(taken_out(&one, &one, &other), Some(other));
    }

    #[test]
    fn lines_far_from_each_other_are_no_obstacle(
        lines in prop::collection::vec("[a-z ]{0,12}", 8..20), at in 0..3_usize, to in 0..3_usize
    ) {
        let text = |lines: &[String]| lines.join("\n");
        let number = |lines: &mut [String], at: usize, word: &str| lines[at] = word.to_owned();
        let mut done = lines.clone();
        number(&mut done, at, "OURS");
        let mut now = done.clone();
        let last = lines.len() - 1 - to;
        number(&mut now, last, "THEIRS");
        let mut expected = lines.clone();
        number(&mut expected, last, "THEIRS");
        prop_assert_eq!(taken_out(&text(&done), &text(&lines), &text(&now)), Some(text(&expected)));
        prop_assert_eq!(joined(&text(&done), &text(&lines), &text(&now)), Ok(text(&expected)));
    }

    #[test]
    fn where_one_side_changed_nothing_the_other_holds(
        base in "(\u{feff})?([abü]{0,2}(\r?\n|\r)){0,8}[ab]{0,2}",
        one in "(\u{feff})?([abü]{0,2}(\r?\n|\r)){0,8}[ab]{0,2}",
    ) {
        prop_assert_eq!(joined(&base, &base, &one), Ok(one.clone()));
        prop_assert_eq!(joined(&base, &one, &base), Ok(one.clone()));
        prop_assert_eq!(joined(&base, &one, &one), Ok(one));
    }

    #[test]
    fn the_order_of_the_two_does_not_matter(
        base in "([ab]?(\r\n|\n)){0,8}[ab]?", one in "([abc]?(\r\n|\n)){0,8}[ab]?",
        other in "([abd]?(\r\n|\n)){0,8}[ab]?",
    ) {
        let (there, back) = (joined(&base, &one, &other), joined(&base, &other, &one));
        prop_assert_eq!(there.ok(), back.ok());
    }

    /// Every line is unique here, so the right result can be computed without the merge.
    #[test]
    fn no_line_is_lost_that_the_other_did_not_touch_and_none_comes_back(
        touched in prop::collection::vec((touched(), touched()), 1..12)
    ) {
        let (mine, theirs): (Vec<Touched>, Vec<Touched>) = touched.into_iter().unzip();
        let base: Vec<String> = (0..mine.len()).map(|at| format!("{at}\n")).collect();
        let (one, other) = (changed("m", &mine), changed("t", &theirs));
        let found = joined(&base.concat(), &one.concat(), &other.concat());
        let gaps = |all: &[Touched]| -> Vec<usize> {
            // The gaps between lines that a change touches: those above and below removed lines.
            let of = |(at, one): (usize, &Touched)| {
                let goes = one.goes.then_some([at, at + 1]);
                goes.into_iter().flatten().chain((one.before > 0).then_some(at))
            };
            all.iter().enumerate().flat_map(of).collect()
        };
        let alike = mine.iter().zip(&theirs).any(|(one, other)| one.goes && other.goes);
        let meet = gaps(&mine).iter().any(|gap| gaps(&theirs).contains(gap));
        match found {
            Err(_) => prop_assert!(meet, "nothing of them meets"),
            Ok(found) => {
                prop_assert!(!meet || alike, "they meet: {found:?}");
                let found: Vec<String> = found.split_inclusive('\n').map(str::to_owned).collect();
                let kept = |line: &String| one.contains(line) && other.contains(line);
                let own = |line: &String| !base.contains(line);
                let expected = |side: &[String]| -> Vec<String> {
                    side.iter().filter(|line| own(line) || kept(line)).cloned().collect()
                };
                prop_assert!(is_among(&expected(&one), &found), "{found:?} lacks of {one:?}");
                prop_assert!(is_among(&expected(&other), &found), "{found:?} lacks of {other:?}");
                let all = one.iter().chain(&other).filter(|line| own(line)).count();
                let stay = base.iter().filter(|line| kept(line)).count();
                prop_assert_eq!(found.len(), all + stay, "{:?}", found);
            }
        }
    }

    /// A second implementation, which may match repeated lines differently, agrees on unambiguous
    /// cases.
    #[test]
    fn another_merge_comes_to_the_same(
        base in "([abc]\n){0,10}", one in "([abcx]\n){0,10}", other in "([abcy]\n){0,10}",
    ) {
        let its = TextMerge::from_lines(base.as_str(), one.as_str(), other.as_str());
        if let (false, Ok(found)) = (its.is_conflicted(), joined(&base, &one, &other)) {
            prop_assert_eq!(its.to_string(), found);
        }
    }
}

#[test]
fn a_change_is_reverted_except_links_that_were_changed_since() {
    let done = b"k: 2\nto [b](Out/b.md)\n";
    let before = b"k: 1\nto [b](b.md)\n";
    let since = b"k: 2\nto [b](In/b.md)\n";
    let taken = reverted_except_links(done, before, since).expect("only a link was changed");
    assert_eq!(String::from_utf8_lossy(&taken), "k: 1\nto [b](In/b.md)\n");
    // Together with the other parts of the change.
    let (done, since) = (&b"[b](Out/b.md)\nmore\n"[..], &b"[b](In/b.md)\nmore\n"[..]);
    let taken =
        reverted_except_links(done, b"[b](./b.md)\n", since).expect("only a link was changed");
    assert_eq!(String::from_utf8_lossy(&taken), "[b](In/b.md)\n");
    let (done, since) = (&b"[[b]]\nmore\n[[a]]\n"[..], &b"[[In/b]]\nmore\n[[a]]\n"[..]);
    assert_eq!(
        reverted_except_links(done, b"[[a]]\nless\n[[b]]\n", since),
        None,
        "which link is which?"
    );
    let done = b"k: 2\nto [b](Out/b.md)\n";
    let since = b"k: 2\nto [b](In/b.md)\n";
    let written = b"k: 2\nto me [b](In/b.md)\n";
    assert_eq!(reverted_except_links(done, before, written), None);
    // The change swapped links to two files of one name, and one of these was moved since.
    let taken = reverted_except_links(
        b"[[y/a]] two\n[[x/a]] one\n",
        b"[[x/a]] one\n[[y/a]] two\n",
        b"[[z/a]] two\n[[x/a]] one\n",
    );
    assert_eq!(taken, None);
    // The name is the file's, not the display text or a heading.
    let taken = reverted_except_links(b"[[New|a/b]] k", b"[[Old|a/b]]", b"[[In/New|a/b]] k");
    assert_eq!(taken, None);
    let taken = reverted_except_links(
        b"k: 2 [[b#x|two]] [c](c.md \"two\")",
        b"k: 1 [[b#x|one]] [c](c.md \"one\")",
        b"k: 2 [[In/b#x|two]] [c](In/c.md \"two\")",
    );
    assert_eq!(taken.as_deref(), Some(&b"k: 1 [[In/b#x|two]] [c](In/c.md \"two\")"[..]));
    let canvas = [r#"{"file":"b.md","x":1}"#, r#"{"file":"In/b.md","x":2}"#];
    let taken = reverted_except_links(
        canvas[1].as_bytes(),
        canvas[0].as_bytes(),
        br#"{"file":"Out/b.md","x":2}"#,
    );
    assert_eq!(taken.as_deref(), Some(&br#"{"file":"Out/b.md","x":1}"#[..]));
    // The change created the link, which was redirected since.
    let without = b"k: 1\nto nobody\n";
    assert_eq!(reverted_except_links(done, without, since), None);
}
