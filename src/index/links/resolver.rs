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

/// The files of the vault in a view.
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

/// The target of a link.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resolution {
    /// `None` if the link is unresolved.
    pub target: Option<VaultPath>,
    /// Other candidates, best first: the link is ambiguous. Empty if a path names exactly one file.
    pub others: Vec<VaultPath>,
}

impl Resolution {
    fn exactly(target: Option<PathRef<'_>>) -> Self {
        Self { target: target.map(PathRef::to_path), others: Vec::new() }
    }
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

/// Resolves the linkpath `link` in the note `source`, by the steps above.
pub fn resolve(catalogue: &Catalogue, source: &VaultPath, link: &str) -> Resolution {
    resolve_among(catalogue, source, link)
}

/// As [`resolve`], among any files, such as those after a change.
pub fn resolve_among(files: &dyn Files, source: &VaultPath, link: &str) -> Resolution {
    if link.is_empty() {
        return Resolution { target: Some(source.clone()), others: Vec::new() };
    }
    let asked = lower(link);
    let (found, added) = candidates(files, last(link));
    let with_extension = |path: &str| format!("{path}{added}");
    if let ([only], false) = (&found[..], asked.contains('/')) {
        return Resolution::exactly(Some(*only));
    }
    let at = |path: &str| found.iter().copied().find(|file| lower(file.as_str()) == path);
    let mut rest = asked.as_str();
    if rest.starts_with("./") || rest.starts_with("../") {
        let (folder, below) = climb(source, rest);
        rest = below;
        if let Some(folder) = folder {
            let slash = if folder.is_empty() { "" } else { "/" };
            if let Some(found) = at(&with_extension(&format!("{folder}{slash}{rest}"))) {
                return Resolution::exactly(Some(found));
            }
        }
    }
    if let Some(absolute) = rest.strip_prefix('/') {
        return Resolution::exactly(at(&with_extension(absolute)));
    }
    let wanted = with_extension(rest);
    if let Some(found) = at(&wanted) {
        return Resolution::exactly(Some(found));
    }
    let folder = source.parent().unwrap_or_else(VaultPath::root);
    let mut ending: Vec<PathRef<'_>> =
        found.iter().copied().filter(|file| lower(file.as_str()).ends_with(&wanted)).collect();
    ending.sort_by(|a, b| {
        let near = |file: &PathRef<'_>| !file.is_within(&folder);
        near(a).cmp(&near(b)).then_with(|| shortest(*a, *b))
    });
    let mut paths = ending.into_iter().map(PathRef::to_path);
    Resolution { target: paths.next(), others: paths.collect() }
}

/// The candidates by a link's last component, and the extension that was added to it.
fn candidates<'f>(files: &'f dyn Files, name: &str) -> (Vec<PathRef<'f>>, &'static str) {
    if name.contains('.') {
        let exact = called(files, name);
        if !exact.is_empty() {
            return (exact, "");
        }
    }
    (called(files, &format!("{name}.md")), ".md")
}

/// The files with this name, compared in lower case; those with the same fold key first.
pub(super) fn called<'f>(files: &'f dyn Files, name: &str) -> Vec<PathRef<'f>> {
    let wanted = lower(name);
    let written = fold_key(name);
    // The lower case of `İ` is two characters, and its fold key is itself: the only character whose lower case
    // has another fold key.
    let mut keys = match written.contains('İ') || written.contains(POINTED) {
        true => vec![written.replace('İ', POINTED), written.replace(POINTED, "İ")],
        false => Vec::new(),
    };
    keys.retain(|key| *key != written);
    keys.insert(0, written);
    let mut found: Vec<PathRef<'f>> = keys.iter().flat_map(|key| files.named(key)).collect();
    found.retain(|file| lower(file.name()) == wanted);
    found
}

/// The folder, in lower case, to which the dots at the beginning of `link` lead from `source`, and the rest. No
/// folder if they lead out of the vault.
fn climb<'l>(source: &VaultPath, link: &'l str) -> (Option<String>, &'l str) {
    let mut folder = source.parent();
    let mut rest = link;
    loop {
        if let Some(below) = rest.strip_prefix("./") {
            rest = below;
        } else if let Some(below) = rest.strip_prefix("../") {
            rest = below;
            folder = folder.and_then(|folder| folder.parent());
        } else {
            return (folder.map(|folder| lower(folder.as_str())), rest);
        }
    }
}

/// Shorter paths first, in UTF-16 units as in JavaScript, then alphabetically.
fn shortest(a: PathRef<'_>, b: PathRef<'_>) -> Ordering {
    let length = |path: PathRef<'_>| path.as_str().encode_utf16().count();
    length(a).cmp(&length(b)).then_with(|| a.as_str().cmp(b.as_str()))
}
