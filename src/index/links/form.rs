//! The text of an updated link: in the format of the vault's settings if that leads to the file, else the whole
//! path.

use super::resolver::{Files, called, resolve_among};
use crate::note::fold::normal;
use crate::note::path::VaultPath;
use crate::note::relink::Goal;
use crate::vault::LinkFormat;

/// The linkpaths that lead from `source` to `target` among `files`, best first. May be empty.
pub(super) fn linkpaths(
    files: &dyn Files,
    format: LinkFormat,
    source: &VaultPath,
    target: &VaultPath,
    extension: bool,
) -> Vec<String> {
    let (path, name) = (normal(target.as_str()), normal(target.name()));
    let spelt = |text: &str| {
        if target.is_note() && !extension {
            text[..text.len() - ".md".len()].to_owned()
        } else {
            text.to_owned()
        }
    };
    let preferred = match format {
        LinkFormat::Shortest if called(files, &name).len() < 2 => name.to_string(),
        LinkFormat::Relative => relative(source, &path),
        LinkFormat::Shortest | LinkFormat::Absolute => path.to_string(),
    };
    let mut found = Vec::new();
    // With the extension if a note's bare name means another file: `v1.2` when there is a
    // `v1.2.md`.
    for spelling in [spelt(&preferred), spelt(&path), preferred, path.to_string()] {
        let leads = || resolve_among(files, source, &spelling).target.as_ref() == Some(target);
        if !found.contains(&spelling) && leads() {
            found.push(spelling);
        }
    }
    found
}

/// The new text of a link to `old`, which is now at `new`.
pub(super) fn goal(paths: Vec<String>, old: &VaultPath, new: &VaultPath) -> Goal {
    let bare = |path: &VaultPath| {
        let text = path.as_str();
        if path.is_note() { text[..text.len() - ".md".len()].to_owned() } else { text.to_owned() }
    };
    let pair = |old: &str, new: &str| (old.to_owned(), new.to_owned());
    // In this order: `Note` in the vault's root is a name before it is a path.
    let shown = vec![
        pair(old.stem(), new.stem()),
        pair(old.name(), new.name()),
        pair(&bare(old), &bare(new)),
        pair(old.as_str(), new.as_str()),
    ];
    Goal { paths, shown, alias: Some(pair(old.stem(), new.stem())) }
}

/// The relative path from the folder of `source` to `path`, without `./`.
fn relative(source: &VaultPath, path: &str) -> String {
    let folder = source.parent().unwrap_or_else(VaultPath::root);
    let from: Vec<&str> = folder.components().collect();
    let to: Vec<&str> = path.split('/').collect();
    let shared = from.iter().zip(&to[..to.len() - 1]).take_while(|(a, b)| normal(a) == **b).count();
    let up = std::iter::repeat_n("..", from.len() - shared);
    up.chain(to[shared..].iter().copied()).collect::<Vec<_>>().join("/")
}
