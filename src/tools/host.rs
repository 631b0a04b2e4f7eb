//! Access to the program that has the vault open.

use super::ToolError;
use crate::note::path::VaultPath;
use crate::vault::Cancel;

/// The open note as reported by that program. The path is not validated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenNote {
    pub path: String,
    pub line: Option<u32>,
    /// The selection: its text, its first and its last line.
    pub selection: Option<(String, u32, u32)>,
}

/// Obsidian, if its plugin is connected.
pub trait Host: std::fmt::Debug + Send + Sync {
    /// Whether a program is connected that can open notes.
    fn can_open(&self) -> bool;

    /// The open note. The outer `None`: no program is connected or it did not answer in time; the inner
    /// `None`: no note is open.
    fn open_note(&self, cancel: &Cancel) -> Option<Option<OpenNote>>;

    /// Opens a note, at a line if given. Returns the path of the open note.
    fn open(
        &self,
        path: &VaultPath,
        line: Option<u32>,
        cancel: &Cancel,
    ) -> Result<Option<String>, ToolError>;
}
