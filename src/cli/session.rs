//! The settings and the vault of one run, accessed through the running daemon or, without one, in
//! this process. The answer is the same.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Map, Value};

use super::client::{self, Client, ClientError};
use super::failure::{Failure, Result};
use super::logging::{self, Log};
use super::output::Output;
use super::progress::Progress;
use super::server_questions::OnTerminal;
use super::{consent, paint, words};
use crate::calls::{Calls, Outcome, Request};
use crate::config::folders::{self, Folders};
use crate::config::layers::{self, Flags, Settings};
use crate::config::live::Live;
use crate::config::log::Level;
use crate::config::obsidian::{self, KnownVaults};
use crate::config::quoting::quoted;
use crate::config::running::Running;
use crate::config::vaults::{self, Choice};
use crate::config::{Config, ConfigError, Environment};
use crate::daemon::{self, tool_servers};
use crate::methods::events;
use crate::policy::{Caller, Scope};
use crate::protocol::error::ErrorObject;
use crate::protocol::events::{JobInfo, JobParams};
use crate::protocol::tools::{CallMeta, CallVaultMeta, Content, ToolsCallParams};
use crate::protocol::version::Version;
use crate::protocol::{MethodParams, NotificationParams};
use crate::server::events::Event;
use crate::server::token::Token;
use crate::servers::Servers;
use crate::store::Store;
use crate::tools::{Answer, Context, Registry, Tier};
use crate::vault::Cancel;

/// The abilities of a command while the settings file has errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrongSettings {
    /// Nothing.
    Fail,
    /// Only ask the running daemon, which uses the settings that it read before.
    AskDaemon,
    /// Everything.
    Work,
}

/// The context that every command needs.
#[derive(Debug)]
pub struct Session {
    pub environment: Environment,
    /// The steward's own folders.
    pub folders: Folders,
    pub settings: Settings,
    /// The error in the settings file. Then `settings` are the defaults, and only the running
    /// daemon may be used: it has the settings that it read before.
    pub fault: Option<Failure>,
    pub flags: Flags,
    pub log: Log,
    /// Obsidian's own configuration.
    pub known: KnownVaults,
    pub output: Output,
    /// The selected vault, once it was selected.
    root: OnceLock<PathBuf>,
}

impl Session {
    /// Reads settings and environment, starts the log (with the level `usual` if none is set), and
    /// prints notices.
    pub fn start(flags: Flags, usual: Level, wrong: WrongSettings, output: Output) -> Result<Self> {
        let environment = Environment::of_process();
        let folders = folders::folders(&environment)?;
        let (settings, fault) = match layers::load(&flags, &environment, &folders) {
            Ok(settings) => (settings, None),
            Err(error @ ConfigError::Fault { .. }) if wrong != WrongSettings::Fail => {
                match layers::fallback(&flags, &environment, &folders) {
                    Some(settings) => (settings, Some(Failure::from(error))),
                    None => return Err(error.into()),
                }
            }
            Err(error) => return Err(error.into()),
        };
        let log = logging::start(&settings.config.log, usual, &output);
        settings.notices.iter().for_each(|notice| output.notice(notice));
        let known = obsidian::known_vaults(&environment);
        for (list, reason) in &known.faults {
            tracing::warn!(list = %list.display(), reason, "could not use Obsidian's list of vaults");
        }
        let root = OnceLock::new();
        let mut session =
            Self { environment, folders, settings, fault, flags, log, known, output, root };
        if let Some(fault) = session.fault.take() {
            let served = session.choose().ok().filter(|one| session.running(&one.root).is_some());
            if served.is_none() && wrong != WrongSettings::Work {
                return Err(fault);
            }
            output.notice(&format!(
                "the settings file has an error and is ignored: {}",
                fault.message
            ));
            session.fault = Some(fault);
        }
        Ok(session)
    }

    /// The settings, for work in this process.
    pub fn config(&self) -> Result<&Config> {
        match &self.fault {
            Some(fault) => Err(fault.clone()),
            None => Ok(&self.settings.config),
        }
    }

    /// The selected vault, without printing notices.
    pub fn choose(&self) -> Result<Choice> {
        Ok(vaults::choose(
            self.settings.vault.clone(),
            &self.environment,
            &self.folders,
            &self.known,
        )?)
    }

