//! One link with another path.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::{Goal, Replacement};
use crate::note::link::{Encoding, Link, LinkKind, Quotes, is_external};
use crate::note::markdown::{self, ahead};

/// The edits that change the path of `link` to `path`, and its display text if the goal says so.
/// `None` if the link's syntax cannot express it.
pub(super) fn edits(text: &str, link: &Link, path: &str, goal: &Goal) -> Option<Vec<Replacement>> {
    let new = quote_for_property(link, &destination(text, link, path));
    let path_edit = Replacement { range: link.path.clone(), text: new };
    if let Some(display) = display(text, link, goal) {
        let both = if display.range.start < path_edit.range.start {
            vec![display, path_edit.clone()]
        } else {
            vec![path_edit.clone(), display]
        };
        if names_path(text, link, &both, path) {
            return Some(both);
        }
    }
    let one = vec![path_edit];
    names_path(text, link, &one, path).then_some(one)
}

/// Whether the edited link, parsed alone, has the same kind and the path `path`.
fn names_path(text: &str, link: &Link, edits: &[Replacement], path: &str) -> bool {
    let base = link.range.start;
    let mut shifted: Vec<Replacement> = edits
        .iter()
        .map(|edit| Replacement {
            range: edit.range.start - base..edit.range.end - base,
            text: edit.text.clone(),
        })
        .collect();
    // The text of an image may contain images, and so on, and reading each of them for each outer
    // one would take quadratic time. The text does not decide the image's target.
    if link.kind == LinkKind::Image
        && let Some(shown) = &link.display
    {
        let range = shown.start - base..shown.end - base;
        shifted.insert(0, Replacement { range, text: String::new() });
    }
    let new = super::replaced(&text[link.range.clone()], &shifted);
    ahead::count(new.len());
    // A link over several lines is not a property's value.
    let links = if new.contains('\n') { markdown::read(&new).links } else { Vec::new() };
    let found = links.into_iter().find(|found| found.range == (0..new.len()));
    let found = found.or_else(|| markdown::single_link(&new, 0..new.len()));
    let Some(found) = found else { return false };
    let found = Link { frontmatter: link.frontmatter, ..found };
    found.kind == link.kind
        && found.linkpath(&new) == path
        && found.subpath(&new) == link.subpath(text)
        && (found.kind.is_wiki() || !is_external(&new[found.path.clone()]))
}

/// `path` as it is written in a link of this kind, before any quotes of YAML.
fn destination<'p>(text: &str, link: &Link, path: &'p str) -> Cow<'p, str> {
    if link.encoding == Encoding::Plain {
        return Cow::Borrowed(path);
    }
    let raw = &text[link.path.clone()];
    let angle = link.encoding == Encoding::Angle;
    let blanks = !angle || raw.contains("%20");
    let all = encodes_beyond_ascii(raw);
    let parentheses = !angle && !is_balanced(path);
    let mut new = String::with_capacity(path.len() + 16);
    for (at, c) in path.char_indices() {
        let encode = match c {
            '%' | '#' | '<' | '>' | '\\' | '`' | '$' | '|' => true,
            ' ' => blanks,
            '(' | ')' => parentheses,
            // Before the first slash it would make the rest an address.
            ':' => is_external(&path[..=at]),
            c if c.is_ascii() => c.is_control(),
            c => all || (!angle && c.is_whitespace()),
        };
        if encode {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                let _ = write!(new, "%{byte:02X}");
            }
        } else {
            new.push(c)
        }
    }
    Cow::Owned(new)
}

/// Whether a destination has letters beyond ASCII percent-encoded: then new ones are, too.
fn encodes_beyond_ascii(raw: &str) -> bool {
    let after = raw.split('%').skip(1);
    after
        .filter_map(|rest| rest.bytes().next())
        .any(|digit| matches!(digit, b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F'))
}

fn is_balanced(path: &str) -> bool {
    let mut depth = 0_usize;
    for byte in path.bytes() {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 0 => return false,
            b')' => depth -= 1,
            _ => {}
        }
    }
    depth == 0
}

/// The edit of a link's text, if the text follows the name.
fn display(text: &str, link: &Link, goal: &Goal) -> Option<Replacement> {
    let range = link.display.clone()?;
    let raw = &text[range.clone()];
    let shown = link.unquoted(raw);
    let new = match link.kind {
        LinkKind::Wikilink => {
            let old_path = link.linkpath(text);
            let (old, new) = goal.alias.as_ref().filter(|_| old_path.contains('/'))?;
            let follows = shown == old.as_str() && old != new && !new.contains(['|', '[', ']']);
            follows.then(|| new.clone())?
        }
        LinkKind::Markdown => {
            let plain = unescaped(&shown);
            let (old, new) = goal.shown.iter().find(|(old, _)| plain == old.as_str())?;
            (old != new).then(|| escape_text(new, link.in_table))?
        }
        LinkKind::Embed | LinkKind::Image => return None,
    };
    Some(Replacement { range, text: quote_for_property(link, &new) })
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match characters.peek() {
            Some(next) if c == '\\' && next.is_ascii_punctuation() => {
                plain.push(*next);
                characters.next();
            }
            _ => plain.push(c),
        }
    }
    plain
}

fn escape_text(text: &str, in_table: bool) -> String {
    let mut new = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '[' | ']' | '`' | '$' | '<' | '*') || (c == '|' && in_table) {
            new.push('\\');
        }
        new.push(c);
    }
    new
}

/// Escapes a text for the quotes of a property, if the link is in quotes.
fn quote_for_property(link: &Link, text: &str) -> String {
    match link.frontmatter {
        None => text.to_owned(),
        Some(Quotes::Single) => text.replace('\'', "''"),
        Some(Quotes::Double) => {
            let mut new = String::with_capacity(text.len());
            for c in text.chars() {
                match c {
                    '"' | '\\' => new.extend(['\\', c]),
                    c if c.is_control() => {
                        let _ = write!(new, "\\u{:04x}", c as u32);
                    }
                    c => new.push(c),
                }
            }
            new
        }
    }
}
