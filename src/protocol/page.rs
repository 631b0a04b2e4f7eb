//! The chat as a page of the daemon's own: a code that opens it once, and what the page gets for it.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// Nothing to say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, TS)]
pub struct PageCodeParams {}

/// A code that opens the page.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PageCodeResult {
    /// Where the page is, with the code behind `#`, which no browser sends anywhere.
    pub url: String,
    /// How long it holds, in seconds. It holds once.
    pub seconds: u32,
}

impl std::fmt::Debug for PageCodeResult {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PageCodeResult").field("seconds", &self.seconds).finish()
    }
}

/// The body of `POST /v1/exchange`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct ExchangeBody {
    /// What stood behind `#code=`.
    pub code: String,
}

/// Its answer.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ExchangeAnswer {
    /// The page's token, `NAME.KEY`: of a person's own program, for the challenge and with the page's
    /// origin alone. It holds for `days`, over restarts of the daemon, until its token is another.
    pub token: String,
    /// How long.
    pub days: u32,
}
