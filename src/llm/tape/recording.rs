//! The traffic as it is written down.

#![expect(clippy::disallowed_methods, reason = "the folder of the recording, which the user names")]

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::TapeError;
use super::exchange::{Exchange, Tap, without};
use crate::llm::Provider;
use crate::llm::error::LlmError;
use crate::llm::message::Message;
use crate::llm::request::{Effort, ToolChoice, ToolSpec, TurnRequest};
use crate::llm::turn::{Item, Turn, TurnEvent, TurnStream};

/// The version of what is written.
const VERSION: u32 = 2;

/// A recording that is being made.
#[derive(Debug)]
pub struct Recording {
    folder: PathBuf,
    made: AtomicUsize,
}

/// One request and what came of it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Recorded {
    /// None in the first one, which kept `steps`.
    #[serde(default)]
    pub version: u32,
    pub model: String,
    pub request: Request,
    /// With whom, in their order; all but the last one failed.
    #[serde(default)]
    pub exchanges: Vec<Exchange>,
    /// Why it failed, where nobody was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<LlmError>,
    /// What the first version kept in the place of the bytes: what they had come to.
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
    pub what: What,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum What {
    Event(TurnEvent),
    Done(Box<Turn>),
    Failed(Box<LlmError>),
    /// Whoever asked wanted no more.
    Dropped,
}

impl Recording {
    /// Into `folder`, which is made if need be and must be empty.
    pub(super) fn begin(folder: &Path) -> Result<Self, TapeError> {
        let io = |doing| {
            let place = folder.to_owned();
            move |source| TapeError::Io { doing, place, source }
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

/// `provider`, recorded.
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
        let running = Running {
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
                    if matches!(event, TurnEvent::Again { .. }) {
                        running.tap.again(event);
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
    tap: Tap,
    path: PathBuf,
    recorded: Recorded,
    is_written: bool,
}

impl Running {
    /// What writes it down, once.
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
    /// As it is written: without the keys that it was asked with, wherever they stand.
    fn text(mut self) -> Result<String, serde_json::Error> {
        let secrets: Vec<String> = self.exchanges.iter().filter_map(Exchange::secret).collect();
        self.exchanges.iter_mut().for_each(|exchange| exchange.clean(&secrets));
        let mut value = serde_json::to_value(&self)?;
        // A person may have said theirs.
        clean(&mut value["request"], &secrets);
        serde_json::to_string_pretty(&value)
    }
}

fn clean(value: &mut Value, secrets: &[String]) {
    match value {
        Value::String(text) => {
            *text = secrets.iter().fold(std::mem::take(text), |text, one| without(&text, one));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| clean(value, secrets)),
        Value::Object(fields) => fields.values_mut().for_each(|value| clean(value, secrets)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_written {
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
