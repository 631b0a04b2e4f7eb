//! Another name for a tag, in the text and in the `tags` property: exactly the tag's bytes change.

use std::ops::Range;

use serde_json::Value;

use super::{is_name, key};
use crate::note::frontmatter::edit::{self, PropertyChange, PropertyError};
use crate::note::frontmatter::scalar::{ScalarContext, Style, is_plain, spell};
use crate::note::frontmatter::{self, Frontmatter, Property};
use crate::note::markdown;

/// A note in which a tag has another name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Renamed {
    /// The whole new text.
    pub text: String,
    /// Tags of the text that were renamed.
    pub inline: usize,
    /// Tags of the property that were renamed.
    pub properties: usize,
    /// Duplicate tags removed from the property.
    pub dropped: usize,
}

/// A tag's name as people write it, with or without `#`; `None` if it is invalid.
pub fn name_of(requested: &str) -> Option<&str> {
    let requested = requested.trim();
    let name = requested.strip_prefix('#').unwrap_or(requested);
    let whole = !name.starts_with('/') && !name.ends_with('/') && !name.contains("//");
    (whole && is_name(name)).then_some(name)
}

/// If `name` is the tag `from` or nested in it: the range of the bytes to replace.
fn part_of(name: &str, from: &str) -> Option<Range<usize>> {
    let start = name.len() - name.trim_start_matches('/').len();
    let mut end = start;
    let mut parts = name[start..].split('/');
    for wanted in from.split('/') {
        let part = parts.next().filter(|part| !part.is_empty() && key(part) == key(wanted))?;
        end += part.len() + usize::from(end > start);
    }
    Some(start..end)
}

/// Renames the tag `from` and the tags nested in it to `to`; both in the form of [`name_of`]. Code,
/// math and links contain no tags, and neither do unreadable properties.
///
/// # Errors
/// [`PropertyError`] if the result would be wrong, for example because the tag has an anchor that
/// something else refers to, or is in a block scalar (`tags: |`); and if the property would have a
/// tag twice that cannot be removed.
pub fn rename(text: &str, from: &str, to: &str) -> Result<Renamed, PropertyError> {
    let document = markdown::read(text);
    let mut renamed = Renamed::default();
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    if let Some(found) = &document.frontmatter
        && let Some(tags) = found.get("tags")
    {
        let value;
        (renamed.properties, value) = in_property(text, tags, from, to, &mut edits);
        if renamed.properties > 0 {
            read_again(text, found, tags, value, &edits)?;
        }
    }
    for tag in &document.tags {
        if let Some(part) = part_of(&text[tag.name.clone()], from) {
            let start = tag.name.start;
            edits.push((start + part.start..start + part.end, to.to_owned()));
            renamed.inline += 1;
        }
    }
    renamed.text = apply_edits(text, edits);
    if renamed.properties > 0 {
        drop_repeated(&mut renamed)?;
    }
    Ok(renamed)
}

fn apply_edits(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| range.start);
    let mut new = String::with_capacity(text.len());
    let mut at = 0;
    for (range, put) in edits {
        new.push_str(&text[at..range.start]);
        new.push_str(&put);
        at = range.end;
    }
    new.push_str(&text[at..]);
    new
}

/// Whether after these edits `tags` is `value` and all other properties are unchanged.
fn read_again(
    text: &str,
    found: &Frontmatter,
    tags: &Property,
    value: Value,
    edits: &[(Range<usize>, String)],
) -> Result<(), PropertyError> {
    let properties = found.properties.as_deref().unwrap_or_default();
    let expected = properties.iter().map(|property| {
        if std::ptr::eq(property, tags) {
            (property.name.clone(), value.clone())
        } else {
            (property.name.clone(), property.value.clone())
        }
    });
    let expected: Vec<(String, Value)> = expected.collect();
    let (new, body) = (apply_edits(text, edits.to_vec()), &text[found.range.end..]);
    edit::check(&new, found.range.start, &expected, body)
        .map_err(|reason| PropertyError::Unsafe { name: tags.name.clone(), reason })
}

