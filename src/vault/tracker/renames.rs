//! Recent renames, to find a file by its old path.

use std::collections::VecDeque;

use crate::note::path::VaultPath;

const REMEMBERED: usize = 1_000;

#[derive(Default)]
pub(in crate::vault) struct Renames {
    last: VecDeque<(VaultPath, VaultPath)>,
    /// The number of renames since the start, forgotten ones included.
    all: u64,
}

impl Renames {
    pub fn note(&mut self, from: &VaultPath, to: &VaultPath) {
        if self.last.len() >= REMEMBERED {
            self.last.pop_front();
        }
        self.last.push_back((from.clone(), to.clone()));
        self.all += 1;
    }

    /// The number of renames since the start.
    pub fn count(&self) -> u64 {
        self.all
    }

    /// The new path of the file that was at `path`, through renames of it and of its parents.
    pub fn present_path(&self, path: &VaultPath) -> Option<VaultPath> {
        self.present_path_since(path, 0)
    }

    /// The same, without the first `mark` renames.
    pub fn present_path_since(&self, path: &VaultPath, mark: u64) -> Option<VaultPath> {
        let mut now = path.clone();
        let forgotten = self.all - self.last.len() as u64;
        let before = usize::try_from(mark.saturating_sub(forgotten)).unwrap_or(usize::MAX);
        for (from, to) in self.last.iter().skip(before) {
            now = match now.relative_to(from) {
                Some("") => to.clone(),
                Some(below) => below.split('/').try_fold(to.clone(), |at, name| at.join(name))?,
                None => now,
            };
        }
        Some(now).filter(|now| now != path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_followed_through_folders() {
        let path = |text: &str| VaultPath::from_disk(text).expect("a path");
        let mut renames = Renames::default();
        for (from, to) in [("a.md", "b/c.md"), ("b", "d/e"), ("x.md", "a.md"), ("d", "d2")] {
            renames.note(&path(from), &path(to));
        }
        let now = |text: &str| renames.present_path(&path(text)).map(|now| now.to_string());
        assert_eq!(now("a.md").as_deref(), Some("d2/e/c.md"));
        assert_eq!(now("x.md").as_deref(), Some("a.md"));
        assert_eq!((now("b2.md"), now("y.md")), (None, None));
        let since =
            |text: &str, mark| renames.present_path_since(&path(text), mark).map(|p| p.to_string());
        assert_eq!(since("a.md", 2), None, "by then it was another");
        assert_eq!(since("x.md", 2).as_deref(), Some("a.md"));
        assert_eq!((since("d/e", 3).as_deref(), since("d/e", 4)), (Some("d2/e"), None));
        for n in 0..REMEMBERED {
            renames.note(&path("from"), &path(&format!("{n}")));
        }
        assert_eq!(renames.present_path(&path("a.md")), None, "forgotten");
        assert_eq!(
            renames.present_path_since(&path("from"), 1_003).map(|p| p.to_string()).as_deref(),
            Some("999")
        );
        assert_eq!(renames.present_path_since(&path("from"), 1_004), None);
    }
}
