//! A map from paths to values in which a value also applies to everything below its path.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::path::VaultPath;

/// A path without a value inherits that of its nearest ancestor with one.
#[derive(Debug, Clone)]
pub struct PathMap<T>(BTreeMap<VaultPath, T>);

impl<T> Default for PathMap<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> PathMap<T> {
    /// The value of exactly this path.
    pub fn get(&self, path: &VaultPath) -> Option<&T> {
        self.0.get(path)
    }

    /// Sets the value of a path; returns the previous one.
    pub fn insert(&mut self, path: VaultPath, value: T) -> Option<T> {
        self.0.insert(path, value)
    }

    /// Removes and returns the value of exactly this path.
    pub fn remove(&mut self, path: &VaultPath) -> Option<T> {
        self.0.remove(path)
    }

    /// The value that applies to this path, its own or that of the nearest ancestor that has one,
    /// with the path that holds it.
    pub fn nearest(&self, path: &VaultPath) -> Option<(&VaultPath, &T)> {
        if self.0.is_empty() {
            return None;
        }
        let mut here = Some(path.clone());
        while let Some(at) = here {
            if let Some(found) = self.0.get_key_value(&at) {
                return Some(found);
            }
            here = at.parent();
        }
        None
    }

    /// The values at and below `folder`, with their paths.
    pub fn within<'a>(
        &'a self,
        folder: &'a VaultPath,
    ) -> impl Iterator<Item = (&'a VaultPath, &'a T)> {
        let own = self.0.get_key_value(folder);
        // The paths below a path are adjacent in the order, but names such as `a.md` and `a b` may
        // sort before `a/b`.
        let first = folder.join("\u{1}").unwrap_or_else(|| folder.clone());
        let from = if folder.is_root() { Bound::Unbounded } else { Bound::Included(first) };
        let rest = self.0.range((from, Bound::Unbounded));
        let below = rest.take_while(move |(path, _)| path.is_within(folder));
        own.into_iter().chain(below.filter(move |(path, _)| *path != folder))
    }

    /// Removes and returns the values at and below `folder`, with their paths.
    pub fn take_within(&mut self, folder: &VaultPath) -> Vec<(VaultPath, T)> {
        let paths: Vec<VaultPath> = self.within(folder).map(|(path, _)| path.clone()).collect();
        paths.into_iter().filter_map(|path| self.0.remove_entry(&path)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_value_counts_and_a_folder_is_taken_with_all_in_it() {
        let path = |text: &str| VaultPath::from_disk(text).unwrap();
        let mut map = PathMap::default();
        for text in ["a", "a/b", "a/b/\u{1}c", "a b", "a.md", "a0", "z"] {
            map.insert(path(text), text.to_owned());
        }
        let nearest = |map: &PathMap<String>, text: &str| {
            map.nearest(&path(text)).map(|(at, _)| at.as_str().to_owned())
        };
        assert_eq!(nearest(&map, "a/b/x/y").as_deref(), Some("a/b"));
        assert_eq!(nearest(&map, "a/c").as_deref(), Some("a"));
        assert_eq!(nearest(&map, "b"), None);
        let taken = map.take_within(&path("a")).into_iter().map(|(_, value)| value);
        assert_eq!(taken.collect::<Vec<_>>(), ["a", "a/b", "a/b/\u{1}c"]);
        let root = VaultPath::root();
        let left: Vec<&str> = map.within(&root).map(|(path, _)| path.as_str()).collect();
        assert_eq!(left, ["a b", "a.md", "a0", "z"]);
    }
}
