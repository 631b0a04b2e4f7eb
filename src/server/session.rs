//! What one client says, message by message, and what it is answered.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::backend::{Backend, ConversationsBackend, MAX_CALLER_CHARS, Scope, Speaker};
use super::calls::Calls;
use super::events::Event;
use super::gate::Entry;
use super::outbox::Outbox;
use super::pace::Bucket;
use super::page;
use super::token::{Proof, Token};
use super::{Settings, Shared};
use crate::calls::run::Work;
use crate::protocol::complete::CompleteParams;
use crate::protocol::conversations::{
    ConversationParams, DeleteConversationParams, EndParams, ExportConversationParams, ForkParams,
    RenameConversationParams, SearchConversationsParams, SessionLoadParams, UsageParams,
};
use crate::protocol::diff::DiffParams;
use crate::protocol::envelope::{self, Incoming, RequestId};
use crate::protocol::error::{ErrorObject, Kind};
use crate::protocol::host::HostRequestParams;
use crate::protocol::inbox::{InboxDiscardParams, InboxListParams, InboxRetryParams};
use crate::protocol::initialize::{
    AgentCapabilities, AgentMeta, AgentVaultMeta, Implementation, InitializeParams,
    InitializeResult, PromptCapabilities,
};
use crate::protocol::keeping::{JournalGcParams, JournalVerifyParams, TrashEmptyParams};
use crate::protocol::page::PageCodeParams;
use crate::protocol::ping::{PingParams, PingResult};
use crate::protocol::policy::{ApprovalsParams, AuditParams, ModeParams, ModeResult};
use crate::protocol::session::SessionNewParams;
use crate::protocol::settings::{SettingsGetParams, SettingsSetParams};
use crate::protocol::status::{StatusParams, StatusResult};
use crate::protocol::tools::ToolsListParams;
use crate::protocol::{
    ClientNotification, MethodParams, PROTOCOL_VERSION, Request, cancel::CancelParams,
};
use crate::vault::Cancel;

/// The longest nonce that is signed, in bytes.
const MAX_NONCE_BYTES: usize = 128;
/// What an answer has around a list, in bytes at most: an id of 256, each byte of it escaped.
const LIST_FRAME: u64 = 2_048;

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
    /// The token it came with, with which the daemon proves itself to it: it may know no other.
    token: Token,
    open: bool,
    /// What the client called itself.
    client: String,
    /// How long calls have kept the connection's own task since that was last asked.
    held: Duration,
}

impl Session {
    /// A client that has not introduced itself.
    #[must_use]
    pub fn new(
        shared: Arc<Shared>,
        settings: Arc<Settings>,
        outbox: Arc<Outbox>,
        entry: Entry,
    ) -> Self {
        let Entry { scope, token } = entry;
        let bucket = Bucket::new(settings.messages_per_second, settings.message_burst);
        let calls = Calls::new(Arc::clone(&shared), Arc::clone(&settings), Arc::clone(&outbox));
        let number = shared.next_connection.fetch_add(1, Ordering::Relaxed);
        let (client, held) = (String::new(), Duration::ZERO);
        Self {
            shared,
            settings,
            outbox,
            calls,
            bucket,
            number,
            scope,
            token,
            open: false,
            client,
            held,
        }
    }

    /// How long calls have kept the connection's own task since this was last asked.
    pub fn take_held(&mut self) -> Duration {
        std::mem::take(&mut self.held)
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
        self.shared.hosts.leave(self.number);
        self.calls.abandon();
        self.outbox.abandon();
    }

