//! Plays back a recording.

#![expect(clippy::disallowed_methods, reason = "the folder of the recording, which the user names")]

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures_util::stream;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::TapeError;
use super::exchange::{End, Exchange, ResponseHead};
use super::recording::{Recorded, Request, StepKind};
use crate::llm::Provider;
use crate::llm::error::{ErrorKind, LlmError};
use crate::llm::http::{self, BodyForm};
use crate::llm::message::Message;
use crate::llm::request::{ToolChoice, TurnRequest};
use crate::llm::response::ResponseDecoder;
use crate::llm::turn::{Item, TurnStream};
use crate::locks::lock;

#[derive(Debug)]
pub struct Replay {
    /// The requests not yet played, in recorded order.
    remaining: Mutex<Vec<RecordedRequest>>,
}

/// A recorded request that was not played yet.
#[derive(Debug)]
struct RecordedRequest {
    path: PathBuf,
    fingerprint: Fingerprint,
}

/// The parts of a request that a recording is matched by.
#[derive(Debug, PartialEq, Eq)]
struct Fingerprint {
    system: String,
    /// Background requests have none.
    has_tools: bool,
    with_tools: bool,
    /// The digest of each message.
    messages: Vec<blake3::Hash>,
}

impl Fingerprint {
    fn of(system: &str, has_tools: bool, with_tools: bool, messages: &[Message]) -> Self {
        let digest = |message: &Message| {
            blake3::hash(&serde_json::to_vec(message).expect("a message is plain data"))
        };
        let messages = messages.iter().map(digest).collect();
        Self { system: system.to_owned(), has_tools, with_tools, messages }
    }

    /// Ranks how similar two requests of the same kind are: first by equal system prompts, then by
    /// equal message counts, then by the number of equal messages. Messages differ between runs,
    /// since they contain dates.
    fn similarity(&self, other: &Self) -> (bool, bool, usize, bool) {
        let same = self.messages.iter().zip(&other.messages).filter(|(a, b)| a == b).count();
        let same_count = self.messages.len() == other.messages.len();
        (self.system == other.system, same_count, same, self.with_tools == other.with_tools)
    }
}

struct Player(Arc<Replay>);

/// The provider that plays back the recording.
pub(super) fn player(replay: Arc<Replay>) -> Arc<dyn Provider> {
    Arc::new(Player(replay))
}

impl Replay {
    pub(super) fn open(folder: &Path) -> Result<Self, TapeError> {
        let failed = |source| TapeError::Io { doing: "read", path: folder.to_owned(), source };
        let mut remaining = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let Request { system, tools, with_tools, messages, .. } =
                    read_recording(&path)?.request;
                let fingerprint =
                    Fingerprint::of(&system, !tools.is_empty(), with_tools, &messages);
                remaining.push(RecordedRequest { path, fingerprint });
            }
        }
        remaining.sort_by(|a, b| a.path.cmp(&b.path));
        if remaining.is_empty() {
            Err(TapeError::Empty(folder.to_owned()))
        } else {
            Ok(Self { remaining: Mutex::new(remaining) })
        }
    }

    /// Takes the file of the most similar request; the earliest if several are equally similar.
    /// Each file is played once.
    fn take(&self, fingerprint: &Fingerprint) -> Option<PathBuf> {
        let mut remaining = lock(&self.remaining);
        let similarity =
            |at: &usize| (remaining[*at].fingerprint.similarity(fingerprint), Reverse(*at));
        let of_kind = |at: &usize| remaining[*at].fingerprint.has_tools == fingerprint.has_tools;
        let at = (0..remaining.len()).filter(of_kind).max_by_key(similarity)?;
        Some(remaining.remove(at).path)
    }
}

impl Provider for Player {
    fn id(&self) -> &str {
        "replay"
    }

    fn stream(&self, request: Arc<TurnRequest>) -> TurnStream {
        let with_tools = request.tool_choice == ToolChoice::Auto;
        let fingerprint = Fingerprint::of(
            &request.system,
            !request.tools.is_empty(),
            with_tools,
            &request.messages,
        );
        let recorded = match self.0.take(&fingerprint).map(|path| read_recording(&path)) {
            Some(Ok(recorded)) => recorded,
            Some(Err(error)) => return failed_stream(&error.to_string()),
            None => return failed_stream("the recording has no more requests"),
        };
        Box::pin(stream::iter(items(recorded)))
    }
}

