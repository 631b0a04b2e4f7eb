//! Structured results as JSON text, serialized once by the tool without an intermediate value.

use serde::Serialize;
use serde_json::Value;

/// A structured result as JSON text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts(String);

impl Facts {
    /// Serializes `data`.
    ///
    /// # Errors
    /// `data` has a map whose keys are not texts.
    pub fn of<T: Serialize + ?Sized>(data: &T) -> Result<Self, serde_json::Error> {
        serde_json::to_string(data).map(Self)
    }

    pub fn into_json(self) -> String {
        self.0
    }

    pub fn value(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

impl From<Value> for Facts {
    fn from(value: Value) -> Self {
        Self(value.to_string())
    }
}
