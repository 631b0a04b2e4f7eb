//! Resolving links: Obsidian's rules.
//!
//! For a linkpath `L` in a note `S`:
//! 1. `L` empty: `S` itself.
//! 2. Names are compared in lower case. Candidates are the files of the whole vault whose name is the last
//!    component of `L`, or else that with `.md`; if there are none, the link is unresolved. A last component
//!    without a dot can only be a note.
//! 3. `L` without a slash and with one candidate: that file.
//! 4. `./` or `../` at the beginning: relative to `S`'s folder; the file at exactly this path wins, else the
//!    rest of `L` is used.
//! 5. `/` at the beginning: the file at exactly this path of the vault, or nothing.
//! 6. The file at exactly `L`; else those whose path ends with `L`, in `S`'s folder (at any depth) before
//!    others, the shortest path first, then alphabetically.
//!
//! Lower case is JavaScript's `toLowerCase` of the whole text, which makes a capital sigma at a word's end `ς`; here
//! all small sigmas are equal, since the name of a note continues with `.md` and a link may not. Two assumptions are
//! not verified in the app: an exact path comes first in step 6, and a path ends with `L` by characters.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::note::fold::{fold_key, normal};
use crate::note::path::{PathRef, VaultPath};
use crate::vault::{Catalogue, Entry, Kind, View};

/// Files by name and path, on which the target of a link depends.
pub trait Files {
    /// The files whose name has this [fold key](crate::note::fold::fold_key), in path order.
    fn named(&self, key: &str) -> Vec<PathRef<'_>>;

    /// The file at exactly this path.
    fn at(&self, path: &str) -> Option<PathRef<'_>>;
}

impl Files for Catalogue {
    fn named(&self, key: &str) -> Vec<PathRef<'_>> {
        self.named(key).into_iter().filter(can_be_led_to).map(|entry| entry.path()).collect()
    }

    fn at(&self, path: &str) -> Option<PathRef<'_>> {
        self.get(path).filter(can_be_led_to).map(|entry| entry.path())
    }
}

pub(super) struct VisibleFiles<'f> {
    pub catalogue: &'f Catalogue,
    pub view: &'f View,
}

impl Files for VisibleFiles<'_> {
    fn named(&self, key: &str) -> Vec<PathRef<'_>> {
        let mut found = Files::named(self.catalogue, key);
        found.retain(|path| self.view.shows(*path));
        found
    }

    fn at(&self, path: &str) -> Option<PathRef<'_>> {
        self.catalogue.at(path).filter(|path| self.view.shows(*path))
    }
}

pub(super) fn can_be_led_to(entry: &Entry<'_>) -> bool {
    entry.kind == Kind::File && !entry.unnameable
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resolution {
    /// `None` if the link is unresolved.
    pub target: Option<VaultPath>,
    /// Other candidates, best first: the link is ambiguous. Empty if a path names exactly one file.
    pub others: Vec<VaultPath>,
}

/// `İ` in lower case.
const POINTED: &str = "i\u{307}";

/// The form in which links and paths are compared.
pub fn lower(text: &str) -> String {
    normal(text).to_lowercase().replace('ς', "σ")
}

/// A link's last component.
pub(super) fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Resolves the linkpath `link` in the note `source`, by the steps above, among any files: the catalogue's, or those
/// after a change.
pub fn resolve_among(files: &dyn Files, source: &VaultPath, link: &str) -> Resolution {
    if link.is_empty() {
        Resolution { target: Some(source.clone()), others: Vec::new() }
    } else {
        Choices::of(files, source, link).resolution(source)
    }
}

/// The files that a linkpath can lead to: from every note, or if it begins with a dot, from the notes of one folder.
#[derive(Debug)]
pub(super) enum Choices {
    /// This file or none.
    Exactly(Option<VaultPath>),
    /// One of those whose path ends with it, which are sorted by [`shortest`].
    Ending(Vec<VaultPath>),
}

impl Choices {
    /// For a linkpath that is not empty, in `source`.
    pub fn of(files: &dyn Files, source: &VaultPath, link: &str) -> Self {
        let asked = lower(link);
        let named = named(files, link);
        let Some((folder, below)) = climb(source, &asked).filter(|_| !named.is_only(&asked)) else {
            return named.choices(&asked);
        };
        let at_folder = folder.and_then(|folder| {
            let slash = if folder.is_empty() { "" } else { "/" };
            named.at(&format!("{folder}{slash}{below}"))
        });
        match at_folder {
            Some(found) => Self::Exactly(Some(found.to_path())),
            None => named.choices(below),
        }
    }

    /// The file that the linkpath leads to from `source`.
    pub fn target(&self, source: &VaultPath) -> Option<&VaultPath> {
        let all = self.all();
        let folder = source.borrowed().parent().filter(|folder| all.len() > 1 && !folder.is_root());
        let near = folder.and_then(|folder| all.iter().find(|file| file.is_within(folder)));
        near.or(all.first())
    }

    /// For each folder with some of them, the place of the target from there in [`all`](Self::all). From other folders
    /// it is the first.
    pub fn by_folder(&self) -> HashMap<&str, usize> {
        let mut places = HashMap::new();
        for (place, file) in self.all().iter().enumerate() {
            let mut below = file.borrowed();
            while let Some(folder) = below.parent().filter(|folder| !folder.is_root()) {
                places.entry(folder.as_str()).or_insert(place);
                below = folder;
            }
        }
        places
    }

    /// The same with other copies of the paths.
    pub fn map(self, copy: impl Fn(VaultPath) -> VaultPath) -> Self {
        match self {
            Self::Exactly(target) => Self::Exactly(target.map(copy)),
            Self::Ending(ending) => Self::Ending(ending.into_iter().map(copy).collect()),
        }
    }

    pub fn all(&self) -> &[VaultPath] {
        match self {
            Self::Exactly(target) => target.as_slice(),
            Self::Ending(ending) => ending,
        }
    }

    /// The same with the other candidates.
    pub fn resolution(&self, source: &VaultPath) -> Resolution {
        let folder = source.parent().unwrap_or_else(VaultPath::root);
        let (near, far): (Vec<_>, Vec<_>) =
            self.all().iter().cloned().partition(|file| file.is_within(&folder));
        let mut paths = near.into_iter().chain(far);
        Resolution { target: paths.next(), others: paths.collect() }
    }
}

/// The files with the name of a linkpath, and the extension that was added to find them.
struct Named<'f> {
    found: Vec<PathRef<'f>>,
    added: &'static str,
}

