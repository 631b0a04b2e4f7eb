//! What is wrong with a message, in JSON-RPC's numbers.

use serde_json::{Value, json};

use super::Era;
use crate::protocol::envelope::RequestId;
use crate::protocol::error::{ErrorObject, Kind};

/// The params do not fit, or name what is not there.
pub const INVALID_PARAMS: i32 = -32602;

/// The headers of a request say something else than its body.
pub const HEADER_MISMATCH: i32 = -32020;

/// A version that is not spoken here.
pub const UNSUPPORTED_VERSION: i32 = -32022;

/// There is no such resource, in the legacy era.
pub const MISSING: i32 = -32002;

/// The policy does not let these clients do it.
pub const FORBIDDEN: i32 = -32003;

/// Too much is asked at once; it may be asked again.
pub const BUSY: i32 = -32001;

/// It could not be done, by no fault of the message's.
pub const INTERNAL: i32 = -32603;

const UNKNOWN_METHOD: i32 = -32601;

/// Why a message is not answered as it wished.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    code: i32,
    message: String,
    data: Option<Value>,
}

impl Fault {
    /// A fault of this number.
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Params that do not fit.
    pub fn params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    /// No such method.
    pub fn unknown_method(method: &str) -> Self {
        ErrorObject::unknown_method(method).into()
    }

    /// The same with facts for programs.
    #[must_use]
    pub fn data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// The HTTP status that goes with it.
    #[must_use]
    pub fn status(&self, era: Era) -> u16 {
        match (era, self.code) {
            (Era::Legacy, _) => 200,
            (Era::Modern, UNKNOWN_METHOD) => 404,
            (Era::Modern, _) => 400,
        }
    }

    /// As it is sent; without an id where that could not be read.
    #[must_use]
    pub fn text(&self, id: Option<&RequestId>) -> String {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
    }
}

impl From<ErrorObject> for Fault {
    fn from(error: ErrorObject) -> Self {
        let message = match &error.data.hint {
            Some(hint) => format!("{}; {hint}", error.message),
            None => error.message,
        };
        let busy = matches!(error.data.kind, Kind::Overloaded | Kind::RateLimited);
        let data = busy.then(|| json!({ "retryAfterMs": error.data.retry_after_ms }));
        Self { code: error.code, message, data }
    }
}
