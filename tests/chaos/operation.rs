//! Operations on a vault as values: by the steward's tools, or by another program.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use vault_steward::note::code::ErrorCode;
use vault_steward::tools::{self, Context, Registry, ToolError};

/// One operation. Paths are relative to the vault's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    Write {
        path: String,
        text: String,
    },
    Edit {
        path: String,
        old: String,
        new: String,
    },
    Patch(Vec<Patched>),
    CreateFolder {
        path: String,
    },
    Move {
        from: String,
        to: String,
    },
    Delete {
        path: String,
    },
    /// Any other tool.
    Tool {
        name: &'static str,
        arguments: Value,
    },
    /// Undoes the change set that is this many before the last.
    Undo {
        back: usize,
    },
    /// Restores one entry from the trash, by its position in the list, modulo its length.
    Restore {
        which: usize,
    },
    /// The daemon is restarted.
    Restart,
    Outside(Outside),
}

/// One file of a patch: its lines before and after, `None` if it does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patched {
    pub path: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// Operations of another program, unseen by the steward. They are always possible when they are
/// chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outside {
    Write { path: String, text: String },
    Remove { path: String },
    Rename { from: String, to: String },
}

impl Operation {
    /// The tool that does it, and its arguments.
    pub fn call(&self) -> (&'static str, Value) {
        match self {
            Self::Write { path, text } => {
                ("write_file", json!({ "path": path, "content": text, "create": true }))
            }
            Self::Edit { path, old, new } => {
                ("edit_file", json!({ "path": path, "old_text": old, "new_text": new }))
            }
            Self::Patch(files) => {
                let patch: String = files.iter().map(Patched::unified).collect();
                ("apply_patch", json!({ "patch": patch }))
            }
            Self::CreateFolder { path } => {
                ("create_folder", json!({ "path": path, "create": true }))
            }
            Self::Move { from, to } => ("move", json!({ "source": from, "destination": to })),
            Self::Delete { path } => ("delete", json!({ "path": path })),
            Self::Tool { name, arguments } => (name, arguments.clone()),
            Self::Undo { .. } | Self::Restore { .. } | Self::Restart | Self::Outside(_) => {
                panic!("no tool does this here")
            }
        }
    }
}

/// Runs it through the tools.
///
/// # Errors
///
/// The tool's own. A bug of the tool (a panic) is not returned: it ends the run.
pub fn perform(context: &Context, operation: &Operation) -> Result<Option<u64>, ToolError> {
    let (tool, arguments) = operation.call();
    let tool = Registry::built_in().get(tool).unwrap_or_else(|| panic!("no tool {tool}"));
    match tools::call(tool, context, &arguments) {
        Ok(answer) => Ok(answer.read().data["change_set"].as_u64()),
        Err(error) => {
            let panicked = error.code == ErrorCode::IoError && error.message.contains("of its own");
            assert!(!panicked, "{operation:?}: {}", error.text());
            Err(error)
        }
    }
}

/// Runs it as another program would.
pub fn perform_outside(place: &Path, outside: &Outside) {
    match outside {
        Outside::Write { path, text } => fs::write(place.join(path), text).expect("written"),
        Outside::Remove { path } => fs::remove_file(place.join(path)).expect("removed"),
        Outside::Rename { from, to } => {
            fs::rename(place.join(from), place.join(to)).expect("renamed");
        }
    }
}

impl Patched {
    /// As a unified diff of all its lines.
    fn unified(&self) -> String {
        let name = |side: &str, text: &Option<String>| match text {
            Some(_) => format!("{side}/{}", self.path),
            None => "/dev/null".to_owned(),
        };
        let lines = |sign: char, text: &Option<String>| -> String {
            let text = text.as_deref().unwrap_or_default();
            text.lines().map(|line| format!("{sign}{line}\n")).collect()
        };
        let range = |text: &Option<String>| match text.as_deref().map_or(0, |t| t.lines().count()) {
            0 => "0,0".to_owned(),
            many => format!("1,{many}"),
        };
        format!(
            "--- {}\n+++ {}\n@@ -{} +{} @@\n{}{}",
            name("a", &self.before),
            name("b", &self.after),
            range(&self.before),
            range(&self.after),
            lines('-', &self.before),
            lines('+', &self.after),
        )
    }
}