/// Collects the edits of the property; returns the number of renamed tags, and the new value.
fn in_property(
    text: &str,
    tags: &Property,
    from: &str,
    to: &str,
    edits: &mut Vec<(Range<usize>, String)>,
) -> (usize, Value) {
    let before = edits.len();
    let put = |value: &str, parts: &[Range<usize>]| {
        Value::String(apply_edits(
            value,
            parts.iter().map(|part| (part.clone(), to.to_owned())).collect(),
        ))
    };
    match &tags.value {
        Value::Array(items) => {
            let flow = text[tags.at.clone()].starts_with('[');
            let place = if flow { ScalarContext::Flow } else { ScalarContext::Block };
            let mut renamed = items.clone();
            for ((item, at), renamed) in items.iter().zip(&tags.items).zip(&mut renamed) {
                let Some(item) = item.as_str() else { continue };
                let name = item.trim().strip_prefix('#').unwrap_or(item.trim());
                let lead = item.find(name).unwrap_or_default();
                let part = part_of(name, from).filter(|_| is_name(name));
                let Some(part) = part else { continue };
                let part = lead + part.start..lead + part.end;
                *renamed = put(item, std::slice::from_ref(&part));
                edits.push(respelt(text, at, item, &[part], to, place));
            }
            (edits.len() - before, Value::Array(renamed))
        }
        Value::String(all) => {
            let mut parts = Vec::new();
            let mut at = 0;
            for entry in all.split_inclusive([',', ' ', '\t', '\n']) {
                let name = entry.trim_end_matches([',', ' ', '\t', '\n']);
                let bare = name.strip_prefix('#').unwrap_or(name);
                let start = at + name.len() - bare.len();
                if let Some(part) = part_of(bare, from).filter(|_| is_name(bare)) {
                    parts.push(start + part.start..start + part.end);
                }
                at += entry.len();
            }
            if !parts.is_empty() {
                edits.push(respelt(text, &tags.at, all, &parts, to, ScalarContext::Block));
            }
            (parts.len(), put(all, &parts))
        }
        other => (0, other.clone()),
    }
}

/// The edit of one scalar that puts `to` for each of `parts` of its value.
fn respelt(
    text: &str,
    at: &Range<usize>,
    value: &str,
    parts: &[Range<usize>],
    to: &str,
    place: ScalarContext,
) -> (Range<usize>, String) {
    let start = at.start + frontmatter::marks(&text[at.clone()]);
    let raw = text[start..at.end].trim_end();
    let at = start..start + raw.len();
    let new = apply_edits(value, parts.iter().map(|part| (part.clone(), to.to_owned())).collect());
    let style = Style::of(raw);
    let quote = usize::from(style != Style::Plain);
    // Without escapes the value is in the text as it is.
    let verbatim = raw.len() >= 2 * quote && &raw[quote..raw.len() - quote] == value;
    let fits = style != Style::Plain || is_plain(&new, place);
    if verbatim && fits {
        let mark = &raw[..quote];
        (at, format!("{mark}{new}{mark}"))
    } else {
        (at, spell(&Value::String(new), Style::Double, place))
    }
}

