//! Runs enabled rules automatically: on changed files after a quiet time, and on schedules.
//!
//! It receives the vault's changes, plans the rules that a person enabled, and applies the plan through `calls` as a
//! caller of kind `rule`. Changes that need approval wait as a plan. Its state is in the journal and the store, so a
//! restart neither loses nor repeats work.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;

use crate::calls::{Answerer, Calls, Cancel, Decision, Outcome, Request};
use crate::journal::{ChangeSetId, Query};
use crate::locks::lock;
use crate::methods::host::HostDoor;
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::organize::plan::{Item, Plan};
use crate::organize::rule::Trigger;
use crate::organize::trigger::{self, BURST, MAX_A_DAY, Pending};
use crate::policy::{Caller, Mode, Scope};
use crate::store::StoreError;
use crate::store::enabled_rules::{EnabledRules, RuleHit};
use crate::tools::enabled::{self, Enabled, RuleStatus};
use crate::tools::{ApplyPlan, Context, Tool as _, ToolError};
use crate::vault::{ChangeKind, Kind, VaultChange};

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

/// The longest interval between checks while rules are enabled, in milliseconds: settings, modes and clocks change.
const MAX_CHECK_INTERVAL: i64 = 60_000;

/// The interval in milliseconds at which the time of processed changes is stored if there was nothing to do.
const NOTE: i64 = 600_000;

/// The caller name of plans that wait for a person.
const PLANNER: &str = "rules";

/// Runs enabled rules automatically.
pub struct Organizer {
    calls: Calls,
    host: Arc<HostDoor>,
    state: Mutex<OrganizerState>,
    wake: Notify,
}

#[derive(Default)]
struct OrganizerState {
    /// Whether any rule is enabled. Otherwise changes are ignored.
    is_active: bool,
    /// Whether the settings or the mode prevent rules from running.
    is_held: bool,
    pending: Pending,
    /// Moved folders: all files in them count as changed.
    folders: Vec<(VaultPath, i64)>,
    /// Times of recent changes by rules.
    recent: Vec<i64>,
    /// Files whose plan was stale once.
    retried: HashSet<VaultPath>,
    /// When the time of processed changes was last stored.
    noted: i64,
}

struct Round<'a> {
    /// The vault in the view of rules.
    context: &'a Context,
    rules: &'a [&'a Enabled],
    plan: &'a Plan,
    now: i64,
}

impl Organizer {
    /// An organizer without any recorded changes.
    pub fn new(calls: Calls, host: Arc<HostDoor>) -> Self {
        Self { calls, host, state: Mutex::default(), wake: Notify::new() }
    }

    /// Checks again at once: rules, settings or pending plans may have changed.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Runs rounds whenever one may be due, until the task is aborted.
    pub async fn run(self: Arc<Self>) {
        loop {
            let now = || chrono::Utc::now().timestamp_millis();
            let it = Arc::clone(&self);
            let Ok(next) = tokio::task::spawn_blocking(move || it.run_due(now())).await else {
                tracing::error!("rules no longer run automatically: a bug in the steward");
                return;
            };
            match next.map(|next| (next - now()).clamp(20, MAX_CHECK_INTERVAL).unsigned_abs()) {
                None => self.wake.notified().await,
                Some(wait) => {
                    let sleep = tokio::time::sleep(Duration::from_millis(wait));
                    tokio::select! {
                        () = sleep => {}
                        () = self.wake.notified() => {}
                    }
                }
            }
        }
    }

    pub fn on_change(&self, change: &VaultChange, now: i64) {
        let mut state = lock(&self.state);
        if !state.is_active {
            return;
        }
        let was_empty = state.pending.next(0, None).is_none() && state.folders.is_empty();
        if let ChangeKind::Renamed { from } = &change.kind {
            state.pending.left(from);
        }
        match (&change.kind, change.entry) {
            (ChangeKind::Removed, _) => state.pending.left(&change.path),
            (ChangeKind::Renamed { .. }, Kind::Folder) => {
                state.folders.push((change.path.clone(), now));
            }
            (_, Kind::File) => state.pending.changed(change.path.clone(), now),
            _ => return,
        }
        drop(state);
        if was_empty {
            self.wake();
        }
    }

    /// Runs the rules that are due at `now`, in milliseconds since the Unix epoch, on a thread that may block. Returns
    /// the time of the next check, or `None` if no rule is enabled.
    pub fn run_due(&self, now: i64) -> Option<i64> {
        self.looked(now).unwrap_or_else(|error| {
            tracing::error!(error = error.message, "rules did not run");
            Some(now + MAX_CHECK_INTERVAL)
        })
    }

