//! Computes the text of a note after its item is applied, for both the job and the preview.

use serde_json::Value;

use super::plan::Item;
use crate::note::fold::fold_key;
use crate::note::frontmatter;
use crate::note::frontmatter::edit::{self, PropertyChange, PropertyError};
use crate::note::tag;
use crate::note::text::{Eol, Text};

/// Why an item's text cannot be computed; printed after the note's path and a colon.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    /// The file is not a note, so it has no properties, tags or text to change.
    #[error("it is not a note, so it has no properties, tags or text to change")]
    NotANote,
    #[error("{0}")]
    NotText(String),
    /// It is UTF-16.
    #[error("it is UTF-16, which is read and never edited")]
    Wide,
    /// Its properties cannot be changed.
    #[error("{0}")]
    Property(#[from] PropertyError),
    /// The new text exceeds the limit of files that are read whole.
    #[error("it would have {size} bytes; the limit is {limit}")]
    TooLarge {
        /// Size of the new text in bytes.
        size: usize,
        limit: u64,
    },
}

/// The new content of a file of at most `limit` bytes, with the item's properties, tags and text. `old` is the current
/// content, empty for a new note; `name` is its path or name.
pub fn changed(item: &Item, name: &str, old: &[u8], limit: u64) -> Result<Vec<u8>, ContentError> {
    let text = Text::decode(old, name).map_err(|fault| ContentError::NotText(fault.to_string()))?;
    if !text.encoding().is_editable() {
        return Err(ContentError::Wide);
    }
    let eol = text.dominant_eol().unwrap_or(Eol::Lf);
    let mut body = text.body().to_owned();
    if !item.append.is_empty() {
        if !body.is_empty() && !body.ends_with('\n') {
            body.push_str(eol.as_str());
        }
        push(&mut body, &item.append, eol, !text.body().is_empty());
    }
    if !item.prepend.is_empty() {
        let at = frontmatter::find(&body, 0).map_or(0, |found| found.range.end);
        let rest = body.split_off(at);
        if at > 0 && !body.ends_with('\n') {
            body.push_str(eol.as_str());
        }
        push(&mut body, &item.prepend, eol, !rest.is_empty());
        body.push_str(&rest);
    }
    let changes = property_changes(item, &body);
    if !changes.is_empty() {
        body = edit::apply(&body, &changes)?.text;
    }
    let new = [text.lead(), body.as_bytes()].concat();
    if new.len() as u64 > limit {
        Err(ContentError::TooLarge { size: new.len(), limit })
    } else {
        Ok(new)
    }
}

/// Appends a text with the note's line endings, and a line ending after it if more follows or a line ended before it.
fn push(body: &mut String, text: &str, eol: Eol, ends_line: bool) {
    match eol {
        Eol::Lf => body.push_str(text),
        Eol::CrLf => body.push_str(&text.replace("\r\n", "\n").replace('\n', "\r\n")),
    }
    if ends_line && !text.ends_with('\n') {
        body.push_str(eol.as_str());
    }
}

/// The property changes of an item, including tags. Additions precede removals, so that a block that loses all its old
/// properties keeps its position.
fn property_changes(item: &Item, body: &str) -> Vec<PropertyChange> {
    let set = item.set.iter().map(|(name, value)| (name, Some(value.clone())));
    let removed = item.remove.iter().map(|name| (name, None));
    let mut changes: Vec<PropertyChange> = set
        .chain(removed)
        .map(|(name, value)| PropertyChange { name: name.clone(), value })
        .collect();
    if item.tag.is_empty() && item.untag.is_empty() {
        return changes;
    }
    // Tags are added to the value that the item sets for `tags`.
    let own = changes.iter().position(|change| fold_key(&change.name) == "tags");
    let own = own.map(|at| changes.remove(at));
    let found = frontmatter::find(body, 0);
    let present = found.as_ref().and_then(|found| found.get("tags")).map(|tags| &tags.value);
    let was = own.as_ref().map_or(present, |own| own.value.as_ref());
    let before = was.map(tag_entries).unwrap_or_default();
    let mut after = before.clone();
    let key = |value: &Value| value.as_str().map(|text| tag::key(bare(text)));
    after.retain(|value| {
        let key = key(value);
        !item.untag.iter().any(|gone| key.as_deref() == Some(&*tag::key(bare(gone))))
    });
    for new in item.tag.iter().map(|new| bare(new)) {
        if !after.iter().any(|value| key(value).as_deref() == Some(&*tag::key(new))) {
            after.push(Value::String(new.to_owned()));
        }
    }
    if own.is_some() || after != before {
        let value = (!after.is_empty()).then_some(Value::Array(after));
        changes.insert(0, PropertyChange { name: "tags".to_owned(), value });
    }
    changes
}

