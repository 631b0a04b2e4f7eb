//! The composition root: runs one daemon for one vault, from the lock to the shutdown.
//!
//! Floor 8. Everything that lives as long as the daemon is a local variable of [`run`]; no other place knows
//! all rooms. Its methods are in `methods`; [`confine`] sandboxes the process.

pub mod client_bridge;
pub mod confine;
mod error;
pub mod guest_questions;
mod handles;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod heap;
pub mod hook_events;
mod opening;
pub mod organizer;
pub mod overwritten;
mod sandbox;
mod server_questions;
mod signals;
pub mod tool_servers;
pub mod vault_context;
pub mod voice;
mod voice_notices;

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::Context as _;

use client_bridge::ClientBridge;
pub use error::StartError;
use error::not_bound;
use guest_questions::GuestQuestions;
use hook_events::HookNotifier;
pub use opening::{calls, check_mounted, kept_conversations, lock, open, recover};
use opening::{guarded, not_recovered, open_both, settle_jobs, tool_settings};
use organizer::Organizer;
use overwritten::NewNotes;
pub use sandbox::prepare_places;
use sandbox::{apply_sandbox, fixed_port};
use server_questions::ServerQuestions;
use vault_context::DaemonVaultContext;
use voice::Voice;

use crate::agent::memory::StoredMemory;
use crate::agent::toolbox::VaultToolbox;
use crate::agent::{Agent, Conversations, Ports, Summaries, Undelivered};
use crate::calls::Calls;
use crate::calls::run::{Runner, blocking_threads};
use crate::config::folders::{self, Folders};
use crate::config::installed::Installation;
use crate::config::layers::Settings;
use crate::config::live::{CheckResult, Live};
use crate::config::log::Level;
use crate::config::models::ChosenModels;
use crate::config::running::Running;
use crate::config::{Config, Environment, watch as config_watch};
use crate::guests::Guests;
use crate::journal::{Journal, Recovered};
use crate::llm::tape::Tape;
use crate::methods::conversations::StoredConversations;
use crate::methods::host::HostDoor;
use crate::methods::talk::Talk;
use crate::methods::{self, Services, policy, settings, status};
use crate::note::code::ErrorCode;
use crate::policy::Scope;
use crate::protocol::PROTOCOL_VERSION;
use crate::protocol::policy::ModeParams;
use crate::protocol::status::Confinement;
use crate::server::events::{Event, Events};
use crate::server::token::TokenKeeper;
use crate::server::{Backend, Server};
use crate::servers::Servers;
use crate::smarthole::SmartHole;
use crate::store::is_full;
use crate::tools::OrganizeEvent;
use crate::vault::Vault;
use crate::workflows::Workflows;

/// The longest wait of a start for another process that is finishing a change.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// The time limit of blocking work after the server has stopped, which gives requests nine seconds:
/// together below the ten seconds after which service managers kill. Changes are atomic, so
/// abandoning one loses nothing.
const LAST_WORK: Duration = Duration::from_millis(500);

/// The time limit of hooks during the shutdown.
const LAST_HOOKS: Duration = Duration::from_secs(4);
const WHOLE_END: Duration = Duration::from_millis(9_600);

/// The delay of the integrity check of the journal's database after the start, so that it does not slow the first
/// answers. A change starts it at once.
const CHECK_DELAY: Duration = Duration::from_millis(300);

/// The delay of preallocation after the start, so that it does not slow the first calls.
const PREALLOCATION_DELAY: Duration = Duration::from_secs(5);

/// The delay of the journal's first maintenance after the start, and its interval.
const FIRST_MAINTENANCE: Duration = Duration::from_secs(300);
const DAY: Duration = Duration::from_secs(24 * 3600);

/// The time in milliseconds during which a repeated message is recognised; a later repetition counts as
/// a new message.
const DUPLICATE_WINDOW: i64 = 30 * 86_400_000;

