//! `steward today`: the open tasks that are due, found with the search tool.

use chrono::NaiveDate;
use regex::Regex;
use serde_json::{Value, json};

use super::output::Paint;
use super::whole_note::WholeNote;
use super::{Output, Result, Session};
use crate::tools::{SearchFiles, Tool as _};

/// The most tasks requested: the tool's limit.
const MAX_TASKS: u32 = 500;

/// A task, parsed from its line.
#[derive(Debug, PartialEq)]
struct Task {
    path: String,
    line: u64,
    due: NaiveDate,
    text: String,
}

/// Prints the open tasks due today or earlier, the oldest first.
pub fn run(session: &Session) -> Result<()> {
    let today = chrono::Local::now().date_naive();
    let pattern = format!("{}{})", TASK, up_to(today));
    let arguments = json!({
        "pattern": pattern, "ignore_case": false, "context_lines": 0, "max_results": 1000, "max_matches": MAX_TASKS,
    });
    let found = session.call(SearchFiles::NAME, arguments)?.data;
    let read = |path: &str| WholeNote::read(session, path).map(|note| note.text);
    let mut tasks = tasks(&found, &pattern, read)?;
    tasks.sort_by(|a, b| (a.due, &a.path, a.line).cmp(&(b.due, &b.path, b.line)));
    let is_whole = found["not_searched"] == 0 && found["timed_out"] == false;
    if session.output.json() {
        let tasks: Vec<Value> = tasks.iter().map(value).collect();
        session.output.json_value(
            &json!({ "today": today.to_string(), "tasks": tasks, "whole": is_whole }),
        )?;
        return Ok(());
    }
    let mut lines: Vec<String> =
        tasks.iter().map(|task| task_line(&session.output, task, today)).collect();
    lines.push(match tasks.len() {
        0 => "[nothing is due; a task gets its date by `📅 2026-11-21` after its text]".to_owned(),
        1 => "[1 task]".to_owned(),
        number => format!("[{number} tasks]"),
    });
    if !is_whole {
        lines.push("[there are more notes than were searched]".to_owned());
    }
    session.output.text(&lines.join("\n"))
}

/// When a task is due.
const DUE: &str = r"(?:📅\x{FE0F}?\s*|[\[(]due::\s*)(\d{4}-\d{2}-\d{2})";

/// Matches a task that is neither done nor cancelled, up to its due date, as the Tasks plugin and
/// Dataview write it.
const TASK: &str =
    r"^\s*(?:>\s*)*(?:[-*+]|\d+[.)])\s+\[[ /]\]\s.*(?:📅\x{FE0F}?\s*|[\[(]due::\s*)(?:";

/// A pattern for the dates up to `day`, to omit later tasks from the answer.
fn up_to(day: NaiveDate) -> String {
    let text = day.format("%Y-%m-%d").to_string();
    let mut ways = vec![text.clone()];
    for (at, digit) in text.char_indices().filter(|(_, c)| c.is_ascii_digit() && *c != '0') {
        let less = char::from(digit as u8 - 1);
        let rest = text[at + 1..].replace(|c: char| c.is_ascii_digit(), r"\d");
        ways.push(format!("{}[0-{less}]{rest}", &text[..at]));
    }
    ways.join("|")
}

/// The tasks in the search results. A note with more hits than a search shows is read whole.
fn tasks(found: &Value, pattern: &str, read: impl Fn(&str) -> Result<String>) -> Result<Vec<Task>> {
    let wrong = anyhow::Error::from;
    let (pattern, due) = (Regex::new(pattern).map_err(wrong)?, Regex::new(DUE).map_err(wrong)?);
    let mut tasks = Vec::new();
    let mut add = |path: &str, line: u64, text: &str| {
        let Some(day) = due.captures(text).and_then(|found| found[1].parse().ok()) else { return };
        let words = text.split_once("] ").map_or(text, |(_, words)| words).trim();
        tasks.push(Task { path: path.to_owned(), line, due: day, text: words.to_owned() });
    };
    for file in found["files"].as_array().into_iter().flatten() {
        let path = file["path"].as_str().unwrap_or_default();
        if file["matches"].as_u64() > file["shown"].as_u64() {
            let text = read(path)?;
            let lines = (1..).zip(text.lines()).filter(|(_, line)| pattern.is_match(line));
            lines.for_each(|(number, line)| add(path, number, line));
            continue;
        }
        let excerpts = file["excerpts"].as_array().into_iter().flatten();
        let lines = excerpts.flat_map(|lines| lines.as_array().into_iter().flatten());
        for line in lines.filter(|line| line["is_match"] == true) {
            let (number, text) = (line["line"].as_u64(), line["text"].as_str());
            add(path, number.unwrap_or_default(), text.unwrap_or_default());
        }
    }
    Ok(tasks)
}

fn value(task: &Task) -> Value {
    json!({ "path": task.path, "line": task.line, "due": task.due.to_string(), "text": task.text })
}

fn task_line(output: &Output, task: &Task, today: NaiveDate) -> String {
    let paint = if task.due < today { Paint::Red } else { Paint::Bold };
    let due = output.paint(paint, task.due);
    format!("{due}  {}  {}:{}", task.text, task.path, task.line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pattern_takes_every_day_until_today_and_none_after() {
        let day = |text: &str| text.parse::<NaiveDate>().unwrap();
        for today in ["2026-11-23", "2000-01-01", "1999-12-31", "2026-10-09"] {
            let pattern = Regex::new(&format!("^(?:{})$", up_to(day(today)))).unwrap();
            let mut other = day("1998-01-01");
            while other < day("2028-01-01") {
                let is_due = pattern.is_match(&other.to_string());
                assert_eq!(is_due, other <= day(today), "{other} on {today}");
                other = other.succ_opt().unwrap();
            }
        }
    }
}
