//! From what someone calls a thing to its real path.
//!
//! The order, and the answer always names the real path:
//! 1. exact;
//! 2. exact with `.md` added (people name notes, not files);
//! 3. the same two by fold key, components spelt exactly preferred from the left, one match wins;
//! 4. several: [`VaultError::Ambiguous`];
//! 5. none: [`VaultError::NotFound`], with what had that path until lately. What else could be meant, a
//!    name said anywhere in the vault included, `index::names` finds out.
//!
//! The catalogue answers; the disk confirms. Where the catalogue knows nothing, the folders on the
//! way are listed before "not found" is said.

use std::ops::Deref;
use std::sync::Arc;

use super::pick::{Picked, Want, pick};
use crate::note::fold;
use crate::note::names::check_new_name;
use crate::note::path::{PathError, VaultPath};
use crate::vault::catalogue::{LinkTarget, Seen};
use crate::vault::dir::{Kind, Meta};
use crate::vault::error::VaultError;
use crate::vault::glance;
use crate::vault::locks::lock;
use crate::vault::protect::is_hidden;
use crate::vault::root::{Last, real};
use crate::vault::view::View;
use crate::vault::watch::Watcher;

/// Something that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its real path as spelt on disk, without links but, for [`Want::Entry`], a last one.
    pub path: VaultPath,
    /// What the file system says of it.
    pub meta: Meta,
}

/// Where something would be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Something is there already, perhaps under another spelling.
    Existing(Found),
    /// Nothing is there. Its folders are spelt as on disk as far as they exist; the rest was
    /// checked for what desktop systems and Obsidian can hold.
    Free(VaultPath),
}

/// Times the catalogue is brought up to date for one question.
const REFRESHES: usize = 70;

/// Finds what callers mean, and shows no more than they may see. Clones share the vault.
#[derive(Clone)]
pub struct Resolver {
    watcher: Arc<Watcher>,
    view: View,
}

/// Whoever finds something knows how it is known. Shared: watching goes on in a thread.
impl Deref for Resolver {
    type Target = Arc<Watcher>;

    fn deref(&self) -> &Arc<Watcher> {
        &self.watcher
    }
}

impl Resolver {
    /// Finds things in the whole vault.
    pub(super) fn new(watcher: Arc<Watcher>) -> Self {
        Self { watcher, view: View::default() }
    }

    /// The same with what `view` leaves out unseen.
    pub(super) fn seen_through(&self, view: View) -> Self {
        Self { watcher: Arc::clone(&self.watcher), view }
    }

