//! Questions to a person: put to every client that can ask one, decided by the first valid answer.
//!
//! A question may outlive its call. While a program is there that shows it, it waits; while none is, for
//! as long as the settings say. An answer that comes when no call waits is kept for the same call
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
use super::{lock, permission};
use crate::calls::saved_answers::{Key, SavedAnswers};
use crate::calls::{Answerer, Decision, Left, Question, ShownChange};
use crate::protocol::ServerRequestParams as _;
use crate::protocol::cancel::CancelParams;
use crate::protocol::envelope::{self, RequestId};
use crate::protocol::permission::{
    PermissionOption, PermissionOutcome, RequestPermissionParams, RequestPermissionResult,
};

/// What every id of a question begins with.
const PREFIX: &str = "permission-";

/// Questions of callers of one kind that may wait at a time, and the bytes they may have together.
const MOST: (usize, usize) = (32, 16 << 20);

/// Characters of what a person says with an answer.
const MAX_WORDS: usize = 1_000;

/// What comes of a call that was asked about.
type Answer = (Decision, Answerer);

/// How long a call waits for an answer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Patience {
    /// Then it ends, and its question goes on waiting. `None`: for as long as the question waits.
    pub limit: Option<Duration>,
    /// Whether it waits where nobody is there as well.
    pub for_somebody: bool,
}

/// A question as it is put.
struct Asked {
    number: i64,
    /// When its call came, in milliseconds since the Unix epoch.
    time: i64,
    /// Whether a person's own program alone brings the answer.
    personal: bool,
    key: Key,
    params: RequestPermissionParams,
    /// What would be done, whole.
    changes: Arc<[ShownChange]>,
    /// How long it waits while nobody is there, and an answer is kept.
    kept: Duration,
    left: Option<Left>,
}

/// The questions that wait, and the clients that can answer. A clone is the same.
#[derive(Clone, Default)]
pub struct Approvals(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    last_call: u64,
    clients: HashMap<u64, Asker>,
    waiting: BTreeMap<i64, Waiting>,
    saved: SavedAnswers,
}

/// A client that can ask its user.
struct Asker {
    outbox: Arc<Outbox>,
    name: String,
    /// Of an ACP client: it is asked of these conversations alone, and not everything.
    own: Option<Attached>,
}

struct Waiting {
    /// Whether a person's own program alone brings the answer.
    personal: bool,
    time: i64,
    key: Key,
    params: RequestPermissionParams,
    changes: Arc<[ShownChange]>,
    /// Of its text, and of what would be changed.
    bytes: usize,
    kept: Duration,
    /// The calls that wait for its answer.
    calls: Vec<(u64, oneshot::Sender<Answer>)>,
    /// What is left of the call that put it, once that is over.
    left: Option<Left>,
    /// Ends it, while nobody is there.
    lapse: Option<Lapse>,
}

/// A question that waits, as a person's program asks for it.
pub struct Pending {
    pub number: i64,
    /// When its call came, in milliseconds since the Unix epoch.
    pub time: i64,
    pub params: RequestPermissionParams,
    /// Whether a connected program shows it.
    pub is_shown: bool,
    /// Whether a call waits for its answer.
    pub has_call: bool,
}

impl Approvals {
    /// From now on this client is asked too, beginning with what waits already.
    pub fn join(&self, connection: u64, outbox: &Arc<Outbox>, name: &str) {
        let (outbox, name) = (Arc::clone(outbox), name.to_owned());
        self.enter(connection, Asker { outbox, name, own: None });
    }

    /// The same for an ACP client, which is asked of its `own` conversations alone.
    pub fn join_own(&self, connection: u64, outbox: &Arc<Outbox>, name: &str, own: &Attached) {
        let (outbox, own) = (Arc::clone(outbox), Some(own.clone()));
        self.enter(connection, Asker { outbox, name: format!("{name} (ACP)"), own });
    }

    fn enter(&self, connection: u64, asker: Asker) {
        let mut state = lock(&self.0);
        asker.put(&mut state.waiting, None);
        state.clients.insert(connection, asker);
    }

    /// A conversation has become one of an ACP client's own: it is asked what waits in it.
    pub fn attached(&self, connection: u64, session: &str) {
        let mut state = lock(&self.0);
        let State { clients, waiting, .. } = &mut *state;
        if let Some(asker) = clients.get(&connection) {
            asker.put(waiting, Some(session));
        }
    }

