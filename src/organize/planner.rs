//! Makes a plan from rules or from the items of a request.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::applying;
use super::draft::{By, Draft};
use super::emptied;
use super::evaluation::{PreparedRules, Purpose};
use super::linked;
use super::names;
use super::order;
use super::overlay::Overlay;
use super::plan::{Following, Item, Plan, Problem, ProblemKind, RuleResult};
use super::rule::{OnConflict, Rule};
use super::settle;
pub use super::world::{PlanError, World};
use crate::bases::Source as _;
use crate::note::path::VaultPath;
use crate::vault::catalogue::tree_order;

/// The most rounds of assigning paths, since each blocked file changes the others.
const MAX_ROUNDS: usize = 8;

/// What to plan: rules, items that are listed by hand, or both.
#[derive(Debug, Clone, Default)]
pub struct PlanRequest<'a> {
    pub rules: &'a [Rule],
    /// The items in the request, each with its path and changes; ids, revisions, risks and problems are computed.
    pub items: Vec<Item>,
    /// Only files in this folder and below.
    pub within: Option<VaultPath>,
    /// Only these files.
    pub only: Option<&'a HashSet<VaultPath>>,
    /// A plan to join: its files keep their items.
    pub joins: Option<Plan>,
}

/// Makes a plan without changing anything.
pub fn plan(world: &World<'_>, request: PlanRequest<'_>) -> Result<Plan, PlanError> {
    let mut drafts: BTreeMap<String, Draft> = BTreeMap::new();
    let joined = request.joins.unwrap_or_default();
    for item in joined.items {
        by_hand(world, &mut drafts, item, true);
    }
    let planned: HashSet<String> = drafts.keys().cloned().collect();
    let mut requested: BTreeMap<String, Item> = BTreeMap::new();
    for item in request.items.into_iter().filter(|item| !planned.contains(&item.path)) {
        match requested.get_mut(&item.path) {
            Some(known) => known.add(item),
            None => drop(requested.insert(item.path.clone(), item)),
        }
    }
    for item in requested.into_values() {
        by_hand(world, &mut drafts, item, false);
    }
    let overlay = Overlay::new(world.scope, world.vault.property_types());
    let mut prepared = PreparedRules::new(world, &overlay, request.rules);
    let (within, only) = (request.within.as_ref(), request.only);
    let looked_at = evaluate_rules(world, &mut prepared, &overlay, within, only, &mut drafts)?;
    let mut drafts: Vec<Draft> = drafts.into_values().collect();
    limit(world, &drafts)?;
    drafts.sort_by(|a, b| tree_order(a.path.as_str(), b.path.as_str()));
    let (rules, faults) = prepared.results();
    for draft in &mut drafts {
        withdrawn(world)?;
        if let Some(file) = draft.file {
            overlay.show_only(Some(file));
            draft.item.why = prepared.evaluate(file, Purpose::Explain)?.traces;
            overlay.forget(file);
        }
        draft.check_file(world.vault);
    }
    {
        let catalogue = world.vault.catalogue();
        drafts.iter_mut().for_each(|draft| draft.check_source(&catalogue));
    }
    let links = place(world, &mut drafts)?;
    settle::check(world, &mut prepared, &overlay, &mut drafts)?;
    let mut items = finish(drafts);
    emptied::assign(world, request.rules, &mut items);
    Ok(Plan {
        items,
        rules: [joined.rules, rules].concat(),
        faults: [joined.faults, faults].concat(),
        looked_at: looked_at.max(joined.looked_at),
        links,
    })
}

/// The trace of each rule for a note, in order of evaluation, whether or not anything happens to it.
pub fn why(
    world: &World<'_>,
    rules: &[Rule],
    path: &VaultPath,
) -> Result<Option<Vec<RuleResult>>, PlanError> {
    let overlay = Overlay::new(world.scope, world.vault.property_types());
    let Some(file) = world.snapshot.file(path) else { return Ok(None) };
    PreparedRules::new(world, &overlay, rules)
        .evaluate(file, Purpose::Explain)
        .map(|answer| Some(answer.traces))
}

