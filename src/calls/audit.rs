//! What was decided on each call, and what came of it: written down, never what a note says.
//!
//! Rows wait in memory for at most [`DELAY`] and are written together, so that a call waits for no
//! disk. That a person was asked is on the disk before they are. On a clean end everything is
//! written; a crash may lose the rows of the last moment, never a change: those are the journal's.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::call::Request;
use super::judge::Seen;
use crate::policy::Settings;
use crate::store::StoreError;
use crate::store::audit::{self, AuditRow};
use crate::tools::{Answer, Facts, ToolError};

/// How long a row waits for others.
const DELAY: Duration = Duration::from_millis(200);

/// Rows that wait before whoever adds one writes them itself.
const MAX_WAITING: usize = 2_000;

/// Paths of one call that are kept.
const MAX_PATHS: usize = 20;

/// Characters of a path or a reason that are kept.
const MAX_CHARACTERS: usize = 300;

/// How often what is too old is let go.
const TRIM_EVERY: Duration = Duration::from_secs(3600);

/// The audit of one vault.
#[derive(Debug)]
pub struct Audit {
    shared: Arc<Shared>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    rows: audit::Audit,
    kept: Mutex<Kept>,
    queue: Mutex<Queue>,
    wake: Condvar,
    /// One at a time takes rows and writes them, so that they stay in order.
    writing: Mutex<()>,
}

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kept {
    days: u32,
    calls: u32,
}

impl Kept {
    fn of(settings: &Settings) -> Self {
        Self { days: settings.audit_days, calls: settings.audit_calls }
    }
}

#[derive(Debug, Default)]
struct Queue {
    rows: Vec<AuditRow>,
    ended: bool,
}

impl Audit {
    /// The audit that is kept as `rows`. Touches nothing yet.
    pub(super) fn new(rows: audit::Audit, settings: &Settings) -> Self {
        let shared = Shared {
            rows,
            kept: Mutex::new(Kept::of(settings)),
            queue: Mutex::default(),
            wake: Condvar::new(),
            writing: Mutex::default(),
        };
        Self { shared: Arc::new(shared), writer: Mutex::default() }
    }

    /// Writes in the background from now on.
    pub(super) fn run(&self) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if writer.is_none() {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new().name("steward-audit".to_owned());
            match thread.spawn(move || shared.write_on()) {
                Ok(thread) => *writer = Some(thread),
                Err(error) => tracing::warn!(%error, "the audit is written at the end only"),
            }
        }
    }

    /// Keeps as much as these settings say; what is too much by them goes at once where this process
    /// is the one that writes in the background.
    pub(super) fn set(&self, settings: &Settings) {
        let kept = Kept::of(settings);
        let before = std::mem::replace(&mut *self.shared.kept(), kept);
        let runs = self.writer.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if runs && before != kept {
            self.shared.flush();
            self.shared.trim();
        }
    }

    /// Writes what waits and ends the background work.
    pub(super) fn end(&self) {
        self.shared.queue().ended = true;
        self.shared.wake.notify_all();
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = writer {
            let _ = thread.join();
        }
        self.shared.flush();
    }

    /// Writes what waits.
    pub(super) fn flush(&self) {
        self.shared.flush();
    }

    /// Whether so many rows wait that whoever adds one may have to write them itself.
    pub(super) fn is_full(&self) -> bool {
        self.shared.queue().rows.len() + 1 >= MAX_WAITING
    }

    /// Takes a row; one that has a number takes the place of the question it was.
    pub(super) fn record(&self, row: AuditRow) {
        if row.id > 0 {
            if let Err(error) = self.shared.rows.settle(&row) {
                tracing::error!(%error, "the audit could not be written");
            }
            return;
        }
        let waiting = {
            let mut queue = self.shared.queue();
            queue.rows.push(row);
            queue.rows.len()
        };
        match waiting {
            1 => self.shared.wake.notify_all(),
            MAX_WAITING.. => self.shared.flush(),
            _ => {}
        }
    }

    /// Writes down that a person is asked, before they are; the row with its number.
    pub(super) fn asked(&self, row: AuditRow) -> Result<AuditRow, StoreError> {
        let id = self.shared.rows.write(std::slice::from_ref(&row))?;
        Ok(AuditRow { id, ..row })
    }
}

