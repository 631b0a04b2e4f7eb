//! An overlay of the vault during an undo: the disk as the planned steps will have changed it. With
//! it, obstacles are found before anything is done.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::step::{Act, Step};
use crate::note::path::VaultPath;
use crate::note::path_map::PathMap;
use crate::store::BlobHash;
use crate::vault::{Kind, Meta, Reader, Revision, VaultError};

#[derive(Debug, Clone)]
pub(super) enum OverlayEntry {
    Nothing,
    /// A file with this content. `disk`: its current path, if it is on disk already.
    File {
        revision: Revision,
        disk: Option<VaultPath>,
    },
    Folder,
    /// A symbolic link or a special file.
    Other,
}

/// The vault with the planned steps applied.
pub(super) struct Overlay<'a> {
    vault: &'a Reader,
    /// Planned files, new folders and removals, by the planned path.
    places: PathMap<Planned>,
    /// For each path on disk that the plan moves, the planned path.
    went: PathMap<VaultPath>,
    /// The paths that the plan names, by fold key.
    planned: HashMap<String, Vec<VaultPath>>,
    /// Folders that were already rechecked for changes by other programs.
    listed: RefCell<HashSet<VaultPath>>,
    /// The first file-system check that failed.
    failed: RefCell<Option<VaultError>>,
}

/// The planned state of a path.
#[derive(Clone)]
struct Planned {
    content: PlannedContent,
    /// The path on disk of the file or folder that will have this name, if it exists.
    origin: Option<VaultPath>,
}

#[derive(Clone)]
enum PlannedContent {
    Nothing,
    /// A file with this content, not on disk yet.
    File(Revision),
    Folder,
    /// A symbolic link or a special file.
    Other,
    /// Untouched by the undo: the file at this path on disk.
    Disk(VaultPath),
    /// A folder that is restored with these files, or the entry at this path inside it.
    Back(Arc<Files>, String),
}

/// The files of a folder, by their paths below it.
type Files = BTreeMap<String, Option<BlobHash>>;

/// The result of looking up a path in the overlay.
enum Lookup {
    Known(OverlayEntry),
    Disk(VaultPath),
}

impl Planned {
    fn new(content: PlannedContent) -> Self {
        Self { content, origin: None }
    }

    /// The entry at `rest` below this, if the plan has nothing more specific.
    fn below(&self, rest: &str) -> Self {
        if rest.is_empty() {
            return self.clone();
        }
        match &self.content {
            PlannedContent::Disk(disk) => {
                let disk = joined(disk, rest);
                Self { content: PlannedContent::Disk(disk.clone()), origin: Some(disk) }
            }
            PlannedContent::Back(files, at) if at.is_empty() => {
                Self::new(PlannedContent::Back(Arc::clone(files), rest.to_owned()))
            }
            PlannedContent::Back(files, at) => {
                Self::new(PlannedContent::Back(Arc::clone(files), format!("{at}/{rest}")))
            }
            PlannedContent::Nothing
            | PlannedContent::File(_)
            | PlannedContent::Folder
            | PlannedContent::Other => Self::new(PlannedContent::Nothing),
        }
    }
}

impl<'a> Overlay<'a> {
    pub fn new(vault: &'a Reader) -> Self {
        Self {
            vault,
            places: PathMap::default(),
            went: PathMap::default(),
            planned: HashMap::new(),
            listed: RefCell::default(),
            failed: RefCell::default(),
        }
    }

    fn place(&self, path: &VaultPath) -> Planned {
        match self.places.nearest(path) {
            Some((at, place)) => place.below(path.relative_to(at).unwrap_or_default()),
            None => {
                Planned { content: PlannedContent::Disk(path.clone()), origin: Some(path.clone()) }
            }
        }
    }

    fn lookup(&self, path: &VaultPath) -> Lookup {
        Lookup::Known(match self.place(path).content {
            PlannedContent::Disk(disk) => return Lookup::Disk(disk),
            PlannedContent::Nothing => OverlayEntry::Nothing,
            PlannedContent::File(revision) => OverlayEntry::File { revision, disk: None },
            PlannedContent::Folder => OverlayEntry::Folder,
            PlannedContent::Other => OverlayEntry::Other,
            PlannedContent::Back(files, at) => in_folder(&files, &at),
        })
    }

