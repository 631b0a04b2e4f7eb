//! A vault and its state folder in memory, opened as the daemon opens them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tempfile::TempDir;
use vault_steward::index::Index;
use vault_steward::journal::{self, Journal, Origin};
use vault_steward::policy::Permission;
use vault_steward::store::Store;
use vault_steward::store::blobs::BlobHash;
use vault_steward::tools::{self, Context};
use vault_steward::vault::{self, Cancel, Vault};

use crate::tree::{self, Entry};

/// The folders of a vault, and of the steward's own files.
#[derive(Clone)]
pub struct Place {
    pub vault: PathBuf,
    pub state: PathBuf,
}

/// A folder in memory if the machine has such a file system: a disk would only be slower.
pub fn folder_in_memory() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }
        .expect("a temporary folder")
}

impl Place {
    /// Two folders below `folder`, created if they are missing.
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

    /// As [`Self::below`], with an empty journal that has its daily copy: creating these at the
    /// first start takes longer than everything else for a small vault.
    pub fn begun_below(folder: &Path) -> Self {
        static BEGUN: OnceLock<Vec<(PathBuf, Vec<u8>)>> = OnceLock::new();
        let place = Self::below(folder);
        let begun = BEGUN.get_or_init(|| {
            let folder = folder_in_memory();
            let first = Self::below(folder.path());
            let context = first.open().expect("a fresh vault opens");
            context.vault.stop();
            // The last connection to the database removes its log when it closes.
            drop(context);
            let mut files = Vec::new();
            for (path, entry) in tree::read(&first.state) {
                if let Entry::File(bytes) = entry {
                    files.push((PathBuf::from(path), bytes));
                }
            }
            files
        });
        for (path, bytes) in begun {
            let file = place.state.join(path);
            fs::create_dir_all(file.parent().expect("below the state folder")).expect("made");
            fs::write(file, bytes).expect("written");
        }
        place
    }

    /// The home folder of the user, for the system's trash.
    pub fn home(&self) -> PathBuf {
        self.vault.with_file_name("home")
    }

    /// Whether the journal has this text.
    pub fn is_in_journal(&self, text: &[u8]) -> bool {
        let kept = Store::at(&self.state).blobs.get(BlobHash::of(text));
        kept.is_ok_and(|kept| kept == text)
    }

    /// The context of tools, after recovery. A person has approved everything: limits are tested
    /// elsewhere.
    ///
    /// # Errors
    ///
    /// The product's error: failing may be correct here.
    pub fn open(&self) -> Result<Context, String> {
        let settings = vault::Settings::default();
        let (vault, writer) = Vault::open(&self.vault, &self.state, settings, &|_| ())
            .map_err(|error| error.to_string())?;
        let store = Store::at(&self.state);
        let journal = Journal::open(writer, store, journal::Settings::default());
        journal.recover().map_err(|error| error.to_string())?;
        Ok(Context {
            journal,
            index: Index::new(vault.clone()),
            vault,
            settings: tools::Settings::default(),
            clock: tools::Clock::System,
            max_chars: usize::MAX,
            most: Permission::Permanent,
            cancel: Cancel::default(),
            origin: Origin { confirmed: true, ..Origin::default() },
            rules: Vec::new(),
            gate: None,
            conversations: None,
            host: None,
            listeners: Default::default(),
            running_jobs: Default::default(),
        })
    }
}
