//! The order of moves: each target is free when its move runs, and cycles use a temporary hidden name.

use std::collections::HashMap;

use crate::note::fold::fold_key;
use crate::note::path::VaultPath;

/// Orders moves so that each target is free when its move runs. Paths with the same fold key count as one.
/// `hidden` gives a free name for the first file of a cycle, in its folder.
///
/// All targets must have distinct fold keys. Runs in linear time.
pub fn ordered(
    moves: &[(VaultPath, VaultPath)],
    mut hidden: impl FnMut(&VaultPath) -> VaultPath,
) -> Vec<(VaultPath, VaultPath)> {
    let mut leaving: HashMap<String, Vec<usize>> = HashMap::with_capacity(moves.len());
    for (at, (from, _)) in moves.iter().enumerate() {
        leaving.entry(fold_key(from.as_str())).or_default().push(at);
    }
    let waits_for =
        |at: usize| leaving.get(&fold_key(moves[at].1.as_str())).map_or(&[][..], Vec::as_slice);
    let mut states = vec![Visit::New; moves.len()];
    let mut aside: HashMap<usize, VaultPath> = HashMap::new();
    let mut steps = Vec::with_capacity(moves.len());
    let mut stack: Vec<(usize, usize)> = Vec::new();
    for first in 0..moves.len() {
        if states[first] != Visit::New {
            continue;
        }
        states[first] = Visit::Waiting;
        stack.push((first, 0));
        while let Some((at, checked)) = stack.last_mut() {
            let at = *at;
            let Some(&other) = waits_for(at).get(*checked) else {
                let from = aside.get(&at).unwrap_or(&moves[at].0).clone();
                steps.push((from, moves[at].1.clone()));
                states[at] = Visit::Done;
                stack.pop();
                continue;
            };
            *checked += 1;
            match states[other] {
                Visit::New => {
                    states[other] = Visit::Waiting;
                    stack.push((other, 0));
                }
                // A cycle: this file moves out of the way first.
                Visit::Waiting if other != at && !aside.contains_key(&other) => {
                    let from = &moves[other].0;
                    let beside = hidden(from);
                    steps.push((from.clone(), beside.clone()));
                    aside.insert(other, beside);
                }
                Visit::Waiting | Visit::Done => {}
            }
        }
    }
    steps
}

/// The indices in `moves` of cycles: each target is the source of another member, and none can go first without a
/// hidden name. All targets must have distinct fold keys.
pub fn circling(moves: &[(VaultPath, VaultPath)]) -> Vec<usize> {
    let by_source: HashMap<String, usize> =
        moves.iter().enumerate().map(|(at, (from, _))| (from.fold_key(), at)).collect();
    let next = |at: usize| by_source.get(&moves[at].1.fold_key()).copied().filter(|to| *to != at);
    let mut met_from: Vec<Option<usize>> = vec![None; moves.len()];
    let mut circling = Vec::new();
    for first in 0..moves.len() {
        let mut here = Some(first);
        while let Some(at) = here.filter(|at| met_from[*at].is_none()) {
            met_from[at] = Some(first);
            here = next(at);
        }
        // The path returned to one of its nodes: a cycle begins there.
        let Some(begin) = here.filter(|at| met_from[*at] == Some(first)) else { continue };
        circling.push(begin);
        let mut at = next(begin);
        while let Some(on) = at.filter(|at| *at != begin) {
            circling.push(on);
            at = next(on);
        }
    }
    circling.sort_unstable();
    circling
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    /// On the stack: waiting for others.
    Waiting,
    Done,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn path(text: &str) -> VaultPath {
        VaultPath::from_disk(text).unwrap()
    }

    fn steps(moves: &[(&str, &str)]) -> Vec<String> {
        let moves: Vec<_> = moves.iter().map(|(from, to)| (path(from), path(to))).collect();
        let steps = ordered(&moves, |from| path(&format!("{}~", from.as_str())));
        steps.iter().map(|(from, to)| format!("{from} {to}")).collect()
    }

    #[test]
    fn chains_swaps_and_cycles() {
        assert_eq!(steps(&[("a", "b"), ("b", "c")]), ["b c", "a b"]);
        assert_eq!(steps(&[("a", "b"), ("b", "a")]), ["a a~", "b a", "a~ b"]);
        assert_eq!(steps(&[("a", "b"), ("b", "c"), ("c", "a")]), ["a a~", "c a", "b c", "a~ b"]);
        assert_eq!(steps(&[("a", "A")]), ["a A"]);
        assert_eq!(steps(&[("a", "B"), ("b", "A")]), ["a a~", "b A", "a~ B"]);
        assert_eq!(steps(&[("x", "a"), ("a", "b"), ("A", "c")]), ["a b", "A c", "x a"]);
    }

    #[test]
    fn only_what_goes_round_is_circling() {
        let circling = |moves: &[(&str, &str)]| {
            let moves: Vec<_> = moves.iter().map(|(from, to)| (path(from), path(to))).collect();
            super::circling(&moves)
        };
        assert!(circling(&[("a", "b"), ("b", "c"), ("d", "D")]).is_empty());
        assert_eq!(circling(&[("x", "y"), ("a", "B"), ("b", "a"), ("k", "l")]), [1, 2]);
        assert_eq!(
            circling(&[("a", "b"), ("b", "c"), ("c", "a"), ("e", "f"), ("f", "e")]),
            [0, 1, 2, 3, 4]
        );
    }

    proptest! {
        #[test]
        fn no_step_meets_a_file(targets in Just((0..12).collect::<Vec<usize>>()).prop_shuffle()) {
            // A permutation of names with changed case: a chain is a cycle without one of its
            // names.
            let moves: Vec<_> = (0..10)
                .map(|at| (path(&format!("n{at}")), path(&format!("N{}", targets[at]))))
                .collect();
            let mut files: BTreeMap<String, usize> =
                moves.iter().enumerate().map(|(at, (from, _))| (fold_key(from.as_str()), at)).collect();
            for (from, to) in ordered(&moves, |from| path(&format!("{}~", from.as_str()))) {
                let file = files.remove(&fold_key(from.as_str())).expect("it is there");
                prop_assert!(files.insert(fold_key(to.as_str()), file).is_none(), "{} is taken", to);
            }
            for (at, (_, to)) in moves.iter().enumerate() {
                prop_assert_eq!(files[&fold_key(to.as_str())], at);
            }
        }
    }
}
