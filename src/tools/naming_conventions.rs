//! Naming conventions in tools' results.

use schemars::JsonSchema;
use serde::Serialize;

use crate::organize::conventions;

/// A naming convention.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Convention {
    /// The pattern without braces; `suggest_names` takes it.
    id: String,
    /// A short name for people.
    name: String,
    /// A description of the pattern.
    description: String,
    /// A matching name, from the folder if possible.
    example: String,
    /// Braces enclose the variable parts: `{YYYY-MM-DD} {Title Words}`.
    pub pattern: String,
    /// A lower bound of the share of matching names, 0 to 1.
    confidence: f64,
    /// The number of matching names.
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
