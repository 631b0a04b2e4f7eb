//! Rows as values, and reading them.

use rusqlite::Row;

use crate::conversation::{
    BranchId, Chosen, Conversation, ConversationId, End, EndKind, Item, ItemKind, ItemNumber,
    TitleOrigin, Turn, TurnId, TurnState, Waiting,
};
use crate::store::error::StoreError;
use crate::store::query::{column, fault};

/// A conversation that is to begin.
#[derive(Debug, Clone)]
pub struct NewConversation<'a> {
    /// Where its first message comes from.
    pub source: &'a str,
    /// When, in milliseconds since the Unix epoch.
    pub began: i64,
    /// The folder that its client said it works in.
    pub cwd: Option<&'a str>,
}

/// An item that is to be kept.
#[derive(Debug, Clone)]
pub struct NewItem {
    pub kind: ItemKind,
    /// What it says in plain words.
    pub text: String,
    /// The rest, as JSON.
    pub body: Option<String>,
}

/// What was recorded when a message arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The conversation it belongs to.
    pub conversation: ConversationId,
    /// The turn that it begins.
    pub turn: TurnId,
    /// The message as an item.
    pub item: ItemNumber,
}

/// What became of a message that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    /// It begins a turn.
    Began(Arrival),
    /// It was heard before, in this turn; nothing has changed.
    Heard(TurnId),
}

/// The columns of a conversation.
pub(super) const CONVERSATION: &str = "conversation.id, conversation.began, \
     conversation.last_active, conversation.ended, conversation.end_kind, \
     conversation.end_reason, conversation.title, conversation.summary, conversation.titled_by, \
     conversation.source, conversation.branch, conversation.waiting_since, conversation.question, \
     conversation.items, EXISTS (SELECT 1 FROM turn WHERE turn.conversation = conversation.id \
     AND turn.state = 'running'), conversation.cwd, conversation.mode, conversation.model";

/// The columns of a turn.
pub(super) const TURN: &str = "turn.id, turn.conversation, turn.began, turn.ended, turn.state, \
     turn.reason";

/// The columns of an item.
pub(super) const ITEM: &str = "item.id, item.conversation, item.number, item.branch, item.turn, \
     item.time, item.kind, item.text, item.body, item.checksum";

/// Reads a column that holds one of some words.
pub(super) fn word<T>(
    row: &Row,
    table: &'static str,
    index: usize,
    parse: fn(&str) -> Option<T>,
) -> Result<T, StoreError> {
    let cell = row.get_ref(index).map_err(|error| fault(row, table, error.to_string()))?;
    let word = cell.as_str().map_err(|error| fault(row, table, error.to_string()))?;
    parse(word).ok_or_else(|| fault(row, table, format!("`{}` is no word", word.escape_debug())))
}

pub(super) fn conversation(row: &Row) -> Result<Conversation, StoreError> {
    const T: &str = "conversation";
    let ended = match column::<Option<i64>>(row, T, 3)? {
        None => None,
        Some(at) => Some(End {
            at,
            kind: word(row, T, 4, EndKind::parse)?,
            reason: column::<Option<String>>(row, T, 5)?.unwrap_or_default(),
        }),
    };
    let titled_by = match column::<Option<String>>(row, T, 8)? {
        None => None,
        Some(_) => Some(word(row, T, 8, TitleOrigin::parse)?),
    };
    let waiting = match column::<Option<i64>>(row, T, 11)? {
        None => None,
        Some(since) => Some(Waiting { since, question: column(row, T, 12)? }),
    };
    Ok(Conversation {
        id: ConversationId(column(row, T, 0)?),
        began: column(row, T, 1)?,
        last_active: column(row, T, 2)?,
        ended,
        title: column(row, T, 6)?,
        summary: column(row, T, 7)?,
        titled_by,
        source: column(row, T, 9)?,
        branch: BranchId(column(row, T, 10)?),
        waiting,
        is_working: column(row, T, 14)?,
        items: u64::try_from(column::<i64>(row, T, 13)?).unwrap_or(0),
        chosen: Chosen {
            cwd: column(row, T, 15)?,
            mode: column(row, T, 16)?,
            model: column(row, T, 17)?,
        },
    })
}

pub(super) fn turn(row: &Row) -> Result<Turn, StoreError> {
    const T: &str = "turn";
    Ok(Turn {
        id: TurnId(column(row, T, 0)?),
        conversation: ConversationId(column(row, T, 1)?),
        began: column(row, T, 2)?,
        ended: column(row, T, 3)?,
        state: word(row, T, 4, TurnState::parse)?,
        reason: column(row, T, 5)?,
    })
}

pub(super) fn item(row: &Row) -> Result<Item, StoreError> {
    const T: &str = "item";
    let item = Item {
        conversation: ConversationId(column(row, T, 1)?),
        number: ItemNumber(column(row, T, 2)?),
        branch: BranchId(column(row, T, 3)?),
        turn: column::<Option<i64>>(row, T, 4)?.map(TurnId),
        time: column(row, T, 5)?,
        kind: word(row, T, 6, ItemKind::parse)?,
        text: column(row, T, 7)?,
        body: column(row, T, 8)?,
    };
    match checksum(&item) == column::<String>(row, T, 9)? {
        true => Ok(item),
        false => Err(fault(row, T, "it is not as it was written".to_owned())),
    }
}

/// What an item says, in a few letters.
pub(super) fn checksum(item: &Item) -> String {
    let head = format!(
        "{:?}",
        (
            (item.conversation.0, item.number.0, item.branch.0, item.turn.map(|turn| turn.0)),
            (item.time, item.kind.word(), item.text.len(), item.body.is_some())
        )
    );
    // The parts of a great item are hashed where they lie; the length keeps them apart.
    let mut hash = blake3::Hasher::new();
    hash.update(head.as_bytes());
    hash.update(item.text.as_bytes());
    hash.update(item.body.as_deref().unwrap_or_default().as_bytes());
    hash.finalize().to_hex()[..16].to_owned()
}
