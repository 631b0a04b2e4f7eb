//! Calls of tools and lookups, and their answers on the wire.

use std::convert::Infallible;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::Era;
use super::ask::Reply;
use super::fault::{Fault, INTERNAL};
use super::identity::sign;
use super::lookup::{self, Lookup};
use crate::protocol::envelope::{self, RequestId};
use crate::tools::{Answer, Definition, Facts, Image, Tier, ToolError};

#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub id: RequestId,
    pub era: Era,
    /// The client's name, if the message has it.
    pub client: Option<String>,
    pub tool: String,
    pub arguments: Map<String, Value>,
    pub can_ask: bool,
    /// The client's answer to the question of an earlier attempt at this call.
    pub reply: Option<Reply>,
    what: What,
    /// The token for progress notifications, if the client wants them.
    progress: Option<Value>,
}

#[derive(Debug, Clone, PartialEq)]
enum What {
    Tool { changes: bool },
    Lookup(Lookup),
}

/// An answer with its HTTP status.
pub type Answered = (u16, String);

impl Call {
    pub(super) fn new(
        id: RequestId,
        era: Era,
        client: Option<String>,
        tool: &Definition,
        arguments: Map<String, Value>,
        progress: Option<Value>,
    ) -> Self {
        let what = What::Tool { changes: tool.tier != Tier::Safe };
        let (can_ask, reply) = (false, None);
        Self { id, era, client, tool: tool.name.clone(), arguments, can_ask, reply, what, progress }
    }

    pub(super) fn lookup(
        id: RequestId,
        era: Era,
        client: Option<String>,
        method: &str,
        (lookup, arguments): lookup::LookupCall,
    ) -> Self {
        let (tool, what) = (method.to_owned(), What::Lookup(lookup));
        let (can_ask, reply) = (false, None);
        Self { id, era, client, tool, arguments, can_ask, reply, what, progress: None }
    }

    pub fn wants_progress(&self) -> bool {
        self.progress.is_some()
    }

    /// A progress notification; `step` counts from 1.
    pub fn progress(&self, step: u64, is_asking: bool) -> String {
        let message = if is_asking {
            "waiting for the user to agree to it in one of their own programs"
        } else {
            "at work"
        };
        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": {
            "progressToken": self.progress, "progress": step, "message": message,
        } })
        .to_string()
    }

    /// Whether it is a lookup, which only reads and is quick.
    pub fn is_lookup(&self) -> bool {
        matches!(self.what, What::Lookup(_))
    }

    /// The answer to a completed call, in at most `most` bytes.
    pub fn answer(&self, answered: Result<Answer<Facts>, ToolError>, most: u64) -> Answered {
        match &self.what {
            What::Tool { changes } => (200, self.tool_answer(answered, *changes, most)),
            What::Lookup(lookup) => self.found(lookup, answered, most),
        }
    }

    fn tool_answer(
        &self,
        answered: Result<Answer<Facts>, ToolError>,
        changes: bool,
        most: u64,
    ) -> String {
        let mut image = None;
        let (text, is_error) = match answered {
            Ok(answer) if changes => (text_of_change(answer), false),
            Ok(answer) => {
                image = answer.image;
                (answer.text, false)
            }
            Err(error) => (format!("{}: {}", error.code, error.text()), true),
        };
        let written = self.result(&text, image.as_deref(), is_error);
        if written.len() as u64 <= most {
            return written;
        }
        let bytes = written.len();
        self.tool_failed(
            &format!("the tool did its work, but its answer has {bytes} bytes"),
            Some("narrow the request: a folder further down, fewer entries, matches or lines at a time"),
        )
    }

    fn found(
        &self,
        lookup: &Lookup,
        answered: Result<Answer<Facts>, ToolError>,
        most: u64,
    ) -> Answered {
        let found = match answered {
            Ok(answer) => answer.data.value(),
            Err(error) => return self.fault(&lookup.fault(&error, self.era)),
        };
        let mut result = lookup.result(&found, self.era);
        if let (Era::Modern, Some(result)) = (self.era, result.as_object_mut()) {
            sign(result);
        }
        let text = json!({ "jsonrpc": "2.0", "id": self.id, "result": result }).to_string();
        if text.len() as u64 <= most {
            (200, text)
        } else {
            self.fault(&lookup.too_long(text.len()))
        }
    }

    fn fault(&self, fault: &Fault) -> Answered {
        (fault.status(self.era), fault.text(Some(&self.id)))
    }

    /// The answer to a call without a result.
    pub fn failed(&self, message: &str, hint: Option<&str>) -> Answered {
        match self.what {
            What::Tool { .. } => (200, self.tool_failed(message, hint)),
            What::Lookup(_) => self.fault(&Fault::new(INTERNAL, message)),
        }
    }

    fn tool_failed(&self, message: &str, hint: Option<&str>) -> String {
        match hint {
            Some(hint) => self.result(&format!("{message}\nhint: {hint}"), None, true),
            None => self.result(message, None, true),
        }
    }

    /// The answer to a call that was made in a guest's turn. `images` are media types and base64.
    pub fn guest_answer(&self, text: &str, images: &[(&str, &str)], is_error: bool) -> Answered {
        let image = |(mime, data): &(&str, &str)| json!({ "type": "image", "data": data, "mimeType": mime });
        let mut content = vec![json!({ "type": "text", "text": text })];
        content.extend(images.iter().map(image));
        let mut result = Map::new();
        result.insert("content".to_owned(), content.into());
        result.insert("isError".to_owned(), is_error.into());
        if self.era == Era::Modern {
            sign(&mut result);
        }
        (200, json!({ "jsonrpc": "2.0", "id": self.id, "result": result }).to_string())
    }

    /// The answer to a call that was not started.
    pub fn refused(&self, error: impl Into<Fault>) -> Answered {
        self.fault(&error.into())
    }

    /// Text and image: clients that get structured content do not show the text to their model.
    fn result(&self, text: &str, image: Option<&Image>, is_error: bool) -> String {
        let image = image.map(|image| {
            let data = STANDARD.encode(&image.bytes);
            json!({ "type": "image", "data": data, "mimeType": image.mime }).to_string()
        });
        let written = envelope::answer_of(&self.id, text.len() + text.len() / 16 + 256, |json| {
            json.extend_from_slice(br#"{"content":[{"type":"text","text":"#);
            envelope::write_text(text, json);
            json.push(b'}');
            if let Some(image) = image {
                json.push(b',');
                json.extend_from_slice(image.as_bytes());
            }
            json.extend_from_slice(if is_error {
                br#"],"isError":true"#
            } else {
                br#"],"isError":false"#
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

/// Adds how to undo a change.
fn text_of_change(answer: Answer<Facts>) -> String {
    match answer.data.value()["change_set"].as_u64() {
        Some(set) => format!("{}\nchange set {set}; `undo` undoes it", answer.text),
        None => answer.text,
    }
}
