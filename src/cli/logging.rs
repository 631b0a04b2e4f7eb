//! The log, to stderr.

use std::io::{self, Write};
use std::panic::{self, PanicHookInfo};

use tracing_subscriber::EnvFilter;

use super::output::Output;
use crate::config::log::{Format, Level, Settings};

/// Starts the log at the level that the settings say, or the usual one of the command. Crates that
/// are not ours speak from warnings on only, as their details name what a log must not hold.
pub fn start(settings: &Settings, usual: Level, output: &Output) {
    let level = settings.level.unwrap_or(usual);
    let others = level.min(Level::Warn).word();
    let filter = EnvFilter::new(format!("{others},vault_steward={}", level.word()));
    // A stderr that nobody reads any more must not bring down what it was to tell of: the
    // complaint about it would panic.
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .log_internal_errors(false);
    // A second start in one process (tests) keeps the first.
    let _ = match settings.format {
        Format::Human => log.with_ansi(output.color_stderr()).with_target(false).try_init(),
        Format::Json => log.json().flatten_event(true).with_current_span(false).try_init(),
    };
}

/// Has a fault of our own told in one line, by its place only: what it was about could be text of a
/// note, which is logged at debug at most.
pub fn tell_of_faults() {
    panic::set_hook(Box::new(|fault: &PanicHookInfo<'_>| {
        let place = fault.location().map(ToString::to_string);
        let place = place.unwrap_or_else(|| "an unknown place".to_owned());
        let _ = writeln!(
            io::stderr(),
            "error: a fault of steward's own at {place}\nhint: please report it with this line"
        );
        let payload = fault.payload();
        let what = payload.downcast_ref::<String>().map(String::as_str);
        let what = what.or(payload.downcast_ref::<&str>().copied()).unwrap_or_default();
        tracing::debug!(place, what, "fault");
    }));
}
