//! A note as text: paths and names, lines, edits, diffs and patches, all as values.
//!
//! For whoever decides what a vault should hold, without touching one. May import nothing of ours.
//!
//! Invariants:
//! - No I/O and no clock: bytes and strings in, new bytes or a typed error out.
//! - Nothing here panics, on any input. Fuzz targets and property tests hold it to that.
//! - Bytes outside an edit or a hunk never change: byte-order mark, line endings and the state of
//!   the final newline are the file's own.
//! - Cost is bounded by the size of the input, never by its shape.
//! - Every error says its [`code::ErrorCode`] and, where there is something to do, a hint.
//!
//! In reading order: what names are ([`fold`], [`spelling`], [`path`], [`names`], [`glob`],
//! [`conflict`]; [`spoken`] as they are said), what a
//! note's bytes are ([`text`]), what is in it ([`markdown`], [`link`], [`tag`], [`frontmatter`];
//! [`canvas`] and [`base`] beside them), how they change ([`edit`], [`diff`], [`extent`], [`merge`], [`patch`];
//! [`relink`] for links, [`raw_links`] where a text is too large to be read), how dates are written ([`moment`], [`template`]), what failures are called ([`code`]).

pub mod fold;

pub mod path;
pub mod spelling;

pub mod spoken;

pub mod names;

pub mod glob;

pub mod text;

pub mod markdown;

pub mod link;

pub mod raw_links;

pub mod tag;

pub mod conflict;

pub mod moment;

pub mod template;

pub mod frontmatter;

pub mod canvas;

pub mod base;

pub mod relink;

pub mod edit;

pub mod diff;

pub mod extent;

pub mod merge;

pub mod patch;

pub mod code;
