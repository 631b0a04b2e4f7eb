//! The local door: a WebSocket on 127.0.0.1, for the plugin, the command line and whoever holds
//! the token; beside it HTTP for scripts.
//!
//! It translates the wire and admits; how work is queued, given up and asked about is the runner's
//! (`calls::run`). What it answers is handed to it as a [`table`] of methods; no type of another room
//! crosses the socket.
//!
//! Invariants: no frame is read before peer, Host, Origin and token are right ([`gate`]); nothing
//! a client does makes another wait or a queue grow without bound ([`outbox`], [`pace`]); a
//! request is answered exactly once ([`calls`]); a change that has begun is finished, whatever
//! becomes of the client; events have one order ([`events`]); neither token nor note contents are
//! logged.
//!
//! In reading order: [`settings`], [`private`], [`token`], [`accept`], [`gate`], [`challenge`],
//! [`connection`], [`session`], [`table`], [`calls`], [`approvals`], [`permission`], [`hosts`],
//! [`events`], [`acp`], [`http`], [`mcp`] with `mcp_streams`, [`page`] with [`page_keys`]; [`outbox`], [`pace`],
//! `reply`, [`meter`] and
//! [`close`] are its parts.

pub mod accept;
pub mod acp;
pub mod approvals;
pub mod calls;
pub mod challenge;
pub mod close;
pub mod connection;
pub mod events;
pub mod gate;
pub mod hosts;
pub mod http;
pub mod mcp;
mod mcp_streams;
pub mod meter;
pub mod outbox;
pub mod pace;
pub mod page;
pub mod page_keys;
pub mod permission;
pub mod private;
mod reply;
pub mod session;
pub mod settings;
pub mod table;
pub mod token;

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use tokio::net::TcpListener;

use crate::calls::run::{Runner, Tools};
use crate::calls::tracker::Tracker;
use approvals::Approvals;
use challenge::Challenges;
use events::Events;
use hosts::Hosts;
use pace::{Bucket, Failures};
use page_keys::Pages;
pub use settings::{AcpSettings, Settings};
use table::Methods;
use token::TokenKeeper;

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The port is taken, or not for us.
    #[error("could not listen on 127.0.0.1:{port}")]
    Bind {
        /// The port asked for.
        port: u16,
        /// Why not.
        source: io::Error,
    },
    /// The system has no randomness to give.
    #[error("could not get random bytes: {0}")]
    Random(getrandom::Error),
}

/// What a server opens onto.
pub struct Backend {
    /// The vault's name.
    pub vault: String,
    pub methods: Methods,
    pub tools: Arc<dyn Tools>,
    /// What all work of this process goes through, whichever door it came by.
    pub runner: Runner,
}

/// The server, bound to its port and not yet taking connections.
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
}

/// What all connections share.
pub struct Shared {
    /// Those of now. A connection keeps the ones it began with: they are what it was told.
    settings: Arc<ArcSwap<Settings>>,
    /// What MCP clients are shown now.
    mcp: Arc<ArcSwap<crate::mcp::Settings>>,
    /// Of ACP clients; a connection goes by those it began with, too.
    acp: Arc<ArcSwap<AcpSettings>>,
    token: TokenKeeper,
    backend: Backend,
    events: Events,
    version: String,
    port: u16,
    started: Instant,
    failures: Failures,
    /// Who may open our own page.
    pages: Pages,
    /// What clients prove themselves with.
    challenges: Challenges,
    next_connection: AtomicU64,
    /// When somebody connected last.
    last_came: Mutex<Instant>,
    /// Connections that have not finished their handshake.
    handshakes: Tracker,
    /// How fast HTTP requests may come, of all callers together: each has a connection of its own.
    requests: Mutex<Bucket>,
    /// Questions to a person.
    approvals: Approvals,
    /// Those who have the vault open.
    hosts: Hosts,
    /// Connections that are open.
    connections: Tracker,
}

impl Server {
    /// Binds 127.0.0.1 on the port of `settings`. Connections wait until [`Server::run`].
    ///
    /// # Errors
    /// [`ServerError::Bind`] where the port is taken; [`ServerError::Random`].
    pub async fn bind(
        settings: Settings,
        token: TokenKeeper,
        backend: Backend,
    ) -> Result<Self, ServerError> {
        let failed = |source| ServerError::Bind { port: settings.port, source };
        // Literally this address: the daemon is for this machine.
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, settings.port));
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let mut epoch = [0; 8];
        getrandom::fill(&mut epoch).map_err(ServerError::Random)?;
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(ServerError::Random)?;
        let shared = Shared {
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
            requests: Mutex::new(Bucket::new(settings.messages_per_second, settings.message_burst)),
            next_connection: AtomicU64::new(1),
            last_came: Mutex::new(Instant::now()),
            handshakes: Tracker::default(),
            approvals: Approvals::default(),
            hosts: Hosts::default(),
            connections: Tracker::default(),
            settings: Arc::new(ArcSwap::from_pointee(settings)),
        };
        Ok(Self { listener, shared: Arc::new(shared) })
    }

    /// The port bound.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.shared.port
    }

    /// Where to tell what happens in the vault, from any thread.
    #[must_use]
    pub fn events(&self) -> Events {
        self.shared.events.clone()
    }

    /// Where to ask persons something, from any thread.
    #[must_use]
    pub fn approvals(&self) -> Approvals {
        self.shared.approvals.clone()
    }

    /// Where to ask those who have the vault open, from any thread.
    #[must_use]
    pub fn hosts(&self) -> Hosts {
        self.shared.hosts.clone()
    }

    /// Where to put new settings, from any thread. They hold for whoever connects from then on; the
    /// port stays.
    #[must_use]
    pub fn settings(&self) -> Arc<ArcSwap<Settings>> {
        Arc::clone(&self.shared.settings)
    }

    /// Where to put what MCP clients are shown, from any thread. It holds from the next message on.
    #[must_use]
    pub fn mcp_settings(&self) -> Arc<ArcSwap<crate::mcp::Settings>> {
        Arc::clone(&self.shared.mcp)
    }

    /// Where to put new settings of ACP clients, from any thread. They hold for whoever connects from then
    /// on.
    #[must_use]
    pub fn acp(&self) -> Arc<ArcSwap<AcpSettings>> {
        Arc::clone(&self.shared.acp)
    }

    /// Waits until nobody has been connected for `limit`.
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

/// Locks what no panic can leave half changed: every critical section in this room is a few moves
/// of whole values.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
