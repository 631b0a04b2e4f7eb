//! Handles the messages of one client.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::acp::Attached;
use super::calls::Calls;
use super::outbox::Outbox;
use super::pace::Bucket;
use super::table::{Client, Prepared};
use super::token::{Entry, Proof, Token};
use super::{Settings, SharedServer, skew};
use crate::policy::Scope;
use crate::protocol::acp::AuthMethod;
use crate::protocol::cancel::CancelParams;
use crate::protocol::envelope::{self, Incoming, RequestId};
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::protocol::initialize::{
    AgentCapabilities, AgentMeta, AgentVaultMeta, Implementation, InitializeParams,
    InitializeResult, McpCapabilities, PromptCapabilities, SessionCapabilities,
};
use crate::protocol::version::MIN_PLUGIN;
use crate::protocol::{ClientNotification, MethodParams as _, PROTOCOL_VERSION};
use crate::vault::Cancel;

/// The longest nonce that is signed, in bytes.
const MAX_NONCE_BYTES: usize = 128;

/// The id of the authentication method that runs the model setup.
const SETUP: &str = "setup";

/// The most characters of a client's name.
const MAX_CALLER_CHARS: usize = 60;

/// The state of one client's session.
pub struct Session {
    shared: Arc<SharedServer>,
    /// The settings sent at `initialize`, valid for the whole connection.
    settings: Arc<Settings>,
    outbox: Arc<Outbox>,
    calls: Calls,
    attached: Attached,
    bucket: Bucket,
    number: u64,
    scope: Scope,
    /// The client's token, with which the daemon proves itself: the client may know no other.
    token: Token,
    open: bool,
    client: String,
    /// How long calls have occupied the connection's task since [`Session::take_busy`].
    busy: Duration,
}

impl Session {
    /// A client before `initialize`.
    pub fn new(
        shared: Arc<SharedServer>,
        settings: Arc<Settings>,
        outbox: Arc<Outbox>,
        entry: Entry,
    ) -> Self {
        let Entry { scope, token, .. } = entry;
        let bucket = Bucket::new(settings.messages_per_second, settings.message_burst);
        let attached = Attached::default();
        let calls = Calls::new(
            Arc::clone(&shared),
            Arc::clone(&settings),
            Arc::clone(&outbox),
            attached.clone(),
        );
        let number = shared.next_connection.fetch_add(1, Ordering::Relaxed);
        let (client, busy) = (String::new(), Duration::ZERO);
        Self {
            shared,
            settings,
            outbox,
            calls,
            attached,
            bucket,
            number,
            scope,
            token,
            open: false,
            client,
            busy,
        }
    }

    /// Returns how long calls have occupied the connection's task, and resets it.
    pub fn take_busy(&mut self) -> Duration {
        std::mem::take(&mut self.busy)
    }

    /// Whether `initialize` has been answered.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Counts a frame that needs no answer; false if the rate limit is exceeded.
    pub fn pace(&mut self) -> bool {
        self.bucket.take(Instant::now()).is_ok()
    }

    /// Waits until every call has been answered.
    pub async fn idle(&self) {
        self.calls.idle().await;
    }

    /// The client is gone.
    pub fn end(&self) {
        self.shared.events.unsubscribe(self.number);
        self.shared.approvals.leave(self.number);
        self.shared.hosts.leave(self.number);
        self.calls.abandon();
        self.outbox.abandon();
    }

    /// Handles a message without waiting. Slow requests are answered later; calls that need no
    /// blocking run here.
    pub fn receive(&mut self, text: &str) {
        let paced = self.bucket.take(Instant::now());
        match Incoming::parse(text) {
            Ok(Incoming::Request { id, method, params }) => {
                let answered = match paced {
                    Ok(()) => self.request(&id, &method, params),
                    Err(wait) => Err(ErrorObject::new(Kind::RateLimited, "too many messages")
                        .retry_after_ms(u64::try_from(wait.as_millis()).unwrap_or(1).max(1))),
                };
                if let Err(error) = answered {
                    // Answers with the same id are indistinguishable, so the id stays reserved for
                    // the request in flight.
                    let id = (error.data.kind != Kind::DuplicateId).then_some(&id);
                    self.send(envelope::failure(id, &error));
                }
            }
            Ok(Incoming::Notification { method, params }) => {
                match ClientNotification::parse(&method, params) {
                    Some(ClientNotification::CancelRequest(CancelParams { request_id })) => {
                        self.calls.cancel(&request_id);
                    }
                    Some(ClientNotification::SessionCancel(params)) if self.open => {
                        self.shared.backend.methods.cancel_turn(&params, self.scope);
                    }
                    // Ignore clients that did not declare that they have the vault open.
                    Some(ClientNotification::HostFocus(params)) => {
                        self.shared.hosts.focus(self.number, params.focused);
                    }
                    Some(ClientNotification::ActiveNoteChanged(params)) => {
                        self.shared.hosts.open_in(self.number, params.path);
                    }
                    Some(ClientNotification::SessionCancel(_)) | None => {}
                }
            }
            Ok(Incoming::Answer { id: Some(id), answer }) => {
                // Ignore answers of clients that did not declare that they can be asked.
                self.shared.approvals.answer(self.number, &id, answer.as_ref().ok().cloned());
                self.shared.hosts.answer(self.number, &id, answer);
            }
            Ok(Incoming::Answer { id: None, .. }) => {}
            Err(refusal) => self.send(envelope::failure(refusal.id.as_ref(), &refusal.error)),
        }
    }

