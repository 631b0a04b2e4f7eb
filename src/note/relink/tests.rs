//! Spellings, and texts in which one link changes how another reads.

use super::*;
use crate::note::markdown::ahead;

/// Changes every link from `old` to `new`.
fn relinked(text: &str, old: &str, new: &str) -> (String, Vec<(usize, String)>) {
    let mut decide = |reference: LinkReference<'_>| {
        let goal = Goal { paths: vec![new.to_owned()], ..Goal::default() };
        (reference.path == old).then_some(goal)
    };
    let rewritten = if text.starts_with('{') {
        rewrite_canvas(text, &mut decide)
    } else {
        rewrite_note(text, &mut decide)
    };
    (replaced(text, &rewritten.edits), rewritten.stuck)
}

#[test]
fn a_path_is_written_as_its_link_can_hold_it() {
    for (text, new, expected) in [
        ("[x](a)", "b c", "[x](b%20c)"),
        ("[x](<a>)", "b c", "[x](<b c>)"),
        ("[x](a)", "b(c)", "[x](b(c))"),
        ("[x](a)", "b)c", "[x](b%29c)"),
        ("[x](a)", "b#c", "[x](b%23c)"),
        ("[x](a)", "n: b", "[x](n%3A%20b)"),
        ("[x](a)", "b`c", "[x](b%60c)"),
        ("[[a]]", "b(c) 'd'", "[[b(c) 'd']]"),
        ("---\nx: \"[[a]]\"\n---\n", "b \"c\"", "---\nx: \"[[b \\\"c\\\"]]\"\n---\n"),
        ("---\nx: '[[a]]' # c\n---\n", "b's", "---\nx: '[[b''s]]' # c\n---\n"),
        ("---\nx: &k '[[a]]'\ny: *k\n---\n", "b's", "---\nx: &k '[[b''s]]'\ny: *k\n---\n"),
        ("---\nx: !!str \"[[a]]\"\n---\n", "b", "---\nx: !!str \"[[b]]\"\n---\n"),
        (
            "---\nx: >-\n  [[a]]\ny: 1\n---\n",
            "b's: \"c\"",
            "---\nx: >-\n  [[b's: \"c\"]]\ny: 1\n---\n",
        ),
        ("---\nx:\n  - |\n    [[a|t]]\n---\n", "b", "---\nx:\n  - |\n    [[b|t]]\n---\n"),
        (
            "{\"nodes\":[{\"type\":\"file\",\"file\":\"a\"}]}",
            "b\"c",
            "{\"nodes\":[{\"type\":\"file\",\"file\":\"b\\\"c\"}]}",
        ),
    ] {
        assert_eq!(relinked(text, "a", new), (expected.to_owned(), Vec::new()), "{text}");
    }
}

#[test]
fn inexpressible_links_stay_and_are_reported() {
    for (text, new) in [("[[a]]", "b#c"), ("[[a]]", "b|c"), ("[[a]]", "b]]c"), ("x` [[a]]", "b`c")]
    {
        let stuck = vec![(1, "a".to_owned())];
        assert_eq!(relinked(text, "a", new), (text.to_owned(), stuck), "{text}");
    }
}

/// Quadratic cost would make this take minutes.
#[test]
fn cost_is_linear_in_the_links() {
    let text = "[[a]] [[b]]\n".repeat(100_000);
    let (relinked, stuck) = relinked(&text, "a", "c");
    assert_eq!(stuck, []);
    assert_eq!(relinked, text.replace('a', "c"));
}

/// Every link of a text is rewritten, without reading the other edits or the link's own text again
/// for each.
#[test]
fn many_links_cost_as_much_as_they_are_long() {
    let nested = format!("{}x{}", "![".repeat(2_000), "](a)".repeat(2_000));
    for text in ["[[a]] ".repeat(5_000), "[x](a) ".repeat(5_000), nested] {
        ahead::steps();
        let (new, stuck) = relinked(&text, "a", "b");
        let steps = ahead::steps() / text.len();
        assert_eq!((new, stuck), (text.replace("a]", "b]").replace("(a)", "(b)"), Vec::new()));
        assert!(steps <= 64, "{steps} steps a byte");
    }
}
