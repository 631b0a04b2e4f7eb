//! The lifecycle of one server: started at its first use, ended when idle, restarted with a delay
//! after a failure.

#![expect(clippy::disallowed_methods, reason = "the folder of a server, in the state folder")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Url;

use super::connection::{Connection, WaitLimits};
use super::fault::Fault;
use super::oauth::Tokens;
use super::offer::Described;
use super::pin::Pin;
use super::remote::Target;
use super::settings::ServerEntry;
use super::{Inner, Reference, START_SECONDS};
use crate::hooks::program_path::{at_home, in_vault};
use crate::locks::lock;

/// The time without a call after which a server is ended.
const IDLE: Duration = Duration::from_secs(600);

/// The most calls of one server in flight.
const MAX_CALLS: usize = 4;

/// The longest delay before a repeatedly failing server is restarted, in seconds.
const MAX_BACK_OFF: u64 = 60;

/// The limits on a server's open files, and on its processes and threads.
const MAX_FILES: &str = "256";
const MAX_PROCESSES: &str = "256";

static RUNS: AtomicU64 = AtomicU64::new(0);

/// A server and its state.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// Held during a start.
    state: Mutex<SlotState>,
    calls: AtomicUsize,
    withheld: Mutex<BTreeSet<String>>,
}

#[derive(Debug, Default)]
struct SlotState {
    running: Option<RunningServer>,
    used: Duration,
    failures: u32,
    /// When it may be restarted, and why not earlier.
    backed_off: Option<(Duration, String)>,
}

/// A running server with the tools that it listed.
#[derive(Debug, Clone)]
pub(super) struct RunningServer {
    pub connection: Arc<Connection>,
    pub tools: Vec<Described>,
}

impl Slot {
    /// The running server, or a new one. `pin` lists its allowed tools.
    pub fn connected(
        &self,
        all: &Inner,
        server: &str,
        entry: &ServerEntry,
        pin: Option<&Pin>,
        withdrawn: &dyn Fn() -> bool,
    ) -> Result<RunningServer, Fault> {
        let mut state = lock(&self.state);
        let now = (all.clock)();
        state.used = now;
        self.note_end(&mut state, now);
        if let Some(running_server) = &state.running {
            if running_server.connection.is_stale() {
                let limits = WaitLimits { seconds: START_SECONDS, withdrawn };
                let tools = list_tools(&running_server.connection, &limits)?;
                state.running = Some(RunningServer {
                    connection: Arc::clone(&running_server.connection),
                    tools,
                });
            }
            return state.running.clone().ok_or_else(|| Fault::Unknown(server.to_owned()));
        }
        if let Some((until, why)) = state.backed_off.as_ref().filter(|(until, _)| *until > now) {
            let seconds = (*until - now).as_millis().div_ceil(1_000);
            let seconds = u64::try_from(seconds).unwrap_or(MAX_BACK_OFF);
            let (server, why) = (server.to_owned(), why.clone());
            return Err(Fault::Resting { server, why, seconds });
        }
        if !pin.is_some_and(|pin| pin.has_program_of(entry)) {
            let why = "its program differs from the one that a person allowed".to_owned();
            let (server, tool) = (server.to_owned(), entry.command.clone());
            return Err(Fault::Withheld { server, tool, why });
        }
        self.start(all, server, entry, &mut state, withdrawn)
    }

    /// The running server or a new one, with a new list of all its tools.
    pub fn fresh(
        &self,
        all: &Inner,
        server: &str,
        entry: &ServerEntry,
        withdrawn: &dyn Fn() -> bool,
    ) -> Result<RunningServer, Fault> {
        let mut state = lock(&self.state);
        let now = (all.clock)();
        state.used = now;
        self.note_end(&mut state, now);
        match &state.running {
            Some(running_server) => {
                let limits = WaitLimits { seconds: START_SECONDS, withdrawn };
                let tools = list_tools(&running_server.connection, &limits)?;
                let running_server =
                    RunningServer { connection: Arc::clone(&running_server.connection), tools };
                state.running = Some(running_server.clone());
                Ok(running_server)
            }
            None => self.start(all, server, entry, &mut state, withdrawn),
        }
    }

