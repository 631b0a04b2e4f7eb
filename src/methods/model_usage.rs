//! Counts the use of models outside conversations.

use crate::agent::memory::used_by;
use crate::agent::ports::Models as _;
use crate::config::models::ChosenModels;
use crate::llm::{self, Origin};
use crate::store::usage::{Usage, UsageRow};

/// Adds one request to a model to the figures of `steward usage`. Failures are only logged.
pub(super) fn count(
    models: &ChosenModels,
    stored: &Usage,
    origin: Option<&Origin>,
    usage: Option<llm::Usage>,
) {
    let (model, cost) = models.price(origin, usage.as_ref());
    let used = used_by(&usage.unwrap_or_default(), cost);
    let day = chrono::Local::now().format("%Y-%m-%d").to_string();
    if let Err(error) = stored.count(&UsageRow { day, model, conversation: None, used }) {
        tracing::warn!(%error, "the usage of a model could not be counted");
    }
}
