//! The table of methods: who may call each, in which queue it runs, and its handler.
//!
//! A method is a row of a [`Table`], which `methods` fills; its handler is a plain function. The
//! server itself handles only what concerns the connection, such as `initialize`, which has no row.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Map, Value};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::acp::{self, Attached};
use super::approvals::Approvals;
use super::events::Events;
use super::hosts::Hosts;
use super::outbox::Outbox;
use super::{SharedServer, page};
use crate::calls::run::Work;
use crate::locks::lock;
use crate::policy::{Caller, Scope};
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::protocol::events::SubscribeParams;
use crate::protocol::page::{PageCodeParams, PageCodeResult};
use crate::protocol::ping::{PingParams, PingResult};
use crate::protocol::session::{SessionCancelParams, SessionUpdateParams};
use crate::protocol::tools::ToolsCallParams;
use crate::protocol::{MethodParams, envelope};
use crate::vault::Cancel;

/// The callers of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Every client with a token. ACP clients can call only ACP's own methods.
    Anyone,
    /// A person's own programs, and ACP clients for conversations of their own kind.
    PersonOrAcp,
    /// A person's own programs.
    Person,
}

impl Who {
    /// Checks that a caller of this scope may call the method.
    pub fn admit(self, scope: Scope) -> Result<()> {
        if self == Self::Anyone
            || scope.is_person()
            || (self, scope) == (Self::PersonOrAcp, Scope::Acp)
        {
            return Ok(());
        }
        let message = format!("a caller of the kind `{}` may not do this", scope.word());
        Err(ErrorObject::new(Kind::Forbidden, message)
            .hint("it needs the token of a person's own program: `steward token`"))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    pub name: String,
    pub scope: Scope,
    pub connection: u64,
}

impl Client {
    pub fn caller(&self) -> Caller {
        Caller { scope: self.scope, name: self.name.clone() }
    }
}

/// The context of a request, in addition to its params.
pub struct Context {
    pub client: Client,
    /// The most bytes of the answer.
    pub max_bytes: u64,
    /// Signals that the client cancelled the request.
    pub cancel: Cancel,
    pub(super) shared: Arc<SharedServer>,
    /// The client's queue, if it stays connected after the answer.
    pub(super) outbox: Option<Arc<Outbox>>,
    pub(super) attached: Attached,
    /// Messages to send after the answer.
    pub(super) afterwards: Afterwards,
}

/// Messages to send after an answer. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Afterwards(Arc<Mutex<Vec<Utf8Bytes>>>);

impl Afterwards {
    /// Takes all messages.
    pub fn take(&self) -> Vec<Utf8Bytes> {
        std::mem::take(&mut *lock(&self.0))
    }
}

#[derive(Debug, Clone)]
pub struct ServerState {
    pub version: String,
    /// The time since the server started.
    pub uptime: Duration,
    pub connections: u32,
}

impl Context {
    /// The client's kind of caller.
    pub fn scope(&self) -> Scope {
        self.client.scope
    }

    pub fn events(&self) -> &Events {
        &self.shared.events
    }

    /// The clients that have the vault open.
    pub fn hosts(&self) -> &Hosts {
        &self.shared.hosts
    }

    /// The questions that wait for a person.
    pub fn approvals(&self) -> &Approvals {
        &self.shared.approvals
    }

    pub fn server(&self) -> ServerState {
        ServerState {
            version: self.shared.version.clone(),
            uptime: self.shared.started.elapsed(),
            connections: u32::try_from(self.shared.connections.count()).unwrap_or(u32::MAX),
        }
    }

    /// Subscribes the client to conversation events, if it is a person's program.
    pub fn listen(&self) {
        if let Some(outbox) = self.outbox.as_ref().filter(|_| self.client.scope.is_person()) {
            self.shared.events.listen(self.client.connection, outbox);
        }
    }

    pub fn is_acp(&self) -> bool {
        self.client.scope == Scope::Acp
    }

    /// Attaches the conversation to an ACP client, and sends it the open questions.
    pub fn attach(&self, session: &str) {
        self.hold(session);
        self.replay(session, &[]);
    }

    /// Attaches the conversation to an ACP client, and holds its events until the history was sent.
    pub fn hold(&self, session: &str) {
        if self.is_acp() && self.outbox.is_some() {
            self.shared.events.hold(&self.attached, session);
        }
    }

