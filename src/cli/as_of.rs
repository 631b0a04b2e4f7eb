//! `steward show NOTE --at TIME` and `steward list FOLDER --at TIME`: the vault as it was.

use chrono::{Local, SecondsFormat};

use super::failure::Failure;
use super::output::Output;
use super::reach;
use super::session::Session;
use crate::methods::as_of;
use crate::protocol::as_of::{AsOfParams, AsOfResult, At, EntryThen};
use crate::tools::when;

/// The most bytes of an answer without a daemon.
const MOST: u64 = 64 << 20;

/// Prints a note, or the files of a folder, as of a time or a change set.
pub fn show(
    session: &Session,
    path: Option<&str>,
    at: &str,
    output: &Output,
) -> Result<(), Failure> {
    let mut params =
        AsOfParams { path: path.map(str::to_owned), at: moment(at)?, ..AsOfParams::default() };
    let mut found = ask(session, &params, output)?;
    while let Some(next) = found.next {
        params.first = Some(next);
        let more = ask(session, &params, &output.quiet())?;
        found.entries.extend(more.entries);
        found.next = more.next;
    }
    if output.json() {
        return Ok(output.json_value(&found)?);
    }
    if let Some(unsure) = &found.unsure {
        output.notice(&format!("not certain: {}", unsure.said));
    }
    match (found.kind, &found.text, &found.reason) {
        (EntryThen::File, Some(text), _) => output.paged().text(text)?,
        (EntryThen::File, None, reason) => {
            let message = format!("`{}` cannot be shown: {}", found.path, reason_of(reason));
            let hint = "`steward log` shows its changes";
            return Err(Failure::other("failed", message, hint));
        }
        (EntryThen::Folder, ..) => output.paged().text(&listed(&found))?,
        (EntryThen::Other, ..) => {
            let message = format!("`{}` was a link or a special file", found.path);
            return Err(Failure::other("failed", message, "a file or a folder can be shown"));
        }
    }
    Ok(())
}

fn reason_of(reason: &Option<String>) -> &str {
    reason.as_deref().unwrap_or("its text is not known")
}

fn listed(found: &AsOfResult) -> String {
    let line = |entry: &crate::protocol::as_of::TreeEntryThen| {
        let end = if entry.kind == EntryThen::Folder { "/" } else { "" };
        let unsure = if entry.unsure { "  (changed outside the steward since)" } else { "" };
        format!("{}{end}{unsure}", entry.path)
    };
    let lines: Vec<String> = found.entries.iter().map(line).collect();
    match lines.is_empty() {
        true => format!("nothing was there at {}", found.time),
        false => lines.join("\n"),
    }
}

/// A change set's number, or a time in this program's time zone.
fn moment(at: &str) -> Result<At, Failure> {
    if let Ok(set) = at.trim().parse() {
        return Ok(At { change_set: Some(set), ..At::default() });
    }
    let time = when::parse(at, Local::now())
        .map_err(|error| Failure::usage(error.message, error.hint.unwrap_or_default()))?;
    let time = time.to_rfc3339_opts(SecondsFormat::Millis, false);
    Ok(At { time: Some(time), ..At::default() })
}

fn ask(session: &Session, params: &AsOfParams, output: &Output) -> Result<AsOfResult, Failure> {
    let root = session.vault(output)?;
    match reach::ask(session, &root, params)? {
        Some(found) => Ok(found),
        None => reach::here(session, &root, false, |context| {
            as_of::as_of(context, params, MOST).map_err(|error| {
                let code = serde_json::to_value(error.data.kind).ok();
                let code = code.as_ref().and_then(|code| code.as_str()).unwrap_or("failed");
                Failure::other(code, error.message, error.data.hint.unwrap_or_default())
            })
        }),
    }
}