    /// Takes one message. Never waits: what takes time answers later, but for what is done at a glance.
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
                    // Those who never said that they have the vault open are no hosts.
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
                // Who never said that they could be asked has nothing to answer.
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
                let ours = ours.filter(|_| self.scope.is_person()).unwrap_or_default();
                self.answer::<InitializeParams>(id, &result);
                self.open = true;
                let name = params.client_info.map(|info| info.name).unwrap_or_default();
                let name = name.chars().filter(|c| !c.is_control()).take(MAX_CALLER_CHARS);
                self.client = name.collect();
                if ours.approvals {
                    self.shared.approvals.join(self.number, &self.outbox, &self.client);
                }
                let (hosts, number) = (&self.shared.hosts, self.number);
                hosts.join(number, &self.outbox, &self.client, &ours.host, ours.focused);
            }
            Request::ToolsList(_) => {
                self.answer::<ToolsListParams>(id, &self.shared.backend.tools());
            }
            Request::ToolsCall(params) => {
                self.held += self.calls.start(id, params, &self.speaker())?;
            }
            Request::VaultStatus(_) => {
                let answer_to = id.clone();
                let shared = Arc::clone(&self.shared);
                let job = move |_: &Cancel| answer::<StatusParams>(&answer_to, &status(&shared));
                self.calls.begin(id, Work::Read, job)?;
            }
            Request::SettingsGet(_) => {
                let scope = self.scope;
                self.keep::<SettingsGetParams>(id, Work::Read, move |backend| {
                    Ok(backend.settings(scope))
                })?;
            }
            Request::SettingsSet(params) => {
                let scope = self.scope;
                self.keep::<SettingsSetParams>(id, Work::Setting, move |backend| {
                    backend.set_setting(scope, &params.key, &params.value)
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
                let answer_to = id.clone();
                let shared = Arc::clone(&self.shared);
                let job = move |_: &Cancel| match mode(&shared, params) {
                    Ok(result) => answer::<ModeParams>(&answer_to, &result),
                    Err(error) => envelope::failure(Some(&answer_to), &error),
                };
                self.calls.begin(id, Work::Read, job)?;
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
                // All but what stands around them.
                let most = self.settings.max_reply_bytes.saturating_sub(LIST_FRAME);
                self.only_a_person()?;
                let answer_to = id.clone();
                let shared = Arc::clone(&self.shared);
                let job = move |_: &Cancel| {
                    let written = envelope::answer_of(&answer_to, 0, |json| {
                        shared.backend.conversations().list(params, most, json)
                    });
                    let refused = |error| envelope::failure(Some(&answer_to), &error);
                    written.unwrap_or_else(refused)
                };
                self.calls.begin(id, Work::Read, job)?;
            }
            Request::SessionLoad(params) => {
                self.only_a_person()?;
                // Heard from before it is read, so that nothing falls between the two.
                self.shared.events.listen(self.number, &self.outbox);
                let (answer_to, outbox) = (id.clone(), Arc::clone(&self.outbox));
                let shared = Arc::clone(&self.shared);
                let job = move |_: &Cancel| match shared.backend.conversations().load(params) {
                    Ok((updates, result)) => {
                        let told = updates.iter().map(envelope::notification);
                        outbox.push_replay(told.map(Utf8Bytes::from));
                        answer::<SessionLoadParams>(&answer_to, &result)
                    }
                    Err(error) => envelope::failure(Some(&answer_to), &error),
                };
                self.calls.begin(id, Work::Read, job)?;
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
                let speaker = self.speaker();
                // Only once there is room for its answer: what is refused is not heard.
                self.calls.wait(id, || self.shared.backend.prompt(params, speaker))?;
            }
            Request::RenameConversation(params) => {
                self.of_conversations::<RenameConversationParams>(id, Work::Setting, |kept| {
                    kept.rename(params)
                })?;
            }
            Request::ExportConversation(params) => {
                self.only_a_person()?;
                let by = self.speaker();
                self.keep::<ExportConversationParams>(id, Work::Change, move |backend| {
                    backend.export_conversation(params, &by)
                })?;
            }
            Request::VaultDiff(params) => {
                self.only_a_person()?;
                let most = self.settings.max_reply_bytes / 2;
                self.keep::<DiffParams>(id, Work::Read, move |backend| {
                    backend.diff(&params, most)
                })?;
            }
            Request::VaultComplete(params) => {
                self.only_a_person()?;
                self.keep::<CompleteParams>(id, Work::Read, move |backend| {
                    Ok(backend.complete(&params))
                })?;
            }
            Request::VaultModels(params) => {
                self.only_a_person()?;
                self.calls.wait(id, || self.shared.backend.models(params))?;
            }
            Request::HostRequest(params) => {
                self.only_a_person()?;
                let answer_to = id.clone();
                let shared = Arc::clone(&self.shared);
                let job = move |cancel: &Cancel| match shared.backend.ask_host(
                    params,
                    &shared.hosts,
                    cancel,
                ) {
                    Ok(result) => answer::<HostRequestParams>(&answer_to, &result),
                    Err(error) => envelope::failure(Some(&answer_to), &error),
                };
                self.calls.begin(id, Work::Read, job)?;
            }
            Request::PageCode(_) => {
                self.only_a_person()?;
                let code = self
                    .shared
                    .pages
                    .code(Instant::now())
                    .map_err(|error| ErrorObject::new(Kind::Failed, error.to_string()))?;
                let result = page::opened_by(&code, self.shared.port);
                self.answer::<PageCodeParams>(id, &result);
            }
            Request::VaultPing(_) => {
                let (epoch, seq) =
                    (self.shared.events.epoch().to_owned(), self.shared.events.seq());
                self.answer::<PingParams>(id, &PingResult { epoch, seq });
            }
        }
        Ok(())
    }

    /// The client as one that says or does something.
    fn speaker(&self) -> Speaker {
        Speaker { name: self.client.clone(), scope: self.scope, connection: self.number }
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
                prompt_capabilities: PromptCapabilities {
                    image: true,
                    audio: false,
                    embedded_context: true,
                },
                meta: AgentMeta {
                    vault: AgentVaultMeta {
                        name: self.shared.backend.name().to_owned(),
                        epoch: self.shared.events.epoch().to_owned(),
                        seq: self.shared.events.seq(),
                        scope: self.scope.word().to_owned(),
                        limits: self.settings.limits(),
                        proof: nonce.map(|nonce| {
                            self.token.proof(Proof::Initialize, self.shared.port, nonce)
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
        let shared = Arc::clone(&self.shared);
        let job = move |_: &Cancel| match job(&*shared.backend) {
            Ok(result) => answer::<P>(&answer_to, &result),
            Err(error) => envelope::failure(Some(&answer_to), &error),
        };
        self.calls.begin(id, work, job)
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

/// Asks for the mode or sets it; that another one holds is told to everybody.
fn mode(shared: &Shared, params: ModeParams) -> Result<ModeResult, ErrorObject> {
    if params.mode.is_none() {
        return shared.backend.mode(params);
    }
    let before = shared.backend.mode(ModeParams::default()).ok();
    let result = shared.backend.mode(params)?;
    if before.as_ref() != Some(&result) {
        shared.events.publish(Event::ModeChanged(result.clone()));
    }
    Ok(result)
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
        host: shared.hosts.state(),
        memory: shared.backend.memory(),
        vault: shared.backend.vault(),
    }
}
