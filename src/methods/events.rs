//! Converts events of the vault and of conversations to those that clients receive.

use super::info::local;
use crate::agent::ConversationEvent;
use crate::agent::toolbox::turn_name;
use crate::journal::{ListedChange, ListedSet, SetKind};
use crate::protocol::conversations::ConversationChange;
use crate::protocol::events::{
    ChangeInfo, ChangeSetInfo, ChangedKind, EntryKind, JobInfo, JobProgress, PlanInfo,
};
use crate::protocol::session::SessionUpdate;
use crate::server::events::{Event, SessionEvent};
use crate::tools::OrganizeEvent;
use crate::vault::{ChangeKind, Kind, VaultChange};

pub fn event(change: &VaultChange) -> Event {
    let (kind, from) = match &change.kind {
        ChangeKind::Created => (ChangedKind::Created, None),
        ChangeKind::Modified => (ChangedKind::Modified, None),
        ChangeKind::Removed => (ChangedKind::Removed, None),
        ChangeKind::Renamed { from } => (ChangedKind::Renamed, Some(from.as_str().to_owned())),
    };
    let entry = match change.entry {
        Kind::File => EntryKind::File,
        Kind::Folder => EntryKind::Folder,
        Kind::Link => EntryKind::Link,
        Kind::Other => EntryKind::Other,
    };
    Event::Changed { kind, path: change.path.as_str().to_owned(), from, entry }
}

/// Changes of a set that an event lists.
const MAX_LISTED: usize = 100;

pub fn applied(set: &ListedSet) -> Event {
    Event::Applied(set_info(set))
}

/// The event of a plan or a job; `None` if clients do not get it.
pub fn organized(event: &OrganizeEvent) -> Option<Event> {
    Some(match event {
        OrganizeEvent::Rules => return None,
        OrganizeEvent::Plan { plan, identity, items, folders: within } => Event::Plan(PlanInfo {
            plan: *plan,
            identity: identity.clone(),
            items: *items as u64,
            folders: within.clone(),
        }),
        OrganizeEvent::Job { job, plan, state, done, total, folders: within, progress } => {
            Event::Job(JobInfo {
                job: *job,
                plan: *plan,
                state: (*state).to_owned(),
                done: *done as u64,
                total: *total as u64,
                folders: within.clone(),
                progress: progress.map(|now| JobProgress {
                    phase: now.phase.to_owned(),
                    done: now.done as u64,
                    total: now.total as u64,
                }),
            })
        }
    })
}

pub fn set_info(set: &ListedSet) -> ChangeSetInfo {
    let change = |change: &ListedChange| ChangeInfo {
        id: change.id.to_string(),
        action: change.action.word().to_owned(),
        path: change.path.as_str().to_owned(),
        from: change.from.as_ref().map(|from| from.as_str().to_owned()),
    };
    let time = set.time.with_timezone(&chrono::Local);
    // The agent's turns have names of this form; other callers choose any name.
    let turn =
        set.conversation.as_deref().zip(set.turn.as_deref()).and_then(|(within, turn)| {
            turn.strip_prefix(&turn_name(within, "")).map(str::to_owned)
        });
    ChangeSetInfo {
        id: set.id.0,
        title: set.title.clone(),
        time: time.to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
        caller: set.caller.clone(),
        conversation: set.conversation.clone(),
        turn,
        undone: set.is_undone(),
        undoes: match set.kind {
            SetKind::Undo(target) => Some(target.to_string()),
            SetKind::Change | SetKind::Restore => None,
        },
        changes: set.changes.iter().take(MAX_LISTED).map(change).collect(),
        total: set.changes.len() as u64,
    }
}

/// The events of a change to a conversation: every client receives the event, and those that show
/// the conversation also its current title.
pub fn of_conversation(event: &ConversationEvent) -> Vec<Event> {
    let (id, kind, conversation) = match event {
        ConversationEvent::Began(one) => (one.id, ConversationChange::Began, None),
        ConversationEvent::Ended(one) => (one.id, ConversationChange::Ended, Some(one)),
        ConversationEvent::Titled(one) => (one.id, ConversationChange::Titled, Some(one)),
        ConversationEvent::Noted(id, _) => (*id, ConversationChange::Noted, None),
        ConversationEvent::Decided(id) => (*id, ConversationChange::Decided, None),
        ConversationEvent::Deleted(id) => (*id, ConversationChange::Deleted, None),
    };
    let mut events = vec![Event::ConversationChanged { session_id: id.to_string(), kind }];
    events.extend(conversation.map(|one| Event::Session {
        session: id.to_string(),
        turn: None,
        session_event: SessionEvent::Update(SessionUpdate::SessionInfoUpdate {
            title: one.title.clone(),
            updated_at: Some(local(one.last_active)),
        }),
        from: None,
    }));
    events
}
