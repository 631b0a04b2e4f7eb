//! The rules for the names of new files and folders: names that Obsidian and every desktop system
//! accept.
//!
//! Vaults travel. A name that works here can vanish from a phone, stop a sync or break every link
//! to it. So a *new* name must satisfy the strictest of all systems; an existing name is accepted
//! as it is.
//!
//! Sources: Obsidian's own check on renaming (`\ / :` everywhere, `* ? " < > |` on Windows and
//! Android, `# ^ [ ]` because of their meaning in links, no leading dot because it hides the file);
//! Microsoft's "Naming Files, Paths, and Namespaces" for devices and trailing dots and spaces; 255
//! bytes is the limit of ext4.

use std::borrow::Cow;

use crate::note::path::{MAX_NAME_BYTES, is_invisible, show};

/// A name that no new file or folder may have, with a similar one that is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` cannot be the name of a new file or folder: {reason}")]
pub struct NameFault {
    /// The requested name, invisible characters escaped, at most 100 characters.
    pub name: String,
    pub reason: NameReason,
    /// The nearest name that [`check_new_name`] accepts.
    pub suggestion: String,
}

/// The rule that a name breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameReason {
    /// Empty or only whitespace.
    #[error("it is empty")]
    Empty,
    /// `.` or `..`.
    #[error("`.` and `..` are not names")]
    Way,
    /// Longer than [`MAX_NAME_BYTES`].
    #[error("it has {bytes} bytes; the limit is {MAX_NAME_BYTES}")]
    TooLong {
        /// Its length in bytes of UTF-8.
        bytes: usize,
    },
    /// One of `\ / : * ? " < > |`.
    #[error("`{character}` cannot be in a file name on every system")]
    Forbidden {
        /// The first such character.
        character: char,
    },
    /// One of `# ^ [ ]`.
    #[error("`{character}` means something in a link, so links to it would break")]
    LinkSyntax {
        /// The first such character.
        character: char,
    },
    /// A control character, or a line or paragraph separator.
    #[error("it holds the control character U+{:04X}", u32::from(*.character))]
    Control {
        /// The first such character.
        character: char,
    },
    /// A character that shows nothing or changes the writing direction.
    #[error("it holds the invisible character U+{:04X}", u32::from(*.character))]
    Invisible {
        /// The first such character.
        character: char,
    },
    /// Hidden in Obsidian.
    #[error("a name with a leading dot is hidden in Obsidian")]
    LeadingDot,
    /// Whitespace before the first visible character.
    #[error("it begins with a space")]
    LeadingSpace,
    /// Windows and sync services drop or reject these.
    #[error("it ends with a dot or a space, which Windows cannot hold")]
    TrailingDotOrSpace,
    /// A Windows device name, with or without extension.
    #[error("`{device}` is a device on Windows, with any extension")]
    Device {
        /// The device, in upper case.
        device: String,
    },
}

/// Checks one path component as the name of a *new* file or folder.
///
/// U+200C and U+200D are accepted between two non-ASCII characters, since emoji and several scripts
/// need them.
///
/// # Errors
/// The first broken rule, with a legal name close to the requested one.
pub fn check_new_name(name: &str) -> Result<(), NameFault> {
    fault(name).map_or(Ok(()), |reason| {
        Err(NameFault {
            name: name.chars().take(100).flat_map(show).collect(),
            reason,
            suggestion: suggest(name),
        })
    })
}

fn fault(name: &str) -> Option<NameReason> {
    if name.trim().is_empty() {
        return Some(NameReason::Empty);
    }
    if matches!(name, "." | "..") {
        return Some(NameReason::Way);
    }
    if name.len() > MAX_NAME_BYTES {
        return Some(NameReason::TooLong { bytes: name.len() });
    }
    if let Some((_, reason)) = forbidden_in(name) {
        return Some(reason);
    }
    if name.starts_with('.') {
        return Some(NameReason::LeadingDot);
    }
    if name.starts_with(char::is_whitespace) {
        return Some(NameReason::LeadingSpace);
    }
    if name.ends_with(|c: char| c == '.' || c.is_whitespace()) {
        return Some(NameReason::TrailingDotOrSpace);
    }
    device(name).map(|device| NameReason::Device { device })
}

