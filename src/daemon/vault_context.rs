//! The vault as context for the agent: the open note, and changes by others.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chrono::{DateTime, FixedOffset, Utc};

use crate::agent::ports::VaultContext;
use crate::agent::prompt::Situation;
use crate::calls::Calls;
use crate::conversation::ConversationId;
use crate::journal::ListedSet;
use crate::locks::lock;
use crate::methods::host::HostDoor;
use crate::note::path::VaultPath;
use crate::policy::Scope;
use crate::tools;
use crate::vault::{ChangeKind, Kind as EntryKind, Vault, VaultChange, Want};

/// The most recent changes by others that are stored.
const NEWS: usize = 500;

/// The time within which an observed change counts as our own.
const OURS: Duration = Duration::from_secs(5);

pub struct DaemonVaultContext {
    calls: Calls,
    host: Arc<HostDoor>,
    news: Mutex<RecentChanges>,
}

#[derive(Default)]
struct RecentChanges {
    /// The number of changes so far.
    count: u64,
    last: VecDeque<Change>,
    /// The steward's own changes with their times.
    ours: VecDeque<(Instant, String)>,
    /// The last change that each conversation has received.
    delivered: HashMap<ConversationId, u64>,
}

/// A change by another program.
struct Change {
    number: u64,
    when: Instant,
    /// The file, and its path before.
    paths: Vec<VaultPath>,
    words: String,
}

impl DaemonVaultContext {
    /// Creates the context for the vault of `calls`; `host` knows the note open in Obsidian.
    pub fn new(calls: Calls, host: Arc<HostDoor>) -> Self {
        Self { calls, host, news: Mutex::default() }
    }

    pub fn changed(&self, change: &VaultChange) {
        if change.entry != EntryKind::File {
            return;
        }
        let path = &change.path;
        let words = match &change.kind {
            ChangeKind::Created => format!("created `{path}`"),
            ChangeKind::Modified => format!("edited `{path}`"),
            ChangeKind::Removed => format!("removed `{path}`"),
            ChangeKind::Renamed { from } => format!("renamed `{from}` to `{path}`"),
        };
        let mut paths = vec![path.clone()];
        if let ChangeKind::Renamed { from } = &change.kind {
            paths.push(from.clone());
        }
        let mut news = lock(&self.news);
        news.count += 1;
        news.last.retain(|known| known.words != words);
        let number = news.count;
        news.last.push_back(Change { number, when: Instant::now(), paths, words });
        while news.last.len() > NEWS {
            news.last.pop_front();
        }
    }

    /// Records the steward's own change, which the agent already knows.
    pub fn applied(&self, set: &ListedSet) {
        let mut news = lock(&self.news);
        let now = Instant::now();
        for change in &set.changes {
            let paths = [Some(&change.path), change.from.as_ref()];
            news.ours
                .extend(paths.into_iter().flatten().map(|path| (now, path.as_str().to_owned())));
        }
        while news.ours.len() > NEWS {
            news.ours.pop_front();
        }
    }

    fn vault(&self) -> &Vault {
        &self.calls.context().vault
    }

    /// The note that is open in Obsidian: from the plugin if it is connected and the note is visible;
    /// else from the workspace file, with the file's time.
    fn active_note(
        &self,
        now: DateTime<FixedOffset>,
        vault: &Vault,
    ) -> (Option<String>, Option<String>) {
        match self.host.known() {
            Some(open) => {
                let found = open.and_then(|open| vault.resolve(&open, Want::File).ok());
                (found.map(|found| found.path.as_str().to_owned()), None)
            }
            None => {
                let Some(note) = vault.active_note() else { return (None, None) };
                let written = note.written.map(|time| {
                    let time = DateTime::<Utc>::from(time).with_timezone(now.offset());
                    time.format("%Y-%m-%d %H:%M").to_string()
                });
                (Some(note.path), Some(written.unwrap_or_else(|| "some time ago".to_owned())))
            }
        }
    }
}

impl VaultContext for DaemonVaultContext {
    fn vault(&self) -> String {
        self.vault().name().to_owned()
    }

    fn moment(&self, conversation: ConversationId, scope: Scope) -> Situation {
        let vault = self.vault().in_view(self.calls.view(scope));
        let mut news = lock(&self.news);
        let count = news.count;
        // A new conversation has no outdated information.
        let since = news.delivered.insert(conversation, count).unwrap_or(count);
        let is_ours = |when: Instant, path: &str| {
            news.ours.iter().any(|(ours, changed)| {
                let apart = when.max(*ours).duration_since(when.min(*ours));
                changed == path && apart < OURS
            })
        };
        let is_new = |change: &&Change| {
            change.number > since
                && change.paths.iter().all(|path| vault.view().holds(path))
                && !is_ours(change.when, change.paths[0].as_str())
        };
        let recent = news.last.iter().filter(is_new).map(|change| change.words.clone()).collect();
        drop(news);
        let now = self.calls.context().clock.now();
        let (active_note, as_of) = self.active_note(now, &vault);
        Situation { now, active_note, as_of, news: recent }
    }

    fn outline(&self, scope: Scope) -> Option<String> {
        tools::opening(&self.calls.context_for(scope))
    }

    fn note(&self, path: &str, scope: Scope) -> Option<(String, String)> {
        let vault = self.vault().in_view(self.calls.view(scope));
        let found = vault.resolve(path, Want::File).ok()?;
        let text = match vault.read(&found.path) {
            Ok(read) => String::from_utf8_lossy(&read.bytes).into_owned(),
            Err(error) => {
                tracing::warn!(%error, "the note with instructions cannot be read");
                return None;
            }
        };
        Some((found.path.as_str().to_owned(), text))
    }

    fn shows_all(&self, scope: Scope) -> bool {
        // An ACP client has only its own conversations.
        scope != Scope::Acp && self.calls.view(scope).holds(&VaultPath::root())
    }
}
