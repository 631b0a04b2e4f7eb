//! Approval requests: sent to every client that can show them, decided by the first valid answer.
//!
//! A request may outlive its call. It waits as long as a connected client shows it, and without one for as
//! long as the settings say. An answer without a waiting call is stored for the same call
//! ([`SavedAnswers`]).

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::acp::{self, Attached};
use super::outbox::Outbox;
use super::permission;
use crate::calls::saved_answers::{Key, SavedAnswers};
use crate::calls::{Answerer, Decision, Question, ShownChange, UnansweredQuestion};
use crate::locks::lock;
use crate::protocol::ServerRequestParams as _;
use crate::protocol::cancel::CancelParams;
use crate::protocol::envelope::{self, RequestId};
use crate::protocol::permission::{
    PermissionOption, PermissionOutcome, RequestPermissionParams, RequestPermissionResult,
};

/// Prefix of the ids of approval requests.
const PREFIX: &str = "permission-";

/// Maximum number of pending requests of one scope, and of their bytes.
const MAX_PENDING: (usize, usize) = (32, 16 << 20);

/// Maximum characters of a person's comment.
const MAX_COMMENT: usize = 1_000;

type Answer = (Decision, Answerer);

/// How long a call waits for an answer.
#[derive(Debug, Clone, Copy, Default)]
pub struct WaitPolicy {
    /// After this time the call ends and its request stays pending. `None`: as long as the request is
    /// pending.
    pub limit: Option<Duration>,
    /// Whether the call waits even if no client shows the request.
    pub for_somebody: bool,
}

struct NewRequest {
    number: i64,
    /// When the call was made, in milliseconds since the Unix epoch.
    time: i64,
    /// Whether only a person's own program may answer.
    personal: bool,
    key: Key,
    params: RequestPermissionParams,
    changes: Arc<[ShownChange]>,
    /// How long it stays pending without a client that shows it, and how long an answer is stored.
    expiry: Duration,
    unanswered: Option<UnansweredQuestion>,
}

/// The pending requests, and the clients that can answer. Clones share them.
#[derive(Clone, Default)]
pub struct Approvals(Arc<Mutex<ApprovalsState>>);

#[derive(Default)]
struct ApprovalsState {
    last_call: u64,
    clients: HashMap<u64, Approver>,
    pending: BTreeMap<i64, PendingRequest>,
    saved: SavedAnswers,
}

/// A client that can show requests to its user.
struct Approver {
    outbox: Arc<Outbox>,
    name: String,
    /// The conversations of an ACP client: it gets only requests of these, and not all of them.
    own: Option<Attached>,
}

struct PendingRequest {
    /// Whether only a person's own program may answer.
    personal: bool,
    time: i64,
    key: Key,
    params: RequestPermissionParams,
    changes: Arc<[ShownChange]>,
    /// Size of its message and of the changed texts.
    bytes: usize,
    expiry: Duration,
    calls: Vec<(u64, oneshot::Sender<Answer>)>,
    /// Work that is left for the call that made the request, once the request is over.
    unanswered: Option<UnansweredQuestion>,
    /// Ends the request, while no client shows it.
    expires: Option<Expiry>,
}

/// A pending request, as listed for a person's program.
pub struct Pending {
    pub number: i64,
    /// When the call was made, in milliseconds since the Unix epoch.
    pub time: i64,
    pub params: RequestPermissionParams,
    /// Whether a connected client shows it.
    pub is_shown: bool,
    /// Whether a call waits for its answer.
    pub has_call: bool,
}

impl Approvals {
    /// Adds a client, and sends it all pending requests.
    pub fn join(&self, connection: u64, outbox: &Arc<Outbox>, name: &str) {
        let (outbox, name) = (Arc::clone(outbox), name.to_owned());
        self.enter(connection, Approver { outbox, name, own: None });
    }

    /// As [`Self::join`], for an ACP client, which gets requests of its `own` conversations only.
    pub fn join_own(&self, connection: u64, outbox: &Arc<Outbox>, name: &str, own: &Attached) {
        let (outbox, own) = (Arc::clone(outbox), Some(own.clone()));
        self.enter(connection, Approver { outbox, name: format!("{name} (ACP)"), own });
    }

    fn enter(&self, connection: u64, approver: Approver) {
        let mut state = lock(&self.0);
        approver.send_pending(&mut state.pending, None);
        state.clients.insert(connection, approver);
    }

    /// Sends an ACP client the pending requests of a conversation that it has attached.
    pub fn attached(&self, connection: u64, session: &str) {
        let mut state = lock(&self.0);
        let ApprovalsState { clients, pending, .. } = &mut *state;
        if let Some(approver) = clients.get(&connection) {
            approver.send_pending(pending, Some(session));
        }
    }

