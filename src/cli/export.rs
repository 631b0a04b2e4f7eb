//! The target file of an exported conversation.

#![expect(clippy::disallowed_methods, reason = "a file of the person's, outside of the vault")]

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use super::{Failure, Result};

/// The path of the file in the vault, if it is below the vault's root.
pub fn within(root: &Path, file: &Path) -> Option<String> {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // The nearest existing folder decides, since missing ones would be created below it.
    let there =
        folder.ancestors().find_map(|above| Some((above, dunce::canonicalize(above).ok()?)));
    let (above, real) = there.or_else(|| Some((Path::new(""), dunce::canonicalize(".").ok()?)))?;
    let rest = folder.strip_prefix(above).ok()?;
    let place = real.strip_prefix(root).ok()?.join(rest).join(file.file_name()?);
    let parts: Vec<String> =
        place.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    Some(parts.join("/"))
}

/// Writes a new file outside the vault.
pub fn write(file: &Path, note: &str) -> Result<()> {
    let shown = file.display();
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::AlreadyExists => {
            Failure::other("already_exists", format!("`{shown}` exists"), "choose another name")
        }
        _ => Failure::other(
            "io_error",
            format!("could not write `{shown}`: {error}"),
            "check that the folder is there and can be written",
        ),
    };
    let mut made = OpenOptions::new().write(true).create_new(true).open(file).map_err(failed)?;
    made.write_all(note.as_bytes()).and_then(|()| made.sync_all()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_inside_the_vault_are_recognised() {
        let place = tempfile::tempdir().unwrap();
        let root = dunce::canonicalize(place.path()).unwrap().join("vault");
        std::fs::create_dir_all(root.join("Talks")).unwrap();
        let found = |file: &str| within(&root, &root.join(file));
        assert_eq!(found("a.md").as_deref(), Some("a.md"));
        assert_eq!(found("Talks/new/a.md").as_deref(), Some("Talks/new/a.md"));
        assert_eq!(found("Talks/../a.md").as_deref(), Some("a.md"));
        assert_eq!(found("../a.md"), None);
        assert_eq!(within(&root, Path::new("a.md")), None);
    }
}
