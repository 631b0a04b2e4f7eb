//! `replace` and `split` by pattern, as in JavaScript.

use regex::Captures;

use super::super::compare::show::{LONGEST_TEXT, TooLong};
use super::super::value::{Pattern, Value};

/// The text with the first match replaced, or with all of them (flag `g`). In the replacement `$1` is a group, `$&`
/// the match, `$<name>` a named group, `` $` `` and `$'` the text before and after it, `$$` a dollar sign.
pub(super) fn replaced(pattern: &Pattern, text: &str, with: &str) -> Result<String, String> {
    let most = if pattern.is_global() { usize::MAX } else { 1 };
    let mut output = String::new();
    let mut done = 0;
    for captures in pattern.regex.captures_iter(text).take(most) {
        let Some(all) = captures.get(0) else { continue };
        output.push_str(&text[done..all.start()]);
        expand(&captures, text, with, &mut output);
        done = all.end();
        if output.len() > LONGEST_TEXT {
            return Err(TooLong.to_string());
        }
    }
    output.push_str(&text[done..]);
    Ok(output)
}

fn expand(captures: &Captures<'_>, text: &str, with: &str, output: &mut String) {
    let all = captures.get(0).map_or(0..0, |all| all.range());
    let mut rest = with;
    while let Some(at) = rest.find('$') {
        output.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let taken = match after.bytes().next() {
            Some(b'$') => {
                output.push('$');
                1
            }
            Some(b'&') => {
                output.push_str(&text[all.clone()]);
                1
            }
            Some(b'`') => {
                output.push_str(&text[..all.start]);
                1
            }
            Some(b'\'') => {
                output.push_str(&text[all.end..]);
                1
            }
            Some(b'<') => insert_named_group(captures, after, output),
            Some(b'0'..=b'9') => insert_numbered_group(captures, after, output),
            _ => 0,
        };
        if taken == 0 {
            output.push('$');
        }
        rest = &after[taken..];
    }
    output.push_str(rest);
}

/// Parses `<name>` and gives its length in bytes; `None` if the pattern has no such group.
fn insert_named_group(captures: &Captures<'_>, after: &str, output: &mut String) -> usize {
    let Some(end) = after.find('>') else { return 0 };
    match captures.name(&after[1..end]) {
        Some(group) => output.push_str(group.as_str()),
        // A group that did not match is empty.
        None if captures.len() > 1 => {}
        None => return 0,
    }
    end + 1
}

/// `1` to `99`; two digits if there are that many groups.
fn insert_numbered_group(captures: &Captures<'_>, after: &str, output: &mut String) -> usize {
    for digits in [2, 1] {
        let number =
            after.get(..digits).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let number = number.and_then(|text| text.parse::<usize>().ok());
        if let Some(number) = number.filter(|number| (1..captures.len()).contains(number)) {
            output.push_str(captures.get(number).map_or("", |group| group.as_str()));
            return digits;
        }
    }
    0
}

/// The texts between matches, with the groups of each match between them; the first `most` of all.
pub(super) fn split(pattern: &Pattern, text: &str, most: usize) -> Vec<Value> {
    let mut parts = Vec::new();
    if text.is_empty() {
        if !pattern.regex.is_match(text) && most > 0 {
            parts.push(Value::text(""));
        }
        return parts;
    }
    let (mut begin, mut search) = (0, 0);
    while search < text.len() && parts.len() < most {
        let Some(captures) = pattern.regex.captures_at(text, search) else { break };
        let all = captures.get(0).map_or(0..0, |all| all.range());
        if all.start >= text.len() {
            break;
        }
        if all.end == begin {
            // An empty match at the start of a part does not split.
            search += text[search..].chars().next().map_or(1, char::len_utf8);
            continue;
        }
        parts.push(Value::text(&text[begin..all.start]));
        for group in captures.iter().skip(1) {
            parts.push(group.map_or(Value::Null, |group| Value::text(group.as_str())));
        }
        begin = all.end;
        search = if all.is_empty() {
            begin + text[begin..].chars().next().map_or(1, char::len_utf8)
        } else {
            begin
        };
    }
    parts.push(Value::text(&text[begin..]));
    parts.truncate(most);
    parts
}
