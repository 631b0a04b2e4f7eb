//! The audit: the decision on each call and its result, never the text of a note.
//!
//! Rows wait in memory for at most [`DELAY`] and are written in batches, so that no call waits for
//! the disk. The row of a question is on the disk before a person is asked. A clean shutdown writes
//! all rows; a crash may lose the latest rows, but no change: the journal records those.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::call::Request;
use super::judge::Judgement;
use crate::locks::lock;
use crate::policy::Settings;
use crate::store::StoreError;
use crate::store::audit::{self, AuditRow};
use crate::tools::{Answer, Facts, ToolError};

/// How long a row waits for more rows to be written with it.
const DELAY: Duration = Duration::from_millis(200);

/// With this many waiting rows, the caller that adds one writes them itself.
const MAX_WAITING: usize = 2_000;

/// Paths stored per call.
const MAX_PATHS: usize = 20;

/// Characters stored of a path or a reason.
const MAX_CHARACTERS: usize = 300;

/// The interval between deletions of old rows.
const TRIM_EVERY: Duration = Duration::from_secs(3600);

#[derive(Debug)]
pub struct Audit {
    shared: Arc<SharedAudit>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct SharedAudit {
    rows: audit::Audit,
    limits: Mutex<Limits>,
    queue: Mutex<Queue>,
    wake: Condvar,
    /// Held while rows are taken and written, so that they stay in order.
    writing: Mutex<()>,
}

/// How much of the audit is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limits {
    days: u32,
    calls: u32,
}

impl Limits {
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
    /// An audit stored in `rows`. Does no I/O yet.
    pub(super) fn new(rows: audit::Audit, settings: &Settings) -> Self {
        let shared = SharedAudit {
            rows,
            limits: Mutex::new(Limits::of(settings)),
            queue: Mutex::default(),
            wake: Condvar::new(),
            writing: Mutex::default(),
        };
        Self { shared: Arc::new(shared), writer: Mutex::default() }
    }

    /// Starts the background writer.
    pub(super) fn run(&self) {
        let mut writer = lock(&self.writer);
        if writer.is_none() {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new().name("steward-audit".to_owned());
            match thread.spawn(move || shared.write_in_background()) {
                Ok(thread) => *writer = Some(thread),
                Err(error) => tracing::warn!(%error, "the audit is written only at the end"),
            }
        }
    }

    /// Applies new limits. If this process runs the background writer, rows over the limits are
    /// deleted at once.
    pub(super) fn set(&self, settings: &Settings) {
        let limits = Limits::of(settings);
        let before = std::mem::replace(&mut *lock(&self.shared.limits), limits);
        let runs = lock(&self.writer).is_some();
        if runs && before != limits {
            self.shared.flush();
            self.shared.trim();
        }
    }

    /// Writes the waiting rows and stops the background writer.
    pub(super) fn end(&self) {
        lock(&self.shared.queue).ended = true;
        self.shared.wake.notify_all();
        let writer = lock(&self.writer).take();
        if let Some(thread) = writer {
            let _ = thread.join();
        }
        self.shared.flush();
    }

    /// Writes the waiting rows.
    pub(super) fn flush(&self) {
        self.shared.flush();
    }

    /// Whether the caller that adds the next row may have to write the waiting rows itself.
    pub(super) fn is_full(&self) -> bool {
        lock(&self.shared.queue).rows.len() + 1 >= MAX_WAITING
    }

    /// Queues a row; a row with an id replaces the row of its question in the store.
    pub(super) fn record(&self, row: AuditRow) {
        if row.id > 0 {
            if let Err(error) = self.shared.rows.settle(&row) {
                tracing::error!(%error, "the audit could not be written");
            }
            return;
        }
        let waiting = {
            let mut queue = lock(&self.shared.queue);
            queue.rows.push(row);
            queue.rows.len()
        };
        match waiting {
            1 => self.shared.wake.notify_all(),
            MAX_WAITING.. => self.shared.flush(),
            _ => {}
        }
    }

