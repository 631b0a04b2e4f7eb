//! The settings section `[organize]`.

use serde::{Deserialize, Serialize};

use super::rule::OnConflict;

/// `[organize]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The most items of a plan; one with more is refused as a whole.
    pub max_items: usize,
    /// The most items of a job that is applied all or nothing; a longer one is applied in pieces
    /// that one undo reverts together.
    pub atomic_items: usize,
    /// The default action if a new path is taken; rules can override it.
    pub on_conflict: OnConflict,
    /// The suffix for the name of a note whose path is taken; `{n}` counts from 1.
    pub suffix: String,
    /// Where `archive` puts notes.
    pub archive_folder: String,
    /// Whether a plan removes the folders that its moves leave empty, except folders that its rules
    /// search.
    pub remove_empty_folders: bool,
    /// Days after which a plan that was not applied is forgotten.
    pub keep_plans_days: u64,
    pub keep_jobs: usize,
    /// Whether rules that a person enabled run automatically.
    pub automatic: bool,
    /// Seconds without a change of a file before a rule takes it automatically.
    pub quiet_seconds: u64,
    /// The most files that rules change automatically at once; more wait for a person.
    pub auto_items: usize,
    /// The same within an hour.
    pub auto_per_hour: usize,
    /// Rule files in which a rule is found by its name: paths in the vault, or absolute ones.
    pub rules: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_items: 5_000,
            atomic_items: 2_000,
            on_conflict: OnConflict::Number,
            suffix: "_{n}".to_owned(),
            archive_folder: "Archive".to_owned(),
            remove_empty_folders: false,
            keep_plans_days: 7,
            keep_jobs: 200,
            automatic: true,
            quiet_seconds: 30,
            auto_items: 50,
            auto_per_hour: 200,
            rules: Vec::new(),
        }
    }
}