pub struct Options<'a> {
    /// The vault's folder, canonical.
    pub root: &'a Path,
    pub folders: &'a Folders,
    /// The settings and their changes.
    pub live: Arc<Live>,
    pub environment: Environment,
    /// A replacement for the models of the settings, and the file for recorded model traffic.
    pub tape: Tape,
    /// The idle time after which the daemon ends; `None`: never.
    pub idle_exit: Option<Duration>,
    /// Sets the log level; `None` is the default level.
    pub log_level: Box<dyn Fn(Option<Level>) + Send + Sync>,
    /// Called with the number of entries seen by the first scan.
    pub progress: &'a (dyn Fn(usize) + Sync),
    /// Called once when clients can connect.
    pub ready: &'a dyn Fn(&Ready),
}

/// Facts about a daemon that clients can connect to.
#[derive(Debug, Clone)]
pub struct Ready {
    pub vault: String,
    pub path: String,
    pub notes: u64,
    pub url: String,
    pub port: u16,
}

/// Serves the vault until SIGINT, SIGTERM or SIGHUP (on Windows Ctrl-C, Ctrl-Break, the console
/// closing or the system shutting down); returns within ten seconds of it.
///
/// # Errors
/// [`StartError`] if it cannot start. A running daemon stops only by signals.
pub fn run(options: Options<'_>) -> Result<(), StartError> {
    let Options { root, folders, live, environment, tape, idle_exit, log_level, progress, ready } =
        options;
    let begun = Instant::now();
    let state = folders.prepare(root)?;
    let lock = lock(folders, root, &state, LOCK_PATIENCE)?;
    let mut config = live.current().config.clone();
    config.server.port = fixed_port(&config);
    let port = config.server.port;
    let left_behind = folders.left_behind(root);
    // While there is a single thread: later threads inherit the sandbox.
    let confinement = apply_sandbox(root, &state, &folders.config, (&live, &config), tape.folder());
    let (mut context, prepared) = open_both(root, &state, &config, progress)?;
    tracing::debug!(since = ?begun.elapsed(), "the vault is open");
    left_behind.into_iter().for_each(|sentence| context.vault.warn(sentence));
    for own in context.vault.protect(&folders.settings_and_keys(live.path())) {
        context.vault.warn(format!(
            "`{own}` holds the steward's own settings: no tool may touch it. It is safer outside of \
             the vault"
        ));
    }
    // Started early, to be ready for the first search.
    let index = context.index.clone();
    index.text.set_resident(config.search.resident_megabytes);
    index.start(&state, config.search.read_links_at_start);
    let conversations = kept_conversations(context.journal.store().new_connection(), &config);
    context.conversations = Some(Arc::new(conversations.clone()));
    let kept = conversations.store().clone();
    let host = Arc::new(HostDoor::default());
    context.host = Some(Arc::clone(&host) as _);
    let recovered = match context.journal.recover_prepared(prepared) {
        // Reading needs no space. The store is repaired before anything is recorded.
        Err(error) if error.code() == ErrorCode::StorageFull => {
            tracing::error!(%error, "nothing can be changed");
            Recovered::default()
        }
        recovered => recovered.map_err(not_recovered)?,
    };
    settle_jobs(&context);
    let vault = context.vault.clone();
    // Accesses the file system, so it runs before the runtime, whose threads it would block.
    let calls = calls(context, &state, &config);
    if let Err(error) = calls.begin() {
        // Reading continues; changes are refused while nothing can be recorded.
        tracing::error!(%error, "the audit cannot be written");
    }
    let servers = tool_servers::servers(root, &state, folders, &environment, &config);
    tool_servers::offer(&servers, &calls);
    let agent = agent(&calls, conversations, &config, folders, environment, tape, host);
    let guests = guest_questions::guests(root, &state, folders);
    let asks = GuestQuestions::new(calls.clone(), Arc::clone(&agent.client_bridge));
    guests.set_ask(Arc::new(asks));
    let asks = ServerQuestions::new(calls.clone(), Arc::clone(&agent.client_bridge));
    servers.set_ask(Arc::new(asks));
    agent.models.set_guests(guests.clone());
    let services = services(&calls, &agent, Arc::clone(&live), confinement, &recovered);
    tracing::debug!(since = ?begun.elapsed(), "the store is ready");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("steward")
        .max_blocking_threads(blocking_threads())
        .build()
        .context("could not start the threads")?;
    let stopping = Arc::default();
    let ending = Arc::clone(&stopping);
    let served = serve(
        calls.clone(),
        agent,
        services,
        servers.clone(),
        &state,
        live,
        idle_exit,
        log_level,
        ready,
        ending,
        (port, guests.clone()),
    );
    let served = runtime.block_on(served);
    guests.end();
    servers.end();
    runtime.shutdown_timeout(LAST_WORK);
    let since = stopping.get().map_or(Duration::ZERO, Instant::elapsed);
    calls.hooks().end(WHOLE_END.saturating_sub(since).min(LAST_HOOKS));
    vault.stop();
    index.stop();
    calls.end();
    // The store's last connection: marks a clean shutdown.
    kept.database.end();
    calls.context().journal.store().database.end();
    // Work beyond the time limit is still running, so keep the lock until the process is gone.
    std::mem::forget(lock);
    served
}

