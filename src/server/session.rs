//! What one client says, message by message, and what it is answered.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::backend::{Backend, ConversationsBackend, MAX_CALLER_CHARS, Scope, Speaker, Work};
use super::calls::{Calls, Step};
use super::outbox::Outbox;
use super::pace::Bucket;
use super::{Settings, Shared};
use crate::protocol::conversations::{
    ConversationParams, DeleteConversationParams, EndParams, ForkParams, SearchConversationsParams,
    SessionListParams, SessionLoadParams, UsageParams,
};
use crate::protocol::envelope::{self, Incoming, RequestId};
use crate::protocol::error::{ErrorObject, Kind};
use crate::protocol::inbox::{InboxDiscardParams, InboxListParams, InboxRetryParams};
use crate::protocol::initialize::{
    AgentCapabilities, AgentMeta, AgentVaultMeta, Implementation, InitializeParams,
    InitializeResult,
};
use crate::protocol::keeping::{JournalGcParams, JournalVerifyParams, TrashEmptyParams};
use crate::protocol::ping::{PingParams, PingResult};
use crate::protocol::policy::{ApprovalsParams, AuditParams, ModeParams};
use crate::protocol::session::{SessionNewParams, SessionPromptParams};
use crate::protocol::settings::{SettingsGetParams, SettingsSetParams};
use crate::protocol::status::{StatusParams, StatusResult};
use crate::protocol::tools::ToolsListParams;
use crate::protocol::{
    ClientNotification, MethodParams, PROTOCOL_VERSION, Request, cancel::CancelParams,
};
use crate::vault::Cancel;

/// The longest nonce that is signed, in bytes.
const MAX_NONCE_BYTES: usize = 128;

/// The state of one client's conversation with the door.
pub struct Session {
    shared: Arc<Shared>,
    /// Those that the client is told, and that hold for as long as it stays.
    settings: Arc<Settings>,
    outbox: Arc<Outbox>,
    calls: Calls,
    bucket: Bucket,
    number: u64,
    /// What kind of caller the client's token makes of it.
    scope: Scope,
    open: bool,
    /// What the client called itself.
    client: String,
}

impl Session {
    /// A client that has not introduced itself.
    #[must_use]
    pub fn new(
        shared: Arc<Shared>,
        settings: Arc<Settings>,
        outbox: Arc<Outbox>,
        scope: Scope,
    ) -> Self {
        let bucket = Bucket::new(settings.messages_per_second, settings.message_burst);
        let calls = Calls::new(Arc::clone(&shared), Arc::clone(&settings), Arc::clone(&outbox));
        let number = shared.next_connection.fetch_add(1, Ordering::Relaxed);
        let client = String::new();
        Self { shared, settings, outbox, calls, bucket, number, scope, open: false, client }
    }

