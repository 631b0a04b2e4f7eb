//! A person's answers that arrived after their call had ended.

use tokio::time::Instant;

use super::call::{Answerer, Decision, Request};

/// The identity of a call: caller, conversation, tool, arguments and planned changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(blake3::Hash);

impl Key {
    /// The key of a call whose changes have this identity.
    pub(super) fn of(request: &Request, identity: &str) -> Self {
        let caller = &request.caller;
        let parts = serde_json::json!([
            caller.scope.word(),
            caller.name,
            request.conversation,
            request.tool,
            request.arguments,
            identity,
        ]);
        Self(blake3::hash(parts.to_string().as_bytes()))
    }

    /// A key made from `name`.
    #[cfg(test)]
    pub fn named(name: &str) -> Self {
        Self(blake3::hash(name.as_bytes()))
    }
}

/// Answers waiting for their call to be repeated. Each counts once and until it expires.
#[derive(Debug, Default)]
pub struct SavedAnswers(Vec<Answer>);

#[derive(Debug)]
struct Answer {
    key: Key,
    decision: Decision,
    by: Answerer,
    until: Instant,
}

impl SavedAnswers {
    /// Saves an answer until `until` for the next call with this key; replaces an earlier one.
    pub fn put(&mut self, key: Key, decision: Decision, by: Answerer, until: Instant) {
        let now = Instant::now();
        self.0.retain(|answer| answer.key != key && answer.until > now);
        self.0.push(Answer { key, decision, by, until });
    }

    /// Takes the answer for a call with this key, if there is one.
    pub fn take(&mut self, key: Key) -> Option<(Decision, Answerer)> {
        let now = Instant::now();
        self.0.retain(|answer| answer.until > now);
        let at = self.0.iter().position(|answer| answer.key == key)?;
        let answer = self.0.swap_remove(at);
        Some((answer.decision, answer.by))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::policy::{Caller, Scope};

    #[test]
    fn only_an_identical_call_of_the_same_caller_matches() {
        let request = Request {
            tool: "delete".to_owned(),
            arguments: json!({"path": "Old", "permanent": false}),
            caller: Caller { scope: Scope::Client, name: "script".to_owned() },
            conversation: Some("7".to_owned()),
            turn: Some("1".to_owned()),
            ..Request::default()
        };
        let key = Key::of(&request, "a");
        let spelt: serde_json::Value =
            serde_json::from_str(r#"{"permanent": false, "path": "Old"}"#).unwrap();
        let again = Request { turn: Some("2".to_owned()), arguments: spelt, ..request.clone() };
        assert_eq!(Key::of(&again, "a"), key);
        let caller = |scope, name: &str| Caller { scope, name: name.to_owned() };
        for other in [
            Request { tool: "move".to_owned(), ..request.clone() },
            Request { arguments: json!({"path": "Old"}), ..request.clone() },
            Request { caller: caller(Scope::Mcp, "script"), ..request.clone() },
            Request { caller: caller(Scope::Client, "another"), ..request.clone() },
            Request { conversation: None, ..request.clone() },
        ] {
            assert_ne!(Key::of(&other, "a"), key, "{other:?}");
        }
        assert_ne!(Key::of(&request, "b"), key);
    }
}