struct AgentParts {
    talk: Arc<Talk>,
    /// Messages received before this start and not handled.
    left: Undelivered,
    models: ChosenModels,
    client_bridge: Arc<ClientBridge>,
    host: Arc<HostDoor>,
    vault_context: Arc<DaemonVaultContext>,
    voice: Arc<Voice>,
}

/// Creates the agent, and recovers conversations of an earlier run.
fn agent(
    calls: &Calls,
    conversations: Conversations,
    config: &Config,
    folders: &Folders,
    environment: Environment,
    tape: Tape,
    host: Arc<HostDoor>,
) -> AgentParts {
    let root = calls.context().vault.root();
    let models = ChosenModels::new(config, environment, folders.clone(), root, tape);
    let client_bridge = Arc::new(ClientBridge::new(root));
    let vault_context = Arc::new(DaemonVaultContext::new(calls.clone(), Arc::clone(&host)));
    let ports = Ports {
        memory: Box::new(StoredMemory::new(conversations.clone())),
        models: Box::new(models.clone()),
        toolbox: Box::new(VaultToolbox::new(calls.clone(), Arc::clone(&client_bridge) as _)),
        audience: Box::new(HookNotifier::new(Arc::clone(&client_bridge), calls.clone())),
        place: vault_context.clone(),
    };
    let agent = Agent::new(ports, config.agent.clone());
    agent.set_agents(config.agents.clone());
    agent.set_hooks(calls.hooks().clone());
    let left = agent.recover().unwrap_or_else(|error| {
        // Tools work; messages are refused while they cannot be stored.
        tracing::error!(%error, "the conversations of an earlier run could not be repaired");
        Undelivered::default()
    });
    let voice = Arc::new(Voice::new(agent.clone(), conversations.clone()));
    voice.set_retry_seconds(config.smarthole.retry_seconds);
    let listener = Arc::clone(&voice);
    client_bridge.set_listener(Box::new(move |update| listener.on_update(update)));
    let talk = Arc::new(Talk::new(agent, conversations, calls.clone(), models.clone(), root));
    AgentParts { talk, left, models, client_bridge, host, vault_context, voice }
}

