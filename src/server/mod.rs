//! The local server: a WebSocket on 127.0.0.1 for the plugin, the command line and other holders of
//! a token, and HTTP for scripts.
//!
//! Floor 7. It authenticates clients and translates the protocol; the runner (`calls::run`) queues, cancels
//! and asks about work. The methods come in as a [`table`]; no type of another room crosses the
//! socket.
//!
//! Invariants: no frame is read before peer, Host, Origin and token are checked ([`gate`]); no
//! client can delay another or make a queue grow without bound ([`outbox`], [`pace`]); each request
//! is answered exactly once ([`calls`]); a change that has started is finished, whatever happens to
//! its client; events have one order ([`events`]); tokens and note text are never logged.
//!
//! In reading order: [`settings`], [`private`], [`token`], [`accept`], [`gate`], [`challenge`],
//! [`connection`], [`session`], [`table`], [`calls`], [`approvals`], [`permission`], [`hosts`],
//! `event` and `session_event`, [`events`], [`acp`], `guest_entry`, [`http`], [`mcp`] with `mcp_streams`, `mcp_asks` and `mcp_guests`, `skew`, [`page`] with [`page_keys`]; [`outbox`], [`pace`],
//! `reply`, `repoll`, [`meter`] and
//! [`close`] are its parts.

pub mod accept;
pub mod acp;
pub mod approvals;
pub mod calls;
pub mod challenge;
pub mod close;
pub mod connection;
mod event;
pub mod events;
pub mod gate;
mod guest_entry;
pub mod hosts;
pub mod http;
pub mod mcp;
mod mcp_asks;
#[cfg(feature = "conformance")]
mod mcp_fixtures;
mod mcp_guests;
mod mcp_streams;
pub mod meter;
pub mod outbox;
pub mod pace;
pub mod page;
pub mod page_keys;
pub mod permission;
pub mod private;
mod reply;
mod repoll;
pub mod session;
mod session_event;
pub mod settings;
mod skew;
pub mod table;
pub mod token;

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use tokio::net::TcpListener;

use crate::calls::run::{Runner, Tools};
use crate::calls::tracker::Tracker;
use crate::guests::Guests;
use crate::locks::lock;
use approvals::Approvals;
use challenge::Challenges;
use events::Events;
use hosts::Hosts;
use pace::{Bucket, Failures};
use page_keys::Pages;
pub use settings::{AcpSettings, Settings};
use table::Methods;
use token::TokenKeeper;

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("could not listen on 127.0.0.1:{port}")]
    Bind { port: u16, source: io::Error },
    #[error("could not get random bytes: {0}")]
    Random(getrandom::Error),
}

/// The services that a server gives access to.
pub struct Backend {
    pub vault: String,
    /// How to update the daemon's program, for people.
    pub update: String,
    pub methods: Methods,
    pub tools: Arc<dyn Tools>,
    /// Runs all work of this process, whichever server it came through.
    pub runner: Runner,
}

/// The server, bound to its port but not accepting connections yet.
pub struct Server {
    listener: TcpListener,
    shared: Arc<SharedServer>,
}

pub struct SharedServer {
    /// The current settings. A connection keeps the limits that it received at its start.
    settings: Arc<ArcSwap<Settings>>,
    mcp: Arc<ArcSwap<crate::mcp::Settings>>,
    /// The settings of ACP clients; a connection keeps those it started with.
    acp: Arc<ArcSwap<AcpSettings>>,
    token: TokenKeeper,
    backend: Backend,
    events: Events,
    version: String,
    port: u16,
    started: Instant,
    failures: Failures,
    /// The codes that open the chat page.
    pages: Pages,
    /// The challenges by which clients prove that they know a token.
    challenges: Challenges,
    /// The states that MCP clients return with the answer to a question.
    question_challenges: Challenges,
    next_connection: AtomicU64,
    /// The time of the last request.
    last_came: Mutex<Instant>,
    /// Connections whose handshake is not finished.
    handshakes: Tracker,
    /// The rate limit of HTTP requests, for all callers together, since each request has its own
    /// connection.
    requests: Mutex<Bucket>,
    approvals: Approvals,
    /// The guests of the agent, whose sessions have tokens of their own.
    guests: OnceLock<Guests>,
    /// The clients that have the vault open.
    hosts: Hosts,
    connections: Tracker,
}

