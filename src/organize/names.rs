//! Assigns target paths on the state after all moves, so that swaps, chains and collisions have deterministic results.

use std::collections::{HashMap, HashSet, VecDeque};

use super::rule::OnConflict;
use crate::note::fold::fold_key;
use crate::note::names::{NameFault, check_new_name};
use crate::note::path::{MAX_DEPTH, MAX_NAME_BYTES, MAX_PATH_BYTES, VaultPath};
use crate::vault::{Catalogue, Kind, View};

/// The placeholder for the number in a suffix.
const NUMBER: &str = "{n}";

/// A path that a file should move to, or be created at.
#[derive(Debug, Clone)]
pub struct PathRequest {
    /// The current path; `None` for a new file.
    pub from: Option<VaultPath>,
    pub to: VaultPath,
    pub on_conflict: OnConflict,
}

/// The result of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assignment {
    To(VaultPath),
    /// A free path with a number, since the wanted one is taken.
    Numbered(VaultPath, Obstacle),
    /// The file already has the path, or its numbered form.
    Same,
    /// The request was refused, with the reason.
    Stays(Obstacle),
}

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// Another file has or gets the path.
    #[error("`{path}` is taken{}", by.as_ref().map_or(String::new(), |by| format!(" by `{by}`")))]
    Taken {
        path: VaultPath,
        /// The occupant of the path, if it is spelt otherwise.
        by: Option<VaultPath>,
    },
    /// Another file of the plan gets the path.
    #[error("`{from}` also goes to `{path}`")]
    Wanted { path: VaultPath, from: VaultPath },
    /// A file occupies the path of a needed folder.
    #[error("`{path}` is a file, so nothing can be in it")]
    FileInTheWay { path: VaultPath },
    /// A new name that Obsidian or a desktop system cannot store.
    #[error(transparent)]
    Name(#[from] NameFault),
    /// The path is outside the caller's view, whose content is not revealed.
    #[error("`{path}` is outside of this caller's view")]
    Unseen { path: VaultPath },
    /// Deeper or longer than paths can be.
    #[error("`{to}` is too long or too deep a path")]
    TooLong { to: String },
}

/// Assigns a path to each request, earlier ones first. Paths are distinct by fold key, and never those of files that
/// stay. Paths outside `view` are refused.
///
/// # Errors
/// The first refused request whose policy is to fail the plan.
pub fn assign_paths(
    catalogue: &Catalogue,
    view: &View,
    suffix: &str,
    requests: &[PathRequest],
) -> Result<Vec<Assignment>, (usize, Obstacle)> {
    let mut names = Names {
        requests,
        catalogue,
        suffix,
        leaving: requests
            .iter()
            .filter_map(|request| request.from.as_ref())
            .map(VaultPath::as_str)
            .collect(),
        arriving: HashMap::new(),
        numbers: HashMap::new(),
        folders: HashMap::new(),
        new_folders: HashMap::new(),
    };
    let seen =
        |path: VaultPath| if view.holds(&path) { Ok(path) } else { Err(Obstacle::Unseen { path }) };
    let targets: Vec<Result<VaultPath, Obstacle>> =
        requests.iter().map(|request| names.spelt(request).and_then(seen)).collect();
    let mut assigned: Vec<Option<Assignment>> = vec![None; requests.len()];
    let mut queue: VecDeque<usize> = VecDeque::new();
    let mut staying: Vec<usize> = Vec::new();
    for (at, (request, target)) in requests.iter().zip(&targets).enumerate() {
        assigned[at] = match target {
            Err(obstacle) => Some(Assignment::Stays(obstacle.clone())),
            Ok(target) if request.from.as_ref() == Some(target) => Some(Assignment::Same),
            Ok(_) => None,
        };
        match &assigned[at] {
            Some(_) => staying.push(at),
            None => queue.push_back(at),
        }
    }
    for at in staying {
        names.stays(&requests[at]);
    }
    // `x_1` that wants to be `x` keeps its name while another file has `x`.
    for (at, request) in requests.iter().enumerate() {
        if assigned[at].is_none()
            && request.on_conflict == OnConflict::Number
            && let (Some(from), Ok(target)) = (&request.from, &targets[at])
            && names.is_numbered(from, target)
            && names.occupant(target).is_some()
        {
            assigned[at] = Some(Assignment::Same);
            names.stays(request);
        }
    }
    while let Some(at) = queue.pop_front() {
        let (request, Ok(target)) = (&requests[at], &targets[at]) else { continue };
        if assigned[at].is_some() {
            continue;
        }
        let found = match names.obstacle(target) {
            None => Assignment::To(target.clone()),
            Some(obstacle) => match request.on_conflict {
                OnConflict::Number => match names.numbered(target) {
                    Some(path) if request.from.as_ref() == Some(&path) => Assignment::Same,
                    Some(path) => Assignment::Numbered(path, obstacle),
                    None => Assignment::Stays(obstacle),
                },
                OnConflict::Fail => return Err((at, obstacle)),
                OnConflict::Skip | OnConflict::Ask => Assignment::Stays(obstacle),
            },
        };
        match &found {
            Assignment::To(path) | Assignment::Numbered(path, _) => {
                names.arriving.insert(path.fold_key(), at);
            }
            // The file to which its path was assigned needs another one.
            Assignment::Same | Assignment::Stays(_) => {
                if let Some(other) = names.stays(request) {
                    assigned[other] = None;
                    queue.push_front(other);
                }
            }
        }
        assigned[at] = Some(found);
    }
    let assigned =
        assigned.into_iter().map(|assigned| assigned.unwrap_or(Assignment::Same)).collect();
    Ok(assigned)
}

