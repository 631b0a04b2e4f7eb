//! A vault in a temporary folder, and the tools on it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;
use vault_steward::calls::Calls;
use vault_steward::hooks::{self, Hooks};
use vault_steward::index::Index;
use vault_steward::journal::{
    self, Journal, Origin, Restored, Target, Trash, UndoError, Undone, Verified,
};
use vault_steward::note::code::ErrorCode;
use vault_steward::note::path::VaultPath;
use vault_steward::policy::{self, Permission};
use vault_steward::store::Store;
use vault_steward::tools::{self, Answer, Context, Registry, ToolError};
use vault_steward::vault::{self, Cancel, Vault, Writer};

/// A vault with its own trash, so that no test fills the machine's.
pub struct TestVault {
    pub context: Context,
    pub place: PathBuf,
    pub state: PathBuf,
    _folders: Vec<TempDir>,
}

/// A vault with these files; a name ending in `/` is a folder.
pub fn vault(files: &[(&str, &str)]) -> TestVault {
    TestVault::new(files, |_| ())
}

impl TestVault {
    /// A vault with these files, and what `prepare` adds before it is opened.
    pub fn new(files: &[(&str, &str)], prepare: impl FnOnce(&Path)) -> Self {
        let folder = temporary_folder();
        let place = folder.path().join("Vault");
        fs::create_dir(&place).expect("made");
        let mut vault = Self::at(&place, files, prepare);
        vault._folders.push(folder);
        vault
    }

