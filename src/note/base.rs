//! Finds the lines of a `.base` file that mention a file. It is not known whether Obsidian updates
//! bases on a rename, so the steward reports these lines and never edits them.

use super::fold::fold_key;

/// The characters that can open a quoted text or a link in a base's formulas.
const QUOTES: [char; 4] = ['"', '\'', '`', '['];

/// A line that mentions a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// 1-based line number.
    pub line: usize,
    pub text: String,
}

/// The lines of a base that name `path` in a quoted text or a link. A line matches if it holds the
/// whole path or the end of it; a note also matches without its extension, and a folder also
/// matches the paths below it. Matching ignores case. The names of views and columns do not count.
pub fn mentions(base: &str, path: &str) -> Vec<Mention> {
    let path = fold_key(path);
    if path.is_empty() {
        return Vec::new();
    }
    let lines = base.lines().enumerate();
    lines
        .filter(|(_, line)| !is_label(line) && names(&fold_key(line), &path))
        .map(|(at, line)| Mention { line: at + 1, text: line.trim().to_owned() })
        .collect()
}

/// Whether the line sets the name of a view or a column.
fn is_label(line: &str) -> bool {
    let item = line.trim_start().trim_start_matches("- ").trim_start();
    ["name:", "displayName:"].iter().any(|key| item.starts_with(key))
}

fn names(line: &str, path: &str) -> bool {
    let bare = path.strip_suffix(".md");
    let wanted = bare.unwrap_or(path);
    let name = wanted.rsplit('/').next().unwrap_or_default();
    let ends = |after: &str| match after.chars().next() {
        Some('/') => bare.is_none(),
        Some(c) => QUOTES.contains(&c) || matches!(c, ']' | '#' | '|' | '\\'),
        None => false,
    };
    line.match_indices(name).any(|(at, _)| {
        let Some(start) = line[..at].rfind(QUOTES) else { return false };
        // `Other/Note` does not match `Folder/Note`.
        let written = line[start + 1..at + name.len()].trim_start_matches('/');
        let above = wanted.strip_suffix(written);
        let after = &line[at + name.len()..];
        above.is_some_and(|above| above.is_empty() || above.ends_with('/'))
            && (ends(after) || after.strip_prefix(".md").is_some_and(ends))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(base: &str, path: &str, expected: &[usize]) {
        let lines: Vec<_> = mentions(base, path).into_iter().map(|found| found.line).collect();
        assert_eq!(lines, expected, "{path} in {base}");
    }

    #[test]
    fn names_are_whole_words() {
        let base = "filters:\n  - link(\"People/Tante Grete\")\n  - file.hasLink(\"tante grete.md\")\n\
                    \x20 - tante gretes\n  - link(\"Old Tante Grete\")\nviews: []\n";
        check(base, "People/Tante Grete.md", &[2, 3]);
        check(base, "", &[]);
    }

    #[test]
    fn only_intended_lines_are_named() {
        let base = "views:\n  - type: table\n    name: Evergreen\n    name: \"Evergreen\"\n    filters:\n\
                    \x20     - 'up == \"[[Evergreen|x]]\"'\n      - kind == evergreen\n\
                    \x20     - file.hasLink(\"Other/Evergreen\")\n      - file.inFolder(\"Notes\")\n\
                    \x20     - file.path.startsWith('Notes/Sub')\n      - link('/Notes/Evergreen')\n";
        check(base, "Notes/Evergreen.md", &[6, 11]);
        check(base, "Notes", &[9, 10, 11]);
        check(base, "Notes.md", &[9]);
    }
}
