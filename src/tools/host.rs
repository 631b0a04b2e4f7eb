//! The program that has the vault open, as the tools see it.

use super::ToolError;
use crate::note::path::VaultPath;
use crate::vault::Cancel;

/// The note that is open, as that program tells it; its path may be any text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenNote {
    pub path: String,
    /// The line with the cursor, from 1.
    pub line: Option<u32>,
    /// What is selected in it: the text, the first line of it and the last.
    pub selection: Option<(String, u32, u32)>,
}

/// Obsidian, where its plugin is connected.
pub trait Host: std::fmt::Debug + Send + Sync {
    /// Whether somebody is there who can open a note.
    fn can_open(&self) -> bool;

    /// Which note is open. None where nobody is there who can say, or they do not say it in time;
    /// inside, none where no note is open.
    fn open_note(&self, cancel: &Cancel) -> Option<Option<OpenNote>>;

    /// Opens a note, at a line where one is given; the path of what is open afterwards.
    ///
    /// # Errors
    /// Nobody is there who can; it said no; it is not known whether it was done.
    fn open(
        &self,
        path: &VaultPath,
        line: Option<u32>,
        cancel: &Cancel,
    ) -> Result<Option<String>, ToolError>;
}
