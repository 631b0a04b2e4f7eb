//! Questions to a person: put to every client that can ask one, decided by the first valid answer.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::outbox::Outbox;
use super::{lock, permission};
use crate::calls::{Answerer, Decision, Question};
use crate::protocol::cancel::CancelParams;
use crate::protocol::envelope::{self, RequestId};
use crate::protocol::permission::{
    PermissionOption, PermissionOutcome, RequestPermissionParams, RequestPermissionResult,
};

/// What every id of a question begins with.
const PREFIX: &str = "permission-";

/// The questions that wait, and the clients that can answer. A clone is the same.
#[derive(Clone, Default)]
pub struct Approvals(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    last: u64,
    clients: HashMap<u64, (Arc<Outbox>, String)>,
    waiting: BTreeMap<u64, Waiting>,
}

struct Waiting {
    params: RequestPermissionParams,
    /// When it counts as refused.
    end: Instant,
    lasting: bool,
    tell: oneshot::Sender<(Decision, String)>,
}

impl Approvals {
    /// From now on this client is asked too, beginning with what waits already.
    pub fn join(&self, connection: u64, outbox: &Arc<Outbox>, name: &str) {
        let mut state = lock(&self.0);
        for (number, waiting) in &state.waiting {
            let mut params = waiting.params.clone();
            params.meta.vault.seconds =
                seconds(waiting.end.saturating_duration_since(Instant::now()));
            outbox.push(Utf8Bytes::from(envelope::request(&id(*number), &params)));
        }
        state.clients.insert(connection, (Arc::clone(outbox), name.to_owned()));
    }

    /// The client is gone. What waits goes on waiting: others may answer, or it may come back.
    pub fn leave(&self, connection: u64) {
        lock(&self.0).clients.remove(&connection);
    }

    /// Asks whether a call may go on, as [`Approvals::ask`] does, for as long as the settings say;
    /// `call` names the call where it has a name.
    pub fn ask_about(
        &self,
        question: &Question,
        call: Option<String>,
        waits: bool,
    ) -> impl Future<Output = (Decision, Answerer)> + Send + use<> {
        let mut params = permission::params(question);
        params.tool_call.tool_call_id = call.unwrap_or_default();
        self.ask(params, question.patience(), waits)
    }

    /// Asks, and waits for the first valid answer at most `patience`; who gave it. Where nobody can
    /// answer at the moment it comes to nothing at once, unless it `waits` for somebody to come.
    pub fn ask(
        &self,
        params: RequestPermissionParams,
        patience: Duration,
        waits: bool,
    ) -> impl Future<Output = (Decision, String)> + Send + use<> {
        let asked = self.put(params, patience, waits);
        let approvals = self.clone();
        async move {
            let Some((guard, answer)) = asked else { return (Decision::Nobody, String::new()) };
            let answered = tokio::time::timeout_at(guard.end, answer).await;
            // However it ends, whoever still shows the question is told to take it away.
            drop(guard);
            drop(approvals);
            match answered {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) => (Decision::Withdrawn, String::new()),
                Err(_) => (Decision::Late, String::new()),
            }
        }
    }

    fn put(
        &self,
        mut params: RequestPermissionParams,
        patience: Duration,
        waits: bool,
    ) -> Option<(Open, oneshot::Receiver<(Decision, String)>)> {
        let mut state = lock(&self.0);
        if state.clients.is_empty() && !waits {
            return None;
        }
        state.last += 1;
        let number = state.last;
        if params.tool_call.tool_call_id.is_empty() {
            params.tool_call.tool_call_id = format!("call-{number}");
        }
        params.meta.vault.seconds = seconds(patience);
        let lasting = params.meta.vault.folder.is_some();
        params.options = options(params.meta.vault.folder.as_deref(), &params.meta.vault.tool);
        let text = Utf8Bytes::from(envelope::request(&id(number), &params));
        for (outbox, _) in state.clients.values() {
            outbox.push(text.clone());
        }
        let (tell, answer) = oneshot::channel();
        let end = Instant::now() + patience;
        state.waiting.insert(number, Waiting { params, end, lasting, tell });
        Some((Open { approvals: self.clone(), number, end }, answer))
    }

    /// Takes a client's answer; what answers no question, or not as it can be answered, counts for
    /// nothing.
    pub fn answer(&self, connection: u64, id: &RequestId, result: Option<Value>) {
        let RequestId::Text(id) = id else { return };
        let number = id.strip_prefix(PREFIX).and_then(|number| number.parse::<u64>().ok());
        let Some(number) = number else { return };
        let result = result.and_then(|result| serde_json::from_value(result).ok());
        let Some(RequestPermissionResult { outcome }) = result else { return };
        let mut state = lock(&self.0);
        let Some((_, name)) = state.clients.get(&connection) else { return };
        let name = name.clone();
        let Some(waiting) = state.waiting.get(&number) else { return };
        let decision = match outcome {
            PermissionOutcome::Selected { option_id } => match option_id.as_str() {
                "allow_once" => Decision::Once,
                "allow_always" if waiting.lasting => Decision::Always,
                "reject_once" => Decision::Reject,
                _ => return,
            },
            PermissionOutcome::Cancelled => return,
        };
        if let Some(waiting) = state.waiting.remove(&number) {
            let _ = waiting.tell.send((decision, name));
            state.withdraw(number, Some(connection));
        }
    }
}