impl Server {
    /// Binds 127.0.0.1 on the port of `settings`. Connections wait until [`Server::run`].
    pub async fn bind(
        settings: Settings,
        token: TokenKeeper,
        backend: Backend,
    ) -> Result<Self, ServerError> {
        let failed = |source| ServerError::Bind { port: settings.port, source };
        // Only this address: the daemon serves only this machine.
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, settings.port));
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let mut epoch = [0; 8];
        getrandom::fill(&mut epoch).map_err(ServerError::Random)?;
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(ServerError::Random)?;
        let mut question_challenges = [0; 32];
        getrandom::fill(&mut question_challenges).map_err(ServerError::Random)?;
        let shared = SharedServer {
            mcp: Arc::default(),
            acp: Arc::default(),
            token,
            backend,
            events: Events::new(format!("{:016x}", u64::from_le_bytes(epoch))),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            port,
            started: Instant::now(),
            failures: Failures::default(),
            pages: Pages::default(),
            challenges: Challenges::new(secret, Instant::now()),
            question_challenges: Challenges::with_lifetime(
                mcp_asks::LIFE,
                question_challenges,
                Instant::now(),
            ),
            requests: Mutex::new(Bucket::new(settings.messages_per_second, settings.message_burst)),
            next_connection: AtomicU64::new(1),
            last_came: Mutex::new(Instant::now()),
            handshakes: Tracker::default(),
            approvals: Approvals::default(),
            guests: OnceLock::new(),
            hosts: Hosts::default(),
            connections: Tracker::default(),
            settings: Arc::new(ArcSwap::from_pointee(settings)),
        };
        Ok(Self { listener, shared: Arc::new(shared) })
    }

    pub fn port(&self) -> u16 {
        self.shared.port
    }

    /// Publishes events, from any thread.
    pub fn events(&self) -> Events {
        self.shared.events.clone()
    }

    /// Asks people questions, from any thread.
    pub fn approvals(&self) -> Approvals {
        self.shared.approvals.clone()
    }

    /// Lets the MCP clients of these guests in. Only the first call has an effect.
    pub fn set_guests(&self, guests: Guests) {
        let _ = self.shared.guests.set(guests);
    }

    /// Sends requests to the clients that have the vault open, from any thread.
    pub fn hosts(&self) -> Hosts {
        self.shared.hosts.clone()
    }

    /// Replaces the settings, from any thread, for new connections; the port stays.
    pub fn settings(&self) -> Arc<ArcSwap<Settings>> {
        Arc::clone(&self.shared.settings)
    }

    /// Replaces the settings of MCP clients, from any thread, from the next message on.
    pub fn mcp_settings(&self) -> Arc<ArcSwap<crate::mcp::Settings>> {
        Arc::clone(&self.shared.mcp)
    }

    /// Replaces the settings of ACP clients, from any thread, for new connections.
    pub fn acp(&self) -> Arc<ArcSwap<AcpSettings>> {
        Arc::clone(&self.shared.acp)
    }

    /// Waits until no client has been connected for `limit`.
    pub fn idle(&self, limit: Duration) -> impl Future<Output = ()> + Send + use<> {
        let shared = Arc::clone(&self.shared);
        async move {
            loop {
                shared.connections.idle().await;
                let since = lock(&shared.last_came).elapsed();
                if since >= limit {
                    return;
                }
                tokio::time::sleep(limit - since).await;
            }
        }
    }

    /// Serves until `shutdown`, then stops: no new connections and requests, up to 8 seconds for
    /// calls that run, close code 1001 for everyone.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let Self { listener, shared } = self;
        tokio::select! {
            () = accept::accept(&listener, &shared) => {}
            () = shutdown => {}
        }
        drop(listener);
        shared.backend.runner.close();
        let running = shared.backend.runner.running();
        let both = async {
            shared.connections.idle().await;
            running.idle().await;
        };
        let patience = connection::DRAIN_DEADLINE + Duration::from_secs(1);
        if tokio::time::timeout(patience, both).await.is_err() {
            tracing::warn!(running = running.count(), "stopped with calls still running");
        }
    }
}