    pub fn at(&self, path: &VaultPath) -> OverlayEntry {
        match self.lookup(path) {
            Lookup::Known(there) => there,
            Lookup::Disk(disk) => match self.stat(&disk).map(|meta| meta.kind) {
                None => OverlayEntry::Nothing,
                Some(Kind::Folder) => OverlayEntry::Folder,
                Some(Kind::Link | Kind::Other) => OverlayEntry::Other,
                Some(Kind::File) => {
                    let opened = self.vault.open_file(&disk).ok();
                    let revision = opened.and_then(|(file, _)| Revision::of_reader(file).ok());
                    match revision {
                        Some(revision) => OverlayEntry::File { revision, disk: Some(disk) },
                        None => OverlayEntry::Other,
                    }
                }
            },
        }
    }

    /// The metadata of the file that will be at `path`, if it is on disk already.
    pub fn meta(&self, path: &VaultPath) -> Option<Meta> {
        match self.lookup(path) {
            Lookup::Known(OverlayEntry::File { disk: Some(disk), .. }) | Lookup::Disk(disk) => {
                self.stat(&disk)
            }
            Lookup::Known(_) => None,
        }
    }

    /// The metadata at a path on disk; `None` if nothing is there.
    fn stat(&self, disk: &VaultPath) -> Option<Meta> {
        match self.vault.stat(disk) {
            Ok(meta) => Some(meta),
            Err(error) => {
                if !error.is_absence() {
                    self.failed.borrow_mut().get_or_insert(error);
                }
                None
            }
        }
    }

    /// Takes the first file-system error that this overlay met. If there was one, the overlay may
    /// have taken unreadable files for missing ones.
    pub fn failure(&self) -> Option<VaultError> {
        self.failed.take()
    }

    /// Whether nothing is at `path` in the overlay.
    pub fn is_free(&self, path: &VaultPath) -> bool {
        match self.lookup(path) {
            Lookup::Known(there) => matches!(there, OverlayEntry::Nothing),
            Lookup::Disk(disk) => self.stat(&disk).is_none(),
        }
    }

    /// The planned path of the file at this path on disk.
    pub fn now_at(&self, disk: &VaultPath) -> VaultPath {
        match self.went.nearest(disk) {
            Some((at, now)) => joined(now, disk.relative_to(at).unwrap_or_default()),
            None => disk.clone(),
        }
    }

    /// Whether another file or folder has this path except for case: on some systems those are one
    /// name.
    pub fn has_case_variant(&self, path: &VaultPath) -> bool {
        self.case_variant(path).is_some()
    }

    /// Such a file or folder.
    pub fn case_variant(&self, path: &VaultPath) -> Option<VaultPath> {
        self.case_variants(path).into_iter().next()
    }

    fn case_variants(&self, path: &VaultPath) -> Vec<VaultPath> {
        if let Some(parent) = path.parent()
            && self.listed.borrow_mut().insert(parent.clone())
        {
            // Another program may have made it a moment ago.
            self.vault.recheck_folder(&parent);
        }
        let key = path.fold_key();
        let mut case_variants = self.planned.get(&key).cloned().unwrap_or_default();
        {
            let catalogue = self.vault.catalogue();
            let alike = catalogue.folded(&key).into_iter();
            case_variants.extend(alike.map(|entry| entry.path().to_path()));
        }
        case_variants.retain(|case_variant| case_variant != path && !self.is_free(case_variant));
        case_variants
    }

    /// The path with its folders spelt as in the overlay, so that a folder that changed case
    /// meanwhile is not made twice.
    pub fn spelt(&self, path: &VaultPath) -> VaultPath {
        let mut here = VaultPath::root();
        for name in path.parent().unwrap_or_else(VaultPath::root).components() {
            let plain = here.join(name).expect("a component is a name");
            let respelt = if self.is_free(&plain) {
                self.case_variants(&plain).into_iter().find(|case_variant| {
                    case_variant.parent().unwrap_or_else(VaultPath::root) == here
                        && matches!(self.at(case_variant), OverlayEntry::Folder)
                })
            } else {
                None
            };
            here = respelt.unwrap_or(plain);
        }
        here.join(path.name()).unwrap_or_else(|| path.clone())
    }

    /// The folders to make so that the folder `path` exists, outermost first.
    pub fn missing(&self, path: &VaultPath) -> Vec<VaultPath> {
        let (mut here, mut missing) = (VaultPath::root(), Vec::new());
        for name in path.components() {
            here = here.join(name).expect("a component is a name");
            if self.is_free(&here) {
                missing.push(here.clone());
            }
        }
        missing
    }

