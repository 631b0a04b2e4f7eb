//! What a person must agree to, and what they answer.

use super::calls::changed;
use super::look::Look;
use super::markdown::style::Style;
use super::safe;
use crate::protocol::permission::RequestPermissionParams;

/// Lines of all diffs together that are shown.
const MAX_LINES: usize = 200;

/// What would be done and why that is asked about, in whole lines.
pub fn shown(asked: &RequestPermissionParams, look: Look) -> String {
    let ours = &asked.meta.vault;
    let mut text = look.paint(Style::YELLOW, &format!("? {}", safe::line(&asked.tool_call.title)));
    text.push_str(&format!(" ({})\n", safe::line(&ours.caller)));
    let mut room = MAX_LINES;
    for change in &ours.changes {
        let from = change.from.as_ref().map(|from| format!("`{}` to ", safe::line(from)));
        text.push_str(&format!(
            "  {} {}`{}`\n",
            safe::line(&change.action).replace('_', " "),
            from.unwrap_or_default(),
            safe::line(&change.path)
        ));
        if room > 0 {
            text.push_str(&changed(&change.diff, room, look));
            room = room.saturating_sub(change.diff.lines().count());
        }
    }
    for reason in &ours.reasons {
        text.push_str(&format!("  asked because {}\n", safe::line(reason)));
    }
    text
}

/// Whether agreeing for good is offered, and for what.
fn always(asked: &RequestPermissionParams) -> Option<&str> {
    let option = asked.options.iter().find(|option| option.option_id == "allow_always")?;
    Some(&option.name)
}

/// The question itself, on one line that the answer is typed behind.
pub fn prompt(asked: &RequestPermissionParams) -> String {
    match always(asked) {
        Some(name) => format!("Allow it? [y]es, [a]lways ({}), [N]o ", safe::line(name)),
        None => "Allow it? [y/N] ".to_owned(),
    }
}

/// What the typed words choose; nothing agreed to is refused.
pub fn option(asked: &RequestPermissionParams, typed: &str) -> &'static str {
    match typed.trim().to_lowercase().as_str() {
        "y" | "yes" => "allow_once",
        "a" | "always" if always(asked).is_some() => "allow_always",
        _ => "reject_once",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(folder: bool) -> RequestPermissionParams {
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
                    {"action": "write", "path": "a.md", "from": null, "diff": "-x\n+y\n"}],
                "folder": null, "seconds": 60}},
        }))
        .unwrap()
    }

    #[test]
    fn what_is_asked_is_shown_and_only_a_clear_yes_agrees() {
        let look = Look { styled: false, live: false };
        assert_eq!(
            shown(&asked(false), look),
            "? delete `Garden` (agent)\n  delete `Garden`\n  write `a.md`\n    -x\n    +y\n  \
             asked because it deletes 23 files\n"
        );
        for (typed, folder, option) in [
            ("y\n", false, "allow_once"),
            ("YES", false, "allow_once"),
            ("a", true, "allow_always"),
            ("a", false, "reject_once"),
            ("", true, "reject_once"),
            ("yellow", true, "reject_once"),
        ] {
            assert_eq!(super::option(&asked(folder), typed), option, "{typed:?}");
        }
        assert_eq!(prompt(&asked(false)), "Allow it? [y/N] ");
        assert!(prompt(&asked(true)).contains("[a]lways (Always allow delete in Garden)"));
    }
}
