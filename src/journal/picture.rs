//! How the vault would look in the middle of an undo: what is on the disk, seen through the steps
//! that are planned. So everything that stands in the way is found before anything is done.

use std::cell::RefCell;

use super::step::{Act, Step};
use crate::note::path::VaultPath;
use crate::store::BlobHash;
use crate::vault::{Kind, Meta, Reader, Revision, VaultError};

/// What is at a path.
#[derive(Debug, Clone)]
pub(super) enum There {
    Nothing,
    /// A file with this content. `disk`: where it lies now, if it is on the disk already.
    File {
        revision: Revision,
        disk: Option<VaultPath>,
    },
    Folder,
    /// A link or the like.
    Other,
}

/// The vault with a plan applied to it in thought.
pub(super) struct Picture<'a> {
    vault: &'a Reader,
    edits: Vec<Edit>,
    /// The first look that failed.
    failed: RefCell<Option<VaultError>>,
}

enum Edit {
    Set(VaultPath, There),
    Move(VaultPath, VaultPath),
    /// A folder that comes back, with its files.
    Back(VaultPath, Vec<(String, Option<BlobHash>)>),
}

/// Where a path leads once the plan is looked through.
enum Seen {
    Known(There),
    Disk(VaultPath),
}

impl<'a> Picture<'a> {
    pub fn new(vault: &'a Reader) -> Self {
        Self { vault, edits: Vec::new(), failed: RefCell::default() }
    }

    fn seen(&self, path: &VaultPath) -> Seen {
        let mut path = path.clone();
        for edit in self.edits.iter().rev() {
            match edit {
                Edit::Set(at, there) if *at == path => return Seen::Known(there.clone()),
                Edit::Set(at, There::Nothing) if path.is_within(at) => {
                    return Seen::Known(There::Nothing);
                }
                Edit::Move(from, to) if path == *to || path.is_within(to) => {
                    match below(&path, to, from) {
                        Some(before) => path = before,
                        None => return Seen::Known(There::Nothing),
                    }
                }
                Edit::Move(from, _) if path == *from || path.is_within(from) => {
                    return Seen::Known(There::Nothing);
                }
                Edit::Back(at, files) if path == *at || path.is_within(at) => {
                    return Seen::Known(in_folder(&path, at, files));
                }
                _ => {}
            }
        }
        Seen::Disk(path)
    }

    /// What is at `path` by then.
    pub fn at(&self, path: &VaultPath) -> There {
        match self.seen(path) {
            Seen::Known(there) => there,
            Seen::Disk(disk) => match self.look(&disk).map(|meta| meta.kind) {
                None => There::Nothing,
                Some(Kind::Folder) => There::Folder,
                Some(Kind::Link | Kind::Other) => There::Other,
                Some(Kind::File) => {
                    let opened = self.vault.open_file(&disk).ok();
                    let revision = opened.and_then(|(file, _)| Revision::of_reader(file).ok());
                    match revision {
                        Some(revision) => There::File { revision, disk: Some(disk) },
                        None => There::Other,
                    }
                }
            },
        }
    }

    /// What the file system says of what will be at `path`, if it is on the disk already.
    pub fn meta(&self, path: &VaultPath) -> Option<Meta> {
        match self.seen(path) {
            Seen::Known(There::File { disk: Some(disk), .. }) | Seen::Disk(disk) => {
                self.look(&disk)
            }
            Seen::Known(_) => None,
        }
    }

