//! Writes a recording.

#![expect(clippy::disallowed_methods, reason = "the folder of the recording, which the user names")]

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::TapeError;
use super::exchange::{Exchange, Tap, masked};
use crate::llm::Provider;
use crate::llm::error::LlmError;
use crate::llm::message::Message;
use crate::llm::request::{Effort, ToolChoice, ToolSpec, TurnRequest};
use crate::llm::turn::{Item, Turn, TurnEvent, TurnStream};

/// The version of the file format.
const VERSION: u32 = 2;

#[derive(Debug)]
pub struct Recording {
    folder: PathBuf,
    made: AtomicUsize,
}

/// A recorded request and its outcome; the content of one file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Recorded {
    /// 0 in the first version of the format, which stored `steps`.
    #[serde(default)]
    pub version: u32,
    pub model: String,
    pub request: Request,
    /// The HTTP exchanges in order; all but the last failed.
    #[serde(default)]
    pub exchanges: Vec<Exchange>,
    /// The error, if no exchange took place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<LlmError>,
    /// The first version stored these decoded items instead of the bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Request {
    pub system: String,
    pub tools: Vec<ToolSpec>,
    pub with_tools: bool,
    pub messages: Vec<Message>,
    pub max_output_tokens: u32,
    pub effort: Option<Effort>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Step {
    #[serde(flatten)]
    pub what: StepKind,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StepKind {
    Event(TurnEvent),
    Done(Box<Turn>),
    Failed(Box<LlmError>),
    /// The caller dropped the stream.
    Dropped,
}

impl Recording {
    /// Records into `folder`, which is created if missing and must be empty.
    pub(super) fn begin(folder: &Path) -> Result<Self, TapeError> {
        let io = |doing| {
            let path = folder.to_owned();
            move |source| TapeError::Io { doing, path, source }
        };
        private_folder(folder).map_err(io("make the folder for"))?;
        let folder = dunce::canonicalize(folder).map_err(io("find the folder of"))?;
        let mut entries = std::fs::read_dir(&folder).map_err(io("look into the folder of"))?;
        match entries.next() {
            Some(_) => Err(TapeError::Taken(folder)),
            None => Ok(Self { folder, made: AtomicUsize::new(0) }),
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

pub(super) fn recorder(
    recording: Arc<Recording>,
    provider: Arc<dyn Provider>,
) -> Arc<dyn Provider> {
    Arc::new(Recorder { provider, recording })
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
        let tap = Tap::open();
        let tapped = TurnRequest { tap: tap.clone(), ..(*request).clone() };
        let running = RecordingStream {
            stream: self.provider.stream(Arc::new(tapped)),
            tap,
            path: self.recording.folder.join(format!("{number:05}.json")),
            recorded: Recorded {
                version: VERSION,
                model: self.provider.id().to_owned(),
                request: Request {
                    system: request.system.to_string(),
                    tools: request.tools.to_vec(),
                    with_tools: request.tool_choice == ToolChoice::Auto,
                    messages: request.messages.clone(),
                    max_output_tokens: request.max_output_tokens,
                    effort: request.effort,
                },
                exchanges: Vec::new(),
                failed: None,
                steps: Vec::new(),
            },
            is_written: false,
        };
        Box::pin(stream::unfold(running, |mut running| async move {
            let item = running.stream.next().await?;
            let is_over = match &item {
                Ok(Item::Event(event)) => {
                    if matches!(event, TurnEvent::Retry { .. }) {
                        running.tap.retries(event);
                    }
                    false
                }
                Ok(Item::Done(_)) => true,
                Err(error) => {
                    running.recorded.failed = Some(error.clone());
                    true
                }
            };
            if is_over {
                // Write on another thread: the task that polls this stream serves others too.
                let _ = tokio::task::spawn_blocking(running.write()).await;
            }
            Some((item, running))
        }))
    }
}

/// A request that is being recorded; written at its end or when dropped.
struct RecordingStream {
    stream: TurnStream,
    tap: Tap,
    path: PathBuf,
    recorded: Recorded,
    is_written: bool,
}

impl RecordingStream {
    /// Returns a closure that writes the file. Call once.
    fn write(&mut self) -> impl FnOnce() + Send + 'static {
        self.is_written = true;
        let mut recorded = std::mem::take(&mut self.recorded);
        recorded.exchanges = self.tap.take();
        let path = std::mem::take(&mut self.path);
        move || {
            let written = recorded
                .text()
                .map_err(io::Error::other)
                .and_then(|text| private_file(&path)?.write_all(text.as_bytes()));
            if let Err(error) = written {
                tracing::warn!(%error, path = %path.display(), "a request was not recorded");
            }
        }
    }
}

impl Recorded {
    /// The content of the file. All keys are masked wherever they occur.
    fn text(mut self) -> Result<String, serde_json::Error> {
        let secrets: Vec<String> = self.exchanges.iter().filter_map(Exchange::secret).collect();
        self.exchanges.iter_mut().for_each(|exchange| exchange.clean(&secrets));
        let mut value = serde_json::to_value(&self)?;
        // The person may have typed a key.
        clean(&mut value["request"], &secrets);
        serde_json::to_string_pretty(&value)
    }
}

fn clean(value: &mut Value, secrets: &[String]) {
    match value {
        Value::String(text) => {
            *text = secrets.iter().fold(std::mem::take(text), |text, one| masked(&text, one));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| clean(value, secrets)),
        Value::Object(fields) => fields.values_mut().for_each(|value| clean(value, secrets)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl Drop for RecordingStream {
    fn drop(&mut self) {
        if !self.is_written {
            self.write()();
        }
    }
}

/// Creates a folder that only its owner can read. An existing folder keeps its permissions.
fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Creates a file that only its owner can read.
fn private_file(path: &Path) -> io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
