//! The call of a tool, and what its answer is on the wire.

use std::convert::Infallible;

use serde_json::{Map, Value};

use super::Era;
use super::fault::Fault;
use super::identity::sign;
use crate::protocol::envelope::{self, RequestId};
use crate::protocol::error::ErrorObject;
use crate::protocol::quoted;
use crate::tools::{Answer, Definition, Facts, Tier, ToolError};

/// A tool that a client calls.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// What the answer must carry.
    pub id: RequestId,
    /// How the client speaks.
    pub era: Era,
    /// What it calls itself, where this message says so.
    pub client: Option<String>,
    pub tool: String,
    pub arguments: Map<String, Value>,
    changes: bool,
}

impl Call {
    pub(super) fn new(
        id: RequestId,
        era: Era,
        client: Option<String>,
        tool: &Definition,
        arguments: Map<String, Value>,
    ) -> Self {
        let changes = tool.tier != Tier::Safe;
        Self { id, era, client, tool: tool.name.clone(), arguments, changes }
    }

    /// What the tool answered, as text for a model: at most `most` bytes.
    #[must_use]
    pub fn answer(&self, answered: Result<Answer<Facts>, ToolError>, most: u64) -> String {
        let (text, is_error) = match answered {
            Ok(answer) => (self.text_of(answer), false),
            Err(error) => (format!("{}: {}", error.code, error.text()), true),
        };
        let written = self.result(&text, is_error);
        if written.len() as u64 <= most {
            return written;
        }
        let bytes = written.len();
        self.failed(
            &format!("the tool did its work, but its answer has {bytes} bytes"),
            Some("narrow the request: a folder further down, fewer entries, matches or lines at a time"),
        )
    }

    /// What is said where the tool came to no answer.
    #[must_use]
    pub fn failed(&self, message: &str, hint: Option<&str>) -> String {
        match hint {
            Some(hint) => self.result(&format!("{message}\nhint: {hint}"), true),
            None => self.result(message, true),
        }
    }

    /// What is said to a call that is not begun, and the HTTP status that goes with it.
    #[must_use]
    pub fn refused(&self, error: ErrorObject) -> (u16, String) {
        let fault = Fault::from(error);
        (fault.status(self.era), fault.text(Some(&self.id)))
    }

    /// Whoever reads of a change is told how to take it back.
    fn text_of(&self, answer: Answer<Facts>) -> String {
        let set = self.changes.then(|| answer.data.value()["change_set"].as_u64()).flatten();
        match set {
            Some(set) => format!("{}\nchange set {set}; `undo` takes it back", answer.text),
            None => answer.text,
        }
    }

    /// Text alone: beside structured content, clients show their model no text.
    fn result(&self, text: &str, is_error: bool) -> String {
        let written = envelope::answer_of(&self.id, text.len() + text.len() / 16 + 256, |json| {
            json.extend_from_slice(br#"{"content":[{"type":"text","text":"#);
            quoted::write(text, json);
            json.extend_from_slice(match is_error {
                true => br#"}],"isError":true"#,
                false => br#"}],"isError":false"#,
            });
            if self.era == Era::Modern {
                let mut more = Map::new();
                sign(&mut more);
                let more = Value::Object(more).to_string();
                json.push(b',');
                json.extend_from_slice(&more.as_bytes()[1..more.len() - 1]);
            }
            json.push(b'}');
            Ok::<(), Infallible>(())
        });
        let Ok(text) = written;
        text
    }
}
