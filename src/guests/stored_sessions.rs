//! The sessions of guests that can load one: a conversation continues with what its guest
//! remembers, even after the guest or the daemon has ended. In a file next to the guest's folders,
//! which the guest cannot write.

#![expect(clippy::disallowed_methods, reason = "a file of our own in the state folder")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::history::KnownMessages;
use super::settings::Guest;
use crate::locks::lock;

/// The most stored sessions; beyond it the oldest are forgotten.
const MAX_SESSIONS: usize = 200;

/// The longest id of a session, in bytes.
const MAX_ID: usize = 1_024;

/// A session of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Session {
    /// The guest's name and command: another guest does not know the session.
    guest: String,
    command: Vec<String>,
    /// The guest's id of the session.
    pub id: String,
    /// The part of the conversation that it has received.
    pub heard: KnownMessages,
    /// When it last got a prompt, in seconds since the Unix epoch.
    time: i64,
}

/// The sessions by conversation.
#[derive(Debug)]
pub(super) struct StoredSessions {
    file: PathBuf,
    /// Serialises changes of the file.
    lock: Mutex<()>,
}

impl StoredSessions {
    pub fn new(folder: &Path) -> Self {
        Self { file: folder.join("sessions.json"), lock: Mutex::default() }
    }

    pub fn find(&self, conversation: &str, guest: &Guest) -> Option<Session> {
        let session = self.read().remove(conversation)?;
        (session.guest == guest.name && session.command == guest.command).then_some(session)
    }

    /// Remembers it across restarts.
    pub fn store(&self, conversation: &str, guest: &Guest, id: &str, heard: KnownMessages) {
        if id.len() > MAX_ID {
            return;
        }
        let (guest, command, id) = (guest.name.clone(), guest.command.clone(), id.to_owned());
        let time = chrono::Utc::now().timestamp();
        self.change(|all| {
            all.insert(conversation.to_owned(), Session { guest, command, id, heard, time });
            while all.len() > MAX_SESSIONS {
                let oldest = all.iter().min_by_key(|(_, session)| session.time);
                let Some(oldest) = oldest.map(|(id, _)| id.clone()) else { break };
                all.remove(&oldest);
            }
        });
    }

    pub fn forget(&self, conversation: &str) {
        self.change(|all| {
            all.remove(conversation);
        });
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<String, Session>)) {
        let _lock = lock(&self.lock);
        let mut all = self.read();
        change(&mut all);
        let new_file = self.file.with_extension("new");
        let written = std::fs::write(&new_file, serde_json::to_vec(&all).unwrap_or_default())
            .and_then(|()| std::fs::rename(&new_file, &self.file));
        if let Err(error) = written {
            tracing::warn!(%error, "the sessions of guests could not be stored");
        }
    }

    fn read(&self) -> BTreeMap<String, Session> {
        let text = std::fs::read(&self.file).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }
}
