//! The traffic with models, recorded and played back: so that somebody can report a fault, and
//! somebody else can see it.
//!
//! One file a request, numbered in the order in which they were made: what was asked and every piece that came
//! back, in this room's own terms, so that a recording is the same for all vendors. Keys are no part
//! of them. What was said and read is, so a recording is as private as the vault, and closed to other
//! users of the machine. Played back, a request gets what came of the one it is most like, whatever
//! was asked in between: a title that is asked for in the background takes no turn's answer.

#![expect(clippy::disallowed_methods, reason = "the folder of the recording, which the user names")]

use std::cmp::Reverse;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use futures_util::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};

use super::Provider;
use super::error::{ErrorKind, LlmError};
use super::message::Message;
use super::turn::{Effort, Item, ToolChoice, ToolSpec, Turn, TurnEvent, TurnRequest, TurnStream};

/// What is done with the traffic.
#[derive(Debug, Clone, Default)]
pub enum Tape {
    /// Nothing.
    #[default]
    Off,
    /// It is recorded.
    Record(Arc<Recording>),
    /// It is played back, and no model is asked.
    Replay(Arc<Replaying>),
}

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
pub enum TapeError {
    /// The folder or a file in it cannot be used.
    #[error("could not {doing} the recording in `{}`: {source}", place.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// Where.
        place: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file is no part of a recording.
    #[error("`{}` is no part of a recording: {reason}", place.display())]
    Foreign {
        /// The file.
        place: PathBuf,
        /// Why not.
        reason: String,
    },
    /// There is something in the folder already.
    #[error("`{}` is not empty", .0.display())]
    Taken(PathBuf),
    /// There is nothing in it.
    #[error("`{}` holds no recording", .0.display())]
    Empty(PathBuf),
}

impl TapeError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Taken(_) => "name a folder that is empty or not there yet",
            _ => "`steward serve --record FOLDER` makes a recording",
        }
    }
}

/// A recording that is being made.
#[derive(Debug)]
pub struct Recording {
    folder: PathBuf,
    made: AtomicUsize,
}

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

/// One request and what came of it.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Recorded {
    model: String,
    request: Request,
    steps: Vec<Step>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Request {
    system: String,
    tools: Vec<ToolSpec>,
    with_tools: bool,
    messages: Vec<Message>,
    max_output_tokens: u32,
    effort: Option<Effort>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Step {
    /// Milliseconds since the request.
    after: u64,
    #[serde(flatten)]
    what: What,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum What {
    Event(TurnEvent),
    Done(Box<Turn>),
    Failed(Box<LlmError>),
    /// Whoever asked wanted no more.
    Dropped,
}

impl Tape {
    /// Records into `folder`, which is made if need be and must be empty.
    ///
    /// # Errors
    /// [`TapeError`].
    pub fn record(folder: &Path) -> Result<Self, TapeError> {
        let io = |doing| {
            let place = folder.to_owned();
            move |source| TapeError::Io { doing, place, source }
        };
        private_folder(folder).map_err(io("make the folder for"))?;
        let folder = folder.canonicalize().map_err(io("find the folder of"))?;
        let mut entries = std::fs::read_dir(&folder).map_err(io("look into the folder of"))?;
        match entries.next() {
            Some(_) => Err(TapeError::Taken(folder)),
            None => Ok(Self::Record(Arc::new(Recording { folder, made: AtomicUsize::new(0) }))),
        }
    }

    /// Plays back what was recorded in `folder`.
    ///
    /// # Errors
    /// [`TapeError`].
    pub fn replay(folder: &Path) -> Result<Self, TapeError> {
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
            false => Ok(Self::Replay(Arc::new(Replaying { left: Mutex::new(left) }))),
        }
    }

    /// The folder that is written to.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::Record(recording) => Some(&recording.folder),
            Self::Off | Self::Replay(_) => None,
        }
    }

    /// What is asked instead of any model, where a recording is played back.
    pub fn player(&self) -> Option<Arc<dyn Provider>> {
        match self {
            Self::Replay(replaying) => Some(Arc::new(Player(Arc::clone(replaying)))),
            Self::Off | Self::Record(_) => None,
        }
    }

    /// `provider`, recorded where that is wanted.
    pub fn around(&self, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        match self {
            Self::Record(recording) => {
                Arc::new(Recorder { provider, recording: Arc::clone(recording) })
            }
            Self::Off | Self::Replay(_) => provider,
        }
    }
}

struct Recorder {
    provider: Arc<dyn Provider>,
    recording: Arc<Recording>,
}

impl Provider for Recorder {
    fn id(&self) -> &str {
        self.provider.id()
    }

