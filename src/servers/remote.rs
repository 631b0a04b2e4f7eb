//! A server at an address: POST requests, answered by JSON or an event stream.
//!
//! The limits are those of pipes: the longest answer, unsolicited messages, the time of a call.
//! Redirects are followed only within the same origin, so that a key goes nowhere else; a server
//! that exceeds a limit is disconnected.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE,
};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use serde_json::Value;
use tokio::task::AbortHandle;

use super::START_SECONDS;
use super::oauth::Tokens;
use super::oauth::challenge::Challenge;
use super::oauth::error::LoginError;
use super::param_headers::encoded;
use super::process::MAX_LINE;
use super::replies::{Failure, MAX_UNASKED_BYTES, Shared, refused};
use super::runtime::runtime;
use crate::llm::endpoint::{Address, connection_words, http_client};
use crate::llm::sse::SseDecoder;
use crate::locks::lock;

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
const STREAM: &str = "text/event-stream";

/// Redirects within the origin that are followed.
const MAX_REDIRECTS: usize = 3;

/// The most messages in flight.
const MAX_TASKS: usize = 32;

/// The longest name of a session, in bytes.
const MAX_SESSION: usize = 1_024;

/// How often the stream of one answer is resumed.
const MAX_RESUMED: usize = 20;

/// The default pause before a stream is resumed, and the bounds of a pause that the server names.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(30)];

/// The longest pause before the event stream is reopened.
const LONG_PAUSE: Duration = Duration::from_secs(60);

/// The time limit of messages that nobody waits for.
const ASIDE: Duration = Duration::from_secs(10);

/// The time limit of the message that ends a session.
const LAST: Duration = Duration::from_secs(2);

/// The address of a server, and the headers of each request.
pub(super) struct Target {
    url: Url,
    is_encrypted: bool,
    headers: HeaderMap,
    tokens: Option<Tokens>,
}

impl Target {
    /// An address of the settings with these headers.
    ///
    /// # Errors
    /// The name of a header with an invalid value, or what is wrong with the address.
    pub fn new(url: &str, headers: &[(String, String)]) -> Result<Self, String> {
        let address = Address::new(url).map_err(|why| why.to_string())?;
        let url = Url::parse(url.trim()).map_err(|why| why.to_string())?;
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            let parsed = (HeaderName::try_from(name), HeaderValue::try_from(value));
            let (Ok(key), Ok(mut value)) = parsed else { return Err(name.clone()) };
            value.set_sensitive(true);
            all.insert(key, value);
        }
        Ok(Self { url, is_encrypted: address.is_encrypted(), headers: all, tokens: None })
    }

    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Whether the settings contain a key for it.
    pub fn has_key(&self) -> bool {
        self.headers.contains_key(AUTHORIZATION)
    }

    /// The same with the tokens of a sign-in, unless it has a key.
    pub fn with_tokens(self, tokens: Tokens) -> Self {
        Self { tokens: (!self.has_key()).then_some(tokens), ..self }
    }
}

/// A server at an address.
pub(super) struct Remote {
    client: Client,
    url: Url,
    headers: HeaderMap,
    tokens: Option<Tokens>,
    shared: Arc<Shared>,
    state: Mutex<RemoteState>,
}

#[derive(Default)]
struct RemoteState {
    version: Option<HeaderValue>,
    session: Option<HeaderValue>,
    /// Messages in flight, by number, with the ids of requests.
    tasks: HashMap<u64, (Option<u64>, AbortHandle)>,
    number: u64,
    is_closed: bool,
    /// Receives a message once the server has ended the session.
    session_ended: Option<Receiver<()>>,
}

/// A message with its details.
struct Outgoing {
    request: RequestBuilder,
    id: Option<u64>,
    /// Its answer begins the session.
    begins: bool,
    /// It has a session id.
    has_session: bool,
}

