//! Answers to MCP clients that come piece by piece, as server-sent events.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use futures_util::future::BoxFuture;
use futures_util::{Stream, StreamExt as _, stream};

use super::Shared;
use super::http::{Entered, Lasting};
use super::outbox::{Next, Outbox};
use crate::calls::run::Task;
use crate::mcp::Call;
use crate::mcp::call::Answered;
use crate::mcp::listen::{Listen, Told};
use crate::protocol::events::SubscribeParams;

/// How often it is said that a call is still at work.
const PROGRESS: Duration = Duration::from_secs(5);

/// How long changes are collected before they are told: one update of a resource in this time.
const COLLECTED: Duration = Duration::from_millis(500);

/// A call that is not done yet: told of as long as it is at work, then answered. `kept` is let go of when the
/// client hangs up.
pub(super) fn progress(
    call: Arc<Call>,
    task: Task,
    done: BoxFuture<'static, Answered>,
    kept: impl Send + 'static,
) -> Response {
    let steps = stream::unfold((Some(done), 0), move |(done, step)| {
        let (call, task) = (Arc::clone(&call), task.clone());
        // Held as long as the stream is.
        let _ = &kept;
        async move {
            let mut done = done?;
            // The first time at once: that much has passed already.
            let pause = if step == 0 { Duration::ZERO } else { PROGRESS };
            tokio::select! {
                (_, text) = &mut done => Some((text, (None, step))),
                () = tokio::time::sleep(pause) => {
                    let text = call.progress(step + 1, task.is_asking());
                    Some((text, (Some(done), step + 1)))
                }
            }
        }
    });
    response(steps)
}

/// Tells a client what it wants to hear until it hangs up, falls behind, or the process ends.
pub(super) fn listen(entered: Entered, listen: Listen) -> Response {
    let subscription = Subscription::new(&entered.shared);
    let first = stream::once(std::future::ready(listen.acknowledged()));
    let state = Some((listen, subscription, BTreeSet::<Told>::new(), entered));
    let told = stream::unfold(state, |state| async move {
        let (listen, subscription, mut told, entered) = state?;
        let runner = entered.shared.backend.runner.clone();
        while told.is_empty() {
            let is_open = tokio::select! {
                is_open = subscription.hear(&listen, &mut told) => is_open,
                () = runner.closed() => false,
            };
            if !is_open {
                return Some((vec![listen.ended()], None));
            }
        }
        let collected = async { while subscription.hear(&listen, &mut told).await {} };
        let _ = tokio::time::timeout(COLLECTED, collected).await;
        let messages = told.iter().map(|told| listen.tell(told)).collect();
        Some((messages, Some((listen, subscription, BTreeSet::new(), entered))))
    });
    response(first.chain(told.flat_map(stream::iter)))
}

/// A place among those who hear of events; given up when it is let go of.
struct Subscription {
    shared: Arc<Shared>,
    connection: u64,
    outbox: Arc<Outbox>,
}

impl Subscription {
    fn new(shared: &Arc<Shared>) -> Self {
        let settings = shared.settings.load();
        let most = usize::try_from(settings.max_queued_bytes).unwrap_or(usize::MAX);
        let outbox = Outbox::new(settings.max_queued_messages as usize, most);
        let outbox = Arc::new(outbox);
        let connection = shared.next_connection.fetch_add(1, Ordering::Relaxed);
        let from_now = SubscribeParams::default();
        shared.events.subscribe(connection, &outbox, false, &from_now, |_| String::new());
        Self { shared: Arc::clone(shared), connection, outbox }
    }

    /// Waits for an event and adds what is told because of it; false where none will come.
    async fn hear(&self, listen: &Listen, told: &mut BTreeSet<Told>) -> bool {
        match self.outbox.next().await {
            Next::Send { text, .. } => {
                told.append(&mut listen.because_of(&text));
                true
            }
            Next::Close(_) => false,
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.shared.events.unsubscribe(self.connection);
    }
}

/// Messages as events of HTTP, for as long as there are any.
fn response(messages: impl Stream<Item = String> + Send + 'static) -> Response {
    let lasting = Lasting::default();
    let ends = lasting.clone().ends();
    let events = messages.map(move |message| {
        let _ = &ends;
        Ok::<_, Infallible>(format!("data: {message}\n\n"))
    });
    // What stands between would keep pieces back.
    let head = [
        (CONTENT_TYPE.as_str(), "text/event-stream"),
        (CACHE_CONTROL.as_str(), "no-store"),
        ("x-accel-buffering", "no"),
    ];
    let mut response = (head, Body::from_stream(events)).into_response();
    response.extensions_mut().insert(lasting);
    response
}
