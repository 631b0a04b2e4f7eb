//! One model at one address, over HTTP.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use super::error::{ErrorKind, LlmError};
use super::facts::Facts;
use super::http::{self, BodyForm, Http};
pub use super::http::{Address, BadAddress, builder as http_client, connection_words};
use super::key::Key;
use super::message::{Origin, Wire};
use super::request::TurnRequest;
use super::response::ResponseDecoder;
use super::settings::Limits;
use super::tape::ExchangeRecorder;
use super::turn::{Item, TurnEvent, TurnStream};
use super::wire::{self, Target};
use super::{Provider, classify};

/// The most bytes of an error body to read.
const MAX_ERROR: usize = 64 << 10;
/// The most bytes of a model list to read.
const MAX_LISTING: usize = 4 << 20;
/// The timeout for listing models.
const LISTING: Duration = Duration::from_secs(10);
/// The timeout for reading the rest of a complete response, so that the connection can be reused.
const DRAIN: Duration = Duration::from_secs(1);

/// One model at one address. Clones share connections.
#[derive(Debug, Clone)]
pub struct Endpoint(Arc<SharedEndpoint>);

struct SharedEndpoint {
    id: String,
    target: Target,
    address: Address,
    key: Option<Key>,
    needs_key: bool,
    limits: Limits,
    http: Arc<Http>,
}

debug_only!(SharedEndpoint, id, target);

/// The connection pool that endpoints share.
#[derive(Debug, Clone)]
pub struct Connections(Arc<Http>);

impl Connections {
    /// Uses the connect timeout of `limits`.
    pub fn new(limits: &Limits) -> Self {
        Self(Arc::new(Http::new(limits.connect)))
    }

    /// The JSON at an address that needs no key and belongs to no model.
    pub async fn document(&self, address: &Address) -> Result<Value, LlmError> {
        let asked = async {
            let get = self.0.client(address)?.get(address.as_str());
            answered(get.send().await.map_err(http::connection_error)?, "the answer").await
        };
        let asked = timeout(LISTING, asked).await;
        asked.unwrap_or_else(|_| Err(timed_out("the answer", LISTING)))
    }
}

async fn answered(response: Response, what: &str) -> Result<Value, LlmError> {
    let head = http::head(response.status().as_u16(), response.headers());
    if let Some(error) = http::redirect_error(&response) {
        return Err(error);
    }
    let is_fine = response.status().is_success();
    let body = read_up_to(response, MAX_LISTING).await?;
    if !is_fine {
        return Err(classify::from_body(&head, &body));
    }
    serde_json::from_slice(&body)
        .map_err(|_| LlmError::new(ErrorKind::Protocol, format!("{what} is not JSON")))
}

/// A provider's address and credentials, without a model.
#[derive(Debug, Clone)]
pub struct Service {
    pub name: String,
    pub wire: Wire,
    pub address: Address,
    pub key: Option<Key>,
    /// Refuse to send anything without a key.
    pub needs_key: bool,
}

impl Endpoint {
    /// The model `model` of a service.
    pub fn new(
        service: &Service,
        model: &str,
        facts: Facts,
        limits: Limits,
        connections: &Connections,
    ) -> Self {
        let origin = Origin {
            wire: service.wire,
            endpoint: service.address.as_str().to_owned(),
            model: model.to_owned(),
        };
        Self(Arc::new(SharedEndpoint {
            id: format!("{}/{model}", service.name),
            target: Target { origin, facts },
            address: service.address.clone(),
            key: service.key.clone(),
            needs_key: service.needs_key,
            limits,
            http: Arc::clone(&connections.0),
        }))
    }

    /// The ids of the models that the service offers, sorted. No vendor charges for this call. It
    /// fails with `Auth` if the key is wrong.
    pub async fn offered(&self) -> Result<Vec<String>, LlmError> {
        let inner = &self.0;
        let asked = timeout(LISTING, inner.fetch_models()).await;
        asked.unwrap_or_else(|_| Err(timed_out("the list of models", LISTING))).map_err(|error| {
            let mut error = inner.with_provider(error);
            // The list belongs to the provider, not to a model.
            error.provider.truncate(error.provider.find('/').unwrap_or(error.provider.len()));
            error
        })
    }
}

