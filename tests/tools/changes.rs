//! Change sets for tests: written briefly, applied without the tools.

use std::collections::BTreeMap;
use std::fs;

use vault_steward::journal::{Change, ChangeSet, ChangeSetId, Journal, Origin, Target, UndoError};
use vault_steward::note::path::VaultPath;
use vault_steward::vault::Precondition;

use crate::vault::{JournalAlone as _, TestVault};

pub fn path(text: &str) -> VaultPath {
    VaultPath::from_disk(text).expect("a path")
}

pub fn write(at: &str, text: &str) -> Change {
    Change::Write { path: path(at), content: text.into(), before: Precondition::Any }
}

pub fn mv(from: &str, to: &str) -> Change {
    Change::Move { from: path(from), to: path(to) }
}

pub fn delete(at: &str) -> Change {
    Change::Delete { path: path(at), before: Precondition::Any, past_trash: false }
}

pub fn folder(at: &str) -> Change {
    Change::CreateFolder { path: path(at) }
}

pub fn in_turn(turn: &str) -> Origin {
    Origin { turn: Some(turn.to_owned()), caller: "a test".to_owned(), ..Origin::default() }
}

/// The files of the vault except its trash.
pub fn seen(vault: &TestVault) -> BTreeMap<String, String> {
    let files = vault.snapshot().into_iter().filter(|(name, _)| !name.starts_with(".trash"));
    files.map(|(name, bytes)| (name, String::from_utf8_lossy(&bytes).into_owned())).collect()
}

impl TestVault {
    pub fn journal(&self) -> &Journal {
        &self.context.journal
    }

    #[track_caller]
    pub fn apply(&self, changes: Vec<Change>) -> ChangeSetId {
        self.apply_as(changes, &Origin::default())
    }

    #[track_caller]
    pub fn apply_as(&self, changes: Vec<Change>, origin: &Origin) -> ChangeSetId {
        let set = ChangeSet { title: "a test's change".to_owned(), changes };
        self.journal().apply(&set, origin).expect("applied").change_set
    }

    #[track_caller]
    pub fn undo(&self, set: ChangeSetId) -> ChangeSetId {
        let undone = self.journal().undo(Target::Set(set), false, &Origin::default());
        undone.expect("undone").applied.change_set
    }

    pub fn undo_error(&self, target: &str) -> UndoError {
        let target = target.parse().expect("a target");
        let undone = self.journal().undo(target, false, &Origin::default());
        undone.expect_err("it cannot be undone")
    }

    /// The files in the state folder whose names begin so.
    pub fn in_state(&self, start: &str) -> Vec<String> {
        let entries = fs::read_dir(&self.state).expect("listed").flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with(start)).collect()
    }

    /// Marks the last operation in the database as one that a crash interrupted.
    pub fn forget_the_end(&self) {
        let database = rusqlite::Connection::open(self.state.join("state.db")).expect("opened");
        let forget = "UPDATE operation SET state = 'intended', ended = NULL
                      WHERE id = (SELECT max(id) FROM operation)";
        assert_eq!(database.execute(forget, []).expect("changed"), 1);
    }

    pub fn blobs(&self) -> Vec<std::path::PathBuf> {
        let entries = fs::read_dir(self.state.join("blobs")).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }

    /// Sets back the time of every stored text by this many days.
    pub fn age_blobs(&self, days: u64) {
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(days * 86_400);
        for place in self.blobs() {
            let file = fs::File::options().write(true).open(place).expect("opened");
            file.set_modified(then).expect("set back");
        }
    }
}