    fn start(
        &self,
        all: &Inner,
        server: &str,
        entry: &ServerEntry,
        state: &mut SlotState,
        withdrawn: &dyn Fn() -> bool,
    ) -> Result<RunningServer, Fault> {
        let limits = WaitLimits { seconds: START_SECONDS, withdrawn };
        let opened = match &entry.url {
            Some(url) => {
                let target = target(all, server, url, entry)?;
                let tokens = tokens(all, server, target.url(), entry);
                Connection::reach(server, target.with_tokens(tokens), &limits)
            }
            None => {
                let command = command(all, server, entry)?;
                let now = chrono::Utc::now().timestamp_micros();
                let number = RUNS.fetch_add(1, Ordering::Relaxed);
                let mark = format!("{}-{now}-{number}", std::process::id());
                let log = all.sandbox.folder.join(format!("{server}.log"));
                let command = (command, entry.memory_mb);
                Connection::open(server, command, mark, &log, &limits)
            }
        };
        let started =
            opened.and_then(|connection| Ok((list_tools(&connection, &limits)?, connection)));
        match started {
            Ok((tools, connection)) => {
                let running_server = RunningServer { connection: Arc::new(connection), tools };
                state.running = Some(running_server.clone());
                Ok(running_server)
            }
            Err(fault) => {
                // Waiting for a person is not a failure.
                if !matches!(fault, Fault::Withdrawn | Fault::SignIn { .. }) {
                    back_off(state, (all.clock)(), &fault.to_string());
                }
                // The caller gets the error.
                tracing::info!(server, %fault, "a server could not be used");
                Err(fault)
            }
        }
    }

    /// Notes that a call has ended, with this fault.
    pub fn used(&self, all: &Inner, fault: Option<&Fault>) {
        let mut state = lock(&self.state);
        let now = (all.clock)();
        state.used = now;
        match fault {
            None | Some(Fault::Refused { .. }) => state.failures = 0,
            // It had no effect, so it is repeated at once.
            Some(Fault::Forgotten(_)) => {
                state.running.take_if(|running_server| running_server.connection.ended().is_some());
            }
            Some(_) => self.note_end(&mut state, now),
        }
    }

    /// Removes a server that has exited, and delays its next start.
    fn note_end(&self, state: &mut SlotState, now: Duration) {
        let ended =
            state.running.as_ref().and_then(|running_server| running_server.connection.ended());
        if let Some(why) = ended {
            state.running = None;
            back_off(state, now, &why);
            tracing::warn!(why, "a server was ended");
        }
    }

    /// Ends the server if it is idle.
    pub fn end_if_idle(&self, now: Duration) {
        // One that is being started is not idle.
        let Ok(mut state) = self.state.try_lock() else { return };
        let is_idle = now.saturating_sub(state.used) >= IDLE;
        if !is_idle || self.calls.load(Ordering::Relaxed) > 0 {
            return;
        }
        if let Some(running_server) = state.running.take() {
            drop(state);
            running_server.connection.end(Duration::from_secs(2));
        }
    }

    /// Ends the server after giving it time to exit.
    pub fn end(&self, timeout: Duration) {
        if let Some(running_server) = lock(&self.state).running.take() {
            running_server.connection.end(timeout);
        }
    }

    /// Whether the server runs.
    #[cfg(test)]
    pub fn is_running(&self) -> bool {
        let is_there = |running_server: &RunningServer| running_server.connection.ended().is_none();
        lock(&self.state).running.as_ref().is_some_and(is_there)
    }

    /// Stops offering a tool.
    pub fn withhold(&self, tool: &str) {
        lock(&self.withheld).insert(tool.to_owned());
    }

    /// The withheld tools.
    pub fn withheld(&self) -> BTreeSet<String> {
        lock(&self.withheld).clone()
    }

    /// Offers all tools again.
    pub fn forget_withheld(&self) {
        lock(&self.withheld).clear();
    }
}

/// A call in flight.
pub(super) struct InFlight<'a> {
    slot: &'a Slot,
    all: Arc<AtomicUsize>,
}