    /// What is at a path of the disk, `None` if nothing is.
    fn look(&self, disk: &VaultPath) -> Option<Meta> {
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

    /// Why this picture is wrong: the first look that the disk failed, which says nothing of what is
    /// there, given once.
    pub fn failure(&self) -> Option<VaultError> {
        self.failed.take()
    }

    /// Whether anything is at `path` by then.
    pub fn is_free(&self, path: &VaultPath) -> bool {
        match self.seen(path) {
            Seen::Known(there) => matches!(there, There::Nothing),
            Seen::Disk(disk) => self.look(&disk).is_none(),
        }
    }

    /// Where what is at this path on the disk is by then, as far as it is moved.
    pub fn now_at(&self, disk: &VaultPath) -> VaultPath {
        let mut path = disk.clone();
        for edit in &self.edits {
            if let Edit::Move(from, to) = edit
                && (path == *from || path.is_within(from))
                && let Some(moved) = below(&path, from, to)
            {
                path = moved;
            }
        }
        path
    }

    /// Whether a thing by then has this path but for its case: on other systems that is one name.
    pub fn has_twin(&self, path: &VaultPath) -> bool {
        self.twin(path).is_some()
    }

    /// Such a thing.
    pub fn twin(&self, path: &VaultPath) -> Option<VaultPath> {
        self.twins(path).into_iter().next()
    }

    fn twins(&self, path: &VaultPath) -> Vec<VaultPath> {
        if let Some(parent) = path.parent() {
            // Another program may have made it a moment ago.
            self.vault.recheck_folder(&parent);
        }
        let key = path.fold_key();
        let planned = self.edits.iter().map(|edit| match edit {
            Edit::Set(at, _) | Edit::Move(_, at) | Edit::Back(at, _) => at,
        });
        let mut twins: Vec<VaultPath> =
            planned.filter(|at| at.fold_key() == key).cloned().collect();
        {
            let catalogue = self.vault.catalogue();
            let alike = catalogue.folded(&key).into_iter();
            twins.extend(alike.map(|entry| entry.path().to_path()));
        }
        twins.retain(|twin| twin != path && !self.is_free(twin));
        twins
    }

    /// A path whose folders are spelt as they are by then: one that changed its case meanwhile is
    /// not made a second time.
    pub fn spelt(&self, path: &VaultPath) -> VaultPath {
        let mut here = VaultPath::root();
        for name in path.parent().unwrap_or_else(VaultPath::root).components() {
            let plain = here.join(name).expect("a component is a name");
            let respelt = match self.is_free(&plain) {
                true => self.twins(&plain).into_iter().find(|twin| {
                    twin.parent().unwrap_or_else(VaultPath::root) == here
                        && matches!(self.at(twin), There::Folder)
                }),
                false => None,
            };
            here = respelt.unwrap_or(plain);
        }
        here.join(path.name()).unwrap_or_else(|| path.clone())
    }

    /// The folders that have to be made so that `path` is one, outermost first.
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

    /// Takes a planned step as done. `files`: those of a folder that comes back.
    pub fn add(&mut self, step: &Step, files: Vec<(String, Option<BlobHash>)>) {
        let nothing = |path: &VaultPath| Edit::Set(path.clone(), There::Nothing);
        self.edits.push(match &step.act {
            Act::Folder { path } => Edit::Set(path.clone(), There::Folder),
            // It stays where it is not empty, which changes nothing for what comes.
            Act::RemoveFolder { path } => match self.at(path) {
                There::Folder if self.is_empty(path) => nothing(path),
                there => Edit::Set(path.clone(), there),
            },
            Act::Write { path, content, .. } => {
                let revision = Revision::of(content);
                Edit::Set(path.clone(), There::File { revision, disk: None })
            }
            Act::Move { from, to, .. } => Edit::Move(from.clone(), to.clone()),
            Act::Delete(deletion) => nothing(&deletion.path),
            Act::Restore { to, text, thing, .. } => match (thing.kind(), text) {
                (Kind::Folder, _) => Edit::Back(to.clone(), files),
                (_, Some(text)) => {
                    let revision = super::step::revision(*text);
                    Edit::Set(to.clone(), There::File { revision, disk: None })
                }
                (_, None) => Edit::Set(to.clone(), There::Other),
            },
        });
    }

    fn is_empty(&self, path: &VaultPath) -> bool {
        match self.seen(path) {
            Seen::Known(_) => true,
            Seen::Disk(disk) => self.vault.files_below(&disk).is_ok_and(|files| files.is_empty()),
        }
    }
}

/// `path` below `above`, as it is called below `instead`.
fn below(path: &VaultPath, above: &VaultPath, instead: &VaultPath) -> Option<VaultPath> {
    let rest = if path == above { "" } else { path.relative_to(above)? };
    let mut parts = rest.split('/').filter(|part| !part.is_empty());
    parts.try_fold(instead.clone(), |at, name| at.join(name))
}

fn in_folder(path: &VaultPath, at: &VaultPath, files: &[(String, Option<BlobHash>)]) -> There {
    if path == at {
        return There::Folder;
    }
    let below = path.relative_to(at).unwrap_or_default();
    for (file, text) in files {
        if file == below {
            return match text {
                Some(text) => There::File { revision: super::step::revision(*text), disk: None },
                None => There::Other,
            };
        }
        if file.strip_prefix(below).is_some_and(|rest| rest.starts_with('/')) {
            return There::Folder;
        }
    }
    There::Nothing
}
