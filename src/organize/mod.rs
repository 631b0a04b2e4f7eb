//! Rules and plans: what should be where, and exactly what would happen.
//!
//! Floor 4: imports `note`, `bases`, `vault`, `journal` and `index`. It decides and changes nothing: a plan is a
//! value, and a tool applies it through `edits`. It reads notes and never writes.
//!
//! Invariants:
//! - The same vault, rules and clock give the same plan, with the same identity.
//! - No two notes get one path, and nothing is planned over a file that stays.
//! - What a plan shows is what applying it does: what cannot be known beforehand is a precondition.
//!
//! In reading order: [`rule`] (what a rule says), [`rules_file`] (from YAML to rules), [`check`] (what is probably not
//! meant), [`sentence`] (what a rule does, in English), [`reach`] (the folders that it may touch), [`near`] (what it nearly takes), [`plan`] (what would happen),
//! [`planner`] (from rules to a plan), `world` (what it is made over), `draft` (an item on its way), `shadow` (the vault
//! as it will be), `wishes` (what rules want), `trace` (why), `names` (paths given out), [`linked`] (links), `settle`
//! (whether rules would go on), [`views`], [`content`] (the text that a note gets), `order` (of moves), `emptied` (folders that nothing is left in), [`applying`]
//! (from a plan to changes), [`job`] (which items are applied together), [`trigger`]
//! (when rules run by themselves), [`settings`]; how files are named: [`shapes`]
//! (a name and its parts), [`conventions`] (of a folder), [`about`], [`suggest`] (a better name), [`names_check`],
//! [`profile`] (what a vault looks like); [`workflow`] (steps that call tools, which rules and plans have no part in).

pub mod about;
pub mod applying;
pub mod check;
pub mod content;
pub mod conventions;
mod draft;
mod emptied;
pub mod job;
pub mod linked;
mod names;
pub mod names_check;
pub mod near;
mod order;
pub mod plan;
pub mod planner;
pub mod profile;
pub mod reach;
pub mod rule;
pub mod rules_file;
pub mod sentence;
pub mod settings;
mod settle;
mod shadow;
pub mod shapes;
pub mod suggest;
mod trace;
pub mod trigger;
pub mod views;
mod wishes;
pub mod workflow;
mod world;

pub use settings::Settings;
