//! How files are named, as tools tell it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::organize::conventions;

/// A way in which names are written.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Convention {
    /// The pattern without braces; `suggest_names` takes it.
    id: String,
    /// A short name for people.
    name: String,
    /// How a name is put together.
    description: String,
    /// A name that fits: one of the folder's where any does.
    example: String,
    /// Braces enclose the variable parts: `{YYYY-MM-DD} {Title Words}`.
    pub pattern: String,
    /// The share of names that fit, as surely as their number allows: 0 to 1.
    confidence: f64,
    /// How many names fit.
    pub matching_files: usize,
}

impl Convention {
    pub fn of(convention: &conventions::Convention) -> Self {
        let pattern = &convention.pattern;
        Self {
            id: pattern.id(),
            name: pattern.title(),
            description: pattern.description(),
            example: convention.example.clone(),
            pattern: pattern.to_string(),
            confidence: (convention.confidence * 1_000.0).round() / 1_000.0,
            matching_files: convention.matching,
        }
    }
}
