//! Jobs stopped by a person.

use std::time::Duration;

use crate::calls::Calls;
use crate::note::code::ErrorCode;
use crate::policy::Scope;
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::protocol::organize::{OrganizeStopParams, OrganizeStopResult};
use crate::tools::{self, ToolError};

/// How long to wait for the job's current piece.
const WAIT: Duration = Duration::from_secs(10);

/// Stops a running job of any caller before its next piece.
pub fn stop(calls: &Calls, params: &OrganizeStopParams) -> Result<OrganizeStopResult> {
    let job = params.job;
    let stopped =
        tools::stop_job(&calls.context_for(Scope::Person), job, WAIT).map_err(tool_failure)?;
    tracing::info!(job, state = stopped.state, "a job was stopped");
    Ok(OrganizeStopResult {
        job,
        state: stopped.state.to_owned(),
        done: stopped.done as u64,
        total: stopped.total as u64,
        change_set: stopped.change_set,
    })
}

fn tool_failure(error: ToolError) -> ErrorObject {
    let kind = match error.code {
        ErrorCode::NotFound => Kind::NotFound,
        ErrorCode::WrongState => Kind::InvalidParams,
        _ => Kind::Failed,
    };
    ErrorObject::new(kind, error.message).maybe_hint(error.hint)
}