    /// Whether `initialize` has been answered.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Counts a frame that needs no answer; false where there were too many.
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
        self.calls.abandon();
        self.outbox.abandon();
    }

    /// Takes one message. Never waits: what takes time answers later.
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
                    // Two answers with one id could not be told apart: the one to the request in
                    // flight keeps it.
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
                        self.shared.backend.cancel_turn(&params);
                    }
                    Some(ClientNotification::SessionCancel(_)) | None => {}
                }
            }
            Ok(Incoming::Answer { id: Some(id), result }) => {
                // Who never said that they could ask a person has nothing to answer.
                self.shared.approvals.answer(self.number, &id, result);
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
    ) -> Result<(), ErrorObject> {
        if !self.open && method != InitializeParams::METHOD {
            return Err(ErrorObject::new(Kind::NotInitialized, "`initialize` must come first"));
        }
        if self.calls.holds(id) {
            return Err(ErrorObject::new(Kind::DuplicateId, "this id is in flight already")
                .detail(serde_json::json!({ "requestId": id })));
        }
        match Request::parse(method, params)? {
            Request::Initialize(params) => {
                let result = self.initialize(&params)?;
                let ours = params.client_capabilities.meta.and_then(|meta| meta.vault);
                let asks = ours.is_some_and(|ours| ours.approvals) && self.scope.is_person();
                self.answer::<InitializeParams>(id, &result);
                self.open = true;
                let name = params.client_info.map(|info| info.name).unwrap_or_default();
                let name = name.chars().filter(|c| !c.is_control()).take(MAX_CALLER_CHARS);
                self.client = name.collect();
                if asks {
                    self.shared.approvals.join(self.number, &self.outbox, &self.client);
                }
            }
            Request::ToolsList(_) => {
                self.answer::<ToolsListParams>(id, &self.shared.backend.tools());
            }
            Request::ToolsCall(params) => {
                self.calls.start(id.clone(), params, &self.client, self.scope, self.number)?
            }
            Request::VaultStatus(_) => {
                let answer_to = id.clone();
                let job = move |shared: &Shared, _: &Cancel| {
                    Step::Answer(answer::<StatusParams>(&answer_to, &status(shared)))
                };
                self.calls.begin(id.clone(), Work::Read, Box::new(job))?;
            }
            Request::SettingsGet(_) => {
                self.keep::<SettingsGetParams>(id, Work::Read, |backend| Ok(backend.settings()))?;
            }
            Request::SettingsSet(params) => {
                self.keep::<SettingsSetParams>(id, Work::Setting, move |backend| {
                    backend.set_setting(&params.key, &params.value)
                })?;
            }
            Request::TrashEmpty(params) => {
                self.only_a_person()?;
                let work = if params.dry_run { Work::Read } else { Work::Change };
                self.keep::<TrashEmptyParams>(id, work, |backend| backend.empty_trash(params))?;
            }
            Request::JournalVerify(_) => {
                self.keep::<JournalVerifyParams>(id, Work::Search, |backend| {
                    backend.verify_journal()
                })?
            }
            Request::JournalGc(params) => {
                self.only_a_person()?;
                let work = if params.dry_run { Work::Read } else { Work::Change };
                self.keep::<JournalGcParams>(id, work, |backend| backend.free_journal(params))?;
            }
            Request::VaultSubscribe(params) => {
                let is_person = self.scope.is_person();
                self.shared.events.subscribe(
                    self.number,
                    &self.outbox,
                    is_person,
                    &params,
                    |result| envelope::answer(id, result),
                )
            }
            Request::VaultMode(params) => {
                self.only_a_person()?;
                self.keep::<ModeParams>(id, Work::Read, |backend| backend.mode(params))?;
            }
            Request::VaultApprovals(params) => {
                self.only_a_person()?;
                self.keep::<ApprovalsParams>(id, Work::Read, |backend| backend.approvals(params))?;
            }
            Request::VaultAudit(params) => {
                self.only_a_person()?;
                self.keep::<AuditParams>(id, Work::Read, |backend| backend.audit(params))?;
            }
            Request::SessionList(params) => {
                self.of_conversations::<SessionListParams>(id, Work::Read, |kept| {
                    kept.list(params)
                })?;
            }
            Request::SessionLoad(params) => {
                self.only_a_person()?;
                // Heard from before it is read, so that nothing falls between the two.
                self.shared.events.listen(self.number, &self.outbox);
                let (answer_to, outbox) = (id.clone(), Arc::clone(&self.outbox));
                let job = move |shared: &Shared, _: &Cancel| {
                    Step::Answer(match shared.backend.conversations().load(params) {
                        Ok((updates, result)) => {
                            let told = updates.iter().map(envelope::notification);
                            outbox.push_replay(told.map(Utf8Bytes::from));
                            answer::<SessionLoadParams>(&answer_to, &result)
                        }
                        Err(error) => envelope::failure(Some(&answer_to), &error),
                    })
                };
                self.calls.begin(id.clone(), Work::Read, Box::new(job))?;
            }
            Request::VaultConversation(params) => {
                // Room for what JSON adds to the texts.
                let most = self.settings.max_reply_bytes / 2;
                self.of_conversations::<ConversationParams>(id, Work::Read, move |kept| {
                    kept.show(params, most)
                })?;
            }
            Request::VaultEnd(params) => {
                self.of_conversations::<EndParams>(id, Work::Setting, |kept| kept.end(params))?;
            }
            Request::VaultFork(params) => {
                self.of_conversations::<ForkParams>(id, Work::Setting, |kept| kept.fork(params))?;
            }
            Request::SearchConversations(params) => {
                self.of_conversations::<SearchConversationsParams>(id, Work::Read, |kept| {
                    kept.search(params)
                })?;
            }
            Request::DeleteConversation(params) => {
                self.of_conversations::<DeleteConversationParams>(id, Work::Setting, |kept| {
                    kept.delete(params)
                })?;
            }
            Request::InboxList(params) => {
                self.only_a_person()?;
                self.keep::<InboxListParams>(id, Work::Read, |backend| backend.inbox(params))?;
            }
            Request::InboxRetry(params) => {
                self.only_a_person()?;
                self.keep::<InboxRetryParams>(id, Work::Setting, |backend| {
                    backend.retry_message(params)
                })?;
            }
            Request::InboxDiscard(params) => {
                self.only_a_person()?;
                self.keep::<InboxDiscardParams>(id, Work::Setting, |backend| {
                    backend.discard_message(params)
                })?;
            }
            Request::VaultUsage(params) => {
                self.of_conversations::<UsageParams>(id, Work::Read, |kept| kept.usage(params))?;
            }
            Request::SessionNew(params) => {
                self.listen();
                let scope = self.scope;
                self.keep::<SessionNewParams>(id, Work::Setting, move |backend| {
                    backend.new_session(params, scope)
                })?;
            }
            Request::SessionPrompt(params) => {
                self.listen();
                let speaker = Speaker {
                    name: self.client.clone(),
                    scope: self.scope,
                    connection: self.number,
                };
                // Only once there is room for its answer: what is refused is not heard.
                self.calls.wait::<SessionPromptParams, _>(id.clone(), || {
                    self.shared.backend.prompt(params, speaker)
                })?;
            }
            Request::VaultPing(_) => {
                let (epoch, seq) =
                    (self.shared.events.epoch().to_owned(), self.shared.events.seq());
                self.answer::<PingParams>(id, &PingResult { epoch, seq });
            }
        }
        Ok(())
    }

    /// From now on the client is told what happens in conversations.
    fn listen(&self) {
        if self.scope.is_person() {
            self.shared.events.listen(self.number, &self.outbox);
        }
    }

    /// Lets nobody pass whose token is not that of a person's own programs.
    fn only_a_person(&self) -> Result<(), ErrorObject> {
        if self.scope.is_person() {
            return Ok(());
        }
        let message = format!("a caller of the kind `{}` may not do this", self.scope.word());
        Err(ErrorObject::new(Kind::Forbidden, message)
            .hint("it needs the token of a person's own program: `steward token`"))
    }

    fn initialize(&self, params: &InitializeParams) -> Result<InitializeResult, ErrorObject> {
        if self.open {
            return Err(ErrorObject::new(Kind::AlreadyInitialized, "`initialize` came before"));
        }
        let ours = params.client_capabilities.meta.as_ref().and_then(|meta| meta.vault.as_ref());
        let nonce = ours.and_then(|ours| ours.nonce.as_deref());
        if nonce.is_some_and(|nonce| nonce.len() > MAX_NONCE_BYTES) {
            return Err(ErrorObject::new(
                Kind::InvalidParams,
                format!("the nonce is longer than {MAX_NONCE_BYTES} bytes"),
            ));
        }
        Ok(InitializeResult {
            protocol_version: PROTOCOL_VERSION,
            agent_info: Implementation {
                name: "vault-steward".to_owned(),
                title: Some("Vault Steward".to_owned()),
                version: self.shared.version.clone(),
            },
            agent_capabilities: AgentCapabilities {
                load_session: true,
                meta: AgentMeta {
                    vault: AgentVaultMeta {
                        name: self.shared.backend.name().to_owned(),
                        epoch: self.shared.events.epoch().to_owned(),
                        seq: self.shared.events.seq(),
                        scope: self.scope.word().to_owned(),
                        limits: self.settings.limits(),
                        proof: nonce.map(|nonce| {
                            // With the token that this client has: it knows no other.
                            self.shared.token.current().scoped(self.scope).prove(nonce)
                        }),
                    },
                },
            },
            auth_methods: Vec::new(),
        })
    }

    /// Begins work on conversations, which a person's own programs alone may look at: what was said
    /// may quote any note.
    fn of_conversations<P: MethodParams>(
        &self,
        id: &RequestId,
        work: Work,
        job: impl FnOnce(&dyn ConversationsBackend) -> Result<P::Result, ErrorObject> + Send + 'static,
    ) -> Result<(), ErrorObject> {
        self.only_a_person()?;
        self.keep::<P>(id, work, |backend| job(backend.conversations()))
    }

    /// Begins work that is no tool and answers with its result.
    fn keep<P: MethodParams>(
        &self,
        id: &RequestId,
        work: Work,
        job: impl FnOnce(&dyn Backend) -> Result<P::Result, ErrorObject> + Send + 'static,
    ) -> Result<(), ErrorObject> {
        let answer_to = id.clone();
        let job = move |shared: &Shared, _: &Cancel| {
            Step::Answer(match job(&*shared.backend) {
                Ok(result) => answer::<P>(&answer_to, &result),
                Err(error) => envelope::failure(Some(&answer_to), &error),
            })
        };
        self.calls.begin(id.clone(), work, Box::new(job))
    }

    fn answer<P: MethodParams>(&self, id: &RequestId, result: &P::Result) {
        self.send(answer::<P>(id, result));
    }

    fn send(&self, text: String) {
        self.outbox.push(Utf8Bytes::from(text));
    }
}

/// The answer with the result that belongs to the method, which the type sees to.
fn answer<P: MethodParams>(id: &RequestId, result: &P::Result) -> String {
    envelope::answer(id, result)
}

/// How the daemon is. Looks at the vault, so it may take a while.
fn status(shared: &Shared) -> StatusResult {
    StatusResult {
        version: shared.version.clone(),
        pid: std::process::id(),
        uptime_seconds: shared.started.elapsed().as_secs(),
        connections: u32::try_from(shared.connections.count()).unwrap_or(u32::MAX),
        epoch: shared.events.epoch().to_owned(),
        seq: shared.events.seq(),
        settings: shared.backend.settings_state(),
        confinement: shared.backend.confinement(),
        smarthole: shared.backend.smarthole(),
        mode: shared.backend.mode(ModeParams::default()).ok(),
        memory: shared.backend.memory(),
        vault: shared.backend.vault(),
    }
}