struct Names<'a> {
    requests: &'a [PathRequest],
    catalogue: &'a Catalogue,
    suffix: &'a str,
    /// Files that leave their paths.
    leaving: HashSet<&'a str>,
    /// Assigned paths by fold key.
    arriving: HashMap<String, usize>,
    /// The last number tried, by fold key of the request.
    numbers: HashMap<String, u32>,
    /// Cached folders in their spelling on disk.
    folders: HashMap<String, Result<VaultPath, Obstacle>>,
    /// New folders by fold key, in their first spelling.
    new_folders: HashMap<String, VaultPath>,
}

impl<'a> Names<'a> {
    /// The requested path, with folders in their spelling on disk.
    fn spelt(&mut self, request: &PathRequest) -> Result<VaultPath, Obstacle> {
        let folder = request.to.parent().unwrap_or_else(VaultPath::root);
        let known = self.folders.get(folder.as_str()).cloned();
        let folder = match known {
            Some(known) => known,
            None => {
                let found = self.folder(&folder);
                self.folders.insert(folder.as_str().to_owned(), found.clone());
                found
            }
        }?;
        let name = request.to.name();
        // An existing name is allowed as it is.
        if request.from.as_ref().is_none_or(|from| from.name() != name) {
            check_new_name(name)?;
        }
        let path = folder.join(name).filter(|path| {
            path.as_str().len() <= MAX_PATH_BYTES && path.components().count() <= MAX_DEPTH
        });
        path.ok_or_else(|| Obstacle::TooLong { to: request.to.to_string() })
    }

    fn folder(&mut self, requested: &VaultPath) -> Result<VaultPath, Obstacle> {
        let mut here = VaultPath::root();
        for name in requested.components() {
            let Some(candidate) = here.join(name) else {
                return Err(Obstacle::TooLong { to: requested.to_string() });
            };
            let key = candidate.fold_key();
            let there = self.catalogue.folded(&key);
            let mut folders = there.iter().filter(|entry| entry.kind == Kind::Folder);
            let exact = there.iter().find(|entry| entry.path().as_str() == candidate.as_str());
            let exact = exact.filter(|entry| entry.kind == Kind::Folder);
            here = match (exact.or_else(|| folders.next()), there.first()) {
                (Some(folder), _) => folder.path().to_path(),
                (None, Some(file)) => {
                    return Err(Obstacle::FileInTheWay { path: file.path().to_path() });
                }
                (None, None) => match self.new_folders.get(&key) {
                    Some(spelt) => spelt.clone(),
                    None => {
                        check_new_name(name)?;
                        self.new_folders.insert(key, candidate.clone());
                        candidate
                    }
                },
            };
        }
        Ok(here)
    }

