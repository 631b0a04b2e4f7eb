//! The scope of a rule, derived from its text: what a person agrees to by enabling it.

use super::rule::{Action, Rule};
use super::settings::Settings;
use crate::bases::template::{Template, TemplatePart};
use crate::note::path::VaultPath;

/// The folders in which a rule can change anything: its own, and its targets. The root means the
/// whole vault.
pub fn folders(rule: &Rule, settings: &Settings) -> Vec<VaultPath> {
    let mut folders = rule.within.clone();
    if folders.is_empty() {
        folders.push(VaultPath::root());
    }
    for action in &rule.actions {
        match action {
            Action::Move(template) => folders.push(common_folder(template, false)),
            Action::Create { path, .. } => folders.push(common_folder(path, true)),
            Action::Archive => folders.push(folder(&settings.archive_folder)),
            _ => {}
        }
    }
    let all = folders.clone();
    let is_in_another =
        |one: &VaultPath| all.iter().any(|other| other != one && one.is_within(other));
    folders.retain(|one| !is_in_another(one));
    folders.sort_unstable();
    folders.dedup();
    folders
}

/// The actions of a rule, one word each.
pub fn actions(rule: &Rule) -> Vec<&'static str> {
    let word = |action: &Action| match action {
        Action::Move(_) => "move",
        Action::Archive => "archive",
        Action::Rename(_) => "rename",
        Action::Set { .. } => "set",
        Action::Remove(_) => "remove",
        Action::Tag(_) => "tag",
        Action::Untag(_) => "untag",
        Action::Append(_) => "append",
        Action::Prepend(_) => "prepend",
        Action::Fill(_) => "template",
        Action::Create { .. } => "create",
        Action::Trash => "trash",
    };
    let mut words: Vec<&str> = Vec::new();
    for action in &rule.actions {
        if !words.contains(&word(action)) {
            words.push(word(action));
        }
    }
    words
}

/// The deepest folder that contains a path for all values of its expressions. With `is_file` the last part is a name.
fn common_folder(template: &Template, is_file: bool) -> VaultPath {
    let mut text = String::new();
    let mut is_whole = true;
    for part in &template.parts {
        match part {
            TemplatePart::Text(literal) => text.push_str(literal),
            TemplatePart::Expression { .. } => {
                is_whole = false;
                break;
            }
        }
    }
    if !is_whole || is_file {
        text.truncate(text.rfind('/').unwrap_or(0));
    }
    folder(&text)
}

fn folder(text: &str) -> VaultPath {
    match text.trim_matches('/') {
        "" => VaultPath::root(),
        text => VaultPath::parse(text, None).unwrap_or_else(|_| VaultPath::root()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::rules_file;
    use super::*;

    fn of(yaml: &str) -> (Vec<String>, Vec<&'static str>) {
        let text = format!("rules:\n  - name: x\n    {yaml}\n");
        let file = rules_file::read(&text, &|_| Err(String::new())).unwrap();
        let rule = &file.rules[0];
        let folders = folders(rule, &Settings::default());
        (folders.iter().map(ToString::to_string).collect(), actions(rule))
    }

    #[test]
    fn a_rule_reaches_where_it_looks_and_where_it_puts_files() {
        let set = |folders: &[&str], actions: &[&'static str]| {
            let folders: Vec<String> = folders.iter().map(|one| (*one).to_owned()).collect();
            (folders, actions.to_vec())
        };
        let root = VaultPath::root().to_string();
        assert_eq!(
            of("in: [Inbox]\n    do: [move: 'Meet/{{file.ctime.format(\"YYYY\")}}', rename: a]"),
            set(&["Inbox", "Meet"], &["move", "rename"])
        );
        assert_eq!(
            of("in: [Inbox, Inbox/deep]\n    do: [move: 'Meet-{{status}}']"),
            set(&[&root], &["move"])
        );
        assert_eq!(of("do: [trash: true]"), set(&[&root], &["trash"]));
        assert_eq!(of("in: A\n    do: [archive: true]"), set(&["A", "Archive"], &["archive"]));
        assert_eq!(
            of("in: A\n    do: [create: {path: 'B/{{title}} log'}, set: {x: 1}, set: {y: 2}]"),
            set(&["A", "B"], &["create", "set"])
        );
    }
}
