//! Ctrl-C: it stops the agent's turn, not this program.

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Ctrl-C, as often as it comes.
pub struct Interrupts(UnboundedReceiver<()>);

impl Interrupts {
    /// From now on it ends nothing by itself.
    pub fn new() -> Self {
        let (tell, told) = unbounded_channel();
        tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() && tell.send(()).is_ok() {}
        });
        Self(told)
    }

    /// The next one. Given up in between, it loses none.
    pub async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}