impl Provider for Endpoint {
    fn id(&self) -> &str {
        &self.0.id
    }

    fn stream(&self, request: Arc<TurnRequest>) -> TurnStream {
        let running = EndpointStream {
            inner: Arc::clone(&self.0),
            phase: Phase::Begin(request),
            ready: VecDeque::new(),
        };
        Box::pin(stream::unfold(running, |mut running| async move {
            running.next().await.map(|item| (item, running))
        }))
    }
}

/// A turn in progress. Dropping it closes the connection.
struct EndpointStream {
    inner: Arc<SharedEndpoint>,
    phase: Phase,
    ready: VecDeque<Result<Item, LlmError>>,
}

enum Phase {
    Begin(Arc<TurnRequest>),
    Read(Box<Open>),
    Over,
}

struct Open {
    response: Response,
    decoder: ResponseDecoder,
    recorder: ExchangeRecorder,
    request_id: Option<String>,
    /// The deadline for the first byte; `None` once it came. After that, each piece has its own
    /// limit.
    first: Option<Instant>,
}

impl EndpointStream {
    async fn next(&mut self) -> Option<Result<Item, LlmError>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Over => return None,
                Phase::Begin(request) => {
                    let inner = &self.inner;
                    let origin = &inner.target.origin;
                    let recorder = request.tap.begin(&inner.id, origin, inner.key.as_ref());
                    match inner.open(&request, &recorder).await {
                        Ok((response, decoder, request_id, first)) => {
                            let first = Some(first);
                            let open = Open { response, decoder, recorder, request_id, first };
                            self.phase = Phase::Read(Box::new(open));
                        }
                        Err(error) => self.fail(error, &recorder),
                    }
                }
                Phase::Read(open) => self.read(open).await,
            }
        }
    }

    async fn read(&mut self, mut open: Box<Open>) {
        let (first, stall) = (self.inner.limits.first_byte, self.inner.limits.stall);
        let until = open.first.unwrap_or_else(|| Instant::now() + stall);
        let mut events = Vec::new();
        let read = match timeout_at(until, open.response.chunk()).await {
            Err(_) => {
                let (what, limit) = match open.first {
                    Some(_) => ("the first byte", first),
                    None => ("the next piece", stall),
                };
                Err(open.decoder.with_partial(timed_out(what, limit)))
            }
            Ok(Err(error)) => Err(open.decoder.with_partial(http::connection_error(error))),
            Ok(Ok(Some(bytes))) => {
                open.first = None;
                open.recorder.received(&bytes);
                open.decoder.feed(&bytes, &mut events)
            }
            Ok(Ok(None)) => Ok(true),
        };
        let finished = match read {
            Ok(true) => Some(open.decoder.finish(&mut events)),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        };
        // Events before an error come before the error.
        self.ready.extend(events.into_iter().map(|event: TurnEvent| Ok(Item::Event(event))));
        match finished {
            None => self.phase = Phase::Read(open),
            Some(Ok(mut turn)) => {
                turn.request_id = open.request_id.take();
                open.recorder.completed();
                self.ready.push_back(Ok(Item::Done(Box::new(turn))));
                drain(open.response);
            }
            Some(Err(mut error)) => {
                error.detail.request_id = error.detail.request_id.or(open.request_id.take());
                self.fail(error, &open.recorder);
            }
        }
    }

    fn fail(&mut self, error: LlmError, recorder: &ExchangeRecorder) {
        let error = self.inner.with_provider(error);
        recorder.failed(&error);
        self.ready.push_back(Err(error));
    }
}

/// Reads the rest of a complete response so that the next request can reuse the connection. A
/// server that keeps sending loses the connection.
fn drain(mut response: Response) {
    tokio::spawn(timeout(DRAIN, async move { while let Ok(Some(_)) = response.chunk().await {} }));
}

