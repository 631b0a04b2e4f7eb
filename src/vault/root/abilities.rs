//! Probes what the vault's file system supports.

use std::io;

use crate::vault::dir::{Folder, Name};
use crate::vault::temp::random_tag;

/// Features of a file system that decide how files are saved and which names clash.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Abilities {
    pub writable: bool,
    /// Atomic exchange of two names, by which a save verifies what it displaced.
    pub exchange: bool,
    /// Atomic rename that never replaces.
    pub rename_new: bool,
    /// `a` and `A` name one file.
    pub ignores_case: bool,
    /// A composed and a decomposed `é` name one file.
    pub ignores_form: bool,
}

/// Tries each feature with short-lived hidden files in `root`.
pub(super) fn probe(root: &Folder) -> Abilities {
    let mut found = Abilities::default();
    let mut created = Vec::new();
    if let Err(error) = try_all(root, &mut found, &mut created) {
        tracing::debug!(%error, "probing the vault's file system ended early");
    }
    for name in created {
        if let Ok(name) = Name::new(&name) {
            let _ = root.remove_file(name);
        }
    }
    found
}

fn try_all(root: &Folder, found: &mut Abilities, created: &mut Vec<String>) -> io::Result<()> {
    let tag = random_tag();
    // The probes of case and form change the last letters.
    let names = [format!(".~vs-probe-{tag}-\u{e9}a"), format!(".~vs-probe-{tag}-b")];
    for name in &names {
        root.create_new(Name::new(name)?, true)?;
        created.push(name.clone());
        found.writable = true;
    }
    let [a, b] = [Name::new(&names[0])?, Name::new(&names[1])?];
    found.ignores_case = root.stat(Name::new(&names[0].replace("a", "A"))?).is_ok();
    found.ignores_form = root.stat(Name::new(&names[0].replace('\u{e9}', "e\u{301}"))?).is_ok();
    found.exchange = root.exchange(a, root, b).is_ok();
    let refused = root.rename_new(a, root, b);
    found.rename_new = refused.is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists);
    Ok(())
}