    fn looked(&self, now: i64) -> Result<Option<i64>, ToolError> {
        let mut context = self.calls.context_for(Scope::Rule);
        context.origin.caller = PLANNER.to_owned();
        let settings = context.settings.organize.clone();
        let store = context.journal.store().enabled_rules.clone();
        let rows = store.list().map_err(store_failure)?;
        let (mode, _) = self.calls.mode().map_err(store_failure)?;
        if rows.is_empty() || !settings.automatic || mode == Mode::ReadOnly {
            let is_time = {
                let mut state = lock(&self.state);
                let was_held = std::mem::replace(&mut state.is_held, !rows.is_empty());
                state.is_active = false;
                state.pending.clear();
                state.folders.clear();
                !was_held || now - state.noted >= NOTE
            };
            if rows.is_empty() {
                return Ok(None);
            }
            // Changes during this time are not processed later.
            self.store_processed(&store, now, is_time)?;
            return Ok(Some(now + MAX_CHECK_INTERVAL));
        }
        let since = if std::mem::take(&mut lock(&self.state).is_held) {
            now
        } else {
            rows.iter().map(|row| row.since).min().unwrap_or(now)
        };
        self.begin(&context, since, now);
        let quiet = i64::try_from(settings.quiet_seconds).unwrap_or(i64::MAX).saturating_mul(1000);
        let open = self.host.known().flatten();
        let due: HashSet<VaultPath> = {
            let state = lock(&self.state);
            state.pending.due(now, quiet, open.as_deref()).into_iter().collect()
        };
        let zone = context.clock.zone();
        let may_be_scheduled = rows.iter().any(|row| row.last_run.unwrap_or(row.enabled) < now);
        let all = if due.is_empty() && !may_be_scheduled {
            Vec::new()
        } else {
            enabled::all(&self.calls.context_for(Scope::Person))?
        };
        let mut acted = false;
        for one in &all {
            let Some((_, Trigger::Every { seconds, at })) = one.runs() else { continue };
            let time = trigger::last_time(seconds, at, one.row.enabled, now, &*zone);
            let Some(time) = time.filter(|time| one.row.last_run.is_none_or(|last| last < *time))
            else {
                continue;
            };
            // Stored before it runs, so that it never runs twice.
            store.set_last_run(one.row.id, time).map_err(store_failure)?;
            let rules = [one];
            let plan = enabled::plan(&context, &rules, None)?;
            let round = Round { context: &context, rules: &rules, plan: &plan, now };
            let items = self.without_settled(&round, &store, |_, _| true)?;
            acted |= self.apply_or_wait(&round, &store, items, mode == Mode::Ask)?;
        }
        let on_change: Vec<&Enabled> =
            all.iter().filter(|one| matches!(one.runs(), Some((_, Trigger::Change)))).collect();
        if !due.is_empty() && !on_change.is_empty() {
            acted |= self.run_on_changed(&context, &store, &on_change, due, now, quiet, mode)?;
        } else {
            lock(&self.state).pending.handled(&due, now.saturating_sub(quiet));
        }
        let is_time = now - lock(&self.state).noted >= NOTE;
        self.store_processed(&store, now, acted || is_time)?;
        let next = lock(&self.state).pending.next(quiet, open.as_deref());
        Ok(Some(next.unwrap_or(i64::MAX).min(now + MAX_CHECK_INTERVAL)))
    }

    /// Starts recording changes, and collects those since the stored time of processed changes.
    fn begin(&self, context: &Context, since: i64, now: i64) {
        let mut state = lock(&self.state);
        let folders = std::mem::take(&mut state.folders);
        let was_active = std::mem::replace(&mut state.is_active, true);
        drop(state);
        if was_active && folders.is_empty() {
            return;
        }
        let mut found: Vec<(VaultPath, i64)> = Vec::new();
        {
            let catalogue = context.vault.catalogue();
            for entry in catalogue.recent().filter(|entry| entry.kind == Kind::File) {
                let path = entry.path();
                let moved = folders.iter().find(|(folder, _)| {
                    path.as_str()
                        .strip_prefix(folder.as_str())
                        .is_some_and(|it| it.starts_with('/'))
                });
                let modified = entry.modified.div_euclid(1_000_000);
                let at = match moved {
                    Some((_, at)) => *at,
                    None if !was_active && modified > since => modified.min(now),
                    None => continue,
                };
                found.extend(VaultPath::from_disk(path.as_str()).map(|path| (path, at)));
            }
        }
        if !was_active {
            let moved = moved_in(context, since).into_iter();
            found.extend(moved.map(|(path, at)| (path, at.min(now))));
        }
        let mut state = lock(&self.state);
        found.into_iter().for_each(|(path, at)| state.pending.changed(path, at));
    }

