//! What the vault's file system can do, found out by trying.

use std::io;

use crate::vault::dir::{Folder, Name};
use crate::vault::temp::random_tag;

/// Abilities that change how changes are made, or what names are safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// Files can be made here at all.
    pub writable: bool,
    /// Two names can be swapped in one step: a save then verifies what it displaced.
    pub exchange: bool,
    /// A rename can be told never to replace.
    pub rename_new: bool,
    /// `a` and `A` are one file.
    pub ignores_case: bool,
    /// A composed and a decomposed `é` are one name.
    pub ignores_form: bool,
}

/// Tries each ability with short-lived hidden files in `root`.
pub(super) fn probe(root: &Folder) -> Abilities {
    let mut found = Abilities {
        writable: false,
        exchange: false,
        rename_new: false,
        ignores_case: false,
        ignores_form: false,
    };
    let mut made = Vec::new();
    if let Err(error) = try_all(root, &mut found, &mut made) {
        tracing::debug!(%error, "probing the vault's file system ended early");
    }
    for name in made {
        if let Ok(name) = Name::new(&name) {
            let _ = root.remove_file(name);
        }
    }
    found
}

fn try_all(root: &Folder, found: &mut Abilities, made: &mut Vec<String>) -> io::Result<()> {
    let tag = random_tag();
    // The last letter of each is what the probes of case and form look at.
    let names = [format!(".~vs-probe-{tag}-\u{e9}a"), format!(".~vs-probe-{tag}-b")];
    for name in &names {
        root.create_new(Name::new(name)?, true)?;
        made.push(name.clone());
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
