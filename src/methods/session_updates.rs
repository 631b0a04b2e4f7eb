//! The events of turns, in the protocol's types.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::agent::call_result::ChangedFile;
use crate::agent::ports::Update;
use crate::agent::turn::{self, End, Reason, Severity, Show};
use crate::llm::{ToolArgs, ToolCall};
use crate::protocol::permission::PermissionLocation;
use crate::protocol::session::{
    Cost, FileChange, MessageKind, SessionState, SessionUpdate, StopReason, ToolCallContent,
    ToolCallMeta, ToolCallStatus, ToolCallVaultMeta, ToolImage, UserMessageMeta,
    UserMessageVaultMeta,
};
use crate::protocol::tools::Content;
use crate::server::events::SessionEvent;
use crate::tools::{Names, Registry, ToolKind};

/// Characters of a tool's answer that clients show as text; programs get all of it.
pub(super) const SHOWN: usize = 20_000;

/// An update of a turn as protocol messages.
pub fn shown(turn: &str, what: Update, root: &Path) -> Vec<SessionEvent> {
    let state = |state, queued: usize| SessionEvent::State {
        state,
        queued: u32::try_from(queued).unwrap_or(u32::MAX),
        waiting: false,
        stop_reason: None,
        error: None,
    };
    vec![match what {
        Update::Show(show) => return shown_in(turn, show, root),
        Update::Running { queued } => state(SessionState::Running, queued),
        Update::RequiresAction { queued } => state(SessionState::RequiresAction, queued),
        Update::Ended { end } => SessionEvent::State {
            state: SessionState::Idle,
            queued: u32::try_from(end.undelivered.len()).unwrap_or(u32::MAX),
            waiting: end.reason == Reason::Waiting,
            stop_reason: stop_reason(end.reason),
            error: (end.reason == Reason::Failed).then(|| failure(&end)),
        },
        Update::Usage { used, size, cost } => {
            let cost = cost.map(|amount| Cost { amount, currency: "USD".to_owned() });
            SessionEvent::Update(SessionUpdate::UsageUpdate { used, size, cost })
        }
    }]
}

fn shown_in(turn: &str, show: Show, root: &Path) -> Vec<SessionEvent> {
    let text = |text| Content::Text { text };
    let named = |call: &str| format!("{turn}/{call}");
    let update = match show {
        Show::User(message) => {
            user_message(message.id(), message.text, message.source, message.client_id)
        }
        Show::Resumed(message) => SessionUpdate::Notice {
            severity: "info".to_owned(),
            title: "the work on a message is resumed".to_owned(),
            description: Some(message.text),
        },
        Show::Text { id, delta } => {
            SessionUpdate::AgentMessageChunk { content: text(delta), message_id: id }
        }
        Show::Thought { id, delta } => {
            SessionUpdate::AgentThoughtChunk { content: text(delta), message_id: id }
        }
        Show::Discard { id } => {
            let (kind, text) = (MessageKind::Void, String::new());
            return vec![SessionEvent::Message { id, kind, text }];
        }
        Show::Message { id, text, kind } => {
            let kind = match kind {
                turn::MessageKind::Answer => MessageKind::Answer,
                turn::MessageKind::Part => MessageKind::Part,
                turn::MessageKind::Sent => MessageKind::Sent,
                turn::MessageKind::Question => MessageKind::Question,
            };
            return vec![SessionEvent::Message { id, kind, text }];
        }
        Show::Call { call } => tool_call(named(&call.id), &call, root),
        Show::Running { call } => update_of(named(&call), ToolCallStatus::InProgress),
        Show::AwaitingApproval { call, title } => SessionUpdate::ToolCallUpdate {
            tool_call_id: named(&call),
            status: ToolCallStatus::Pending,
            title: Some(title),
            content: Vec::new(),
            raw_output: None,
            files: Vec::new(),
            image: None,
        },
        Show::Result { call, called } => {
            let status =
                if called.is_error { ToolCallStatus::Failed } else { ToolCallStatus::Completed };
            let text: String = called.text.chars().take(SHOWN).collect();
            let content = vec![ToolCallContent::Content { content: Content::Text { text } }];
            SessionUpdate::ToolCallUpdate {
                tool_call_id: named(&call),
                status,
                title: None,
                content,
                raw_output: Some(called.data).filter(|data| !data.is_null()),
                files: called.files.into_iter().map(|file| changed(file, root)).collect(),
                image: called.image.map(|image| ToolImage {
                    mime_type: image.mime,
                    bytes: Arc::new(image.bytes.clone()),
                }),
            }
        }
        Show::Notice { severity, title, text } => notice(severity, title, text),
    };
    vec![SessionEvent::Update(update)]
}

