//! `$/cancel_request`: cancels a request.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::envelope::RequestId;

/// The request to cancel. One that is unknown or done is ignored.
///
/// A request that only reads is answered at once with kind `cancelled`. A change that has begun is
/// finished and its result sent: the client must know the file's state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CancelParams {
    pub request_id: RequestId,
}