/// Evaluates the rules for all files without an item, and adds items. Returns the number of files examined.
fn evaluate_rules(
    world: &World<'_>,
    prepared: &mut PreparedRules<'_>,
    overlay: &Overlay<'_>,
    within: Option<&VaultPath>,
    only: Option<&HashSet<VaultPath>>,
    drafts: &mut BTreeMap<String, Draft>,
) -> Result<usize, PlanError> {
    let files = match only {
        Some(only) => prepared.existing(only),
        None => prepared.files(within),
    };
    for file in &files {
        let path = world.snapshot.path(*file);
        if drafts.contains_key(&*path) {
            continue;
        }
        overlay.show_only(Some(*file));
        let answer = prepared.evaluate(*file, Purpose::Plan)?;
        overlay.forget(*file);
        if let Some(draft) = answer.draft.filter(Draft::wants_anything) {
            let draft = Draft { file: Some(*file), took: answer.took, ..draft };
            drafts.insert(path.to_string(), draft);
        }
    }
    for created in prepared.created() {
        drafts.entry(created.item.path.clone()).or_insert(created);
    }
    Ok(match (within, only) {
        (Some(_), _) | (_, Some(_)) => files.len(),
        (None, None) => world.snapshot.files().count(),
    })
}

/// Adds an item of the request or of a joined plan.
fn by_hand(world: &World<'_>, drafts: &mut BTreeMap<String, Draft>, item: Item, is_joined: bool) {
    let on_conflict = world.settings.on_conflict;
    let mut draft = match VaultPath::from_disk(&item.path) {
        Some(path) => Draft::new(path, on_conflict),
        None => {
            let mut draft = Draft::new(VaultPath::root(), on_conflict);
            draft.item.path.clone_from(&item.path);
            draft.block(ProblemKind::InvalidPath, "no file can have this path");
            draft
        }
    };
    draft.by = if is_joined { By::JoinedPlan } else { By::Hand };
    let (path, to) = (item.path.clone(), item.to.clone());
    let mut problems = std::mem::take(&mut draft.item.problems);
    if is_joined {
        // Traces are not computed again.
        problems.extend(item.problems.iter().filter(|problem| is_found_by_rules(problem)).cloned());
        if item.problems.iter().any(|problem| problem.kind == ProblemKind::Taken && problem.blocks)
        {
            draft.on_conflict = OnConflict::Ask;
        }
    }
    draft.item = Item { problems, revision: None, to: None, ..item };
    if !is_joined {
        draft.item.rules.clear();
        draft.item.once.clear();
        draft.item.why.clear();
    }
    if !draft.item.is_blocked() {
        let there = world.snapshot.at(draft.path.as_str());
        if !draft.item.create && there.is_none() {
            draft.block(ProblemKind::Missing, "there is no such file");
        }
        draft.wanted = to.as_deref().filter(|to| *to != path).and_then(|to| {
            let parsed = VaultPath::from_disk(to).or_else(|| world.vault.parse(to).ok());
            if parsed.is_none() {
                let fault = world.vault.parse(to).err();
                let message = fault
                    .map_or_else(|| format!("`{to}` is not a path"), |fault| fault.to_string());
                draft.block(ProblemKind::InvalidPath, message);
            }
            // A name without an extension keeps that of the file.
            parsed.map(|to| match (to.extension(), draft.path.extension()) {
                (None, Some(extension)) => {
                    VaultPath::from_disk(&format!("{}.{extension}", to.as_str())).unwrap_or(to)
                }
                _ => to,
            })
        });
    }
    drafts.insert(draft.item.path.clone(), draft);
}

/// Whether a problem of a joined plan's item was found by rules.
fn is_found_by_rules(problem: &Problem) -> bool {
    match problem.kind {
        ProblemKind::NothingToInsert
        | ProblemKind::NameChanged
        | ProblemKind::NotApplicable
        | ProblemKind::Unsettled => true,
        ProblemKind::Taken => !problem.blocks,
        _ => false,
    }
}

