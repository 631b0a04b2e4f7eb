//! Resolves a requested path to a real path.
//!
//! In this order:
//! 1. exact;
//! 2. exact with `.md` added (people name notes, not files);
//! 3. the same two by fold key, components spelt exactly preferred from the left, one match wins;
//! 4. several: [`VaultError::Ambiguous`];
//! 5. none: [`VaultError::NotFound`], or the new path of a file that was renamed recently. Guessing
//!    from names is left to `index::names`.
//!
//! The catalogue answers and a stat confirms. If the catalogue has no match, the nearest known
//! folder is listed before "not found" is returned.

use std::ops::Deref;
use std::sync::Arc;

use super::pick::{Picked, Want, pick};
use crate::locks::lock;
use crate::note::fold;
use crate::note::names::check_new_name;
use crate::note::path::{PathError, VaultPath};
use crate::vault::catalogue::{LinkTarget, VisibleCatalogue};
use crate::vault::dir::{Kind, Meta};
use crate::vault::error::{CIRCLE, DEAD_END, VaultError};
use crate::vault::nonblocking;
use crate::vault::protect::is_hidden;
use crate::vault::root::{Last, MAX_LINKS, realpath};
use crate::vault::view::View;
use crate::vault::watch::Watcher;

/// An existing entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedEntry {
    /// The real path, as spelt on disk. Only with [`Want::Entry`] the last component may be a link.
    pub path: VaultPath,
    pub meta: Meta,
}

/// Where a write to a requested path would go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteTarget {
    /// The path exists, perhaps under another spelling.
    Existing(ResolvedEntry),
    /// The path is free. Existing folders are spelt as on disk; new names are valid on all desktop
    /// systems and in Obsidian.
    Free(VaultPath),
}

/// The most times that the catalogue is refreshed for one call.
const REFRESHES: usize = 70;

/// Resolves paths within a view. Clones share the vault.
#[derive(Clone)]
pub struct Resolver {
    watcher: Arc<Watcher>,
    view: View,
}

impl Deref for Resolver {
    type Target = Arc<Watcher>;

    fn deref(&self) -> &Arc<Watcher> {
        &self.watcher
    }
}

impl Resolver {
    /// With a view of the whole vault.
    pub(super) fn new(watcher: Arc<Watcher>) -> Self {
        Self { watcher, view: View::default() }
    }

    /// The same restricted to `view`.
    pub(super) fn in_view(&self, view: View) -> Self {
        Self { watcher: Arc::clone(&self.watcher), view }
    }

