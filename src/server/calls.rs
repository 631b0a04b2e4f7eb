//! The requests in flight on one connection: admits, cancels and answers each exactly once.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::acp::Attached;
use super::approvals::WaitPolicy;
use super::outbox::{Outbox, STUCK_DEADLINE};
use super::table::{Afterwards, Client, Context, Later, Write};
use super::{Settings, SharedServer};
use crate::calls::Request;
use crate::calls::run::{Answered, Stopped, Task, Work};
use crate::calls::tracker::Tracker;
use crate::locks::lock;
use crate::policy;
use crate::protocol::envelope::{self, RequestId};
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::protocol::tools::{ToolsCallParams, ToolsCallWritten};
use crate::tools::Facts;
use crate::vault::Cancel;

/// The longest name of a turn or conversation, in characters.
const MAX_NAME_CHARS: usize = 100;

/// The retry delay for a client with too many requests in flight.
const RETRY_AFTER_MS: u64 = 50;

/// The calls of one connection. Clones share them.
#[derive(Clone)]
pub struct Calls {
    shared: Arc<SharedServer>,
    settings: Arc<Settings>,
    outbox: Arc<Outbox>,
    attached: Attached,
    in_flight: Arc<Mutex<HashMap<RequestId, Task>>>,
    unanswered: Tracker,
    /// Held while an answer waits for room in the outbox. Answers enter one by one, so that a
    /// client that requested much at once is not cut off as too slow when all of it finishes at
    /// once.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Calls {
    /// No calls yet; answers go to `outbox`.
    pub fn new(
        shared: Arc<SharedServer>,
        settings: Arc<Settings>,
        outbox: Arc<Outbox>,
        attached: Attached,
    ) -> Self {
        Self {
            shared,
            settings,
            outbox,
            attached,
            in_flight: Arc::default(),
            unanswered: Tracker::default(),
            turn: Arc::default(),
        }
    }

    pub fn holds(&self, id: &RequestId) -> bool {
        lock(&self.in_flight).contains_key(id)
    }

    /// Waits until every call has been answered.
    pub async fn idle(&self) {
        self.unanswered.idle().await;
    }

    /// Starts a tool call, whose answer follows later. Returns how long the call occupied this
    /// thread if it is already done.
    pub fn start(
        &self,
        id: &RequestId,
        params: ToolsCallParams,
        client: &Client,
    ) -> Result<Duration> {
        let Some(work) = self.shared.backend.tools.work(&params.name) else {
            let name: String = params.name.chars().take(80).collect();
            // A server's tool may be withheld.
            let hint = match name.split_once("__") {
                Some((server, _)) => {
                    format!("`steward servers show {}` says why", server.escape_debug())
                }
                None => "`tools/list` names them all".to_owned(),
            };
            let message = format!("there is no tool `{}`", name.escape_debug());
            return Err(ErrorObject::new(Kind::UnknownTool, message).hint(hint));
        };
        let request = self.request(params, client);
        if matches!(work, Work::Read | Work::Search)
            && let Some(took) = self.answer_nonblocking(id, &request)
        {
            return Ok(took);
        }
        let task = self.admit(id, work)?;
        let (shared, most) = (Arc::clone(&self.shared), self.settings.max_reply_bytes);
        // The deadline that was in the answer to `initialize`.
        let limit = Some(self.settings.request_deadline());
        let wait_policy = WaitPolicy { limit, for_somebody: false };
        let answer_to = id.clone();
        let done = self.shared.backend.runner.call(
            &task,
            Arc::clone(&self.shared.backend.tools),
            request,
            move |question| shared.approvals.ask_about(question, None, wait_policy),
            // Serialised once, on the thread that ran the call.
            move |answered| bounded_response(&answer_to, answered, most),
        );
        self.follow(id, done, Afterwards::default());
        Ok(Duration::ZERO)
    }

    fn request(&self, params: ToolsCallParams, client: &Client) -> Request {
        let ours = params.meta.and_then(|meta| meta.vault).unwrap_or_default();
        let epoch = self.shared.events.epoch();
        // Clients count turns from 1, so a name is unique only within this connection.
        let turn = |turn: String| format!("{epoch}/{}/{}", client.connection, one_line_name(&turn));
        Request {
            tool: params.name,
            arguments: Value::Object(params.arguments),
            caller: policy::Caller { scope: client.scope, name: client.name.clone() },
            confirmed: ours.confirmed,
            agreed: ours.agreed,
            dry_run: ours.dry_run,
            applies_proposal: false,
            turn: ours.turn.map(turn),
            conversation: ours.conversation.as_deref().map(one_line_name),
            max_chars: None,
            rules: Vec::new(),
            mode: None,
        }
    }

    /// Runs a call on this thread if it needs no waiting; returns how long it took.
    fn answer_nonblocking(&self, id: &RequestId, request: &Request) -> Option<Duration> {
        if lock(&self.in_flight).len() >= self.settings.max_in_flight as usize {
            return None;
        }
        let (answer, took) = self.shared.backend.runner.run_nonblocking(|| {
            let answered = self.shared.backend.tools.call_nonblocking(request)?;
            Some(bounded_response(id, answered, self.settings.max_reply_bytes))
        })?;
        let answer = answer.unwrap_or_else(|stopped| refusal(id, &stopped));
        self.outbox.push(Utf8Bytes::from(answer));
        Some(took.max(Duration::from_nanos(1)))
    }

    pub fn context(&self, client: Client, cancel: Cancel) -> Context {
        Context {
            client,
            max_bytes: self.settings.max_reply_bytes,
            cancel,
            shared: Arc::clone(&self.shared),
            outbox: Some(Arc::clone(&self.outbox)),
            attached: self.attached.clone(),
            afterwards: Afterwards::default(),
        }
    }

