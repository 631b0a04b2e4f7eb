//! A note, or the list of all files, at an earlier moment; and the diff of a note between two moments.

use chrono::{DateTime, Local, Utc};

use super::diff::{AROUND, counted};
use crate::config::quoting::quoted;
use crate::journal::{
    AsOf, ChangeSetId, Content, Gap, Journal, Moment, PastState, PointInTime, TreeEntry,
};
use crate::note::diff::unified;
use crate::note::path::VaultPath;
use crate::protocol::as_of::{AsOfParams, AsOfResult, At, EntryThen, TreeEntryThen, Unsure};
use crate::protocol::diff::{DiffChange, DiffParams, DiffResult};
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::tools::{Context, time_text};
use crate::vault::{self, Want};

/// Paths that an error names.
const NAMED: usize = 5;

/// Answers the request in about `most` bytes, but with at least one entry of a folder.
///
/// # Errors
/// Kind `not_found`: nothing had this name, or there is no such change set. Kind `invalid_params`:
/// no time, no path. Kind `failed`: the journal or the file cannot be read.
pub fn as_of(context: &Context, params: &AsOfParams, most: u64) -> Result<AsOfResult> {
    let journal = &context.journal;
    let moment = moment(journal, &params.at)?;
    let result = AsOfResult {
        time: local(moment.time()),
        change_set: moment.change_set.map(|set| set.0),
        kind: EntryThen::Folder,
        ..AsOfResult::default()
    };
    let requested = params.path.as_deref().unwrap_or_default().trim();
    if requested.is_empty() || requested == "/" {
        return folder(journal, &moment, &VaultPath::root(), params, most, result);
    }
    let found = find(context, requested, &moment)?;
    let (path, now) = (found.path.as_str().to_owned(), found.now);
    let result = AsOfResult {
        path,
        now: now.map(|now| now.as_str().to_owned()),
        left_by: found.left_by.map(|set| set.0),
        unsure: found.gap.map(unsure),
        ..result
    };
    Ok(match &found.was {
        PastState::Folder => return folder(journal, &moment, &found.path, params, most, result),
        PastState::File(content) => {
            let (text, reason) = match text(journal, content, most)? {
                Ok(text) => (Some(text), None),
                Err(reason) => (None, Some(reason)),
            };
            AsOfResult { kind: EntryThen::File, text, reason, ..result }
        }
        PastState::Other | PastState::Nothing => AsOfResult { kind: EntryThen::Other, ..result },
    })
}

/// The diff of a note between two moments.
pub fn between(
    context: &Context,
    requested: &str,
    params: &DiffParams,
    most: u64,
) -> Result<DiffResult> {
    let journal = &context.journal;
    let from = params.from.as_ref().ok_or_else(|| {
        ErrorObject::new(Kind::InvalidParams, "name the earlier moment")
            .hint("`from` is a time or a change set")
    })?;
    let (from, to) =
        (moment(journal, from)?, moment(journal, &params.to.clone().unwrap_or_default())?);
    let (from, to) = if from.time() <= to.time() { (from, to) } else { (to, from) };
    let (before, after) = match find(context, requested, &to) {
        Ok(after) => {
            let path = journal.earlier_path(&after.path, &to, &from)?;
            (journal.as_of(&path, &from)?, after)
        }
        // It was deleted between the two moments.
        Err(error) if error.data.kind == Kind::NotFound => {
            let before = find(context, requested, &from)?;
            let gone = AsOf { was: PastState::Nothing, gap: None, ..before.clone() };
            (before, gone)
        }
        Err(error) => return Err(error),
    };
    let side = |one: &AsOf| match &one.was {
        PastState::File(content) => text(journal, content, most / 2),
        PastState::Nothing => Ok(Ok(String::new())),
        PastState::Folder | PastState::Other => Ok(Err("it is not a file".to_owned())),
    };
    let reasons = [&before, &after].into_iter().filter_map(|one| Some(unsure(one.gap?).said));
    let mut reasons: Vec<String> = reasons.collect();
    let diff = match (side(&before)?, side(&after)?) {
        (Ok(old), Ok(new)) => Some(unified(old.as_bytes(), new.as_bytes(), after.path.as_str())),
        (Err(reason), _) | (_, Err(reason)) => {
            reasons.push(reason);
            None
        }
    };
    let (added, removed) = diff.as_deref().map_or((0, 0), counted);
    let action = match (&before.was, &after.was) {
        (PastState::Nothing, _) => "created",
        (_, PastState::Nothing) => "deleted",
        _ if before.path != after.path => "moved",
        _ => "modified",
    };
    let title = format!("`{}` from {} to {}", after.path, local(from.time()), local(to.time()));
    let change = DiffChange {
        id: "1".to_owned(),
        action: action.to_owned(),
        path: after.path.as_str().to_owned(),
        from: (before.path != after.path).then(|| before.path.as_str().to_owned()),
        diff: diff.filter(|diff| !diff.is_empty()),
        reason: (!reasons.is_empty()).then(|| reasons.join("; ")),
        added,
        removed,
        ..DiffChange::default()
    };
    Ok(DiffResult { title, changes: vec![change], total: 1, ..DiffResult::default() })
}

