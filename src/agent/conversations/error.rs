//! Errors of conversation methods.

use crate::conversation::{BranchId, ConversationId, ItemNumber};
use crate::store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum ConversationError {
    #[error("there is no conversation {id}")]
    NotFound { id: ConversationId },
    /// The item does not exist or is not a message of the person.
    #[error("conversation {id} has no message {item} of yours")]
    NoMessage { id: ConversationId, item: ItemNumber },
    #[error("conversation {id} has no branch {branch}")]
    NoBranch { id: ConversationId, branch: BranchId },
    #[error("a turn is running in conversation {id}")]
    TurnRuns { id: ConversationId },
    /// The store could not be read or written; any method can return this.
    #[error("the conversations cannot be stored or read: {0}")]
    Store(#[source] StoreError),
}

impl ConversationError {
    pub fn hint(&self) -> String {
        match self {
            Self::NotFound { .. } => {
                "`steward conversations list` lists the conversations".to_owned()
            }
            Self::NoMessage { id, .. } | Self::NoBranch { id, .. } => {
                format!("`steward conversations show {id}` shows its messages")
            }
            Self::TurnRuns { .. } => {
                "wait until it ends, or cancel it; after a crash it ends when the daemon starts"
                    .to_owned()
            }
            Self::Store(error) => error.hint(),
        }
    }
}

impl From<StoreError> for ConversationError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unknown { what: "conversation", number } => {
                Self::NotFound { id: ConversationId(number) }
            }
            StoreError::Conflict { conversation } => {
                Self::TurnRuns { id: ConversationId(conversation) }
            }
            error => Self::Store(error),
        }
    }
}

pub(super) type Result<T> = std::result::Result<T, ConversationError>;
