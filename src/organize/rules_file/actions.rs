//! The actions of a rule: the list `do`.

use serde_json::Value as Json;

use super::reader::get;
use super::{Mentioned, Rule, RuleReader};
use crate::bases::template::{Purpose, Template};
use crate::note::tag;
use crate::note::yaml::{Content, Node};
use crate::organize::rule::{Action, Assigned, IfPresent};

const ACTIONS: [&str; 13] = [
    "move",
    "archive",
    "rename",
    "set",
    "if_present",
    "remove",
    "tag",
    "untag",
    "append",
    "prepend",
    "template",
    "create",
    "trash",
];

impl RuleReader<'_> {
    pub(super) fn actions(&mut self, node: &Node, rule: &mut Rule) {
        let items = match &node.content {
            Content::Mapping(_) => std::slice::from_ref(node),
            _ => self.list(node, "do"),
        };
        for item in items {
            let Some(pairs) = self.mapping(item, "each item of `do`") else { continue };
            for (key, value) in pairs {
                let name = key.text().unwrap_or_default();
                if let Some(action) = self.action(key, name, value, pairs) {
                    self.clashes(key, &action, &rule.actions);
                    rule.actions.push(action);
                }
            }
        }
    }

    /// Reads an action key of the classic form.
    pub(super) fn act(&mut self, name: &str, value: &Node, rule: &mut Rule) {
        rule.actions.extend(self.action(value, name, value, &[]));
    }

    fn action(
        &mut self,
        key: &Node,
        name: &str,
        value: &Node,
        pairs: &[(Node, Node)],
    ) -> Option<Action> {
        match name {
            "move" => {
                let folder = self.template(value, name, Purpose::Path)?;
                self.destination(value, &folder);
                Some(Action::Move(folder))
            }
            "archive" => self.is_on(value, name).then_some(Action::Archive),
            "trash" => self.is_on(value, name).then_some(Action::Trash),
            "rename" => self.template(value, name, Purpose::Name).map(Action::Rename),
            "set" => {
                let values = self.values(value)?;
                let if_present = match get(pairs, "if_present") {
                    Some((_, manner)) => {
                        let words = [
                            ("replace", IfPresent::Replace),
                            ("keep", IfPresent::Keep),
                            ("merge", IfPresent::Merge),
                        ];
                        self.word(manner, "if_present", &words).unwrap_or_default()
                    }
                    None => IfPresent::Replace,
                };
                Some(Action::Set { values, if_present })
            }
            "if_present" if get(pairs, "set").is_some() => None,
            "if_present" => {
                let hint = "write it below `set`, in the same item";
                self.fault(key, "`if_present` belongs to a `set`", hint);
                None
            }
            "remove" => {
                let items = self.one_or_more(value, name);
                let names: Vec<_> = items
                    .iter()
                    .filter_map(|item| Some((item, self.scalar(item, name)?)))
                    .collect();
                for (item, name) in &names {
                    self.mention(item, Mentioned::Property(name.as_str().into()));
                }
                Some(Action::Remove(names.into_iter().map(|(_, name)| name).collect()))
            }
            "tag" => {
                let items = self.one_or_more(value, name);
                Some(Action::Tag(items.iter().filter_map(|item| self.tag(item)).collect()))
            }
            "untag" => {
                let mut tags = Vec::new();
                for item in self.one_or_more(value, name) {
                    let Some(text) = self.scalar(item, name) else { continue };
                    let Some(bare) = self.tag_name(item, &text) else { continue };
                    self.mention(item, Mentioned::Tag(bare.as_str().into()));
                    tags.push(bare);
                }
                Some(Action::Untag(tags))
            }
            "append" => self.template(value, name, Purpose::Text).map(Action::Append),
            "prepend" => self.template(value, name, Purpose::Text).map(Action::Prepend),
            "template" => self.obsidian_template(value).map(Action::Fill),
            "create" => self.create(value),
            other => {
                self.unknown_key(key, other, &ACTIONS);
                None
            }
        }
    }

    /// Reads the value of an action without arguments.
    fn is_on(&mut self, value: &Node, name: &str) -> bool {
        let is_on = self.flag(value, name);
        if is_on == Some(false) {
            let message = format!("`{name}: false` does nothing");
            self.fault(value, message, "leave it out");
        }
        is_on == Some(true)
    }

    /// The target of a path without expressions; other targets are not known beforehand.
    fn destination(&mut self, node: &Node, template: &Template) {
        let literal = template.literal().map(str::to_owned);
        let Some(path) = literal.and_then(|literal| self.path(node, &literal)) else { return };
        self.mention(node, Mentioned::Destination(path));
    }

    fn values(&mut self, node: &Node) -> Option<Vec<(String, Assigned)>> {
        let hint_is_text = node.text().is_some();
        let pairs = self.mapping(node, "`set`")?;
        if pairs.is_empty() && !hint_is_text {
            self.fault(node, "`set` is empty", "write `set: {status: done}`");
        }
        let mut values = Vec::with_capacity(pairs.len());
        for (key, value) in pairs {
            let name = key.text().unwrap_or_default().trim().to_owned();
            if name.is_empty() {
                self.fault(key, "a property has no name", "write one");
                continue;
            }
            if let Some(assigned) = self.assigned(value, &name) {
                values.push((name, assigned));
            }
        }
        Some(values)
    }

    fn assigned(&mut self, node: &Node, name: &str) -> Option<Assigned> {
        if node.tag.is_some() {
            self.scalar(node, name)?;
        }
        match &node.content {
            Content::Scalar { text, .. } => {
                let braces = if self.is_classic { "{" } else { "{{" };
                if text.contains(braces) {
                    return self.template(node, name, Purpose::Text).map(Assigned::Template);
                }
                node.scalar().map(Assigned::Value)
            }
            Content::List(items) => {
                let items = items.iter().filter_map(|item| self.assigned(item, name)).collect();
                Some(Assigned::List(items))
            }
            Content::Mapping(pairs) => {
                // YAML reads `key: {{title}}` as a mapping in a mapping.
                if self.text[node.at.start..].starts_with("{{") {
                    let hint = "write it in quotes: `'{{…}}'`";
                    let message = format!("YAML reads the `{{` of `{name}` as keys with values");
                    self.fault(node, message, hint);
                    return None;
                }
                let mut map = serde_json::Map::new();
                for (key, value) in pairs {
                    let key = key.text().unwrap_or_default();
                    let value = self.assigned(value, key)?;
                    match plain(value) {
                        Some(value) => drop(map.insert(key.to_owned(), value)),
                        None => {
                            let message = "a value within a value cannot be a template";
                            let hint = "set a property of its own to it";
                            self.fault(node, message, hint);
                            return None;
                        }
                    }
                }
                Some(Assigned::Value(Json::Object(map)))
            }
        }
    }

    fn tag(&mut self, node: &Node) -> Option<Template> {
        let template = self.template(node, "tag", Purpose::Text)?;
        let Some(literal) = template.literal().map(str::to_owned) else { return Some(template) };
        let bare = self.tag_name(node, &literal)?;
        Template::parse(&bare, Purpose::Text).ok()
    }

    fn tag_name(&mut self, node: &Node, text: &str) -> Option<String> {
        let name = tag::rename::name_of(text);
        if name.is_none() {
            let message = format!("`{text}` is not a tag");
            let hint = "a tag has letters, digits, `_`, `-` and `/`, and is not a number";
            self.fault(node, message, hint);
        }
        name.map(str::to_owned)
    }

    fn obsidian_template(&mut self, node: &Node) -> Option<Template> {
        let template = self.template(node, "template", Purpose::Path)?;
        if let Some(literal) = template.literal().map(str::to_owned) {
            let path = self.path(node, &literal)?;
            self.mention(node, Mentioned::Template(path));
        }
        Some(template)
    }

    fn create(&mut self, node: &Node) -> Option<Action> {
        if node.text().is_some() {
            let path = self.template(node, "create", Purpose::Path)?;
            self.destination(node, &path);
            return Some(Action::Create { path, template: None });
        }
        let pairs = self.mapping(node, "`create`")?;
        let (mut path, mut template) = (None, None);
        for (key, value) in pairs {
            match key.text().unwrap_or_default() {
                "path" => {
                    path = self.template(value, "path", Purpose::Path);
                    if let Some(path) = &path {
                        self.destination(value, path);
                    }
                }
                "template" if value.is_null() => {}
                "template" => template = self.obsidian_template(value),
                other => self.unknown_key(key, other, &["path", "template"]),
            }
        }
        if get(pairs, "path").is_none() {
            let hint = "write `create: {path: 'Notes/{{title}} summary.md'}`";
            self.fault(node, "`create` does not say where", hint);
        }
        Some(Action::Create { path: path?, template })
    }

    /// Rejects actions that contradict each other.
    fn clashes(&mut self, key: &Node, action: &Action, before: &[Action]) {
        let kind = |action: &Action| match action {
            Action::Move(_) | Action::Archive => Some("where the note goes"),
            Action::Rename(_) => Some("what the note is called"),
            _ => None,
        };
        let own = kind(action);
        if own.is_some() && before.iter().any(|other| kind(other) == own) {
            let message = format!("the rule says twice {}", own.unwrap_or_default());
            return self.fault(key, message, "leave one of them out");
        }
        let trashes = |action: &Action| matches!(action, Action::Trash);
        let stays = |action: &Action| kind(action).is_some();
        if trashes(action) && before.iter().any(stays)
            || stays(action) && before.iter().any(trashes)
        {
            let message = "a note cannot go to the trash and to another place";
            self.fault(key, message, "leave one of them out");
        }
    }
}

/// The value, if it contains no template.
fn plain(assigned: Assigned) -> Option<Json> {
    match assigned {
        Assigned::Value(value) => Some(value),
        Assigned::Template(_) => None,
        Assigned::List(items) => {
            items.into_iter().map(plain).collect::<Option<_>>().map(Json::Array)
        }
    }
}