fn moment(journal: &Journal, at: &At) -> Result<Moment> {
    let point = match (at.change_set, at.time.as_deref()) {
        (Some(_), Some(_)) => {
            return Err(ErrorObject::new(
                Kind::InvalidParams,
                "name a time or a change set, not both",
            ));
        }
        (Some(set), None) if at.before => PointInTime::Before(ChangeSetId(set)),
        (Some(set), None) => PointInTime::After(ChangeSetId(set)),
        (None, Some(text)) => {
            let time = time_text::parse(text, Local::now()).map_err(|error| {
                let object = ErrorObject::new(Kind::InvalidParams, error.message);
                error.hint.into_iter().fold(object, ErrorObject::hint)
            })?;
            PointInTime::Time(time.with_timezone(&Utc))
        }
        (None, None) => PointInTime::Now,
    };
    journal.moment(point)?.ok_or_else(|| {
        let set = at.change_set.unwrap_or_default();
        ErrorObject::new(Kind::NotFound, format!("there is no change set {set}"))
            .hint("`steward log` lists the change sets")
    })
}

/// The file with this name at that moment: by its path then, by its present path, or by a name that
/// only one file had.
fn find(context: &Context, requested: &str, moment: &Moment) -> Result<AsOf> {
    let journal = &context.journal;
    let path = context.vault.parse(requested).map_err(|error| {
        let object = ErrorObject::new(Kind::InvalidParams, error.to_string());
        error.hint().into_iter().fold(object, ErrorObject::hint)
    })?;
    let at = |path: &VaultPath| {
        journal.as_of(&as_spelled(context, path), moment).map_err(ErrorObject::from)
    };
    let mut asked_at = at(&path)?;
    if asked_at.was != PastState::Nothing {
        return Ok(asked_at);
    }
    if let Some(note) = VaultPath::from_disk(&format!("{path}.md")) {
        let found = at(&note)?;
        if found.was != PastState::Nothing {
            return Ok(found);
        }
        asked_at.gap = asked_at.gap.or(found.gap);
    }
    if let Some(now) = now_called(context, requested, &path) {
        let present = journal.moment(PointInTime::Now)?;
        let then = match present {
            Some(present) => journal.earlier_path(&now, &present, moment),
            None => Ok(now.clone()),
        };
        let found = at(&then?)?;
        if found.was != PastState::Nothing && found.now.as_ref() == Some(&now) {
            return Ok(found);
        }
        asked_at.gap = asked_at.gap.or(found.gap);
    }
    let key = path.fold_key();
    let tree = journal.tree_at(moment)?;
    let mut named: Vec<VaultPath> = tree
        .iter()
        .filter(|(_, entry)| entry.kind == vault::Kind::File)
        .filter_map(|(path, _)| VaultPath::from_disk(path))
        .filter(|one| {
            let whole = one.fold_key();
            let ends = |key: &str| {
                whole.strip_suffix(key).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
            };
            ends(&key) || ends(&format!("{key}.md"))
        })
        .collect();
    match named.len() {
        0 => {}
        1 => return at(&named.remove(0)),
        count => {
            let names: Vec<String> =
                named.iter().take(NAMED).map(|path| format!("`{path}`")).collect();
            let message = format!("{count} files were called `{requested}` then");
            return Err(ErrorObject::new(Kind::InvalidParams, message)
                .hint(format!("name one by its path: {}", names.join(", "))));
        }
    }
    let time = local(moment.time());
    let object =
        ErrorObject::new(Kind::NotFound, format!("`{requested}` was not in the vault at {time}"));
    Err(match asked_at.gap {
        Some(gap) => object.hint(unsure(gap).said),
        None => object.hint(format!("`steward log {}` shows when it changed", quoted(requested))),
    })
}

