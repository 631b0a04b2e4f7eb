//! Tools that do what a test wants, and nothing else.
#![allow(dead_code, reason = "each test program uses its part")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use vault_steward::calls::run::{Answered, Tools, Work};
use vault_steward::calls::{Outcome, Request};
use vault_steward::note::code::ErrorCode;
use vault_steward::policy::Scope;
use vault_steward::protocol::complete::{CompleteParams, CompleteResult};
use vault_steward::protocol::conversations::{
    ConversationParams, ConversationResult, DeleteConversationParams, DeleteConversationResult,
    EndParams, EndResult, ExportConversationParams, ExportConversationResult, ForkParams,
    ForkResult, RenameConversationParams, RenameConversationResult, SearchConversationsParams,
    SearchConversationsResult, SessionListParams, SessionLoadParams, SessionLoadResult,
    UsageParams, UsageResult,
};
use vault_steward::protocol::diff::{DiffParams, DiffResult};
use vault_steward::protocol::error::{ErrorObject, Kind};
use vault_steward::protocol::host::{
    ActiveNote, HostOpenParams, HostOpenResult, HostOperation, HostRequestParams, HostRequestResult,
};
use vault_steward::protocol::inbox::{
    InboxDiscardParams, InboxListParams, InboxListResult, InboxResult, InboxRetryParams,
    SmartHoleState,
};
use vault_steward::protocol::keeping::{
    JournalGcParams, JournalGcResult, JournalVerifyResult, TrashEmptyParams, TrashEmptyResult,
};
use vault_steward::protocol::models::{ModelsParams, ModelsResult};
use vault_steward::protocol::policy::{
    ApprovalsParams, ApprovalsResult, AuditParams, AuditResult, ModeParams, ModeResult,
};
use vault_steward::protocol::session::{
    PromptContent, PromptResultMeta, PromptResultVaultMeta, SessionCancelParams, SessionNewParams,
    SessionNewResult, SessionPromptParams, SessionPromptResult, SessionUpdateParams, StopReason,
};
use vault_steward::protocol::settings::{SettingsGetResult, SettingsSetResult};
use vault_steward::protocol::status::{Confinement, MemoryState, SettingsState, VaultState};
use vault_steward::protocol::tools::{Tool, ToolAnnotations, ToolsListResult};
use vault_steward::server::backend::{Backend, ConversationsBackend, Hosts, Later, Speaker};
use vault_steward::server::hosts::HostError;
use vault_steward::tools::{Answer, ToolError};
use vault_steward::vault::Cancel;

/// What a test sees and holds of the [`Fake`].
pub struct Strings {
    /// A name for each call that has begun.
    pub began: Receiver<String>,
    /// A name for each call that has ended.
    pub ended: Receiver<String>,
    /// Lets one call of `change` go on.
    pub go: Sender<()>,
    /// Whether the vault's state waits for `go` too.
    pub slow_status: Arc<AtomicBool>,
}

#[derive(Clone)]
pub struct Fake {
    began: Arc<Mutex<Sender<String>>>,
    ended: Arc<Mutex<Sender<String>>>,
    go: Arc<Mutex<Receiver<()>>>,
    slow_status: Arc<AtomicBool>,
}

pub fn fake() -> (Fake, Strings) {
    let (began, began_rx) = channel();
    let (ended, ended_rx) = channel();
    let (go, go_rx) = channel();
    let slow_status = Arc::<AtomicBool>::default();
    let fake = Fake {
        slow_status: Arc::clone(&slow_status),
        began: Arc::new(Mutex::new(began)),
        ended: Arc::new(Mutex::new(ended)),
        go: Arc::new(Mutex::new(go_rx)),
    };
    (fake, Strings { began: began_rx, ended: ended_rx, go, slow_status })
}

const TOOLS: [(&str, Work); 6] = [
    ("change", Work::Change),
    ("echo", Work::Read),
    ("long", Work::Read),
    ("look", Work::Read),
    ("panic", Work::Read),
    ("search", Work::Search),
];

/// Keeps a core for so many `milliseconds`.
fn work(arguments: &Value) {
    let milliseconds = arguments.get("milliseconds").and_then(Value::as_u64).unwrap_or(0);
    let long = std::time::Duration::from_millis(milliseconds);
    let begun = std::time::Instant::now();
    while begun.elapsed() < long {
        std::hint::spin_loop();
    }
}

impl Tools for Fake {
    fn work(&self, name: &str) -> Option<Work> {
        TOOLS.iter().find(|(tool, _)| *tool == name).map(|(_, work)| *work)
    }

