//! Tools that do what a test wants, and nothing else.
#![allow(dead_code, reason = "each test program uses its part")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
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
use vault_steward::protocol::tools::{Tool, ToolAnnotations, ToolsCallWritten, ToolsListResult};
use vault_steward::server::backend::{
    Backend, Called, Caller, ConversationsBackend, Hosts, Later, Speaker, Work,
};
use vault_steward::server::hosts::HostError;
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

pub struct Fake {
    began: Mutex<Sender<String>>,
    ended: Mutex<Sender<String>>,
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
        began: Mutex::new(began),
        ended: Mutex::new(ended),
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
fn work(arguments: &Map<String, Value>) {
    let milliseconds = arguments.get("milliseconds").and_then(Value::as_u64).unwrap_or(0);
    let long = std::time::Duration::from_millis(milliseconds);
    let begun = std::time::Instant::now();
    while begun.elapsed() < long {
        std::hint::spin_loop();
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

    fn work(&self, name: &str) -> Option<Work> {
        TOOLS.iter().find(|(tool, _)| *tool == name).map(|(_, work)| *work)
    }

    fn call(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        _: Caller,
        cancel: &Cancel,
    ) -> Called {
        let _ = self.began.lock().unwrap().send(name.to_owned());
        let (text, is_error, data) = match name {
            // Waits to be told, or to be cancelled.
            "change" => {
                let _ = self.go.lock().unwrap().recv();
                (String::new(), false, json!({}))
            }
            // Runs until it is cancelled.
            "search" => {
                while !cancel.is_cancelled() {
                    std::thread::yield_now();
                }
                (String::new(), true, json!({"code": "cancelled"}))
            }
            "long" => {
                let size = usize::try_from(arguments["bytes"].as_u64().unwrap()).unwrap();
                ("x".repeat(size), false, json!({}))
            }
            "panic" => panic!("as the test wants"),
            "look" => {
                work(&arguments);
                (String::new(), false, Value::Object(arguments))
            }
            _ => (String::new(), false, Value::Object(arguments)),
        };
        let _ = self.ended.lock().unwrap().send(name.to_owned());
        Called::Done(ToolsCallWritten { text, facts: data.to_string(), is_error })
    }

    /// Only `look` is tried so: it answers with its arguments, after so many `milliseconds`; where
    /// these say `wait` it would have to wait, and where they say `panic` it panics.
    fn glance(
        &self,
        name: &str,
        arguments: &Map<String, Value>,
        _: &Caller,
    ) -> Option<ToolsCallWritten> {
        if name != "look" || arguments.contains_key("wait") {
            return None;
        }
        assert!(!arguments.contains_key("panic"), "as the test wants");
        work(arguments);
        let _ = self.began.lock().unwrap().send("a glance".to_owned());
        let facts = Value::Object(arguments.clone()).to_string();
        Some(ToolsCallWritten { text: String::new(), facts, is_error: false })
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
