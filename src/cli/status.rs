//! `steward status`: whether a daemon is running, and its state.

#![expect(clippy::disallowed_methods, reason = "our own state folder, for its size")]

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;
use serde_json::json;

use super::{Result, Session, session};
use crate::config::running::Running;
use crate::protocol::inbox::{SmartHoleConnection, SmartHoleState};
use crate::protocol::policy::{AuditParams, ModeResult};
use crate::protocol::settings::ConfigProblem;
use crate::protocol::status::{
    BetterModel, BetterState, Confinement, ConfinementState, KnowledgeState, MemoryState, Pause,
    StatusParams, StatusResult, Watching,
};

/// The period in which calls are counted, in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// Calls per request.
const AT_ONCE: u32 = 1000;

const MAX_CALLS: usize = 20_000;

#[derive(Debug, Args)]
pub struct StatusArguments {
    /// List the daemons of all vaults
    #[arg(long, short)]
    pub all: bool,
}

/// Prints the state of the vault's daemon, or that there is none.
pub fn run(session: &Session, arguments: &StatusArguments) -> Result<()> {
    if arguments.all {
        return all(session);
    }
    let root = session.vault()?;
    let asked = match session.running(root) {
        Some((running, state)) => ask(&running, &state)?.map(|status| (running, status)),
        None => None,
    };
    match asked {
        Some((running, status)) => {
            // The state is shown even if the audit cannot be read.
            let calls = calls(session).ok();
            let state = session.running(root).map_or(0, |(_, state)| bytes(&state));
            let value = json!({
                "running": true, "daemon": running, "status": status, "calls": calls, "stateBytes": state,
            });
            let more = [
                format!(
                    "calls     {}",
                    calls.as_ref().map_or(
                        "not known, since the audit cannot be read".to_owned(),
                        calls_in_words
                    )
                ),
                format!("state     {}", megabytes(state)),
            ];
            session
                .output
                .answer(&value, format!("{}\n{}", text(&running, &status), more.join("\n")))?;
        }
        None => {
            let value = json!({ "running": false, "vault": root.to_string_lossy() });
            let text = "`steward serve` starts one";
            session
                .output
                .answer(&value, format!("no daemon serves {}; {text}", root.display()))?;
        }
    }
    Ok(())
}

/// Prints every daemon of this user.
fn all(session: &Session) -> Result<()> {
    let daemons: Vec<Running> =
        Running::all(&session.folders).into_iter().map(|(running, _)| running).collect();
    let value = json!({ "daemons": daemons });
    if daemons.is_empty() {
        return session.output.answer(&value, "no daemon runs; `steward serve` starts one");
    }
    let mut rows = vec![["VAULT", "ADDRESS", "PID", "SINCE"].map(str::to_owned).to_vec()];
    rows.extend(daemons.into_iter().map(|one| {
        let address = format!("ws://127.0.0.1:{}/v1", one.port);
        vec![one.vault, address, one.pid.to_string(), one.started_at]
    }));
    session.output.answer(&value, session.output.table(&rows))
}

/// The number of calls per tool in the last day.
fn calls(session: &Session) -> Result<BTreeMap<String, usize>> {
    let since = chrono::Utc::now().timestamp_millis() - DAY;
    let mut params = AuditParams {
        since: Some(since),
        after: Some(0),
        limit: Some(AT_ONCE),
        ..AuditParams::default()
    };
    let mut counted = BTreeMap::new();
    for _ in 0..MAX_CALLS / AT_ONCE as usize {
        let Some(found) = session.ask(&params)? else { break };
        params.after = found.calls.last().map(|call| call.id);
        let is_last = found.calls.len() < AT_ONCE as usize;
        for call in found.calls {
            *counted.entry(call.tool).or_insert(0) += 1;
        }
        if is_last {
            break;
        }
    }
    Ok(counted)
}

