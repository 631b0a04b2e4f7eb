//! One thread for all remote servers, started at the first use.

use std::future::Future;
use std::sync::OnceLock;
use std::sync::mpsc::channel;

use tokio::runtime::Runtime;

/// The runtime of that thread.
pub(super) fn runtime() -> Result<&'static Runtime, String> {
    static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let built = builder.worker_threads(1).thread_name("servers-http").enable_all().build();
        built.map_err(|error| error.to_string())
    });
    runtime.as_ref().map_err(Clone::clone)
}

/// Runs work there and waits for it. Blocks.
///
/// # Errors
/// As [`runtime`]; the work panicked.
pub(super) fn wait<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, String> {
    let (sender, receiver) = channel();
    runtime()?.spawn(async move {
        let _ = sender.send(work.await);
    });
    receiver.recv().map_err(|_| "it stopped unexpectedly".to_owned())
}
