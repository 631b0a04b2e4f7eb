//! What was renamed lately, so that who asks for the old name hears the new one.

use std::collections::VecDeque;

use super::{Vault, VaultError, lock};
use crate::note::path::VaultPath;

/// Renames that are remembered.
const REMEMBERED: usize = 1_000;

/// The last renames, oldest first.
#[derive(Default)]
pub(super) struct Renames(VecDeque<(VaultPath, VaultPath)>);

impl Renames {
    /// Remembers one.
    pub fn note(&mut self, from: &VaultPath, to: &VaultPath) {
        if self.0.len() >= REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back((from.clone(), to.clone()));
    }

    /// Where what was at `path` went, through renames of it and of the folders above it.
    fn now(&self, path: &VaultPath) -> Option<VaultPath> {
        let mut now = path.clone();
        for (from, to) in &self.0 {
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
        for n in 0..REMEMBERED {
            renames.note(&path("from"), &path(&format!("{n}")));
        }
        assert_eq!(renames.now(&path("a.md")), None, "forgotten");
    }
}
