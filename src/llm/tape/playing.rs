//! A recording as it is played back.

#![expect(clippy::disallowed_methods, reason = "the folder of the recording, which the user names")]

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::TapeError;
use super::exchange::{Answered, End, Exchange};
use super::recording::{Recorded, Request, What};
use crate::llm::Provider;
use crate::llm::error::{ErrorKind, LlmError};
use crate::llm::http::{self, Form};
use crate::llm::message::Message;
use crate::llm::reading::Reading;
use crate::llm::request::{ToolChoice, TurnRequest};
use crate::llm::turn::{Item, TurnStream};

/// A recording that is played back.
#[derive(Debug)]
pub struct Replaying {
    /// Those that were not played yet, in the order in which they were recorded.
    left: Mutex<Vec<Waiting>>,
}

/// A request that waits to be asked again.
#[derive(Debug)]
struct Waiting {
    place: PathBuf,
    asked: Asked,
}

/// What a request is known by.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    system: String,
    /// What is asked in the background has none.
    has_tools: bool,
    with_tools: bool,
    /// The digest of each message.
    messages: Vec<blake3::Hash>,
}

impl Asked {
    fn of(system: &str, has_tools: bool, with_tools: bool, messages: &[Message]) -> Self {
        let digest = |message: &Message| {
            blake3::hash(&serde_json::to_vec(message).expect("a message is plain data"))
        };
        let messages = messages.iter().map(digest).collect();
        Self { system: system.to_owned(), has_tools, with_tools, messages }
    }

    /// How alike two requests of one kind are: first those with one system prompt, then those with as
    /// many messages, then those with the most messages alike. Dates differ from run to run.
    fn likeness(&self, other: &Self) -> (bool, bool, usize, bool) {
        let same = self.messages.iter().zip(&other.messages).filter(|(a, b)| a == b).count();
        let as_many = self.messages.len() == other.messages.len();
        (self.system == other.system, as_many, same, self.with_tools == other.with_tools)
    }
}

struct Player(Arc<Replaying>);

/// What is asked in the place of models.
pub(super) fn player(replaying: Arc<Replaying>) -> Arc<dyn Provider> {
    Arc::new(Player(replaying))
}

impl Replaying {
    /// What was recorded in `folder`.
    pub(super) fn open(folder: &Path) -> Result<Self, TapeError> {
        let failed = |source| TapeError::Io { doing: "read", place: folder.to_owned(), source };
        let mut left = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let Request { system, tools, with_tools, messages, .. } = read(&path)?.request;
                let asked = Asked::of(&system, !tools.is_empty(), with_tools, &messages);
                left.push(Waiting { place: path, asked });
            }
        }
        left.sort_by(|a, b| a.place.cmp(&b.place));
        match left.is_empty() {
            true => Err(TapeError::Empty(folder.to_owned())),
            false => Ok(Self { left: Mutex::new(left) }),
        }
    }

    /// The file of the request that is most like this one, the first of those that are; it is played
    /// once.
    fn take(&self, asked: &Asked) -> Option<PathBuf> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let likeness = |at: &usize| (left[*at].asked.likeness(asked), Reverse(*at));
        let of_kind = |at: &usize| left[*at].asked.has_tools == asked.has_tools;
        let at = (0..left.len()).filter(of_kind).max_by_key(likeness)?;
        Some(left.remove(at).place)
    }
}

impl Provider for Player {
    fn id(&self) -> &str {
        "replay"
    }

    fn stream(&self, request: Arc<TurnRequest>) -> TurnStream {
        let with_tools = request.tool_choice == ToolChoice::Auto;
        let asked =
            Asked::of(&request.system, !request.tools.is_empty(), with_tools, &request.messages);
        let recorded = match self.0.take(&asked).map(|place| read(&place)) {
            Some(Ok(recorded)) => recorded,
            Some(Err(error)) => return failed(&error.to_string()),
            None => return failed("the recording has no more requests"),
        };
        Box::pin(stream::iter(items(recorded)))
    }
}