impl<'a> InFlight<'a> {
    /// Reserves a slot of this server, and one of `most` of all servers; `None` if none is free.
    pub fn begin(slot: &'a Slot, all: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        let one = Self { slot, all: Arc::clone(all) };
        let of_server = slot.calls.fetch_add(1, Ordering::Relaxed);
        let of_all = one.all.fetch_add(1, Ordering::Relaxed);
        (of_server < MAX_CALLS && of_all < most).then_some(one)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.slot.calls.fetch_sub(1, Ordering::Relaxed);
        self.all.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Postpones the next start: 1, 2, 4 and so on to 60 seconds.
fn back_off(state: &mut SlotState, now: Duration, why: &str) {
    let seconds = 1_u64.checked_shl(state.failures).unwrap_or(MAX_BACK_OFF).min(MAX_BACK_OFF);
    state.failures = (state.failures + 1).min(10);
    state.backed_off = Some((now + Duration::from_secs(seconds), why.to_owned()));
}

fn list_tools(connection: &Connection, limits: &WaitLimits<'_>) -> Result<Vec<Described>, Fault> {
    Ok(connection.tools(limits)?.iter().filter_map(Described::read).collect())
}

/// The address of a server, with the values that its headers refer to.
pub(super) fn target(
    all: &Inner,
    server: &str,
    url: &str,
    entry: &ServerEntry,
) -> Result<Target, Fault> {
    let value = |(name, value): (&String, &String)| match resolved(value, all) {
        Ok(value) => Ok((name.clone(), value)),
        Err(missing) => Err(Fault::NoValue { server: server.to_owned(), name: missing }),
    };
    let headers = entry.headers.iter().map(value).collect::<Result<Vec<_>, _>>()?;
    Target::new(url, &headers).map_err(|name| Fault::NoHeader { server: server.to_owned(), name })
}

/// The tokens of a sign-in at a server at this address.
pub(super) fn tokens(all: &Inner, server: &str, url: &Url, entry: &ServerEntry) -> Tokens {
    Tokens::new(server, url, entry.oauth.issuer(), Arc::clone(&all.logins))
}

/// The command, prepared: confined where the system can do it, in its own folder.
fn command(all: &Inner, server: &str, entry: &ServerEntry) -> Result<Command, Fault> {
    let sandbox = &all.sandbox;
    if let Some(path) = in_vault(&entry.line(), &sandbox.vault) {
        return Err(Fault::InVault(path));
    }
    let own = sandbox.folder.join(server);
    let temporary = own.join("tmp");
    std::fs::create_dir_all(&temporary)
        .map_err(|source| Fault::Place { server: server.to_owned(), source })?;
    let program = at_home(&entry.command);
    let args = entry.args.iter().map(|part| at_home(part));
    let mut command = match &sandbox.confines {
        Some(steward) => {
            let mut command = Command::new(steward);
            command.args(["confined", "--best-effort", "--max-files", MAX_FILES]);
            command.args(["--max-processes", MAX_PROCESSES]);
            for hidden in sandbox.hidden.iter().chain([&sandbox.vault]) {
                command.arg("--hide").arg(hidden);
            }
            command.arg("--write").arg(&own);
            if entry.network {
                command.arg("--network");
            }
            command.arg("--").arg(&program).args(args);
            command
        }
        None => {
            let mut command = Command::new(&program);
            command.args(args);
            command
        }
    };
    command.env_clear().current_dir(&own).envs(environment(&own, &temporary, &program));
    for (name, value) in &entry.env {
        let resolved = resolved(value, all)
            .map_err(|missing| Fault::NoValue { server: server.to_owned(), name: missing })?;
        command.env(name, resolved);
    }
    Ok(command)
}

/// The variables that every server has. Caches are below its home.
fn environment(own: &PathBuf, temporary: &PathBuf, program: &Path) -> Vec<(OsString, OsString)> {
    let mut path = OsString::new();
    // Programs find their companions next to them, such as npx its node.
    if let Some(folder) = program.parent() {
        path.push(folder);
        path.push(if cfg!(windows) { ";" } else { ":" });
    }
    #[cfg(not(windows))]
    path.push(crate::hooks::program_path::PLAIN_PATH);
    #[cfg(windows)]
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let lang = std::env::var_os("LANG").unwrap_or_else(|| "C.UTF-8".into());
    let temporary_variable = if cfg!(windows) { "TEMP" } else { "TMPDIR" };
    let home = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
    let mut environment: Vec<(OsString, OsString)> = vec![
        ("PATH".into(), path),
        ("LANG".into(), lang),
        (home.into(), own.into()),
        (temporary_variable.into(), temporary.into()),
    ];
    if cfg!(windows) {
        let root = std::env::var_os("SystemRoot");
        environment.extend(root.map(|root| ("SystemRoot".into(), root)));
        // npm and Python keep their caches and settings there.
        environment.push(("APPDATA".into(), own.into()));
        environment.push(("LOCALAPPDATA".into(), own.into()));
    }
    environment
}

/// A value of `env` or `headers` with the values that it refers to.
///
/// # Errors
/// The reference that has no value.
pub(super) fn resolved(value: &str, all: &Inner) -> Result<String, String> {
    let (mut text, mut rest) = (String::new(), value);
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else { break };
        let reference = Reference::read(name).ok_or_else(|| name.to_owned())?;
        text.push_str(before);
        text.push_str(&(all.values)(reference).ok_or_else(|| name.to_owned())?);
        rest = behind;
    }
    text.push_str(rest);
    Ok(text)
}
