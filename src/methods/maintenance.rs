//! Maintenance of the trash and the journal, for clients and the command line.

use chrono::{Days, Utc};

use super::policy;
use crate::calls::Calls;
use crate::journal::{Empty, TrashItem, TrashPlace};
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::protocol::maintenance::{
    JournalGcParams, JournalGcResult, JournalVerifyResult, TrashEmptyParams, TrashEmptyResult,
};
use crate::tools::Context;

/// The minimum age in days of items that are removed without being named.
const OLD: u32 = 30;

/// Removes items from the trash permanently, or reports what it would remove.
///
/// # Errors
/// Kind `invalid_params`: an item is younger than 30 days and not named. Kind `failed`: a named
/// item is not in the trash, or is in the system's trash; the mode is `read-only`; the journal
/// fails.
pub fn empty_trash(calls: &Calls, params: &TrashEmptyParams) -> Result<TrashEmptyResult> {
    let journal = &calls.context().journal;
    if !params.dry_run {
        policy::may_change(calls)?;
    }
    let items = journal.trash().list()?;
    let what = selection(&items, params)?;
    if !params.dry_run {
        let emptied = journal.empty_trash(&what)?;
        if let Some(left) = emptied.left.first() {
            let rest = emptied.left.len() - 1;
            let more = if rest == 0 { String::new() } else { format!(" (and {rest} more)") };
            let removed = emptied.items.len();
            return Err(ErrorObject::new(Kind::Failed, format!("{left}{more}"))
                .hint(format!("{removed} others were removed")));
        }
        let items = emptied.items.into_iter().map(|item| item.id).collect();
        let (bytes, notes) = (emptied.bytes, emptied.notes);
        return Ok(TrashEmptyResult { items, bytes, removed: true, notes });
    }
    let fits = |item: &&TrashItem| match &what {
        Empty::Named(names) => names.iter().any(|name| item.is_called(name)),
        Empty::Older(time) => {
            matches!(item.place, TrashPlace::Local | TrashPlace::Kept)
                && item.deleted.is_some_and(|deleted| deleted < *time)
        }
    };
    let found: Vec<&TrashItem> = items.iter().filter(fits).collect();
    Ok(TrashEmptyResult {
        bytes: found.iter().map(|item| item.size).sum(),
        items: found.into_iter().map(|item| item.id.clone()).collect(),
        removed: false,
        notes: Vec::new(),
    })
}

fn selection(items: &[TrashItem], params: &TrashEmptyParams) -> Result<Empty> {
    if params.items.is_empty() {
        let days = params.older_than_days.unwrap_or(OLD);
        if days < OLD {
            let message = format!(
                "files deleted less than {OLD} days ago are not removed unless they are named"
            );
            return Err(ErrorObject::new(Kind::InvalidParams, message)
                .hint("name each thing as `steward trash list` does"));
        }
        let time = Utc::now().checked_sub_days(Days::new(days.into()));
        return Ok(Empty::Older(time.unwrap_or_default()));
    }
    for asked in &params.items {
        match items.iter().find(|item| item.is_called(asked)) {
            Some(item) if item.place != TrashPlace::System => {}
            Some(_) => {
                return Err(ErrorObject::new(
                    Kind::Failed,
                    format!("`{asked}` is in the system's trash"),
                )
                .hint("empty the system's trash with the file manager"));
            }
            None => {
                return Err(ErrorObject::new(
                    Kind::Failed,
                    format!("`{}` is not in the trash", asked.escape_debug()),
                )
                .hint("name things as `steward trash list` does"));
            }
        }
    }
    Ok(Empty::Named(params.items.clone()))
}

/// Checks every text that the journal stores.
pub fn verify_journal(context: &Context) -> Result<JournalVerifyResult> {
    let found = context.journal.texts().verify()?;
    Ok(JournalVerifyResult {
        sound: (found.texts - found.damaged.len().min(found.texts)) as u64,
        bytes: found.bytes,
        damaged: found.damaged.into_iter().map(|(hash, why)| format!("{hash}: {why}")).collect(),
        missing: found.missing,
        unused: found.orphans as u64,
    })
}

/// Deletes stored texts that are older than the settings allow, or reports their number.
pub fn free_journal(context: &Context, params: &JournalGcParams) -> Result<JournalGcResult> {
    let freed = context.journal.texts().gc(params.dry_run)?;
    Ok(JournalGcResult {
        changes: freed.changes as u64,
        texts: freed.texts as u64,
        bytes: freed.bytes,
        freed: !params.dry_run,
    })
}