    /// Stores the time of processed changes, where a restart continues.
    fn store_processed(
        &self,
        store: &EnabledRules,
        now: i64,
        is_due: bool,
    ) -> Result<(), ToolError> {
        if !is_due {
            return Ok(());
        }
        let until = {
            let mut state = lock(&self.state);
            state.noted = now;
            state.pending.first().map_or(now, |first| (first - 1).min(now))
        };
        store.set_processed(until).map_err(store_failure)
    }

    #[expect(clippy::too_many_arguments, reason = "all that one look knows")]
    fn run_on_changed(
        &self,
        context: &Context,
        store: &EnabledRules,
        rules: &[&Enabled],
        due: HashSet<VaultPath>,
        now: i64,
        quiet: i64,
        mode: Mode,
    ) -> Result<bool, ToolError> {
        let changed = lock(&self.state).pending.all().clone();
        let only: HashSet<VaultPath> = changed.keys().cloned().collect();
        let plan = enabled::plan(context, rules, Some(&only))?;
        let round = Round { context, rules, plan: &plan, now };
        let at = |item: &Item| {
            VaultPath::from_disk(&item.path).and_then(|path| changed.get(&path).copied())
        };
        // Changes before a rule was enabled do not concern it.
        let items = self.without_settled(&round, store, |item, rules| {
            let at = at(item);
            at.is_none_or(|at| rules.iter().all(|one| one.row.enabled < at))
        })?;
        let recent = {
            let mut state = lock(&self.state);
            state.recent.retain(|at| now - at < quiet.max(1));
            state.recent.len()
        };
        let is_burst = items.len() + recent > BURST;
        let is_due = |item: &Item| {
            item.create || VaultPath::from_disk(&item.path).is_some_and(|path| due.contains(&path))
        };
        // A sync is in progress.
        if is_burst && !items.iter().all(is_due) {
            return Ok(false);
        }
        lock(&self.state).pending.handled(&due, now.saturating_sub(quiet));
        let items = items.into_iter().filter(is_due).collect();
        self.apply_or_wait(&round, store, items, is_burst || mode == Mode::Ask)
    }

    /// The `wanted` items of a plan, without files that rules left in their present state and without undone changes.
    fn without_settled(
        &self,
        round: &Round<'_>,
        store: &EnabledRules,
        wanted: impl Fn(&Item, &[&Enabled]) -> bool,
    ) -> Result<Vec<Item>, ToolError> {
        let mut found = Vec::new();
        for item in &round.plan.items {
            let rules = of_item(round.rules, item);
            if rules.is_empty() || !wanted(item, &rules) || is_ours(round.context, store, item)? {
                continue;
            }
            let mut is_undone = false;
            for rule in &rules {
                is_undone |= was_undone(round.context, store, rule.row.id, item)?;
            }
            if !is_undone {
                found.push(item.clone());
            }
        }
        Ok(found)
    }

    /// Applies items, and adds the others to the plan that waits for a person; all of them if they `wait`. Returns whether
    /// anything was applied.
    fn apply_or_wait(
        &self,
        round: &Round<'_>,
        store: &EnabledRules,
        items: Vec<Item>,
        wait: bool,
    ) -> Result<bool, ToolError> {
        if items.is_empty() {
            return Ok(false);
        }
        let settings = &round.context.settings.organize;
        let day = store.hits_after(round.now - DAY).map_err(store_failure)?;
        let in_hour = day.iter().filter(|hit| hit.time > round.now - HOUR).count();
        let left = settings.auto_items.min(settings.auto_per_hour.saturating_sub(in_hour));
        let wait = wait || items.len() > left;
        let mut waiting = Vec::new();
        let mut groups: BTreeMap<Vec<String>, Vec<Item>> = BTreeMap::new();
        let mut stopped: HashSet<i64> = HashSet::new();
        for item in items {
            let rules = of_item(round.rules, &item);
            let asks = rules.iter().any(|one| one.status == RuleStatus::Ask);
            let trashes = item.trash && !rules.iter().all(|one| one.row.with_trash);
            if wait || asks || trashes || item.is_blocked() {
                waiting.push(item);
                continue;
            }
            if let Some(rule) = rules.iter().find(|one| is_too_often(round, &day, one, &item)) {
                if stopped.insert(rule.row.id) {
                    self.stop(round.context, rule, &item)?;
                }
                continue;
            }
            groups.entry(item.rules.clone()).or_default().push(item);
        }
        for items in groups.into_values() {
            let rules = of_item(round.rules, &items[0]);
            if rules.iter().any(|one| stopped.contains(&one.row.id)) {
                continue;
            }
            waiting.extend(self.apply(round, &rules, items)?);
        }
        if !waiting.is_empty() {
            wait_for_person(round, store, waiting)?;
        }
        Ok(true)
    }

