//! Loads the context at the start of a turn, and adds a notice of changes.

use super::context::{self, Context};
use super::entry::Entry;
use super::named::ActiveAgent;
use super::ports::Result;
use super::prompt::{self, Instructions};
use super::shared::SharedAgent;
use super::turn_settings::TurnSettings;
use crate::conversation::{ConversationId, TurnId};

/// Loads a conversation's context and stores new entries. Returns the context and whether stored
/// items are damaged. Blocks.
pub(super) fn load(
    shared: &SharedAgent,
    conversation: ConversationId,
    id: TurnId,
    settings: &TurnSettings,
    agent: Option<&ActiveAgent>,
) -> Result<(Context, bool)> {
    let (memory, place) = (&shared.ports.memory, &shared.ports.place);
    let entries = memory.entries(conversation)?;
    let is_damaged = entries.iter().any(Entry::is_of_damage);
    let mut context = Context::of(entries);
    let scope = context.scope();
    let mut outline = None;
    if !context.has_opening() {
        outline = place.outline(scope).map(|outline| prompt::outline(&outline));
        let note = match settings.instructions_note.trim() {
            "" => None,
            path => place.note(path, scope),
        };
        let opening = Entry::Opening {
            system: prompt::system(&place.vault(), &Instructions::new(settings, note)),
            tools: shared.ports.toolbox.specs(),
        };
        context.push(memory.keep_opening(conversation, opening)?);
        let earlier =
            if place.shows_all(scope) { memory.earlier(conversation)? } else { Vec::new() };
        if let Some(text) = prompt::earlier(&earlier) {
            store(shared, conversation, id, &mut context, Entry::notice(text))?;
        }
    }
    context.add_tools(shared.ports.toolbox.foreign());
    if let Some(agent) = agent {
        // Not stored, so that another agent or changed settings take effect.
        let (system, tools) = (agent.system(context.system()), agent.tools(context.tools()));
        context.present(system, tools);
    }
    fill_missing(shared, conversation, id, &mut context)?;
    let announcement = shared.announce(conversation, &place.moment(conversation, scope));
    let notice: Vec<String> = announcement.into_iter().chain(outline).collect();
    if !notice.is_empty() {
        store(shared, conversation, id, &mut context, Entry::notice(notice.join("\n")))?;
    }
    Ok((context, is_damaged))
}

/// Stores an entry and appends it to the context. Blocks.
fn store(
    shared: &SharedAgent,
    conversation: ConversationId,
    turn: TurnId,
    context: &mut Context,
    entry: Entry,
) -> Result<()> {
    shared.ports.memory.append(conversation, turn, &entry)?;
    context.push(entry);
    Ok(())
}

/// Gives each call that an earlier turn left without a result the result "unknown".
pub(super) fn fill_missing(
    shared: &SharedAgent,
    conversation: ConversationId,
    turn: TurnId,
    context: &mut Context,
) -> Result<()> {
    for call in context.missing() {
        let result = context::unknown(&call);
        store(
            shared,
            conversation,
            turn,
            context,
            Entry::Result { result, read_updates: Vec::new(), data: None },
        )?;
    }
    Ok(())
}
