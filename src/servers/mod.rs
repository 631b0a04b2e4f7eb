//! Third-party MCP servers as tools: starting, calling and ending them.
//!
//! Floor 6. It creates a [`Definition`](crate::tools::Definition) for each tool and does not know
//! callers: `calls` judges each call like any other, and asks a person. Like hooks, servers come
//! from the settings file alone. A server is a program that we start, or one at an address that we
//! reach over HTTP.
//!
//! Invariants: a server runs without a shell, confined where the system can, in a folder of this
//! program, with few environment variables; it is started at its first use and ended when idle;
//! everything that it sends is limited, and a server that exceeds a limit is ended with everything
//! it started. A tool is offered only with the description that a person has allowed ([`pin`]).
//!
//! In reading order: [`settings`], [`offer`] and [`pin`] (descriptions), `process`, `replies`, [`oauth`] (tokens),
//! `runtime`, `param_headers` and `remote` (HTTP), [`elicitation`] (questions to the user), `connection`, `slot` (one server
//! over time), `answers`, this file, `login`, `foreign_tools`, [`fault`].

mod answers;
mod connection;
pub mod elicitation;
pub mod fault;
mod foreign_tools;
#[cfg(test)]
mod http_tests;
mod login;
pub mod oauth;
pub mod offer;
mod param_headers;
pub mod pin;
mod process;
mod remote;
mod replies;
mod runtime;
pub mod settings;
mod slot;
#[cfg(all(test, unix))]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, SystemTime};

use crate::locks::lock;

use arc_swap::ArcSwap;
use serde_json::Value;

use answers::Answers;
use connection::WaitLimits;
use elicitation::{Ask, Elicitation, ServerCall};
pub use fault::Fault;
use oauth::stored::Logins;
use offer::Described;
use pin::Pin;
pub use settings::{ServerEntry, Settings};
use slot::{InFlight, Slot};

/// The time limit of a start, the list of tools included, in seconds.
const START_SECONDS: u64 = 10;

/// The most calls of all servers in flight.
const MAX_CALLS: usize = 16;

/// How long servers may take to exit when the steward does.
const LAST: Duration = Duration::from_millis(300);

/// A monotonic clock.
pub type Clock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// A value of `env` or `headers` that is kept elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference<'a> {
    /// `${env:X}`: a variable of the steward's environment.
    Environment(&'a str),
    /// `${key:X}`: a key file next to the settings.
    Key(&'a str),
}

impl<'a> Reference<'a> {
    /// Parses the text between `${` and `}`.
    pub fn read(name: &'a str) -> Option<Self> {
        match name.split_once(':')? {
            ("env", name) => Some(Self::Environment(name)),
            ("key", name) => Some(Self::Key(name)),
            _ => None,
        }
    }
}

impl std::fmt::Display for Reference<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Environment(name) => write!(f, "env:{name}"),
            Self::Key(name) => write!(f, "key:{name}"),
        }
    }
}

/// Finds values of `env` and `headers` that are kept elsewhere.
pub type Values = Box<dyn Fn(Reference<'_>) -> Option<String> + Send + Sync>;

/// Where servers run, and what they cannot access.
#[derive(Debug, Clone)]
pub struct ServerSandbox {
    /// Canonical.
    pub vault: PathBuf,
    /// The folder of servers in the vault's state folder: a folder for each, with its log and pin
    /// next to it.
    pub folder: PathBuf,
    /// Folders that no server may read, in addition to the vault.
    pub hidden: Vec<PathBuf>,
    /// The program with the subcommand `confined`; `None` where the system cannot confine programs.
    pub confines: Option<PathBuf>,
}

/// The servers of one vault. Clones share them; dropping the last one ends them.
#[derive(Clone)]
pub struct Servers(Arc<Inner>);

struct Inner {
    settings: ArcSwap<Settings>,
    sandbox: ServerSandbox,
    values: Values,
    logins: Arc<dyn Logins>,
    /// Asks the user the servers' questions.
    ask: OnceLock<Arc<dyn Ask>>,
    clock: Clock,
    slots: Mutex<HashMap<String, Arc<Slot>>>,
    calls: Arc<AtomicUsize>,
    answers: Answers,
    /// Counts changes of the offered tools that change no file.
    tool_changes: AtomicU64,
    /// The state at the last call of `tools_changed`.
    last_revision: Mutex<Option<Revision>>,
}

#[derive(PartialEq, Eq)]
struct Revision {
    tool_changes: u64,
    pins: Option<SystemTime>,
}

impl std::fmt::Debug for Servers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Servers").field("sandbox", &self.0.sandbox).finish_non_exhaustive()
    }
}

