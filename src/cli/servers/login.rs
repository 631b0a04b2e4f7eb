//! `steward servers login`: the browser signs in and is redirected to a local port, or the address
//! is pasted.

use std::io::BufRead as _;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::Uri;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, REFERRER_POLICY};
use axum::response::IntoResponse;
use axum::routing::get;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::cli::{Failure, Output, Result, open};
use crate::note::path::visible;
use crate::servers::Servers;
use crate::servers::oauth::SignedIn;
use crate::servers::oauth::login::{CALLBACK, Prepared};

/// How long a browser may take to fetch the last page.
const LAST_PAGE: Duration = Duration::from_secs(2);

/// A redirect address, and the channel for its page; none if the address was pasted.
type Callback = (String, Option<oneshot::Sender<String>>);

/// Signs in at the server; `seconds` is the user's time.
pub(super) fn run(
    servers: &Servers,
    name: &str,
    opens: bool,
    seconds: u64,
    output: &Output,
) -> Result<SignedIn> {
    let prepared = servers.prepare_login(name)?;
    let listener = listen(&prepared)?;
    let port = listener.local_addr()?.port();
    let waiting = servers.begin_login(prepared, port)?;
    let (sender, came) = channel::<Callback>();
    let page = CallbackPage::serve(listener, sender.clone())?;
    read_pasted(sender);
    let (host, address) = (waiting.host(), waiting.address());
    let browsed = opens && open::browse(address).is_ok();
    let how = if browsed {
        "the browser is open at this address"
    } else {
        "open this address in a browser"
    };
    output.notice(&format!(
        "`{}` asks you what the steward may do at `{name}`; {how}:\n{address}\nIf the browser is on another machine, paste \
         here the address that it shows after the sign-in",
        visible(&host)
    ));
    let until = Instant::now() + Duration::from_secs(seconds);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let (address, page_of) = match came.recv_timeout(left) {
            Ok(came) => came,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Err(Failure::other(
                    "timeout",
                    format!("nobody signed in at `{name}` within {seconds} s"),
                    format!("try again: `steward servers login {name}`"),
                ));
            }
        };
        match servers.finish_login(&waiting, &address) {
            Ok(Some(signed_in)) => {
                page.end(page_of, format!("You are signed in at {name}. You can close this page."));
                return Ok(signed_in);
            }
            Err(fault) => {
                page.end(page_of, format!("No sign-in at {name}. The terminal says why."));
                return Err(fault.into());
            }
            // Any page can redirect the browser here; only the right one knows the state.
            Ok(None) => match page_of {
                Some(page_of) => {
                    let _ = page_of.send("This is not the sign-in that is awaited.".to_owned());
                }
                None => {
                    output.notice("this is not an address of this sign-in; paste the whole address")
                }
            },
        }
    }
}

/// The public details of a sign-in.
pub(super) fn value(signed_in: Option<&SignedIn>) -> Value {
    signed_in.map_or(Value::Null, |it| {
        json!({ "issuer": it.issuer, "scopes": it.scopes, "ends": it.ends, "renewed": it.is_renewed })
    })
}

/// The same in words.
pub(super) fn words(signed_in: &SignedIn) -> String {
    let SignedIn { issuer, scopes, ends, is_renewed } = signed_in;
    let ends = ends.and_then(|ends| chrono::DateTime::from_timestamp(i64::try_from(ends).ok()?, 0));
    let until = match (ends, is_renewed) {
        (_, true) => ", renewed automatically".to_owned(),
        (Some(ends), false) => {
            format!(" until {}", ends.with_timezone(&chrono::Local).format("%Y-%m-%d %H:%M"))
        }
        (None, false) => String::new(),
    };
    let scopes =
        if scopes.is_empty() { String::new() } else { format!("; scopes: {}", scopes.join(" ")) };
    visible(&format!("signed in at {issuer}{until}{scopes}"))
}

/// Listens on the port that was registered, or on a free one.
fn listen(prepared: &Prepared) -> Result<TcpListener> {
    let bound = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let Some((port, is_only)) = prepared.port() else { return Ok(bound(0)?) };
    match bound(port) {
        Ok(listener) => Ok(listener),
        Err(_) if !is_only => Ok(bound(0)?),
        Err(error) => Err(Failure::other(
            "port_taken",
            format!("could not listen on the port {port} of `oauth.redirect_port`: {error}"),
            "end the program that has it",
        )),
    }
}

/// Reads addresses from stdin, one line each, until it ends.
fn read_pasted(sender: Sender<Callback>) {
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if !line.trim().is_empty() && sender.send((line, None)).is_err() {
                return;
            }
        }
    });
}

/// The page at the redirect address.
struct CallbackPage {
    runtime: tokio::runtime::Runtime,
    ends: oneshot::Sender<()>,
    served: tokio::task::JoinHandle<()>,
}

impl CallbackPage {
    fn serve(listener: TcpListener, sender: Sender<Callback>) -> Result<Self> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        listener.set_nonblocking(true)?;
        let listener = {
            let _entered = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let router = Router::new().route(CALLBACK, get(receive_callback)).with_state(sender);
        let (ends, ended) = oneshot::channel::<()>();
        let served = runtime.spawn(async move {
            let ended = async { drop(ended.await) };
            let served = axum::serve(listener, router).with_graceful_shutdown(ended).await;
            drop(served);
        });
        Ok(Self { runtime, ends, served })
    }

    /// Shows a last page, if the browser waits for one.
    fn end(self, page_of: Option<oneshot::Sender<String>>, text: String) {
        if let Some(page_of) = page_of {
            let _ = page_of.send(text);
        }
        let _ = self.ends.send(());
        let _ = self.runtime.block_on(async { tokio::time::timeout(LAST_PAGE, self.served).await });
        self.runtime.shutdown_background();
    }
}

async fn receive_callback(
    State(sender): State<Sender<Callback>>,
    address: Uri,
) -> impl IntoResponse {
    let (page, text) = oneshot::channel();
    let text = match sender.send((address.to_string(), Some(page))) {
        Ok(()) => text.await.unwrap_or_default(),
        Err(_) => String::new(),
    };
    // The address contains the code.
    let headers = [
        (CONTENT_TYPE, "text/plain; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    (headers, text)
}