    /// The same in an existing folder.
    pub fn at(place: &Path, files: &[(&str, &str)], prepare: impl FnOnce(&Path)) -> Self {
        let state = tempfile::tempdir().expect("a temporary folder");
        let app = (".obsidian/app.json", r#"{"trashOption":"local"}"#);
        // Without Windows' prefix `\\?\`, which nobody types.
        let place = dunce::canonicalize(place).expect("it exists");
        for (path, text) in [app].iter().chain(files) {
            put(&place, path, text);
        }
        prepare(&place);
        let context = context(&place, state.path());
        Self { context, place, state: state.path().to_owned(), _folders: vec![state] }
    }

    /// Calls of its tools, without hooks.
    #[allow(dead_code, reason = "each test program uses its part")]
    pub fn calls(&self, settings: policy::Settings) -> Calls {
        let hooks = Hooks::new(hooks::Settings::default(), self.place.clone(), self.place.clone());
        Calls::new(self.context.clone(), settings, Store::at(&self.state), hooks)
    }

    /// The same vault, as another process would open it. Nothing is recovered yet.
    pub fn reopened(self) -> Self {
        let context = context(&self.place, &self.state);
        Self { context, ..self }
    }

    /// A journal of this vault with other settings.
    pub fn journal_with(&self, settings: journal::Settings) -> Journal {
        self.journal_in(&self.state, settings)
    }

    /// A journal of this vault with its store elsewhere.
    pub fn journal_in(&self, store: &Path, settings: journal::Settings) -> Journal {
        Journal::open(open(&self.place, &self.state).1, Store::at(store), settings)
    }

    pub fn call(&self, tool: &str, arguments: &Value) -> Result<Answer<Value>, ToolError> {
        let tool = Registry::built_in().get(tool).unwrap_or_else(|| panic!("no tool {tool}"));
        Ok(tools::call(tool, &self.context, arguments)?.read())
    }

    /// The answer's data.
    #[track_caller]
    pub fn ok(&self, tool: &str, arguments: Value) -> Value {
        match self.call(tool, &arguments) {
            Ok(answer) => answer.data,
            Err(error) => panic!("{tool} {arguments}: {}", error.text()),
        }
    }

    /// The answer's text.
    #[track_caller]
    pub fn text(&self, tool: &str, arguments: Value) -> String {
        match self.call(tool, &arguments) {
            Ok(answer) => answer.text,
            Err(error) => panic!("{tool} {arguments}: {}", error.text()),
        }
    }

    /// The error, which must have this code.
    #[track_caller]
    pub fn err(&self, tool: &str, arguments: Value, code: ErrorCode) -> ToolError {
        match self.call(tool, &arguments) {
            Ok(answer) => panic!("{tool} {arguments} is not refused: {}", answer.text),
            Err(error) => {
                assert_eq!(error.code, code, "{tool} {arguments}: {}", error.text());
                error
            }
        }
    }

    pub fn put(&self, path: &str, text: &str) {
        put(&self.place, path, text);
    }

    /// Waits until everything that exists is older than what follows, by the file system's own
    /// clock.
    pub fn let_time_pass(&self) {
        let probe = self.place.join(".obsidian/probe");
        let time = || {
            // Not empty: a file that is empty and stays so keeps its time on some disks.
            fs::write(&probe, "x").expect("written");
            probe.metadata().and_then(|meta| meta.modified()).expect("a time")
        };
        let begun = time();
        while time() < begun + std::time::Duration::from_millis(50) {}
        fs::remove_file(&probe).expect("removed");
    }

    /// The bytes of a file, read directly.
    #[track_caller]
    pub fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.place.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    #[track_caller]
    pub fn content(&self, path: &str) -> String {
        String::from_utf8(self.bytes(path)).expect("text")
    }

    pub fn exists(&self, path: &str) -> bool {
        self.place.join(path).symlink_metadata().is_ok()
    }

    /// Every file below the vault's root, hidden ones included, with its bytes.
    pub fn snapshot(&self) -> Vec<(String, Vec<u8>)> {
        let mut files = Vec::new();
        collect(&self.place, &self.place, &mut files);
        files.sort();
        files
    }

    /// The files in the recovery folder.
    pub fn rescued(&self) -> Vec<String> {
        let entries = fs::read_dir(self.state.join("recovery")).into_iter().flatten().flatten();
        entries.map(|entry| fs::read_to_string(entry.path()).expect("text")).collect()
    }
}

/// The folder of a test's vault: below `STEWARD_TEST_VAULTS` if that is set, which runs the whole
/// suite on another file system.
pub fn temporary_folder() -> TempDir {
    match std::env::var_os("STEWARD_TEST_VAULTS") {
        Some(place) => tempfile::tempdir_in(place),
        None => tempfile::tempdir(),
    }
    .expect("a temporary folder")
}

/// The vault as it is now, and its writer.
pub fn open(place: &Path, state: &Path) -> (Vault, Writer) {
    let opened = Vault::open(place, state, vault::Settings::default(), &|_| ());
    opened.expect("the vault opens")
}

fn context(place: &Path, state: &Path) -> Context {
    let (vault, writer) = open(place, state);
    Context {
        journal: Journal::open(writer, Store::at(state), journal::Settings::default()),
        index: Index::new(vault.clone()),
        vault,
        settings: tools::Settings::default(),
        max_chars: usize::MAX,
        most: Permission::Permanent,
        cancel: Cancel::default(),
        origin: Origin::default(),
        rules: Vec::new(),
        gate: None,
        conversations: None,
        host: None,
        listeners: Default::default(),
        running_jobs: Default::default(),
        clock: tools::Clock::System,
    }
}

pub fn put(place: &Path, path: &str, text: &str) {
    let file = place.join(path);
    if path.ends_with('/') {
        fs::create_dir_all(file).expect("made");
        return;
    }
    fs::create_dir_all(file.parent().expect("a file lies in a folder")).expect("made");
    fs::write(file, text).expect("written");
}

/// Whether a file can be given a name that differs from its old one in case alone; wine reports success and does
/// nothing.
#[allow(dead_code, reason = "each test program uses its part")]
pub fn renames_case() -> bool {
    let folder = temporary_folder();
    let (one, other) = (folder.path().join("one"), folder.path().join("ONE"));
    fs::write(&one, "1").expect("written");
    fs::rename(one, other).expect("renamed");
    let mut entries = fs::read_dir(folder.path()).expect("listed").flatten();
    entries.any(|entry| entry.file_name() == "ONE")
}

/// The number of random vaults in a test; `RANDOM_VAULTS` overrides it for a slow machine.
#[allow(dead_code, reason = "each test program uses its part")]
pub fn random_vaults(usual: u64) -> u64 {
    std::env::var("RANDOM_VAULTS").ok().and_then(|count| count.parse().ok()).unwrap_or(usual)
}

/// Whether a removed file is listed until it is closed, as by wine, and by Windows on disks other than NTFS. The steward
/// keeps a version that it replaced open for some seconds.
fn lists_removed_files() -> bool {
    static LISTS: OnceLock<bool> = OnceLock::new();
    let lists = || {
        let folder = temporary_folder();
        let place = folder.path().join("removed");
        fs::write(&place, "x").expect("written");
        let _open = fs::File::open(&place).expect("opened");
        fs::remove_file(&place).expect("removed");
        fs::read_dir(folder.path()).expect("listed").next().is_some()
    };
    cfg!(windows) && *LISTS.get_or_init(lists)
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).expect("listed").flatten() {
        let path = entry.path();
        let name = path.strip_prefix(root).expect("below").to_string_lossy();
        let name = name.replace(std::path::MAIN_SEPARATOR, "/");
        // A file removed while it is open, which disappears as soon as it is closed. FUSE renames it.
        let hidden = |start| entry.file_name().to_string_lossy().starts_with(start);
        if hidden(".fuse_hidden") || (hidden(".~vs-") && lists_removed_files()) {
            continue;
        }
        let meta = match path.symlink_metadata() {
            Ok(meta) => meta,
            // It was closed since it was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound && lists_removed_files() => {
                continue;
            }
            Err(error) => panic!("{name}: {error}"),
        };
        if meta.is_dir() {
            files.push((format!("{name}/"), Vec::new()));
            collect(root, &path, files);
        } else if meta.is_file() {
            let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
            files.push((name, bytes));
        } else {
            files.push((name, b"(not a file)".to_vec()));
        }
    }
}

/// Undoes as the journal alone does: links do not follow, and nobody is asked.
pub trait JournalAlone {
    fn undo(&self, target: Target, force: bool, origin: &Origin) -> Result<Undone, UndoError>;
}

impl JournalAlone for Journal {
    fn undo(&self, target: Target, force: bool, origin: &Origin) -> Result<Undone, UndoError> {
        self.undo_with(target, force, origin, &mut |_| Vec::new(), &mut |_| true)
    }
}

/// Restores as the journal alone does: links do not follow, and nobody is asked.
pub trait TrashAlone {
    fn restore(
        &self,
        item: &str,
        to: Option<&VaultPath>,
        origin: &Origin,
    ) -> Result<Restored, UndoError>;
}

impl TrashAlone for Trash<'_> {
    fn restore(
        &self,
        item: &str,
        to: Option<&VaultPath>,
        origin: &Origin,
    ) -> Result<Restored, UndoError> {
        self.restore_with(item, to, origin, &mut |_| Vec::new(), &mut |_| true)
    }
}

/// Whether no stored text is damaged or missing.
pub fn is_sound(verified: &Verified) -> bool {
    verified.damaged.is_empty() && verified.missing.is_empty()
}
