//! Progress on stderr: while a large vault is read for the first time, and of a job.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::locks::lock;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::protocol::events::JobInfo;

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
        if self.started.elapsed() >= PATIENCE {
            self.draw("{spinner} {msg} {pos} entries", "reading the vault:", entries as u64, None);
        }
    }

    /// Reports how far a job is.
    pub fn job(&self, job: &JobInfo) {
        let (words, done, total) = match &job.progress {
            None => ("done:", job.done, job.total),
            Some(now) => match &*now.phase {
                "storing" => ("storing texts:", now.done, now.total),
                "writing" => ("writing files:", now.done, now.total),
                _ => ("putting files in place:", now.done, now.total),
            },
        };
        self.draw("{spinner} {msg} {pos} of {len}", words, done, Some(total));
    }

    fn draw(&self, template: &str, words: &'static str, done: u64, total: Option<u64>) {
        if !self.enabled {
            return;
        }
        let mut bar = lock(&self.bar);
        let bar = bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar
        });
        bar.set_message(words);
        if let Some(total) = total {
            bar.set_length(total);
        }
        bar.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Ok(Some(bar)) = self.bar.get_mut().map(Option::take) {
            bar.finish_and_clear();
        }
    }
}
