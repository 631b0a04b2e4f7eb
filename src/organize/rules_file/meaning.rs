//! The canonical meaning of a rule, independent of its spelling.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::bases::ast::{Expression, Node};
use crate::bases::query::Filter;
use crate::bases::template::{Template, TemplatePart};
use crate::bases::value::Text;
use crate::bases::visit;
use crate::organize::rule::{Action, Assigned, IfPresent, OnConflict, Rule, Trigger};

/// The BLAKE3 hash of a rule's meaning, in hexadecimal.
pub(super) fn hash(rule: &Rule, is_classic: bool) -> String {
    let mut within: Vec<&str> = rule.within.iter().map(|folder| folder.as_str()).collect();
    within.sort_unstable();
    let formula = |(name, formula): &(Text, Arc<Expression>)| json!([&**name, formula.to_string()]);
    let on_conflict = rule.on_conflict.map(|on_conflict| match on_conflict {
        OnConflict::Number => "number",
        OnConflict::Skip => "skip",
        OnConflict::Ask => "ask",
        OnConflict::Fail => "fail",
    });
    let trigger = match rule.trigger {
        Trigger::Manual => json!("manual"),
        Trigger::Change => json!("change"),
        Trigger::Every { seconds, at } => json!([seconds, at.map(|at| at.to_string())]),
    };
    let meaning = json!([
        "rule 1",
        &rule.name,
        is_classic,
        within,
        rule.when.as_ref().map(filter),
        rule.formulas.iter().map(formula).collect::<Vec<_>>(),
        rule.this.as_ref().map(|this| this.as_str()),
        rule.actions.iter().map(action).collect::<Vec<_>>(),
        rule.priority,
        rule.continues,
        rule.once,
        on_conflict,
        trigger,
    ]);
    blake3::hash(meaning.to_string().as_bytes()).to_hex().to_string()
}

fn filter(filter: &Filter) -> Json {
    let (join, parts) = match filter {
        Filter::Is(expression) => return json!(expression.to_string()),
        Filter::And(parts) => ("and", parts),
        Filter::Or(parts) => ("or", parts),
        Filter::Not(parts) => ("not", parts),
    };
    json!([join, parts.iter().map(self::filter).collect::<Vec<_>>()])
}

fn action(action: &Action) -> Json {
    match action {
        Action::Move(folder) => json!(["move", template(folder)]),
        Action::Archive => json!(["archive"]),
        Action::Rename(name) => json!(["rename", template(name)]),
        Action::Set { values, if_present } => {
            let mut values: Vec<_> =
                values.iter().map(|(name, it)| (name, assigned_json(it))).collect();
            values.sort_by_key(|(name, _)| *name);
            let if_present = match if_present {
                IfPresent::Replace => "replace",
                IfPresent::Keep => "keep",
                IfPresent::Merge => "merge",
            };
            json!(["set", if_present, values])
        }
        Action::Remove(names) => json!(["remove", names]),
        Action::Tag(tags) => json!(["tag", tags.iter().map(template).collect::<Vec<_>>()]),
        Action::Untag(tags) => json!(["untag", tags]),
        Action::Append(text) => json!(["append", template(text)]),
        Action::Prepend(text) => json!(["prepend", template(text)]),
        Action::Fill(path) => json!(["template", template(path)]),
        Action::Create { path, template: from } => {
            json!(["create", template(path), from.as_ref().map(template)])
        }
        Action::Trash => json!(["trash"]),
    }
}

fn assigned_json(value: &Assigned) -> Json {
    match value {
        Assigned::Value(value) => json!(["value", value]),
        Assigned::Template(own) => json!(["template", template(own)]),
        Assigned::List(items) => {
            json!(["list", items.iter().map(assigned_json).collect::<Vec<_>>()])
        }
    }
}

fn template(template: &Template) -> Json {
    let part = |part: &TemplatePart| match part {
        TemplatePart::Text(text) => json!(&**text),
        TemplatePart::Expression { expression, .. } => json!([expression.to_string()]),
    };
    json!(template.parts.iter().map(part).collect::<Vec<_>>())
}

/// Whether a rule changes something that its condition reads, so that it may take each note only once.
pub(super) fn ends_itself(rule: &Rule) -> bool {
    let mut reads = BTreeSet::new();
    if !rule.within.is_empty() {
        reads.insert("file.folder".to_owned());
    }
    let formulas = rule.formulas.iter().map(|(_, formula)| formula);
    let conditions = rule.when.iter().flat_map(Filter::expressions);
    for expression in conditions.chain(formulas) {
        read_by(expression, &mut reads);
    }
    let has = |name: &str| reads.contains(name);
    rule.actions.iter().any(|action| match action {
        Action::Move(_) | Action::Archive => has("file.folder"),
        Action::Rename(_) => has("file.name"),
        Action::Set { values, .. } => values.iter().any(|(name, _)| has(&name.to_lowercase())),
        Action::Remove(names) => names.iter().any(|name| has(&name.to_lowercase())),
        Action::Tag(_) | Action::Untag(_) => has("tags"),
        Action::Append(_) | Action::Prepend(_) | Action::Fill(_) => has("file.text"),
        Action::Create { .. } => false,
        Action::Trash => true,
    })
}

/// The parts of a note that an expression reads; parts that change together have one name.
fn read_by(expression: &Expression, reads: &mut BTreeSet<String>) {
    reads.extend(expression.properties.iter().map(|name| name.to_lowercase()));
    visit(&expression.root, &mut |part| {
        let (of, name, args) = match &part.node {
            Node::Field { of, name, .. } => (of, &**name, &[][..]),
            Node::Method { of, name, args, .. } => (of, &**name, &args[..]),
            _ => return,
        };
        if !matches!(of.node, Node::File) {
            return;
        }
        let group = match name {
            "name" | "basename" => "file.name",
            "folder" | "inFolder" => "file.folder",
            "text" | "words" | "headings" | "links" | "embeds" | "hasLink" => "file.text",
            "tags" | "hasTag" => "tags",
            "path" => {
                reads.insert("file.name".to_owned());
                "file.folder"
            }
            "hasProperty" => {
                let names = args.iter().filter_map(|arg| match &arg.node {
                    Node::Text(name) => Some(name.to_lowercase()),
                    _ => None,
                });
                return reads.extend(names);
            }
            _ => return,
        };
        reads.insert(group.to_owned());
    });
}
