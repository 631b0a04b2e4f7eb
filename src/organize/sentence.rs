//! Describes a rule in plain English from its syntax tree, for a person to read before agreeing to it.

use super::rule::{Action, Assigned, IfPresent, OnConflict, Rule, Trigger};
use crate::bases::ast::{Classic, Expr, Expression, Node, Op};
use crate::bases::duration::Duration;
use crate::bases::query::Filter;
use crate::bases::template::{Template, TemplatePart};

/// The most characters shown of an inserted text.
const SHOWN: usize = 60;

/// Describes a rule's condition, actions and trigger: `When a note in Inbox has the tag #meeting and `done` is not set:
/// set `status` to "filed", move it to Meetings/{year of creation}. Runs only when you apply a plan.`
pub fn sentence(rule: &Rule) -> String {
    let mut text = condition(rule);
    text.push_str(": ");
    let actions: Vec<String> = rule.actions.iter().map(action).collect();
    if actions.is_empty() {
        text.push_str("do nothing")
    } else {
        text.push_str(&actions.join(", "))
    }
    text.push('.');
    for more in [runs(rule.trigger), conflict_sentence(rule)].into_iter().chain(later(rule)) {
        if !more.is_empty() {
            text.push(' ');
            text.push_str(&more);
        }
    }
    text
}

/// Describes the trigger of a rule.
fn runs(trigger: Trigger) -> String {
    match trigger {
        Trigger::Manual => "Runs only when you apply a plan.".to_owned(),
        Trigger::Change => {
            "If enabled, runs once a changed file has been left alone for a while.".to_owned()
        }
        Trigger::Every { seconds, at } => {
            let every = match seconds {
                86_400 => "day".to_owned(),
                3_600 => "hour".to_owned(),
                604_800 => "week".to_owned(),
                seconds => super::rules_file::in_hours(seconds),
            };
            let at = at.map(|at| format!(" at {}", at.format("%H:%M"))).unwrap_or_default();
            format!("If enabled, runs every {every}{at}.")
        }
    }
}

fn conflict_sentence(rule: &Rule) -> String {
    let words = match rule.on_conflict {
        Some(OnConflict::Skip) => "Where the new path is taken, the file stays.",
        Some(OnConflict::Ask) => "Where the new path is taken, you are asked.",
        Some(OnConflict::Fail) => "Where a new path is taken, nothing is done at all.",
        Some(OnConflict::Number) | None => "",
    };
    words.to_owned()
}

fn later(rule: &Rule) -> Vec<String> {
    let mut found = Vec::new();
    if rule.once {
        found.push("Takes each file a single time.".to_owned());
    }
    if rule.continues {
        found.push("Later rules are asked about the file, too.".to_owned());
    }
    found
}

/// Describes which files a rule takes: `When a note in Inbox has the tag #meeting`.
fn condition(rule: &Rule) -> String {
    let is_note = rule.when.as_ref().is_some_and(names_notes);
    let what = if is_note { "note" } else { "file" };
    let folders: Vec<&str> = rule.within.iter().map(|folder| folder.as_str()).collect();
    let place = if folders.is_empty() {
        String::new()
    } else {
        format!(" in {}", list_in_words(&folders, "or"))
    };
    let Some(filter) = &rule.when else { return format!("For every {what}{place}") };
    let clause = of_filter(filter, true);
    if clause.of_it {
        format!("When a {what}{place} {}", clause.text)
    } else {
        format!("When, for a {what}{place}, {}", clause.text)
    }
}

/// Whether only notes can match.
fn names_notes(filter: &Filter) -> bool {
    match filter {
        Filter::Is(expression) => of_notes(&expression.root),
        Filter::And(parts) => parts.iter().any(names_notes),
        Filter::Or(parts) => !parts.is_empty() && parts.iter().all(names_notes),
        Filter::Not(_) => false,
    }
}