    /// Removes a client. Its requests stay pending: others may answer, or it may come back.
    pub fn leave(&self, connection: u64) {
        let mut state = lock(&self.0);
        let ApprovalsState { clients, pending, .. } = &mut *state;
        if clients.remove(&connection).is_none() {
            return;
        }
        for (number, request) in pending {
            if request.expires.is_none() && !clients.values().any(|one| one.may_see(request)) {
                request.expires = Some(self.expire_after(request.expiry, *number));
            }
        }
    }

    /// Asks for approval of a call; `call` is the call's name, if it has one. The first valid answer counts.
    pub fn ask_about(
        &self,
        question: &Question,
        call: Option<String>,
        wait_policy: WaitPolicy,
    ) -> impl Future<Output = Answer> + Send + use<> {
        let number = question.number();
        let mut params = permission::params(question);
        params.tool_call.tool_call_id = call.unwrap_or_else(|| format!("call-{number}"));
        let request = NewRequest {
            number,
            time: question.time(),
            personal: question.is_personal(),
            key: question.key(),
            params,
            changes: Arc::clone(question.changes()),
            expiry: question.answer_time(),
            unanswered: Some(question.unanswered()),
        };
        self.ask(request, wait_policy)
    }

    fn ask(
        &self,
        request: NewRequest,
        wait_policy: WaitPolicy,
    ) -> impl Future<Output = Answer> + Send + use<> {
        let put = self.put(request, wait_policy.for_somebody);
        async move {
            let (mut waiting, mut answer) = match put {
                Ok(waits) => waits,
                Err(decided) => return decided,
            };
            let withdrawn = |_| (Decision::Withdrawn, Answerer::default());
            let Some(limit) = wait_policy.limit else {
                return answer.await.unwrap_or_else(withdrawn);
            };
            if let Ok(answer) = tokio::time::timeout(limit, &mut answer).await {
                return answer.unwrap_or_else(withdrawn);
            }
            match waiting.end() {
                Some(decision) => (decision, Answerer::default()),
                // The answer arrived at this moment.
                None => answer.await.unwrap_or_else(withdrawn),
            }
        }
    }

    /// Adds a request, or adds its call to an equal pending one. The error is an answer that is known
    /// already.
    fn put(
        &self,
        new: NewRequest,
        for_somebody: bool,
    ) -> Result<(WaitingCall, oneshot::Receiver<Answer>), Answer> {
        let mut state = lock(&self.0);
        if let Some(answer) = state.saved.take(new.key) {
            return Err(answer);
        }
        let same = state.pending.iter().find(|(_, request)| request.key == new.key);
        let (number, mut unanswered) = match same.map(|(number, _)| *number) {
            Some(number) => (number, None),
            None => (new.number, new.unanswered),
        };
        if number == new.number {
            let mut request = PendingRequest {
                personal: new.personal,
                time: new.time,
                key: new.key,
                params: new.params,
                changes: new.changes,
                bytes: 0,
                expiry: new.expiry,
                calls: Vec::new(),
                unanswered: None,
                expires: None,
            };
            let params = &mut request.params;
            params.options = options(params.meta.vault.folder.as_deref(), &params.meta.vault.tool);
            let text = request.text(number);
            request.bytes = text.len() + content_bytes(&request.changes);
            if state.is_crowded(&request) {
                return Err((Decision::Crowded, Answerer::default()));
            }
            for approver in state.clients.values().filter(|one| one.may_see(&request)) {
                approver.outbox.push(approver.text(number, &request, Some(&text)));
            }
            if !state.shows(&request) {
                request.expires = Some(self.expire_after(request.expiry, number));
            }
            state.pending.insert(number, request);
        }
        let shown = state.pending.get(&number).is_some_and(|request| state.shows(request));
        state.last_call += 1;
        let call = state.last_call;
        let Some(request) = state.pending.get_mut(&number) else {
            return Err((Decision::Withdrawn, Answerer::default()));
        };
        if !shown && !for_somebody {
            request.unanswered = request.unanswered.take().or(unanswered.take());
            return Err((Decision::Pending { question: number, shown }, Answerer::default()));
        }
        let (sender, answer) = oneshot::channel();
        request.calls.push((call, sender));
        Ok((WaitingCall { approvals: self.clone(), number, call, unanswered }, answer))
    }

