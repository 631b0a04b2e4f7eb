//! Signals that stop the daemon.

use std::io;

use tokio::sync::watch;

/// Turns true at the first stop signal. The handlers stay installed, so that a second Ctrl-C does not
/// interrupt the shutdown.
pub(super) fn listen() -> io::Result<watch::Receiver<bool>> {
    let (tell, stop) = watch::channel(false);
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        for kind in kinds {
            let mut signals = signal(kind)?;
            let tell = tell.clone();
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    tell.send_replace(true);
                    tracing::info!("asked to stop");
                }
            });
        }
    }
    #[cfg(windows)]
    {
        use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_logoff, ctrl_shutdown};
        // A macro, since each has its own type. When its console closes, Windows kills a process
        // after about five seconds.
        macro_rules! listen {
            ($($signal:ident),*) => {$({
                let mut signals = $signal()?;
                let tell = tell.clone();
                tokio::spawn(async move {
                    while signals.recv().await.is_some() {
                        tell.send_replace(true);
                        tracing::info!("asked to stop");
                    }
                });
            })*};
        }
        listen!(ctrl_c, ctrl_break, ctrl_close, ctrl_logoff, ctrl_shutdown);
    }
    Ok(stop)
}

/// Waits for a stop signal.
pub(super) async fn stop_requested(mut stop: watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        // The sender is gone, so no signal can come.
        std::future::pending::<()>().await;
    }
}
