//! Reads a complete note of any length through repeated calls of the reading tool.

use serde_json::{Value, json};

use super::{Failure, Result, Session};
use crate::tools::{ReadFile, Tool as _};

/// The error code for a file that is not text.
pub const BINARY: &str = "binary_file";

/// A complete note.
#[derive(Debug)]
pub struct WholeNote {
    /// Its real path.
    pub path: String,
    /// The text; every line ends with a newline.
    pub text: String,
    /// The revision that was read: only that one is overwritten.
    pub revision: String,
}

impl WholeNote {
    pub fn read(session: &Session, name: &str) -> Result<Self> {
        let ask =
            |arguments: Value| Ok::<_, Failure>(session.call(ReadFile::NAME, arguments)?.data);
        let mut page = ask(json!({ "path": name }))?;
        let path = text(&page["path"]);
        let revision = text(&page["revision"]);
        if page["image"].is_object() || page["pages"].is_object() {
            let message = format!("`{path}` is no text");
            return Err(Failure::other(BINARY, message, "open it in a program for such files"));
        }
        let mut lines: Vec<String> = Vec::new();
        let same = |page: &Value| {
            if page["revision"] == json!(revision) {
                Ok(())
            } else {
                Err(Failure::other(
                    "stale_revision",
                    format!("`{path}` was changed while it was read"),
                    "try again",
                ))
            }
        };
        loop {
            same(&page)?;
            let first = page["start_line"].as_u64().unwrap_or(1);
            let cut: Vec<u64> = page["cut_lines"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_u64)
                .collect();
            for (number, line) in (first..).zip(text(&page["content"]).split_terminator('\n')) {
                let mut line = line.to_owned();
                let mut next = cut.contains(&number).then(|| line.chars().count() as u64 + 1);
                while let Some(character) = next {
                    let place =
                        json!({ "path": path, "start_line": number, "start_character": character });
                    let more = ask(place)?;
                    same(&more)?;
                    let piece = text(&more["content"]);
                    line.push_str(piece.strip_suffix('\n').unwrap_or(&piece));
                    next = more["next_start_character"].as_u64();
                }
                lines.push(line);
            }
            match page["next_start_line"].as_u64() {
                Some(next) => page = ask(json!({ "path": path, "start_line": next }))?,
                None => break,
            }
        }
        let text = lines.into_iter().map(|line| line + "\n").collect();
        Ok(Self { path, text, revision })
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
