//! A note as text: paths and names, lines, edits, diffs and patches, all as values.
//!
//! Floor 1. This room never touches a vault.
//!
//! Invariants:
//! - No I/O and no clock: functions take bytes and strings, and return new bytes or a typed error.
//! - Nothing here panics, whatever the input. Fuzz targets and property tests check this.
//! - Bytes outside an edit or a hunk never change: the byte-order mark, the line endings and a
//!   missing final newline stay as they are in the file.
//! - Cost is bounded by the size of the input, never by its shape.
//! - Every error has an [`code::ErrorCode`] and, where the caller can do something about it, a
//!   hint.
//!
//! In reading order: names ([`fold`], [`spelling`], [`path`], [`path_map`], [`names`], [`glob`],
//! [`conflict`]; [`spoken`] for names as people say them), the bytes of a note ([`text`], [`invisible`]), its
//! content ([`markdown`], [`chunks`], [`link`], [`tag`], [`frontmatter`]; [`canvas`] and [`base`] for those
//! files, [`yaml`] for pure YAML files; [`search_query`] for what people search for in it), changes
//! ([`edit`], [`diff`], [`extent`], [`merge`],
//! [`patch`]; [`relink`] for links, [`raw_links`] for text too large to parse), date formats
//! ([`moment`], [`template`]), a note as a [`prompt`], error codes ([`code`]), numbers in messages ([`counted`]).

pub mod fold;

pub mod path;
pub mod path_map;
pub mod spelling;

pub mod spoken;

pub mod names;

pub mod glob;

pub mod counted;

pub mod text;

pub mod invisible;

pub mod markdown;

pub mod chunks;

pub mod link;

pub mod raw_links;

pub mod tag;

pub mod search_query;

pub mod conflict;

pub mod moment;

pub mod template;

pub mod prompt;

pub mod frontmatter;

pub mod yaml;

pub mod canvas;

pub mod base;

pub mod relink;

pub mod edit;

pub mod diff;

pub mod extent;

pub mod merge;

pub mod patch;

pub mod code;
