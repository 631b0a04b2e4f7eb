//! Resolves a link, in the protocol's types.

use crate::index::links::place;
use crate::protocol::resolve_link::{ResolveLinkParams, ResolveLinkResult};
use crate::tools::Context;

/// The file, heading and block that a link outside of notes leads to.
pub fn resolve_link(context: &Context, params: &ResolveLinkParams) -> ResolveLinkResult {
    match place(&context.vault, &params.link) {
        None => ResolveLinkResult::default(),
        Some(place) => ResolveLinkResult {
            path: Some(place.path.as_str().to_owned()),
            line: place.line.map(|line| line as u64),
            resolved: !place.is_part_missing,
        },
    }
}