/// Decodes the recorded bytes into the items of a stream.
fn items(recorded: Recorded) -> Vec<Result<Item, LlmError>> {
    let Recorded { exchanges, failed, steps, .. } = recorded;
    if !steps.is_empty() {
        return steps.into_iter().map(|step| item(step.what)).collect();
    }
    let mut items: Vec<Result<Item, LlmError>> = Vec::new();
    for exchange in exchanges {
        // This exchange replaced the one before, whose error the caller never saw.
        if let Some(retry) = exchange.retry.clone() {
            items.pop_if(|last| last.is_err());
            items.push(Ok(Item::Event(retry)));
        }
        items.extend(read_exchange(&exchange));
    }
    if items.is_empty() {
        items.push(Err(failed.unwrap_or_else(dropped_connection)));
    }
    items
}

fn item(what: StepKind) -> Result<Item, LlmError> {
    match what {
        StepKind::Event(event) => Ok(Item::Event(event)),
        StepKind::Done(turn) => Ok(Item::Done(turn)),
        StepKind::Failed(error) => Err(*error),
        StepKind::Dropped => Err(dropped_connection()),
    }
}

/// Decodes one exchange with the current decoder.
fn read_exchange(exchange: &Exchange) -> Vec<Result<Item, LlmError>> {
    let mut items = Vec::new();
    if let Err(mut error) = read_into(exchange, &mut items) {
        error.provider.clone_from(&exchange.model);
        items.push(Err(error.redact("")));
    }
    items
}

fn read_into(exchange: &Exchange, items: &mut Vec<Result<Item, LlmError>>) -> Result<(), LlmError> {
    let broke = match &exchange.end {
        End::Broke(error) => Some((**error).clone()),
        End::Whole | End::Dropped => None,
    };
    let Some(answered) = &exchange.answered else {
        return Err(broke.unwrap_or_else(dropped_connection));
    };
    let headers = header_map(answered);
    if (300..400).contains(&answered.status) {
        return Err(broke.unwrap_or_else(dropped_connection));
    }
    let head = http::head(answered.status, &headers);
    let form = http::body_form(exchange.origin.wire, answered.status, &headers);
    if form == BodyForm::Error {
        let whole: Vec<u8> =
            exchange.pieces.iter().flat_map(|piece| piece.bytes.0.iter().copied()).collect();
        return Err(match broke {
            // The error's body never arrived.
            Some(error) if is_of_transport(error.kind) => error,
            _ => http::body_error(&head, &whole),
        });
    }
    // The size limit was applied when recording.
    let mut decoder =
        ResponseDecoder::new(exchange.origin.clone(), form == BodyForm::Json, usize::MAX);
    let mut finished = false;
    for piece in &exchange.pieces {
        let mut events = Vec::new();
        let fed = decoder.feed(&piece.bytes.0, &mut events);
        items.extend(events.into_iter().map(|event| Ok(Item::Event(event))));
        let with_id = |mut error: LlmError| {
            error.detail.request_id = error.detail.request_id.or(head.request_id.clone());
            error
        };
        finished = fed.map_err(with_id)?;
        if finished {
            break;
        }
    }
    let cut_short = match (finished, broke, &exchange.end) {
        (true, ..) => None,
        (_, Some(error), _) if is_of_transport(error.kind) => Some(error),
        (_, _, End::Dropped) => Some(dropped_connection()),
        _ => None,
    };
    if let Some(error) = cut_short {
        return Err(decoder.with_partial(error));
    }
    let mut events = Vec::new();
    let turn = decoder.finish(&mut events);
    items.extend(events.into_iter().map(|event| Ok(Item::Event(event))));
    let mut turn = turn.map_err(|mut error| {
        error.detail.request_id = error.detail.request_id.or(head.request_id.clone());
        error
    })?;
    turn.request_id.clone_from(&head.request_id);
    items.push(Ok(Item::Done(Box::new(turn))));
    Ok(())
}

fn header_map(answered: &ResponseHead) -> HeaderMap {
    let pair = |(name, value): &(String, String)| {
        Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?))
    };
    answered.headers.iter().filter_map(pair).collect()
}

/// Whether a failure came from the connection rather than from the content.
fn is_of_transport(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Network | ErrorKind::Timeout | ErrorKind::TooLarge)
}

fn dropped_connection() -> LlmError {
    LlmError::new(ErrorKind::Truncated, "the recorded call was cancelled here")
}

fn failed_stream(why: &str) -> TurnStream {
    let error = LlmError::new(ErrorKind::NotFound, why);
    Box::pin(stream::iter([Err(error)]))
}

fn read_recording(path: &Path) -> Result<Recorded, TapeError> {
    let text = std::fs::read(path).map_err(|source| TapeError::Io {
        doing: "read",
        path: path.to_owned(),
        source,
    })?;
    serde_json::from_slice(&text)
        .map_err(|error| TapeError::Foreign { path: path.to_owned(), reason: error.to_string() })
}
