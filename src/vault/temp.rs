//! The names of files that are ours for a moment.

use crate::note::path::VaultPath;

/// Names of our own unfinished files: hidden from Obsidian, short, known to be temporary by most
/// sync programs.
pub fn temp_name() -> String {
    format!(".~vs-{}.tmp", random_tag())
}

/// A hidden path beside `path`, for what lies there to make way for a moment: of two files that change
/// places one goes there first, and from there to its new path in the same change set.
pub fn hidden_name(path: &VaultPath) -> VaultPath {
    let folder = path.parent().unwrap_or_else(VaultPath::root);
    folder.join(&temp_name()).expect("it is a single name")
}

/// Whether a path is one of [`hidden_name`]'s.
pub fn is_temp_path(path: &VaultPath) -> bool {
    is_temp_name(path.name())
}

/// Whether a name is one of [`temp_name`]'s or of the probe's.
pub(super) fn is_temp_name(name: &str) -> bool {
    name.starts_with(".~vs-") && (name.ends_with(".tmp") || name.starts_with(".~vs-probe-"))
}

/// Eight hexadecimal digits that no other file has.
pub(super) fn random_tag() -> String {
    let random = getrandom::u64().unwrap_or_else(|_| {
        // Without randomness the clock will do: a clash is an error on creation, not a loss.
        let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        clock.map_or(0, |age| u64::from(age.subsec_nanos()))
    });
    format!("{:08x}", random as u32)
}