    /// The selected vault. The first time, prints that its daemon is of another version; without a daemon, the notices
    /// of the choice.
    pub fn vault(&self) -> Result<&Path> {
        if let Some(root) = self.root.get() {
            return Ok(root);
        }
        let choice = self.choose()?;
        match self.running(&choice.root) {
            // The daemon printed the notices when it started.
            Some((running, _)) => {
                skew(&running.version).iter().for_each(|notice| self.output.notice(notice));
            }
            None => choice.notices.iter().for_each(|notice| self.output.notice(notice)),
        }
        Ok(self.root.get_or_init(|| choice.root))
    }

    /// Like [`Session::vault`], with the notices of the choice alone.
    pub fn chosen(&self) -> Result<PathBuf> {
        let choice = self.choose()?;
        choice.notices.iter().for_each(|notice| self.output.notice(notice));
        Ok(choice.root)
    }

    /// The daemon of the vault at `root`, and its state folder.
    pub fn running(&self, root: &Path) -> Option<(Running, PathBuf)> {
        Running::find(&self.folders, root)
    }

    /// The settings of a daemon, and the source of later changes.
    pub fn live(&self) -> Live {
        let (_, named) = layers::which_file(&self.flags, &self.environment, &self.folders);
        let (flags, environment) = (self.flags.clone(), self.environment.clone());
        Live::new(self.settings.clone(), named, flags, environment)
    }
}

/// The notice that the daemon is of the version `daemon`, if that is not this program's.
pub fn skew(daemon: &str) -> Option<String> {
    let (own, theirs) = (Version::own(), Version::parse(daemon)?);
    match theirs.cmp(&own) {
        Ordering::Less => Some(format!(
            "the daemon is version {theirs}, older than this program, {own}; `steward service restart` starts the \
             new one"
        )),
        Ordering::Greater => Some(format!(
            "this program is version {own}, older than the daemon, {theirs}; `steward doctor` says which program \
             this is"
        )),
        Ordering::Equal => None,
    }
}

/// How long a change in this process waits for another process's change.
const PATIENCE: Duration = Duration::from_secs(5);

/// How to call a tool.
#[derive(Debug, Clone, Copy, Default)]
pub struct CallOptions {
    /// In this process, even if a daemon is running.
    pub direct: bool,
    /// A person has approved the call.
    pub confirmed: bool,
    /// Only report what the call would do.
    pub dry_run: bool,
    /// A plan whose job is shown as it proceeds.
    pub plan: Option<u64>,
}

impl CallOptions {
    /// The default way; `confirmed` if a person has approved.
    pub fn agreed(confirmed: bool) -> Self {
        Self { confirmed, ..Self::default() }
    }
}

impl Session {
    /// Calls a tool that only reads; see [`Self::call_with`].
    pub fn call(&self, name: &str, arguments: Value) -> Result<Answer<Value>> {
        self.call_with(name, arguments, CallOptions::default())
    }

    /// Calls the existing tool `name` with an object of arguments, leaving out those that are null.
    pub fn call_with(
        &self,
        name: &str,
        arguments: Value,
        options: CallOptions,
    ) -> Result<Answer<Value>> {
        let Value::Object(mut arguments) = arguments else {
            unreachable!("arguments are an object")
        };
        arguments.retain(|_, value| !value.is_null());
        self.call_as_given(name, arguments, options)
    }

    /// Calls a tool that only reads, and prints its answer.
    pub fn print(&self, name: &str, arguments: Value) -> Result<()> {
        self.print_answer(&self.output, &self.call(name, arguments)?)
    }

    /// Calls a tool and prints its answer.
    pub fn print_with(&self, name: &str, arguments: Value, options: CallOptions) -> Result<()> {
        self.print_answer(&self.output, &self.call_with(name, arguments, options)?)
    }

    /// Prints a tool's answer, adapted to the command line.
    pub fn print_answer(&self, output: &Output, answer: &Answer<Value>) -> Result<()> {
        let text = paint::differences(output, &words::answer(&answer.text));
        output.answer(&answer.data, text)
    }

    /// Calls a tool with these arguments.
    pub fn call_as_given(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        mut options: CallOptions,
    ) -> Result<Answer<Value>> {
        let mut agreed = None;
        let answered = loop {
            match self.call_once(name, arguments.clone(), options, agreed) {
                Err(failure) if consent::can_ask(&failure) => {
                    if !consent::ask(&failure)? {
                        return Err(Failure::other("denied", "nothing was done", ""));
                    }
                    // Applies exactly the changes shown; if they differ by now, the person is asked
                    // again.
                    options.confirmed = true;
                    agreed = failure.identity();
                }
                answered => break answered,
            }
        };
        match answered {
            // The hint is for programs, which approve by an argument.
            Err(failure) if failure.code == "approval_needed" => {
                let hint = "add `--yes`, or run it on a terminal to see the change and be asked";
                Err(Failure { hint: Some(hint.to_owned()), ..failure })
            }
            answered => answered,
        }
    }