fn of_notes(part: &Expr) -> bool {
    match &part.node {
        Node::And(left, right) => of_notes(left) || of_notes(right),
        Node::Or(left, right) => of_notes(left) && of_notes(right),
        Node::Property(_) => true,
        Node::Method { of, name, .. } => match &of.node {
            Node::File => matches!(&**name, "hasTag" | "hasProperty"),
            // A missing property is null and contains nothing.
            Node::Property(_) => &**name != "isEmpty",
            _ => false,
        },
        Node::Binary { op: Op::Equal, left, right, .. } => match (&left.node, &right.node) {
            (Node::Property(_), Node::Text(_) | Node::Number(_) | Node::Bool(_)) => true,
            (Node::Field { of, name, .. }, Node::Text(text)) => {
                matches!(of.node, Node::File) && &**name == "ext" && &**text == "md"
            }
            _ => false,
        },
        Node::Binary {
            op: Op::Less | Op::LessOrEqual | Op::Greater | Op::GreaterOrEqual,
            left,
            right,
            ..
        } => matches!(left.node, Node::Property(_)) || matches!(right.node, Node::Property(_)),
        _ => false,
    }
}

struct Clause {
    text: String,
    /// Whether its subject is the file and omitted: `has the tag #a`.
    of_it: bool,
}

impl Clause {
    fn of_it(text: impl Into<String>) -> Self {
        Self { text: text.into(), of_it: true }
    }

    fn whole(text: impl Into<String>) -> Self {
        Self { text: text.into(), of_it: false }
    }
}

/// `is_first`: whether the subject precedes it.
fn of_filter(filter: &Filter, is_first: bool) -> Clause {
    match filter {
        Filter::Is(expression) => Sentence { of: expression }.clause(&expression.root, true),
        Filter::And(parts) | Filter::Or(parts) if parts.is_empty() => {
            Clause::of_it("is there at all")
        }
        Filter::And(parts) => {
            join_clauses(parts.iter().map(|part| of_filter(part, false)), "and", !is_first)
        }
        Filter::Or(parts) => {
            join_clauses(parts.iter().map(|part| of_filter(part, false)), "or", !is_first)
        }
        Filter::Not(parts) => match &parts[..] {
            [Filter::Is(expression)] => Sentence { of: expression }.clause(&expression.root, false),
            parts => {
                let all = join_clauses(parts.iter().map(|part| of_filter(part, false)), "or", true);
                let it = if all.of_it { "it " } else { "" };
                Clause::whole(format!("none of this is so: {it}{}", all.text))
            }
        },
    }
}

/// Joins clauses with a word, in brackets if they are part of another clause.
fn join_clauses(parts: impl Iterator<Item = Clause>, word: &str, is_inner: bool) -> Clause {
    let mut parts: Vec<Clause> = parts.collect();
    if parts.len() == 1
        && let Some(only) = parts.pop()
    {
        return only;
    }
    let of_it = parts.first().is_some_and(|first| first.of_it) && !is_inner;
    let texts = parts.iter().enumerate().map(|(number, part)| {
        let needs_it = part.of_it && !(of_it && number == 0);
        format!("{}{}", if needs_it { "it " } else { "" }, part.text)
    });
    let text = texts.collect::<Vec<_>>().join(&format!(" {word} "));
    let text = if is_inner { format!("({text})") } else { text };
    Clause { text, of_it }
}

/// Describes parts of an expression.
struct Sentence<'e> {
    of: &'e Expression,
}