    /// The part of the vault that the caller may see.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The visible catalogue. Hold it briefly: updates wait for it.
    pub fn catalogue(&self) -> VisibleCatalogue<'_> {
        VisibleCatalogue::new(self.known(), &self.view)
    }

    /// Parses a path of this vault, whether or not it exists.
    ///
    /// # Errors
    /// [`VaultError::Path`] if it is not a path into the vault, [`VaultError::Protected`] for
    /// protected places, also when reached through `..`.
    pub fn parse(&self, requested: &str) -> Result<VaultPath, VaultError> {
        let place = self.root().to_str();
        match VaultPath::parse(requested, place) {
            Ok(path) => {
                self.allowed(&path)?;
                Ok(path)
            }
            // "/run/5k.md" means the vault's folder where it has one of that name.
            Err(PathError::Outside { .. }) if self.has_top_folder(requested) => {
                self.parse(requested.trim_start_matches(|c: char| c == '/' || c.is_whitespace()))
            }
            Err(error) => {
                // "x/../.obsidian": that it is protected is the more useful error.
                if let PathError::Invalid { .. } = error
                    && let Some(aim) = VaultPath::parse_climbing(requested)
                {
                    self.allowed(&aim)?;
                }
                Err(error.into())
            }
        }
    }

    fn has_top_folder(&self, requested: &str) -> bool {
        let below = requested.trim().strip_prefix('/').filter(|rest| !rest.starts_with('/'));
        let first = below.and_then(|rest| rest.split('/').next()).filter(|name| !name.is_empty());
        first.is_some_and(|name| {
            let found = self.catalogue().folded(&fold::fold_key(name)).len();
            found > 0
        })
    }

    /// Finds what `requested` names; see the module for the order.
    ///
    /// # Errors
    /// As in the module, and [`VaultError::NotAFile`] or [`VaultError::NotAFolder`] where only the
    /// wrong kind answers to the name.
    pub fn resolve(&self, requested: &str, want: Want) -> Result<ResolvedEntry, VaultError> {
        let path = self.parse(requested)?;
        self.find(&path, want).map_err(|error| match error {
            VaultError::NotFound { path, .. } => self.not_found(path),
            other => other,
        })
    }

    /// The file that the catalogue has for this path.
    pub(super) fn known_file(&self, requested: &VaultPath) -> Option<VaultPath> {
        if requested.is_root() || is_hidden(requested) {
            return None;
        }
        let picked = pick(&self.catalogue(), requested, Want::File, self.view()).ok()??;
        (picked.kind == Kind::File && !picked.unnameable).then_some(picked.path)
    }

    fn find(&self, path: &VaultPath, want: Want) -> Result<ResolvedEntry, VaultError> {
        self.find_root()?;
        self.settle();
        if nonblocking::is_aborted() {
            return Err(VaultError::NotFound { path: path.clone(), near: Vec::new() });
        }
        self.resolve_path(path, want, 0)
    }

    /// The error for a path that does not exist, with the new path after a rename.
    fn not_found(&self, path: VaultPath) -> VaultError {
        if nonblocking::would_block() {
            return VaultError::NotFound { path, near: Vec::new() };
        }
        if self.view().shows(&path) && self.is_placeholder(&path) {
            return VaultError::NotDownloaded { path };
        }
        let near = self.renamed_to(&path).into_iter().collect();
        VaultError::NotFound { path, near }
    }

    /// iCloud leaves `.name.icloud` in place of a file that is in the cloud alone.
    fn is_placeholder(&self, path: &VaultPath) -> bool {
        let Some(parent) = path.parent() else { return false };
        ["", ".md"].iter().any(|extension| {
            let placeholder = parent.join(&format!(".{}{extension}.icloud", path.name()));
            placeholder.is_some_and(|path| self.folder().stat_at(&path).is_ok())
        })
    }

    fn resolve_path(
        &self,
        requested: &VaultPath,
        want: Want,
        links: usize,
    ) -> Result<ResolvedEntry, VaultError> {
        if requested.is_root() {
            return match want {
                Want::File => {
                    Err(VaultError::NotAFile { path: requested.clone(), kind: Kind::Folder })
                }
                _ => Ok(ResolvedEntry { path: requested.clone(), meta: self.stat(requested)? }),
            };
        }
        self.allowed(requested)?;
        if is_hidden(requested) {
            return Err(VaultError::NotFound { path: requested.clone(), near: Vec::new() });
        }
        for _ in 0..REFRESHES {
            if nonblocking::is_aborted() {
                break;
            }
            let picked = pick(&self.catalogue(), requested, want, self.view())?;
            let Some(entry) = picked else {
                // Only the disk can confirm that nothing is there.
                if nonblocking::would_block() {
                    break;
                }
                if let Some(found) = self.through_link(requested, want, links)? {
                    return Ok(found);
                }
                if self.recheck_parent(requested) {
                    continue;
                }
                break;
            };
            if let Some(found) = self.confirm(requested, &entry, want, links)? {
                return Ok(found);
            }
        }
        Err(VaultError::NotFound { path: requested.clone(), near: Vec::new() })
    }

    /// Stats the catalogue's match. `None`: it is gone, and the catalogue was updated.
    fn confirm(
        &self,
        requested: &VaultPath,
        entry: &Picked,
        want: Want,
        links: usize,
    ) -> Result<Option<ResolvedEntry>, VaultError> {
        let path = &entry.path;
        if entry.unnameable {
            let reason = "its name on disk is not UTF-8; rename it with the system's own tools";
            let path = path.to_string();
            return Err(PathError::Invalid { path, reason: reason.to_owned() }.into());
        }
        if entry.kind == Kind::Link && want != Want::Entry {
            if nonblocking::would_block() {
                return Ok(None);
            }
            let target = self.follow(requested, path)?;
            if links >= MAX_LINKS {
                return Err(VaultError::broken_link(requested, requested, CIRCLE));
            }
            return self.resolve_path(&target, want, links + 1).map(Some).map_err(
                |error| match error {
                    VaultError::NotFound { .. } => {
                        VaultError::broken_link(requested, path, DEAD_END)
                    }
                    other => other,
                },
            );
        }
        let Some(meta) = self.recheck(path) else { return Ok(None) };
        let found = ResolvedEntry { path: path.clone(), meta };
        match (want, meta.kind) {
            (Want::File, Kind::File) | (Want::Folder, Kind::Folder) => Ok(Some(found)),
            (Want::Any | Want::Entry, _) => Ok(Some(found)),
            // Its kind changed since the catalogue was updated.
            (_, kind) if kind != entry.kind => Ok(None),
            (Want::File, kind) => Err(VaultError::NotAFile { path: found.path, kind }),
            (Want::Folder, kind) => Err(VaultError::NotAFolder { path: found.path, kind }),
        }
    }

    /// The real path that the link at `path` points to.
    fn follow(&self, requested: &VaultPath, path: &VaultPath) -> Result<VaultPath, VaultError> {
        let (target, _) =
            realpath(&self.folder(), path, Last::Follow).map_err(|error| match error {
                VaultError::LinkOutside { link, target, .. } => {
                    VaultError::LinkOutside { path: requested.clone(), link, target }
                }
                VaultError::BrokenLink { link, fault, .. } => {
                    VaultError::broken_link(requested, &link, fault)
                }
                VaultError::NotFound { .. } => VaultError::broken_link(requested, path, DEAD_END),
                other => other,
            })?;
        self.allowed(&target)?;
        Ok(target)
    }

    /// Resolves `requested` through its last parent that is a link, if any is.
    fn through_link(
        &self,
        requested: &VaultPath,
        want: Want,
        links: usize,
    ) -> Result<Option<ResolvedEntry>, VaultError> {
        let parents = self.known_parents(requested, Want::Entry).into_iter();
        let link = parents.filter(|(_, entry)| entry.kind == Kind::Link).last();
        let Some((folder, entry)) = link else { return Ok(None) };
        if links >= MAX_LINKS {
            return Err(VaultError::broken_link(requested, &entry.path, CIRCLE));
        }
        let target = self.follow(requested, &entry.path)?;
        let rest = requested.relative_to(&folder).expect("a parent is on the way");
        let joined = rest.split('/').try_fold(target, |path, name| path.join(name));
        let joined = joined.expect("components of a path are names");
        self.resolve_path(&joined, want, links + 1).map(Some)
    }

    /// The known parents of `requested`, outermost first, up to the first unknown one.
    fn known_parents(&self, requested: &VaultPath, want: Want) -> Vec<(VaultPath, Picked)> {
        let mut known = Vec::new();
        let mut folder = VaultPath::root();
        let parent = requested.parent().expect("the root was answered before");
        for name in parent.components() {
            folder = folder.join(name).expect("a component is a name");
            match pick(&self.catalogue(), &folder, want, self.view()) {
                Ok(Some(entry)) => known.push((folder.clone(), entry)),
                Ok(None) => break,
                // Ambiguous; a path below it may still be unique.
                Err(_) => {}
            }
        }
        known
    }

    /// Lists the deepest known parent of `requested`; returns whether the catalogue changed.
    fn recheck_parent(&self, requested: &VaultPath) -> bool {
        let known = self.known_parents(requested, Want::Folder).into_iter().map(|(_, entry)| entry);
        let deepest = known.filter(|entry| entry.kind == Kind::Folder).last();
        let known = deepest.map_or_else(VaultPath::root, |entry| entry.path);
        self.recheck_folder(&known)
    }

    /// Resolves the path that a write to `requested` would go to.
    ///
    /// # Errors
    /// As [`Self::resolve`], and [`VaultError::Name`] for new names that are invalid in Obsidian or
    /// on a desktop system; [`VaultError::NotAFolder`] if a parent is a file.
    pub fn resolve_new(&self, requested: &str) -> Result<WriteTarget, VaultError> {
        let path = self.parse(requested)?;
        match self.find(&path, Want::File) {
            Ok(found) => return Ok(WriteTarget::Existing(found)),
            // The download would make it a second file of that name.
            Err(VaultError::NotFound { .. }) if self.is_placeholder(&path) => {
                return Err(VaultError::NotDownloaded { path });
            }
            Err(VaultError::NotFound { .. }) => {}
            Err(VaultError::NotAFile { path, .. }) => {
                let meta = self.stat(&path)?;
                return Ok(WriteTarget::Existing(ResolvedEntry { path, meta }));
            }
            Err(error) => return Err(error),
        }
        Ok(WriteTarget::Free(self.new_path(requested)?))
    }

    /// The path of a new entry at `requested`, whether or not one exists: folders as spelt on disk, the
    /// last name as given and checked.
    pub fn new_path(&self, requested: &str) -> Result<VaultPath, VaultError> {
        let path = self.parse(requested)?;
        let Some(mut parent) = path.parent() else { return Ok(path) };
        let mut new = vec![path.name().to_owned()];
        let existing = loop {
            if parent.is_root() {
                break parent;
            }
            match self.resolve_path(&parent, Want::Folder, 0) {
                Ok(found) => break found.path,
                Err(VaultError::NotFound { .. }) => {
                    new.push(parent.name().to_owned());
                    parent = parent.parent().expect("only the root has none");
                }
                Err(error) => return Err(error),
            }
        };
        let mut free = existing;
        for name in new.iter().rev() {
            if let Err(fault) = check_new_name(name) {
                return Err(VaultError::Name { path: path.to_string(), fault });
            }
            free = free.join(name).expect("a checked name is a component");
        }
        Ok(free)
    }

    /// Where the link at a path points, in words; `None` if it is not a link.
    pub fn link_target(&self, path: &VaultPath) -> Option<String> {
        let catalogue = self.catalogue();
        Some(match catalogue.get(path.as_str())?.target? {
            LinkTarget::Inside(target) if !self.view().shows(target) => {
                "a place that cannot be seen from here".to_owned()
            }
            LinkTarget::Inside(target) => format!("`{target}`"),
            LinkTarget::Outside => "a place outside the vault; it is never followed".to_owned(),
        })
    }

    /// The new path of a file that was renamed recently, if it exists and is visible.
    fn renamed_to(&self, path: &VaultPath) -> Option<VaultPath> {
        self.settle();
        let now = lock(&self.renames).present_path(path)?;
        (self.view().shows(&now) && self.stat(&now).is_ok()).then_some(now)
    }

    /// The error for a file that was read and is gone.
    pub fn gone_since(&self, path: &VaultPath) -> VaultError {
        let path = path.clone();
        match self.renamed_to(&path) {
            Some(now) => VaultError::Renamed { path, now },
            None => VaultError::Stale { path, current: None },
        }
    }
}
