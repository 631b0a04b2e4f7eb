//! The way to SmartHole: a port of this machine.

use std::future::Future;
use std::io;
use std::net::Ipv4Addr;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// What is read from and written to.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A connection that is made.
pub type Dialled = Pin<Box<dyn Future<Output = io::Result<Box<dyn Stream>>> + Send>>;

/// Makes connections. The simulations hand in one that needs no machine.
pub trait Dial: Send + Sync + 'static {
    /// Connects to whoever listens on this port of this machine.
    fn dial(&self, port: u16) -> Dialled;
}

/// 127.0.0.1, and nothing else.
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