/// The path in the present file's spelling, if the file system ignores case: the journal uses exact
/// names.
fn as_spelled(context: &Context, path: &VaultPath) -> VaultPath {
    let vault = &context.vault;
    let is_spelled_so = vault.catalogue().get(path.as_str()).is_some();
    if is_spelled_so || vault.stat(path).is_err() {
        return path.clone();
    }
    match vault.resolve(path.as_str(), Want::Entry) {
        Ok(found) if found.path.fold_key() == path.fold_key() => found.path,
        _ => path.clone(),
    }
}

/// The file with this name now: by its path, or by a unique name.
fn now_called(context: &Context, requested: &str, path: &VaultPath) -> Option<VaultPath> {
    if let Ok(found) = context.vault.resolve(requested, Want::Entry) {
        return Some(found.path);
    }
    let name = path.fold_key();
    let catalogue = context.vault.catalogue();
    let mut named = catalogue.named(&format!("{name}.md"));
    named.extend(catalogue.named(&name));
    match named.as_slice() {
        [one] => Some(one.path().to_path()),
        _ => None,
    }
}

/// A text, or why there is none.
fn text(journal: &Journal, content: &Content, most: u64) -> Result<Result<String, String>> {
    let bytes = journal.content(content, most)?;
    Ok(bytes.and_then(|bytes| match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => Err("it is not text".to_owned()),
    }))
}

fn folder(
    journal: &Journal,
    moment: &Moment,
    folder: &VaultPath,
    params: &AsOfParams,
    most: u64,
    result: AsOfResult,
) -> Result<AsOfResult> {
    let tree = journal.tree_at(moment)?;
    let within = |path: &str| {
        VaultPath::from_disk(path).is_some_and(|path| path != *folder && path.is_within(folder))
    };
    let all: Vec<(&String, &TreeEntry)> = tree.iter().filter(|(path, _)| within(path)).collect();
    let first = usize::try_from(params.first.unwrap_or(1).max(1)).unwrap_or(usize::MAX) - 1;
    let (mut room, mut entries) = (most, Vec::new());
    for (path, entry) in all.iter().skip(first) {
        let size = (2 * path.len() + AROUND / 4) as u64;
        if size > room && !entries.is_empty() {
            break;
        }
        room = room.saturating_sub(size);
        let kind = match entry.kind {
            vault::Kind::File => EntryThen::File,
            vault::Kind::Folder => EntryThen::Folder,
            vault::Kind::Link | vault::Kind::Other => EntryThen::Other,
        };
        entries.push(TreeEntryThen { path: (*path).clone(), kind, unsure: entry.is_unsure });
    }
    let next = first.saturating_add(entries.len());
    Ok(AsOfResult {
        kind: EntryThen::Folder,
        total: Some(all.len() as u64),
        next: (next < all.len()).then_some(next as u64 + 1),
        entries,
        ..result
    })
}

fn unsure(gap: Gap) -> Unsure {
    let (from, to) = (gap.from.map(local), gap.to.map(local));
    let said = match (&from, &to) {
        (Some(from), Some(to)) => format!("changed outside the steward between {from} and {to}"),
        (Some(from), None) => format!("changed outside the steward at some time after {from}"),
        (None, Some(to)) => {
            format!("what it was before {to} is not recorded")
        }
        (None, None) => "nothing is recorded of it".to_owned(),
    };
    Unsure { said, from, to }
}

fn local(time: DateTime<Utc>) -> String {
    time.with_timezone(&Local).format("%Y-%m-%d %H:%M:%S").to_string()
}
