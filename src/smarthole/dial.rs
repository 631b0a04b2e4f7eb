//! Connecting to SmartHole's port on this machine.

use std::future::Future;
use std::io;
use std::net::Ipv4Addr;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// A byte stream in both directions, as WebSocket frames need.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// The future of a connection attempt.
pub type Dialled = Pin<Box<dyn Future<Output = io::Result<Box<dyn Stream>>> + Send>>;

/// Makes connections; simulations implement it in memory.
pub trait Dial: Send + Sync + 'static {
    /// Connects to a port of this machine.
    fn dial(&self, port: u16) -> Dialled;
}

/// Connects to 127.0.0.1.
#[derive(Debug, Clone, Copy)]
pub struct Loopback;

impl Dial for Loopback {
    fn dial(&self, port: u16) -> Dialled {
        Box::pin(async move {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
            let stream: Box<dyn Stream> = Box::new(stream);
            Ok(stream)
        })
    }
}
