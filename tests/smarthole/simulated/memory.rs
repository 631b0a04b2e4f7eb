//! The real memory, with reads that fail at times.

use std::sync::Arc;

use vault_steward::agent::entry::{Entry, UserMessage};
use vault_steward::agent::memory::StoredMemory;
use vault_steward::agent::ports::{Leftovers, Memory, MemoryError, Routing, StoredTurn};
use vault_steward::agent::turn::End;
use vault_steward::conversation::{ConversationId, TurnId};
use vault_steward::llm::Usage;

use super::world::World;

pub struct Forgets {
    pub memory: StoredMemory,
    pub world: Arc<World>,
}

type Answer<T> = Result<T, MemoryError>;

impl Memory for Forgets {
    fn ended(&self, turn: TurnId) -> Answer<StoredTurn> {
        if self.world.troubles(|trouble| trouble.forgets, 2) {
            let message = "it cannot be read now".to_owned();
            return Err(MemoryError::Broken { message, hint: None });
        }
        let ended = self.memory.ended(turn);
        self.world.tell(|| format!("turn {turn} had ended: {ended:?}"));
        ended
    }

    fn receive(&self, said: &UserMessage) -> Answer<(i64, Option<TurnId>)> {
        self.memory.receive(said)
    }

    fn arrive(&self, said: &UserMessage) -> Answer<Routing> {
        self.memory.arrive(said)
    }

    fn resume(&self, to: ConversationId, notice: &Entry, received: i64) -> Answer<Routing> {
        self.memory.resume(to, notice, received)
    }

    fn refuse(&self, received: i64, why: &str) -> Answer<()> {
        self.memory.refuse(received, why)
    }

    fn entries(&self, conversation: ConversationId) -> Answer<Vec<Entry>> {
        self.memory.entries(conversation)
    }

    fn keep_opening(&self, conversation: ConversationId, opening: Entry) -> Answer<Entry> {
        self.memory.keep_opening(conversation, opening)
    }

    fn append(&self, conversation: ConversationId, turn: TurnId, entry: &Entry) -> Answer<bool> {
        self.memory.append(conversation, turn, entry)
    }

    fn finish(
        &self,
        conversation: ConversationId,
        turn: TurnId,
        end: &End,
        question: Option<&str>,
    ) -> Answer<()> {
        self.memory.finish(conversation, turn, end, question)
    }

    fn interrupt(&self, conversation: ConversationId, why: &str) -> Answer<Option<TurnId>> {
        self.memory.interrupt(conversation, why)
    }

    fn leftovers(&self) -> Answer<Leftovers> {
        self.memory.leftovers()
    }

    fn earlier(&self, conversation: ConversationId) -> Answer<Vec<(String, String, String)>> {
        self.memory.earlier(conversation)
    }

    fn count(&self, conversation: ConversationId, model: &str, usage: &Usage, cost: Option<f64>) {
        self.memory.count(conversation, model, usage, cost);
    }
}