/// How far a stream has been read.
#[derive(Default)]
struct StreamPosition {
    last_id: String,
    pause: Option<Duration>,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote").field("host", &self.url.host_str()).finish_non_exhaustive()
    }
}

impl Remote {
    /// Prepares the connection; sends nothing. Received messages go to `shared`.
    ///
    /// # Errors
    /// Why there can be no connection.
    pub fn new(target: Target, shared: Arc<Shared>) -> Result<Arc<Self>, String> {
        let Target { url, is_encrypted, headers, tokens } = target;
        runtime()?;
        let origin = url.origin();
        let policy = Policy::custom(move |attempt| {
            // These two repeat the message unchanged.
            let repeats = matches!(attempt.status().as_u16(), 307 | 308);
            let is_near = attempt.url().origin() == origin;
            if repeats && is_near && attempt.previous().len() <= MAX_REDIRECTS {
                attempt.follow()
            } else {
                attempt.stop()
            }
        });
        let client = http_client(is_encrypted, Duration::from_secs(START_SECONDS)).redirect(policy);
        let client = client.build().map_err(connection_words)?;
        let state = Mutex::default();
        Ok(Arc::new(Self { client, url, headers, tokens, shared, state }))
    }

    /// Sets the version that messages name.
    pub fn speak(&self, version: Option<&str>) {
        lock(&self.state).version = version.and_then(|version| HeaderValue::from_str(version).ok());
    }

    /// Sends one message with these headers; `false` if too many are in flight, or the connection
    /// has ended.
    pub fn send(self: &Arc<Self>, message: &Value, headers: Vec<(String, String)>) -> bool {
        let method = message["method"].as_str();
        let outgoing = {
            let state = lock(&self.state);
            Outgoing {
                request: self.post(&state, message, headers),
                id: method.and(message["id"].as_u64()),
                begins: method == Some("initialize"),
                has_session: state.session.is_some(),
            }
        };
        let id = outgoing.id;
        let remote = Arc::clone(self);
        self.spawn(id, async move {
            let exchanged = match id {
                Some(_) => remote.exchange(outgoing).await,
                None => {
                    let exchange = remote.exchange(outgoing);
                    tokio::time::timeout(ASIDE, exchange).await.unwrap_or(Ok(()))
                }
            };
            if let Err(failure) = exchanged {
                remote.fail(id, failure);
            }
        })
    }