    /// Applies a planned step. `files`: the files of a folder that is restored.
    pub fn add(&mut self, step: &Step, files: Vec<(String, Option<BlobHash>)>) {
        let is_folder = |path| matches!(self.at(path), OverlayEntry::Folder);
        let (path, content) = match &step.act {
            Act::Move { from, to, .. } => {
                self.names(to);
                return self.moves(from, to);
            }
            Act::Write { path, content, .. } => {
                // A written file keeps its name with any content.
                let origin = self.place(path).origin;
                let content = PlannedContent::File(Revision::of(content));
                self.names(path);
                self.places.insert(path.clone(), Planned { content, origin });
                return;
            }
            Act::Folder { path } if is_folder(path) => return self.names(path),
            Act::Folder { path } => (path, PlannedContent::Folder),
            // A folder that is not empty stays, so later steps see no change.
            Act::RemoveFolder { path } if !is_folder(path) || !self.is_empty(path) => {
                return self.names(path);
            }
            Act::RemoveFolder { path } => (path, PlannedContent::Nothing),
            Act::Delete(deletion) => (&deletion.path, PlannedContent::Nothing),
            Act::Restore { to, text, identity, .. } => match (identity.kind(), text) {
                (Kind::Folder, _) => {
                    (to, PlannedContent::Back(Arc::new(files.into_iter().collect()), String::new()))
                }
                (_, Some(text)) => (to, PlannedContent::File(super::step::revision(*text))),
                (_, None) => (to, PlannedContent::Other),
            },
        };
        self.names(path);
        self.places.take_within(path);
        self.places.insert(path.clone(), Planned::new(content));
    }

    /// Records that the plan names this path.
    fn names(&mut self, path: &VaultPath) {
        let alike = self.planned.entry(path.fold_key()).or_default();
        if !alike.contains(path) {
            alike.push(path.clone());
        }
    }

    fn moves(&mut self, from: &VaultPath, to: &VaultPath) {
        let moved = self.place(from);
        let below = self.places.take_within(from);
        self.places.take_within(to);
        self.places.insert(from.clone(), Planned::new(PlannedContent::Nothing));
        let below = below.into_iter().filter(|(path, _)| path != from);
        let below: Vec<(VaultPath, Planned)> = below
            .map(|(path, place)| (joined(to, path.relative_to(from).unwrap_or_default()), place))
            .collect();
        for (path, place) in std::iter::once((to.clone(), moved)).chain(below) {
            if let Some(origin) = &place.origin {
                self.went.insert(origin.clone(), path.clone());
            }
            self.places.insert(path, place);
        }
    }

    /// Whether no file that is in this folder on the disk stays there.
    pub fn is_emptied(&self, path: &VaultPath) -> bool {
        let is_gone = |(file, _): &(VaultPath, Meta)| {
            matches!(self.at(&joined(path, file.as_str())), OverlayEntry::Nothing)
        };
        matches!(self.at(path), OverlayEntry::Folder)
            && self.vault.files_below(path).is_ok_and(|files| files.iter().all(is_gone))
    }

    /// Whether a folder with files is here.
    pub fn holds_files(&self, path: &VaultPath) -> bool {
        matches!(self.at(path), OverlayEntry::Folder) && !self.is_empty(path)
    }

    fn is_empty(&self, path: &VaultPath) -> bool {
        match self.lookup(path) {
            Lookup::Known(_) => true,
            Lookup::Disk(disk) => self.vault.files_below(&disk).is_ok_and(|files| files.is_empty()),
        }
    }
}

/// The path `rest` below `above`; `above` itself if `rest` is empty.
pub(super) fn joined(above: &VaultPath, rest: &str) -> VaultPath {
    above.join_all(rest).expect("what is left of a path is made of names")
}

fn in_folder(files: &Files, at: &str) -> OverlayEntry {
    if at.is_empty() {
        return OverlayEntry::Folder;
    }
    match files.get(at) {
        Some(Some(text)) => {
            OverlayEntry::File { revision: super::step::revision(*text), disk: None }
        }
        Some(None) => OverlayEntry::Other,
        None => {
            let below = format!("{at}/");
            match files.range(below.clone()..).next() {
                Some((file, _)) if file.starts_with(&below) => OverlayEntry::Folder,
                _ => OverlayEntry::Nothing,
            }
        }
    }
}
