//! Serves one client until either side ends the connection.
//!
//! One task with two halves. The reader reads frames and never waits for a tool; the writer sends
//! the outbox and pings. The writer is polled whenever the reader is idle, so that an answer from
//! the reader itself is sent in the same round. When either half ends, the connection ends, and
//! with it its subscription, its pending searches and its place.

use std::future::{Future, poll_fn};
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::watch;
use tokio::time::{Instant, interval_at, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Message, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes, Error, Utf8Bytes};

use super::SharedServer;
use super::close::Closing;
use super::meter::{Metered, Unfinished};
use super::outbox::{Next, Outbox, STUCK_DEADLINE};
use super::session::Session;
use super::token::{Entry, TOKEN_CHECK, Token};

type Socket = WebSocketStream<Metered<TokioIo<Upgraded>>>;

/// How long a client may take until `initialize`.
const INITIALIZE_DEADLINE: Duration = Duration::from_secs(5);

/// The largest message before `initialize`, in bytes.
const MAX_UNINITIALIZED_BYTES: usize = 64 * 1024;

/// How long to keep reading after the close frame, so that a reset does not discard it.
const LINGER: Duration = Duration::from_secs(1);

/// How long calls may occupy a connection's task before it yields.
const MAX_BUSY: Duration = Duration::from_millis(1);

/// The unanswered pings after which a client is dropped.
const MAX_MISSED_PINGS: u32 = 2;

/// How long running calls may continue when the daemon stops.
pub(super) const DRAIN_DEADLINE: Duration = Duration::from_secs(8);

/// Why a connection ends.
enum Ending {
    /// We close it, saying why.
    Close(Closing),
    /// The client closed it, or is gone.
    Gone,
}

pub async fn serve(upgraded: Upgraded, shared: Arc<SharedServer>, entry: Entry) {
    let settings = shared.settings.load_full();
    let reply = usize::try_from(settings.max_reply_bytes).unwrap_or(usize::MAX / 4);
    let config = WebSocketConfig::default()
        .read_buffer_size(16 * 1024)
        .write_buffer_size(16 * 1024)
        // Room for one answer being written and one more.
        .max_write_buffer_size(reply.saturating_mul(2).saturating_add(64 * 1024))
        .max_message_size(usize::try_from(settings.max_message_bytes).ok())
        .max_frame_size(usize::try_from(settings.max_frame_bytes).ok());
    let unfinished = Unfinished::default();
    let stream =
        Metered::new(TokioIo::new(upgraded), settings.max_message_bytes, unfinished.clone());
    let socket = Socket::from_raw_socket(stream, Role::Server, Some(config)).await;
    let (sink, stream) = socket.split();

    let outbox = Arc::new(Outbox::new(
        settings.max_queued_messages as usize,
        usize::try_from(settings.max_queued_bytes).unwrap_or(usize::MAX / 4),
    ));
    let token = shared.token.watch();
    let (missed, handing_over) = (AtomicU32::new(0), AtomicBool::new(false));
    let mut reader = FrameReader {
        session: Session::new(
            Arc::clone(&shared),
            Arc::clone(&settings),
            Arc::clone(&outbox),
            entry,
        ),
        stream,
        outbox: &outbox,
        missed: &missed,
        unfinished,
        shared: &shared,
        token_checked: Instant::now(),
        token,
        handing_over: &handing_over,
        busy: Duration::ZERO,
    };
    let mut writer = Writer {
        sink,
        outbox: &outbox,
        missed: &missed,
        shared: &shared,
        every: settings.ping_every(),
    };

    tracing::debug!("a client connected");
    let ending = both(reader.run(), writer.run(), &outbox, &handing_over).await;
    reader.session.end();
    let (stream, sink) = (reader.stream, writer.sink);
    if let (Ending::Close(closing), Ok(socket)) = (&ending, stream.reunite(sink)) {
        say_goodbye(socket, *closing).await;
    }
    match ending {
        Ending::Close(Closing { code, reason }) => tracing::debug!(code, reason, "closed"),
        Ending::Gone => tracing::debug!("a client disconnected"),
    }
}

