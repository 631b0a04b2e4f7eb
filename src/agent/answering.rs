//! Who answers in a turn: the conversation's agent, and its models.

use std::sync::Arc;

use super::named::{ActiveAgent, AgentMissing};
use super::ports::{Model, Models};
use super::shared::SharedAgent;
use crate::conversation::{Chosen, ConversationId};
use crate::guests;
use crate::llm::Origin;

/// The first rounds of a turn, which use `agent.fast_model`.
const FAST_ROUNDS: u32 = 2;

#[derive(Debug, Default)]
pub(super) struct Answering {
    /// The chosen agent; `None`: the steward's own.
    pub agent: Option<Arc<ActiveAgent>>,
    pub model: Option<Model>,
    /// The model for the first rounds.
    fast: Option<Model>,
    pub missing: Option<AgentMissing>,
}

/// The models of a conversation.
enum Choice {
    /// The models of the chain.
    Usual,
    /// The chain, beginning with this model.
    First(String),
    /// Only the agent's model: its notes go nowhere else.
    Alone(String),
}

impl Answering {
    /// The agent and model for a conversation by the current settings. Reads key files; may block.
    pub fn of(shared: &SharedAgent, conversation: ConversationId) -> Self {
        let chosen = shared.ports.memory.chosen(conversation);
        let agent = match active(shared, &chosen) {
            Ok(agent) => agent,
            Err(missing) => return Self { missing: Some(missing), ..Self::default() },
        };
        let models = &*shared.ports.models;
        if let Some(agent) = &agent
            && let Some(guest) = agent.settings.guest(&agent.name)
        {
            return match models.guest(guest, conversation) {
                Ok(model) => {
                    let agent = Some(Arc::new(agent.clone()));
                    Self { agent, model: Some(model), ..Self::default() }
                }
                Err(reason) => {
                    let missing = AgentMissing::NoGuest { name: agent.name.clone(), reason };
                    Self { missing: Some(missing), ..Self::default() }
                }
            };
        }
        let choice = choice(models, &chosen, agent.as_ref());
        let model = match (&choice, &agent) {
            (Choice::Alone(model), Some(agent)) => match models.alone(model) {
                Ok(model) => Some(model),
                Err(reason) => {
                    let missing = AgentMissing::NoModel { name: agent.name.clone(), reason };
                    return Self { missing: Some(missing), ..Self::default() };
                }
            },
            (Choice::First(model), _) => models.preferring(model),
            _ => models.current(),
        };
        let settings = shared.settings.load();
        let fast = match (&choice, &model) {
            (Choice::Usual, Some(_)) if !settings.fast_model.is_empty() => {
                models.beginning_with_model(&settings.fast_model, None)
            }
            _ => None,
        };
        Self { agent: agent.map(Arc::new), model, fast, missing: None }
    }

    /// The model for a round of the turn, from 1. `fits` says whether the history fits into a window.
    pub fn model_for(&self, round: u32, fits: impl Fn(u64) -> bool) -> Option<&Model> {
        let fast = self.fast.as_ref().filter(|_| round <= FAST_ROUNDS);
        fast.filter(|fast| fits(fast.window)).or(self.model.as_ref())
    }

    pub fn is_guest(&self) -> bool {
        self.agent.as_ref().is_some_and(|agent| agent.settings.is_guest())
    }

    /// The guest, as the origin of an interrupted answer.
    pub fn origin(&self) -> Option<Origin> {
        let guest = self.agent.as_ref().filter(|_| self.is_guest());
        guest.map(|agent| guests::origin(&agent.name))
    }

    pub fn temperature(&self) -> Option<f64> {
        self.agent.as_ref().and_then(|agent| agent.settings.temperature)
    }
}

/// The model for the title and the summary of a conversation. Reads key files; may block.
pub(super) fn summarizer(shared: &SharedAgent, conversation: ConversationId) -> Option<Model> {
    let chosen = shared.ports.memory.chosen(conversation);
    // The agent's notes may be meant only for its own model, so no other may read them.
    let agent = active(shared, &chosen).ok()?;
    if agent.as_ref().is_some_and(|agent| agent.settings.is_guest()) {
        return None;
    }
    let models = &*shared.ports.models;
    let settings = shared.settings.load();
    let summary = Some(settings.summary_model.as_str()).filter(|model| !model.is_empty());
    match (choice(models, &chosen, agent.as_ref()), summary) {
        (Choice::Alone(model), _) => models.alone(&model).ok(),
        (Choice::First(model), Some(summary)) => models.beginning_with_model(summary, Some(&model)),
        (Choice::First(model), None) => models.preferring(&model),
        (Choice::Usual, Some(summary)) => models.beginning_with_model(summary, None),
        (Choice::Usual, None) => models.current(),
    }
}

fn active(shared: &SharedAgent, chosen: &Chosen) -> Result<Option<ActiveAgent>, AgentMissing> {
    let Some(name) = &chosen.agent else { return Ok(None) };
    let settings = shared.agents.load().find(name)?.clone();
    Ok(Some(ActiveAgent { name: name.clone(), settings }))
}

fn choice(models: &dyn Models, chosen: &Chosen, agent: Option<&ActiveAgent>) -> Choice {
    let own = agent.and_then(|agent| agent.settings.model.clone());
    match (chosen.model.clone(), own) {
        (Some(model), own) if own.as_ref() != Some(&model) && models.has(&model) => {
            Choice::First(model)
        }
        (_, Some(own)) => Choice::Alone(own),
        (_, None) => Choice::Usual,
    }
}