pub fn notice(severity: Severity, title: String, description: Option<String>) -> SessionUpdate {
    let severity = match severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    SessionUpdate::Notice { severity: severity.to_owned(), title, description }
}

/// The update of a person's message.
pub fn user_message(
    id: String,
    text: String,
    source: String,
    client_message_id: Option<String>,
) -> SessionUpdate {
    SessionUpdate::UserMessageChunk {
        content: Content::Text { text },
        message_id: id,
        meta: Some(UserMessageMeta { vault: UserMessageVaultMeta { source, client_message_id } }),
    }
}

pub fn tool_call(id: String, call: &ToolCall, root: &Path) -> SessionUpdate {
    let (arguments, fields) = match &call.args {
        ToolArgs::Object(fields) => (Value::Object(fields.clone()), Some(fields)),
        ToolArgs::Invalid(text) => (Value::String(text.clone()), None),
    };
    let definition = Registry::built_in().get(&call.name);
    let title = match definition {
        Some(tool) if tool.is_permanent(&arguments) => format!("{} for good", tool.title),
        Some(tool) => tool.title.clone(),
        None => call.name.clone(),
    };
    let touched =
        definition.zip(fields).into_iter().flat_map(|(tool, fields)| tool.touched(fields));
    let touched: Vec<(Names, &str)> = touched.collect();
    let title =
        match touched.iter().find(|(names, _)| [Names::Path, Names::Pattern].contains(names)) {
            Some((_, named)) => format!("{title}: {}", named.chars().take(120).collect::<String>()),
            None => title,
        };
    let paths = touched.iter().filter(|(names, _)| *names == Names::Path).map(|(_, path)| *path);
    // The tool refuses a path outside the vault; here it is only left out.
    let inside = paths.filter(|path| !Path::new(path).is_absolute() && !path.contains(".."));
    let locations = inside
        .map(|path| PermissionLocation { path: root.join(path).to_string_lossy().into_owned() });
    let kind = match definition.map_or(ToolKind::Other, |tool| tool.kind) {
        ToolKind::Read => "read",
        ToolKind::Search => "search",
        ToolKind::Edit => "edit",
        ToolKind::Move => "move",
        ToolKind::Delete => "delete",
        ToolKind::Other => "other",
    };
    SessionUpdate::ToolCall {
        tool_call_id: id,
        title,
        kind: kind.to_owned(),
        status: ToolCallStatus::Pending,
        locations: locations.collect(),
        raw_input: arguments,
        meta: ToolCallMeta { vault: ToolCallVaultMeta { tool: call.name.clone() } },
    }
}

fn update_of(tool_call_id: String, status: ToolCallStatus) -> SessionUpdate {
    let (title, content, raw_output) = (None, Vec::new(), None);
    let (files, image) = (Vec::new(), None);
    SessionUpdate::ToolCallUpdate { tool_call_id, status, title, content, raw_output, files, image }
}

/// The update of a file that a call changed.
pub(super) fn changed(file: ChangedFile, root: &Path) -> FileChange {
    let path = root.join(&file.path).to_string_lossy().into_owned();
    FileChange { path, line: file.line, old: file.old, new: file.new }
}

/// The reason for a turn's end, in ACP's words; `None` if it failed.
pub(super) fn stop_reason(reason: Reason) -> Option<StopReason> {
    Some(match reason {
        Reason::Done | Reason::Waiting | Reason::Ended => StopReason::EndTurn,
        Reason::MaxTokens => StopReason::MaxTokens,
        Reason::MaxRounds => StopReason::MaxTurnRequests,
        Reason::Refused => StopReason::Refusal,
        Reason::Cancelled => StopReason::Cancelled,
        Reason::Failed => return None,
    })
}

fn failure(end: &End) -> String {
    match &end.hint {
        Some(hint) => format!("{}\nhint: {hint}", end.words),
        None => end.words.clone(),
    }
}