    fn call(&self, request: Request, cancel: &Cancel) -> Outcome {
        let name = request.tool;
        let _ = self.began.lock().unwrap().send(name.clone());
        let mut text = String::new();
        let answered = match &*name {
            // Waits to be told, or to be cancelled.
            "change" => {
                let _ = self.go.lock().unwrap().recv();
                Ok(json!({}))
            }
            // Runs until it is cancelled.
            "search" => {
                while !cancel.is_cancelled() {
                    std::thread::yield_now();
                }
                Err(ToolError::new(ErrorCode::Cancelled, "", ""))
            }
            "long" => {
                let size = usize::try_from(request.arguments["bytes"].as_u64().unwrap()).unwrap();
                text = "x".repeat(size);
                Ok(json!({}))
            }
            "panic" => panic!("as the test wants"),
            "look" => {
                work(&request.arguments);
                Ok(request.arguments)
            }
            _ => Ok(request.arguments),
        };
        let _ = self.ended.lock().unwrap().send(name);
        Outcome::Answered(answered.map(|facts| Answer { text, data: facts.into() }))
    }

    /// Only `look` is tried so: it answers with its arguments, after so many `milliseconds`; where
    /// these say `wait` it would have to wait, and where they say `panic` it panics.
    fn glance(&self, request: &Request) -> Option<Answered> {
        if request.tool != "look" || request.arguments.get("wait").is_some() {
            return None;
        }
        assert!(request.arguments.get("panic").is_none(), "as the test wants");
        work(&request.arguments);
        let _ = self.began.lock().unwrap().send("a glance".to_owned());
        Some(Ok(Answer { text: String::new(), data: request.arguments.clone().into() }))
    }
}

impl Backend for Fake {
    fn tools(&self) -> ToolsListResult {
        let tool = |(name, work): &(&str, Work)| Tool {
            name: (*name).to_owned(),
            title: (*name).to_owned(),
            description: String::new(),
            input_schema: json!({"type": "object"}),
            output_schema: json!({"type": "object"}),
            annotations: ToolAnnotations {
                title: (*name).to_owned(),
                read_only_hint: *work != Work::Change,
                destructive_hint: false,
                idempotent_hint: true,
                open_world_hint: false,
            },
        };
        ToolsListResult { tools: TOOLS.iter().map(tool).collect() }
    }

    fn empty_trash(&self, _: TrashEmptyParams) -> Result<TrashEmptyResult, ErrorObject> {
        Ok(TrashEmptyResult::default())
    }

    fn verify_journal(&self) -> Result<JournalVerifyResult, ErrorObject> {
        Ok(JournalVerifyResult::default())
    }

    fn free_journal(&self, _: JournalGcParams) -> Result<JournalGcResult, ErrorObject> {
        Err(ErrorObject::new(Kind::Failed, "it cannot be freed"))
    }

    fn mode(&self, _: ModeParams) -> Result<ModeResult, ErrorObject> {
        Ok(ModeResult::default())
    }

    fn approvals(&self, _: ApprovalsParams) -> Result<ApprovalsResult, ErrorObject> {
        Ok(ApprovalsResult::default())
    }

    fn audit(&self, _: AuditParams) -> Result<AuditResult, ErrorObject> {
        Ok(AuditResult::default())
    }

    fn conversations(&self) -> &dyn ConversationsBackend {
        self
    }

    fn new_session(&self, _: SessionNewParams, _: Scope) -> Result<SessionNewResult, ErrorObject> {
        Ok(SessionNewResult { session_id: "1".to_owned() })
    }

    /// Answers with what was said and by which kind of caller; `wait` is never answered, `fail` not
    /// well.
    fn prompt(&self, params: SessionPromptParams, by: Speaker) -> Later<SessionPromptResult> {
        let began = self.began.lock().unwrap().clone();
        // As the real one: it has its place by the call alone.
        let _ = began.send("prompt".to_owned());
        Box::pin(async move {
            let [PromptContent::Text { text }] = &params.prompt[..] else {
                return Err(ErrorObject::new(Kind::InvalidParams, "one text"));
            };
            match text.as_str() {
                "wait" => std::future::pending().await,
                "fail" => Err(ErrorObject::new(Kind::ModelFailed, "nobody is there")),
                text => {
                    let vault = PromptResultVaultMeta {
                        session_id: params.session_id.unwrap_or_else(|| "9".to_owned()),
                        turn: "1".to_owned(),
                        answer: format!("{text}, {} {}", by.name, by.scope.word()),
                        waiting: false,
                        no_model: false,
                    };
                    let meta = PromptResultMeta { vault };
                    Ok(SessionPromptResult { stop_reason: StopReason::EndTurn, meta })
                }
            }
        })
    }

    fn cancel_turn(&self, _: &SessionCancelParams) {}

    fn export_conversation(
        &self,
        _: ExportConversationParams,
        _: &Speaker,
    ) -> Result<ExportConversationResult, ErrorObject> {
        Err(ErrorObject::new(Kind::UnknownSession, "there is none"))
    }

