//! Expressions and queries over a vault in memory.

mod classic;
mod functions;
mod limits;
pub(crate) mod memory;
mod operators;
mod recorded;
mod views;

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::ast::Expression;
use super::eval::{Evaluator, Prepared, Scope};
use super::parse::{Options, parse};
use super::value::{FileId, Value};
use memory::{Memory, Note};

/// 2026-11-24 12:00 in UTC.
const NOW: i64 = 1_795_521_600_000;

fn parsed(text: &str) -> Arc<Expression> {
    let options = Options { allows_extensions: true, ..Options::default() };
    Arc::new(parse(text, options).unwrap_or_else(|fault| panic!("{text}: {fault:?}")))
}

pub(crate) fn scope(source: &Memory) -> Scope<'_> {
    Scope { source, now: NOW, zone: &chrono::Utc, this: None, seed: 1, formulas: &[] }
}

/// The value of an expression for the first note of a vault.
fn value(source: &Memory, text: &str) -> Value {
    let mut evaluator = Evaluator::new(scope(source));
    evaluator.begin(Some(FileId(0)));
    evaluator.value(&Prepared::new(&parsed(text), source))
}

fn json_of(source: &Memory, text: &str) -> Json {
    let value = value(source, text);
    Evaluator::new(scope(source)).compare().json(&value)
}

/// One note with a value of each type, a second one that the first links to, and an attachment.
fn sample() -> Memory {
    let mut memory = Memory::default();
    memory.add(Note {
        properties: json!({
            "status": "open", "price": 12.5, "done": false, "Due": "2026-12-01", "tags": ["work", "project/a"],
            "at": "2026-11-24T10:30", "other": "[[Other|Shown]]", "people": ["[[Other]]", "Ada"],
            "empty": null, "nested": {"Key": 1, "list": [1, 2]}, "due-date": "x",
        }),
        tags: &["work", "project/a"],
        links: &["Other", "Missing#Part", "Pictures/a.png"],
        embeds: &["Pictures/a.png"],
        text: "# First\nSome words of text.\n## Second\nMore.\n",
        size: 2048,
        ..Note::at("Folder/Row.md")
    });
    memory.add(Note {
        links: &["Row"],
        properties: json!({"status": "done"}),
        ..Note::at("Other.md")
    });
    memory.add(Note::at("Pictures/a.png"));
    memory
}

/// Asserts what expressions give, as JSON; an error as the text `error`.
#[track_caller]
fn all(cases: &[(&str, Json)]) {
    let sample = sample();
    let mut wrong = Vec::new();
    for (text, expected) in cases {
        let mut given = json_of(&sample, text);
        if given.get("error").is_some() && expected == "error" {
            given = json!("error");
        }
        // Numbers are equal whether they are written with a fraction or without.
        let is_same = match (given.as_f64(), expected.as_f64()) {
            (Some(a), Some(b)) => a == b,
            _ => given == *expected,
        };
        if !is_same {
            wrong.push(format!("{text}\n   gives {given}\n  not    {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
