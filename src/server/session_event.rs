//! Events of a conversation, as sent to clients.

use crate::protocol::envelope;
use crate::protocol::session::{
    MessageKind, MessageParams, SessionEventMeta, SessionState, SessionUpdate, SessionUpdateParams,
    StateParams, StopReason,
};

/// An event in a conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionEvent {
    /// A message, a tool call or another update.
    Update(SessionUpdate),
    Message {
        id: String,
        kind: MessageKind,
        text: String,
    },
    State {
        state: SessionState,
        /// The number of messages waiting to be delivered.
        queued: u32,
        /// Whether a question to the person is open.
        waiting: bool,
        stop_reason: Option<StopReason>,
        error: Option<String>,
    },
}

impl SessionEvent {
    /// The notification for clients other than ACP clients.
    pub(super) fn notification(self, session_id: String, meta: SessionEventMeta) -> String {
        match self {
            Self::Update(update) => {
                envelope::notification(&SessionUpdateParams { session_id, update, meta })
            }
            Self::Message { id: message_id, kind, text } => {
                envelope::notification(&MessageParams { session_id, message_id, kind, text, meta })
            }
            Self::State { state, queued, waiting, stop_reason, error } => {
                envelope::notification(&StateParams {
                    session_id,
                    state,
                    queued,
                    waiting,
                    stop_reason,
                    error,
                    meta,
                })
            }
        }
    }
}
