//! The events that clients get, before they are numbered.

use super::session_event::SessionEvent;
use crate::note::path::VaultPath;
use crate::protocol::conversations::{ConversationChange, ConversationChangedParams};
use crate::protocol::envelope;
use crate::protocol::events::{
    ChangeSetInfo, ChangedKind, ChangedParams, ChangesParams, EntryKind, EventMeta, EventVaultMeta,
    HiddenParams, JobInfo, JobParams, PlanInfo, PlanParams,
};
use crate::protocol::inbox::{InboxMessage, InboxParams, SmartHoleParams, SmartHoleState};
use crate::protocol::policy::{ModeChangedParams, ModeResult};
use crate::protocol::session::{SessionEventMeta, SessionEventVaultMeta};
use crate::protocol::settings::{ConfigProblem, ConfigRejectedParams, ConfigReloadedParams};
use crate::protocol::workflows::{WorkflowParams, WorkflowProgress};
use crate::vault::View;

/// An event without its number.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A file or folder in the vault changed, whoever changed it.
    Changed {
        kind: ChangedKind,
        path: String,
        /// The old path of something renamed.
        from: Option<String>,
        entry: EntryKind,
    },
    Applied(ChangeSetInfo),
    Plan(PlanInfo),
    /// A job started, progressed or changed its state.
    Job(JobInfo),
    ConversationChanged {
        session_id: String,
        kind: ConversationChange,
    },
    /// A voice message arrived or changed its state.
    Inbox(InboxMessage),
    /// The connection to SmartHole changed its state.
    SmartHole(SmartHoleState),
    /// A step of a workflow started or ended.
    Workflow(WorkflowProgress),
    /// New settings took effect.
    ConfigReloaded {
        changed: Vec<String>,
        needs_restart: Vec<String>,
    },
    /// Another permission mode took effect.
    ModeChanged(ModeResult),
    /// The settings file is invalid; the old settings stay in effect.
    ConfigRejected(ConfigProblem),
    Session {
        session: String,
        turn: Option<String>,
        session_event: SessionEvent,
        /// The connection that caused it, which gets it only if it subscribed to all events.
        from: Option<u64>,
    },
}

impl Event {
    pub(super) fn message(self, meta: EventMeta) -> String {
        match self {
            Self::Changed { kind, path, from, entry } => {
                envelope::notification(&ChangedParams { kind, path, from, entry, meta })
            }
            Self::Applied(change_set) => {
                envelope::notification(&ChangesParams { change_set, meta })
            }
            Self::Plan(plan) => envelope::notification(&PlanParams { plan, meta }),
            Self::Job(job) => envelope::notification(&JobParams { job, meta }),
            Self::ConversationChanged { session_id, kind } => {
                envelope::notification(&ConversationChangedParams { session_id, kind, meta })
            }
            Self::Inbox(message) => envelope::notification(&InboxParams { message, meta }),
            Self::SmartHole(smarthole) => {
                envelope::notification(&SmartHoleParams { smarthole, meta })
            }
            Self::Workflow(progress) => envelope::notification(&WorkflowParams { progress, meta }),
            Self::ConfigReloaded { changed, needs_restart } => {
                envelope::notification(&ConfigReloadedParams { changed, needs_restart, meta })
            }
            Self::ModeChanged(mode) => envelope::notification(&ModeChangedParams { mode, meta }),
            Self::ConfigRejected(problem) => {
                envelope::notification(&ConfigRejectedParams { problem, meta })
            }
            Self::Session { session, turn, session_event, .. } => {
                let vault = SessionEventVaultMeta { seq: meta.vault.seq, turn };
                session_event.notification(session, SessionEventMeta { vault })
            }
        }
    }

    /// The event as a caller with this view gets it; `None` if the event is hidden from it. A move
    /// into the view becomes a creation, and a move out of it a deletion.
    pub(super) fn in_view(self, view: &View) -> Option<Self> {
        let shows = |path: &str| VaultPath::from_disk(path).is_some_and(|path| view.shows(&path));
        let holds =
            |path: &String| VaultPath::from_disk(path).is_some_and(|path| view.holds(&path));
        match self {
            // Conversations and voice messages may quote any note; workflows belong to the person.
            Self::Session { .. } | Self::Inbox(_) | Self::Workflow(_) => None,
            event if view.is_all() => Some(event),
            // The message quotes the settings file.
            Self::ConfigRejected(_) => None,
            Self::Changed { kind, path, from: Some(from), entry } => {
                match (shows(&path), shows(&from)) {
                    (true, true) => Some(Self::Changed { kind, path, from: Some(from), entry }),
                    (true, false) => {
                        let kind = ChangedKind::Created;
                        Some(Self::Changed { kind, path, from: None, entry })
                    }
                    (false, true) => {
                        let kind = ChangedKind::Removed;
                        Some(Self::Changed { kind, path: from, from: None, entry })
                    }
                    (false, false) => None,
                }
            }
            Self::Plan(PlanInfo { ref folders, .. }) | Self::Job(JobInfo { ref folders, .. })
                if !folders.iter().all(holds) =>
            {
                None
            }
            // Links may follow in files outside the view.
            Self::Job(job) => Some(Self::Job(JobInfo { progress: None, ..job })),
            Self::Changed { ref path, .. } if !shows(path) => None,
            Self::Applied(set)
                if set.total > set.changes.len() as u64
                    || !set
                        .changes
                        .iter()
                        .all(|one| shows(&one.path) && one.from.as_deref().is_none_or(shows)) =>
            {
                None
            }
            event => Some(event),
        }
    }

    /// Whether a connection that only talks to the agent gets this event.
    pub(super) fn is_for_conversation_client(&self, connection: u64) -> bool {
        matches!(self, Self::Session { from, .. } if *from != Some(connection))
    }
}

/// The placeholder for an event that the subscriber may not see.
pub(super) fn hidden(seq: u64) -> String {
    envelope::notification(&HiddenParams { meta: EventMeta { vault: EventVaultMeta { seq } } })
}