    /// Writes the row of a question before a person is asked; returns it with its id.
    pub(super) fn write_question(&self, row: AuditRow) -> Result<AuditRow, StoreError> {
        let id = self.shared.rows.write(std::slice::from_ref(&row))?;
        Ok(AuditRow { id, ..row })
    }
}

impl Drop for Audit {
    fn drop(&mut self) {
        self.end();
    }
}

impl SharedAudit {
    fn trim(&self) {
        let Limits { days, calls } = *lock(&self.limits);
        let age = chrono::TimeDelta::days(i64::from(days));
        let oldest = (chrono::Utc::now() - age).timestamp_millis();
        if let Err(error) = self.rows.trim(oldest, calls) {
            tracing::warn!(%error, "the audit could not be trimmed");
        }
    }

    fn flush(&self) {
        let _writing = lock(&self.writing);
        let rows = std::mem::take(&mut lock(&self.queue).rows);
        if rows.is_empty() {
            return;
        }
        if let Err(error) = self.rows.write(&rows) {
            tracing::error!(%error, rows = rows.len(), "the audit could not be written");
        }
    }

    fn write_in_background(&self) {
        let mut trimmed: Option<Instant> = None;
        loop {
            let empty = |queue: &mut Queue| queue.rows.is_empty() && !queue.ended;
            let queue = self.wake.wait_while(lock(&self.queue), empty);
            let queue = queue.unwrap_or_else(PoisonError::into_inner);
            // Rows that arrive meanwhile are written in the same batch.
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

/// The row of a call that has just arrived.
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

/// Adds what happened to the call; `named_paths` are the paths that its arguments name.
pub(super) fn judged<'a>(
    row: &mut AuditRow,
    named_paths: impl Iterator<Item = &'a str>,
    judgement: &Judgement,
) {
    // If nothing was about to change, the paths of the arguments.
    let paths: Vec<String> = if judgement.paths.is_empty() {
        named_paths.map(cut).collect()
    } else {
        judgement.paths.iter().take(MAX_PATHS).map(|path| cut(path)).collect()
    };
    row.paths = paths.join("\n");
    row.bytes = i64::try_from(judgement.bytes).unwrap_or(i64::MAX);
    row.change_set = judgement.change_set.and_then(|set| i64::try_from(set).ok());
    if let Some(decision) = judgement.decision {
        row.decision = decision.to_owned();
    }
    if let Some(refusal) = &judgement.refusal {
        row.decision = "refused".to_owned();
        row.layer = Some(refusal.layer.to_owned());
        // A value that does not fit a schema may come from a note.
        row.reason = (refusal.layer != "input").then(|| cut(&refusal.reason));
    }
}

pub(super) fn result(row: &mut AuditRow, result: &Result<Answer<Facts>, ToolError>) {
    row.outcome = Some(match result {
        Ok(_) => "ok".to_owned(),
        Err(error) => error.code.to_string(),
    });
    if let (Ok(answer), 0) = (result, row.bytes) {
        row.bytes = i64::try_from(answer.text.len()).unwrap_or(i64::MAX);
    }
}

/// Adds why a server could not be used, which the error code does not tell.
pub(super) fn server_fault(row: &mut AuditRow, result: &Result<Answer<Facts>, ToolError>) {
    if let Err(error) = result
        && error.data.as_ref().is_some_and(|data| data["fault"] == "server")
    {
        row.reason.get_or_insert_with(|| cut(&error.message));
    }
}

/// A path or a reason on one line, cut to the stored length.
pub(super) fn cut(text: &str) -> String {
    if text.len() <= MAX_CHARACTERS && !text.contains('\n') {
        return text.to_owned();
    }
    text.chars().take(MAX_CHARACTERS).map(|c| if c == '\n' { ' ' } else { c }).collect()
}