    fn request(
        &mut self,
        id: &RequestId,
        method: &str,
        params: serde_json::Map<String, serde_json::Value>,
    ) -> Result<()> {
        if !self.open && method != InitializeParams::METHOD {
            return Err(ErrorObject::new(Kind::NotInitialized, "`initialize` must come first"));
        }
        if self.calls.holds(id) {
            return Err(ErrorObject::new(Kind::DuplicateId, "this id is already in flight")
                .detail(serde_json::json!({ "requestId": id })));
        }
        if method == InitializeParams::METHOD {
            return self.initialize(id, envelope::params(params)?);
        }
        match self.shared.backend.methods.prepare(method, params, self.scope)? {
            Prepared::Now(write) => {
                let context = self.calls.context(self.client(), Cancel::default());
                self.send(envelope::answer_of(id, 128, |json| write(&context, json))?);
            }
            Prepared::Subscribe(params) => {
                let (events, is_person) = (&self.shared.events, self.scope.is_person());
                let answer = |result: &_| envelope::answer(id, result);
                events.subscribe(self.number, &self.outbox, is_person, &params, answer);
            }
            Prepared::Queued(work, write) => self.calls.begin(id, self.client(), work, write)?,
            Prepared::Later(begin) => self.calls.wait(id, self.client(), begin)?,
            Prepared::Tool(params) => {
                self.busy += self.calls.start(id, params, &self.client())?;
            }
        }
        Ok(())
    }

    /// The client of a request.
    fn client(&self) -> Client {
        Client { name: self.client.clone(), scope: self.scope, connection: self.number }
    }

    fn initialize(&mut self, id: &RequestId, params: InitializeParams) -> Result<()> {
        let result = self.introduction(&params)?;
        let ours = params.client_capabilities.meta.and_then(|meta| meta.vault);
        let ours = ours.filter(|_| self.scope.is_person()).unwrap_or_default();
        self.send(envelope::answer(id, &result));
        self.open = true;
        let name = params.client_info.map(|info| info.name).unwrap_or_default();
        let name = name.chars().filter(|c| !c.is_control()).take(MAX_CALLER_CHARS);
        self.client = name.collect();
        if self.scope == Scope::Acp {
            self.shared.events.add_acp_client(self.number, &self.outbox, &self.attached);
            if self.shared.acp.load().may_approve {
                let (approvals, own) = (&self.shared.approvals, &self.attached);
                approvals.join_own(self.number, &self.outbox, &self.client, own);
            }
        }
        if ours.approvals {
            self.shared.approvals.join(self.number, &self.outbox, &self.client);
        }
        let (hosts, number) = (&self.shared.hosts, self.number);
        hosts.join(number, &self.outbox, &self.client, &ours.host, ours.focused);
        Ok(())
    }

    fn introduction(&self, params: &InitializeParams) -> Result<InitializeResult> {
        if self.open {
            return Err(ErrorObject::new(
                Kind::AlreadyInitialized,
                "`initialize` was called before",
            ));
        }
        let ours = params.client_capabilities.meta.as_ref().and_then(|meta| meta.vault.as_ref());
        let nonce = ours.and_then(|ours| ours.nonce.as_deref());
        if nonce.is_some_and(|nonce| nonce.len() > MAX_NONCE_BYTES) {
            let message = format!("the nonce is longer than {MAX_NONCE_BYTES} bytes");
            return Err(ErrorObject::new(Kind::InvalidParams, message));
        }
        skew::check(params, &self.shared.version, &self.shared.backend.update)?;
        Ok(InitializeResult {
            protocol_version: PROTOCOL_VERSION,
            agent_info: Implementation {
                name: "vault-steward".to_owned(),
                title: Some("Vault Steward".to_owned()),
                version: self.shared.version.clone(),
            },
            agent_capabilities: AgentCapabilities {
                load_session: true,
                prompt_capabilities: PromptCapabilities {
                    image: true,
                    audio: false,
                    embedded_context: true,
                },
                mcp_capabilities: McpCapabilities { http: true, sse: true },
                session_capabilities: SessionCapabilities::default(),
                meta: AgentMeta {
                    vault: AgentVaultMeta {
                        name: self.shared.backend.vault.clone(),
                        epoch: self.shared.events.epoch().to_owned(),
                        seq: self.shared.events.seq(),
                        scope: self.scope.word().to_owned(),
                        min_plugin: Some(MIN_PLUGIN.to_owned()),
                        limits: self.settings.limits(),
                        proof: nonce.map(|nonce| {
                            self.token.proof(Proof::Initialize, self.shared.port, nonce)
                        }),
                    },
                },
            },
            auth_methods: self.auth_methods(params),
        })
    }

    /// The model setup, for ACP clients that can run a program in a terminal.
    fn auth_methods(&self, params: &InitializeParams) -> Vec<AuthMethod> {
        let auth = params.client_capabilities.auth.as_ref();
        if self.scope != Scope::Acp || !auth.is_some_and(|auth| auth.terminal) {
            return Vec::new();
        }
        self.attached.offer_setup();
        vec![AuthMethod {
            id: SETUP.to_owned(),
            name: "Set up a model".to_owned(),
            description: "finds a model on this machine, or takes a key, and tries it".to_owned(),
            kind: "terminal".to_owned(),
            args: vec![SETUP.to_owned()],
        }]
    }

    fn send(&self, text: String) {
        self.outbox.push(Utf8Bytes::from(text));
    }
}
