//! The changes of the vault, turn by turn, with their callers.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Local, SecondsFormat};

use crate::calls::Calls;
use crate::journal::{Action, ChangeSetId, ListedSet, Query, SetKind};
use crate::note::path::VaultPath;
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::protocol::timeline::{Actor, TimelineDay, TimelineParams, TimelineResult, TimelineSet};
use crate::store::audit::{AuditFilter, MadeBy};
use crate::tools::Context;
use crate::vault::Want;

/// Default and maximum number of change sets.
const LIMIT: u32 = 100;
const MAX_LIMIT: u32 = 500;

/// The number of paths named per change set.
const NAMED: usize = 3;

/// The change sets that match, newest first.
pub fn timeline(calls: &Calls, params: &TimelineParams) -> Result<TimelineResult> {
    let context = calls.context();
    // Reading writes pending rows first.
    calls.audited(&AuditFilter { limit: 1, ..AuditFilter::default() })?;
    let store = context.journal.store();
    let limit = params.limit.unwrap_or(LIMIT).clamp(1, MAX_LIMIT) as usize;
    let with_tool: Option<BTreeSet<i64>> = match params.tool.as_deref() {
        Some(tool) => Some(store.audit.sets_of_tool(tool)?),
        None => None,
    };
    let mut query = Query {
        path: params.path.as_deref().map(|path| requested_path(context, path)).transpose()?,
        before: params.before.map(ChangeSetId),
        limit: MAX_LIMIT as usize,
        ..Query::default()
    };
    let is_filtered = params.by.is_some() || params.tool.is_some();
    if !is_filtered {
        query.limit = limit + 1;
    }
    let mut sets = Vec::new();
    loop {
        let found = context.journal.history().change_sets(&query)?;
        let is_end = found.len() < query.limit;
        query.before = found.last().map(|oldest| oldest.id);
        let (first, last) = (found.last(), found.first());
        let made = match first.zip(last) {
            Some((first, last)) => {
                let range = (first.id.0.cast_signed(), last.id.0.cast_signed());
                store.audit.made_by(range)?
            }
            None => BTreeMap::new(),
        };
        for set in found {
            let number = set.id.0.cast_signed();
            if with_tool.as_ref().is_some_and(|wanted| !wanted.contains(&number)) {
                continue;
            }
            let timeline_set = timeline_set(&set, made.get(&number));
            if params.by.is_none_or(|by| by == timeline_set.by) {
                sets.push(timeline_set);
            }
        }
        if is_end || sets.len() > limit {
            break;
        }
    }
    let has_more = sets.len() > limit;
    sets.truncate(limit);
    let next = sets.last().map(|last| last.id).filter(|_| has_more);
    let days = match params.before {
        Some(_) => Vec::new(),
        None => days(&store.journal.changes.begin_times()?),
    };
    Ok(TimelineResult { sets, next, days })
}

fn timeline_set(set: &ListedSet, made: Option<&MadeBy>) -> TimelineSet {
    let scope = made.map(|made| made.scope.as_str()).unwrap_or_default();
    let by = match (scope, &set.conversation) {
        ("voice", _) => Actor::Voice,
        ("rule", _) => Actor::Rule,
        ("mcp", _) => Actor::Mcp,
        ("acp", None) => Actor::Acp,
        ("client", None) => Actor::Client,
        (_, Some(_)) => Actor::Agent,
        _ if set.caller.starts_with("rule ") => Actor::Rule,
        _ => Actor::Person,
    };
    let mut paths: Vec<String> = Vec::new();
    for change in &set.changes {
        let path = change.path.as_str();
        let is_folder = matches!(change.action, Action::FolderMade | Action::FolderRemoved);
        if paths.len() < NAMED && !is_folder && !paths.iter().any(|known| known == path) {
            paths.push(path.to_owned());
        }
    }
    TimelineSet {
        id: set.id.0,
        time: set.time.to_rfc3339_opts(SecondsFormat::Secs, true),
        title: set.title.clone(),
        by,
        caller: set.caller.clone(),
        session_id: set.conversation.clone(),
        undoes: match set.kind {
            SetKind::Undo(target) => Some(target.to_string()),
            SetKind::Change | SetKind::Restore => None,
        },
        undone: set.is_undone(),
        total: set.changes.len() as u64,
        paths,
        tools: made.map(|made| made.tools.iter().cloned().collect()).unwrap_or_default(),
    }
}

/// Groups change sets by the day on which they began.
fn days(begun: &[(i64, i64)]) -> Vec<TimelineDay> {
    let mut days: BTreeMap<String, TimelineDay> = BTreeMap::new();
    for (set, time) in begun {
        let Some(time) = DateTime::from_timestamp_millis(*time) else { continue };
        let day = time.with_timezone(&Local).format("%Y-%m-%d").to_string();
        let last = set.cast_unsigned();
        let known = days.entry(day.clone()).or_insert(TimelineDay { day, count: 0, last });
        known.count += 1;
        known.last = known.last.max(last);
    }
    days.into_values().collect()
}

/// The requested path: resolved as tools do if something exists there, else as written.
fn requested_path(context: &Context, path: &str) -> Result<VaultPath> {
    match context.vault.resolve(path, Want::Entry) {
        Ok(found) => Ok(found.path),
        Err(_) => context
            .vault
            .parse(path)
            .map_err(|error| ErrorObject::new(Kind::InvalidParams, error.to_string())),
    }
}
