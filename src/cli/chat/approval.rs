//! Approval questions: how they are shown, and how answers are read.

use super::calls::changed;
use super::look::Look;
use super::markdown::style::Style;
use super::safe;
use crate::cli::server_questions;
use crate::note::path::{visible, visible_lines};
use crate::protocol::diff::DiffChange;
use crate::protocol::permission::{PermissionChange, RequestPermissionParams};
use crate::servers::elicitation;

/// The most diff lines shown in total.
const MAX_LINES: usize = 200;

/// The changes and the reason for the question, in whole lines. Invisible characters are escaped, not
/// removed: a person approves what they see.
pub fn shown(request: &RequestPermissionParams, look: Look) -> String {
    let ours = &request.meta.vault;
    let mut text = look.paint(Style::YELLOW, &format!("? {}", visible(&request.tool_call.title)));
    text.push_str(&format!(" ({})\n", visible(&ours.caller)));
    // A call whose effects are unknown is shown by its arguments.
    let outline = ours.outline.as_deref().filter(|_| ours.changes.is_empty()).unwrap_or_default();
    outline.lines().for_each(|line| text.push_str(&format!("    {}\n", visible(line))));
    let (mut room, mut hidden) = (MAX_LINES, 0);
    for change in &ours.changes {
        let lines = change.diff.lines().count();
        text.push_str(&change_line(&change.action, change.from.as_deref(), &change.path));
        hidden += change.more as usize + lines.saturating_sub(room);
        if room > 0 {
            text.push_str(&changed(&visible_lines(&change.diff), room, look));
            room = room.saturating_sub(lines);
        }
    }
    if hidden > 0 {
        let sum = |of: fn(&PermissionChange) -> u64| ours.changes.iter().map(of).sum::<u64>();
        text.push_str(&format!(
            "  {hidden} more lines of +{} −{}; `steward approvals pending {}` shows all of them\n",
            sum(|change| change.added),
            sum(|change| change.removed),
            ours.question
        ));
    }
    text.push_str(&reasons(request));
    text
}

/// All changes, as `_vault/diff` returned them, and the reason for the question.
pub fn full_text(request: &RequestPermissionParams, changes: &[DiffChange]) -> String {
    let title = visible(&request.tool_call.title);
    let mut text = format!("? {title} ({})\n", visible(&request.meta.vault.caller));
    let mut last = "";
    for change in changes {
        // A long diff comes in several parts.
        if change.id != last {
            text.push_str(&change_line(&change.action, change.from.as_deref(), &change.path));
        }
        last = &change.id;
        for line in visible_lines(change.diff.as_deref().unwrap_or_default()).lines() {
            text.push_str(&format!("    {line}\n"));
        }
        if let Some(reason) = &change.reason {
            text.push_str(&format!("    not shown: {reason}\n"));
        }
    }
    text.push_str(&reasons(request));
    text
}

fn change_line(action: &str, from: Option<&str>, path: &str) -> String {
    let from = from.map(|from| format!("`{}` to ", visible(from))).unwrap_or_default();
    format!("  {} {from}`{}`\n", visible(action).replace('_', " "), visible(path))
}

fn reasons(request: &RequestPermissionParams) -> String {
    let line = |reason: &String| format!("  asked because {}\n", visible(reason));
    request.meta.vault.reasons.iter().map(line).collect()
}

/// The scope of "always allow", if it is offered.
fn always(request: &RequestPermissionParams) -> Option<&str> {
    let option = request.options.iter().find(|option| option.option_id == "allow_always")?;
    Some(&option.name)
}

/// The question as one line; the answer is typed after it.
pub fn prompt(request: &RequestPermissionParams) -> String {
    match always(request) {
        Some(name) => {
            format!("Allow it? [y]es, [a]lways ({}), [N]o or why not ", safe::line(name))
        }
        None if request.meta.vault.tool == elicitation::TOOL => {
            "Answer it? [y, or y and the answer; N] ".to_owned()
        }
        None => "Allow it? [y/N, or why not] ".to_owned(),
    }
}

/// The option that the typed words choose, and the comment; anything that is not a yes is a refusal.
pub fn answer<'a>(request: &RequestPermissionParams, typed: &'a str) -> (&'static str, &'a str) {
    let typed = typed.trim();
    if request.meta.vault.tool == elicitation::TOOL
        && let Some(words) = server_questions::yes(typed)
    {
        return ("allow_once", words);
    }
    match typed.to_lowercase().as_str() {
        "y" | "yes" => ("allow_once", ""),
        "a" | "always" if always(request).is_some() => ("allow_always", ""),
        "n" | "no" | "a" | "always" => ("reject_once", ""),
        _ => ("reject_once", typed),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(folder: bool) -> RequestPermissionParams {
        let mut options =
            vec![json!({"optionId": "allow_once", "name": "Allow once", "kind": "allow_once"})];
        if folder {
            options.push(json!({"optionId": "allow_always",
                "name": "Always allow delete in Garden", "kind": "allow_always"}));
        }
        serde_json::from_value(json!({
            "sessionId": "1",
            "toolCall": {"toolCallId": "c", "title": "delete `Garden`", "kind": "delete",
                "status": "pending", "locations": [], "content": []},
            "options": options,
            "_meta": {"vault": {"tool": "delete", "caller": "agent\u{1b}[2J", "scope": "person",
                "reasons": ["it deletes 23 files"],
                "changes": [
                    {"action": "delete", "path": "Garden", "from": null, "diff": ""},
                    {"action": "write", "path": "a.md", "from": null,
                        "diff": "-x\n+y\u{202e}\n", "added": 9, "removed": 8, "more": 15}],
                "folder": null, "question": 7}},
        }))
        .unwrap()
    }

    #[test]
    fn a_question_is_shown_and_only_a_clear_yes_approves() {
        let look = Look { styled: false, live: false };
        assert_eq!(
            shown(&request(false), look),
            "? delete `Garden` (agent\\u{1b}[2J)\n  delete `Garden`\n  write `a.md`\n    -x\n    +y\\u{202e}\n  \
             15 more lines of +9 −8; `steward approvals pending 7` shows all of them\n  \
             asked because it deletes 23 files\n"
        );
        let mut foreign = request(false);
        foreign.meta.vault.changes = Vec::new();
        foreign.meta.vault.outline = Some("arguments: {\n  \"a\": 1\n}".to_owned());
        let text = shown(&foreign, look);
        assert!(text.contains("    arguments: {\n      \"a\": 1\n    }\n"), "{text}");
        for (typed, folder, option) in [
            ("y\n", false, ("allow_once", "")),
            ("YES", false, ("allow_once", "")),
            ("a", true, ("allow_always", "")),
            ("a", false, ("reject_once", "")),
            ("", true, ("reject_once", "")),
            ("No\n", true, ("reject_once", "")),
            ("no, only the old ones\n", true, ("reject_once", "no, only the old ones")),
            ("yellow", true, ("reject_once", "yellow")),
        ] {
            assert_eq!(answer(&request(folder), typed), option, "{typed:?}");
        }
        let mut question = request(false);
        question.meta.vault.tool = elicitation::TOOL.to_owned();
        assert_eq!(answer(&question, "y octocat\n"), ("allow_once", "octocat"));
        assert_eq!(answer(&question, "octocat"), ("reject_once", "octocat"));
        assert_eq!(prompt(&question), "Answer it? [y, or y and the answer; N] ");
        assert_eq!(prompt(&request(false)), "Allow it? [y/N, or why not] ");
        assert!(prompt(&request(true)).contains("[a]lways (Always allow delete in Garden)"));
    }
}
