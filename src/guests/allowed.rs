//! The guests that a person has allowed to answer, in a file of the state folder.

#![expect(clippy::disallowed_methods, reason = "a file of our own in the state folder")]

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::settings::Guest;
use crate::locks::lock;

/// The guests that a person has allowed to answer. Another command needs permission again.
#[derive(Debug)]
pub struct Allowed {
    file: PathBuf,
    /// Serialises changes of the file.
    lock: Mutex<()>,
}

impl Allowed {
    /// The permissions of the vault with its guests in `folder`. Reads nothing.
    pub fn new(folder: &Path) -> Self {
        Self { file: folder.join("allowed.json"), lock: Mutex::default() }
    }

    /// Whether a person has allowed this guest to answer.
    pub fn has(&self, guest: &Guest) -> bool {
        self.read().get(&guest.name) == Some(&guest.command)
    }

    /// The commands of all allowed guests, by name.
    pub fn all(&self) -> BTreeMap<String, Vec<String>> {
        self.read()
    }

    /// Revokes a permission; returns whether there was one.
    pub fn remove(&self, name: &str) -> io::Result<bool> {
        let _lock = lock(&self.lock);
        let mut all = self.read();
        match all.remove(name) {
            Some(_) => self.write(&all).map(|()| true),
            None => Ok(false),
        }
    }

    fn write(&self, all: &BTreeMap<String, Vec<String>>) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(all).unwrap_or_default();
        let folder = self.file.parent().unwrap_or(Path::new("."));
        let new_file = self.file.with_extension(format!("{}.new", std::process::id()));
        std::fs::create_dir_all(folder)?;
        std::fs::write(&new_file, text)?;
        std::fs::rename(&new_file, &self.file)
    }

    /// Stores a person's permission.
    pub fn add(&self, guest: &Guest) {
        let _lock = lock(&self.lock);
        let mut all = self.read();
        all.insert(guest.name.clone(), guest.command.clone());
        if let Err(error) = self.write(&all) {
            tracing::warn!(%error, guest = guest.name, "a person's yes could not be stored; it counts once");
        }
    }

    fn read(&self) -> BTreeMap<String, Vec<String>> {
        let text = std::fs::read(&self.file).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }
}
