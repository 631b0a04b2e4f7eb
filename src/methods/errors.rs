//! Converts the errors of the rooms below to those of the wire.

use crate::agent::ConversationError;
use crate::journal::JournalError;
use crate::protocol::error::{ErrorObject, Kind};
use crate::store::StoreError;

impl From<ConversationError> for ErrorObject {
    fn from(error: ConversationError) -> Self {
        let kind = match error {
            ConversationError::NotFound { .. } => Kind::UnknownSession,
            ConversationError::NoMessage { .. } | ConversationError::NoBranch { .. } => {
                Kind::NotFound
            }
            ConversationError::TurnRuns { .. } => Kind::TurnRunning,
            ConversationError::Store(_) => Kind::Failed,
        };
        Self::new(kind, error.to_string()).hint(error.hint())
    }
}

impl From<JournalError> for ErrorObject {
    fn from(error: JournalError) -> Self {
        Self::new(Kind::Failed, error.to_string()).maybe_hint(error.hint())
    }
}

impl From<StoreError> for ErrorObject {
    fn from(error: StoreError) -> Self {
        Self::new(Kind::Failed, error.to_string()).hint(error.hint())
    }
}
