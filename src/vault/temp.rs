//! Names of the steward's temporary files.

use crate::note::path::VaultPath;

/// A new name for a temporary file: hidden from Obsidian, short, recognised as temporary by most
/// sync programs.
pub fn temp_name() -> String {
    format!(".~vs-{}.tmp", random_tag())
}

/// The name of the replaced file between the two steps of an exchange on Windows. It is derived from the temporary
/// name, which the journal has, so that the exchange can be ended after a crash.
pub(super) fn aside_name(temp: &str) -> String {
    format!("{}-a.tmp", temp.strip_suffix(".tmp").unwrap_or(temp))
}

/// A temporary path next to `path`. When two files swap names, one moves there first, and to its
/// new path in the same change set.
pub fn hidden_name(path: &VaultPath) -> VaultPath {
    let folder = path.parent().unwrap_or_else(VaultPath::root);
    folder.join(&temp_name()).expect("it is a single name")
}

/// Whether [`hidden_name`] could have made this path.
pub fn is_temp_path(path: &VaultPath) -> bool {
    is_temp_name(path.name())
}

/// Whether a name is a temporary file's or a file system probe's.
pub(super) fn is_temp_name(name: &str) -> bool {
    name.starts_with(".~vs-") && (name.ends_with(".tmp") || name.starts_with(".~vs-probe-"))
}

/// Eight random hexadecimal digits.
pub(super) fn random_tag() -> String {
    let random = getrandom::u64().unwrap_or_else(|_| {
        // The clock is enough: a clash only makes the creation fail.
        let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        clock.map_or(0, |age| u64::from(age.subsec_nanos()))
    });
    format!("{:08x}", random as u32)
}
