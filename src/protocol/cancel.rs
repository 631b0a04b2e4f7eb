//! `$/cancel_request`: the client no longer wants an answer.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::envelope::RequestId;

/// Which request to give up. One that is unknown or done already is ignored.
///
/// A request that only reads is answered at once with kind `cancelled`. A change that has begun is
/// finished, and its true answer sent: the client must know what became of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CancelParams {
    /// The request's id.
    pub request_id: RequestId,
}