    /// Lets a file keep its path. Returns the request to which the path was assigned.
    fn stays(&mut self, request: &PathRequest) -> Option<usize> {
        let from = request.from.as_ref()?;
        self.leaving.remove(from.as_str());
        self.arriving.remove(&from.fold_key())
    }

    /// The file or folder that stays at this path.
    fn occupant(&self, path: &VaultPath) -> Option<VaultPath> {
        let there = self.catalogue.folded(&path.fold_key()).into_iter();
        let mut staying = there.filter(|entry| !self.leaving.contains(entry.path().as_str()));
        staying.next().map(|entry| entry.path().to_path())
    }

    fn obstacle(&self, path: &VaultPath) -> Option<Obstacle> {
        let taken = |by: Option<VaultPath>| {
            Some(Obstacle::Taken { path: path.clone(), by: by.filter(|by| by != path) })
        };
        if let Some(occupant) = self.occupant(path) {
            return taken(Some(occupant));
        }
        let key = path.fold_key();
        let comes = self.arriving.get(&key).and_then(|at| self.requests[*at].from.clone());
        match comes {
            Some(from) => Some(Obstacle::Wanted { path: path.clone(), from }),
            None if self.arriving.contains_key(&key) || self.new_folders.contains_key(&key) => {
                taken(None)
            }
            None => None,
        }
    }

    /// The first free path with a number after its name.
    fn numbered(&mut self, target: &VaultPath) -> Option<VaultPath> {
        let key = target.fold_key();
        let mut number = self.numbers.get(&key).copied().unwrap_or_default();
        loop {
            number = number.checked_add(1)?;
            let path = with_number(target, self.suffix, number)?;
            if self.obstacle(&path).is_none() {
                self.numbers.insert(key, number);
                return Some(path);
            }
        }
    }

    /// Whether a path is the numbered form of another.
    fn is_numbered(&self, path: &VaultPath, plain: &VaultPath) -> bool {
        is_numbered(path, plain, self.suffix)
    }
}

/// Whether a path is the numbered form of another.
pub fn is_numbered(path: &VaultPath, plain: &VaultPath, suffix: &str) -> bool {
    let (before, after) = suffix.split_once(NUMBER).unwrap_or((suffix, ""));
    let (path, plain) = (path.fold_key(), plain.fold_key());
    let ((plain_stem, ending), (stem, other_ending)) =
        (split_extension(&plain), split_extension(&path));
    let number = || {
        let rest = stem.strip_prefix(plain_stem)?;
        rest.strip_prefix(&*fold_key(before))?.strip_suffix(&*fold_key(after))
    };
    ending == other_ending
        && number().is_some_and(|number| {
            !number.starts_with('0')
                && number.parse::<u32>().is_ok()
                && number.bytes().all(|digit| digit.is_ascii_digit())
        })
}

/// Splits a path before the extension's dot.
fn split_extension(path: &str) -> (&str, &str) {
    let name = path.rfind('/').map_or(0, |slash| slash + 1);
    match path[name..].rfind('.') {
        Some(dot) if dot > 0 => path.split_at(name + dot),
        _ => (path, ""),
    }
}

/// A path with a number after its name, which is shortened if it would be too long.
fn with_number(path: &VaultPath, suffix: &str, number: u32) -> Option<VaultPath> {
    let suffix = if suffix.contains(NUMBER) {
        suffix.replace(NUMBER, &number.to_string())
    } else {
        format!("{suffix}{number}")
    };
    let (stem, ending) = split_extension(path.name());
    let room = MAX_NAME_BYTES.checked_sub(suffix.len() + ending.len())?;
    let end = (0..=room.min(stem.len())).rev().find(|end| stem.is_char_boundary(*end))?;
    let stem = &stem[..end];
    let folder = path.parent().unwrap_or_else(VaultPath::root);
    folder.join(&format!("{stem}{suffix}{ending}"))
}