/// What a request came to: what was recorded, read anew.
fn items(recorded: Recorded) -> Vec<Result<Item, LlmError>> {
    let Recorded { exchanges, failed, steps, .. } = recorded;
    if !steps.is_empty() {
        return steps.into_iter().map(|step| item(step.what)).collect();
    }
    let mut items: Vec<Result<Item, LlmError>> = Vec::new();
    for exchange in exchanges {
        // It was asked in the place of the one before, whose failure nobody was told.
        if let Some(again) = exchange.again.clone() {
            items.pop_if(|last| last.is_err());
            items.push(Ok(Item::Event(again)));
        }
        items.extend(read_exchange(&exchange));
    }
    if items.is_empty() {
        items.push(Err(failed.unwrap_or_else(given_up)));
    }
    items
}

fn item(what: What) -> Result<Item, LlmError> {
    match what {
        What::Event(event) => Ok(Item::Event(event)),
        What::Done(turn) => Ok(Item::Done(turn)),
        What::Failed(error) => Err(*error),
        What::Dropped => Err(given_up()),
    }
}

/// What it came to, read by the reader of today.
fn read_exchange(exchange: &Exchange) -> Vec<Result<Item, LlmError>> {
    let mut items = Vec::new();
    if let Err(mut error) = read_into(exchange, &mut items) {
        error.provider.clone_from(&exchange.model);
        items.push(Err(error.without("")));
    }
    items
}

fn read_into(exchange: &Exchange, items: &mut Vec<Result<Item, LlmError>>) -> Result<(), LlmError> {
    let broke = match &exchange.end {
        End::Broke(error) => Some((**error).clone()),
        End::Whole | End::Dropped => None,
    };
    let Some(answered) = &exchange.answered else { return Err(broke.unwrap_or_else(given_up)) };
    let headers = header_map(answered);
    if (300..400).contains(&answered.status) {
        return Err(broke.unwrap_or_else(given_up));
    }
    let head = http::head(answered.status, &headers);
    let form = http::form(exchange.origin.wire, answered.status, &headers);
    if form == Form::Neither {
        let whole: Vec<u8> =
            exchange.pieces.iter().flat_map(|piece| piece.bytes.0.iter().copied()).collect();
        return Err(match broke {
            // Not even its text came.
            Some(error) if is_of_transport(error.kind) => error,
            _ => http::not_a_stream(&head, &whole),
        });
    }
    // How much is too much was decided then.
    let mut reading = Reading::new(exchange.origin.clone(), form == Form::Whole, usize::MAX);
    let mut finished = false;
    for piece in &exchange.pieces {
        let mut events = Vec::new();
        let fed = reading.feed(&piece.bytes.0, &mut events);
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
        (_, _, End::Dropped) => Some(given_up()),
        _ => None,
    };
    if let Some(error) = cut_short {
        return Err(reading.with_partial(error));
    }
    let mut events = Vec::new();
    let turn = reading.finish(&mut events);
    items.extend(events.into_iter().map(|event| Ok(Item::Event(event))));
    let mut turn = turn.map_err(|mut error| {
        error.detail.request_id = error.detail.request_id.or(head.request_id.clone());
        error
    })?;
    turn.request_id.clone_from(&head.request_id);
    items.push(Ok(Item::Done(Box::new(turn))));
    Ok(())
}

fn header_map(answered: &Answered) -> HeaderMap {
    let pair = |(name, value): &(String, String)| {
        Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?))
    };
    answered.headers.iter().filter_map(pair).collect()
}

/// Whether such a failure is none of what was read, but of how it came.
fn is_of_transport(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Network | ErrorKind::Timeout | ErrorKind::TooLarge)
}

fn given_up() -> LlmError {
    LlmError::new(ErrorKind::Truncated, "it was given up here")
}

fn failed(why: &str) -> TurnStream {
    let error = LlmError::new(ErrorKind::NotFound, why);
    Box::pin(stream::iter([Err(error)]))
}

fn read(path: &Path) -> Result<Recorded, TapeError> {
    let text = std::fs::read(path).map_err(|source| TapeError::Io {
        doing: "read",
        place: path.to_owned(),
        source,
    })?;
    serde_json::from_slice(&text)
        .map_err(|error| TapeError::Foreign { place: path.to_owned(), reason: error.to_string() })
}
