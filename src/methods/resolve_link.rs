//! Resolves a link, in the protocol's types.

use super::info::local;
use crate::index::links::{LinkPlace, place};
use crate::journal::Trace;
use crate::note::path::VaultPath;
use crate::protocol::error::Result;
use crate::protocol::resolve_link::{DeletedFile, ResolveLinkParams, ResolveLinkResult};
use crate::tools::Context;

/// The file, heading and block to which a link in no note leads; if the file has moved since the link was written, at its
/// present path.
pub fn resolve_link(context: &Context, params: &ResolveLinkParams) -> Result<ResolveLinkResult> {
    let link = &params.link;
    if let Some(place) = place(&context.vault, link) {
        return Ok(result(place));
    }
    // A file may have `#` in its name.
    let parted = link.find('#').map(|at| link.split_at(at));
    for (name, part) in std::iter::once((&**link, "")).chain(parted) {
        if let Some(trace) = trace(context, name)? {
            return Ok(resolve_traced(context, trace, part));
        }
    }
    Ok(ResolveLinkResult::default())
}

fn trace(context: &Context, name: &str) -> Result<Option<Trace>> {
    let name = VaultPath::from_disk(name.trim().trim_start_matches('/'));
    match name.filter(|name| !name.is_root()) {
        Some(name) => Ok(context.journal.trace(&name, context.vault.view())?),
        None => Ok(None),
    }
}

/// The present place of a traced file, with the heading or block `part`.
fn resolve_traced(context: &Context, trace: Trace, part: &str) -> ResolveLinkResult {
    match trace {
        Trace::At { path, .. } => {
            let there = place(&context.vault, &format!("{path}{part}"));
            result(there.unwrap_or(LinkPlace { path, line: None, is_part_missing: false }))
        }
        Trace::Deleted { path, when, .. } => ResolveLinkResult {
            deleted: Some(DeletedFile {
                path: path.as_str().to_owned(),
                time: local(when.timestamp_millis()),
            }),
            ..ResolveLinkResult::default()
        },
    }
}

fn result(place: LinkPlace) -> ResolveLinkResult {
    ResolveLinkResult {
        path: Some(place.path.as_str().to_owned()),
        line: place.line.map(|line| line as u64),
        resolved: !place.is_part_missing,
        deleted: None,
    }
}
