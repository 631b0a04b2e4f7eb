//! Answers of foreign tools as text, long ones in parts.

use std::collections::VecDeque;
use std::sync::Mutex;

use crate::locks::lock;

use serde_json::Value;

/// Bytes of an answer that a caller gets at once.
const PART: usize = 20_000;

/// The most long answers that are stored.
const HELD: usize = 16;

/// Bytes for the last line, which says how to continue.
const LAST_LINE: usize = 200;

/// The text of an answer, and whether it is an error. Other content is named, not fetched.
pub(super) fn text(answer: &Value) -> (String, bool) {
    let is_error = answer["isError"] == true;
    let items = answer["content"].as_array().map_or(&[][..], Vec::as_slice);
    let parts: Vec<String> = items.iter().map(part).collect();
    let text = match (parts.join("\n"), &answer["structuredContent"]) {
        (text, Value::Null) => text,
        (text, data) if text.trim().is_empty() => data.to_string(),
        (text, _) => text,
    };
    (text, is_error)
}

fn part(item: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let kind = |value: &Value| {
        let kind = value.as_str().unwrap_or("of an unknown kind");
        kind.chars().take(60).collect::<String>()
    };
    match item["type"].as_str() {
        Some("text") => text(&item["text"]),
        Some("resource") if item["resource"]["text"].is_string() => text(&item["resource"]["text"]),
        Some("resource_link") => {
            format!("(a link that was not followed: {})", kind(&item["uri"]))
        }
        Some("image" | "audio") => {
            format!("(left out: {} {})", kind(&item["type"]), kind(&item["mimeType"]))
        }
        _ => format!("(left out: {})", kind(&item["type"])),
    }
}

/// Long answers, until newer ones replace them.
#[derive(Debug, Default)]
pub(super) struct Answers(Mutex<StoredAnswers>);

#[derive(Debug, Default)]
struct StoredAnswers {
    last: u64,
    answers: VecDeque<Answer>,
}

#[derive(Debug)]
struct Answer {
    number: u64,
    /// The caller; only it can read the rest.
    reader: String,
    text: String,
}

impl Answers {
    /// The first part of `text`, and how to read the rest. The caller accepts `max_chars`
    /// characters.
    pub fn begin(&self, reader: &str, text: String, max_chars: usize) -> String {
        if text.len() <= part_in(max_chars) {
            return text;
        }
        let mut stored = lock(&self.0);
        stored.last += 1;
        let number = stored.last;
        let shown = cut_answer(number, &text, 0, max_chars);
        stored.answers.push_back(Answer { number, reader: reader.to_owned(), text });
        if stored.answers.len() > HELD {
            stored.answers.pop_front();
        }
        shown
    }

    /// The part of an answer from byte `from` on; `None` if this reader has no such answer.
    pub fn read_on(
        &self,
        reader: &str,
        number: u64,
        from: usize,
        max_chars: usize,
    ) -> Option<String> {
        let stored = lock(&self.0);
        let is_it = |answer: &&Answer| answer.number == number && answer.reader == reader;
        let text = &stored.answers.iter().find(is_it)?.text;
        let from = boundary(text, from);
        Some(cut_answer(number, text, from, max_chars))
    }
}

fn part_in(max_chars: usize) -> usize {
    PART.min(max_chars.saturating_sub(LAST_LINE)).max(LAST_LINE)
}

/// The end of the last whole character before byte `at`.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn cut_answer(number: u64, text: &str, from: usize, max_chars: usize) -> String {
    let most = part_in(max_chars);
    let rest = &text[from..];
    if rest.len() <= most {
        return rest.to_owned();
    }
    let until = from + boundary(rest, most);
    let all = text.len();
    format!(
        "{}\n[bytes {from} to {until} of {all}; read_answer with answer {number} and from {until} reads on]",
        &text[from..until]
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_answer_is_read_on_by_its_caller_alone() {
        let answers = Answers::default();
        let whole: String = (0..9_000).map(|number| format!("{number}ä\n")).collect();
        let mut read = answers.begin("one", whole.clone(), usize::MAX);
        let mut got = String::new();
        loop {
            assert!(read.len() < PART + LAST_LINE);
            let Some((text, last)) =
                read.rsplit_once('\n').filter(|(_, it)| it.starts_with("[bytes"))
            else {
                got.push_str(&read);
                break;
            };
            got.push_str(text);
            let from = last.rsplit_once("from ").unwrap().1.split(' ').next().unwrap();
            assert!(answers.read_on("two", 1, 0, usize::MAX).is_none());
            read = answers.read_on("one", 1, from.parse().unwrap(), usize::MAX).unwrap();
        }
        assert_eq!(got, whole);
        assert_eq!(answers.begin("one", "short".to_owned(), usize::MAX), "short");
        for _ in 0..HELD {
            answers.begin("one", whole.clone(), usize::MAX);
        }
        assert!(answers.read_on("one", 1, 0, usize::MAX).is_none(), "pushed out");
    }

    #[test]
    fn what_is_no_text_is_named_and_not_fetched() {
        let answer = json!({ "content": [
            { "type": "text", "text": "a" },
            { "type": "image", "mimeType": "image/png", "data": "eA==" },
            { "type": "resource_link", "uri": "https://example.com/x" },
            { "type": "resource", "resource": { "uri": "x:y", "text": "b" } },
        ], "structuredContent": { "c": 1 } });
        let (text, is_error) = text(&answer);
        let links =
            "(left out: image image/png)\n(a link that was not followed: https://example.com/x)";
        assert_eq!(text, format!("a\n{links}\nb"));
        assert!(!is_error);
        let data = json!({ "content": [], "structuredContent": { "c": 1 }, "isError": true });
        assert_eq!(super::text(&data), ("{\"c\":1}".to_owned(), true));
    }
}
