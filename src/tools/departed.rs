//! Files that a call did not find and that the journal knows.

use serde_json::{Value, json};

use super::text_file::{local, local_short};
use super::{Context, ToolError, history};
use crate::journal::Trace;
use crate::note::path::VaultPath;
use crate::vault::nonblocking;

/// Adds to the error for a missing file where the file is now, or that it was deleted and how to restore it, as far as
/// the journal knows and the caller may see.
pub(super) fn explain(context: &Context, error: ToolError) -> ToolError {
    let Some(path) = error.missing.as_deref().filter(|_| !nonblocking::would_block()) else {
        return error;
    };
    match context.journal.trace(path, context.vault.view()) {
        Ok(Some(trace)) => explain_departure(context, &trace, error.clone()),
        Ok(None) => error,
        Err(fault) => {
            tracing::warn!(%fault, %path, "the present path of a missing file cannot be read");
            error
        }
    }
}

fn explain_departure(context: &Context, trace: &Trace, mut error: ToolError) -> ToolError {
    let mut data = error.data.take().unwrap_or_else(|| json!({}));
    let (was, happened, hint) = match trace {
        Trace::At { was, path, moved } => {
            let moved = moved.and_then(|time| time.timestamp_nanos_opt());
            data["now"] = json!(path.as_str());
            data["moved"] = moved.map_or(Value::Null, |time| json!(local(time)));
            let happened = match moved {
                Some(time) => format!("moved to `{path}` on {}", local_short(time)),
                None => format!("renamed to `{path}`"),
            };
            (was, happened, "give that path".to_owned())
        }
        Trace::Deleted { was, path, when } => {
            let when = when.timestamp_nanos_opt().unwrap_or_default();
            data["deleted"] = json!({ "path": path.as_str(), "time": local(when) });
            let near = error.hint.filter(|_| data["near"].is_array());
            let hint = [Some(way_back(context, path)), near].into_iter().flatten();
            let hint = hint.collect::<Vec<_>>().join("; ");
            let last = if was == path { String::new() } else { format!(" as `{path}`") };
            (was, format!("deleted{last} on {}", local_short(when)), hint)
        }
    };
    let is_asked = error.missing.take().is_some_and(|asked| {
        *asked == *was || VaultPath::from_disk(&format!("{asked}.md")).as_ref() == Some(was)
    });
    let what = if is_asked { "it".to_owned() } else { format!("`{was}`") };
    let message = format!("{}: {what} was {happened}", error.message);
    ToolError { message, hint: Some(hint), data: Some(data), ..error }
}

/// How to restore a deleted file.
fn way_back(context: &Context, path: &VaultPath) -> String {
    let items = context.journal.trash().list().unwrap_or_default();
    let was = history::visible(context, items).into_iter().filter_map(|item| item.was);
    match was.into_iter().find(|was| path.is_within(was)) {
        Some(was) => format!("`restore` with item `{was}` brings it back"),
        None => "`list_changes` names the change that deleted it".to_owned(),
    }
}