    /// The client is gone. What waits goes on waiting: others may answer, or it may come back.
    pub fn leave(&self, connection: u64) {
        let mut state = lock(&self.0);
        let State { clients, waiting, .. } = &mut *state;
        if clients.remove(&connection).is_none() {
            return;
        }
        for (number, waiting) in waiting {
            if waiting.lapse.is_none() && !clients.values().any(|asker| asker.is_asked(waiting)) {
                waiting.lapse = Some(self.lapse_after(waiting.kept, *number));
            }
        }
    }

    /// Asks whether a call may go on; `call` names the call where it has a name. The first valid answer
    /// counts.
    pub fn ask_about(
        &self,
        question: &Question,
        call: Option<String>,
        patience: Patience,
    ) -> impl Future<Output = Answer> + Send + use<> {
        let number = question.number();
        let mut params = permission::params(question);
        params.tool_call.tool_call_id = call.unwrap_or_else(|| format!("call-{number}"));
        let asked = Asked {
            number,
            time: question.time(),
            personal: question.is_personal(),
            key: question.key(),
            params,
            changes: Arc::clone(question.changes()),
            kept: question.patience(),
            left: Some(question.left()),
        };
        self.ask(asked, patience)
    }

    fn ask(&self, asked: Asked, patience: Patience) -> impl Future<Output = Answer> + Send + use<> {
        let put = self.put(asked, patience.for_somebody);
        async move {
            let (mut open, mut answer) = match put {
                Ok(waits) => waits,
                Err(decided) => return decided,
            };
            let withdrawn = |_| (Decision::Withdrawn, Answerer::default());
            let Some(limit) = patience.limit else { return answer.await.unwrap_or_else(withdrawn) };
            if let Ok(answer) = tokio::time::timeout(limit, &mut answer).await {
                return answer.unwrap_or_else(withdrawn);
            }
            match open.end() {
                Some(decision) => (decision, Answerer::default()),
                // It came in this moment.
                None => answer.await.unwrap_or_else(withdrawn),
            }
        }
    }

    /// Puts a question, or joins the call to the same one that waits; else what comes of the call.
    fn put(
        &self,
        asked: Asked,
        for_somebody: bool,
    ) -> Result<(Open, oneshot::Receiver<Answer>), Answer> {
        let mut state = lock(&self.0);
        if let Some(answer) = state.saved.take(asked.key) {
            return Err(answer);
        }
        let same = state.waiting.iter().find(|(_, waiting)| waiting.key == asked.key);
        let (number, mut left) = match same.map(|(number, _)| *number) {
            Some(number) => (number, None),
            None => (asked.number, asked.left),
        };
        if number == asked.number {
            let mut waiting = Waiting {
                personal: asked.personal,
                time: asked.time,
                key: asked.key,
                params: asked.params,
                changes: asked.changes,
                bytes: 0,
                kept: asked.kept,
                calls: Vec::new(),
                left: None,
                lapse: None,
            };
            let ours = &mut waiting.params;
            ours.options = options(ours.meta.vault.folder.as_deref(), &ours.meta.vault.tool);
            let text = waiting.text(number);
            waiting.bytes = text.len() + held(&waiting.changes);
            if state.is_crowded(&waiting) {
                return Err((Decision::Crowded, Answerer::default()));
            }
            for asker in state.clients.values().filter(|asker| asker.is_asked(&waiting)) {
                asker.outbox.push(asker.text(number, &waiting, Some(&text)));
            }
            if !state.shows(&waiting) {
                waiting.lapse = Some(self.lapse_after(waiting.kept, number));
            }
            state.waiting.insert(number, waiting);
        }
        let shown = state.waiting.get(&number).is_some_and(|waiting| state.shows(waiting));
        state.last_call += 1;
        let call = state.last_call;
        let Some(waiting) = state.waiting.get_mut(&number) else {
            return Err((Decision::Withdrawn, Answerer::default()));
        };
        if !shown && !for_somebody {
            waiting.left = waiting.left.take().or(left.take());
            return Err((Decision::Pending { question: number, shown }, Answerer::default()));
        }
        let (tell, answer) = oneshot::channel();
        waiting.calls.push((call, tell));
        Ok((Open { approvals: self.clone(), number, call, left }, answer))
    }