impl State {
    /// Tells everyone but `except` that a question needs no answer any more.
    fn withdraw(&self, number: u64, except: Option<u64>) {
        let params = CancelParams { request_id: id(number) };
        let text = Utf8Bytes::from(envelope::notification(&params));
        for (connection, (outbox, _)) in &self.clients {
            if Some(*connection) != except {
                outbox.push(text.clone());
            }
        }
    }
}

/// A question that is being shown; taken away when nobody waits for its answer any more.
struct Open {
    approvals: Approvals,
    number: u64,
    end: Instant,
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut state = lock(&self.approvals.0);
        if state.waiting.remove(&self.number).is_some() {
            state.withdraw(self.number, None);
        }
    }
}

/// What is left of the time, in seconds that have begun.
fn seconds(left: Duration) -> u32 {
    u32::try_from(left.as_millis().div_ceil(1_000)).unwrap_or(u32::MAX)
}

fn id(number: u64) -> RequestId {
    RequestId::Text(format!("{PREFIX}{number}"))
}

fn options(folder: Option<&str>, tool: &str) -> Vec<PermissionOption> {
    let option = |word: &str, name: String| PermissionOption {
        option_id: word.to_owned(),
        name,
        kind: word.to_owned(),
    };
    let mut options = vec![option("allow_once", "Allow once".to_owned())];
    if let Some(folder) = folder {
        options.push(option("allow_always", format!("Always allow {tool} in {folder}")));
    }
    options.push(option("reject_once", "Reject".to_owned()));
    options
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::outbox::Next;
    use super::*;

    /// The question that was put last: its id, and the seconds that it says are left.
    async fn put(outbox: &Outbox) -> (String, u64) {
        let Next::Send { text, .. } = outbox.next().await else {
            panic!("nothing was put");
        };
        let asked: Value = serde_json::from_str(&text).unwrap();
        let seconds = &asked["params"]["_meta"]["vault"]["seconds"];
        (asked["id"].as_str().unwrap().to_owned(), seconds.as_u64().unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_later_is_told_what_is_left_of_the_time() {
        let params: RequestPermissionParams = serde_json::from_value(json!({
            "sessionId": "1",
            "toolCall": {"toolCallId": "1", "title": "delete `Garden`", "kind": "delete",
                "status": "pending", "locations": [], "content": []},
            "options": [],
            "_meta": {"vault": {"tool": "delete", "caller": "", "scope": "", "reasons": [],
                "changes": [], "folder": null, "seconds": 0}},
        }))
        .unwrap();
        let approvals = Approvals::default();
        let (first, second) = (Arc::new(Outbox::new(9, 9_999)), Arc::new(Outbox::new(9, 9_999)));
        approvals.join(1, &first, "first");
        let asking = tokio::spawn(approvals.ask(params, Duration::from_secs(120), false));
        let (id, seconds) = put(&first).await;
        assert_eq!(seconds, 120);
        tokio::time::advance(Duration::from_millis(80_500)).await;
        approvals.join(2, &second, "second");
        assert_eq!(put(&second).await, (id, 40));
        tokio::time::advance(Duration::from_millis(39_499)).await;
        assert!(!asking.is_finished());
        assert_eq!(asking.await.unwrap().0, Decision::Late);
    }
}