/// Creates the services of the methods. Probes the vault's file system with two temporary files, so it
/// may block.
fn services(
    calls: &Calls,
    agent: &AgentParts,
    live: Arc<Live>,
    confinement: Confinement,
    recovered: &Recovered,
) -> Services {
    let context = calls.context();
    let mut warnings = status::reduced(context.vault.abilities());
    warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    warnings.extend(recovered.warnings.iter().chain(&recovered.left).cloned());
    let folder = context.vault.root().to_string_lossy().into_owned();
    let conversations = StoredConversations::new(agent.talk.conversations().clone(), folder)
        .with_journal(context.journal.clone())
        .with_agent(agent.talk.agent().clone());
    Services {
        calls: calls.clone(),
        talk: Arc::clone(&agent.talk),
        live,
        models: agent.models.clone(),
        conversations,
        voice: Arc::clone(&agent.voice) as _,
        workflows: Workflows::new(calls.clone(), context.journal.store(), context.clock),
        confinement,
        confines: confine::possible(),
        warnings,
    }
}

/// Applies new settings to all rooms, each atomically.
fn apply_settings(
    calls: Calls,
    agent: &AgentParts,
    servers: Servers,
    server: &Server,
    smarthole: SmartHole,
    log_level: Box<dyn Fn(Option<Level>) + Send + Sync>,
) -> impl Fn(&Settings, &CheckResult) + Send + Sync + 'static {
    let (door, mcp, acp) = (server.settings(), server.mcp_settings(), server.acp());
    let events = server.events();
    let (talk, models) = (Arc::clone(&agent.talk), agent.models.clone());
    let voice = Arc::clone(&agent.voice);
    move |settings, news| {
        let config = &settings.config;
        let context = calls.context();
        context.vault.set_settings(config.vault.clone());
        context.journal.set_settings(config.journal.clone());
        context.index.text.set_resident(config.search.resident_megabytes);
        context.index.knowledge.set_settings(config.knowledge);
        calls.set_tool_settings(tool_settings(config));
        calls.set_settings(config.policy.clone());
        events.limit(calls.view(Scope::Client));
        calls.policy().guard(guarded(config));
        calls.hooks().replace(config.hooks.clone());
        servers.replace(config.servers.clone());
        talk.agent().set_settings(config.agent.clone());
        talk.agent().set_agents(config.agents.clone());
        talk.conversations().set_settings(config.conversation.clone());
        models.set_settings(config);
        if let CheckResult::Reloaded { needs_restart, .. } = news {
            models.set_needs_restart(needs_restart.iter().any(|key| key == "models.chain"));
        }
        smarthole.set_settings(config.smarthole.clone());
        voice.set_retry_seconds(config.smarthole.retry_seconds);
        door.store(Arc::new(config.server.clone()));
        mcp.store(Arc::new(config.mcp.clone()));
        acp.store(Arc::new(config.acp));
        log_level(config.log.level);
        // Reported once it is in effect.
        if let Some(event) = settings::event(news) {
            events.publish(event);
        }
        let is_of_mode = |changed: &[String]| changed.iter().any(|key| key == "policy.mode");
        if matches!(news, CheckResult::Reloaded { changed, .. } if is_of_mode(changed))
            && let Ok(mode) = policy::mode(&calls, &ModeParams::default())
        {
            events.publish(Event::ModeChanged(mode));
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "all that lives as long as the daemon")]
async fn serve(
    calls: Calls,
    agent: AgentParts,
    services: Services,
    servers: Servers,
    state: &Path,
    live: Arc<Live>,
    idle_exit: Option<Duration>,
    log_level: Box<dyn Fn(Option<Level>) + Send + Sync>,
    ready: &dyn Fn(&Ready),
    stopping: Arc<OnceLock<Instant>>,
    (port, guests): (u16, Guests),
) -> Result<(), StartError> {
    let stop = signals::listen().context("could not listen for signals")?;
    let token = TokenKeeper::follow(&folders::token_file(state)).context("no token")?;
    let mut config = live.current().config.clone();
    config.server.port = port;
    let backend = Backend {
        vault: calls.context().vault.name().to_owned(),
        update: Installation::of_process(&Environment::of_process()).update,
        methods: methods::table().serve(Arc::new(services)),
        tools: Arc::new(calls.clone()),
        runner: Runner::default(),
    };
    let server = Server::bind(config.server, token, backend).await.map_err(not_bound)?;
    server.mcp_settings().store(Arc::new(config.mcp));
    server.set_guests(guests.clone());
    guests.set_port(server.port());
    server.acp().store(Arc::new(config.acp));
    let port = server.port();
    let (vault, journal) = (calls.context().vault.clone(), calls.context().journal.clone());
    let clock = Arc::new(crate::llm::clock::SystemClock::default());
    let smarthole = SmartHole::new(config.smarthole, Arc::clone(&agent.voice) as _, clock);
    server.events().limit(calls.view(Scope::Client));
    live.set_sink(apply_settings(
        calls.clone(),
        &agent,
        servers.clone(),
        &server,
        smarthole.clone(),
        log_level,
    ));
    agent.client_bridge.open(server.events(), server.approvals());
    agent.host.open(server.hosts());
    let _following = AbortOnDrop(tokio::spawn(config_watch::follow(live)));

    let events = server.events();
    let publisher = events.clone();
    vault.subscribe(Box::new(move |change| publisher.publish(methods::events::event(change))));
    let publisher = events.clone();
    let conversations = agent.talk.conversations().clone();
    let hooks = calls.hooks().clone();
    conversations.subscribe(Box::new(move |event| {
        hook_events::report(&hooks, event);
        methods::events::of_conversation(event)
            .into_iter()
            .for_each(|event| publisher.publish(event));
    }));
    let summaries = Summaries::new(conversations, Arc::new(agent.models.clone()))
        .with_agent(agent.talk.agent().clone());
    let _naming = AbortOnDrop(tokio::spawn(summaries.run()));
    journal.subscribe(Box::new(move |set| events.publish(methods::events::applied(set))));
    let publisher = server.events();
    let listeners = calls.context().listeners.clone();
    listeners.subscribe(Box::new(move |news| {
        methods::events::organized(news).into_iter().for_each(|event| publisher.publish(event));
    }));
    let seen = Arc::clone(&agent.vault_context);
    vault.subscribe(Box::new(move |change| seen.changed(change)));
    let seen = agent.vault_context;
    journal.subscribe(Box::new(move |set| seen.applied(set)));
    // The watcher already runs; from now on its events are processed without a request.
    tokio::task::spawn_blocking({
        let vault = vault.clone();
        move || vault.watch()
    });
    let organizer = Arc::new(Organizer::new(calls.clone(), Arc::clone(&agent.host)));
    let listener = Arc::clone(&organizer);
    vault.subscribe(Box::new(move |change| {
        listener.on_change(change, chrono::Utc::now().timestamp_millis());
    }));
    let listener = Arc::clone(&organizer);
    listeners.subscribe(Box::new(move |news| {
        if *news == OrganizeEvent::Rules {
            listener.wake();
        }
    }));
    let _organizing = AbortOnDrop(tokio::spawn(organizer.run()));
    let new_notes = Arc::new(NewNotes::default());
    let listener = Arc::clone(&new_notes);
    journal.subscribe(Box::new(move |set| listener.on_change_set(set, Instant::now())));
    tokio::spawn(check_new_notes(new_notes, vault.clone(), journal.clone()));
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    tokio::spawn(heap::return_free_memory());
    tokio::spawn(maintain(journal, agent.talk.conversations().clone()));
    let _tending = AbortOnDrop(tokio::spawn(tool_servers::end_idle(servers)));
    // Before new messages.
    agent.talk.agent().deliver_undelivered(agent.left).await;
    let _listening = listen(&agent.voice, &smarthole, &server.events());
    let voice = Arc::clone(&agent.voice);
    let path = vault.root().to_string_lossy().into_owned();
    let running = Running {
        pid: std::process::id(),
        port,
        protocol: PROTOCOL_VERSION,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        vault: path.clone(),
        started_at: chrono::Local::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, false),
    };
    let _published = match running.publish(state) {
        Err(error) if is_full(&error) => {
            vault.warn(
                "the disk of the state folder was full at the start, so clients cannot find the daemon. Free some space and restart it"
                    .to_owned(),
            );
            None
        }
        published => Some(published.context("could not write `daemon.json`")?),
    };
    let status = vault.status();
    ready(&Ready {
        vault: vault.name().to_owned(),
        path,
        notes: status.counts.notes as u64,
        url: format!("ws://127.0.0.1:{port}/v1"),
        port,
    });

    // Its own limit gives requests in flight some seconds to finish.
    let idle = idle_exit.map(|limit| server.idle(limit));
    let idle = async {
        match idle {
            Some(idle) => idle.await,
            None => std::future::pending().await,
        }
    };
    let asked = async move {
        tokio::select! {
            () = signals::stop_requested(stop) => {}
            () = idle => tracing::info!("no client is connected any more"),
        }
        let _ = stopping.set(Instant::now());
        smarthole.stop();
        let _ = tokio::task::spawn_blocking(move || guests.end()).await;
        let _ = tokio::task::spawn_blocking(move || voice.stop()).await;
    };
    server.run(asked).await;
    tracing::info!("stopped");
    Ok(())
}

