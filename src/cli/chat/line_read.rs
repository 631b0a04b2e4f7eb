//! A question asked directly on the terminal while no line is being edited; withdrawn if another
//! client answers it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

use super::terminal;

pub struct LineRead {
    answer: oneshot::Receiver<Option<String>>,
    stop: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

impl LineRead {
    /// Starts reading a line. Discards input typed before the question was visible.
    pub fn start() -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, answer) = oneshot::channel();
        let stopped = Arc::clone(&stop);
        terminal::forget_what_was_typed();
        let reader = thread::Builder::new().name("read-line".to_owned()).spawn(move || {
            // A dropped receiver no longer needs the line.
            let _ = tell.send(terminal::line(&stopped));
        })?;
        Ok(Self { answer, stop, reader: Some(reader) })
    }

    /// The typed line; `None` at the end of the input. Cancel-safe.
    pub async fn line(&mut self) -> Option<String> {
        (&mut self.answer).await.ok().flatten()
    }
}

impl Drop for LineRead {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        // The line editor reads the keys from now on, so this thread must have stopped.
        if let Some(reader) = self.reader.take().filter(|_| terminal::GIVES_UP) {
            let _ = reader.join();
        }
    }
}