    /// Handles a client's answer. One without a pending request, or with an option that was not offered, is
    /// ignored.
    pub fn answer(&self, connection: u64, id: &RequestId, result: Option<Value>) {
        let RequestId::Text(id) = id else { return };
        let number = id.strip_prefix(PREFIX).and_then(|number| number.parse::<i64>().ok());
        let Some(number) = number else { return };
        let result = result.and_then(|result| serde_json::from_value(result).ok());
        let Some(RequestPermissionResult { outcome, meta }) = result else { return };
        let PermissionOutcome::Selected { option_id } = outcome else { return };
        let state = lock(&self.0);
        let approver = state.clients.get(&connection);
        let may = |approver: &&Approver| {
            let sees = state.pending.get(&number).is_some_and(|one| approver.may_see(one));
            sees && (approver.own.is_none() || acp::may_choose(&option_id))
        };
        let Some(approver) = approver.filter(may) else { return };
        let words = meta.unwrap_or_default().vault.words;
        let (program, is_client) = (approver.name.clone(), approver.own.is_some());
        drop(state);
        let by = Answerer { program, words, is_client };
        self.decide(number, &option_id, by, Some(connection));
    }

    /// Decides a request, and withdraws it from all clients but `except`. Returns whether a call waited for
    /// it; `None` if there is no such request, or the option is not offered.
    pub fn decide(
        &self,
        number: i64,
        option: &str,
        by: Answerer,
        except: Option<u64>,
    ) -> Option<bool> {
        let mut state = lock(&self.0);
        let offered = &state.pending.get(&number)?.params.options;
        offered.iter().find(|one| one.option_id == option)?;
        let decision = match option {
            "allow_once" => Decision::Once,
            "allow_always" => Decision::Always,
            _ => Decision::Reject,
        };
        let by = Answerer { words: comment(&by.words), ..by };
        let request = state.pending.remove(&number)?;
        state.withdraw(number, &request, except);
        let PendingRequest { key, expiry, calls, unanswered, .. } = request;
        let (mut delivered, agreed) = (false, decision != Decision::Reject);
        // An approval is for one call: the last, since a caller that repeats a call may have given up the
        // earlier one.
        for (_, sender) in calls.into_iter().rev() {
            let answer = if agreed && delivered {
                (Decision::JudgeAgain, Answerer::default())
            } else {
                (decision, by.clone())
            };
            delivered |= sender.send(answer).is_ok();
        }
        if !delivered {
            let once = if agreed { Decision::Once } else { Decision::Reject };
            state.saved.put(key, once, by.clone(), Instant::now() + expiry);
        }
        drop(state);
        settle(unanswered, decision, by);
        Some(delivered)
    }
    /// The pending requests, oldest first, or only this one.
    pub fn pending(&self, only: Option<i64>) -> Vec<Pending> {
        let state = lock(&self.0);
        let pending = |(number, request): (&i64, &PendingRequest)| Pending {
            number: *number,
            time: request.time,
            params: request.params.clone(),
            is_shown: state.shows(request),
            has_call: !request.calls.is_empty(),
        };
        let selected =
            |(number, _): &(&i64, &PendingRequest)| only.is_none_or(|one| one == **number);
        state.pending.iter().filter(selected).map(pending).collect()
    }

    /// The title of a pending request, and all its changes.
    pub fn changes(&self, number: i64) -> Option<(String, Arc<[ShownChange]>)> {
        let state = lock(&self.0);
        let request = state.pending.get(&number)?;
        Some((request.params.tool_call.title.clone(), Arc::clone(&request.changes)))
    }

    fn expire_after(&self, expiry: Duration, number: i64) -> Expiry {
        let state = Arc::downgrade(&self.0);
        let expire = async move {
            tokio::time::sleep(expiry).await;
            expire(&state, number);
        };
        Expiry(tokio::spawn(expire).abort_handle())
    }
}

impl PendingRequest {
    /// The message for clients other than ACP clients.
    fn text(&self, number: i64) -> Utf8Bytes {
        Utf8Bytes::from(envelope::request(&id(number), &self.params))
    }

    fn scope(&self) -> &str {
        &self.params.meta.vault.scope
    }
}

impl Approver {
    /// Whether the client gets this request.
    fn may_see(&self, request: &PendingRequest) -> bool {
        let own = self.own.as_ref();
        own.is_none_or(|own| !request.personal && own.has(&request.params.session_id))
    }
    /// The message for this client; `usual` is [`PendingRequest::text`], if it was made before.
    fn text(&self, number: i64, request: &PendingRequest, usual: Option<&Utf8Bytes>) -> Utf8Bytes {
        match (&self.own, usual) {
            (Some(_), _) => {
                let (id, params) = (format!("{PREFIX}{number}"), acp::question(&request.params));
                acp::request(&id, RequestPermissionParams::METHOD, &params)
            }
            (None, Some(usual)) => usual.clone(),
            (None, None) => request.text(number),
        }
    }