/// The calls per tool in words, the most frequent first.
fn calls_in_words(calls: &BTreeMap<String, usize>) -> String {
    let total: usize = calls.values().sum();
    let mut calls: Vec<_> = calls.iter().collect();
    calls.sort_by_key(|(_, number)| std::cmp::Reverse(**number));
    let tools: Vec<String> =
        calls.iter().map(|(tool, number)| format!("{tool} {number}")).collect();
    if tools.is_empty() {
        "none in the last day".to_owned()
    } else {
        format!("{total} in the last day: {}", tools.join(", "))
    }
}

/// The bytes of the files in and below a folder of the steward.
pub(super) fn bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => bytes(&entry.path()),
        _ => entry.metadata().map_or(0, |meta| meta.len()),
    });
    sizes.sum()
}

fn text(running: &Running, status: &StatusResult) -> String {
    let vault = &status.vault;
    let watching = match &vault.watching {
        Watching::Events => "events from the system".to_owned(),
        Watching::Polling { seconds, reason } => format!("looking every {seconds} s ({reason})"),
        Watching::Off => "off".to_owned(),
    };
    // Not the links of notes: `steward links`.
    let symbolic = match vault.links {
        0 => String::new(),
        links => format!(", {}", crate::note::counted::counted(links, "symbolic link")),
    };
    let mut lines = vec![
        format!("vault     {}", vault.path),
        format!(
            "holds     {}, {}, {}{symbolic}",
            crate::note::counted::counted(vault.notes, "note"),
            crate::note::counted::counted(vault.files, "file"),
            crate::note::counted::counted(vault.folders, "folder")
        ),
        format!("address   ws://127.0.0.1:{}/v1", running.port),
        format!(
            "process   {}, version {}, up {} s",
            status.pid, status.version, status.uptime_seconds
        ),
        format!("watching  {watching}; last scan {} ms", vault.scanned_ms),
        format!("clients   {}", status.connections),
        format!("memory    {}", memory(&status.memory)),
        format!("knowledge {}", knowledge(status.knowledge.as_ref())),
        format!("confined  {}", confined(&status.confinement)),
        format!("smarthole {}", smarthole(&status.smarthole)),
        format!("mode      {}", mode(status.mode.as_ref())),
    ];
    if let Some(host) = &status.host {
        lines.push(format!("obsidian  connected, as `{}`", host.client));
    }
    if let Some(problem) = &status.settings.problem {
        lines.push(format!("settings  the previous ones: {}", settings_problem(problem)));
    }
    if !status.settings.needs_restart.is_empty() {
        let waiting = status.settings.needs_restart.join(", ");
        lines.push(format!("settings  after a restart: {waiting}"));
    }
    if vault.conflicts > 0 {
        lines.push(format!(
            "conflicts {} left by sync programs; `steward doctor` lists them",
            vault.conflicts
        ));
    }
    lines.extend(vault.warnings.iter().map(|warning| format!("warning   {warning}")));
    lines.join("\n")
}

/// The memory by component, in words; empty components are left out.
fn memory(memory: &MemoryState) -> String {
    let parts = [
        ("program", memory.program.unwrap_or(0)),
        ("catalogue", memory.catalogue),
        ("links", memory.links),
        ("text index", memory.text_index),
        ("texts", memory.resident_text),
        ("words", memory.words),
        ("meaning", memory.meaning),
        ("database", memory.store),
        ("other", memory.other.unwrap_or(0)),
    ];
    let parts = parts.iter().filter(|(_, bytes)| *bytes > 0);
    let parts: Vec<String> =
        parts.map(|(name, bytes)| format!("{name} {}", megabytes(*bytes))).collect();
    match memory.total {
        Some(total) => format!("{}: {}", megabytes(total), parts.join(", ")),
        None => parts.join(", "),
    }
}

