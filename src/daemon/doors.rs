//! Passes the agent's events to clients.

use futures_util::future::BoxFuture;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::agent::ports::{TurnUpdate, Update, UpdateSink};
use crate::agent::toolbox::Person;
use crate::agent::turn::Show;
use crate::calls::{Answerer, Decision, Question};
use crate::methods::told::shown;
use crate::policy::Scope;
use crate::server::approvals::{Approvals, Patience};
use crate::server::events::{Event, Events};

/// A listener for events of turns.
type Hearer = Box<dyn Fn(&TurnUpdate) + Send + Sync>;

/// Passes events to clients once the server runs.
#[derive(Default)]
pub struct Doors {
    server: OnceLock<(Events, Approvals)>,
    hearer: OnceLock<Hearer>,
    root: PathBuf,
}

impl Doors {
    pub fn new(root: &Path) -> Self {
        Self { server: OnceLock::new(), hearer: OnceLock::new(), root: root.to_owned() }
    }

    /// Adds a listener for all events of turns; it must not block.
    pub fn tell_too(&self, hear: Box<dyn Fn(&TurnUpdate) + Send + Sync>) {
        let _ = self.hearer.set(hear);
    }

    pub fn open(&self, events: Events, approvals: Approvals) {
        let _ = self.server.set((events, approvals));
    }
}

impl Person for Doors {
    fn ask(&self, question: &Question, call: String) -> BoxFuture<'static, (Decision, Answerer)> {
        let Some((_, approvals)) = self.server.get() else {
            return Box::pin(std::future::ready((Decision::Late, Answerer::default())));
        };
        // A person who spoke may be coming to the screen to answer; for other callers nobody would.
        let for_somebody = question.caller().scope == Scope::Voice;
        let patience = Patience { limit: None, for_somebody };
        Box::pin(approvals.ask_about(question, Some(call), patience))
    }
}

impl UpdateSink for Doors {
    fn tell(&self, told: TurnUpdate) {
        if let Some(hear) = self.hearer.get() {
            hear(&told);
        }
        let Some((events, _)) = self.server.get() else { return };
        let TurnUpdate { conversation, turn, what } = told;
        let (turn, from) = (turn.to_string(), speaker(&what));
        for told in shown(&turn, what, &self.root) {
            let (session, turn) = (conversation.to_string(), Some(turn.clone()));
            events.publish(Event::Session { session, turn, told, from });
        }
    }
}

fn speaker(what: &Update) -> Option<u64> {
    match what {
        Update::Show(Show::User(said)) => said.from,
        _ => None,
    }
}