/// The first character that new names must not contain, with its byte offset.
pub fn forbidden_in(name: &str) -> Option<(usize, NameReason)> {
    let mut at = 0;
    characters(name).find_map(|(before, character, after)| {
        let start = at;
        at += character.len_utf8();
        let reason = match character {
            c if breaks_text(c) => NameReason::Control { character },
            c if hides(before, c, after) => NameReason::Invisible { character },
            '\\' | '/' | ':' | '*' | '?' | '"' | '<' | '>' | '|' => {
                NameReason::Forbidden { character }
            }
            '#' | '^' | '[' | ']' => NameReason::LinkSyntax { character },
            _ => return None,
        };
        Some((start, reason))
    })
}

/// The name with `-` in place of each character that new names must not contain.
pub fn without_forbidden(name: &str) -> Cow<'_, str> {
    let mut clean = String::new();
    let mut rest = name;
    while let Some((at, _)) = forbidden_in(rest) {
        clean.push_str(&rest[..at]);
        clean.push('-');
        let length = rest[at..].chars().next().map_or(1, char::len_utf8);
        rest = &rest[at + length..];
    }
    if clean.is_empty() { Cow::Borrowed(name) } else { Cow::Owned(clean + rest) }
}

fn characters(name: &str) -> impl Iterator<Item = (Option<char>, char, Option<char>)> {
    let mut before = None;
    name.char_indices().map(move |(at, c)| {
        let after = name[at + c.len_utf8()..].chars().next();
        (before.replace(c), c, after)
    })
}

