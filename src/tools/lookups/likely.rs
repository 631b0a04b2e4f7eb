//! Completion of names of notes and folders, best first.

use crate::note::fold::fold_key;
use crate::vault::{Kind, Vault};

/// Significant characters of the input.
const TYPED: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Likely {
    /// Its path from the vault's root.
    pub path: String,
    /// Whether it is a folder; else it is a note or another file.
    pub is_folder: bool,
}

/// The first `limit` completions, and their total. Uses only the catalogue, which has no protected files.
pub fn likely(vault: &Vault, typed: &str, limit: usize) -> (Vec<Likely>, usize) {
    let typed: String = typed.chars().take(TYPED).collect();
    let needle = Needle::new(&typed);
    let catalogue = vault.catalogue();
    let mut found = Vec::new();
    for (age, entry) in catalogue.recent().enumerate() {
        let sort = match entry.kind {
            Kind::Folder => Sort::Folder,
            Kind::File if entry.path().as_str().ends_with(".md") => Sort::Note,
            Kind::File => Sort::File,
            Kind::Link | Kind::Other => continue,
        };
        if entry.unnameable || entry.path().is_root() {
            continue;
        }
        if let Some(rank) = needle.rank(entry.key(), sort) {
            found.push((rank, sort, age, entry));
        }
    }
    let total = found.len();
    // Only the first of many need to be sorted.
    if total > limit {
        found.select_nth_unstable_by_key(limit, |(rank, sort, age, _)| (*rank, *sort, *age));
        found.truncate(limit);
    }
    found.sort_unstable_by_key(|(rank, sort, age, _)| (*rank, *sort, *age));
    let found = found.into_iter().map(|(_, sort, _, entry)| Likely {
        path: entry.path().as_str().to_owned(),
        is_folder: sort == Sort::Folder,
    });
    (found.collect(), total)
}

/// Notes precede folders, and folders other files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sort {
    Note,
    Folder,
    File,
}

/// The folded input.
struct Needle {
    whole: String,
    words: Vec<String>,
}

impl Needle {
    fn new(typed: &str) -> Self {
        let whole = fold_key(typed.trim().trim_start_matches('/'));
        let words = whole.split_whitespace().map(str::to_owned).collect();
        Self { whole, words }
    }

    /// The rank of the folded path `key`, lowest best; `None` if it does not match.
    fn rank(&self, key: &str, kind: Sort) -> Option<u8> {
        let path = match kind {
            Sort::Note => key.strip_suffix(".md").unwrap_or(key),
            Sort::File | Sort::Folder => key,
        };
        let name = path.rsplit('/').next().unwrap_or(path);
        let whole = &*self.whole;
        let begins_a_word = || {
            let mut before = ' ';
            name.char_indices().any(|(at, c)| {
                let begins = !before.is_alphanumeric() && name[at..].starts_with(whole);
                before = c;
                begins
            })
        };
        Some(match () {
            () if whole.is_empty() => 0,
            () if name == whole || path == whole => 0,
            () if name.starts_with(whole) => 1,
            () if whole.contains('/') && path.starts_with(whole) => 1,
            () if begins_a_word() => 2,
            () if name.contains(whole) => 3,
            () if path.contains(whole) => 4,
            () if self.words.iter().all(|word| path.contains(word.as_str())) => 5,
            () if is_spread(whole, name) => 6,
            () => return None,
        })
    }
}

/// Whether `typed` is a subsequence of `name`: `mtg` of `meeting`.
fn is_spread(typed: &str, name: &str) -> bool {
    let mut rest = name.chars();
    typed.chars().filter(|c| !c.is_whitespace()).all(|needle| rest.any(|c| c == needle))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_so_comes_before_what_only_holds_it() {
        let rank = |typed: &str, path: &str, kind| Needle::new(typed).rank(&fold_key(path), kind);
        let note = |typed, path| rank(typed, path, Sort::Note);
        assert_eq!(note("inbox", "Inbox.md"), Some(0));
        assert_eq!(note("Garden/Compost", "Garden/Compost.md"), Some(0));
        assert_eq!(note("comp", "Garden/Compost.md"), Some(1));
        assert_eq!(note("garden/c", "Garden/Compost.md"), Some(1));
        assert_eq!(note("plan", "Garden/Spring plan.md"), Some(2));
        assert_eq!(note("plan", "Spring-plan.md"), Some(2));
        assert_eq!(note("lan", "Spring plan.md"), Some(3));
        assert_eq!(note("arden", "Garden/Compost.md"), Some(4));
        assert_eq!(note("gard", "Garden/Compost.md"), Some(4));
        assert_eq!(rank("gard", "Garden", Sort::Folder), Some(1));
        assert_eq!(note("compost garden", "Garden/Compost.md"), Some(5));
        assert_eq!(note("mtg", "Meeting.md"), Some(6));
        assert_eq!(note("md", "Inbox.md"), None);
        assert_eq!(note("zebra", "Inbox.md"), None);
        assert_eq!(note("ÜBER", "über uns.md"), Some(1));
        assert_eq!(note("", "Inbox.md"), Some(0));
        assert_eq!(rank("pdf", "Attachments/a.pdf", Sort::File), Some(2));
    }
}