impl Sentence<'_> {
    /// Describes a condition or its negation.
    fn clause(&self, part: &Expr, holds: bool) -> Clause {
        self.inner(part, holds, false)
    }

    fn inner(&self, part: &Expr, holds: bool, is_inner: bool) -> Clause {
        let not = if holds { "" } else { "not " };
        match &part.node {
            Node::Not(of) => self.inner(of, !holds, is_inner),
            Node::And(..) | Node::Or(..) => {
                let is_and = matches!(part.node, Node::And(..));
                let mut parts = Vec::new();
                flatten(part, is_and, &mut parts);
                let clauses = parts.into_iter().map(|part| self.inner(part, holds, true));
                // De Morgan.
                join_clauses(clauses, if is_and == holds { "and" } else { "or" }, is_inner)
            }
            Node::Property(_) => Clause::whole(format!("{} is {not}set", self.value(part))),
            Node::Bool(is_true) if *is_true == holds => Clause::of_it("is there at all"),
            Node::Method { of, name, args, .. } => self.method(part, of, name, args, holds),
            Node::Binary { op, left, right, .. } => self.comparison(part, *op, left, right, holds),
            Node::Classic { op, left, right } => self.classic(*op, left, right, holds),
            Node::Field { of, name, .. }
                if matches!(of.node, Node::File) && &**name == "isHidden" =>
            {
                Clause::of_it(format!("is {not}hidden"))
            }
            _ => self.other(part, holds),
        }
    }

    /// The fallback: the expression as code.
    fn other(&self, part: &Expr, holds: bool) -> Clause {
        let is = if holds { "holds" } else { "does not hold" };
        Clause::whole(format!("`{}` {is}", self.of.print(part)))
    }

    fn method(&self, part: &Expr, of: &Expr, name: &str, args: &[Expr], holds: bool) -> Clause {
        let not = if holds { "" } else { "not " };
        let texts: Option<Vec<&str>> = args
            .iter()
            .map(|arg| match &arg.node {
                Node::Text(text) => Some(&**text),
                _ => None,
            })
            .collect();
        if let (Node::File, Some(texts)) = (&of.node, &texts)
            && let [first, ..] = texts[..]
        {
            let has = if holds { "has" } else { "does not have" };
            match name {
                "hasTag" => {
                    let tags: Vec<String> = texts
                        .iter()
                        .map(|tag| format!("#{}", tag.trim_start_matches('#')))
                        .collect();
                    return Clause::of_it(match tags.len() {
                        1 => format!("{has} the tag {}", tags[0]),
                        _ => format!("{has} one of the tags {}", list_in_words(&tags, "or")),
                    });
                }
                "inFolder" => {
                    return Clause::of_it(format!("is {not}in the folder {first} or below it"));
                }
                "hasProperty" => return Clause::of_it(format!("{has} the property `{first}`")),
                "hasLink" => {
                    let links = if holds { "links" } else { "does not link" };
                    return Clause::of_it(format!("{links} to {first}"));
                }
                _ => {}
            }
        }
        let does =
            |does: &str, does_not: &str| if holds { does.to_owned() } else { does_not.to_owned() };
        let verb = match name {
            "isEmpty" if args.is_empty() => {
                return Clause::whole(format!("{} is {not}empty", self.value(of)));
            }
            "contains" => does("contains", "does not contain"),
            "containsAny" => does("contains any of", "contains none of"),
            "containsAll" => does("contains all of", "does not contain all of"),
            "startsWith" => does("begins with", "does not begin with"),
            "endsWith" => does("ends with", "does not end with"),
            "matches" if matches!(of.node, Node::Pattern(_)) && args.len() == 1 => {
                let verb = does("matches", "does not match");
                return Clause::whole(format!(
                    "{} {verb} {}",
                    self.value(&args[0]),
                    self.value(of)
                ));
            }
            _ => return self.other(part, holds),
        };
        let values: Vec<String> = args.iter().map(|arg| self.value(arg)).collect();
        Clause::whole(format!("{} {verb} {}", self.value(of), list_in_words(&values, "and")))
    }

    fn comparison(&self, part: &Expr, op: Op, left: &Expr, right: &Expr, holds: bool) -> Clause {
        let is_time = is_time(left) || is_time(right);
        let words = match (op, holds, is_time) {
            (Op::Equal, true, _) | (Op::NotEqual, false, _) => "is",
            (Op::Equal, false, _) | (Op::NotEqual, true, _) => "is not",
            (Op::Less, true, true) => "is before",
            (Op::Less, true, false) => "is less than",
            (Op::LessOrEqual, true, true) => "is no later than",
            (Op::LessOrEqual, true, false) => "is at most",
            (Op::Greater, true, true) => "is after",
            (Op::Greater, true, false) => "is more than",
            (Op::GreaterOrEqual, true, true) => "is no earlier than",
            (Op::GreaterOrEqual, true, false) => "is at least",
            // Without a value to compare, the negation is also false.
            (Op::Less | Op::LessOrEqual | Op::Greater | Op::GreaterOrEqual, false, _) => {
                let text = self.comparison(part, op, left, right, true).text;
                return Clause::whole(format!("it is not so that {text}"));
            }
            _ => return self.other(part, holds),
        };
        Clause::whole(format!("{} {words} {}", self.value(left), self.value(right)))
    }

    fn classic(&self, op: Classic, left: &Expr, right: &Expr, holds: bool) -> Clause {
        let words = match op {
            Classic::Equal => "is",
            Classic::NotEqual => "is not",
            Classic::Less => "is less than",
            Classic::LessOrEqual => "is at most",
            Classic::Greater => "is more than",
            Classic::GreaterOrEqual => "is at least",
            Classic::In => "is one of",
            Classic::Matches => "matches",
            Classic::Contains => "contains",
            Classic::StartsWith => "begins with",
            Classic::EndsWith => "ends with",
        };
        let text = format!("{} {words} {}", self.value(left), self.value(right));
        Clause::whole(if holds { text } else { format!("it is not so that {text}") })
    }

    /// Describes a value: `status`, its name, 30 days ago.
    fn value(&self, part: &Expr) -> String {
        match &part.node {
            Node::Property(number) => {
                let name = self.of.properties.get(*number).map_or("", |name| &**name);
                format!("`{name}`")
            }
            Node::Field { of, name, .. } if matches!(of.node, Node::File) => match &**name {
                "name" | "basename" => "its name".to_owned(),
                "ext" => "its extension".to_owned(),
                "path" => "its path".to_owned(),
                "folder" => "its folder".to_owned(),
                "size" => "its size in bytes".to_owned(),
                "ctime" => "its creation".to_owned(),
                "mtime" => "its last change".to_owned(),
                "tags" => "the list of its tags".to_owned(),
                "links" => "the list of its links".to_owned(),
                "text" => "its text".to_owned(),
                "words" => "its number of words".to_owned(),
                _ => format!("`{}`", self.of.print(part)),
            },
            Node::Call { name, args, .. } if &**name == "date" => match &args[..] {
                [Expr { node: Node::Text(date), .. }] => date.to_string(),
                _ => format!("`{}`", self.of.print(part)),
            },
            Node::Call { name, args, .. } if args.is_empty() && &**name == "today" => {
                "today".to_owned()
            }
            Node::Call { name, args, .. } if args.is_empty() && &**name == "now" => {
                "now".to_owned()
            }
            Node::Binary { op: op @ (Op::Add | Op::Subtract), left, right, .. }
                if is_time(left) && length(right).is_some() =>
            {
                let length = length(right).unwrap_or_default();
                let from = self.value(left);
                match (op, &*from) {
                    (Op::Subtract, "now" | "today") => format!("{length} ago"),
                    (Op::Subtract, from) => format!("{length} before {from}"),
                    (_, from) => format!("{length} after {from}"),
                }
            }
            Node::Text(_) | Node::Number(_) | Node::Bool(_) | Node::List(_) | Node::Null => {
                self.of.print(part)
            }
            _ => format!("`{}`", self.of.print(part)),
        }
    }

    /// Describes the expression of a template: `year of creation`.
    fn inserted(&self, part: &Expr) -> String {
        let value = |part: &Expr| match &part.node {
            Node::Field { of, name, .. } if matches!(of.node, Node::File) => match &**name {
                "name" | "basename" => "name".to_owned(),
                "ext" => "extension".to_owned(),
                "folder" => "folder".to_owned(),
                "ctime" => "creation".to_owned(),
                "mtime" => "last change".to_owned(),
                _ => self.of.print(part),
            },
            Node::Property(number) => {
                self.of.properties.get(*number).map_or(String::new(), |name| name.to_string())
            }
            _ => match &*self.value(part) {
                word @ ("today" | "now") => word.to_owned(),
                _ => self.of.print(part),
            },
        };
        let (of, format) = match &part.node {
            Node::Method { of, name, args, .. } if &**name == "format" => match &args[..] {
                [Expr { node: Node::Text(format), .. }] => (of, &**format),
                _ => return value(part),
            },
            Node::Field { of, name, .. }
                if matches!(of.node, Node::File) && matches!(&**name, "ctime" | "mtime") =>
            {
                return format!("day of {}", value(part));
            }
            Node::Field { of, name, .. } if matches!(&**name, "year" | "month" | "day") => {
                return format!("{name} of {}", value(of));
            }
            _ => return value(part),
        };
        let of = value(of);
        match format {
            "YYYY" => format!("year of {of}"),
            "YYYY-MM" => format!("year and month of {of}"),
            "YYYY/MM" => format!("year of {of}}}/{{month of {of}"),
            "YYYY-MM-DD" => format!("day of {of}"),
            "MM" => format!("month of {of}"),
            other => format!("{of} as {other}"),
        }
    }
}