    fn call_once(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        options: CallOptions,
        agreed: Option<String>,
    ) -> Result<Answer<Value>> {
        let CallOptions { direct, confirmed, dry_run, plan } = options;
        let progress = plan.map(|plan| (plan, Arc::new(Progress::new())));
        if !direct {
            let meta =
                CallVaultMeta { confirmed, agreed: agreed.clone(), dry_run, ..Default::default() };
            let meta = (meta != CallVaultMeta::default()).then_some(meta);
            let meta = meta.map(|meta| CallMeta { vault: Some(meta) });
            let (name, arguments) = (name.to_owned(), arguments.clone());
            let params = ToolsCallParams { name, arguments, meta };
            let answer = match &progress {
                None => self.ask(&params)?,
                Some((plan, progress)) => self.ask_with_events(&params, &|event| {
                    let job = (event["method"] == JobParams::METHOD)
                        .then(|| serde_json::from_value::<JobInfo>(event["params"].clone()).ok());
                    if let Some(job) = job.flatten().filter(|job| job.plan == *plan) {
                        progress.job(&job);
                    }
                })?,
            };
            if let Some(answer) = answer {
                if answer.is_error {
                    return Err(Failure::of_tool(answer.structured_content));
                }
                let text = answer.content.into_iter().map(|Content::Text { text }| text);
                let text = text.collect::<Vec<_>>().join("\n");
                return Ok(Answer::new(text, answer.structured_content));
            }
        }
        let tool = Registry::built_in().get(name);
        self.with_calls(tool.is_some_and(|tool| tool.tier != Tier::Safe), |calls| {
            if tool.is_none() {
                let servers = self.servers()?;
                servers.set_ask(Arc::new(OnTerminal { is_agreed: confirmed }));
                tool_servers::offer(&servers, calls);
            }
            if let Some((plan, progress)) = progress {
                calls.context().listeners.subscribe(Box::new(move |news| {
                    if let Some(Event::Job(job)) = events::organized(news)
                        && job.plan == plan
                    {
                        progress.job(&job);
                    }
                }));
            }
            let request = Request {
                tool: name.to_owned(),
                arguments: Value::Object(arguments),
                caller: Caller { scope: Scope::Person, name: client::name() },
                confirmed,
                agreed,
                dry_run,
                ..Request::default()
            };
            match calls.call(request, &Cancel::default()) {
                Outcome::Answered(answer) => Ok(answer?.read()),
                Outcome::Ask(_) => unreachable!("a person is never asked through others"),
            }
        })
    }

    /// Sends the running daemon a request; `None` without a daemon.
    pub fn ask<P: MethodParams>(&self, params: &P) -> Result<Option<P::Result>> {
        self.ask_within(params, false)
    }

    /// Like [`Self::ask`], without a time limit.
    pub fn ask_for_long<P: MethodParams>(&self, params: &P) -> Result<Option<P::Result>> {
        self.ask_within(params, true)
    }

    fn ask_within<P: MethodParams>(&self, params: &P, is_long: bool) -> Result<Option<P::Result>> {
        match self.running(self.vault()?) {
            Some((running, state)) => ask_running(&running, &state, params, is_long),
            None => Ok(None),
        }
    }

    /// Like [`Self::ask`]; passes the daemon's events meanwhile to `on_event`.
    fn ask_with_events<P: MethodParams>(
        &self,
        params: &P,
        on_event: &(dyn Fn(&Value) + Sync),
    ) -> Result<Option<P::Result>> {
        match self.running(self.vault()?) {
            Some((running, state)) => exchange(&running, &state, async |client| {
                client.call_with_events(params, on_event).await
            }),
            None => Ok(None),
        }
    }

    /// Sends the running daemon a request, or without one does the `work` in this process. Work that `changes`
    /// something holds the vault's lock.
    pub fn ask_or<P: MethodParams>(
        &self,
        params: &P,
        changes: bool,
        work: impl FnOnce(&Calls) -> Result<P::Result, ErrorObject>,
    ) -> Result<P::Result> {
        match self.ask(params)? {
            Some(answer) => Ok(answer),
            None => self.with_calls(changes, |calls| Ok(work(calls)?)),
        }
    }

