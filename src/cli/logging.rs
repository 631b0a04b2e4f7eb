//! The log, to stderr.

use std::io;

use tracing_subscriber::EnvFilter;

use super::output::Output;
use crate::config::log::{Format, Level, Settings};

/// Starts the log at the level that the settings say, or the usual one of the command. Crates that
/// are not ours speak from warnings on only, as their details name what a log must not hold.
pub fn start(settings: &Settings, usual: Level, output: &Output) {
    let level = settings.level.unwrap_or(usual);
    let others = level.min(Level::Warn).word();
    let filter = EnvFilter::new(format!("{others},vault_steward={}", level.word()));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    // A second start in one process (tests) keeps the first.
    let _ = match settings.format {
        Format::Human => log.with_ansi(output.color_stderr()).with_target(false).try_init(),
        Format::Json => log.json().flatten_event(true).with_current_span(false).try_init(),
    };
}