    /// Starts work that writes its result; the answer follows later.
    pub fn begin(&self, id: &RequestId, client: Client, work: Work, write: Write) -> Result<()> {
        let task = self.admit(id, work)?;
        let context = self.context(client, task.cancel_token().clone());
        let (answer_to, afterwards) = (id.clone(), context.afterwards.clone());
        let job = move |_: &Cancel| {
            envelope::answer_of(&answer_to, 128, |json| write(&context, json))
                .unwrap_or_else(|error| envelope::failure(Some(&answer_to), &error))
        };
        self.follow(id, self.shared.backend.runner.run(&task, job), afterwards);
        Ok(())
    }

    /// Starts work without a time limit; the answer follows later. `begin` is called once the
    /// request is admitted, so a rejected request never starts.
    pub fn wait(
        &self,
        id: &RequestId,
        client: Client,
        begin: impl FnOnce(&Context) -> Later<Vec<u8>>,
    ) -> Result<()> {
        let task = self.admit(id, Work::Read)?;
        let context = self.context(client, task.cancel_token().clone());
        let work = begin(&context);
        let done = self.shared.backend.runner.wait(&task, work);
        let answer_to = id.clone();
        let answer = async move {
            let written = done.await?.and_then(|result| {
                envelope::answer_of(&answer_to, result.len(), |json| {
                    json.extend_from_slice(&result);
                    Ok(())
                })
            });
            Ok(written.unwrap_or_else(|error| envelope::failure(Some(&answer_to), &error)))
        };
        self.follow(id, answer, context.afterwards);
        Ok(())
    }

    pub fn cancel(&self, id: &RequestId) {
        if let Some(task) = lock(&self.in_flight).get(id) {
            task.cancel();
        }
    }

    /// The client is gone: cancels reads; changes continue.
    pub fn abandon(&self) {
        lock(&self.in_flight).values().for_each(Task::abandon);
    }

    fn admit(&self, id: &RequestId, work: Work) -> Result<Task> {
        let mut in_flight = lock(&self.in_flight);
        if in_flight.len() >= self.settings.max_in_flight as usize {
            let message = format!("{} requests are unanswered already", in_flight.len());
            return Err(ErrorObject::new(Kind::Overloaded, message).retry_after_ms(RETRY_AFTER_MS));
        }
        let task = Task::new(work, Some(self.settings.request_deadline()));
        in_flight.insert(id.clone(), task.clone());
        Ok(task)
    }

    /// Sends the answer once it is ready, and removes the request from those in flight.
    fn follow(
        &self,
        id: &RequestId,
        done: impl Future<Output = Result<String, Stopped>> + Send + 'static,
        afterwards: Afterwards,
    ) {
        let (calls, id) = (self.clone(), id.clone());
        let unanswered = self.unanswered.begin();
        tokio::spawn(async move {
            let answer = done.await.unwrap_or_else(|stopped| {
                match &stopped {
                    Stopped::Crashed(error) => {
                        tracing::error!(%error, "a tool call stopped unexpectedly")
                    }
                    Stopped::Late { seconds, .. } => {
                        tracing::warn!(seconds, "a request took longer than its deadline");
                    }
                    Stopped::Cancelled | Stopped::ShuttingDown => {}
                }
                refusal(&id, &stopped)
            });
            let turn = calls.turn.lock().await;
            // A client that reads nothing for this long is too slow.
            let _ = tokio::time::timeout(STUCK_DEADLINE, calls.outbox.wait_for_room()).await;
            lock(&calls.in_flight).remove(&id);
            calls.outbox.push(Utf8Bytes::from(answer));
            calls.outbox.push_replay(afterwards.take().into_iter());
            drop((turn, unanswered));
        });
    }
}

/// A client-supplied name, limited in length and on one line.
fn one_line_name(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect()
}

/// The answer to a tool call, or an error if it is too large.
fn bounded_response(id: &RequestId, answered: Answered, limit: u64) -> String {
    let (text, facts, is_error) = match answered {
        Ok(answer) => (answer.text, answer.data, false),
        Err(error) => (error.text(), Facts::from(json!(error)), true),
    };
    let result = ToolsCallWritten { text, facts: facts.into_json(), is_error };
    let written = envelope::answer_of(id, result.room(), |json| {
        result.write(json);
        Ok::<(), Infallible>(())
    });
    let Ok(text) = written;
    let size = text.len() as u64;
    if size <= limit {
        return text;
    }
    let detail =
        Map::from_iter([("bytes".to_owned(), size.into()), ("limit".to_owned(), limit.into())]);
    envelope::failure(
        Some(id),
        &ErrorObject::new(
            Kind::ReplyTooLarge,
            format!("the tool did its work, but its answer has {size} bytes"),
        )
        .hint(
            "narrow the request: a folder further down, fewer entries, matches or lines at a time",
        )
        .detail(detail.into()),
    )
}

/// The error answer to a call that did not complete.
fn refusal(id: &RequestId, stopped: &Stopped) -> String {
    let kind = match stopped {
        Stopped::Cancelled => Kind::Cancelled,
        Stopped::Late { .. } => Kind::Timeout,
        Stopped::Crashed(_) => Kind::Internal,
        Stopped::ShuttingDown => Kind::Failed,
    };
    let hint = stopped.hint().map(str::to_owned);
    let error = ErrorObject::new(kind, stopped.to_string()).maybe_hint(hint);
    envelope::failure(Some(id), &error)
}