    /// Sends the pending requests, or those of one conversation.
    fn send_pending(&self, pending: &mut BTreeMap<i64, PendingRequest>, session: Option<&str>) {
        let is_of = |one: &PendingRequest| session.is_none_or(|it| one.params.session_id == it);
        let selected = pending.iter_mut().filter(|(_, one)| is_of(one) && self.may_see(one));
        let texts: Vec<Utf8Bytes> = selected
            .map(|(number, one)| {
                one.expires = None;
                self.text(*number, one, None)
            })
            .collect();
        self.outbox.push_replay(texts.into_iter());
    }
}

impl ApprovalsState {
    /// Whether a connected client shows it.
    fn shows(&self, request: &PendingRequest) -> bool {
        self.clients.values().any(|approver| approver.may_see(request))
    }

    /// Tells all clients but `except` that a request no longer needs an answer.
    fn withdraw(&self, number: i64, request: &PendingRequest, except: Option<u64>) {
        let params = CancelParams { request_id: id(number) };
        let text = Utf8Bytes::from(envelope::notification(&params));
        for (connection, approver) in &self.clients {
            if Some(*connection) != except && approver.may_see(request) {
                approver.outbox.push(text.clone());
            }
        }
    }

    /// Whether its scope has too much pending for one more.
    fn is_crowded(&self, one: &PendingRequest) -> bool {
        let others = self.pending.values().filter(|other| other.scope() == one.scope());
        let (count, bytes) =
            others.fold((1, one.bytes), |(count, bytes), other| (count + 1, bytes + other.bytes));
        count > MAX_PENDING.0 || (count > 1 && bytes > MAX_PENDING.1)
    }
}

/// A timer that ends a request which no client shows. Dropping it stops the timer.
struct Expiry(AbortHandle);

impl Drop for Expiry {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Ends a request that no client has shown in time.
fn expire(state: &Weak<Mutex<ApprovalsState>>, number: i64) {
    let Some(state) = state.upgrade() else { return };
    let mut state = lock(&state);
    if state.pending.get(&number).is_none_or(|request| state.shows(request)) {
        return;
    }
    let Some(request) = state.pending.remove(&number) else { return };
    drop(state);
    for (_, sender) in request.calls {
        let _ = sender.send((Decision::Late, Answerer::default()));
    }
    settle(request.unanswered, Decision::Late, Answerer::default());
}

/// Records the decision on a call that is over.
fn settle(unanswered: Option<UnansweredQuestion>, decision: Decision, by: Answerer) {
    if let Some(unanswered) = unanswered {
        tokio::task::spawn_blocking(move || unanswered.settle(decision, &by));
    }
}

/// A call that waits for an answer. Dropping it removes the call, and its request if it was the last call.
struct WaitingCall {
    approvals: Approvals,
    number: i64,
    call: u64,
    /// Work that is left for the call that made the request.
    unanswered: Option<UnansweredQuestion>,
}

impl WaitingCall {
    /// Stops waiting and leaves the request pending. `None` if the call has its answer.
    fn end(&mut self) -> Option<Decision> {
        let mut state = lock(&self.approvals.0);
        let shown = state.pending.get(&self.number).is_some_and(|request| state.shows(request));
        let request = state.pending.get_mut(&self.number)?;
        let at = request.calls.iter().position(|(call, _)| *call == self.call)?;
        request.calls.remove(at);
        request.unanswered = request.unanswered.take().or(self.unanswered.take());
        Some(Decision::Pending { question: self.number, shown })
    }
}

impl Drop for WaitingCall {
    fn drop(&mut self) {
        let mut state = lock(&self.approvals.0);
        let Some(request) = state.pending.get_mut(&self.number) else { return };
        let Some(at) = request.calls.iter().position(|(call, _)| *call == self.call) else {
            return;
        };
        request.calls.remove(at);
        if request.calls.is_empty()
            && request.unanswered.is_none()
            && let Some(request) = state.pending.remove(&self.number)
        {
            state.withdraw(self.number, &request, None);
        }
    }
}

/// Bytes of the old and new texts of changes.
fn content_bytes(changes: &[ShownChange]) -> usize {
    let contents = changes.iter().filter_map(|change| change.content.as_deref());
    contents.map(|content| content.old.as_ref().map_or(0, Vec::len) + content.new.len()).sum()
}

/// A person's comment, on one line of limited length.
fn comment(words: &str) -> String {
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|c| !c.is_control()).take(MAX_COMMENT).collect()
}

fn id(number: i64) -> RequestId {
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
        let name = match folder {
            "" => format!("Always allow {tool}"),
            folder => format!("Always allow {tool} in {folder}"),
        };
        options.push(option("allow_always", name));
    }
    options.push(option("reject_once", "Reject".to_owned()));
    options
}

#[cfg(test)]
mod tests;