impl<'f> Named<'f> {
    /// Whether the linkpath, in lower case, is a name that a single file has.
    fn is_only(&self, asked: &str) -> bool {
        self.found.len() == 1 && !asked.contains('/')
    }

    /// The file at this path in lower case, without the added extension.
    fn at(&self, path: &str) -> Option<PathRef<'f>> {
        let wanted = format!("{path}{}", self.added);
        self.found.iter().copied().find(|file| lower(file.as_str()) == wanted)
    }

    /// The possible targets of the linkpath, which is in lower case and without dots at its beginning.
    fn choices(&self, asked: &str) -> Choices {
        let exactly = |file: Option<PathRef<'_>>| Choices::Exactly(file.map(PathRef::to_path));
        if self.is_only(asked) {
            return exactly(self.found.first().copied());
        }
        if let Some(absolute) = asked.strip_prefix('/') {
            return exactly(self.at(absolute));
        }
        if let Some(found) = self.at(asked) {
            return exactly(Some(found));
        }
        let wanted = format!("{asked}{}", self.added);
        let ends = |file: &PathRef<'_>| lower(file.as_str()).ends_with(&wanted);
        let mut ending: Vec<PathRef<'_>> = self.found.iter().copied().filter(ends).collect();
        ending.sort_by(|a, b| shortest(*a, *b));
        Choices::Ending(ending.into_iter().map(PathRef::to_path).collect())
    }
}

fn named<'f>(files: &'f dyn Files, link: &str) -> Named<'f> {
    let name = last(link);
    let exact = if name.contains('.') { called(files, name) } else { Vec::new() };
    if exact.is_empty() {
        Named { found: called(files, &format!("{name}.md")), added: ".md" }
    } else {
        Named { found: exact, added: "" }
    }
}

/// The file with this path in a canvas.
pub(super) fn file_at<'f>(files: &'f dyn Files, path: &str) -> Option<PathRef<'f>> {
    files.at(&normal(path)).or_else(|| files.at(path))
}

/// The files with this name, compared in lower case; those with the same fold key first.
pub(super) fn called<'f>(files: &'f dyn Files, name: &str) -> Vec<PathRef<'f>> {
    let wanted = lower(name);
    let written = fold_key(name);
    // The lower case of `İ` is two characters, and its fold key is itself: the only character whose lower case
    // has another fold key.
    let mut keys = if written.contains('İ') || written.contains(POINTED) {
        vec![written.replace('İ', POINTED), written.replace(POINTED, "İ")]
    } else {
        Vec::new()
    };
    keys.retain(|key| *key != written);
    keys.insert(0, written);
    let mut found: Vec<PathRef<'f>> = keys.iter().flat_map(|key| files.named(key)).collect();
    found.retain(|file| lower(file.name()) == wanted);
    found
}

/// If `link` begins with dots: the folder, in lower case, to which they lead from `source`, and the rest. No folder if
/// they lead out of the vault.
fn climb<'l>(source: &VaultPath, link: &'l str) -> Option<(Option<String>, &'l str)> {
    let mut folder = source.parent();
    let mut rest = link;
    loop {
        if let Some(below) = rest.strip_prefix("./") {
            rest = below;
        } else if let Some(below) = rest.strip_prefix("../") {
            rest = below;
            folder = folder.and_then(|folder| folder.parent());
        } else {
            let is_relative = rest.len() < link.len();
            return is_relative.then(|| (folder.map(|folder| lower(folder.as_str())), rest));
        }
    }
}

/// Shorter paths first, in UTF-16 units as in JavaScript, then alphabetically.
fn shortest(a: PathRef<'_>, b: PathRef<'_>) -> Ordering {
    let length = |path: PathRef<'_>| path.as_str().encode_utf16().count();
    length(a).cmp(&length(b)).then_with(|| a.as_str().cmp(b.as_str()))
}
