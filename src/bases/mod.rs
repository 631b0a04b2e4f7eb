//! Obsidian's Bases, evaluated without Obsidian: the expression language, `.base` files, and the tables that
//! they describe.
//!
//! Floor 2. Pure: no I/O and no clock. An expression reads the vault through a [`Source`], and the time from
//! an [`eval::Scope`]. Nothing here panics, and every evaluation ends within its limits.
//!
//! In reading order: [`ast`], [`value`] (with `date`, `duration`, `number_text` and `natural` order), [`typed`], [`source`]; from text to a tree ([`parse`],
//! [`classic`], with `token`, `pattern` and `tree` below them) and back (`ast/print`); errors and
//! warnings ([`diagnostic`], [`check`], with `cycles`, `nearest` and `outdated`); texts with expressions in them ([`template`]); from a tree
//! to a value ([`eval`], [`functions`], `context`, [`compare`]); whole bases ([`base_file`], `narrow`,
//! [`blocks`], [`query`]), the rows of a view ([`view`], [`compare::summaries`]) and why they match
//! ([`trace`]).

pub mod ast;
pub mod base_file;
pub mod blocks;
pub mod check;
pub mod classic;
pub mod compare;
mod context;
mod cycles;
pub mod date;
pub mod diagnostic;
pub mod duration;
pub mod eval;
pub mod functions;
mod narrow;
mod natural;
pub mod nearest;
mod number_text;
mod outdated;
pub mod parse;
mod pattern;
pub mod query;
pub mod source;
pub mod template;
mod token;
pub mod trace;
mod tree;
pub mod typed;
pub mod value;
pub mod view;

#[cfg(test)]
pub(crate) mod tests;

pub use eval::{Evaluator, Prepared, Scope};
pub use source::Source;
pub use tree::visit;