fn breaks_text(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Whether `c` shows nothing here: invisible characters, and letters that are blank by design.
fn hides(before: Option<char>, c: char, after: Option<char>) -> bool {
    let joins = matches!(c, '\u{200c}' | '\u{200d}')
        && [before, after].iter().all(|side| side.is_some_and(|side| !side.is_ascii()));
    let blank = matches!(c, '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}');
    blank || (is_invisible(c) && !joins)
}

/// The Windows device that a name would open. The part before the first dot decides, spaces before
/// that dot do not count, and superscript digits count as digits.
fn device(name: &str) -> Option<String> {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_uppercase();
    let numbered = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
    let is_device = matches!(&*stem, "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$")
        || numbered.is_some_and(|rest| {
            let mut digits = rest.chars();
            matches!(digits.next(), Some('1'..='9' | '¹' | '²' | '³')) && digits.next().is_none()
        });
    is_device.then_some(stem)
}

/// A legal name as close as possible to the requested one.
fn suggest(name: &str) -> String {
    let mut legal = String::with_capacity(name.len());
    for (before, c, after) in characters(name) {
        match c {
            '\t' | '\n' | '\r' | '\u{2028}' | '\u{2029}' => legal.push(' '),
            c if breaks_text(c) || hides(before, c, after) => {}
            // "Meeting: plan" becomes "Meeting - plan".
            ':' if after == Some(' ') => legal.push_str(" -"),
            ':' | '/' | '\\' | '|' => legal.push('-'),
            '"' => legal.push('\''),
            '[' | '<' => legal.push('('),
            ']' | '>' => legal.push(')'),
            '*' | '?' | '#' | '^' => {}
            c => legal.push(c),
        }
    }
    let joined = legal.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut legal = trim(&joined).to_owned();
    if let Some(device) = device(&legal) {
        legal.insert(device.len(), '_');
    }
    if legal.len() > MAX_NAME_BYTES {
        legal = shorten(&legal);
    }
    match fault(&legal) {
        None => legal,
        Some(_) => "Untitled".to_owned(),
    }
}

fn trim(name: &str) -> &str {
    let blank = |c: char| c == '.' || c.is_whitespace();
    name.trim_start_matches(blank).trim_end_matches(blank)
}

/// Shortens the stem until the name fits; keeps a short extension.
fn shorten(name: &str) -> String {
    let dot = name.rfind('.').filter(|&dot| dot > 0 && name.len() - dot <= 16);
    let (stem, extension) = name.split_at(dot.unwrap_or(name.len()));
    let room = MAX_NAME_BYTES - extension.len();
    let end = (0..=room).rev().find(|&end| stem.is_char_boundary(end)).unwrap_or_default();
    let stem = trim(&stem[..end]);
    format!("{}{extension}", stem.trim_end_matches(['\u{200c}', '\u{200d}']))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_that_people_give() {
        for name in [
            "note.md",
            "2026-11-21.md",
            "Ünïcode 日本語.md",
            "a.b.c",
            "100% (draft) & more, it's $5 + tax!.md",
            "console.md",
            "COM10",
            "COM",
            "nul-space",
            "LPT0",
            "👩\u{200d}💻 Team.md",
            "می\u{200c}خواهم.md",
            "a  b",
            "{{date}}.md",
            "…dots",
        ] {
            assert_eq!(check_new_name(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn invalid_names_and_their_replacements() {
        for (name, suggestion) in [
            ("", "Untitled"),
            ("  ", "Untitled"),
            (".", "Untitled"),
            ("..", "Untitled"),
            ("Meeting: plan.md", "Meeting - plan.md"),
            ("12:30.md", "12-30.md"),
            ("what?.md", "what.md"),
            ("a/b", "a-b"),
            (r"a\b", "a-b"),
            ("x|y*z", "x-yz"),
            ("\"quoted\" <tag>", "'quoted' (tag)"),
            ("C# and [x]^y", "C and (x)y"),
            (".hidden", "hidden"),
            ("note.", "note"),
            ("note ", "note"),
            (" note", "note"),
            ("\u{3000}note", "note"),
            ("CON", "CON_"),
            ("aux.md", "aux_.md"),
            ("Com1.tar.gz", "Com1_.tar.gz"),
            ("COM¹", "COM¹_"),
            ("lpt³.txt", "lpt³_.txt"),
            ("conin$", "conin$_"),
            ("nul .md", "nul_ .md"),
            ("a\u{200b}b.md", "ab.md"),
            ("in\u{202e}dm.exe", "indm.exe"),
            ("tag\u{e0041}", "tag"),
            ("me\u{200d}ow", "meow"),
            ("\u{feff}bom", "bom"),
            ("a\nb", "a b"),
            ("a\u{7}b", "ab"),
            ("\u{3164}", "Untitled"),
        ] {
            let fault = check_new_name(name).unwrap_err();
            assert_eq!(fault.suggestion, suggestion, "{name:?}: {fault}");
        }
    }

    #[test]
    fn length_is_in_bytes_and_the_extension_survives() {
        assert_eq!(check_new_name(&"a".repeat(255)), Ok(()));
        let fault = check_new_name(&format!("{}.md", "語".repeat(100))).unwrap_err();
        assert_eq!(fault.reason, NameReason::TooLong { bytes: 303 });
        assert_eq!(fault.suggestion, format!("{}.md", "語".repeat(84)));
    }

    #[test]
    fn the_message_says_which_and_why() {
        let fault = check_new_name("a\u{202e}b").unwrap_err();
        assert_eq!(
            fault.to_string(),
            "`a\\u{202e}b` cannot be the name of a new file or folder: it holds the invisible \
             character U+202E"
        );
        assert_eq!(fault.suggestion, "ab");
    }

    proptest! {
        #[test]
        fn a_suggestion_is_legal(name in "\\PC{0,12}|[ .:*a-cA\u{200d}\u{a0}#]{0,300}|(con|aux|com1)[. a]{0,4}") {
            if let Err(fault) = check_new_name(&name) {
                prop_assert_eq!(check_new_name(&fault.suggestion), Ok(()), "{:?}", name);
            }
        }
    }
}
