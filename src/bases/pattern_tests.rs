//! Matches of patterns, and errors of unusable ones.

use super::*;

#[track_caller]
fn finds(source: &str, flags: &str, text: &str, expected: Option<&str>) {
    let pattern = compile(source, flags).unwrap_or_else(|fault| panic!("/{source}/: {fault:?}"));
    let found = pattern.regex.find(text).map(|found| found.as_str());
    assert_eq!(found, expected, "/{source}/{flags} in {text:?}");
}

#[track_caller]
fn refused(source: &str, flags: &str, at: usize, message: &str) {
    let fault = compile(source, flags).expect_err(source);
    assert_eq!(fault.at, at, "/{source}/{flags}: {fault:?}");
    assert!(fault.message.contains(message), "/{source}/{flags}: {fault:?}");
}

#[test]
fn classes_mean_what_they_mean_in_javascript() {
    finds(r"\d+", "", "١٢ 34", Some("34"));
    finds(r"\D", "", "1١", Some("١"));
    finds(r"\w+", "", "éa1_é", Some("a1_"));
    finds(r"\w", "i", "\u{17f}\u{212a}", None);
    finds(r"[\w-]+", "", "é a-b", Some("a-b"));
    finds(r"[\W]", "", "aé", Some("é"));
    finds(r"\s", "", "a\u{feff}", Some("\u{feff}"));
    finds(r"\s", "", "a\u{85}", None);
    finds(r"\S", "", "\u{feff}\u{2028}b", Some("b"));
    finds(r"[\S]", "", "\u{3000}b", Some("b"));
    finds(r"\bé", "", "aé", Some("é"));
    finds(r"\Bb", "", "b ab", Some("b"));
    finds(r"[\b]", "", "a\u{8}", Some("\u{8}"));
    finds(".", "", "\n\r\u{2028}a", Some("a"));
    finds(".", "s", "\na", Some("\n"));
    finds("[^]", "", "\n", Some("\n"));
    finds("[]", "", "a", None);
    finds(r"\p{Lu}", "u", "aÄ", Some("Ä"));
    finds(r"[^\p{L}]", "u", "aé1", Some("1"));
    finds(r"\p{Script=Greek}", "u", "aλ", Some("λ"));
    finds(r"\p", "", "ap", Some("p"));
}

#[test]
fn places_and_lines() {
    finds("^b", "", "a\nb", None);
    finds("^b$", "m", "a\nb\r\nc", Some("b"));
    finds("a$", "", "a\n", None);
    finds("b", "y", "ab", None);
    finds("a|b", "y", "ba", Some("b"));
}

#[test]
fn escapes_and_braces() {
    finds(r"a\/b", "", "a/b", Some("a/b"));
    finds(r"\cJ\x41\u00e4\0", "", "\nAä\0", Some("\nAä\0"));
    finds(r"\uD83C\uDF31", "", "🌱", Some("🌱"));
    finds(r"\u{1F331}", "u", "🌱", Some("🌱"));
    finds(r"\xzz\u12", "", "xzzu12", Some("xzzu12"));
    finds("a{2}", "", "aaa", Some("aa"));
    finds("a{1,}?", "", "aaa", Some("a"));
    finds("{a}", "", "{a}", Some("{a}"));
    finds("a{,2}", "", "a{,2}", Some("a{,2}"));
    finds("[a-c-e]+", "", "-eb", Some("-eb"));
    finds("[-a]+[a-]+", "", "-a-", Some("-a-"));
    finds(r"[\w-~]+", "", "-~", Some("-~"));
    finds("[[&&~]+", "", "a&[~", Some("&[~"));
    finds("a]}#&~ -", "", "a]}#&~ -", Some("a]}#&~ -"));
    finds("(?<year>[0-9]{4})-(?:a|b)", "", "2026-b", Some("2026-b"));
    finds("(a)|(b)", "i", "B", Some("B"));
}

#[test]
fn unusable_patterns_are_reported_with_their_place() {
    refused("(?=a)", "", 0, "lookahead");
    refused("ab(?!c)", "", 2, "lookahead");
    refused("a(?<=b)", "", 1, "lookbehind");
    refused("(?<!b)", "", 0, "lookbehind");
    refused(r"(a)\1", "", 3, "back references");
    refused(r"(?<a>b)\k<a>", "", 7, "back references");
    refused("a**", "", 2, "nothing to repeat");
    refused("+", "", 0, "nothing to repeat");
    refused("(|*)", "", 2, "nothing to repeat");
    refused("a{2,1}", "", 1, "out of order");
    refused("[z-a]", "", 1, "out of order");
    refused("x[a", "", 1, "not closed");
    refused("x(a", "", 1, "not closed");
    refused("a)", "", 1, "without");
    refused("a\\", "", 1, "nothing after");
    refused(r"\uD83C", "", 0, "whole character");
    refused(r"\p{Nothing}", "u", 0, "not a property");
    refused("(?<1>a)", "", 0, "no name");
    refused("(?i:a)", "", 0, "kind of group");
    refused("", "", 0, "empty");
    refused("a", "gx", 3, "no flag `x`");
    refused("a", "gg", 3, "repeated");
    refused("(?:a{1000}){1000}", "", 0, "too large");
}
