//! Rows as values.

use rusqlite::Row;

use crate::conversation::{
    BranchId, Chosen, Conversation, ConversationId, End, EndKind, Item, ItemKind, ItemNumber,
    TitleOrigin, Turn, TurnId, TurnState, Waiting,
};
use crate::store::error::StoreError;
use crate::store::query::{column, fault};

#[derive(Debug, Clone)]
pub struct NewConversation<'a> {
    /// The source of its first message.
    pub source: &'a str,
    /// Milliseconds since the Unix epoch.
    pub began: i64,
    /// The client's working folder.
    pub cwd: Option<&'a str>,
}

#[derive(Debug, Clone)]
pub struct NewItem {
    pub kind: ItemKind,
    pub text: String,
    /// Structured content, as JSON.
    pub body: Option<String>,
}

/// The stored rows of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    pub conversation: ConversationId,
    /// The turn that the message begins.
    pub turn: TurnId,
    /// The message's item.
    pub item: ItemNumber,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// The message begins a turn.
    Began(Arrival),
    /// The message was delivered before, to this turn; nothing has changed.
    Duplicate(TurnId),
}

pub(super) const CONVERSATION: &str = "conversation.id, conversation.began, \
     conversation.last_active, conversation.ended, conversation.end_kind, \
     conversation.end_reason, conversation.title, conversation.summary, conversation.titled_by, \
     conversation.source, conversation.branch, conversation.waiting_since, conversation.question, \
     conversation.items, EXISTS (SELECT 1 FROM turn WHERE turn.conversation = conversation.id \
     AND turn.state = 'running'), conversation.cwd, conversation.mode, conversation.model, \
     conversation.agent";

pub(super) const TURN: &str = "turn.id, turn.conversation, turn.began, turn.ended, turn.state, \
     turn.reason";

pub(super) const ITEM: &str = "item.id, item.conversation, item.number, item.branch, item.turn, \
     item.time, item.kind, item.text, item.body, item.checksum";

/// Reads a column with one of a set of words.
pub(super) fn word<T>(
    row: &Row,
    table: &'static str,
    index: usize,
    parse: fn(&str) -> Option<T>,
) -> Result<T, StoreError> {
    let cell = row.get_ref(index).map_err(|error| fault(row, table, error.to_string()))?;
    let word = cell.as_str().map_err(|error| fault(row, table, error.to_string()))?;
    parse(word).ok_or_else(|| fault(row, table, format!("`{}` is not a word", word.escape_debug())))
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
            agent: column(row, T, 18)?,
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
    if checksum(&item) == column::<String>(row, T, 9)? {
        Ok(item)
    } else {
        Err(fault(row, T, "it is not as it was written".to_owned()))
    }
}

pub(super) fn checksum(item: &Item) -> String {
    let head = format!(
        "{:?}",
        (
            (item.conversation.0, item.number.0, item.branch.0, item.turn.map(|turn| turn.0)),
            (item.time, item.kind.word(), item.text.len(), item.body.is_some())
        )
    );
    // The text and body are not copied; the text's length in the head separates them.
    let mut hash = blake3::Hasher::new();
    hash.update(head.as_bytes());
    hash.update(item.text.as_bytes());
    hash.update(item.body.as_deref().unwrap_or_default().as_bytes());
    hash.finalize().to_hex()[..16].to_owned()
}