    /// What can be seen of it.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Everything known to be in the vault. Hold it shortly: changes wait for it.
    pub fn catalogue(&self) -> Seen<'_> {
        Seen::new(self.known(), &self.view)
    }

    /// Takes a text as a path of this vault, whatever is there.
    ///
    /// # Errors
    /// [`VaultError::Path`] for what is no path into the vault, [`VaultError::Protected`] for
    /// protected places, those reached through `..` included.
    pub fn parse(&self, asked: &str) -> Result<VaultPath, VaultError> {
        let place = self.root().to_str();
        match VaultPath::parse(asked, place) {
            Ok(path) => {
                self.allowed(&path)?;
                Ok(path)
            }
            // "/run/5k.md" means the vault's folder where it has one of that name.
            Err(PathError::Outside { .. }) if self.has_top_folder(asked) => {
                self.parse(asked.trim_start_matches(|c: char| c == '/' || c.is_whitespace()))
            }
            Err(error) => {
                // "x/../.obsidian" aims at something: say what is wrong with that first.
                if let PathError::Invalid { .. } = error
                    && let Some(aim) = VaultPath::parse_climbing(asked)
                {
                    self.allowed(&aim)?;
                }
                Err(error.into())
            }
        }
    }

    fn has_top_folder(&self, asked: &str) -> bool {
        let below = asked.trim().strip_prefix('/').filter(|rest| !rest.starts_with('/'));
        let first = below.and_then(|rest| rest.split('/').next()).filter(|name| !name.is_empty());
        first.is_some_and(|name| {
            let found = self.catalogue().folded(&fold::fold_key(name)).len();
            found > 0
        })
    }

    /// Finds what `asked` names; see the module for the order.
    ///
    /// # Errors
    /// As in the module, and [`VaultError::NotAFile`] or [`VaultError::NotAFolder`] where only the
    /// wrong kind answers to the name.
    pub fn resolve(&self, asked: &str, want: Want) -> Result<Found, VaultError> {
        let path = self.parse(asked)?;
        self.find(&path, want).map_err(|error| match error {
            VaultError::NotFound { path, .. } => self.not_found(path),
            other => other,
        })
    }

    /// The file that the catalogue knows by this name.
    pub(super) fn known_file(&self, asked: &VaultPath) -> Option<VaultPath> {
        if asked.is_root() || is_hidden(asked) {
            return None;
        }
        let picked = pick(&self.catalogue(), asked, Want::File, self.view()).ok()??;
        (picked.kind == Kind::File && !picked.unnameable).then_some(picked.path)
    }

    fn find(&self, path: &VaultPath, want: Want) -> Result<Found, VaultError> {
        self.find_root()?;
        self.settle();
        if glance::is_broken() {
            return Err(VaultError::NotFound { path: path.clone(), near: Vec::new() });
        }
        self.resolve_path(path, want, 0)
    }

    /// Says that nothing is there, and where it is now.
    fn not_found(&self, path: VaultPath) -> VaultError {
        if glance::would_wait() {
            return VaultError::NotFound { path, near: Vec::new() };
        }
        if self.view().shows(&path) && self.is_placeholder(&path) {
            return VaultError::NotDownloaded { path };
        }
        let near = self.renamed_to(&path).into_iter().collect();
        VaultError::NotFound { path, near }
    }

    /// iCloud leaves `.name.icloud` where a file was moved to the cloud.
    fn is_placeholder(&self, path: &VaultPath) -> bool {
        let Some(parent) = path.parent() else { return false };
        ["", ".md"].iter().any(|extension| {
            let placeholder = parent.join(&format!(".{}{extension}.icloud", path.name()));
            placeholder.is_some_and(|path| self.folder().stat_at(&path).is_ok())
        })
    }

    fn resolve_path(
        &self,
        asked: &VaultPath,
        want: Want,
        links: usize,
    ) -> Result<Found, VaultError> {
        if asked.is_root() {
            return match want {
                Want::File => Err(VaultError::NotAFile { path: asked.clone(), kind: Kind::Folder }),
                _ => Ok(Found { path: asked.clone(), meta: self.stat(asked)? }),
            };
        }
        self.allowed(asked)?;
        if is_hidden(asked) {
            return Err(VaultError::NotFound { path: asked.clone(), near: Vec::new() });
        }
        for _ in 0..REFRESHES {
            if glance::is_broken() {
                break;
            }
            let picked = pick(&self.catalogue(), asked, want, self.view())?;
            let Some(entry) = picked else {
                // To be sure that there is nothing takes a look at the disk.
                if glance::would_wait() {
                    break;
                }
                if let Some(found) = self.through_link(asked, want, links)? {
                    return Ok(found);
                }
                if self.look_for(asked) {
                    continue;
                }
                break;
            };
            if let Some(found) = self.confirm(asked, &entry, want, links)? {
                return Ok(found);
            }
        }
        Err(VaultError::NotFound { path: asked.clone(), near: Vec::new() })
    }

    /// Looks at the disk for what the catalogue names. `None`: it is not there any more, and the
    /// catalogue knows now.
    fn confirm(
        &self,
        asked: &VaultPath,
        entry: &Picked,
        want: Want,
        links: usize,
    ) -> Result<Option<Found>, VaultError> {
        let path = &entry.path;
        if entry.unnameable {
            let reason = "its name on disk is not UTF-8; rename it with the system's own tools";
            let path = path.to_string();
            return Err(PathError::Invalid { path, reason: reason.to_owned() }.into());
        }
        if entry.kind == Kind::Link && want != Want::Entry {
            if glance::would_wait() {
                return Ok(None);
            }
            let target = self.follow(asked, path)?;
            if links >= 40 {
                let (path, fault) = (asked.clone(), "leads in a circle");
                return Err(VaultError::BrokenLink { link: path.clone(), path, fault });
            }
            return self.resolve_path(&target, want, links + 1).map(Some).map_err(
                |error| match error {
                    VaultError::NotFound { .. } => VaultError::BrokenLink {
                        path: asked.clone(),
                        link: path.clone(),
                        fault: "leads to nothing",
                    },
                    other => other,
                },
            );
        }
        let Some(meta) = self.recheck(path) else { return Ok(None) };
        let found = Found { path: path.clone(), meta };
        match (want, meta.kind) {
            (Want::File, Kind::File) | (Want::Folder, Kind::Folder) => Ok(Some(found)),
            (Want::Any | Want::Entry, _) => Ok(Some(found)),
            // It became something else since the catalogue saw it.
            (_, kind) if kind != entry.kind => Ok(None),
            (Want::File, kind) => Err(VaultError::NotAFile { path: found.path, kind }),
            (Want::Folder, kind) => Err(VaultError::NotAFolder { path: found.path, kind }),
        }
    }

    /// The real place of the link at `path`.
    fn follow(&self, asked: &VaultPath, path: &VaultPath) -> Result<VaultPath, VaultError> {
        let (target, _) =
            real(&self.folder(), path, Last::Follow).map_err(|error| match error {
                VaultError::LinkOutside { link, target, .. } => {
                    VaultError::LinkOutside { path: asked.clone(), link, target }
                }
                VaultError::BrokenLink { link, fault, .. } => {
                    VaultError::BrokenLink { path: asked.clone(), link, fault }
                }
                VaultError::NotFound { .. } => VaultError::BrokenLink {
                    path: asked.clone(),
                    link: path.clone(),
                    fault: "leads to nothing",
                },
                other => other,
            })?;
        self.allowed(&target)?;
        Ok(target)
    }

    /// Finds `asked` below a folder on its way that is a link.
    fn through_link(
        &self,
        asked: &VaultPath,
        want: Want,
        links: usize,
    ) -> Result<Option<Found>, VaultError> {
        let mut link = None;
        for (folder, entry) in self.known_above(asked, Want::Entry) {
            if entry.kind == Kind::Link {
                link = Some((folder, entry));
            }
        }
        if let Some((folder, entry)) = link {
            if links >= 40 {
                let (path, link) = (asked.clone(), entry.path.clone());
                return Err(VaultError::BrokenLink { path, link, fault: "leads in a circle" });
            }
            let target = self.follow(asked, &entry.path)?;
            let rest = asked.relative_to(&folder).expect("a parent is on the way");
            let joined = rest.split('/').try_fold(target, |path, name| path.join(name));
            let joined = joined.expect("components of a path are names");
            return self.resolve_path(&joined, want, links + 1).map(Some);
        }
        Ok(None)
    }

    /// What the catalogue knows of the folders on the way to `asked`, from the root down, as far as
    /// it knows any: a path of two thousand components costs no more than its known part.
    fn known_above(&self, asked: &VaultPath, want: Want) -> Vec<(VaultPath, Picked)> {
        let mut known = Vec::new();
        let mut folder = VaultPath::root();
        let parent = asked.parent().expect("the root was answered before");
        for name in parent.components() {
            folder = folder.join(name).expect("a component is a name");
            match pick(&self.catalogue(), &folder, want, self.view()) {
                Ok(Some(entry)) => known.push((folder.clone(), entry)),
                Ok(None) => break,
                // Several answer to it; what is below may still answer to one alone.
                Err(_) => {}
            }
        }
        known
    }

    /// Lists the deepest known folder on the way to `asked` and tells the catalogue; whether that
    /// taught it anything.
    fn look_for(&self, asked: &VaultPath) -> bool {
        let known = self.known_above(asked, Want::Folder).into_iter().map(|(_, entry)| entry);
        let deepest = known.filter(|entry| entry.kind == Kind::Folder).last();
        let known = deepest.map_or_else(VaultPath::root, |entry| entry.path);
        self.recheck_folder(&known)
    }

    /// Finds where `asked` would be written.
    ///
    /// # Errors
    /// As [`Self::resolve`], and [`VaultError::Name`] for new names that Obsidian or a desktop
    /// system could not hold; [`VaultError::NotAFolder`] where a file is in the way.
    pub fn resolve_new(&self, asked: &str) -> Result<Place, VaultError> {
        let path = self.parse(asked)?;
        match self.find(&path, Want::File) {
            Ok(found) => return Ok(Place::Existing(found)),
            // It would be a second file of that name once the first one is downloaded.
            Err(VaultError::NotFound { .. }) if self.is_placeholder(&path) => {
                return Err(VaultError::NotDownloaded { path });
            }
            Err(VaultError::NotFound { .. }) => {}
            Err(VaultError::NotAFile { path, .. }) => {
                let meta = self.stat(&path)?;
                return Ok(Place::Existing(Found { path, meta }));
            }
            Err(error) => return Err(error),
        }
        Ok(Place::Free(self.new_path(asked)?))
    }

    /// The path that something new at `asked` would have, whatever is there: folders as they are
    /// spelt on disk, the last name as given and checked.
    ///
    /// # Errors
    /// As [`Self::resolve_new`].
    pub fn new_path(&self, asked: &str) -> Result<VaultPath, VaultError> {
        let path = self.parse(asked)?;
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

    /// Where the link at a path leads, in words; `None` if it is no link.
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

    /// Where a thing is now that was renamed lately, if it is there and may be seen.
    fn renamed_to(&self, path: &VaultPath) -> Option<VaultPath> {
        self.settle();
        let now = lock(&self.renames).now(path)?;
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
