//! Errors of messages, with their JSON-RPC codes.

use serde_json::{Value, json};

use super::Era;
use crate::protocol::envelope::RequestId;
use crate::protocol::error::{ErrorObject, Kind};

/// The params are invalid, or name something that does not exist.
pub const INVALID_PARAMS: i32 = -32602;

/// The headers of a request contradict its body.
pub const HEADER_MISMATCH: i32 = -32020;

pub const UNSUPPORTED_VERSION: i32 = -32022;

/// Unknown resource in the legacy era.
pub const MISSING: i32 = -32002;

/// Denied by the policy for these clients.
pub const FORBIDDEN: i32 = -32003;

/// Too many requests; the client may retry.
pub const BUSY: i32 = -32001;

pub const INTERNAL: i32 = -32603;

const UNKNOWN_METHOD: i32 = -32601;

#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    code: i32,
    message: String,
    data: Option<Value>,
}

impl Fault {
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub fn params(message: impl Into<String>) -> Self {
        Self::new(INVALID_PARAMS, message)
    }

    pub fn unknown_method(method: &str) -> Self {
        ErrorObject::unknown_method(method).into()
    }

    /// Adds data for programs.
    pub fn data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    pub fn status(&self, era: Era) -> u16 {
        match (era, self.code) {
            (Era::Legacy, _) => 200,
            (Era::Modern, UNKNOWN_METHOD) => 404,
            (Era::Modern, _) => 400,
        }
    }

    /// The error answer; without an id if that could not be read.
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
