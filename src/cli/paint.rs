//! Colours tools' answers: the notes and hits of a search, the lines of a diff.

use std::sync::LazyLock;

use regex::Regex;

use super::Output;
use super::output::Paint;

/// `text` with its diffs coloured, if stdout is.
pub fn differences(output: &Output, text: &str) -> String {
    if !output.color_stdout() {
        return text.to_owned();
    }
    // The indent of the current diff.
    let mut within: Option<usize> = None;
    let painted = text.lines().map(|line| {
        let trimmed = line.trim_start_matches(' ');
        if trimmed.starts_with("--- a/") || trimmed.starts_with("--- /dev/null") {
            within = Some(line.len() - trimmed.len());
        }
        let Some(indent) = within else { return line.to_owned() };
        let is_deep = line.len() >= indent && line[..indent].bytes().all(|byte| byte == b' ');
        let paint =
            match line.get(indent..).filter(|_| is_deep).and_then(|rest| rest.chars().next()) {
                Some('+') => Paint::Green,
                Some('-') => Paint::Red,
                Some('@') => Paint::Yellow,
                Some(' ' | '\\') => return line.to_owned(),
                _ => {
                    within = None;
                    return line.to_owned();
                }
            };
        output.paint(paint, line)
    });
    painted.collect::<Vec<_>>().join("\n")
}

/// The answer of a search with note names, line numbers and matches of `pattern` coloured, if stdout
/// is.
pub fn hits(output: &Output, text: &str, pattern: &str) -> String {
    static NAME: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^(\S.*)( \(\d+ match(?:es)?\)|: \d+)$").ok());
    static LINE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^( +)(\d+)([:-] )(.*)$").ok());
    let (Some(name), Some(numbered)) = (NAME.as_ref(), LINE.as_ref()) else {
        return text.to_owned();
    };
    if !output.color_stdout() {
        return text.to_owned();
    }
    // Smart case, as in the tool.
    let ignores_case = !pattern.chars().any(char::is_uppercase);
    let found = regex::RegexBuilder::new(pattern).case_insensitive(ignores_case).build().ok();
    let painted = text.lines().map(|line| {
        if let Some(parts) = name.captures(line) {
            return format!("{}{}", output.paint(Paint::Bold, &parts[1]), &parts[2]);
        }
        let Some(parts) = numbered.captures(line) else { return line.to_owned() };
        let text = match found.as_ref().filter(|_| &parts[3] == ": ") {
            None => parts[4].to_owned(),
            Some(found) => marked(output, &parts[4], found),
        };
        format!("{}{}{}{text}", &parts[1], output.paint(Paint::Green, &parts[2]), &parts[3])
    });
    painted.collect::<Vec<_>>().join("\n")
}

fn marked(output: &Output, text: &str, found: &Regex) -> String {
    let mut marked = String::new();
    let mut end = 0;
    for hit in found.find_iter(text).filter(|hit| !hit.is_empty()) {
        marked.push_str(&text[end..hit.start()]);
        marked.push_str(&output.paint(Paint::Red, hit.as_str()));
        end = hit.end();
    }
    marked + &text[end..]
}
