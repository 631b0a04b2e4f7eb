//! A vault and its state folder in memory, opened as the daemon opens them.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use vault_steward::index::Index;
use vault_steward::journal::{self, Journal, Origin};
use vault_steward::store::Store;
use vault_steward::store::blobs::BlobHash;
use vault_steward::tools::{self, Context};
use vault_steward::vault::{self, Cancel, Vault};

/// Where a vault lies, and where the steward's own files do.
#[derive(Clone)]
pub struct Place {
    pub vault: PathBuf,
    pub state: PathBuf,
}

/// A folder in memory where the machine has such a file system: the disk would only be slow.
pub fn folder_in_memory() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }
        .expect("a temporary folder")
}

impl Place {
    /// Two folders below `folder`, made unless they are there.
    pub fn below(folder: &Path) -> Self {
        let place = Self { vault: folder.join("Vault"), state: folder.join("state") };
        for folder in [&place.vault.join(".obsidian"), &place.state] {
            fs::create_dir_all(folder).expect("made");
        }
        let settings = place.vault.join(".obsidian/app.json");
        if !settings.exists() {
            fs::write(settings, r#"{"trashOption":"local"}"#).expect("written");
        }
        place
    }

    /// The home folder of whoever works on it, for the system's trash.
    pub fn home(&self) -> PathBuf {
        self.vault.with_file_name("home")
    }

    /// Whether the journal keeps this text.
    pub fn is_in_journal(&self, text: &[u8]) -> bool {
        let kept = Store::at(&self.state).blobs().get(BlobHash::of(text));
        kept.is_ok_and(|kept| kept == text)
    }

    /// What tools work on, after recovery. A person has agreed to everything: limits are tested
    /// elsewhere.
    ///
    /// # Errors
    /// What the product says: here it may be right to fail.
    pub fn open(&self) -> Result<Context, String> {
        let settings = vault::Settings::default();
        let vault = Vault::open(&self.vault, &self.state, settings, &|_| ())
            .map_err(|error| error.to_string())?;
        let store = Store::at(&self.state);
        let journal = Journal::open(vault.clone(), store, journal::Settings::default());
        journal.recover().map_err(|error| error.to_string())?;
        vault.sweep();
        Ok(Context {
            journal,
            index: Index::new(vault.clone()),
            vault,
            settings: tools::Settings::default(),
            clock: tools::Clock::System,
            cancel: Cancel::default(),
            origin: Origin { confirmed: true, ..Origin::default() },
            gate: None,
        })
    }
}
