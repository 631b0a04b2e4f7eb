//! A question that is answered in place, while no line is being edited: asked on the terminal, and
//! taken away when somebody else has answered it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

use super::terminal;

/// A line that is waited for.
pub struct Asking {
    answer: oneshot::Receiver<Option<String>>,
    stop: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

impl Asking {
    /// Waits for a line. What was typed before the question could be read does not answer it.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start() -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, answer) = oneshot::channel();
        let stopped = Arc::clone(&stop);
        terminal::forget_what_was_typed();
        let reader = thread::Builder::new().name("asking".to_owned()).spawn(move || {
            // Who no longer waits needs no answer.
            let _ = tell.send(terminal::line(&stopped));
        })?;
        Ok(Self { answer, stop, reader: Some(reader) })
    }

    /// What was typed; nothing where the terminal has no more to say. Given up in between, it loses
    /// nothing.
    pub async fn line(&mut self) -> Option<String> {
        (&mut self.answer).await.ok().flatten()
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        // Keys that come from now on are for the line editor, so nobody else may be reading them.
        if let Some(reader) = self.reader.take().filter(|_| terminal::GIVES_UP) {
            let _ = reader.join();
        }
    }
}
