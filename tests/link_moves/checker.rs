//! The target of a link, by a direct implementation of Obsidian's steps.

use std::collections::{HashMap, HashSet};

/// A link as the checker sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    pub path: String,
    /// Whether it is the whole path of a canvas node.
    pub whole: bool,
}

/// Lower case, with all small sigmas equal.
fn lower(text: &str) -> String {
    text.replace(['\u{a0}', '\u{202f}'], " ").to_lowercase().replace('ς', "σ")
}

/// The files of a vault, to be found by their names.
pub struct Names {
    paths: HashSet<String>,
    /// By name in lower case.
    named: HashMap<String, Vec<String>>,
}

impl Names {
    pub fn new<'p>(paths: impl Iterator<Item = &'p String>) -> Self {
        let mut names = Self { paths: HashSet::new(), named: HashMap::new() };
        for path in paths {
            let name = lower(path).rsplit('/').next().unwrap_or_default().to_owned();
            names.named.entry(name).or_default().push(path.clone());
            names.paths.insert(path.clone());
        }
        names
    }

    fn named(&self, name: &str) -> Vec<&String> {
        self.named.get(name).into_iter().flatten().collect()
    }

    /// The target of a link in `source`.
    pub fn resolve(&self, source: &str, link: &Seen) -> Option<String> {
        if link.whole {
            return self.paths.get(&link.path).cloned();
        }
        if link.path.is_empty() {
            return Some(source.to_owned());
        }
        let asked = lower(&link.path);
        let name = asked.rsplit('/').next().unwrap_or_default();
        let (mut found, mut added) = (self.named(name), "");
        if !name.contains('.') || found.is_empty() {
            (found, added) = (self.named(&format!("{name}.md")), ".md");
        }
        if found.len() < 2 && !asked.contains('/') {
            return found.first().map(|file| (*file).clone());
        }
        let exact = |path: &str| {
            let mut found = found.iter();
            found.find(|file| lower(file) == path).map(|file| (*file).clone())
        };
        let folder = source.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut rest = asked.as_str();
        if asked.starts_with("./") || asked.starts_with("../") {
            let folder = lower(folder);
            let mut parts: Option<Vec<&str>> =
                Some(folder.split('/').filter(|part| !part.is_empty()).collect());
            loop {
                if let Some(more) = rest.strip_prefix("./") {
                    rest = more;
                } else if let Some(more) = rest.strip_prefix("../") {
                    rest = more;
                    parts = parts.and_then(|mut parts| parts.pop().map(|_| parts));
                } else {
                    break;
                }
            }
            if let Some(mut parts) = parts {
                parts.push(rest);
                if let Some(file) = exact(&format!("{}{added}", parts.join("/"))) {
                    return Some(file);
                }
            }
        }
        if let Some(absolute) = rest.strip_prefix('/') {
            return exact(&format!("{absolute}{added}"));
        }
        let wanted = format!("{rest}{added}");
        if let Some(file) = exact(&wanted) {
            return Some(file);
        }
        found.retain(|file| lower(file).ends_with(&wanted));
        let near = |file: &str| folder.is_empty() || file.starts_with(&format!("{folder}/"));
        found.sort_by_key(|file| (!near(file), file.encode_utf16().count(), (*file).clone()));
        found.first().map(|file| (*file).clone())
    }
}

/// The length of a Markdown link's bare destination: up to the closing parenthesis that matches
/// none inside.
pub fn balanced(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Decodes percent-encoding; an invalid text is returned unchanged.
pub fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        let code = more.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match code.and_then(|two| u8::from_str_radix(two, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => (bytes.push(byte), rest = &more[2..]).1,
            None => (bytes.push(*first), rest = more).1,
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}