impl Servers {
    /// The servers of these settings. Starts none.
    pub fn new(
        settings: Settings,
        sandbox: ServerSandbox,
        values: Values,
        logins: Arc<dyn Logins>,
        clock: Clock,
    ) -> Self {
        Self(Arc::new(Inner {
            settings: ArcSwap::from_pointee(settings),
            sandbox,
            values,
            logins,
            ask: OnceLock::new(),
            clock,
            slots: Mutex::default(),
            calls: Arc::default(),
            answers: Answers::default(),
            tool_changes: AtomicU64::new(0),
            last_revision: Mutex::new(None),
        }))
    }

    /// Sets who asks the user the servers' questions; until then they are refused.
    pub fn set_ask(&self, ask: Arc<dyn Ask>) {
        let _ = self.0.ask.set(ask);
    }

    /// Replaces the settings; a server whose entry has changed is ended.
    pub fn replace(&self, settings: Settings) {
        let before = self.0.settings.swap(Arc::new(settings));
        let now = self.0.settings.load();
        if **now == *before {
            return;
        }
        self.0.tool_changes.fetch_add(1, Ordering::Relaxed);
        let is_other = |name: &str| {
            let process = |settings: &Settings| {
                let entry = settings.entries.get(name).filter(|entry| entry.enabled)?;
                let gets = (entry.env.clone(), entry.headers.clone());
                Some((entry.line(), gets, entry.network, entry.memory_mb))
            };
            process(&before) != process(&now)
        };
        let mut slots = lock(&self.0.slots);
        let others: Vec<String> = slots.keys().filter(|name| is_other(name)).cloned().collect();
        let ended: Vec<Arc<Slot>> = others.iter().filter_map(|name| slots.remove(name)).collect();
        drop(slots);
        // May wait for a start in progress.
        std::thread::spawn(move || ended.iter().for_each(|slot| slot.end(LAST)));
    }

    /// The settings in effect.
    pub fn settings(&self) -> Arc<Settings> {
        self.0.settings.load_full()
    }

    /// The folder with pins and logs.
    pub fn place(&self) -> &Path {
        &self.0.sandbox.folder
    }

    /// The log of a server: what it wrote to standard error.
    pub fn log(&self, server: &str) -> PathBuf {
        self.place().join(format!("{server}.log"))
    }

    /// Starts a server if needed, and lists its tools. Blocks.
    pub fn list(&self, server: &str) -> Result<Vec<Described>, Fault> {
        let entry = self.entry(server)?;
        Ok(self.slot(server).fresh(&self.0, server, &entry, &|| false)?.tools)
    }

    /// Calls a tool whose definition has this `sha256`, as a person has allowed it, for a conversation. Blocks.
    ///
    /// # Errors
    /// The server cannot be used, or its description of the tool has changed.
    pub fn call(
        &self,
        server: &str,
        tool: &str,
        sha256: &str,
        arguments: &Value,
        conversation: Option<String>,
        withdrawn: &dyn Fn() -> bool,
    ) -> Result<Value, Fault> {
        let entry = self.entry(server)?;
        let slot = self.slot(server);
        let _in_flight = InFlight::begin(&slot, &self.0.calls, MAX_CALLS)
            .ok_or_else(|| Fault::Busy(server.to_owned()))?;
        let pin = Pin::load(self.place(), server);
        let limits = WaitLimits { seconds: u64::from(entry.timeout_seconds), withdrawn };
        let once = || {
            let known = slot.connected(&self.0, server, &entry, pin.as_ref(), withdrawn)?;
            let tool = self.allowed_now(&slot, server, &known.tools, tool, sha256)?;
            let ask = self.0.ask.get().map(|ask| &**ask);
            let call = ServerCall { server, tool: &tool.name, arguments };
            let elicitation = Elicitation::new(call, conversation.clone(), ask, withdrawn);
            let answer = known.connection.call(tool, arguments, &limits, &elicitation);
            slot.used(&self.0, answer.as_ref().err());
            answer
        };
        match once() {
            Err(Fault::Forgotten(_)) => once(),
            answer => answer,
        }
    }