    pub fn is_attached(&self, session: &str) -> bool {
        self.attached.has(session)
    }

    /// Whether it is an ACP client that can have its user set up a model.
    pub fn offers_setup(&self) -> bool {
        self.attached.offers_setup()
    }

    pub fn detach(&self, session: &str) {
        self.attached.remove(session);
    }

    /// Sends an ACP client an update of a conversation after the answer.
    pub fn send_afterwards(&self, session: &str, update: &Value) {
        if self.is_acp() {
            lock(&self.afterwards.0).push(acp::update_of(session, update));
        }
    }

    /// Sends an ACP client updates of its conversations before the answer, from wherever that is made.
    pub fn update_sender(&self) -> impl Fn(&str, &Value) + Send + use<> {
        let outbox = self.outbox.clone().filter(|_| self.is_acp());
        move |session, update| {
            if let Some(outbox) = &outbox {
                outbox.push(acp::update_of(session, update));
            }
        }
    }

    /// Sends the history of a conversation before the answer, and ends the hold.
    pub fn replay(&self, session: &str, updates: &[SessionUpdateParams]) {
        let Some(outbox) = &self.outbox else { return };
        if !self.is_acp() {
            outbox.push_replay(
                updates.iter().map(|one| Utf8Bytes::from(envelope::notification(one))),
            );
            return;
        }
        let to_message =
            |one: &SessionUpdateParams| acp::update_of(session, &acp::of_update(&one.update));
        outbox.push_replay(updates.iter().map(to_message));
        let known = updates.iter().filter_map(|one| one.update.part_of()).collect();
        if self.shared.events.release(outbox, &self.attached, session, &known) {
            self.shared.approvals.attached(self.client.connection, session);
        }
    }
}

/// The future of an answer without a time limit.
pub type Later<T> = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

/// Appends the JSON of a result to a buffer.
pub type Write = Box<dyn FnOnce(&Context, &mut Vec<u8>) -> Result<()> + Send>;

/// Starts work whose future yields the JSON of a result.
pub type Begin = Box<dyn FnOnce(&Context) -> Later<Vec<u8>> + Send>;

/// A request with valid params from a permitted client.
pub enum Prepared {
    /// It is answered at once.
    Now(Write),
    /// Subscribe the connection to events.
    Subscribe(SubscribeParams),
    /// Answered in a queue, on a thread that may block.
    Queued(Work, Write),
    /// Answered when the started work finishes; such requests start in their order.
    Later(Begin),
    Tool(ToolsCallParams),
}

type Handler<S, P> = fn(&S, P, &Context) -> Result<<P as MethodParams>::Result>;

type Params = Map<String, Value>;
type Read = Result<Prepared>;
type Prepare<S> = Box<dyn Fn(&Arc<S>, Params) -> Read + Send + Sync>;
type Bound = Box<dyn Fn(Params) -> Read + Send + Sync>;

type CancelTurn = Box<dyn Fn(&SessionCancelParams, Scope) + Send + Sync>;

/// The methods of a server whose handlers work on an `S`.
pub struct Table<S> {
    rows: BTreeMap<&'static str, (Who, Prepare<S>)>,
    cancel_turn: fn(&S, &SessionCancelParams, Scope),
}

impl<S: Send + Sync + 'static> Default for Table<S> {
    fn default() -> Self {
        Self { rows: BTreeMap::new(), cancel_turn: |_, _, _| {} }
            .now::<PingParams>(Who::Anyone, |_, _, context| ping(context))
            .now::<PageCodeParams>(Who::Person, |_, _, context| page_code(context))
            .row::<SubscribeParams>(Who::Anyone, |_, params| Prepared::Subscribe(params))
            .row::<ToolsCallParams>(Who::Anyone, |_, params| Prepared::Tool(params))
    }
}

