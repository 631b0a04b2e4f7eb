//! `steward show NOTE --at TIME` and `steward list FOLDER --at TIME`: the vault at an earlier time.

use chrono::{Local, SecondsFormat};

use super::{Failure, Result, Session};
use crate::methods::as_of;
use crate::protocol::as_of::{AsOfParams, AsOfResult, At, EntryThen};
use crate::tools::time_text;

/// The most bytes of an answer without a daemon.
const MAX_BYTES: u64 = 64 << 20;

/// Prints a note, or the files of a folder, as of a time or a change set.
pub fn show(session: &Session, path: Option<&str>, at: &str) -> Result<()> {
    let mut params =
        AsOfParams { path: path.map(str::to_owned), at: moment(at)?, ..AsOfParams::default() };
    let ask = |params: &AsOfParams| {
        session.ask_or(params, false, |calls| as_of::as_of(calls.context(), params, MAX_BYTES))
    };
    let mut found = ask(&params)?;
    while let Some(next) = found.next {
        params.first = Some(next);
        let more = ask(&params)?;
        found.entries.extend(more.entries);
        found.next = more.next;
    }
    if session.output.json() {
        return session.output.json_value(&found);
    }
    if let Some(unsure) = &found.unsure {
        session.output.notice(&format!("not certain: {}", unsure.said));
    }
    match (found.kind, &found.text, &found.reason) {
        (EntryThen::File, Some(text), _) => session.output.paged().text(text)?,
        (EntryThen::File, None, reason) => {
            let message = format!(
                "`{}` cannot be shown: {}",
                found.path,
                reason.as_deref().unwrap_or("its text is not known")
            );
            let hint = "`steward log` shows its changes";
            return Err(Failure::other("failed", message, hint));
        }
        (EntryThen::Folder, ..) => session.output.paged().text(&list_states(&found))?,
        (EntryThen::Other, ..) => {
            let message = format!("`{}` was a link or a special file", found.path);
            return Err(Failure::other("failed", message, "a file or a folder can be shown"));
        }
    }
    Ok(())
}

fn list_states(found: &AsOfResult) -> String {
    let line = |entry: &crate::protocol::as_of::TreeEntryThen| {
        let end = if entry.kind == EntryThen::Folder { "/" } else { "" };
        let unsure = if entry.unsure { "  (changed outside the steward since)" } else { "" };
        format!("{}{end}{unsure}", entry.path)
    };
    let lines: Vec<String> = found.entries.iter().map(line).collect();
    if lines.is_empty() {
        format!("nothing existed there at {}", found.time)
    } else {
        lines.join("\n")
    }
}

/// A change set's number, or a time in this program's time zone.
fn moment(at: &str) -> Result<At> {
    if let Ok(set) = at.trim().parse() {
        return Ok(At { change_set: Some(set), ..At::default() });
    }
    let time = time_text::parse(at, Local::now())
        .map_err(|error| Failure::usage(error.message, error.hint.unwrap_or_default()))?;
    let time = time.to_rfc3339_opts(SecondsFormat::Millis, false);
    Ok(At { time: Some(time), ..At::default() })
}
