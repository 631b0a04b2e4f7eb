//! A path inside the vault that lies in somebody else's memory.

use std::fmt;

use super::fold;
use super::path::{VaultPath, show};

/// A [`VaultPath`] by reference: what the catalogue gives of its own texts, without a copy.
///
/// Invariant: as that of [`VaultPath`]; only made of one, or by the catalogue of what was one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathRef<'a>(&'a str);

impl<'a> PathRef<'a> {
    /// Takes a text that was a path before.
    pub(crate) fn of(path: &'a str) -> Self {
        debug_assert!(VaultPath::from_disk(path).is_some(), "only paths are kept");
        Self(path)
    }

    /// The path as text; empty for the root.
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// A path of one's own.
    pub fn to_path(self) -> VaultPath {
        VaultPath::of_ref(self)
    }

    /// Whether this is the vault's root.
    pub fn is_root(self) -> bool {
        self.0.is_empty()
    }

    /// The last component; empty for the root.
    pub fn name(self) -> &'a str {
        match self.0.rfind('/') {
            Some(slash) => &self.0[slash + 1..],
            None => self.0,
        }
    }

    /// The last component without its extension: `a/b.c.md` gives `b.c`.
    pub fn stem(self) -> &'a str {
        let name = self.name();
        match name.rfind('.') {
            Some(dot) if dot > 0 => &name[..dot],
            _ => name,
        }
    }

    /// The last component's extension without the dot, as spelt; `None` for `a`, `.a` and `a.`.
    pub fn extension(self) -> Option<&'a str> {
        let name = self.name();
        match name.rfind('.') {
            Some(dot) if dot > 0 && dot + 1 < name.len() => Some(&name[dot + 1..]),
            _ => None,
        }
    }

    /// Whether this names a Markdown note (`.md` in any case).
    pub fn is_note(self) -> bool {
        self.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
    }

    /// The folder this lies in; `None` for the root itself.
    pub fn parent(self) -> Option<PathRef<'a>> {
        match self.0.rfind('/') {
            Some(slash) => Some(Self(&self.0[..slash])),
            None if self.is_root() => None,
            None => Some(Self("")),
        }
    }

    /// The components from the root down.
    pub fn components(self) -> impl DoubleEndedIterator<Item = &'a str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }

    /// Whether this is `folder` or lies in it, by whole components.
    pub fn is_within<'f>(self, folder: impl Into<PathRef<'f>>) -> bool {
        self.relative_to(folder).is_some()
    }

    /// What is left of this path below `folder`; empty if they are equal, `None` if this lies
    /// elsewhere.
    pub fn relative_to<'f>(self, folder: impl Into<PathRef<'f>>) -> Option<&'a str> {
        let folder = folder.into();
        if folder.is_root() {
            return Some(self.0);
        }
        let rest = self.0.strip_prefix(folder.0)?;
        match rest.strip_prefix('/') {
            Some(below) => Some(below),
            None if rest.is_empty() => Some(rest),
            None => None,
        }
    }

    /// The key under which all spellings of this path are equal; see [`fold::fold_key`].
    pub fn fold_key(self) -> String {
        fold::fold_key(self.0)
    }
}

impl<'a> From<&'a VaultPath> for PathRef<'a> {
    fn from(path: &'a VaultPath) -> Self {
        Self(path.as_str())
    }
}

impl PartialEq<VaultPath> for PathRef<'_> {
    fn eq(&self, other: &VaultPath) -> bool {
        self.0 == other.as_str()
    }
}

impl PartialEq<PathRef<'_>> for VaultPath {
    fn eq(&self, other: &PathRef<'_>) -> bool {
        self.as_str() == other.0
    }
}

impl fmt::Display for PathRef<'_> {
    /// The path with control and invisible characters escaped, `/` for the root.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str("/");
        }
        // Most paths, at once.
        if self.0.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return f.write_str(self.0);
        }
        self.0.chars().flat_map(show).try_for_each(|c| fmt::Write::write_char(f, c))
    }
}

impl fmt::Debug for PathRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PathRef({:?})", self.0)
    }
}