    fn stream(&self, request: Arc<TurnRequest>) -> TurnStream {
        let number = self.recording.made.fetch_add(1, Ordering::Relaxed) + 1;
        let running = Running {
            stream: self.provider.stream(Arc::clone(&request)),
            begun: Instant::now(),
            path: self.recording.folder.join(format!("{number:05}.json")),
            recorded: Recorded {
                model: self.provider.id().to_owned(),
                request: Request {
                    system: request.system.to_string(),
                    tools: request.tools.to_vec(),
                    with_tools: request.tool_choice == ToolChoice::Auto,
                    messages: request.messages.clone(),
                    max_output_tokens: request.max_output_tokens,
                    effort: request.effort,
                },
                steps: Vec::new(),
            },
            is_written: false,
        };
        Box::pin(stream::unfold(running, |mut running| async move {
            let item = running.stream.next().await?;
            let what = match &item {
                Ok(Item::Event(event)) => What::Event(event.clone()),
                Ok(Item::Done(turn)) => What::Done(turn.clone()),
                Err(error) => What::Failed(Box::new(error.clone())),
            };
            let is_over = matches!(what, What::Done(_) | What::Failed(_));
            running.note(what);
            if is_over {
                // Whoever polls it serves others too.
                let _ = tokio::task::spawn_blocking(running.write()).await;
            }
            Some((item, running))
        }))
    }
}

/// A request that is being recorded; written when it is over, or given up.
struct Running {
    stream: TurnStream,
    begun: Instant,
    path: PathBuf,
    recorded: Recorded,
    is_written: bool,
}

impl Running {
    fn note(&mut self, what: What) {
        let after = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.recorded.steps.push(Step { after, what });
    }

    /// What writes it down, once.
    fn write(&mut self) -> impl FnOnce() + Send + 'static {
        self.is_written = true;
        let (recorded, path) = (std::mem::take(&mut self.recorded), std::mem::take(&mut self.path));
        move || {
            let written = serde_json::to_vec_pretty(&recorded)
                .map_err(io::Error::other)
                .and_then(|text| private_file(&path)?.write_all(&text));
            if let Err(error) = written {
                tracing::warn!(%error, path = %path.display(), "a request was not recorded");
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_written {
            self.note(What::Dropped);
            self.write()();
        }
    }
}

/// Makes a folder that nobody else may look into; one that is there stays as its owner made it.
fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Makes a file that nobody else may read.
fn private_file(path: &Path) -> io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

struct Player(Arc<Replaying>);

impl Replaying {
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
        let steps = match self.0.take(&asked).map(|place| read(&place)) {
            Some(Ok(recorded)) => recorded.steps,
            Some(Err(error)) => return failed(&error.to_string()),
            None => return failed("the recording has no more requests"),
        };
        let items = steps.into_iter().map(|step| match step.what {
            What::Event(event) => Ok(Item::Event(event)),
            What::Done(turn) => Ok(Item::Done(turn)),
            What::Failed(error) => Err(*error),
            What::Dropped => Err(LlmError::new(ErrorKind::Truncated, "it was given up here")),
        });
        Box::pin(stream::iter(items.collect::<Vec<_>>()))
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::{Block, Origin, Stop, Usage, Wire};

    struct Once;

    impl Provider for Once {
        fn id(&self) -> &str {
            "test/m"
        }

        fn stream(&self, request: Arc<TurnRequest>) -> TurnStream {
            let origin = Origin { wire: Wire::Chat, endpoint: "e".into(), model: "m".into() };
            let event = TurnEvent::Text { block: 0, delta: "hi".into() };
            let turn = Turn {
                content: vec![Block::text("hi")],
                stop: Stop::EndTurn,
                usage: Some(Usage::default()),
                origin,
                request_id: None,
            };
            let end = match request.messages.len() {
                1 => Ok(Item::Done(Box::new(turn))),
                _ => Err(LlmError::new(ErrorKind::Network, "cut")),
            };
            Box::pin(stream::iter([Ok(Item::Event(event)), end]))
        }
    }

    #[test]
    fn what_was_recorded_is_played_back() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("tape");
        let tape = Tape::record(&folder).unwrap();
        let provider = tape.around(Arc::new(Once));
        let ask = |provider: &Arc<dyn Provider>, messages: usize| {
            let messages = vec![Message::user("x"); messages];
            let stream = provider.stream(Arc::new(TurnRequest::new(messages)));
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(stream.collect::<Vec<_>>())
        };
        let heard = [ask(&provider, 1), ask(&provider, 2)];
        drop(provider.stream(Arc::new(TurnRequest::new(Vec::new()))));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&folder), mode(&folder.join("00001.json"))), (0o700, 0o600));
        }
        assert!(matches!(Tape::record(&folder), Err(TapeError::Taken(_))));

        let player = Tape::replay(&folder).unwrap().player().unwrap();
        // In whatever order they are asked for.
        let [first, second] = heard;
        assert_eq!(ask(&player, 2), second);
        assert_eq!(ask(&player, 1), first);
        assert!(ask(&player, 1)[0].is_err(), "it was given up");
        assert!(ask(&player, 1)[0].is_err(), "there is no more");
        std::fs::write(folder.join("0.json"), "{}").unwrap();
        assert!(matches!(Tape::replay(&folder), Err(TapeError::Foreign { .. })));
    }
}
