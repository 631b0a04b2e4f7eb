//! Systems where a program cannot sandbox itself.

use std::path::{Path, PathBuf};

use super::{Bounds, Rights};
use crate::protocol::status::{Confinement, ConfinementState};

pub(super) fn confine(_: &Bounds) -> Confinement {
    possible()
}

pub(super) fn drop_privileges(_: &Rights) -> Result<(), String> {
    Err("a program cannot be confined on this system".to_owned())
}

pub(super) fn possible() -> Confinement {
    let lacks = vec!["a program cannot confine itself on this system".to_owned()];
    Confinement { state: ConfinementState::NotPossible, lacks }
}

pub(super) fn real(_: &Path) -> Option<PathBuf> {
    None
}