    /// Receives unsolicited messages, if the server sends any: by this request, or as in legacy
    /// versions.
    pub fn listen(self: &Arc<Self>, request: Option<Value>, has_news_of_tools: bool) {
        let remote = Arc::clone(self);
        self.spawn(None, async move {
            let (mut position, mut pause) = (StreamPosition::default(), PAUSE);
            loop {
                let listening = match &request {
                    Some(request) => remote.post(&lock(&remote.state), request, Vec::new()),
                    None => remote.resume(&position),
                };
                match send_request(remote.tokens.as_ref(), listening).await {
                    Ok(response) if is_stream(&response) => {
                        let _ = remote.stream(response, None, &mut position).await;
                    }
                    Ok(_) => return,
                    Err(_) => {}
                }
                // Messages sent in the meantime are lost.
                if has_news_of_tools {
                    remote.shared.suspect();
                }
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONG_PAUSE);
            }
        });
    }

    /// Gives up a request.
    pub fn forget(&self, id: u64) {
        lock(&self.state).tasks.retain(|_, (of, task)| {
            let is_it = *of == Some(id);
            if is_it {
                task.abort();
            }
            !is_it
        });
    }

    /// Ends the session.
    pub fn end(&self) {
        let mut state = lock(&self.state);
        if std::mem::replace(&mut state.is_closed, true) {
            return;
        }
        state.tasks.drain().for_each(|(_, (_, task))| task.abort());
        if state.session.is_none() {
            return;
        }
        let request = self.request(&state, Method::DELETE).timeout(LAST);
        state.session = None;
        let (sender, session_ended): (Sender<()>, _) = channel();
        state.session_ended = Some(session_ended);
        if let Ok(runtime) = runtime() {
            let tokens = self.tokens.clone();
            runtime.spawn(async move {
                // Without a renewal: nothing would store the new token.
                let token = tokens.as_ref().and_then(Tokens::present);
                let _ = with_token(request, token.as_ref()).send().await;
                let _ = sender.send(());
            });
        }
    }

    /// Waits until the server has been told.
    pub fn wait(&self, timeout: Duration) {
        let session_ended = lock(&self.state).session_ended.take();
        if let Some(session_ended) = session_ended {
            let _ = session_ended.recv_timeout(timeout);
        }
    }

    fn spawn(
        self: &Arc<Self>,
        id: Option<u64>,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> bool {
        let Ok(runtime) = runtime() else { return false };
        let mut state = lock(&self.state);
        if state.is_closed || state.tasks.len() >= MAX_TASKS {
            return false;
        }
        state.number += 1;
        let number = state.number;
        let remote = Arc::clone(self);
        let task = runtime.spawn(async move {
            work.await;
            lock(&remote.state).tasks.remove(&number);
        });
        state.tasks.insert(number, (id, task.abort_handle()));
        true
    }

    /// A request with the common headers.
    fn request(&self, state: &RemoteState, method: Method) -> RequestBuilder {
        let mut headers = self.headers.clone();
        for (name, value) in [(VERSION, &state.version), (SESSION, &state.session)] {
            if let Some(value) = value {
                headers.insert(name, value.clone());
            }
        }
        self.client.request(method, self.url.clone()).headers(headers)
    }

    fn post(
        &self,
        state: &RemoteState,
        message: &Value,
        mirrored: Vec<(String, String)>,
    ) -> RequestBuilder {
        let names = [("mcp-method", &message["method"]), ("mcp-name", &message["params"]["name"])];
        let names = names.into_iter().filter_map(|(header, name)| Some((header, name.as_str()?)));
        let mut request = self
            .request(state, Method::POST)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        for (header, name) in names {
            request = request.header(header, encoded(name));
        }
        for (header, value) in mirrored {
            request = request.header(header, value);
        }
        request.body(message.to_string())
    }

    fn resume(&self, position: &StreamPosition) -> RequestBuilder {
        let request = self.request(&lock(&self.state), Method::GET).header(ACCEPT, STREAM);
        match position.last_id.as_str() {
            "" => request,
            last => request.header("last-event-id", last),
        }
    }

    async fn exchange(self: &Arc<Self>, outgoing: Outgoing) -> Result<(), Failure> {
        let Outgoing { request, id, begins, has_session } = outgoing;
        let response = send_request(self.tokens.as_ref(), request).await?;
        let status = response.status().as_u16();
        if has_session && status == 404 {
            return Err(Failure::Forgotten);
        }
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        if begins {
            let named = response.headers().get(SESSION);
            lock(&self.state).session = named.filter(|name| name.len() <= MAX_SESSION).cloned();
        }
        if is_stream(&response) {
            return self.answer_of_stream(response, id).await;
        }
        let Some(id) = id else { return Ok(()) };
        let wrong = |why: &str| Failure::Http { status, why: why.to_owned() };
        if media_type(&response) != "application/json" {
            return Err(wrong("its answer is neither JSON nor a stream of events"));
        }
        let body = self.body(response).await?;
        self.handle(&body, Some(id));
        if self.shared.awaits(id) {
            Err(wrong("its body does not answer the request"))
        } else {
            Ok(())
        }
    }

    /// Reads the stream of an answer, and resumes it if it breaks off.
    async fn answer_of_stream(
        self: &Arc<Self>,
        response: Response,
        id: Option<u64>,
    ) -> Result<(), Failure> {
        let mut position = StreamPosition::default();
        let mut read = self.stream(response, id, &mut position).await;
        let Some(id) = id else { return Ok(()) };
        for _ in 0..MAX_RESUMED {
            if !self.shared.awaits(id) {
                return Ok(());
            }
            if position.last_id.is_empty() {
                break;
            }
            tokio::time::sleep(position.pause.unwrap_or(PAUSE).clamp(PAUSES[0], PAUSES[1])).await;
            let resumed = send_request(self.tokens.as_ref(), self.resume(&position)).await?;
            if !is_stream(&resumed) {
                return Err(self.refusal(resumed).await);
            }
            read = self.stream(resumed, Some(id), &mut position).await;
        }
        if !self.shared.awaits(id) {
            return Ok(());
        }
        read?;
        Err(Failure::Unreachable("its answer was cut off; what it did is unknown".to_owned()))
    }

    /// Reads a stream until it ends, or until the request is answered.
    async fn stream(
        self: &Arc<Self>,
        mut response: Response,
        id: Option<u64>,
        position: &mut StreamPosition,
    ) -> Result<(), Failure> {
        let (mut decoder, mut events) = (SseDecoder::new(MAX_LINE), Vec::new());
        loop {
            let chunk = response.chunk().await;
            match &chunk {
                Ok(Some(bytes)) => {
                    if decoder.feed(bytes, &mut events).is_err() {
                        self.leave(&format!("it sent an event of more than {MAX_LINE} bytes"));
                    }
                    if decoder.passed_over() > MAX_UNASKED_BYTES {
                        self.leave("it sent too many unsolicited messages");
                    }
                }
                // The last event counts without its blank line, too.
                Ok(None) => decoder.finish(&mut events),
                Err(_) => {}
            }
            for event in events.drain(..).filter(|event| !event.data.is_empty()) {
                self.handle(event.data.as_bytes(), id);
            }
            if !decoder.last_id().is_empty() {
                position.last_id = decoder.last_id().to_owned();
            }
            position.pause = decoder.retry_ms().map(Duration::from_millis).or(position.pause);
            let is_answered = id.is_some_and(|id| !self.shared.awaits(id));
            match chunk {
                Ok(Some(_)) if !is_answered && !lock(&self.state).is_closed => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(unreachable(error)),
            }
        }
    }

    /// Reads a body of at most the longest line.
    async fn body(&self, mut response: Response) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        while let Some(bytes) = response.chunk().await.map_err(unreachable)? {
            if body.len() + bytes.len() > MAX_LINE {
                let why = format!("it sent an answer of more than {MAX_LINE} bytes");
                self.leave(&why);
                return Err(Failure::Unreachable(why));
            }
            body.extend_from_slice(&bytes);
        }
        Ok(body)
    }

    /// The failure for an error response. Its text is never shown: it may be a web page with
    /// anything in it.
    async fn refusal(&self, response: Response) -> Failure {
        let status = response.status().as_u16();
        if let Some((why, challenge)) = self.wants_sign_in(&response) {
            if let (Some(tokens), true) = (&self.tokens, challenge.wants_more())
                && let Err(error) = tokens.request_scopes(challenge.scopes.clone()).await
            {
                tracing::warn!(%error, "the wanted scopes are not noted");
            }
            return Failure::SignIn { status, why, challenge };
        }
        let header = |name: &str| response.headers().get(name).and_then(|it| it.to_str().ok());
        let why = match status {
            300..=399 => {
                let to = header("location").and_then(|to| response.url().join(to).ok());
                let host = to.as_ref().and_then(Url::host_str).unwrap_or("nowhere");
                format!(
                    "it points to `{host}`; redirects are followed within the same address alone"
                )
            }
            401 => "it needs another key".to_owned(),
            403 => "it does not accept this key".to_owned(),
            404 => "there is nothing at this address".to_owned(),
            405 => "it accepts no messages at this address".to_owned(),
            429 => "it has had too many requests".to_owned(),
            500.. => "it failed".to_owned(),
            _ => "it rejects the request".to_owned(),
        };
        if !matches!(status, 401 | 403 | 407) && media_type(&response) == "application/json" {
            let body = self.body(response).await.unwrap_or_default();
            let body = serde_json::from_slice::<Value>(&body).unwrap_or_default();
            if body["error"]["code"].is_i64() {
                return refused(&body["error"]);
            }
        }
        Failure::Http { status, why }
    }

    /// Whether a response requires a sign-in, or one with more scopes. A key in the settings rules
    /// out a sign-in.
    fn wants_sign_in(&self, response: &Response) -> Option<(String, Box<Challenge>)> {
        let status = response.status();
        let headers = response.headers().get_all(WWW_AUTHENTICATE).iter();
        let challenge = Challenge::read(headers.filter_map(|header| header.to_str().ok()));
        let challenge = Box::new(challenge.unwrap_or_default());
        let wants_more = status == StatusCode::FORBIDDEN && challenge.wants_more();
        if self.headers.contains_key(AUTHORIZATION)
            || !(wants_more || status == StatusCode::UNAUTHORIZED)
        {
            return None;
        }
        let why = match self.tokens.as_ref().map(Tokens::signed_in) {
            _ if wants_more => {
                format!("it requires a sign-in with more scopes: {}", challenge.scopes.join(" "))
            }
            Some(Ok(Some(_))) => "it no longer accepts the sign-in".to_owned(),
            _ => "it requires a sign-in in the browser, or a key".to_owned(),
        };
        Some((why, challenge))
    }

    fn handle(self: &Arc<Self>, message: &[u8], of: Option<u64>) {
        if let Err(why) = self.shared.handle(message, of, |answer| self.send(&answer, Vec::new())) {
            self.leave(&why);
        }
    }

    /// Handles the failure of a request. One that ends the connection fails all requests.
    fn fail(&self, id: Option<u64>, failure: Failure) {
        let ends = match &failure {
            Failure::Unreachable(why) => Some(format!("it could not be reached: {why}")),
            Failure::Forgotten => {
                lock(&self.state).session = None;
                Some("it has ended the session".to_owned())
            }
            Failure::Refused { .. } | Failure::Http { .. } | Failure::SignIn { .. } => None,
        };
        self.shared.fail(id, failure, ends.as_deref());
    }

    /// Disconnects from a server that violates the protocol.
    fn leave(&self, why: &str) {
        self.shared.end(why);
        self.end();
    }
}

