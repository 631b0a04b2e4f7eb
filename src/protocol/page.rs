//! The daemon's chat page: a code that opens it once, and the page's token.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// No params.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PageCodeParams {}

/// A code that opens the page.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PageCodeResult {
    /// URL of the page with the code in the fragment, which browsers do not send.
    pub url: String,
    /// The time for which the code is valid, in seconds. It can be used once.
    pub seconds: u32,
}

debug_only!(PageCodeResult, seconds);

/// The body of `POST /v1/exchange`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct ExchangeBody {
    /// The fragment after `#code=`.
    pub code: String,
}

/// The page's token.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ExchangeAnswer {
    /// `NAME.KEY`, of a person's own program; valid only for the challenge and with the page's origin. It is
    /// valid for `days`, across restarts of the daemon, until the token of that name changes.
    pub token: String,
    pub days: u32,
}