    /// Applies items of one or more rules; returns those that need a person.
    fn apply(
        &self,
        round: &Round<'_>,
        rules: &[&Enabled],
        items: Vec<Item>,
    ) -> Result<Vec<Item>, ToolError> {
        let (plan, identity) =
            enabled::store_plan(round.context, rules, round.plan, items.clone(), None)?;
        let names: Vec<&str> = rules.iter().map(|one| &*one.row.name).collect();
        let request = Request {
            tool: ApplyPlan::NAME.to_owned(),
            arguments: json!({ "plan": plan, "identity": identity }),
            caller: Caller { scope: Scope::Rule, name: format!("rule {}", names.join(", ")) },
            rules: rules.iter().map(|one| one.row.id).collect(),
            ..Request::default()
        };
        let cancel = Cancel::default();
        let error = match self.calls.call(request, &cancel) {
            Outcome::Answered(Ok(_)) => {
                let mut state = lock(&self.state);
                state.recent.extend(items.iter().map(|_| round.now));
                // The same may happen after another edit on another day.
                let done = items.iter().filter_map(|item| VaultPath::from_disk(&item.path));
                done.for_each(|path| {
                    state.retried.remove(&path);
                });
                return Ok(Vec::new());
            }
            Outcome::Answered(Err(error)) => error,
            Outcome::Ask(question) => {
                let words = "it waits for a person as a plan".to_owned();
                let by = Answerer { words, ..Answerer::from(PLANNER) };
                drop(question.answer(Decision::Reject, by, &cancel));
                return Ok(items);
            }
        };
        tracing::info!(rules = names.join(", "), error = error.message, "rules changed nothing");
        if error.code != ErrorCode::StalePlan {
            return Ok(items);
        }
        // The file was just edited: retry later.
        let mut state = lock(&self.state);
        let mut left = Vec::new();
        for item in items {
            match VaultPath::from_disk(&item.path) {
                Some(path) if state.retried.insert(path.clone()) => {
                    state.pending.changed(path, round.now);
                }
                path => {
                    if let Some(path) = path {
                        state.retried.remove(&path);
                    }
                    left.push(item);
                }
            }
        }
        Ok(left)
    }

    /// Stops a rule whose changes another program keeps reverting.
    fn stop(&self, context: &Context, rule: &Enabled, item: &Item) -> Result<(), ToolError> {
        let reason = format!(
            "it would change `{}` a third time in a day, so something else changes it back",
            item.path
        );
        tracing::warn!(rule = rule.row.name, note = item.path, "a rule stopped: {reason}");
        enabled::stop(context, rule.row.id, &reason)
    }
}

/// Files that were moved after `since`, alone or with a folder, and have an older modification time; each with the time
/// of the move. None where the file system does not store it, as on Windows.
fn moved_in(context: &Context, since: i64) -> Vec<(VaultPath, i64)> {
    let milliseconds = |nanoseconds: i64| nanoseconds.div_euclid(1_000_000);
    let is_new = |nanoseconds: i64| milliseconds(nanoseconds) > since;
    let folder = |path: &str| path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let root = context.vault.stat(&VaultPath::root());
    let old: Vec<(VaultPath, Kind)> = {
        let catalogue = context.vault.catalogue();
        // A folder's time changes with its entries.
        let folders = catalogue.recent().filter(|entry| entry.kind == Kind::Folder);
        let mut changed: HashSet<String> = folders
            .filter(|entry| is_new(entry.modified))
            .map(|entry| entry.path().as_str().to_owned())
            .collect();
        if root.is_ok_and(|root| is_new(root.modified)) {
            changed.insert(String::new());
        }
        catalogue
            .recent()
            .filter(|entry| matches!(entry.kind, Kind::File | Kind::Folder))
            .filter(|entry| !is_new(entry.modified))
            .filter(|entry| changed.contains(&folder(entry.path().as_str())))
            .filter_map(|entry| Some((VaultPath::from_disk(entry.path().as_str())?, entry.kind)))
            .collect()
    };
    let mut found = Vec::new();
    for (path, kind) in old {
        let Ok(meta) = context.vault.stat(&path) else { continue };
        if !is_new(meta.changed) {
            continue;
        }
        let at = milliseconds(meta.changed);
        match kind {
            Kind::File => found.push((path, at)),
            _ => {
                let catalogue = context.vault.catalogue();
                let below = catalogue.within(&path).filter(|entry| entry.kind == Kind::File);
                let paths = below.filter_map(|entry| VaultPath::from_disk(entry.path().as_str()));
                found.extend(paths.map(|path| (path, at)));
            }
        }
    }
    found
}

