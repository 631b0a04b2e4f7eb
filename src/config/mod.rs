//! The configuration: settings, folders, and the choice of the vault.
//!
//! Floor 8. Each room owns its `Settings`; this room reads them from the file, applies the
//! environment and then the flags, and reports errors in any of the three.
//!
//! Invariants: no file is required; an unknown key or a wrong type is an error, never a silent
//! default; this room reads nothing inside the vault, except whether `.obsidian` exists.
//!
//! Reading order: [`environment`], [`folders`] (our own files), [`file`](mod@file) (the TOML),
//! [`layers`] (file, environment, flags), [`init`] (the commented file), [`vendor_keys`] and
//! [`keyring`] with `keyring_cache` (keys of model vendors), `models` (the configured models), `logins`, `security`, `log`, [`keys`] (the table of settings), [`live`] and [`watch`]
//! (changes while the daemon runs), [`edit`] and [`change`] (changing one setting in the file),
//! [`outside`] (third-party programs), [`obsidian`] and [`vaults`] (choosing the vault), [`running`] and [`instance`]
//! (one daemon per vault), [`installed`] and [`updates`] (where the program comes from), [`quoting`] (words of commands
//! that are printed).

pub mod change;
pub mod edit;
pub mod environment;
pub mod file;
pub mod folders;
pub mod foreign;
pub mod init;
pub mod installed;
pub mod instance;
pub mod keyring;
mod keyring_cache;
pub mod keys;
pub mod layers;
pub mod live;
pub mod log;
pub mod logins;
pub mod models;
pub mod obsidian;
pub mod outside;
pub mod quoting;
pub mod running;
pub mod security;
pub mod updates;
pub mod vaults;
pub mod vendor_keys;
pub mod watch;

pub use environment::Environment;
pub use file::{Config, ConfigError};