fn flatten<'e>(part: &'e Expr, is_and: bool, parts: &mut Vec<&'e Expr>) {
    match (&part.node, is_and) {
        (Node::And(left, right), true) | (Node::Or(left, right), false) => {
            flatten(left, is_and, parts);
            flatten(right, is_and, parts);
        }
        _ => parts.push(part),
    }
}

/// Whether a value is statically known to be a point in time.
fn is_time(part: &Expr) -> bool {
    match &part.node {
        Node::Call { name, .. } => matches!(&**name, "now" | "today" | "date"),
        Node::Field { of, name, .. } => {
            matches!(of.node, Node::File) && matches!(&**name, "ctime" | "mtime")
        }
        Node::Binary { op: Op::Add | Op::Subtract, left, right, .. } => {
            is_time(left) && length(right).is_some()
        }
        _ => false,
    }
}

/// Describes a duration: `30 days`.
fn length(part: &Expr) -> Option<String> {
    let text = match &part.node {
        Node::Text(text) => text,
        Node::Call { name, args, .. } if &**name == "duration" => match &args[..] {
            [Expr { node: Node::Text(text), .. }] => text,
            _ => return None,
        },
        _ => return None,
    };
    let time = Duration::parse(text)?;
    let units = [
        (time.years, "year"),
        (time.months, "month"),
        (time.days, "day"),
        (time.millis / 3_600_000.0, "hour"),
    ];
    let mut given = units.iter().filter(|(amount, _)| *amount != 0.0);
    match (given.next(), given.next()) {
        (Some((amount, unit)), None) if *amount > 0.0 => {
            Some(format!("{amount} {unit}{}", if *amount == 1.0 { "" } else { "s" }))
        }
        _ => Some(text.to_string()),
    }
}