/// Sends a request with the token of a sign-in, if any; repeats it once with a renewed token if
/// that is refused.
async fn send_request(
    tokens: Option<&Tokens>,
    request: RequestBuilder,
) -> Result<Response, Failure> {
    let Some(tokens) = tokens else { return request.send().await.map_err(unreachable) };
    let unusable =
        |error: LoginError| Failure::Unreachable(format!("its sign-in cannot be used: {error}"));
    let again = request.try_clone();
    let token = tokens.header().await.map_err(unusable)?;
    let response = with_token(request, token.as_ref()).send().await.map_err(unreachable)?;
    if let (StatusCode::UNAUTHORIZED, Some(used), Some(again)) = (response.status(), &token, again)
        && let Some(other) = tokens.renewed(Some(used)).await.map_err(unusable)?
        && other != *used
    {
        return with_token(again, Some(&other)).send().await.map_err(unreachable);
    }
    Ok(response)
}

fn with_token(request: RequestBuilder, token: Option<&HeaderValue>) -> RequestBuilder {
    token.into_iter().fold(request, |request, token| request.header(AUTHORIZATION, token))
}

fn unreachable(error: reqwest::Error) -> Failure {
    Failure::Unreachable(connection_words(error))
}

fn is_stream(response: &Response) -> bool {
    response.status().is_success() && media_type(response) == STREAM
}

/// The media type in lower case, without parameters.
fn media_type(response: &Response) -> String {
    let whole = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    whole.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
