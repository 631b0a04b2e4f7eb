//! Names for files, proposed by a model.

use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::drafts::{call, failed};
use super::model_usage::count;
use crate::agent::clock::SystemClock;
use crate::agent::naming::{self, Unnamed};
use crate::agent::ports::Models as _;
use crate::calls::Calls;
use crate::config::models::ChosenModels;
use crate::llm::Origin;
use crate::policy::{Caller, Scope};
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::protocol::names::{NamesSuggestParams, NamesSuggestResult};
use crate::server::table::{Context, Later};
use crate::store::usage::Usage;
use crate::tools::{Proposed, ReadFile, SuggestNames, Tool as _, suggest_proposed};

/// The most files of a request.
const MAX_FILES: usize = 100;

/// The most files in one request to the model.
const AT_ONCE: usize = 20;

/// The most lines of a file that are read; the model may get less.
const LINES: u64 = 60;

/// Asks the configured model for words about files, and makes names of them as `suggest_names` does
/// of titles. Renames nothing.
pub fn suggest(
    calls: &Calls,
    models: &ChosenModels,
    used: &Usage,
    params: NamesSuggestParams,
    by: &Context,
) -> Later<NamesSuggestResult> {
    let (calls, models, cancel) = (calls.clone(), models.clone(), by.cancel.clone());
    let used = used.clone();
    let caller = Caller { scope: by.client.scope, name: by.client.name.clone() };
    Box::pin(async move {
        let Some(model) = models.current() else {
            let error = ErrorObject::new(Kind::Failed, "no language model is set up");
            return Err(error.hint(models.advice().await));
        };
        let runtime = Handle::current();
        let done = tokio::task::spawn_blocking(move || {
            let ask =
                |tool: &str, arguments: Value| call(&calls, &caller, &cancel, tool, arguments);
            let given = json!({ "paths": params.paths, "convention": params.convention });
            let found = ask(SuggestNames::NAME, given).map_err(failed)?.data;
            let selected = to_name(&found, params.paths.len())?;
            let mut files = Vec::with_capacity(selected.len());
            for path in selected {
                let read = ask(ReadFile::NAME, json!({ "path": path, "end_line": LINES }));
                // A file without text gives no words.
                let text = read.map(|answer| answer.data["content"].clone()).unwrap_or_default();
                let text: String =
                    text.as_str().unwrap_or_default().chars().take(naming::TEXT).collect();
                if !text.trim().is_empty() {
                    files.push(Unnamed { path, text });
                }
            }
            let clock = SystemClock::default();
            let count = |origin: Option<&Origin>, usage| count(&models, &used, origin, usage);
            let mut proposed = Proposed::default();
            let mut model_name = None;
            for some in files.chunks(AT_ONCE) {
                if cancel.is_cancelled() {
                    return Err(ErrorObject::new(Kind::Cancelled, "the request was cancelled"));
                }
                let named = naming::name(&*model.provider, &clock, some, &count);
                let named = runtime.block_on(named).map_err(|error| {
                    ErrorObject::new(Kind::Failed, format!("the model did not answer: {error}"))
                })?;
                proposed.by = format!("words of {}", named.origin.model);
                model_name = Some(named.origin.model);
                proposed.words.extend(named.words);
            }
            let context = calls.context_for(Scope::Person);
            let convention = params.convention.as_deref();
            let answer = suggest_proposed(&context, &params.paths, convention, &proposed);
            let answer = answer.map_err(failed)?;
            Ok(NamesSuggestResult {
                model: model_name,
                sent: files.into_iter().map(|file| file.path).collect(),
                names: answer.data,
                text: answer.text,
            })
        });
        done.await.unwrap_or_else(|error| {
            tracing::error!(%error, "suggesting names stopped unexpectedly");
            Err(ErrorObject::new(Kind::Internal, "this is a bug in the steward"))
        })
    })
}

/// The files for the model: those named individually, and in folders those with names that are
/// meaningless or deviate.
fn to_name(found: &Value, requested: usize) -> Result<Vec<String>> {
    let files: Vec<&Value> = found["files"].as_array().into_iter().flatten().collect();
    let is_each_named = files.len() == requested;
    let selected = files.into_iter().filter(|file| is_each_named || file["fits"] == json!(false));
    let paths: Vec<String> =
        selected.filter_map(|file| file["path"].as_str().map(str::to_owned)).collect();
    if paths.len() > MAX_FILES {
        let message =
            format!("{} files would be sent to a model; the limit is {MAX_FILES}", paths.len());
        return Err(ErrorObject::new(Kind::InvalidParams, message).hint("give fewer at once"));
    }
    Ok(paths)
}