impl Drop for Audit {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn trim(&self) {
        let Kept { days, calls } = *self.kept();
        let age = chrono::TimeDelta::days(i64::from(days));
        let oldest = (chrono::Utc::now() - age).timestamp_millis();
        if let Err(error) = self.rows.trim(oldest, calls) {
            tracing::warn!(%error, "the audit could not be trimmed");
        }
    }

    fn flush(&self) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = std::mem::take(&mut self.queue().rows);
        if rows.is_empty() {
            return;
        }
        if let Err(error) = self.rows.write(&rows) {
            tracing::error!(%error, rows = rows.len(), "the audit could not be written");
        }
    }

    fn write_on(&self) {
        let mut trimmed: Option<Instant> = None;
        loop {
            let empty = |queue: &mut Queue| queue.rows.is_empty() && !queue.ended;
            let queue = self.wake.wait_while(self.queue(), empty);
            let queue = queue.unwrap_or_else(PoisonError::into_inner);
            // Others that come now are written with it.
            let gathered = self.wake.wait_timeout_while(queue, DELAY, |queue| !queue.ended);
            let ended = gathered.unwrap_or_else(PoisonError::into_inner).0.ended;
            self.flush();
            if ended {
                return;
            }
            if trimmed.is_none_or(|last| last.elapsed() >= TRIM_EVERY) {
                trimmed = Some(Instant::now());
                self.trim();
            }
        }
    }
}

/// The row of a call that has come.
pub(super) fn begin(request: &Request) -> AuditRow {
    AuditRow {
        time: chrono::Utc::now().timestamp_millis(),
        caller: cut(&request.caller.name),
        scope: request.caller.scope.word().to_owned(),
        conversation: request.conversation.as_deref().map(cut),
        tool: cut(&request.tool),
        decision: "allowed".to_owned(),
        ..AuditRow::default()
    }
}

/// Adds what was seen on its way of a call that names these places.
pub(super) fn judged<'a>(row: &mut AuditRow, asked: impl Iterator<Item = &'a str>, seen: &Seen) {
    // Where nothing was about to be changed, what was asked for.
    let paths: Vec<String> = match seen.paths.is_empty() {
        true => asked.map(cut).collect(),
        false => seen.paths.iter().take(MAX_PATHS).map(|path| cut(path)).collect(),
    };
    row.paths = paths.join("\n");
    row.bytes = i64::try_from(seen.bytes).unwrap_or(i64::MAX);
    row.change_set = seen.change_set.and_then(|set| i64::try_from(set).ok());
    if let Some(decision) = seen.decision {
        row.decision = decision.to_owned();
    }
    if let Some(refusal) = &seen.refusal {
        row.decision = "refused".to_owned();
        row.layer = Some(refusal.layer.to_owned());
        // What does not fit a schema may be a piece of a note.
        let told = refusal.layer != "input";
        row.reason = told.then(|| cut(&refusal.reason));
    }
}

/// Adds what came of it.
pub(super) fn result(row: &mut AuditRow, result: &Result<Answer<Facts>, ToolError>) {
    row.outcome = Some(match result {
        Ok(_) => "ok".to_owned(),
        Err(error) => error.code.to_string(),
    });
    if let (Ok(answer), 0) = (result, row.bytes) {
        row.bytes = i64::try_from(answer.text.len()).unwrap_or(i64::MAX);
    }
}

/// As much of a path or a reason as is kept, on one line.
pub(super) fn cut(text: &str) -> String {
    if text.len() <= MAX_CHARACTERS && !text.contains('\n') {
        return text.to_owned();
    }
    text.chars().take(MAX_CHARACTERS).map(|c| if c == '\n' { ' ' } else { c }).collect()
}