/// Connects to SmartHole and starts handling voice messages.
fn listen(voice: &Arc<Voice>, smarthole: &SmartHole, events: &Events) -> [AbortOnDrop; 2] {
    voice.open(events.clone(), smarthole.clone());
    let publisher = Arc::clone(voice);
    smarthole.subscribe(Box::new(move |_| {
        let voice = Arc::clone(&publisher);
        // Counting waiting messages may block.
        tokio::task::spawn_blocking(move || voice.publish_status());
    }));
    let connection = tokio::spawn(smarthole.clone().run());
    let work = tokio::spawn(Arc::clone(voice).run());
    [AbortOnDrop(connection), AbortOnDrop(work)]
}

async fn check_new_notes(new_notes: Arc<NewNotes>, vault: Vault, journal: Journal) {
    let mut minutes = tokio::time::interval(Duration::from_secs(60));
    minutes.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        minutes.tick().await;
        if !new_notes.is_due(Instant::now()) {
            continue;
        }
        let (new_notes, vault, journal) = (Arc::clone(&new_notes), vault.clone(), journal.clone());
        let look = move || {
            let lost = new_notes.check(&vault, &journal, Instant::now());
            lost.into_iter().for_each(|sentence| vault.warn(sentence));
        };
        if tokio::task::spawn_blocking(look).await.is_err() {
            return;
        }
    }
}

