//! Checks that a plan's result is stable by evaluating the rules on it again.

use std::collections::{HashMap, HashSet};

use super::draft::Draft;
use super::evaluation::PreparedRules;
use super::names::is_numbered;
use super::overlay::Overlay;
use super::plan::{Problem, ProblemKind};
use super::rule::OnConflict;
use super::world::{PlanError, World};
use crate::note::path::VaultPath;

/// The most evaluations before a plan counts as endless.
const MAX_STEPS: usize = 8;

/// Adds the problem `unsettled` to drafts whose result the rules would change again.
pub fn check(
    world: &World<'_>,
    prepared: &mut PreparedRules<'_>,
    overlay: &Overlay<'_>,
    drafts: &mut [Draft],
) -> Result<(), PlanError> {
    overlay.show_only(None);
    for draft in drafts.iter().filter(|draft| !draft.item.is_blocked()) {
        if let Some(file) = draft.file.or_else(|| world.snapshot.file(&draft.path)) {
            overlay.set_item(file, &draft.item, &draft.target());
        }
    }
    let leaving: HashSet<&str> =
        drafts.iter().filter(|draft| draft.item.moves()).map(|draft| draft.path.as_str()).collect();
    let arriving: HashMap<String, usize> = drafts
        .iter()
        .enumerate()
        .filter(|(_, draft)| !draft.item.is_blocked() && (draft.item.moves() || draft.item.create))
        .map(|(at, draft)| (draft.target().fold_key(), at))
        .collect();
    let is_taken = |path: &VaultPath, by: usize| {
        let arrives = arriving.get(&path.fold_key()).is_some_and(|other| *other != by);
        arrives || super::applying::is_taken(&world.vault.catalogue(), path, &leaving)
    };
    let mut found = Vec::new();
    for (at, draft) in drafts.iter().enumerate() {
        let asks = !draft.item.is_blocked() && !draft.item.trash;
        if let Some(file) = draft.file.filter(|_| asks) {
            let mut steps = vec![step(draft, &draft.path, &draft.target())];
            let mut here = Draft { wanted: Some(draft.target()), ..draft.clone() };
            let mut visited = vec![draft.path.clone(), draft.target()];
            for _ in 0..MAX_STEPS {
                let Some(after) = prepared.evaluate_again(file, &here, &draft.took)?.draft else {
                    break;
                };
                let adds = after.item.prepend.len() + after.item.append.len()
                    > here.item.prepend.len() + here.item.append.len();
                let (was, is) = (wanted_path(&here), wanted_path(&after));
                let is_kept = is == was
                    || is_taken(&is, at)
                        && (after.on_conflict != OnConflict::Number
                            || is_numbered(&was, &is, &world.settings.suffix));
                if is_kept && !adds && !after.item.trash {
                    break;
                }
                let last = Draft {
                    item: super::plan::Item {
                        rules: last_rules(&here, &after),
                        ..after.item.clone()
                    },
                    ..after.clone()
                };
                steps.push(match (after.item.trash, is_kept) {
                    (true, _) => format!("{}: → trash", last.item.rules.join(", ")),
                    (_, true) => format!("{}: adds its text again", last.item.rules.join(", ")),
                    _ => step(&last, &was, &is),
                });
                let is_circle = visited.contains(&is);
                visited.push(is);
                here = after;
                if is_circle || adds || here.item.trash {
                    break;
                }
            }
            overlay.set_item(file, &draft.item, &draft.target());
            if steps.len() > 1 {
                found.push((
                    at,
                    format!("the rules would change their own result again: {}", steps.join(", ")),
                ));
            }
        }
    }
    for (at, message) in found {
        drafts[at].add(Problem::warning(ProblemKind::Unsettled, message));
    }
    Ok(())
}

fn wanted_path(draft: &Draft) -> VaultPath {
    draft.wanted.clone().unwrap_or_else(|| draft.path.clone())
}

/// The rules that took a file in later evaluations.
fn last_rules(before: &Draft, after: &Draft) -> Vec<String> {
    after.item.rules[before.item.rules.len().min(after.item.rules.len())..].to_vec()
}

/// A move with the rules that want it: `Inbox → Work`.
fn step(draft: &Draft, from: &VaultPath, to: &VaultPath) -> String {
    let (from_folder, to_folder) = (
        from.parent().unwrap_or_else(VaultPath::root),
        to.parent().unwrap_or_else(VaultPath::root),
    );
    let rules = draft.item.rules.join(", ");
    if from_folder == to_folder {
        format!("{rules}: {} → {}", from.name(), to.name())
    } else {
        format!("{rules}: {from_folder} → {to_folder}")
    }
}