    /// Takes a client's answer; what answers no question, or not as it can be answered, counts for
    /// nothing.
    pub fn answer(&self, connection: u64, id: &RequestId, result: Option<Value>) {
        let RequestId::Text(id) = id else { return };
        let number = id.strip_prefix(PREFIX).and_then(|number| number.parse::<i64>().ok());
        let Some(number) = number else { return };
        let result = result.and_then(|result| serde_json::from_value(result).ok());
        let Some(RequestPermissionResult { outcome, meta }) = result else { return };
        let PermissionOutcome::Selected { option_id } = outcome else { return };
        let state = lock(&self.0);
        let asker = state.clients.get(&connection);
        let may = |asker: &&Asker| {
            let asked = state.waiting.get(&number).is_some_and(|waiting| asker.is_asked(waiting));
            asked && (asker.own.is_none() || acp::may_choose(&option_id))
        };
        let Some(asker) = asker.filter(may) else { return };
        let words = meta.unwrap_or_default().vault.words;
        let (program, is_client) = (asker.name.clone(), asker.own.is_some());
        drop(state);
        let by = Answerer { program, words, is_client };
        self.decide(number, &option_id, by, Some(connection));
    }

    /// Decides a question as `by` has answered it, and tells everyone but `except` that it needs no answer
    /// any more; whether a call waited for it. `None` where no such question waits, or it cannot be
    /// answered so.
    pub fn decide(
        &self,
        number: i64,
        option: &str,
        by: Answerer,
        except: Option<u64>,
    ) -> Option<bool> {
        let mut state = lock(&self.0);
        let offered = &state.waiting.get(&number)?.params.options;
        offered.iter().find(|one| one.option_id == option)?;
        let decision = match option {
            "allow_once" => Decision::Once,
            "allow_always" => Decision::Always,
            _ => Decision::Reject,
        };
        let by = Answerer { words: spoken(&by.words), ..by };
        let waiting = state.waiting.remove(&number)?;
        state.withdraw(number, &waiting, except);
        let Waiting { key, kept, calls, left, .. } = waiting;
        let (mut told, agreed) = (false, decision != Decision::Reject);
        // A yes is for one of them: the last, since who repeats a call may have given up the one before.
        for (_, tell) in calls.into_iter().rev() {
            let answer = match agreed && told {
                true => (Decision::Anew, Answerer::default()),
                false => (decision, by.clone()),
            };
            told |= tell.send(answer).is_ok();
        }
        if !told {
            let once = if agreed { Decision::Once } else { Decision::Reject };
            state.saved.put(key, once, by.clone(), Instant::now() + kept);
        }
        drop(state);
        settle(left, decision, by);
        Some(told)
    }

    /// The questions that wait, oldest first, or just this one.
    #[must_use]
    pub fn pending(&self, only: Option<i64>) -> Vec<Pending> {
        let state = lock(&self.0);
        let pending = |(number, waiting): (&i64, &Waiting)| Pending {
            number: *number,
            time: waiting.time,
            params: waiting.params.clone(),
            is_shown: state.shows(waiting),
            has_call: !waiting.calls.is_empty(),
        };
        let wanted = |(number, _): &(&i64, &Waiting)| only.is_none_or(|only| only == **number);
        state.waiting.iter().filter(wanted).map(pending).collect()
    }

    /// The title of a question that waits, and all that would be done.
    #[must_use]
    pub fn changes(&self, number: i64) -> Option<(String, Arc<[ShownChange]>)> {
        let state = lock(&self.0);
        let waiting = state.waiting.get(&number)?;
        Some((waiting.params.tool_call.title.clone(), Arc::clone(&waiting.changes)))
    }

    fn lapse_after(&self, kept: Duration, number: i64) -> Lapse {
        let state = Arc::downgrade(&self.0);
        let lapse = async move {
            tokio::time::sleep(kept).await;
            lapse(&state, number);
        };
        Lapse(tokio::spawn(lapse).abort_handle())
    }
}

impl Waiting {
    /// As clients are asked it.
    fn text(&self, number: i64) -> Utf8Bytes {
        Utf8Bytes::from(envelope::request(&id(number), &self.params))
    }

    fn scope(&self) -> &str {
        &self.params.meta.vault.scope
    }
}

impl Asker {
    /// Whether it is asked about this.
    fn is_asked(&self, waiting: &Waiting) -> bool {
        let own = self.own.as_ref();
        own.is_none_or(|own| !waiting.personal && own.has(&waiting.params.session_id))
    }

    /// A question as this client is asked it; `usual` is its text for most, where that is known.
    fn text(&self, number: i64, waiting: &Waiting, usual: Option<&Utf8Bytes>) -> Utf8Bytes {
        match (&self.own, usual) {
            (Some(_), _) => {
                let (id, params) = (format!("{PREFIX}{number}"), acp::question(&waiting.params));
                acp::request(&id, RequestPermissionParams::METHOD, &params)
            }
            (None, Some(usual)) => usual.clone(),
            (None, None) => waiting.text(number),
        }
    }