/// Checks the limit of items.
fn limit(world: &World<'_>, drafts: &[Draft]) -> Result<(), PlanError> {
    let (count, most) = (drafts.len(), world.settings.max_items);
    if count <= most {
        return Ok(());
    }
    let mut folders: HashMap<String, usize> = HashMap::new();
    for draft in drafts {
        let folder = draft.path.parent().unwrap_or_else(VaultPath::root);
        *folders.entry(folder.to_string()).or_default() += 1;
    }
    let mut largest: Vec<(String, usize)> = folders.into_iter().collect();
    largest.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    largest.truncate(3);
    Err(PlanError::TooMany { count, most, largest })
}

fn withdrawn(world: &World<'_>) -> Result<(), PlanError> {
    if world.cancel.is_cancelled() { Err(PlanError::Cancelled) } else { Ok(()) }
}

/// Assigns paths and computes link updates, again while files turn out to be blocked.
fn place(world: &World<'_>, drafts: &mut [Draft]) -> Result<Following, PlanError> {
    let mut following = Following::default();
    for _ in 0..MAX_ROUNDS {
        withdrawn(world)?;
        assign_paths(world, drafts)?;
        let blocked =
            |drafts: &[Draft]| drafts.iter().filter(|draft| draft.item.is_blocked()).count();
        let before = blocked(drafts);
        for draft in drafts.iter_mut() {
            draft.check_target(world.vault);
        }
        if let Some(reason) = applying::exchange_obstacle(world.vault) {
            for at in circling(drafts) {
                drafts[at].block(ProblemKind::Taken, reason.clone());
            }
        }
        if blocked(drafts) > before {
            continue;
        }
        let (found, is_blocked) = linked::check(world, drafts)?;
        following = found;
        if !is_blocked {
            break;
        }
    }
    Ok(following)
}

/// The indices of items in cycles.
fn circling(drafts: &[Draft]) -> Vec<usize> {
    let moves = |(at, draft): (usize, &Draft)| {
        let to = draft.item.to.as_deref().filter(|_| !draft.item.is_blocked())?;
        Some((at, (draft.path.clone(), VaultPath::from_disk(to)?)))
    };
    let (places, moves): (Vec<usize>, Vec<_>) = drafts.iter().enumerate().filter_map(moves).unzip();
    order::circling(&moves).into_iter().map(|at| places[at]).collect()
}

fn assign_paths(world: &World<'_>, drafts: &mut [Draft]) -> Result<(), PlanError> {
    // Items in the request and those of a joined plan precede those of rules; then by path.
    let mut requests: Vec<(usize, names::PathRequest)> = drafts
        .iter()
        .enumerate()
        .filter_map(|(at, draft)| Some((at, draft.path_request()?)))
        .collect();
    requests.sort_by_key(|(at, _)| drafts[*at].by);
    let wanted: Vec<names::PathRequest> =
        requests.iter().map(|(_, request)| request.clone()).collect();
    let paths = names::assign_paths(
        &world.vault.catalogue(),
        world.vault.view(),
        &world.settings.suffix,
        &wanted,
    );
    let paths = paths.map_err(|(at, obstacle)| PlanError::Taken {
        path: drafts[requests[at].0].item.path.clone(),
        reason: obstacle.to_string(),
    })?;
    for ((at, _), path) in requests.iter().zip(paths) {
        drafts[*at].assign(path);
    }
    Ok(())
}

/// The items of a plan: drafts with an effect or a problem, numbered by path.
fn finish(mut drafts: Vec<Draft>) -> Vec<Item> {
    for draft in &mut drafts {
        if let Some(obstacle) = draft.numbered.take().filter(|_| !draft.item.is_blocked()) {
            let message = format!("it gets another name: {obstacle}");
            draft.add(Problem::warning(ProblemKind::Taken, message));
        }
    }
    let mut items: Vec<Item> = drafts
        .into_iter()
        .filter(|draft| draft.item.does_anything() || !draft.item.problems.is_empty())
        // A rule does not create a note where a file will be.
        .filter(|draft| draft.by != By::Rule || !draft.item.create || !draft.item.is_blocked())
        .map(|draft| Item { risk: draft.risk(), ..draft.item })
        .collect();
    items.sort_by(|a, b| tree_order(&a.path, &b.path));
    for (id, item) in (1..).zip(&mut items) {
        item.id = id;
        item.problems.sort_by(|a, b| (a.kind as u8, &a.message).cmp(&(b.kind as u8, &b.message)));
    }
    items
}
