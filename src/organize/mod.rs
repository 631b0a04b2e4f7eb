//! Rules, and the plans made from them: where each note belongs, and exactly what would change.
//!
//! Floor 4. It reads notes and never writes: a plan is a value, and a tool applies it through `edits`.
//!
//! Invariants:
//! - The same vault, rules and clock give the same plan, with the same identity.
//! - No two notes get one path, and nothing is planned over a file that stays.
//! - Applying a plan does exactly what it shows: anything not known beforehand is a precondition.
//!
//! In reading order: [`rule`] (conditions and actions), [`rules_file`] (from YAML to rules), [`check`] (probable
//! mistakes), [`sentence`] (a rule in English), [`reach`] (the folders that a rule may change), [`near`] (near misses),
//! [`plan`] (planned changes), [`planner`] (from rules to a plan), `world` (the planner's view of the vault), `draft`
//! (an unfinished item), `overlay` (the vault after the plan), `evaluation` (of the rules, for each file),
//! `note_templates` (the Obsidian templates that they insert), `trace` (their reasons), `names` (assigned paths),
//! [`linked`] (links), `settle` (whether rules would match again), [`views`], [`content`] (a note's new text), `order`
//! (of moves), `emptied` (folders left empty), [`applying`] (from a plan to changes), [`job`] (items that are applied
//! together), [`trigger`] (when rules run automatically), [`settings`]; names of files: [`shapes`] (a name and its parts), [`conventions`] (of a folder), [`about`],
//! [`suggest`] (better names), [`names_check`], [`profile`] (a description of the vault); [`workflow`] (steps that call
//! tools, independent of rules and plans).

pub mod about;
pub mod applying;
pub mod check;
pub mod content;
pub mod conventions;
mod draft;
mod emptied;
mod evaluation;
pub mod job;
pub mod linked;
mod names;
pub mod names_check;
pub mod near;
mod note_templates;
mod order;
mod overlay;
pub mod plan;
pub mod planner;
pub mod profile;
pub mod reach;
pub mod rule;
pub mod rules_file;
pub mod sentence;
pub mod settings;
mod settle;
pub mod shapes;
pub mod suggest;
mod trace;
pub mod trigger;
pub mod views;
pub mod workflow;
mod world;

pub use settings::Settings;
