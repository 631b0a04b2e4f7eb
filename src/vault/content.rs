//! A file's content, and the precondition of a write.

use std::sync::Arc;

use super::dir::Meta;
use super::revision::Revision;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileContent {
    pub bytes: Vec<u8>,
    pub revision: Revision,
    /// Metadata of the handle that the bytes were read from.
    pub meta: Meta,
}

/// Precondition of a write: what must be at the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Precondition {
    Absent,
    /// A file with exactly this content.
    Revision(Revision),
    /// This file as it was read. It is not hashed again before the write while its metadata is the
    /// same; the version that the write displaces always is.
    Read(Arc<FileContent>),
    /// A file with any content, or nothing.
    Any,
}

impl Precondition {
    /// The required revision, if the precondition names one.
    pub fn revision(&self) -> Option<Revision> {
        match self {
            Self::Revision(revision) => Some(*revision),
            Self::Read(read) => Some(read.revision),
            Self::Absent | Self::Any => None,
        }
    }

    /// The content that was read, if the file still has the metadata `meta`.
    pub(super) fn text_of(&self, meta: &Meta) -> Option<&Arc<FileContent>> {
        match self {
            Self::Read(read) if read.meta.is_state_of(meta) => Some(read),
            _ => None,
        }
    }
}
