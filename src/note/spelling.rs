//! Characters that look alike and are typed for each other: quotes, dashes, spaces, and accented
//! letters as one character or two.

use std::iter::Peekable;
use std::str::Chars;

use unicode_normalization::UnicodeNormalization;

/// Interchangeable characters, with the character class that matches them. Plain spaces are left
/// out: nearly every pattern contains some.
const ALIKE: [(&str, &str); 4] =
    [("'’‘ʼ′", "['’‘ʼ′]"), ("\"“”„", "[\"“”„]"), ("-‐‑–—−", "[-‐‑–—−]"), ("\u{a0}\u{202f}", " ")];

/// A regular expression that also matches text spelt with look-alike characters; `None` if
/// `pattern` has none. Escapes, character classes and the flags of groups stay as they are.
pub fn forgiving(pattern: &str) -> Option<String> {
    if pattern.is_ascii() && !pattern.contains(['\'', '"', '-']) {
        return None;
    }
    let composed: String = pattern.nfc().collect();
    let mut rest = composed.chars().peekable();
    let mut found = String::with_capacity(composed.len() + 16);
    while let Some(c) = rest.next() {
        match c {
            '\\' => {
                found.push(c);
                found.extend(rest.next());
            }
            '[' => class(&mut rest, &mut found),
            '(' if rest.peek() == Some(&'?') => {
                found.push(c);
                until(&mut rest, &mut found, &[':', ')', '>']);
            }
            _ => match ALIKE.iter().find(|(alike, _)| alike.contains(c)) {
                Some((_, class)) => found.push_str(class),
                None => letter(c, &mut found),
            },
        }
    }
    (found != pattern).then_some(found)
}

/// Adds a letter, with its decomposed form as an alternative if it has one.
fn letter(c: char, found: &mut String) {
    let parts: Vec<char> = std::iter::once(c).nfd().collect();
    match &parts[..] {
        [_] => found.push(c),
        _ => {
            found.push_str("(?:");
            found.push(c);
            found.push('|');
            for part in parts {
                // Written as an escape; otherwise copying the pattern could compose it again.
                if part.is_ascii() {
                    found.push(part)
                } else {
                    found.push_str(&format!("\\u{{{:x}}}", u32::from(part)))
                }
            }
            found.push(')');
        }
    }
}

/// Copies a character class up to its end.
fn class(rest: &mut Peekable<Chars<'_>>, found: &mut String) {
    found.push('[');
    found.extend(rest.next_if_eq(&'^'));
    found.extend(rest.next_if_eq(&']'));
    let mut depth = 1;
    while depth > 0
        && let Some(c) = rest.next()
    {
        found.push(c);
        match c {
            '\\' => found.extend(rest.next()),
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
    }
}

/// Copies text up to and including one of the characters `ends`.
fn until(rest: &mut Peekable<Chars<'_>>, found: &mut String, ends: &[char]) {
    for c in rest.by_ref() {
        found.push(c);
        if ends.contains(&c) {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::forgiving;

    #[test]
    fn what_can_be_written_otherwise_is() {
        for (pattern, expected) in [
            ("plain words", None),
            (r"\bTODO\b.*[a-z]+(x|y){2,3}", None),
            (r"[-'é] \- \' (?-i)x (?P<a>b)", None),
            ("Ann's", Some("Ann['’‘ʼ′]s")),
            ("“so”", Some("[\"“”„]so[\"“”„]")),
            ("a–b", Some("a[-‐‑–—−]b")),
            ("a\u{a0}b", Some("a b")),
            ("Café", Some(r"Caf(?:é|e\u{301})")),
            ("Cafe\u{301}", Some(r"Caf(?:é|e\u{301})")),
            ("Cafe\u{301}s?[", Some(r"Caf(?:é|e\u{301})s?[")),
            ("東京 straße", None),
        ] {
            assert_eq!(forgiving(pattern).as_deref(), expected, "{pattern}");
        }
    }
}