/// The rules that took an item; `None` if one of them is not among these.
fn of_item<'r>(rules: &[&'r Enabled], item: &Item) -> Vec<&'r Enabled> {
    let find = |name: &String| rules.iter().find(|one| one.row.name == *name).copied();
    item.rules.iter().map(find).collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// Whether the file's present state is the result of automatic rules.
fn is_ours(context: &Context, store: &EnabledRules, item: &Item) -> Result<bool, ToolError> {
    let Some(path) = VaultPath::from_disk(&item.path) else { return Ok(false) };
    let query = Query { path: Some(path.clone()), limit: 1, ..Query::default() };
    let sets = context.journal.history().change_sets(&query)?;
    let Some(set) = sets.first() else { return Ok(false) };
    let Some(change) = set.changes.iter().rev().find(|change| change.path == path) else {
        return Ok(false);
    };
    if store.hits_of(set.id.0.cast_signed()).map_err(store_failure)?.is_empty() {
        return Ok(false);
    }
    Ok(match (change.after, &item.revision) {
        (Some(after), Some(now)) => after.to_string() == *now,
        // It was only moved: its content has not changed since.
        _ => {
            let modified = context.vault.catalogue().get(path.as_str()).map(|it| it.modified);
            let moved = set.time.timestamp_nanos_opt().unwrap_or(i64::MAX);
            modified.is_some_and(|modified| modified <= moved)
        }
    })
}

/// Whether a rule's change of a file was undone and the file is as before. Such a file is skipped.
fn was_undone(
    context: &Context,
    store: &EnabledRules,
    rule: i64,
    item: &Item,
) -> Result<bool, ToolError> {
    let Some(hit) = store.last_hit(rule, &item.path).map_err(store_failure)? else {
        return Ok(false);
    };
    if hit.revision != item.revision.clone().unwrap_or_default() {
        return Ok(false);
    }
    let set = ChangeSetId(hit.change_set.cast_unsigned());
    let set = context.journal.history().change_set(set)?;
    let change =
        set.and_then(|set| set.changes.into_iter().find(|change| change.id.number == hit.number));
    Ok(change.is_some_and(|change| change.undone_by.is_some()))
}

/// Whether a rule has reached its daily limit for this file.
fn is_too_often(round: &Round<'_>, day: &[RuleHit], rule: &Enabled, item: &Item) -> bool {
    let is_same = |hit: &&RuleHit| {
        let is_gone = || round.context.vault.catalogue().get(&hit.left_at).is_none();
        let is_text = item.revision.as_ref() == Some(&hit.revision);
        hit.rule == rule.row.id
            && (hit.left_at == item.path || hit.path == item.path && (is_text || is_gone()))
    };
    day.iter().filter(is_same).count() >= MAX_A_DAY
}

/// Adds items to the plan that waits for a person.
fn wait_for_person(
    round: &Round<'_>,
    store: &EnabledRules,
    mut items: Vec<Item>,
) -> Result<(), ToolError> {
    let names: HashSet<&String> = items.iter().flat_map(|item| &item.rules).collect();
    let rules: Vec<&Enabled> =
        round.rules.iter().copied().filter(|one| names.contains(&one.row.name)).collect();
    let before = rules.iter().filter_map(|one| one.row.waiting).max().map(i64::cast_unsigned);
    let there = before.and_then(|plan| enabled::waiting(round.context, plan));
    let before = before.filter(|_| there.is_some());
    let mut plan = round.plan.clone();
    if let Some(mut paths) = there {
        paths.extend(items.iter().filter_map(|item| VaultPath::from_disk(&item.path)));
        plan = enabled::plan(round.context, &rules, Some(&paths))?;
        items.clone_from(&plan.items);
    }
    let (plan, _) = enabled::store_plan(round.context, &rules, &plan, items, Some(before))?;
    for rule in rules {
        store.set_waiting(rule.row.id, Some(plan.cast_signed())).map_err(store_failure)?;
    }
    Ok(())
}

fn store_failure(error: StoreError) -> ToolError {
    let hint = error.hint();
    ToolError::new(ErrorCode::IoError, error.to_string(), hint)
}
