//! Progress while a large vault is read for the first time.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::locks::lock;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A shorter read shows nothing, to avoid flicker.
const PATIENCE: Duration = Duration::from_millis(300);

/// Progress on stderr, only on a terminal.
#[derive(Debug)]
pub struct Progress {
    started: Instant,
    enabled: bool,
    bar: Mutex<Option<ProgressBar>>,
}

impl Progress {
    /// Starts the clock.
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
            enabled: std::io::stderr().is_terminal(),
            bar: Mutex::new(None),
        }
    }

    /// Reports the number of entries read so far; may be called from any thread.
    pub fn report(&self, entries: usize) {
        if !self.enabled || self.started.elapsed() < PATIENCE {
            return;
        }
        let mut bar = lock(&self.bar);
        let bar = bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
                .with_position(entries as u64);
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {pos} entries") {
                bar.set_style(style);
            }
            bar.set_message("reading the vault:");
            bar
        });
        bar.set_position(entries as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Ok(Some(bar)) = self.bar.get_mut().map(Option::take) {
            bar.finish_and_clear();
        }
    }
}