/// Takes tags out of the list of the property that are in it before.
fn drop_repeated(renamed: &mut Renamed) -> Result<(), PropertyError> {
    let text = &renamed.text;
    let start = text.len() - text.trim_start_matches('\u{feff}').len();
    let Some(found) = frontmatter::find(text, start) else { return Ok(()) };
    let Some(tags) = found.get("tags") else { return Ok(()) };
    let Value::Array(items) = &tags.value else { return Ok(()) };
    let mut known = Vec::new();
    let mut remaining = Vec::new();
    for item in items {
        let name = item.as_str().map(|item| key(item.trim().trim_start_matches('#')));
        if name.as_ref().is_some_and(|name| known.contains(name)) {
            continue;
        }
        known.extend(name);
        remaining.push(item.clone());
    }
    if remaining.len() == items.len() {
        return Ok(());
    }
    let dropped = items.len() - remaining.len();
    let change = PropertyChange { name: tags.name.clone(), value: Some(Value::Array(remaining)) };
    renamed.text = edit::apply_exactly(text, &change)?.text;
    renamed.dropped = dropped;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn gives(text: &str, from: &str, to: &str, new: &str, counts: (usize, usize, usize)) {
        let renamed = rename(text, from, to).expect("it can be renamed");
        assert_eq!(renamed.text, new);
        assert_eq!((renamed.inline, renamed.properties, renamed.dropped), counts);
    }

    #[test]
    fn in_the_text_only_the_tag_changes() {
        gives(
            "#Garden #garden/soil, #gardening #x/garden `#garden` $#garden$ [[a#garden]] \
             https://x.org/#garden x#garden\r\n```\n#garden\n```\n(#garden) #GARDEN.",
            "garden",
            "plot/27",
            "#plot/27 #plot/27/soil, #gardening #x/garden `#garden` $#garden$ [[a#garden]] \
             https://x.org/#garden x#garden\r\n```\n#garden\n```\n(#garden) #plot/27.",
            (3, 0, 0),
        );
        gives("#größe/a #GRÖSSE #GRÖßE", "größe", "g", "#g/a #GRÖSSE #g", (2, 0, 0));
        gives("#a/b #a #a/b/c", "a/b", "x", "#x #a #x/c", (2, 0, 0));
        gives("#a", "a", "a/b", "#a/b", (1, 0, 0));
        gives("nothing", "a", "b", "nothing", (0, 0, 0));
    }

    #[test]
    fn in_the_property_quotes_and_comments_stay() {
        let text =
            "---\n# t\ntags:\n  - a # one\n  - \"A/x\"\n  - '#a/y'\n  - ab\nother: a\n---\n#a\n";
        let new =
            "---\n# t\ntags:\n  - b # one\n  - \"b/x\"\n  - '#b/y'\n  - ab\nother: a\n---\n#b\n";
        gives(text, "a", "b", new, (1, 3, 0));
        gives(
            "---\ntags: [a, 'b', c] # x\n---\n",
            "b",
            "yes",
            "---\ntags: [a, 'yes', c] # x\n---\n",
            (0, 1, 0),
        );
        gives("---\ntags: [a]\n---\n", "a", "yes", "---\ntags: [\"yes\"]\n---\n", (0, 1, 0));
        gives(
            "---\nTags: 'a, #a/b c'\n---\n",
            "a",
            "d",
            "---\nTags: 'd, #d/b c'\n---\n",
            (0, 2, 0),
        );
        gives("---\ntags: \"\\u0061\"\n---\n", "a", "b", "---\ntags: \"b\"\n---\n", (0, 1, 0));
        gives("---\ntags: a\n---\n", "a", "1e3", "---\ntags: \"1e3\"\n---\n", (0, 1, 0));
        gives("---\ntags: [x\n---\n#x", "x", "y", "---\ntags: [x\n---\n#y", (1, 0, 0));
    }

    #[test]
    fn what_would_change_something_else_is_refused() {
        for text in [
            "---\ntags:\n  - &g a\n  - other\nagain: *g\n---\n#a",
            "---\ntags: |\n  a\n  other\n---\n",
            "---\ntags:\n  - |\n    a\n  - >-\n    a/sub\n---\n",
        ] {
            let refused = rename(text, "a", "b").expect_err(text);
            assert!(matches!(refused, PropertyError::Unsafe { .. }), "{text}: {refused}");
        }
        gives(
            "---\nx: &g a\ntags: [*g, &h a/b, !!str 'a/c']\n---\n",
            "a",
            "d",
            "---\nx: &g a\ntags: [\"d\", &h d/b, !!str 'd/c']\n---\n",
            (0, 3, 0),
        );
        let text = "---\ntags: >-\n  a, other\nz: 1\n---\n";
        gives(text, "a", "b", &text.replace("  a,", "  b,"), (0, 1, 0));
        gives("---\ntags: !!str a\n---\n", "a", "b", "---\ntags: !!str b\n---\n", (0, 1, 0));
    }

    #[test]
    fn what_stands_twice_then_is_dropped() {
        gives(
            "---\ntags:\n  - b # kept\n  - x\n  - a # gone\n---\n#a #b",
            "a",
            "B",
            "---\ntags:\n  - b # kept\n  - x\n---\n#B #b",
            (1, 1, 1),
        );
        gives("---\ntags: [a, 2020, b]\n---\n", "a", "b", "---\ntags: [b, 2020]\n---\n", (0, 1, 1));
    }

    #[test]
    fn names_people_give() {
        assert_eq!(name_of(" #a/b "), Some("a/b"));
        for bad in ["", "#", "a b", "2026", "a/", "/a", "a//b", "##a", "a.b"] {
            assert_eq!(name_of(bad), None, "{bad}");
        }
    }
}