fn action(action: &Action) -> String {
    match action {
        Action::Move(folder) => match &*filled(folder) {
            "/" => "move it to the top of the vault".to_owned(),
            folder => format!("move it to {folder}"),
        },
        Action::Archive => "move it to the archive".to_owned(),
        Action::Rename(name) => format!("rename it to {}", filled(name)),
        Action::Set { values, if_present } => {
            let one = |(name, value): &(String, Assigned)| match if_present {
                IfPresent::Replace => format!("set `{name}` to {}", assigned_text(value)),
                IfPresent::Keep => {
                    format!("set `{name}` to {} unless it has one", assigned_text(value))
                }
                IfPresent::Merge => format!("add {} to `{name}`", assigned_text(value)),
            };
            values.iter().map(one).collect::<Vec<_>>().join(", ")
        }
        Action::Remove(names) => {
            let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("remove {}", list_in_words(&names, "and"))
        }
        Action::Tag(tags) => {
            let tags: Vec<_> = tags.iter().map(|tag| format!("#{}", filled(tag))).collect();
            format!("add the tag{} {}", plural(tags.len()), list_in_words(&tags, "and"))
        }
        Action::Untag(tags) => {
            let tags: Vec<_> = tags.iter().map(|tag| format!("#{tag}")).collect();
            format!("remove the tag{} {}", plural(tags.len()), list_in_words(&tags, "and"))
        }
        Action::Append(text) => format!("add {} at its end", quote(&filled(text))),
        Action::Prepend(text) => format!("add {} at its beginning", quote(&filled(text))),
        Action::Fill(path) => {
            format!("fill it from the template {} if it has no text", filled(path))
        }
        Action::Create { path, template } => {
            let from = template.as_ref().map(|it| format!(" from the template {}", filled(it)));
            format!("create {}{} unless it exists", filled(path), from.unwrap_or_default())
        }
        Action::Trash => "move it to the trash".to_owned(),
    }
}

fn assigned_text(value: &Assigned) -> String {
    match value {
        Assigned::Value(value) => value.to_string(),
        Assigned::Template(template) if template.is_value() => filled(template),
        Assigned::Template(template) => quote(&filled(template)),
        Assigned::List(items) => {
            format!("[{}]", items.iter().map(assigned_text).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Describes a template, with its expressions in braces.
fn filled(template: &Template) -> String {
    let mut text = String::new();
    for part in &template.parts {
        match part {
            TemplatePart::Text(own) => text.push_str(own),
            TemplatePart::Expression { expression, .. } => {
                let inserted = Sentence { of: expression }.inserted(&expression.root);
                text.extend(["{", &inserted, "}"]);
            }
        }
    }
    text
}

fn quote(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = line.chars().take(SHOWN).collect();
    let dots = if cut.len() < line.len() { "…" } else { "" };
    format!("\"{cut}{dots}\"")
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn list_in_words<T: AsRef<str>>(items: &[T], word: &str) -> String {
    match items {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} {word} {}", first.join(", "), last.as_ref())
        }
    }
}

#[cfg(test)]
#[path = "sentence_tests.rs"]
mod tests;