    /// Like [`Self::ask_or`], for a work on the steward's own store alone.
    pub fn ask_or_store<P: MethodParams>(
        &self,
        params: &P,
        changes: bool,
        work: impl FnOnce(Store) -> Result<P::Result, ErrorObject>,
    ) -> Result<P::Result> {
        if let Some(answer) = self.ask(params)? {
            return Ok(answer);
        }
        let root = self.vault()?;
        let state = self.folders.prepare(root)?;
        let _lock =
            if changes { Some(daemon::lock(&self.folders, root, &state, PATIENCE)?) } else { None };
        Ok(work(folders::memory(root, &state))?)
    }

    /// The error for what only a daemon can do; its hint is the command that starts one for this vault.
    pub fn needs_daemon(&self, code: &'static str, message: impl Into<String>) -> Failure {
        Failure::other(code, message, format!("start it with `{}`", self.serve_command()))
    }

    /// The command that serves the selected vault, quoted for a shell.
    pub fn serve_command(&self) -> String {
        let mut command = "steward serve".to_owned();
        let root = self.vault().ok();
        for (flag, value) in [("--vault", root), ("--config", self.flags.config.as_deref())] {
            if let Some(value) = value {
                command.push_str(&format!(" {flag} {}", quoted(&value.to_string_lossy())));
            }
        }
        command
    }

    /// Runs `work` with the tools of the vault, in this process.
    pub fn with_calls<T>(
        &self,
        changes: bool,
        work: impl FnOnce(&Calls) -> Result<T>,
    ) -> Result<T> {
        self.here(changes, |context| {
            let state = self.folders.prepare(self.vault()?)?;
            work(&daemon::calls(context.clone(), &state, self.config()?))
        })
    }

    /// Runs `work` on the vault in this process; holds the vault's lock if it `changes` something.
    pub fn here<T>(&self, changes: bool, work: impl FnOnce(&Context) -> Result<T>) -> Result<T> {
        let (root, config) = (self.vault()?, self.config()?);
        let state = self.folders.prepare(root)?;
        // Reading needs no lock; two writers would each rely on a catalogue that the other changes.
        let lock =
            if changes { Some(daemon::lock(&self.folders, root, &state, PATIENCE)?) } else { None };
        let progress = Progress::new();
        let context = daemon::open(root, &state, config, &|n| progress.report(n))?;
        drop(progress);
        context.vault.protect(&self.folders.settings_and_keys(&self.settings.file));
        if lock.is_some() {
            daemon::recover(&context)?;
        }
        let done = work(&context);
        // Background work of a change finishes before the lock is released.
        context.vault.stop();
        done
    }

    /// The servers of the vault's settings, in this process.
    pub fn servers(&self) -> Result<Servers> {
        let root = self.vault()?;
        let state = self.folders.prepare(root)?;
        Ok(tool_servers::servers(root, &state, &self.folders, &self.environment, self.config()?))
    }
}

/// One request to the daemon, on its own connection; `None` if it has ended, and another process
/// may have its id.
pub(super) fn ask_running<P: MethodParams>(
    running: &Running,
    state: &Path,
    params: &P,
    is_long: bool,
) -> Result<Option<P::Result>> {
    exchange(running, state, async |client| {
        if is_long { client.call_for_long(params).await } else { client.call(params).await }
    })
}

fn exchange<T>(
    running: &Running,
    state: &Path,
    ask: impl AsyncFnOnce(&mut Client) -> Result<T, ClientError>,
) -> Result<Option<T>> {
    let token = Token::load_or_create(&folders::token_file(state))?;
    let answer = client::runtime()?.block_on(async {
        let mut client = Client::connect(running, &token).await?;
        let answer = ask(&mut client).await;
        client.close().await;
        answer
    });
    match answer {
        Err(ClientError::NobodyThere { .. }) => Ok(None),
        answer => Ok(Some(answer?)),
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let message = error.to_string();
        let (code, hint) = match error {
            ClientError::NobodyThere { .. } => {
                ("not_running", "start it with `steward serve`".to_owned())
            }
            ClientError::Refused { status: 401, .. } => {
                ("refused", "it has another token; restart it, or use `--direct`".to_owned())
            }
            ClientError::Refused { .. } => ("refused", "`steward doctor` may say more".to_owned()),
            ClientError::NotTheDaemon { .. } => (
                "not_the_daemon",
                "nothing was sent to it; stop what uses the port, or use `--direct`".to_owned(),
            ),
            ClientError::Answer(error) => return error.into(),
            ClientError::Broken(_) => (
                "connection_broken",
                "the change may have been made; check before trying again".to_owned(),
            ),
        };
        Self::other(code, message, hint)
    }
}