/// The state of the search, in words.
fn knowledge(state: Option<&KnowledgeState>) -> String {
    let Some(state) = state else { return "not shown".to_owned() };
    let words = match state.notes {
        0 => "read at the first search".to_owned(),
        notes => format!("words of {}", crate::note::counted::counted(notes, "note")),
    };
    let meaning = match (&state.model, state.meaning_pending, state.notes) {
        (None, ..) => "; meaning off".to_owned(),
        (Some(_), true, 0) => String::new(),
        (Some(model), true, _) => {
            format!("; meaning by {model} is being read, {} chunks so far", state.chunks)
        }
        (Some(model), false, _) => {
            format!(
                "; meaning of {} by {model}",
                crate::note::counted::counted(state.chunks, "chunk")
            )
        }
    };
    let pdfs = state
        .pdfs
        .filter(|pdfs| *pdfs > 0)
        .map(|pdfs| format!("; text of {}", crate::note::counted::counted(pdfs, "PDF")));
    let better = state.better.as_ref().map(|state| format!("; {}", better(state)));
    let better = better.unwrap_or_default();
    words + &meaning + &better + &pdfs.unwrap_or_default()
}

/// The progress of the installed model, in words.
pub(super) fn better(BetterState { model, state, read, all, paused }: &BetterState) -> String {
    match (state, paused) {
        (BetterModel::Ready, _) if read >= all => format!("{model} has read all {all} notes"),
        (BetterModel::Ready, None) => {
            format!("{model} has read {read} of {all} notes, in the background")
        }
        (BetterModel::Ready, Some(Pause::Battery)) => {
            format!("{model} has read {read} of {all} notes, paused while on battery")
        }
        (BetterModel::Missing, _) => {
            format!("{model} is not installed: `steward models add minilm`")
        }
        (BetterModel::Damaged, _) => {
            format!("{model} is damaged: `steward models add minilm` installs it again")
        }
    }
}

pub(super) fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn smarthole(state: &SmartHoleState) -> String {
    let mut words = match state.state {
        SmartHoleConnection::Disabled => "off".to_owned(),
        SmartHoleConnection::Connecting => "connecting".to_owned(),
        SmartHoleConnection::Connected => format!("connected, as `{}`", state.name),
        SmartHoleConnection::Refused => format!("refused: {}", state.reason),
        SmartHoleConnection::Disconnected => format!("not connected: {}", state.reason),
    };
    if state.waiting > 0 {
        words.push_str(&format!("; {} waiting", state.waiting));
    }
    if state.set_aside > 0 {
        words.push_str(&format!("; {} set aside, see `steward inbox`", state.set_aside));
    }
    words
}

fn mode(mode: Option<&ModeResult>) -> String {
    match mode {
        Some(mode) if mode.set_live => format!("{}, set by `steward mode`", mode.mode),
        Some(mode) => format!("{}, as in the settings", mode.mode),
        None => "not known, so nothing is changed".to_owned(),
    }
}

pub fn confined(confinement: &Confinement) -> String {
    let state = match confinement.state {
        ConfinementState::Full => {
            "writes only to its vault, its own folders, guests' folders and the trash; connects only to port 443 and the ports of models, servers, guests and SmartHole"
        }
        ConfinementState::Partial => "in part",
        ConfinementState::Off => "no",
        ConfinementState::NotPossible => "not possible here",
    };
    if confinement.lacks.is_empty() {
        state.to_owned()
    } else {
        format!("{state}: {}", confinement.lacks.join("; "))
    }
}

/// The error in the settings file, with its location.
pub fn settings_problem(problem: &ConfigProblem) -> String {
    match (problem.line, problem.column) {
        (Some(line), Some(column)) => {
            format!("{}:{line}:{column}: {}", problem.file, problem.message)
        }
        _ => problem.message.clone(),
    }
}

/// The state that the running daemon reports; `None` if none answers.
pub fn ask(running: &Running, state: &Path) -> Result<Option<StatusResult>> {
    session::ask_running(running, state, &StatusParams {}, false)
}
