//! The errors of property edits.

use super::super::FrontmatterError;
use super::MAX_NAME_BYTES;

/// Why a property cannot be changed. Callers add the note's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PropertyError {
    /// The block cannot be read, so that its other properties could be lost.
    #[error("its properties cannot be read: {0}")]
    Unreadable(FrontmatterError),
    #[error("its properties begin with `---` and no second `---` ends them")]
    Unclosed,
    /// The name is not allowed for a property.
    #[error("`{name}` is not a name for a property: {reason}")]
    Name { name: String, reason: &'static str },
    /// Two properties match the name.
    #[error("`{name}` could be either of `{first}` and `{second}`")]
    Several { name: String, first: String, second: String },
    /// A value that Obsidian's properties cannot hold.
    #[error("the value for `{name}` {reason}")]
    Value { name: String, reason: String },
    /// The layout is such that a change of this property would change something else.
    #[error("`{name}` cannot be changed by itself: {reason}")]
    Unsafe { name: String, reason: String },
}

impl PropertyError {
    pub fn hint(&self) -> String {
        match self {
            Self::Unreadable(_) | Self::Unclosed => {
                "fix the lines at the top of the note with edit_file first".to_owned()
            }
            Self::Name { .. } => {
                format!("give a name of one line and at most {MAX_NAME_BYTES} bytes")
            }
            Self::Several { .. } => "give the name exactly as it is spelt".to_owned(),
            Self::Value { .. } => {
                "give a text, a number, true or false, null, or a list of these".to_owned()
            }
            Self::Unsafe { .. } => "change its lines with edit_file".to_owned(),
        }
    }
}