    /// Asks what waits, or what waits in one conversation.
    fn put(&self, waiting: &mut BTreeMap<i64, Waiting>, session: Option<&str>) {
        let is_it = |one: &Waiting| session.is_none_or(|it| one.params.session_id == it);
        let asked = waiting.iter_mut().filter(|(_, one)| is_it(one) && self.is_asked(one));
        let texts: Vec<Utf8Bytes> = asked
            .map(|(number, one)| {
                one.lapse = None;
                self.text(*number, one, None)
            })
            .collect();
        self.outbox.push_replay(texts.into_iter());
    }
}

impl State {
    /// Whether a client that is connected shows it.
    fn shows(&self, waiting: &Waiting) -> bool {
        self.clients.values().any(|asker| asker.is_asked(waiting))
    }

    /// Tells everyone but `except` that a question needs no answer any more.
    fn withdraw(&self, number: i64, waiting: &Waiting, except: Option<u64>) {
        let params = CancelParams { request_id: id(number) };
        let text = Utf8Bytes::from(envelope::notification(&params));
        for (connection, asker) in &self.clients {
            if Some(*connection) != except && asker.is_asked(waiting) {
                asker.outbox.push(text.clone());
            }
        }
    }

    /// Whether callers of its kind have too much waiting for one more.
    fn is_crowded(&self, one: &Waiting) -> bool {
        let others = self.waiting.values().filter(|waiting| waiting.scope() == one.scope());
        let (count, bytes) =
            others.fold((1, one.bytes), |(count, bytes), other| (count + 1, bytes + other.bytes));
        count > MOST.0 || (count > 1 && bytes > MOST.1)
    }
}

/// Ends a question that waits for somebody to come; dropped when somebody does.
struct Lapse(AbortHandle);

impl Drop for Lapse {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Nobody came to answer it.
fn lapse(state: &Weak<Mutex<State>>, number: i64) {
    let Some(state) = state.upgrade() else { return };
    let mut state = lock(&state);
    if state.waiting.get(&number).is_none_or(|waiting| state.shows(waiting)) {
        return;
    }
    let Some(waiting) = state.waiting.remove(&number) else { return };
    drop(state);
    for (_, tell) in waiting.calls {
        let _ = tell.send((Decision::Late, Answerer::default()));
    }
    settle(waiting.left, Decision::Late, Answerer::default());
}

/// Has it written down how a question was decided whose call is over.
fn settle(left: Option<Left>, decision: Decision, by: Answerer) {
    if let Some(left) = left {
        tokio::task::spawn_blocking(move || left.settle(decision, &by));
    }
}

/// A call that waits for an answer. Dropped, it was withdrawn, or has its answer; a question that only it
/// had is then taken away.
struct Open {
    approvals: Approvals,
    number: i64,
    call: u64,
    /// Of the call that put the question.
    left: Option<Left>,
}

impl Open {
    /// The call waits no longer, and its question goes on waiting. `None` where it has its answer.
    fn end(&mut self) -> Option<Decision> {
        let mut state = lock(&self.approvals.0);
        let shown = state.waiting.get(&self.number).is_some_and(|waiting| state.shows(waiting));
        let waiting = state.waiting.get_mut(&self.number)?;
        let at = waiting.calls.iter().position(|(call, _)| *call == self.call)?;
        waiting.calls.remove(at);
        waiting.left = waiting.left.take().or(self.left.take());
        Some(Decision::Pending { question: self.number, shown })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut state = lock(&self.approvals.0);
        let Some(waiting) = state.waiting.get_mut(&self.number) else { return };
        let Some(at) = waiting.calls.iter().position(|(call, _)| *call == self.call) else {
            return;
        };
        waiting.calls.remove(at);
        if waiting.calls.is_empty()
            && waiting.left.is_none()
            && let Some(waiting) = state.waiting.remove(&self.number)
        {
            state.withdraw(self.number, &waiting, None);
        }
    }
}

/// Bytes of the texts that are held for who wants to see all of a question.
fn held(changes: &[ShownChange]) -> usize {
    let contents = changes.iter().filter_map(|change| change.content.as_deref());
    contents.map(|content| content.old.as_ref().map_or(0, Vec::len) + content.new.len()).sum()
}

/// What a person says with an answer, on one line and within its limit.
fn spoken(words: &str) -> String {
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|c| !c.is_control()).take(MAX_WORDS).collect()
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
        options.push(option("allow_always", format!("Always allow {tool} in {folder}")));
    }
    options.push(option("reject_once", "Reject".to_owned()));
    options
}

#[cfg(test)]
mod tests;
