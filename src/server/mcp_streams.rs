//! HTTP answers to MCP clients: at once, or streamed as server-sent events.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use futures_util::future::BoxFuture;
use futures_util::{Stream, StreamExt as _, stream};

use super::http::{Entered, LongLived, Unread};
use super::outbox::{Next, Outbox};
use super::{Backend, SharedServer};
use crate::calls::run::Task;
use crate::mcp::Call;
use crate::mcp::call::Answered;
use crate::mcp::listen::{Listen, ListenNotification};
use crate::protocol::events::SubscribeParams;

/// The interval of progress messages.
const PROGRESS: Duration = Duration::from_secs(5);

/// How long changes are collected: each resource gets at most one update in this time.
const COLLECTED: Duration = Duration::from_millis(500);

/// Streams progress messages of a running call and then its answer. Drops `guard` when the client
/// disconnects or stops reading.
pub(super) fn progress(
    call: Arc<Call>,
    task: Task,
    done: BoxFuture<'static, Answered>,
    guard: (Entered, impl Send + 'static),
) -> Response {
    let unread = guard.0.unread.clone();
    let steps = stream::unfold((Some(done), 0), move |(done, step)| {
        let (call, task) = (Arc::clone(&call), task.clone());
        // Keeps it alive as long as the stream.
        let _ = &guard;
        async move {
            let mut done = done?;
            // The first message comes at once, since the call has already run for a while.
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
    response(unread, steps)
}

/// Streams the requested notifications until the client disconnects or falls behind, or the process
/// ends.
pub(super) fn listen(entered: Entered, listen: Listen) -> Response {
    let unread = entered.unread.clone();
    let subscription = Subscription::new(&entered.shared);
    let first = stream::once(std::future::ready(listen.acknowledged()));
    let state = Some((listen, subscription, BTreeSet::<ListenNotification>::new(), entered));
    let notifications = stream::unfold(state, |state| async move {
        let (listen, subscription, mut notifications, entered) = state?;
        let backend = &entered.shared.backend;
        let folders = prompt_folders(&listen, backend).await;
        while notifications.is_empty() {
            let is_open = tokio::select! {
                is_open = subscription.collect_events(&listen, &folders, &mut notifications) => is_open,
                () = backend.runner.closed() => false,
            };
            if !is_open {
                return Some((vec![listen.ended()], None));
            }
        }
        let collected = async {
            while subscription.collect_events(&listen, &folders, &mut notifications).await {}
        };
        let _ = tokio::time::timeout(COLLECTED, collected).await;
        let messages = notifications.iter().map(|one| listen.message(one)).collect();
        Some((messages, Some((listen, subscription, BTreeSet::new(), entered))))
    });
    response(unread, first.chain(notifications.flat_map(stream::iter)))
}

/// The folders of prompt notes, if the client subscribed to prompts.
async fn prompt_folders(listen: &Listen, backend: &Backend) -> Vec<String> {
    let tools = Arc::clone(&backend.tools);
    if listen.wants_prompts() {
        tokio::task::spawn_blocking(move || tools.prompt_folders()).await.unwrap_or_default()
    } else {
        Vec::new()
    }
}

/// A subscription to events; ends when dropped.
struct Subscription {
    shared: Arc<SharedServer>,
    connection: u64,
    outbox: Arc<Outbox>,
}

impl Subscription {
    fn new(shared: &Arc<SharedServer>) -> Self {
        let settings = shared.settings.load();
        let most = usize::try_from(settings.max_queued_bytes).unwrap_or(usize::MAX);
        let outbox = Outbox::new(settings.max_queued_messages as usize, most);
        let outbox = Arc::new(outbox);
        let connection = shared.next_connection.fetch_add(1, Ordering::Relaxed);
        let from_now = SubscribeParams::default();
        shared.events.subscribe(connection, &outbox, false, &from_now, |_| String::new());
        Self { shared: Arc::clone(shared), connection, outbox }
    }

    /// Waits for an event and adds its notifications; false if no more events will come.
    async fn collect_events(
        &self,
        listen: &Listen,
        folders: &[String],
        notifications: &mut BTreeSet<ListenNotification>,
    ) -> bool {
        match self.outbox.next().await {
            Next::Send { text, .. } => {
                notifications.append(&mut listen.notifications_for(&text, folders));
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

pub(super) fn json((status, text): Answered) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(CONTENT_TYPE, HeaderValue::from_static("application/json"))], text).into_response()
}

/// Streams messages as server-sent events.
pub(super) fn response(
    unread: Unread,
    messages: impl Stream<Item = String> + Send + 'static,
) -> Response {
    let events = messages.map(|message| Ok::<_, Infallible>(format!("data: {message}\n\n")));
    // Stop proxies from buffering the stream.
    let head = [
        (CONTENT_TYPE.as_str(), "text/event-stream"),
        (CACHE_CONTROL.as_str(), "no-store"),
        ("x-accel-buffering", "no"),
    ];
    let mut response = (head, Body::from_stream(unread.watch(events))).into_response();
    response.extensions_mut().insert(LongLived);
    response
}