impl SharedEndpoint {
    fn with_provider(&self, mut error: LlmError) -> LlmError {
        self.id.clone_into(&mut error.provider);
        error.redact(self.key.as_ref().map_or("", Key::reveal))
    }

    /// Sends the request and opens the response. Returns the response, its decoder, the vendor's
    /// request id and the deadline for the first byte.
    async fn open(
        &self,
        request: &TurnRequest,
        recorder: &ExchangeRecorder,
    ) -> Result<(Response, ResponseDecoder, Option<String>, Instant), LlmError> {
        let call = self.target.encode(request)?;
        recorder.sent(&call.url, &call.headers, &call.body);
        let first = Instant::now() + self.limits.first_byte;
        let client = self.http.client(&self.address)?;
        let post = client
            .post(&call.url)
            .header(CONTENT_TYPE, "application/json")
            .header("accept", "text/event-stream")
            .body(call.body);
        let post = self.with_key(with_headers(post, &call.headers))?;
        let sent = timeout_at(first, post.send()).await;
        let response = sent
            .map_err(|_| timed_out("the first byte", self.limits.first_byte))?
            .map_err(http::connection_error)?;
        let status = response.status().as_u16();
        recorder.responded(status, response.headers());
        let head = http::head(status, response.headers());
        if let Some(error) = http::redirect_error(&response) {
            return Err(error);
        }
        let body_form = http::body_form(self.target.origin.wire, status, response.headers());
        if body_form == BodyForm::Error {
            let body = timeout(self.limits.stall, read_up_to(response, MAX_ERROR)).await;
            let body = body.map_err(|_| timed_out("an error's text", self.limits.stall))??;
            recorder.received(&body);
            return Err(http::body_error(&head, &body));
        }
        tracing::debug!(model = self.id, status, "a model answers");
        let decoder = ResponseDecoder::new(
            self.target.origin.clone(),
            body_form == BodyForm::Json,
            self.limits.answer,
        );
        Ok((response, decoder, head.request_id, first))
    }

    async fn fetch_models(&self) -> Result<Vec<String>, LlmError> {
        let (path, headers) = wire::models_path(self.target.origin.wire);
        let client = self.http.client(&self.address)?;
        let get = with_headers(client.get(format!("{}{path}", self.address.as_str())), headers);
        let response = self.with_key(get)?.send().await.map_err(http::connection_error)?;
        let value = answered(response, "the list of models").await?;
        let list = value["data"].as_array().or_else(|| value["models"].as_array());
        let name = |model: &Value| {
            let id = model["id"].as_str().or_else(|| model["name"].as_str())?;
            Some(id.strip_prefix("models/").unwrap_or(id).to_owned())
        };
        let mut names: Vec<String> = list.into_iter().flatten().filter_map(name).collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    fn with_key(
        &self,
        request: reqwest::RequestBuilder,
    ) -> Result<reqwest::RequestBuilder, LlmError> {
        match &self.key {
            Some(key) => {
                let (name, value) = wire::key_header(self.target.origin.wire, key);
                let mut value =
                    HeaderValue::try_from(value).expect("a key holds what a header may hold");
                value.set_sensitive(true);
                Ok(request.header(name, value))
            }
            None if self.needs_key => Err(LlmError::new(ErrorKind::Auth, "no key is set")),
            None => Ok(request),
        }
    }
}

fn with_headers(
    request: reqwest::RequestBuilder,
    headers: &[(&'static str, &'static str)],
) -> reqwest::RequestBuilder {
    headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))
}

fn timed_out(what: &str, limit: Duration) -> LlmError {
    LlmError::new(ErrorKind::Timeout, format!("{what} took longer than {limit:?}"))
}

async fn read_up_to(mut response: Response, limit: usize) -> Result<Vec<u8>, LlmError> {
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.map_err(http::connection_error)? {
        let room = limit - body.len();
        body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if body.len() == limit {
            break;
        }
    }
    Ok(body)
}
