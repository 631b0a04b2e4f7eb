//! Where a command of the settings is. Others write into the vault, so no program is started from
//! there.

#![expect(clippy::disallowed_methods, reason = "programs that are never in a vault")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The folders in which started programs look for others.
#[cfg(not(windows))]
pub const PLAIN_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin";

/// The first part of `command` that is in `vault` (a canonical path), also through a link: the
/// program, or a file that an argument names, which may be a script.
pub fn in_vault(command: &[String], vault: &Path) -> Option<PathBuf> {
    for (number, part) in command.iter().enumerate() {
        // For `--file=/some/where` check the value.
        let value = || part.split_once('=').map(|(_, value)| value);
        let named = if at_home(part).is_absolute() { Some(&**part) } else { value() };
        let Some(path) = named.map(at_home).filter(|path| path.is_absolute()) else { continue };
        let Ok(real) = dunce::canonicalize(&path) else { continue };
        let inside = |path: &Path| path.starts_with(vault);
        if (inside(&real) || inside(&path)) && (number == 0 || !real.is_dir()) {
            return Some(path);
        }
    }
    None
}

/// Expands a leading `~/`.
pub fn at_home(text: &str) -> PathBuf {
    match (text.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(text),
    }
}

/// The file of a program, as a shell finds it by its name in the `folders` of a `PATH`.
pub fn find(name: &str, folders: &OsStr) -> Option<PathBuf> {
    // Windows' own search adds `.exe` alone, and npm installs each program as a `.cmd` next to a
    // script for a Unix shell.
    let endings: &[&str] = if cfg!(windows) { &[".exe", ".cmd", ".bat", ""] } else { &[""] };
    let folders = std::env::split_paths(folders).filter(|folder| folder.is_absolute());
    let mut files = folders.flat_map(|folder| {
        endings.iter().map(move |ending| folder.join(format!("{name}{ending}")))
    });
    files.find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_as_a_shell_finds_it() {
        let place = tempfile::tempdir().unwrap();
        for name in ["npx", "npx.cmd", "node.exe"] {
            std::fs::write(place.path().join(name), "").unwrap();
        }
        let path = std::env::join_paths([Path::new("here"), place.path()]).unwrap();
        let npx = if cfg!(windows) { "npx.cmd" } else { "npx" };
        assert_eq!(find("npx", &path), Some(place.path().join(npx)));
        assert_eq!(find("node", &path), cfg!(windows).then(|| place.path().join("node.exe")));
        assert_eq!(find("node.exe", &path), Some(place.path().join("node.exe")));
        assert_eq!(find("none", &path), None);
    }
}