/// The entries of a `tags` property, including invalid tags, which an edit rejects instead of losing them.
fn tag_entries(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(entries) => entries.clone(),
        Value::Null => Vec::new(),
        Value::String(text) => {
            let tags = text.split([',', ' ', '\t', '\n']).filter(|tag| !tag.is_empty());
            tags.map(|tag| Value::String(tag.to_owned())).collect()
        }
        other => vec![other.clone()],
    }
}

pub(super) fn bare(tag: &str) -> &str {
    let tag = tag.trim();
    tag.strip_prefix('#').unwrap_or(tag)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn item(value: Value) -> Item {
        let mut item = json!({"id": 1, "path": "a.md", "risk": "medium"});
        item.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
        serde_json::from_value(item).unwrap()
    }

    #[track_caller]
    fn check(value: Value, old: &str, new: &str) {
        let made = changed(&item(value), "a.md", old.as_bytes(), 1_000).unwrap();
        assert_eq!(String::from_utf8(made).unwrap(), new);
    }

    #[test]
    fn texts_that_items_make() {
        check(json!({"append": "x"}), "a", "a\nx\n");
        check(json!({"append": "x"}), "", "x");
        check(json!({"append": "x\ny"}), "a\r\n", "a\r\nx\r\ny\r\n");
        check(json!({"prepend": "x"}), "---\na: 1\n---\nb", "---\na: 1\n---\nx\nb");
        check(json!({"prepend": "x"}), "---\na: 1\n---", "---\na: 1\n---\nx");
        check(json!({"prepend": "x", "append": "y"}), "b\n", "x\nb\ny\n");
        check(
            json!({"set": {"a": 2}, "remove": ["b"]}),
            "---\na: 1\nb: 1\n---\n",
            "---\na: 2\n---\n",
        );
        check(json!({"set": {"a": 2}}), "\u{feff}b", "\u{feff}---\na: 2\n---\nb");
        check(
            json!({"create": true, "append": "# T\n", "tag": ["x"]}),
            "",
            "---\ntags:\n  - x\n---\n# T\n",
        );
    }

    #[test]
    fn tags_come_and_go() {
        check(json!({"tag": ["#b", "A"]}), "---\ntags: [a]\n---\n", "---\ntags: [a, b]\n---\n");
        check(json!({"untag": ["A"]}), "---\ntags: [a, b]\n---\n", "---\ntags: [b]\n---\n");
        check(json!({"untag": ["a"]}), "---\nx: 1\ntags: a\n---\n", "---\nx: 1\n---\n");
        check(json!({"untag": ["c"]}), "---\ntags: a\n---\n", "---\ntags: a\n---\n");
        check(
            json!({"set": {"tags": ["x"]}, "tag": ["z"]}),
            "---\ntags: [a]\n---\n",
            "---\ntags: [x, z]\n---\n",
        );
    }

    #[test]
    fn what_cannot_be_edited() {
        let odd = changed(&item(json!({"tag": ["x"]})), "a.md", b"---\ntags: [2024]\n---\n", 99);
        assert!(matches!(odd, Err(ContentError::Property(_))), "{odd:?}");
        let wide = changed(&item(json!({"append": "x"})), "a.md", b"\xff\xfea\0", 99);
        assert_eq!(wide, Err(ContentError::Wide));
        let large = changed(&item(json!({"append": "xx"})), "a.md", b"a\n", 4);
        assert_eq!(large, Err(ContentError::TooLarge { size: 5, limit: 4 }));
    }
}
