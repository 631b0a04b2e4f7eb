//! Scripted tools for tests.
#![allow(dead_code, reason = "each test program uses its part")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use vault_steward::calls::run::{Answered, Runner, Tools, Work};
use vault_steward::calls::{Outcome, Request};
use vault_steward::note::code::ErrorCode;
use vault_steward::protocol::conversations::{
    ConversationParams, DeleteConversationParams, DeleteConversationResult,
};
use vault_steward::protocol::error::{ErrorObject, Kind};
use vault_steward::protocol::host::{
    ActiveNote, HostOpenParams, HostOpenResult, HostOperation, HostRequestParams, HostRequestResult,
};
use vault_steward::protocol::inbox::SmartHoleState;
use vault_steward::protocol::policy::ModeResult;
use vault_steward::protocol::session::{
    PromptContent, PromptResultMeta, PromptResultVaultMeta, SessionNewParams, SessionNewResult,
    SessionPromptParams, SessionPromptResult, StopReason,
};
use vault_steward::protocol::status::{
    Confinement, MemoryState, SettingsState, StatusParams, StatusResult, VaultState,
};
use vault_steward::protocol::tools::{Tool, ToolAnnotations, ToolsListParams, ToolsListResult};
use vault_steward::server::Backend;
use vault_steward::server::hosts::HostError;
use vault_steward::server::table::{Client, Context, Table, Who};
use vault_steward::tools::{Answer, Registry, ToolError};
use vault_steward::vault::Cancel;

/// The test's access to the [`Fake`].
pub struct Strings {
    /// A name for each call that has started.
    pub began: Receiver<String>,
    /// A name for each call that has ended.
    pub ended: Receiver<String>,
    /// Lets one call of `change` continue.
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

/// Keeps a core busy for this many `milliseconds`.
fn work(arguments: &Value) {
    let milliseconds = arguments.get("milliseconds").and_then(Value::as_u64).unwrap_or(0);
    let long = std::time::Duration::from_millis(milliseconds);
    let begun = std::time::Instant::now();
    while begun.elapsed() < long {
        std::hint::spin_loop();
    }
}

impl Tools for Fake {
    fn registry(&self) -> Arc<Registry> {
        Arc::default()
    }

    fn work(&self, name: &str) -> Option<Work> {
        TOOLS.iter().find(|(tool, _)| *tool == name).map(|(_, work)| *work)
    }

    fn call(&self, request: Request, cancel: &Cancel) -> Outcome {
        let name = request.tool;
        let _ = self.began.lock().unwrap().send(name.clone());
        let mut text = String::new();
        let answered = match &*name {
            // Waits for a signal or a cancellation.
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
        Outcome::Answered(answered.map(|facts| Answer {
            text,
            data: facts.into(),
            read_updates: Vec::new(),
            image: None,
        }))
    }

    /// Only `look` has a non-blocking attempt: it answers with its arguments after `milliseconds`;
    /// with `wait` it would block, and with `panic` it panics.
    fn call_nonblocking(&self, request: &Request) -> Option<Answered> {
        if request.tool != "look" || request.arguments.get("wait").is_some() {
            return None;
        }
        assert!(request.arguments.get("panic").is_none(), "as the test wants");
        work(&request.arguments);
        let _ = self.began.lock().unwrap().send("nonblocking".to_owned());
        Some(Ok(Answer {
            text: String::new(),
            data: request.arguments.clone().into(),
            read_updates: Vec::new(),
            image: None,
        }))
    }
}

/// These tools, and the methods that the tests need.
impl From<Fake> for Backend {
    fn from(fake: Fake) -> Self {
        Self {
            vault: "fake".to_owned(),
            update: "the test's way".to_owned(),
            tools: Arc::new(fake.clone()),
            methods: table().serve(Arc::new(fake)),
            runner: Runner::default(),
        }
    }
}

fn table() -> Table<Fake> {
    Table::<Fake>::default()
        .now::<ToolsListParams>(Who::Anyone, |_, _, _| Ok(tools()))
        .on::<StatusParams>(Who::Anyone, Work::Read, |fake, _, by| Ok(status(fake, by)))
        .on::<HostRequestParams>(Who::Person, Work::Read, |_, params, by| ask_host(params, by))
        .on::<SessionNewParams>(Who::Anyone, Work::Setting, |_, _, _| {
            Ok(SessionNewResult { session_id: "1".to_owned(), choices: None })
        })
        .later::<SessionPromptParams>(Who::Anyone, |fake, params, by| {
            // Like the real one: the call itself takes its place in the order.
            let _ = fake.began.lock().unwrap().send("prompt".to_owned());
            Box::pin(prompt(params, by.client.clone()))
        })
        .on::<ConversationParams>(Who::Person, Work::Read, |_, _, _| {
            Err(ErrorObject::new(Kind::NotFound, "there is none"))
        })
        .on::<DeleteConversationParams>(Who::Person, Work::Setting, |_, _, _| {
            Ok(DeleteConversationResult::default())
        })
}

fn tools() -> ToolsListResult {
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

/// Waits as `change` does, for a test that needs a vault that cannot be read for a while.
fn status(fake: &Fake, by: &Context) -> StatusResult {
    if fake.slow_status.load(Ordering::Acquire) {
        let _ = fake.began.lock().unwrap().send("status".to_owned());
        let _ = fake.go.lock().unwrap().recv();
    }
    let server = by.server();
    StatusResult {
        version: server.version,
        pid: std::process::id(),
        uptime_seconds: server.uptime.as_secs(),
        connections: server.connections,
        epoch: by.events().epoch().to_owned(),
        seq: by.events().seq(),
        settings: SettingsState::default(),
        confinement: Confinement::default(),
        smarthole: SmartHoleState::default(),
        mode: Some(ModeResult::default()),
        host: by.hosts().state(),
        memory: MemoryState::default(),
        knowledge: None,
        vault: VaultState { name: "fake".to_owned(), ..VaultState::default() },
    }
}

/// Answers with the message and the kind of its caller; `wait` is never answered, `fail` is an
/// error.
async fn prompt(
    params: SessionPromptParams,
    by: Client,
) -> Result<SessionPromptResult, ErrorObject> {
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
}

fn ask_host(params: HostRequestParams, by: &Context) -> Result<HostRequestResult, ErrorObject> {
    let HostRequestParams::Open { path, line } = params else {
        return Err(ErrorObject::new(Kind::InvalidParams, "only `open`"));
    };
    let params = |call| HostOpenParams { call, path, line };
    let (open, patience) = (HostOperation::Open, std::time::Duration::from_millis(200));
    let asked = by.hosts().ask::<_, HostOpenResult>(open, patience, &by.cancel, params);
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
