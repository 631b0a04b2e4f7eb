//! What was renamed lately, so that who asks for the old name hears the new one.

use std::collections::VecDeque;

use super::{Vault, VaultError, lock};
use crate::note::path::VaultPath;

/// Renames that are remembered.
const REMEMBERED: usize = 1_000;

/// The last renames, oldest first.
#[derive(Default)]
pub(super) struct Renames {
    last: VecDeque<(VaultPath, VaultPath)>,
    /// How many there have been since the start, those that are forgotten among them.
    all: u64,
}

impl Renames {
    /// Remembers one.
    pub fn note(&mut self, from: &VaultPath, to: &VaultPath) {
        if self.last.len() >= REMEMBERED {
            self.last.pop_front();
        }
        self.last.push_back((from.clone(), to.clone()));
        self.all += 1;
    }

    /// Where what was at `path` went, through renames of it and of the folders above it.
    fn now(&self, path: &VaultPath) -> Option<VaultPath> {
        self.now_since(path, 0)
    }

    /// The same by those renames alone that came after the first `mark` of all.
    fn now_since(&self, path: &VaultPath, mark: u64) -> Option<VaultPath> {
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

impl Vault {
    /// Where a thing is now that was renamed lately, if it is there and may be seen.
    pub(super) fn renamed_to(&self, path: &VaultPath) -> Option<VaultPath> {
        self.settle();
        let now = lock(&self.0.renames).now(path)?;
        (self.view().shows(&now) && self.stat(&now).is_ok()).then_some(now)
    }

    /// How many renames were noticed since the vault was opened: a mark for [`Self::renamed_since`].
    pub fn renames(&self) -> u64 {
        lock(&self.0.renames).all
    }

    /// Where what was at `path` went by the renames that were noticed after `mark`, whatever is
    /// there now. Of the last thousand, and of those since the vault was opened.
    pub fn renamed_since(&self, path: &VaultPath, mark: u64) -> Option<VaultPath> {
        self.settle();
        lock(&self.0.renames).now_since(path, mark)
    }

    /// The error for a file that was read and is not there any more.
    pub fn gone_since(&self, path: &VaultPath) -> VaultError {
        let path = path.clone();
        match self.renamed_to(&path) {
            Some(now) => VaultError::Renamed { path, now },
            None => VaultError::Stale { path, current: None },
        }
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
        let now = |text: &str| renames.now(&path(text)).map(|now| now.to_string());
        assert_eq!(now("a.md").as_deref(), Some("d2/e/c.md"));
        assert_eq!(now("x.md").as_deref(), Some("a.md"));
        assert_eq!((now("b2.md"), now("y.md")), (None, None));
        let since = |text: &str, mark| renames.now_since(&path(text), mark).map(|p| p.to_string());
        assert_eq!(since("a.md", 2), None, "by then it was another");
        assert_eq!(since("x.md", 2).as_deref(), Some("a.md"));
        assert_eq!((since("d/e", 3).as_deref(), since("d/e", 4)), (Some("d2/e"), None));
        for n in 0..REMEMBERED {
            renames.note(&path("from"), &path(&format!("{n}")));
        }
        assert_eq!(renames.now(&path("a.md")), None, "forgotten");
        assert_eq!(
            renames.now_since(&path("from"), 1_003).map(|p| p.to_string()).as_deref(),
            Some("999")
        );
        assert_eq!(renames.now_since(&path("from"), 1_004), None);
    }
}
