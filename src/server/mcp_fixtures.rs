//! The conformance suite's fixtures that need the server: states, streams and events. Only with the
//! feature `conformance`.

use std::time::Instant;

use axum::response::Response;
use futures_util::{StreamExt as _, stream};

use super::events::Event;
use super::http::Entered;
use super::{SharedServer, mcp_streams};
use crate::mcp::fixtures::{Fixture, States};
use crate::protocol::events::{ChangedKind, EntryKind};

/// The pause between two messages.
const STEP: std::time::Duration = std::time::Duration::from_millis(50);

impl States for SharedServer {
    fn make(&self, purpose: &str) -> String {
        let mut random = [0; 16];
        let _ = getrandom::fill(&mut random);
        self.question_challenges.nonce_for(purpose, u128::from_le_bytes(random), Instant::now())
    }

    fn take(&self, purpose: &str, state: &str) -> bool {
        self.question_challenges.take_for(purpose, state, Instant::now())
    }
}

pub(super) fn answer(entered: &Entered, fixture: Fixture) -> Response {
    let events = &entered.shared.events;
    match &*fixture.name {
        "test_trigger_tool_change" => events.publish(Event::ConfigReloaded {
            changed: vec!["mcp.tools".to_owned()],
            needs_restart: Vec::new(),
        }),
        "test_trigger_prompt_change" => events.publish(Event::Changed {
            kind: ChangedKind::Created,
            path: "Templates/Fixture.md".to_owned(),
            from: None,
            entry: EntryKind::File,
        }),
        _ => {}
    }
    let answer = fixture.answer(&*entered.shared);
    if fixture.progress.is_none() || fixture.name != "test_tool_with_progress" {
        return mcp_streams::json(answer);
    }
    let messages: Vec<String> =
        (0..3).map(|step| fixture.progress(step)).chain([answer.1]).collect();
    let messages = stream::iter(messages).then(|message| async move {
        tokio::time::sleep(STEP).await;
        message
    });
    mcp_streams::response(entered.unread.clone(), messages)
}
