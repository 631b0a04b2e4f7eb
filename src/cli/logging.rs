//! The log, to stderr.

use std::io::{self, Write};
use std::panic::{self, PanicHookInfo};

use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::reload::{self, Handle};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Registry};

use super::output::Output;
use crate::config::log::{Format, Level, Settings};
use crate::media::pdf;

/// The running log; its level can be changed.
#[derive(Debug, Clone)]
pub struct Log {
    usual: Level,
    filter: Option<Handle<EnvFilter, Registry>>,
}

impl Log {
    /// Sets the level; `None` is the default level of the command.
    pub fn set_level(&self, level: Option<Level>) {
        let level = level.unwrap_or(self.usual);
        let changed = self.filter.as_ref().map(|handle| handle.reload(filter(level)));
        if let Some(Err(error)) = changed {
            tracing::warn!(%error, "the level of the log could not be changed");
        }
    }
}

/// Starts the log at the level in the settings, or at the default level of the command.
pub fn start(settings: &Settings, usual: Level, output: &Output) -> Log {
    let (filter, handle) = reload::Layer::new(filter(settings.level.unwrap_or(usual)));
    // A closed stderr must not end the program: tracing's own report of it would panic.
    let log = tracing_subscriber::fmt::layer().with_writer(io::stderr).log_internal_errors(false);
    let registry = tracing_subscriber::registry().with(filter);
    // A second start in one process (tests) leaves the first in place.
    let started = match settings.format {
        Format::Human => {
            registry.with(log.with_ansi(output.color_stderr()).with_target(false)).try_init()
        }
        Format::Json => {
            registry.with(log.json().flatten_event(true).with_current_span(false)).try_init()
        }
    };
    Log { usual, filter: started.is_ok().then_some(handle) }
}

/// Logs other crates from warnings on only, since their details can contain what a log must not hold; `lopdf` never, whose
/// warnings quote the PDF.
fn filter(level: Level) -> EnvFilter {
    let others = level.min(Level::Warn).word();
    EnvFilter::new(format!("{others},lopdf=off,vault_steward={}", level.word()))
}

/// Logs a panic as one line with its location only: its message could contain text of a note, which
/// is logged at debug at most.
pub fn set_panic_hook() {
    panic::set_hook(Box::new(|fault: &PanicHookInfo<'_>| {
        let place = fault.location().map(ToString::to_string);
        let place = place.unwrap_or_else(|| "an unknown place".to_owned());
        // A damaged file can make that thread panic, which is an error of the file alone.
        if std::thread::current().name() != Some(pdf::THREAD) {
            let _ = writeln!(
                io::stderr(),
                "error: a bug in steward, at {place}\nhint: please report it with this line"
            );
        }
        let payload = fault.payload();
        let what = payload.downcast_ref::<String>().map(String::as_str);
        let what = what.or(payload.downcast_ref::<&str>().copied()).unwrap_or_default();
        tracing::debug!(place, what, "fault");
    }));
}
