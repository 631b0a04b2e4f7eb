//! A hook's answer on standard output.

use serde::Deserialize;
use serde_json::Value;

use super::run::Fault;
use super::settings::{Hook, Kind, Sees};

/// The answer; empty output is [`Answer::Continue`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Answer {
    // With braces, so that serde rejects unknown fields.
    Continue {},
    Refuse { reason: String },
    Replace { input: Value },
}

impl Answer {
    /// Parses the output of `hook` for an event of this kind.
    pub fn read(output: &[u8], hook: &Hook, kind: Kind) -> Result<Self, Fault> {
        let output = output.trim_ascii();
        if output.is_empty() {
            return Ok(Self::Continue {});
        }
        let answer = serde_json::from_slice(output).map_err(|error| {
            // Without the output itself, which may contain a note's text.
            let (line, column) = (error.line(), error.column());
            Fault::Answer(format!(
                "it is not an answer at line {line}, column {column}: {{\"decision\": \"continue\"}}, \
                 \"refuse\" with a `reason` or \"replace\" with an `input` is one"
            ))
        })?;
        match &answer {
            Self::Replace { .. } if !kind.may_replace() => {
                Err(Fault::Answer(format!("nothing can be replaced in `{}`", kind.word())))
            }
            Self::Replace { input } if kind == Kind::MessageReceived && !input.is_string() => {
                Err(Fault::Answer("a message can only be replaced by a text".to_owned()))
            }
            Self::Replace { .. } if hook.sees < Sees::Texts => {
                Err(Fault::Answer("only a hook with `sees = \"texts\"` may replace".to_owned()))
            }
            _ => Ok(answer),
        }
    }
}
