//! Counts the bytes received for a message that is not complete yet.
//!
//! The WebSocket crate limits a message's content, so empty frames could continue forever. This
//! also limits the bytes on the wire.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The most wire bytes of an incomplete message beyond its content: frame headers and read-ahead.
const ALLOWANCE: u64 = 64 * 1024;

/// The count of bytes. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Unfinished(Arc<AtomicU64>);

impl Unfinished {
    /// Resets the count: a message is complete.
    pub fn message(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Subtracts a control frame with `length` bytes of content, which may come between or within
    /// messages.
    pub fn control(&self, length: usize) {
        let bytes = length as u64 + 6;
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |unfinished| {
            Some(unfinished.saturating_sub(bytes))
        });
    }
}

/// A stream that counts its reads and fails with [`io::ErrorKind::FileTooLarge`] if a message is
/// too large.
pub struct Metered<S> {
    stream: S,
    unfinished: Unfinished,
    limit: u64,
}

impl<S> Metered<S> {
    /// Counts the reads of `stream`, for messages of at most `max_message_bytes`.
    pub fn new(stream: S, max_message_bytes: u64, unfinished: Unfinished) -> Self {
        // A quarter for headers: even frames of 64 bytes fit.
        let limit = max_message_bytes.saturating_add(max_message_bytes / 4 + ALLOWANCE);
        Self { stream, unfinished, limit }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let read = (buffer.filled().len() - before) as u64;
        if self.unfinished.0.fetch_add(read, Ordering::Relaxed) + read > self.limit {
            // Report once; further data is discarded.
            self.limit = u64::MAX;
            return Poll::Ready(Err(io::Error::from(io::ErrorKind::FileTooLarge)));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
