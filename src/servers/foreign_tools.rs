//! Definitions of the servers' tools, called like all others.

use serde_json::{Value, json};

use super::offer::{Offer, offers};
use super::{Servers, answers};
use crate::note::code::ErrorCode;
use crate::tools::{
    Answer, Context, Definition, External, Facts, Foreign, ForeignTools, ToolError,
};

/// Reads the rest of a long answer.
const READ_ON: &str = "read_answer";

impl ForeignTools for Servers {
    fn renewed(&self) -> Option<Vec<Definition>> {
        self.tools_changed().then(|| self.definitions())
    }
}

impl Servers {
    /// The allowed tools.
    pub fn definitions(&self) -> Vec<Definition> {
        let settings = self.settings();
        let mut all = Vec::new();
        for (server, tools) in self.allowed() {
            let Some(entry) = settings.entries.get(&server) else { continue };
            for (described, offer) in offers(&server, &tools).0 {
                let is_allowed = entry.allow.contains(&described.name);
                let reaches_out = entry.reaches_out();
                let foreign = Foreign { server: server.clone(), is_allowed, reaches_out };
                all.push(self.definition(foreign, &described.name, &described.sha256, offer));
            }
        }
        if !all.is_empty() {
            all.push(self.read_on());
        }
        all
    }

    fn definition(&self, foreign: Foreign, tool: &str, sha256: &str, offer: Offer) -> Definition {
        let (servers, server) = (self.clone(), foreign.server.clone());
        let (tool, sha256) = (tool.to_owned(), sha256.to_owned());
        let run = move |context: &Context, arguments: &Value| {
            let withdrawn = || context.cancel.is_cancelled();
            let conversation = context.origin.conversation.clone();
            let answer =
                servers.call(&server, &tool, &sha256, arguments, conversation, &withdrawn)?;
            let (text, is_error) = answers::text(&answer);
            if is_error {
                let text: String = text.chars().take(2_000).collect();
                let message = format!("the tool of the server `{server}` failed: {text}");
                return Err(ToolError::plain(ErrorCode::IoError, message));
            }
            let facts = json!({ "server": server, "bytes": text.len() });
            let text = servers.0.answers.begin(&reader(context), text, context.max_chars);
            Ok(Answer::new(text, Facts::from(facts)))
        };
        let whose = format!("[A tool of the server `{}`, not of the steward.]", foreign.server);
        let description = format!("{whose} {}", offer.description);
        Definition::external(External {
            name: offer.name,
            title: offer.title,
            description,
            schema: offer.schema,
            foreign: Some(foreign),
            run: Box::new(run),
        })
    }

    fn read_on(&self) -> Definition {
        let servers = self.clone();
        let run = move |context: &Context, arguments: &Value| {
            let number = |key: &str| arguments[key].as_u64().unwrap_or_default();
            let (answer, from) = (number("answer"), number("from"));
            let from_byte = usize::try_from(from).unwrap_or(usize::MAX);
            let held = &servers.0.answers;
            match held.read_on(&reader(context), answer, from_byte, context.max_chars) {
                Some(text) => Ok(Answer::new(text, Facts::from(json!({ "answer": answer })))),
                None => Err(ToolError::not_found(
                    format!("answer {answer} is no longer stored"),
                    "call the tool again",
                )),
            }
        };
        Definition::external(External {
            name: READ_ON.to_owned(),
            title: "Read on in a long answer".to_owned(),
            description:
                "Reads on in a long answer of a tool of a server, whose last line says the \
                          answer's number and from where."
                    .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "answer": { "type": "integer", "minimum": 1, "description": "The answer's number." },
                    "from": { "type": "integer", "minimum": 0, "description": "The byte to begin with." },
                },
                "required": ["answer", "from"],
                "additionalProperties": false,
            }),
            foreign: None,
            run: Box::new(run),
        })
    }
}

/// Who may read the rest: the conversation, or outside conversations the program.
fn reader(context: &Context) -> String {
    let origin = &context.origin;
    format!("{:?} {}", origin.conversation, origin.caller)
}
