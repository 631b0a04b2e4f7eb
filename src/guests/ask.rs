//! Questions about a guest to a person.

use futures_util::future::BoxFuture;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestQuestion {
    /// The guest's name.
    pub guest: String,
    pub conversation: String,
    /// Whether the answer holds for every conversation.
    pub is_general: bool,
    /// What it is about, in one line.
    pub title: String,
    /// Why a person has to decide, one sentence each.
    pub reasons: Vec<String>,
    /// Distinguishes it from other questions with the same title.
    pub details: String,
}

/// Asks a person.
pub trait Ask: Send + Sync + 'static {
    /// Whether a person agrees; false if there is none. Dropping the future withdraws the question.
    fn ask(&self, question: GuestQuestion) -> BoxFuture<'static, bool>;
}
