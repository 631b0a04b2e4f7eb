//! The part that thinks: a message comes in, a model works through it with the tools, everybody
//! sees it live, and what was said is kept.
//!
//! Floor 7, above `calls`, through which alone it reaches a tool. Imports `conversation`, `llm`,
//! `store`, `policy`, `calls` and what is below them; no door.
//!
//! Reading order: [`entry`] (what is kept), [`turn`] (one turn as a value), [`context`] (what a
//! model is given), [`prompt`], [`wrap`] (notes are data), [`own_tools`].

pub mod context;
mod driver;
pub mod entry;
pub mod handle;
pub mod own_tools;
pub mod ports;
pub mod prompt;
pub mod turn;
pub mod turn_settings;
pub mod wrap;

pub use handle::{Agent, Answered, Ports, PromptError};
pub use turn_settings::TurnSettings;
