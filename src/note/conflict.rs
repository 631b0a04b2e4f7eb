//! Recognises the copies that sync programs make when two machines change one file.
//!
//! Recognised by name alone. The steward shows them and never touches them, since only a person can
//! say which version counts.

/// The original's name and other parts of a conflict copy's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictName {
    /// The name of the original, in the same folder.
    pub original: String,
    /// Whether only a sync program makes such names. If not, the file counts as a copy only if the
    /// original is in the same folder.
    pub is_certain: bool,
}

/// Reads a file name as that of a conflict copy: Syncthing's `.sync-conflict-…`, the "conflicted
/// copy" in brackets of Obsidian Sync, Dropbox, Nextcloud and others, and the ` 2` to ` 9` that
/// iCloud and the Finder append.
pub fn original_of(name: &str) -> Option<ConflictName> {
    let (stem, extension) = match name.rfind('.') {
        Some(dot) if dot > 0 => name.split_at(dot),
        _ => (name, ""),
    };
    let copy = |stem: &str, is_certain| {
        let stem = stem.trim_end();
        let original = format!("{stem}{extension}");
        (!stem.is_empty()).then_some(ConflictName { original, is_certain })
    };
    if let Some(original) = syncthing(stem) {
        return copy(original, true);
    }
    if let Some(original) = in_brackets(stem) {
        return copy(original, true);
    }
    match stem.as_bytes() {
        [before @ .., b' ', b'2'..=b'9'] if !before.ends_with(b" ") => {
            copy(&stem[..stem.len() - 2], false)
        }
        _ => None,
    }
}

/// `Note.sync-conflict-20261121-103045-ABCDEFG`; the letters identify the other machine.
fn syncthing(stem: &str) -> Option<&str> {
    let (original, rest) = stem.rsplit_once(".sync-conflict-")?;
    let mut parts = rest.split('-');
    let digits = |part: Option<&str>, length| {
        part.is_some_and(|part| part.len() == length && part.bytes().all(|b| b.is_ascii_digit()))
    };
    (digits(parts.next(), 8) && digits(parts.next(), 6)).then_some(original)
}

/// `Note (Conflicted copy of phone 202611211030)`, `Note (Anna's conflicted copy 2026-11-21)`.
fn in_brackets(stem: &str) -> Option<&str> {
    let (original, inside) = stem.strip_suffix(')')?.rsplit_once('(')?;
    inside.to_lowercase().contains("conflicted copy").then_some(original)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_copies_and_names_that_are_none() {
        for (name, original, certain) in [
            ("Note.sync-conflict-20261121-103045-ABCDEFG.md", "Note.md", true),
            ("a.b.sync-conflict-20261121-103045-ABCDEFG.md", "a.b.md", true),
            ("Note (Conflicted copy phone 202611211030).md", "Note.md", true),
            ("Note (Anna's conflicted copy 2026-11-21).md", "Note.md", true),
            ("Note (conflicted copy 2026-11-21 103045).canvas", "Note.canvas", true),
            ("Note (x) (CONFLICTED COPY).md", "Note (x).md", true),
            ("Note 2.md", "Note.md", false),
            ("Note 9", "Note", false),
        ] {
            let expected = ConflictName { original: original.to_owned(), is_certain: certain };
            assert_eq!(original_of(name), Some(expected), "{name}");
        }
        for name in [
            "Note.md",
            "Note 1.md",
            "Note 10.md",
            "2.md",
            " 2.md",
            "Note2.md",
            "Note  2.md",
            "",
            "Note.sync-conflict-later.md",
            "A conflicted copy.md",
            "(conflicted copy).md",
            ".2",
            "Note (conflicted copy.md",
            "Größe.md",
            "é 2é.md",
        ] {
            assert_eq!(original_of(name), None, "{name}");
        }
    }
}
