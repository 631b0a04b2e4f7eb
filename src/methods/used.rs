//! Counts the use of models outside conversations.

use crate::agent::ports::Models as _;
use crate::config::models::ChosenModels;
use crate::llm::{self, Origin};
use crate::store::usage::{Usage, UsageRow, Used};

/// Adds one request to a model to the figures of `steward usage`. Failures are only logged.
pub(super) fn count(
    models: &ChosenModels,
    stored: &Usage,
    origin: Option<&Origin>,
    usage: Option<llm::Usage>,
) {
    let (model, cost) = models.price(origin, usage.as_ref());
    let usage = usage.unwrap_or_default();
    let used = Used {
        requests: 1,
        input: usage.input,
        cache_read: usage.cache_read,
        cache_write: usage.cache_write,
        output: usage.output,
        cost: cost.map_or(0, |dollars| (dollars * 1e6).round().max(0.0) as u64),
        unpriced: u64::from(cost.is_none()),
    };
    let day = chrono::Local::now().format("%Y-%m-%d").to_string();
    if let Err(error) = stored.count(&UsageRow { day, model, conversation: None, used }) {
        tracing::warn!(%error, "what a model was used for is not counted");
    }
}