/// Runs both halves until one of them ends; the writer after the reader, in the same round.
async fn both(
    reader: impl Future<Output = Ending>,
    writer: impl Future<Output = Ending>,
    outbox: &Outbox,
    handing_over: &AtomicBool,
) -> Ending {
    let (mut reader, mut writer) = (pin!(reader), pin!(writer));
    poll_fn(|context| {
        loop {
            outbox.set_writer_running(true);
            let read = reader.as_mut().poll(context);
            outbox.set_writer_running(false);
            if let Poll::Ready(ending) = read {
                return Poll::Ready(ending);
            }
            if let Poll::Ready(ending) = writer.as_mut().poll(context) {
                return Poll::Ready(ending);
            }
            if !handing_over.swap(false, Ordering::Relaxed) {
                return Poll::Pending;
            }
        }
    })
    .await
}

/// Sends the close frame and waits for the client to take it: closing a socket with unread bytes
/// would reset it, and the client would never learn why.
async fn say_goodbye(mut socket: Socket, closing: Closing) {
    if !matches!(timeout(LINGER, socket.close(Some(closing.frame()))).await, Ok(Ok(()))) {
        return;
    }
    let mut raw = socket.into_inner();
    let _ = timeout(LINGER, async {
        raw.shutdown().await?;
        let mut ignored = vec![0; 16 * 1024];
        while raw.read(&mut ignored).await? > 0 {}
        Ok::<(), std::io::Error>(())
    })
    .await;
}

struct FrameReader<'a> {
    session: Session,
    stream: SplitStream<Socket>,
    outbox: &'a Outbox,
    missed: &'a AtomicU32,
    unfinished: Unfinished,
    shared: &'a SharedServer,
    /// The client's token; changes when it is rotated.
    token: watch::Receiver<Token>,
    /// When the token was checked last.
    token_checked: Instant,
    /// Set while the reader pauses for the writer.
    handing_over: &'a AtomicBool,
    /// How long calls have occupied this task since it last yielded.
    busy: Duration,
}