    /// The server's current description of a tool, if a person has allowed it.
    fn allowed_now<'a>(
        &self,
        slot: &Slot,
        server: &str,
        tools: &'a [Described],
        tool: &str,
        sha256: &str,
    ) -> Result<&'a Described, Fault> {
        let why = match tools.iter().find(|one| one.name == tool) {
            Some(now) if now.sha256 == sha256 => return Ok(now),
            Some(_) => "its description differs from the one that a person allowed",
            None => "the server no longer has this tool",
        };
        slot.withhold(tool);
        self.0.tool_changes.fetch_add(1, Ordering::Relaxed);
        let (server, tool) = (server.to_owned(), tool.to_owned());
        Err(Fault::Withheld { server, tool, why: why.to_owned() })
    }

    /// Ends servers that were not used for ten minutes. Call it periodically; may block.
    pub fn end_idle(&self) {
        let slots: Vec<Arc<Slot>> = lock(&self.0.slots).values().cloned().collect();
        let now = (self.0.clock)();
        slots.iter().for_each(|slot| slot.end_if_idle(now));
    }

    /// The servers that run now.
    #[cfg(test)]
    pub fn running(&self) -> Vec<String> {
        let is_running =
            |(name, slot): (&String, &Arc<Slot>)| slot.is_running().then(|| name.clone());
        let mut running: Vec<String> = lock(&self.0.slots).iter().filter_map(is_running).collect();
        running.sort();
        running
    }

    /// Ends all servers. Blocks briefly.
    pub fn end(&self) {
        self.0.end();
    }

    fn entry(&self, server: &str) -> Result<ServerEntry, Fault> {
        let entry = self.entry_of(server)?;
        if entry.enabled { Ok(entry) } else { Err(Fault::Disabled(server.to_owned())) }
    }

    /// The entry of a server, even of a disabled one.
    fn entry_of(&self, server: &str) -> Result<ServerEntry, Fault> {
        let entry = self.settings().entries.get(server).cloned();
        entry.ok_or_else(|| Fault::Unknown(server.to_owned()))
    }

    fn slot(&self, server: &str) -> Arc<Slot> {
        Arc::clone(lock(&self.0.slots).entry(server.to_owned()).or_default())
    }

    /// The allowed tools of each enabled server, without those found changed.
    fn allowed(&self) -> BTreeMap<String, Vec<Described>> {
        let settings = self.settings();
        let enabled = settings.entries.iter().filter(|(_, entry)| entry.enabled);
        let tools = enabled.filter_map(|(name, entry)| {
            let pin = Pin::load(self.place(), name).filter(|pin| pin.is_of(entry))?;
            let withheld =
                lock(&self.0.slots).get(name).map(|slot| slot.withheld()).unwrap_or_default();
            let tools = pin.tools.into_iter().filter(|(tool, _)| !withheld.contains(tool));
            let tools = tools.filter_map(|(_, pinned)| Described::read(&pinned.tool));
            Some((name.clone(), tools.collect()))
        });
        tools.collect()
    }

    /// Whether the offered tools may have changed since the last call; true at the first.
    fn tools_changed(&self) -> bool {
        // Writing or removing a pin changes its folder. One stat costs microseconds.
        #[expect(clippy::disallowed_methods, reason = "our own folder in the state folder")]
        let pins = std::fs::metadata(self.place()).and_then(|meta| meta.modified()).ok();
        let now = Revision { tool_changes: self.0.tool_changes.load(Ordering::Relaxed), pins };
        let mut last_revision = lock(&self.0.last_revision);
        if last_revision.as_ref() == Some(&now) {
            return false;
        }
        if last_revision.as_ref().is_some_and(|last_revision| last_revision.pins != now.pins) {
            // Tools that a person has allowed since are no longer withheld.
            lock(&self.0.slots).values().for_each(|slot| slot.forget_withheld());
        }
        *last_revision = Some(now);
        true
    }
}

impl Inner {
    fn end(&self) {
        let slots: Vec<Arc<Slot>> = {
            let mut slots = lock(&self.slots);
            slots.drain().map(|(_, slot)| slot).collect()
        };
        // In parallel, so that none waits for the others.
        std::thread::scope(|scope| {
            for slot in &slots {
                scope.spawn(|| slot.end(LAST));
            }
        });
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.end();
    }
}