    fn diff(&self, _: &DiffParams, _: u64) -> Result<DiffResult, ErrorObject> {
        Err(ErrorObject::new(Kind::NotFound, "there is none"))
    }

    fn complete(&self, _: &CompleteParams) -> CompleteResult {
        CompleteResult::default()
    }

    fn models(&self, _: ModelsParams) -> Later<ModelsResult> {
        Box::pin(std::future::ready(Ok(ModelsResult::default())))
    }

    fn ask_host(
        &self,
        params: HostRequestParams,
        hosts: &Hosts,
        cancel: &Cancel,
    ) -> Result<HostRequestResult, ErrorObject> {
        let HostRequestParams::Open { path, line } = params else {
            return Err(ErrorObject::new(Kind::InvalidParams, "only `open`"));
        };
        let params = |call| HostOpenParams { call, path, line };
        let patience = std::time::Duration::from_millis(200);
        let asked = hosts.ask::<_, HostOpenResult>(HostOperation::Open, patience, cancel, params);
        let (client, opened) = asked.map_err(|error| {
            let kind = match error {
                HostError::Unavailable { .. } => Kind::HostUnavailable,
                HostError::Unknown { .. } => Kind::Timeout,
                HostError::Cancelled => Kind::Cancelled,
                HostError::Refused { .. } | HostError::Nonsense { .. } => Kind::Failed,
            };
            ErrorObject::new(kind, error.to_string())
        })?;
        let note = opened.path.map(|path| ActiveNote { path, ..ActiveNote::default() });
        Ok(HostRequestResult { client, note, done: None })
    }

    fn name(&self) -> &str {
        "fake"
    }

    fn vault(&self) -> VaultState {
        // Waits as `change` does, where a test wants a vault that cannot be looked at for a while.
        if self.slow_status.load(Ordering::Acquire) {
            let _ = self.began.lock().unwrap().send("status".to_owned());
            let _ = self.go.lock().unwrap().recv();
        }
        VaultState { name: "fake".to_owned(), ..VaultState::default() }
    }

    fn memory(&self) -> MemoryState {
        MemoryState::default()
    }

    fn settings(&self, _: Scope) -> SettingsGetResult {
        SettingsGetResult::default()
    }

    fn set_setting(&self, _: Scope, _: &str, _: &Value) -> Result<SettingsSetResult, ErrorObject> {
        Ok(SettingsSetResult::default())
    }

    fn settings_state(&self) -> SettingsState {
        SettingsState::default()
    }

    fn confinement(&self) -> Confinement {
        Confinement::default()
    }

    fn smarthole(&self) -> SmartHoleState {
        SmartHoleState::default()
    }

    fn inbox(&self, _: InboxListParams) -> Result<InboxListResult, ErrorObject> {
        Ok(InboxListResult::default())
    }

    fn retry_message(&self, _: InboxRetryParams) -> Result<InboxResult, ErrorObject> {
        Err(ErrorObject::new(Kind::NotFound, "there is none"))
    }

    fn discard_message(&self, _: InboxDiscardParams) -> Result<InboxResult, ErrorObject> {
        Err(ErrorObject::new(Kind::NotFound, "there is none"))
    }
}

/// None are kept.
impl ConversationsBackend for Fake {
    fn list(&self, _: SessionListParams, _: u64, json: &mut Vec<u8>) -> Result<(), ErrorObject> {
        json.extend_from_slice(br#"{"sessions":[]}"#);
        Ok(())
    }

    fn load(
        &self,
        _: SessionLoadParams,
    ) -> Result<(Vec<SessionUpdateParams>, SessionLoadResult), ErrorObject> {
        Err(ErrorObject::new(Kind::UnknownSession, "there is none"))
    }

    fn show(&self, _: ConversationParams, _: u64) -> Result<ConversationResult, ErrorObject> {
        Err(ErrorObject::new(Kind::NotFound, "there is none"))
    }

    fn end(&self, _: EndParams) -> Result<EndResult, ErrorObject> {
        Ok(EndResult::default())
    }

    fn fork(&self, _: ForkParams) -> Result<ForkResult, ErrorObject> {
        Err(ErrorObject::new(Kind::NotFound, "there is none"))
    }

    fn search(
        &self,
        _: SearchConversationsParams,
    ) -> Result<SearchConversationsResult, ErrorObject> {
        Ok(SearchConversationsResult::default())
    }

    fn delete(&self, _: DeleteConversationParams) -> Result<DeleteConversationResult, ErrorObject> {
        Ok(DeleteConversationResult::default())
    }

    fn rename(
        &self,
        params: RenameConversationParams,
    ) -> Result<RenameConversationResult, ErrorObject> {
        let RenameConversationParams { session_id, title } = params;
        Ok(RenameConversationResult { session_id, title })
    }

    fn usage(&self, _: UsageParams) -> Result<UsageResult, ErrorObject> {
        Ok(UsageResult::default())
    }
}