/// Checks the journal's database after the start; copies it and removes old texts once a day.
async fn maintain(journal: Journal, conversations: Conversations) {
    let store = conversations.store().clone();
    tokio::time::sleep(CHECK_DELAY).await;
    store.database.start_check();
    tokio::time::sleep(PREALLOCATION_DELAY - CHECK_DELAY).await;
    if tokio::task::spawn_blocking(move || store.database.preallocate_log()).await.is_err() {
        return;
    }
    let mut days = tokio::time::interval_at(tokio::time::Instant::now() + FIRST_MAINTENANCE, DAY);
    // After the computer slept, run once.
    days.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        days.tick().await;
        let journal = journal.clone();
        match tokio::task::spawn_blocking(move || journal.texts().daily()).await {
            Ok(Ok(freed)) => tracing::info!(texts = freed.texts, bytes = freed.bytes, "let go"),
            Ok(Err(error)) => tracing::warn!(%error, "the maintenance of the journal failed"),
            Err(_) => return,
        }
        let store = conversations.store().clone();
        let old = conversations.clock().wall().timestamp_millis() - DUPLICATE_WINDOW;
        match tokio::task::spawn_blocking(move || store.inbox.trim(old)).await {
            Ok(Ok(messages)) => tracing::debug!(messages, "old receipts were deleted"),
            Ok(Err(error)) => tracing::warn!(%error, "the maintenance of the inbox failed"),
            Err(_) => return,
        }
    }
}

/// A task that is aborted when its handle is dropped.
struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
