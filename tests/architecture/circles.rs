//! Import cycles among the files of a room.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Reference, Resolved};

/// Which file names an item that another file of its room defines; tests are ignored. A `mod.rs`
/// may name its direct children, which name it; those edges are ignored.
pub fn arrows(named: &[(&Reference, Resolved)]) -> BTreeMap<String, BTreeSet<String>> {
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (reference, resolved) in named.iter().filter(|(reference, _)| !reference.is_test) {
        let Some(item) = &resolved.item else { continue };
        if item.files.contains(&reference.file) {
            continue;
        }
        // The methods of a type belong to it, in any file.
        let ends = |file: String| {
            if reference.is_impl {
                (file, reference.file.clone())
            } else {
                (reference.file.clone(), file)
            }
        };
        for (from, to) in item.files.iter().cloned().map(ends) {
            if room(&from) == room(&to) && !is_own_child(&from, &to) {
                arrows.entry(from).or_default().insert(to);
            }
        }
    }
    arrows
}

/// The room that a file belongs to.
pub fn room(file: &str) -> &str {
    let inside = file.trim_start_matches("src/");
    inside.split_once('/').map_or(inside.trim_end_matches(".rs"), |(room, _)| room)
}

fn is_own_child(parent: &str, child: &str) -> bool {
    let Some(folder) = parent.strip_suffix("mod.rs") else { return false };
    child.strip_prefix(folder).is_some_and(|rest| match rest.split_once('/') {
        None => true,
        Some((_, rest)) => rest == "mod.rs",
    })
}

/// The files in cycles, grouped by cycle.
pub fn circles(arrows: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        arrows.keys().map(|file| (file, reach(arrows, file))).collect();
    let mut seen: BTreeSet<&String> = BTreeSet::new();
    let mut found = Vec::new();
    for (file, there) in &reached {
        if seen.contains(file) || !there.contains(file) {
            continue;
        }
        let back = |other: &&String| reached.get(*other).is_some_and(|from| from.contains(file));
        let circle: Vec<&String> = there.iter().copied().filter(back).collect();
        seen.extend(&circle);
        found.push(circle.into_iter().cloned().collect());
    }
    found
}

fn reach<'a>(
    arrows: &'a BTreeMap<String, BTreeSet<String>>,
    from: &'a String,
) -> BTreeSet<&'a String> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(file) = open.pop() {
        let next = arrows.get(file).into_iter().flatten();
        open.extend(next.filter(|next| reached.insert(*next)));
    }
    reached
}
