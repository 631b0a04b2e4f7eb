//! A recording as it is played back.

#![expect(clippy::disallowed_methods, reason = "the folder of the recording, which the user names")]

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream;

use super::TapeError;
use super::recording::{Recorded, Request, What};
use crate::llm::Provider;
use crate::llm::error::{ErrorKind, LlmError};
use crate::llm::message::Message;
use crate::llm::turn::{Item, ToolChoice, TurnRequest, TurnStream};

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
        Box::pin(stream::iter(recorded.items()))
    }
}

impl Recorded {
    /// What it came to: what was recorded, read anew.
    fn items(self) -> Vec<Result<Item, LlmError>> {
        let Self { exchanges, failed, steps, .. } = self;
        if !steps.is_empty() {
            return steps.into_iter().map(|step| step.what.item()).collect();
        }
        let mut items: Vec<Result<Item, LlmError>> = Vec::new();
        for exchange in exchanges {
            // It was asked in the place of the one before, whose failure nobody was told.
            if let Some(again) = exchange.again.clone() {
                items.pop_if(|last| last.is_err());
                items.push(Ok(Item::Event(again)));
            }
            items.extend(exchange.read());
        }
        if items.is_empty() {
            items.push(Err(failed.unwrap_or_else(given_up)));
        }
        items
    }
}

impl What {
    fn item(self) -> Result<Item, LlmError> {
        match self {
            Self::Event(event) => Ok(Item::Event(event)),
            Self::Done(turn) => Ok(Item::Done(turn)),
            Self::Failed(error) => Err(*error),
            Self::Dropped => Err(given_up()),
        }
    }
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