impl FrameReader<'_> {
    async fn run(&mut self) -> Ending {
        let closing = match self.frames().await {
            ControlFlow::Break(Some(closing)) => closing,
            _ => return Ending::Gone,
        };
        if closing == Closing::SHUTDOWN {
            let _ = timeout(DRAIN_DEADLINE, self.session.idle()).await;
        }
        // The writer sends what is queued, then closes.
        self.outbox.close(closing);
        std::future::pending().await
    }

    /// Handles frames until the connection must be closed, or (`None`) the client has left.
    async fn frames(&mut self) -> ControlFlow<Option<Closing>> {
        let mut stopping = pin!(self.shared.backend.runner.closed());
        let initialize_by = Instant::now() + INITIALIZE_DEADLINE;
        loop {
            if timeout(STUCK_DEADLINE, self.outbox.wait_for_room()).await.is_err() {
                return ControlFlow::Break(Some(Closing::SLOW));
            }
            // A client that sends without pause must not starve other tasks.
            tokio::task::consume_budget().await;
            let frame = tokio::select! {
                frame = self.stream.next() => frame,
                () = sleep_until(initialize_by), if !self.session.is_open() => {
                    return ControlFlow::Break(Some(Closing::UNINITIALIZED));
                }
                () = &mut stopping => {
                    return ControlFlow::Break(Some(Closing::SHUTDOWN));
                }
                Ok(()) = self.token.changed() => {
                    return ControlFlow::Break(Some(Closing::ROTATED));
                }
            };
            self.missed.store(0, Ordering::Relaxed);
            self.take(frame).await?;
            let busy = self.session.take_busy();
            if !busy.is_zero() {
                self.hand_over(busy).await;
            }
        }
    }

    /// Lets the writer send the answer of a call that occupied this task, before the next frame is read; yields to
    /// other tasks from time to time.
    async fn hand_over(&mut self, busy: Duration) {
        self.busy += busy;
        if self.busy >= MAX_BUSY {
            self.busy = Duration::ZERO;
            return tokio::task::yield_now().await;
        }
        let mut is_back = false;
        poll_fn(|_| {
            if std::mem::replace(&mut is_back, true) {
                Poll::Ready(())
            } else {
                self.handing_over.store(true, Ordering::Relaxed);
                Poll::Pending
            }
        })
        .await;
    }

    async fn take(
        &mut self,
        frame: Option<Result<Message, Error>>,
    ) -> ControlFlow<Option<Closing>> {
        match frame {
            Some(Ok(Message::Text(text))) => {
                self.unfinished.message();
                if !self.session.is_open() && text.len() > MAX_UNINITIALIZED_BYTES {
                    return ControlFlow::Break(Some(Closing::TOO_BIG));
                }
                if self.token_checked.elapsed() >= TOKEN_CHECK {
                    self.token_checked = Instant::now();
                    let _ = self.shared.token.current();
                    if self.token.has_changed().is_ok_and(|changed| changed) {
                        return ControlFlow::Break(Some(Closing::ROTATED));
                    }
                }
                self.session.receive(&text);
                ControlFlow::Continue(())
            }
            Some(Ok(Message::Binary(_))) => ControlFlow::Break(Some(Closing::BINARY)),
            Some(Ok(frame @ (Message::Ping(_) | Message::Pong(_) | Message::Frame(_)))) => {
                self.unfinished.control(frame.len());
                // The WebSocket library answers pings; they count against the rate limit, too.
                if self.session.pace() {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(Some(Closing::FLOOD))
                }
            }
            Some(Ok(Message::Close(_))) => {
                // The answer to a close is sent by the next read.
                let _ = timeout(LINGER, self.stream.next()).await;
                ControlFlow::Break(None)
            }
            Some(Err(error)) => {
                tracing::debug!(%error, "could not read a frame");
                ControlFlow::Break(Closing::for_error(&error))
            }
            None => ControlFlow::Break(None),
        }
    }
}

/// The half that sends frames.
struct Writer<'a> {
    sink: SplitSink<Socket, Message>,
    outbox: &'a Outbox,
    missed: &'a AtomicU32,
    shared: &'a SharedServer,
    every: Duration,
}

impl Writer<'_> {
    async fn run(&mut self) -> Ending {
        let mut pings = interval_at(Instant::now() + self.every, self.every);
        loop {
            tokio::select! {
                next = self.outbox.next() => match next {
                    Next::Close(closing) => return Ending::Close(closing),
                    Next::Send { text, more } => {
                        if let Err(ending) = self.send(text, more).await {
                            return ending;
                        }
                    }
                },
                _ = pings.tick() => {
                    // Reloads the token for clients that only listen; the reader is notified of a change.
                    let _ = self.shared.token.current();
                    if self.missed.fetch_add(1, Ordering::Relaxed) >= MAX_MISSED_PINGS {
                        return Ending::Gone;
                    }
                    let ping = self.sink.send(Message::Ping(Bytes::new()));
                    if !matches!(timeout(STUCK_DEADLINE, ping).await, Ok(Ok(()))) {
                        return Ending::Gone;
                    }
                }
            }
        }
    }

    /// Writes a message, without flushing if more follow.
    async fn send(&mut self, text: Utf8Bytes, more: bool) -> Result<(), Ending> {
        let sink = &mut self.sink;
        let write = async {
            if more {
                sink.feed(Message::Text(text)).await
            } else {
                sink.send(Message::Text(text)).await
            }
        };
        tokio::select! {
            sent = timeout(STUCK_DEADLINE, write) => match sent {
                Ok(Ok(())) => Ok(()),
                _ => Err(Ending::Gone),
            },
            () = self.outbox.cut() => Err(Ending::Close(Closing::SLOW)),
        }
    }
}
