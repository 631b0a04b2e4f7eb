//! What a file holds, and what it must hold for a write to be right.

use std::sync::Arc;

use super::dir::Meta;
use super::revision::Revision;

/// A whole file as read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileContent {
    pub bytes: Vec<u8>,
    /// The hash of these bytes.
    pub revision: Revision,
    /// What the file system said of the file these bytes came from.
    pub meta: Meta,
}

/// What must be at the path for a write to be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Before {
    /// Nothing.
    Absent,
    /// A file with exactly this content.
    Revision(Revision),
    /// The file that was read, with that content. It is not read again before the write while the file
    /// system says the same of it; what the write displaces is.
    Read(Arc<FileContent>),
    /// A file with any content, or nothing.
    Any,
}

impl Before {
    /// The revision that must be there, where one must.
    pub fn revision(&self) -> Option<Revision> {
        match self {
            Self::Revision(revision) => Some(*revision),
            Self::Read(read) => Some(read.revision),
            Self::Absent | Self::Any => None,
        }
    }

    /// The text that was read, if it is that of the file of which the system says `meta`.
    pub(super) fn text_of(&self, meta: &Meta) -> Option<&Arc<FileContent>> {
        match self {
            Self::Read(read) if read.meta.is_state_of(meta) => Some(read),
            _ => None,
        }
    }
}
