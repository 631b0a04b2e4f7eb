//! A base: which lines mention a file. Whether Obsidian follows renames in bases is not
//! established, so they are reported and never edited.

use super::fold::fold_key;

/// A line that mentions a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The line, from 1.
    pub line: usize,
    pub text: String,
}

/// The lines of a base in which the name of the file at `path` stands as a word of its own, with
/// its extension or, for notes, without. Case does not count.
pub fn mentions(base: &str, path: &str) -> Vec<Mention> {
    let name = fold_key(path.rsplit('/').next().unwrap_or_default());
    let name = name.strip_suffix(".md").unwrap_or(&name);
    if name.is_empty() {
        return Vec::new();
    }
    let lines = base.lines().enumerate();
    lines
        .filter(|(_, line)| mentions_name(&fold_key(line), name))
        .map(|(at, line)| Mention { line: at + 1, text: line.trim().to_owned() })
        .collect()
}

fn mentions_name(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + name.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_whole_words() {
        let base = "filters:\n  - link(\"People/Tante Grete\")\n  - file.hasLink(\"tante grete.md\")\n\
                    \x20 - tante gretes\nviews: []\n";
        let lines: Vec<_> =
            mentions(base, "People/Tante Grete.md").into_iter().map(|found| found.line).collect();
        assert_eq!(lines, [2, 3]);
        assert!(mentions(base, "").is_empty());
    }
}
