//! Active content: what a text makes Obsidian or a plugin load or run when it is shown.
//!
//! Found by parsing. Renderers disagree about where code, quotes and lists begin, so Markdown is parsed in three ways
//! (`markdown`), and a finding of any of them counts. Code counts like prose: an unneeded question about an example in
//! a code block costs less than an image that leaks a diary. Text that cannot be parsed counts as active.
//!
//! Links do nothing until they are followed and do not count, unless following them does something
//! in Obsidian or on this machine (such as `obsidian:`, `javascript:`, `file:`).

mod address;
mod base;
mod data;
mod html;
mod markdown;

use std::collections::HashMap;

use crate::note::path::VaultPath;

/// Active content in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub line: usize,
    /// Its full description: ``the image `https://example.com/a.png` ``.
    pub text: String,
}

/// A file's format for Obsidian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Markdown with frontmatter.
    Note,
    /// JSON with strings that are shown: a canvas, a drawing.
    Canvas,
    /// YAML with formulas.
    Base,
    /// A script, a style sheet or a page: always active.
    Code,
}

impl Format {
    /// The format of the file at `path`; `None` for files that Obsidian neither loads nor runs.
    pub fn of(path: &VaultPath) -> Option<Self> {
        match path.extension()?.to_ascii_lowercase().as_str() {
            "md" => Some(Self::Note),
            "canvas" | "excalidraw" => Some(Self::Canvas),
            "base" => Some(Self::Base),
            "js" | "mjs" | "cjs" | "jsx" | "ts" | "tsx" | "css" | "html" | "htm" | "xhtml"
            | "svg" => Some(Self::Code),
            _ => None,
        }
    }
}

pub type Text<'a> = (Format, &'a str);

/// The active content in `after` that was not in `before`, compared by meaning: an image that moves within a
/// note, or gets another description, is not new.
pub fn added(before: Option<Text>, after: Text) -> Vec<Finding> {
    let found_after = find_in(after);
    if found_after.is_empty() {
        return Vec::new();
    }
    let mut known: HashMap<String, usize> = HashMap::new();
    for found in before.map(find_in).unwrap_or_default() {
        *known.entry(found.key).or_default() += 1;
    }
    let is_new = |found: &ActiveContent| match known.get_mut(&found.key) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    };
    let new = found_after.into_iter().filter(is_new);
    new.map(|found| Finding { line: found.line, text: found.text }).collect()
}

fn find_in((format, text): Text) -> Vec<ActiveContent> {
    // A renderer may drop invisible characters, so they must not hide a word.
    let plain: String = text
        .chars()
        .filter(|c| !crate::note::path::is_invisible(*c))
        .map(|c| if c == '\0' { '\u{fffd}' } else { c })
        .collect();
    let mut found = match format {
        Format::Note => data::note(&plain),
        Format::Canvas => data::canvas(&plain),
        Format::Base => base::found(&plain, 1),
        Format::Code if plain.trim().is_empty() => Vec::new(),
        Format::Code => vec![ActiveContent::new(1, "code", &plain, "code that runs".to_owned())],
    };
    found.sort_by_key(|found| found.line);
    found
}

#[derive(Debug, Clone)]
struct ActiveContent {
    /// Equal for content that loads or runs the same.
    key: String,
    line: usize,
    text: String,
}

impl ActiveContent {
    /// `what` is of this `kind`; `text` shows it.
    fn new(line: usize, kind: &str, what: &str, text: String) -> Self {
        Self { key: format!("{kind} {what}"), line, text }
    }

    /// As [`Self::new`], with the text made of `kind` and `what`.
    fn shown(line: usize, kind: &str, what: &str) -> Self {
        Self::new(line, kind, what, format!("{kind} `{what}`"))
    }

    /// Something that cannot be parsed.
    fn unreadable(line: usize, what: &str, text: &str) -> Self {
        Self::new(line, "unreadable", text, format!("{what} that cannot be read"))
    }
}

/// Whether a word is in a list, separated by spaces.
fn has_word(list: &str, word: &str) -> bool {
    list.split(' ').any(|one| one == word)
}

/// Merges the findings of several parses of one text. A finding counts as often as in the parse
/// that found it most often.
fn union(readings: Vec<Vec<ActiveContent>>) -> Vec<ActiveContent> {
    let mut most: HashMap<String, Vec<ActiveContent>> = HashMap::new();
    for reading in readings {
        let mut by_key: HashMap<String, Vec<ActiveContent>> = HashMap::new();
        for found in reading {
            by_key.entry(found.key.clone()).or_default().push(found);
        }
        for (key, found) in by_key {
            let known = most.entry(key).or_default();
            if found.len() > known.len() {
                *known = found;
            }
        }
    }
    most.into_values().flatten().collect()
}

#[cfg(test)]
mod tests;
