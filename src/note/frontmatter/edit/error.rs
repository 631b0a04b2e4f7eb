//! Why a property cannot be changed.

use super::super::FrontmatterError;
use super::MAX_NAME_BYTES;

/// Why a property cannot be changed. The note's name is the caller's to add.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PropertyError {
    /// What is there cannot be read, so it is not known what would stay.
    #[error("its properties cannot be read: {0}")]
    Unreadable(FrontmatterError),
    /// The block has no end.
    #[error("its properties begin with `---` and no second `---` ends them")]
    Unclosed,
    /// No property can be called so.
    #[error("`{name}` is no name for a property: {reason}")]
    Name {
        /// The name asked for.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Two properties answer to the name.
    #[error("`{name}` could be either of `{first}` and `{second}`")]
    Several {
        /// The name asked for.
        name: String,
        /// One spelling.
        first: String,
        /// Another.
        second: String,
    },
    /// A value that Obsidian has no property for.
    #[error("the value for `{name}` {reason}")]
    Value {
        name: String,
        /// What is wrong with the value.
        reason: String,
    },
    /// The layout is such that a change of this property would change something else.
    #[error("`{name}` cannot be changed by itself: {reason}")]
    Unsafe {
        name: String,
        /// What would happen.
        reason: String,
    },
}

impl PropertyError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Unreadable(_) | Self::Unclosed => {
                "mend the lines at the top of the note with edit_file first".to_owned()
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
