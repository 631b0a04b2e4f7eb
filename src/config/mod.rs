//! What the user chose: settings, folders, and which vault.
//!
//! Floor 8. Each room owns its own `Settings`; this room only finds them in the file, lets the
//! environment and then the flags speak over them, and says clearly what is wrong with any of the
//! three. It may import every room below; nothing below imports it.
//!
//! Invariants: no file is needed; an unknown key or a value of the wrong type is an error and never
//! a silent default; nothing here is read from inside the vault except the fact that `.obsidian`
//! exists.
//!
//! Reading order: [`environment`] (what the process was given), [`folders`] (where our own files
//! lie), [`file`](mod@file) (the TOML), [`layers`] (file, then environment, then flags), [`init`]
//! (the commented file), [`vendor_keys`] and [`keyring`] (of models' vendors), [`keys`] (what is decided about each setting), [`live`] and [`watch`] (new
//! values while the daemon runs), [`edit`] and [`change`] (one setting in the file), [`obsidian`] and [`vaults`] (which vault), [`running`] and [`instance`]
//! (the one daemon of a vault).

pub mod change;
pub mod edit;
pub mod environment;
pub mod file;
pub mod folders;
pub mod foreign;
mod heard_keys;
pub mod init;
pub mod instance;
pub mod keyring;
pub mod keys;
pub mod layers;
pub mod live;
pub mod log;
pub mod models;
pub mod obsidian;
pub mod running;
pub mod security;
pub mod vaults;
pub mod vendor_keys;
pub mod watch;

pub use environment::Environment;
pub use file::{Config, ConfigError};
