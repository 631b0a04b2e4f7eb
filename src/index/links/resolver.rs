//! Where a link leads: Obsidian's own rules, in the one place that knows them.
//!
//! For a linkpath `L` in a note `S`:
//! 1. `L` empty: `S` itself.
//! 2. Names are compared in lower case. The files are those of the whole vault whose name is the
//!    last component of `L`, or else that with `.md`; none: unresolved. A last component without a
//!    point can only be a note.
//! 3. `L` without a slash and one such file: it.
//! 4. `./` or `../` at the beginning: counted from `S`'s folder; the file at that very path wins,
//!    else the rest of `L` goes on.
//! 5. `/` at the beginning: the file at that very path of the vault, or nothing.
//! 6. The file at exactly `L`; else those whose path ends with `L`, in `S`'s folder (at any depth)
//!    before others, the shortest path before longer ones, then by the alphabet.
//!
//! Lower case is JavaScript's `toLowerCase` of the whole text, in which a capital sigma at a word's
//! end becomes `ς`; here all small sigmas are one, since the name of a note goes on with `.md` and
//! a link's may not. That an exact path comes first in step 6, and that a path ends with `L` by its
//! characters, are working rules not seen in the app.

use std::cmp::Ordering;

use crate::note::fold::{fold_key, normal};
use crate::note::path::{PathRef, VaultPath};
use crate::vault::{Catalogue, Entry, Kind, View};

/// Files by name and path: all that a link's meaning depends on.
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

/// The files of the vault that somebody sees.
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

/// Where a link leads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resolution {
    /// The file; `None` if nothing answers.
    pub target: Option<VaultPath>,
    /// Other files that answer to the same link, best first: the link is ambiguous. Empty where a
    /// path says exactly which is meant.
    pub others: Vec<VaultPath>,
}

impl Resolution {
    fn exactly(target: Option<PathRef<'_>>) -> Self {
        Self { target: target.map(PathRef::to_path), others: Vec::new() }
    }
}

/// `İ` in lower case.
const POINTED: &str = "i\u{307}";

/// The form in which link texts and paths are compared.
pub fn lower(text: &str) -> String {
    normal(text).to_lowercase().replace('ς', "σ")
}

/// A link's last component.
pub(super) fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Resolves the linkpath `link` in the note `source`; see the module for the steps.
pub fn resolve(catalogue: &Catalogue, source: &VaultPath, link: &str) -> Resolution {
    resolve_among(catalogue, source, link)
}

/// The same among any files, such as those that there will be.
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

/// The files that a link's last component names, and what had to be added to it for that.
fn candidates<'f>(files: &'f dyn Files, name: &str) -> (Vec<PathRef<'f>>, &'static str) {
    if name.contains('.') {
        let exact = called(files, name);
        if !exact.is_empty() {
            return (exact, "");
        }
    }
    (called(files, &format!("{name}.md")), ".md")
}

/// The files whose name is `name`, both in lower case; those of the same spelling key first.
pub(super) fn called<'f>(files: &'f dyn Files, name: &str) -> Vec<PathRef<'f>> {
    let wanted = lower(name);
    let written = fold_key(name);
    // `İ` is two letters in lower case, and folds to itself: the one letter whose lower case is no
    // spelling of the same key.
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

/// The folder, in lower case, that the dots at the beginning of `link` lead to from `source`, and
/// what follows them. No folder where they lead out of the vault.
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

/// Shorter paths first, counted as JavaScript counts; equal ones by the alphabet.
fn shortest(a: PathRef<'_>, b: PathRef<'_>) -> Ordering {
    let length = |path: PathRef<'_>| path.as_str().encode_utf16().count();
    length(a).cmp(&length(b)).then_with(|| a.as_str().cmp(b.as_str()))
}
