//! Files whose links are not known that may contain a link which a rename changes.
//!
//! They are scanned for text that looks like a link, and each is resolved before and after the change. Links in code
//! are included, so the result says that there may be one.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::Read;
use std::ops::ControlFlow;

use rayon::prelude::*;

use super::answers::Links;
use super::names::{FilesAfter, NameChange};
use super::record::{Gap, is_canvas};
use super::resolver::{Files, file_at, last, lower, resolve_among};
use crate::note::path::{PathRef, VaultPath};
use crate::note::raw_links;
use crate::vault::Vault;

/// Bytes of a file that are scanned at once.
const AT_ONCE: usize = 1 << 20;

/// Maximum size of a scanned file, in bytes; the links of larger ones stay unknown.
const MAX_FILE: u64 = 1 << 30;

/// Maximum number of different linkpaths of a file; beyond it its links stay unknown.
const MAX_PATHS: usize = 100_000;

/// A file that may contain a link which a rename changes, and which is not updated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// The file's path before the change.
    pub path: VaultPath,
    /// The possible link; empty if the file could not be scanned.
    pub link: String,
    /// Why its links are not known.
    pub gap: Gap,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Candidate {
    path: String,
    /// Whether it is the whole path of a file in a canvas.
    is_file: bool,
}

/// The files with unknown links that may contain a link which leads elsewhere after `change`, by path, including
/// the folders that could not be listed.
pub(super) fn unknown(links: &Links, change: &NameChange) -> Vec<Unknown> {
    let unlisted = links.0.synced.vault.unlisted_folders().into_iter();
    let unlisted = unlisted.map(|path| Unknown { path, link: String::new(), gap: Gap::Unlisted });
    let gaps = links.gaps();
    if gaps.is_empty() {
        return unlisted.collect();
    }
    let names: HashSet<&str> = change.names().iter().map(String::as_str).collect();
    // A quick check by length, since there may be a million links.
    let lengths: HashSet<usize> = names.iter().map(|name| name.len()).collect();
    let is_named = |name: &str| {
        (!name.is_ascii() || lengths.contains(&name.len())) && names.contains(&*lower(name))
    };
    let vault = &links.0.synced.vault;
    let looked: Vec<_> = gaps
        .into_par_iter()
        .filter_map(|(path, gap)| {
            let moves = change.after(&path)? != &path;
            let named = |link: &str| moves || is_named(last(link));
            let found = candidates(vault, &path, &named);
            Some((path, gap, found))
        })
        .collect();
    let catalogue = vault.catalogue();
    let after = FilesAfter { catalogue: &catalogue, change };
    let turned = |source: &VaultPath, link: &Candidate| {
        let target = |files: &dyn Files, source| {
            if link.is_file {
                file_at(files, &link.path).map(PathRef::to_path)
            } else {
                resolve_among(files, source, &link.path).target
            }
        };
        let wanted = target(&*catalogue, source).and_then(|old| change.after(&old).cloned());
        let source = change.after(source).unwrap_or(source);
        wanted.is_some() && target(&after, source) != wanted
    };
    let may_hold = |(path, gap, found): (VaultPath, Gap, Option<Vec<Candidate>>)| {
        let link = match found {
            None => String::new(),
            Some(found) => found.into_iter().find(|link| turned(&path, link))?.path,
        };
        Some(Unknown { path, link, gap })
    };
    looked.into_iter().filter_map(may_hold).chain(unlisted).collect()
}

/// The possible links of a file that are wanted, each once; `None` if it could not be scanned.
fn candidates(
    vault: &Vault,
    path: &VaultPath,
    wanted: &dyn Fn(&str) -> bool,
) -> Option<Vec<Candidate>> {
    let (file, meta) = vault.open_file(path).ok()?;
    if meta.size > MAX_FILE {
        return None;
    }
    let mut file = file.take(MAX_FILE);
    let (mut piece, mut begun) = (Vec::with_capacity(AT_ONCE + raw_links::MAX_BYTES), 0);
    let mut found = HashSet::new();
    loop {
        let room = (AT_ONCE + raw_links::MAX_BYTES - piece.len()) as u64;
        let read = file.by_ref().take(room).read_to_end(&mut piece).ok()?;
        // A link that begins in the last bytes may continue in the next chunk, where it is scanned whole.
        let end =
            if read == 0 { piece.len() } else { piece.len().saturating_sub(raw_links::MAX_BYTES) };
        let mut take = |link: Cow<'_, str>, is_file| {
            if wanted(&link) {
                found.insert(Candidate { path: link.into_owned(), is_file });
            }
            if found.len() > MAX_PATHS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let mut looked = raw_links::each(&piece, end, |link| take(link, false));
        if is_canvas(path) && looked.is_continue() {
            looked = raw_links::each_string(&piece, end, |link| take(link, true));
        }
        if looked.is_break() {
            return None;
        }
        if read == 0 {
            break;
        }
        piece.drain(..end);
        begun += end;
    }
    let mut found: Vec<Candidate> = found.into_iter().collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    tracing::debug!(%path, bytes = begun, found = found.len(), "searched for links");
    Some(found)
}