impl<S: Send + Sync + 'static> Table<S> {
    /// A method whose handler may block; it runs in this queue.
    pub fn on<P: MethodParams + Send + 'static>(
        self,
        who: Who,
        work: Work,
        handler: Handler<S, P>,
    ) -> Self {
        self.row(who, move |services, params| {
            Prepared::Queued(work, handle_and_write(services, params, handler))
        })
    }

    /// The same for a method with a dry run: it changes something unless its params ask for a dry
    /// run.
    pub fn on_change<P: MethodParams + Send + 'static>(
        self,
        who: Who,
        is_dry_run: fn(&P) -> bool,
        handler: Handler<S, P>,
    ) -> Self {
        self.row(who, move |services, params| {
            let work = if is_dry_run(&params) { Work::Read } else { Work::Change };
            Prepared::Queued(work, handle_and_write(services, params, handler))
        })
    }

    /// A method whose handler answers at once without blocking.
    pub fn now<P: MethodParams + Send + 'static>(self, who: Who, handler: Handler<S, P>) -> Self {
        self.row(who, move |services, params| {
            Prepared::Now(handle_and_write(services, params, handler))
        })
    }

    /// A method without a time limit, which occupies no thread. Handlers start in the order of the
    /// requests.
    pub fn later<P: MethodParams<Result: Send> + Send + 'static>(
        self,
        who: Who,
        handler: fn(&S, P, &Context) -> Later<P::Result>,
    ) -> Self {
        self.row::<P>(who, move |services, params| {
            let services = Arc::clone(services);
            Prepared::Later(Box::new(move |context| {
                let result = handler(&services, params, context);
                Box::pin(async move {
                    let mut json = Vec::new();
                    write(&result.await?, &mut json);
                    Ok(json)
                })
            }))
        })
    }

    /// The handler of the notification that cancels a conversation's turn.
    pub fn on_cancel(mut self, handler: fn(&S, &SessionCancelParams, Scope)) -> Self {
        self.cancel_turn = handler;
        self
    }

    fn row<P: MethodParams>(
        mut self,
        who: Who,
        prepare: impl Fn(&Arc<S>, P) -> Prepared + Send + Sync + 'static,
    ) -> Self {
        let prepare =
            move |services: &Arc<S>, params| Ok(prepare(services, envelope::params(params)?));
        self.rows.insert(P::METHOD, (who, Box::new(prepare)));
        self
    }

    /// The names of the methods, and who may call each.
    #[cfg(test)]
    pub fn names(&self) -> impl Iterator<Item = (&'static str, Who)> {
        self.rows.iter().map(|(name, (who, _))| (*name, *who))
    }

    pub fn serve(self, services: Arc<S>) -> Methods {
        let bound = |prepare: Prepare<S>| -> Bound {
            let services = Arc::clone(&services);
            Box::new(move |params| prepare(&services, params))
        };
        let rows = self.rows.into_iter();
        let rows = rows.map(|(name, (who, prepare))| (name, (who, bound(prepare)))).collect();
        let cancel_turn = self.cancel_turn;
        Methods {
            rows,
            cancel_turn: Box::new(move |params, by| cancel_turn(&services, params, by)),
        }
    }
}

pub struct Methods {
    rows: BTreeMap<&'static str, (Who, Bound)>,
    cancel_turn: CancelTurn,
}

impl Methods {
    /// Reads a request of a client of this kind.
    pub fn prepare(
        &self,
        method: &str,
        params: Map<String, Value>,
        scope: Scope,
    ) -> Result<Prepared> {
        let row = self.rows.get(method).filter(|_| scope != Scope::Acp || acp::knows(method));
        let (who, prepare) = row.ok_or_else(|| ErrorObject::unknown_method(method))?;
        // Report malformed params to any caller, before checking permissions.
        let prepared = prepare(params)?;
        who.admit(scope)?;
        Ok(prepared)
    }

    /// Cancels the turn of a conversation, if a caller of this scope may use it.
    pub fn cancel_turn(&self, params: &SessionCancelParams, by: Scope) {
        (self.cancel_turn)(params, by);
    }
}

fn handle_and_write<S, P>(services: &Arc<S>, params: P, handler: Handler<S, P>) -> Write
where
    S: Send + Sync + 'static,
    P: MethodParams + Send + 'static,
{
    let services = Arc::clone(services);
    Box::new(move |context, json| {
        write(&handler(&services, params, context)?, json);
        Ok(())
    })
}

fn write(result: &impl Serialize, json: &mut Vec<u8>) {
    serde_json::to_writer(json, result).expect("results are plain data");
}

fn ping(context: &Context) -> Result<PingResult> {
    Ok(PingResult { epoch: context.events().epoch().to_owned(), seq: context.events().seq() })
}

fn page_code(context: &Context) -> Result<PageCodeResult> {
    let code = context.shared.pages.code(Instant::now());
    let code = code.map_err(|error| ErrorObject::new(Kind::Failed, error.to_string()))?;
    Ok(page::opened_by(&code, context.shared.port))
}
