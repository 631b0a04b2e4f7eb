//! Taking back what was done.

use super::Journal;
use super::change::{Applied, Origin, Target};
use super::error::UndoError;

/// An undo that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// The change set that did it, which can be undone itself.
    pub applied: Applied,
    /// What a person should hear, one sentence each: "`a.md` is back as `a (restored).md`".
    pub notes: Vec<String>,
}

impl Journal {
    /// Takes back a change set or one change of it, as a new change set. All or nothing: what
    /// stands in the way is found before anything is done.
    ///
    /// With `force` a file that has changed since goes back all the same; the newer text is kept
    /// with the undo.
    ///
    /// # Errors
    /// [`UndoError`]; nothing was changed then.
    pub fn undo(
        &self,
        target: Target,
        _force: bool,
        _origin: &Origin,
    ) -> Result<Undone, UndoError> {
        Err(UndoError::Unknown(target))
    }
}
