//! Checks parsed expressions against the function table and the vault for probable mistakes.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use super::Source;
use super::ast::{Expr, Expression, Local, Node, Op, Span};
use super::diagnostic::{Diagnostic, Kind};
use super::functions::{self, Function, Type};
use super::nearest::{did_you_mean, nearest};
use super::outdated;
use super::source::Hint;
use super::tree::visit;
use super::value::{FileId, Text};

/// Checks expressions. Use one for several expressions: it queries the vault once.
pub struct Checker<'s> {
    source: Option<&'s dyn Source>,
    allows_extensions: bool,
    formulas: Option<Vec<Text>>,
    properties: OnceCell<Properties>,
}

/// The number of notes with each property, most frequent first.
struct Properties {
    counts: Vec<(Text, usize)>,
    /// Names in lower case, since case does not count.
    folded: HashMap<String, usize>,
}

impl<'s> Checker<'s> {
    /// A checker for rules and `--where`. Without a source it does not check properties, tags and folders.
    pub fn new(source: Option<&'s dyn Source>) -> Self {
        Self { source, allows_extensions: true, formulas: None, properties: OnceCell::new() }
    }

    /// A checker for a base with these formulas, where extensions are errors.
    pub fn in_base(&self, formulas: Vec<Text>) -> Checker<'s> {
        Checker { allows_extensions: false, formulas: Some(formulas), ..Checker::new(self.source) }
    }

    /// Diagnostics by place. All but extensions in a base are warnings.
    pub fn check(&self, expression: &Expression) -> Vec<Diagnostic> {
        let mut reader = ExpressionChecker { checker: self, of: expression, found: Vec::new() };
        reader.part(&expression.root);
        reader.found.sort_by_key(|found| found.at.start);
        reader.found
    }

    fn properties(&self) -> Option<&Properties> {
        let source = self.source?;
        let properties = self.properties.get_or_init(|| {
            let counts = source.property_counts();
            let folded = counts.iter().map(|(name, count)| (name.to_lowercase(), *count));
            Properties { folded: folded.collect(), counts }
        });
        // No note has any property, so none can be called unknown.
        Some(properties).filter(|properties| !properties.counts.is_empty())
    }
}

impl Properties {
    fn has(&self, name: &str) -> bool {
        self.folded.contains_key(name) || self.folded.contains_key(&name.to_lowercase())
    }
}

struct ExpressionChecker<'c, 's> {
    checker: &'c Checker<'s>,
    of: &'c Expression,
    found: Vec<Diagnostic>,
}

impl<'c> ExpressionChecker<'c, '_> {
    fn written(&self, at: &Span) -> &'c str {
        self.of.source.get(at.start as usize..at.end as usize).unwrap_or_default()
    }

    fn warn(&mut self, kind: Kind, at: &Span, message: String, hint: Option<String>) {
        let warning = Diagnostic::warning(kind, &self.of.source, at.clone(), message);
        self.found.push(warning.hint(hint.unwrap_or_default()));
    }

    /// Checks a subtree, and infers its type as far as possible.
    fn part(&mut self, part: &'c Expr) -> Type {
        match &part.node {
            Node::Null => Type::Null,
            Node::Bool(_) => Type::Bool,
            Node::Number(_) => Type::Number,
            Node::Text(_) => Type::Text,
            Node::Pattern(_) => Type::Pattern,
            Node::List(items) => {
                for item in items {
                    self.part(item);
                }
                Type::List
            }
            Node::Property(number) => {
                if let Some(name) = self.of.properties.get(*number) {
                    self.property(name, &part.at);
                }
                Type::Any
            }
            Node::File => Type::File,
            Node::Note => Type::Object,
            Node::Formula(name) => {
                self.formula(name, &part.at);
                Type::Any
            }
            Node::This => Type::Any,
            Node::Local(Local::Index) => Type::Number,
            Node::Local(Local::Values) => Type::List,
            Node::Local(Local::Value | Local::Acc) => Type::Any,
            Node::Field { of, name, name_at } => self.field(of, name, name_at),
            Node::Index { of, key } => {
                self.part(of);
                self.part(key);
                Type::Any
            }
            Node::Call { name, name_at, args } => self.call(part, name, name_at, args),
            Node::Method { of, name, name_at, args } => self.method(of, name, name_at, args),
            Node::Not(of) => {
                self.part(of);
                Type::Bool
            }
            Node::Negate(of) => match self.part(of) {
                it @ (Type::Number | Type::Duration) => it,
                _ => Type::Any,
            },
            Node::And(left, right) | Node::Or(left, right) | Node::Classic { left, right, .. } => {
                self.part(left);
                self.part(right);
                Type::Bool
            }
            Node::Binary { op, left, right, .. } => self.binary(part, *op, left, right),
        }
    }

    fn binary(&mut self, part: &'c Expr, op: Op, left: &'c Expr, right: &'c Expr) -> Type {
        if op == Op::Subtract && self.is_hyphenated(part) {
            return Type::Any;
        }
        let types = (self.part(left), self.part(right));
        match (op, types) {
            (Op::Add, (Type::Date, _))
            | (Op::Subtract, (Type::Date, Type::Duration | Type::Text)) => Type::Date,
            (Op::Subtract, (Type::Date, Type::Date)) => Type::Duration,
            (Op::Add | Op::Subtract, (Type::Duration, Type::Duration)) => Type::Duration,
            (Op::Add, (Type::Text, _) | (_, Type::Text)) => Type::Text,
            (Op::Add, (Type::List, Type::List)) => Type::List,
            (Op::Multiply | Op::Divide, (Type::Duration, Type::Number)) => Type::Duration,
            (Op::Add | Op::Subtract | Op::Multiply | Op::Divide | Op::Remainder, both) => {
                match both {
                    (Type::Number, Type::Number) => Type::Number,
                    _ => Type::Any,
                }
            }
            _ => Type::Bool,
        }
    }

    /// Whether a subtraction looks like the hyphenated name of one property; then adds a warning.
    fn is_hyphenated(&mut self, part: &'c Expr) -> bool {
        let name = self.written(&part.at);
        let is_sign = |c: char| c != '-' && !c.is_alphanumeric() && c != '_';
        if !is_of_properties(part) || name.contains(is_sign) {
            return false;
        }
        if let Some(properties) = self.checker.properties()
            && !properties.has(name)
            && name.split('-').all(|word| properties.has(word))
        {
            return false;
        }
        let message = format!("`{name}` subtracts one property from another");
        let hint = format!("write `note[\"{name}\"]` for the property of that name");
        self.warn(Kind::Misleading, &part.at, message, Some(hint));
        true
    }

    fn property(&mut self, name: &str, at: &Span) {
        let Some(properties) = self.checker.properties() else { return };
        if properties.has(name) {
            return;
        }
        let near = nearest(name, properties.counts.iter().map(|(known, _)| &**known));
        let count = near.and_then(|near| {
            properties.counts.iter().find(|(known, _)| &**known == near).map(|(_, count)| *count)
        });
        let (message, hint) = match near.zip(count) {
            Some((near, count)) => {
                let have = if count == 1 { "has" } else { "have" };
                let hint = if super::token::is_name(near) {
                    format!("did you mean `{near}`?")
                } else {
                    format!("did you mean `note[\"{near}\"]`?")
                };
                (format!("no note has `{name}`; {count} {have} `{near}`"), Some(hint))
            }
            None => (format!("no note has `{name}`"), None),
        };
        self.warn(Kind::UnknownProperty, at, message, hint);
    }

    fn formula(&mut self, name: &str, at: &Span) {
        let Some(formulas) = &self.checker.formulas else {
            let hint = Some("name a base that has it, or write what it computes".to_owned());
            return self.warn(
                Kind::UnknownName,
                at,
                format!("there is no formula `{name}` outside of a base"),
                hint,
            );
        };
        if formulas.iter().any(|known| &**known == name) {
            return;
        }
        let near = nearest(name, formulas.iter().map(|known| &**known));
        let hint = near.map(|near| format!("did you mean `formula.{near}`?"));
        self.warn(Kind::UnknownName, at, format!("the base has no formula `{name}`"), hint);
    }

    fn field(&mut self, of: &'c Expr, name: &str, name_at: &Span) -> Type {
        let receiver = self.part(of);
        if matches!(of.node, Node::This) {
            return if name == "file" { Type::File } else { Type::Any };
        }
        // An object can have any key, and any property can be an object.
        if matches!(receiver, Type::Any | Type::Object | Type::Null) {
            return Type::Any;
        }
        if let Some(field) = functions::find(Some(receiver), name, false) {
            self.extension(of, field, name_at);
            return field.gives;
        }
        let message = format!("{} has no field `{name}`", type_name(receiver));
        let hint = match functions::find(Some(receiver), name, true) {
            Some(_) => Some(format!("it is a method: write `{name}()`")),
            None => self.near_member(receiver, name),
        };
        self.warn(Kind::UnknownName, name_at, message, hint);
        Type::Any
    }

    fn near_member(&self, receiver: Type, name: &str) -> Option<String> {
        let known = functions::offered_by(Some(receiver)).filter(|known| self.is_offered(known));
        let near = nearest(name, known.map(|known| known.name))?;
        let is_call = functions::find(Some(receiver), near, true).is_some();
        Some(format!("did you mean `{near}{}`?", if is_call { "()" } else { "" }))
    }

    fn is_offered(&self, function: &Function) -> bool {
        self.checker.allows_extensions || !function.is_extension
    }

    fn extension(&mut self, of: &Expr, function: &Function, at: &Span) {
        if !self.is_offered(function) {
            let of = self.written(&of.at);
            let name = function.name;
            let message = format!("Obsidian does not know `{of}.{name}`");
            let error = Diagnostic::error(Kind::Extension, &self.of.source, at.clone(), message);
            self.found.push(error.hint("it can be used in rules and queries, not in a base"));
        }
    }

    fn method(&mut self, of: &'c Expr, name: &str, name_at: &Span, args: &'c [Expr]) -> Type {
        let receiver = match (self.part(of), &of.node) {
            (_, Node::This) => Type::File,
            (Type::Null, _) => Type::Any,
            (receiver, _) => receiver,
        };
        let actual: Vec<Type> = args.iter().map(|arg| self.part(arg)).collect();
        let known = match receiver {
            Type::Any => {
                let mut known = functions::all()
                    .filter(|known| known.name == name && known.of.is_some() && known.is_call());
                match (known.next(), known.next()) {
                    (Some(_), Some(_)) => return Type::Any,
                    (only, _) => only,
                }
            }
            receiver => functions::find(Some(receiver), name, true),
        };
        if let Some(known) = known {
            self.extension(of, known, name_at);
            self.args(known, name_at, args, &actual);
            self.names(known, args);
            return known.gives;
        }
        let (message, hint) = match receiver {
            Type::Any => {
                let mut all = functions::all().filter(|known| known.of.is_some());
                let is_field = all.any(|known| known.name == name && !known.is_call());
                let calls = functions::all().filter(|known| {
                    known.of.is_some() && known.is_call() && self.is_offered(known)
                });
                let near = nearest(name, calls.map(|known| known.name));
                let hint = if is_field {
                    Some(format!("it is a field: write `{name}`"))
                } else {
                    near.map(|near| format!("did you mean `{near}`?"))
                };
                (format!("nothing has a method `{name}`"), hint)
            }
            receiver => {
                let hint = match functions::find(Some(receiver), name, false) {
                    Some(_) => Some(format!("it is a field: write `{name}`")),
                    None => self.near_member(receiver, name),
                };
                (format!("{} has no method `{name}`", type_name(receiver)), hint)
            }
        };
        self.warn(Kind::UnknownName, name_at, message, hint);
        Type::Any
    }

    fn call(&mut self, part: &'c Expr, name: &str, name_at: &Span, args: &'c [Expr]) -> Type {
        if let Some(known) = functions::find(None, name, true) {
            let actual: Vec<Type> = args.iter().map(|arg| self.part(arg)).collect();
            self.args(known, name_at, args, &actual);
            return match (name, &actual[..]) {
                ("if", [_, then, other]) if then == other => *then,
                ("if", _) => Type::Any,
                _ => known.gives,
            };
        }
        let hint = match outdated::current(self.of, part) {
            Some(current) => {
                let message = format!("`{name}(…)` is how early versions wrote it");
                // The replacement includes nested forms.
                args.iter().for_each(|arg| self.names_within(arg));
                let hint = Some(format!("write `{current}`"));
                self.warn(Kind::Outdated, &part.at, message, hint);
                return Type::Any;
            }
            None => {
                let known = functions::offered_by(None).map(|known| known.name);
                did_you_mean(name, known)
            }
        };
        for arg in args {
            self.part(arg);
        }
        self.warn(Kind::UnknownName, name_at, format!("there is no function `{name}`"), hint);
        Type::Any
    }

    fn names_within(&mut self, part: &'c Expr) {
        let mut names = Vec::new();
        visit(part, &mut |part| {
            if let Node::Property(number) = part.node {
                names.push((number, part.at.clone()));
            }
        });
        for (number, at) in names {
            if let Some(name) = self.of.properties.get(number) {
                self.property(name, &at);
            }
        }
    }

    fn args(&mut self, function: &Function, at: &Span, args: &[Expr], actual: &[Type]) {
        let params = function.params.unwrap_or_default();
        let least = params.iter().filter(|param| !param.is_optional).count();
        let is_repeated = params.last().is_some_and(|param| param.is_repeated);
        let name = function.name;
        if args.len() < least {
            let missing = params.get(args.len()).map_or("", |param| param.name);
            let message = format!("`{name}` needs its `{missing}`");
            return self.warn(Kind::WrongArguments, at, message, Some(usage(function)));
        }
        if args.len() > params.len() && !is_repeated {
            let surplus = &args[params.len()].at;
            let count = params.len();
            let most = match count {
                0 => "no arguments".to_owned(),
                1 => "one argument".to_owned(),
                more => format!("{more} arguments"),
            };
            let message = format!("`{name}` takes {most}");
            return self.warn(Kind::WrongArguments, surplus, message, Some(usage(function)));
        }
        for (number, (arg, actual)) in args.iter().zip(actual).enumerate() {
            let Some(param) = params.get(number).or(params.last()) else { return };
            let fits = |expected: &Type| match (expected, actual) {
                (Type::Any | Type::PerElement, _) | (_, Type::Any | Type::Null) => true,
                (Type::Text, Type::Link) => true,
                (expected, actual) => expected == actual,
            };
            if !param.types.iter().any(fits) {
                let expected: Vec<_> =
                    param.types.iter().map(|expected| type_name(*expected)).collect();
                let message = format!(
                    "`{name}` takes {}, and this is {}",
                    expected.join(" or "),
                    type_name(*actual)
                );
                self.warn(Kind::WrongArguments, &arg.at, message, Some(usage(function)));
            }
        }
    }

    /// Properties, tags and folders that are named by texts.
    fn names(&mut self, function: &Function, args: &'c [Expr]) {
        let Some(source) = self.checker.source else { return };
        if function.of != Some(Type::File) {
            return;
        }
        for arg in args {
            let Node::Text(text) = &arg.node else { continue };
            match function.name {
                "hasProperty" => self.property(text, &arg.at),
                "hasTag" => self.tag(source, text, &arg.at),
                "inFolder" => self.folder(source, text, &arg.at),
                _ => {}
            }
        }
    }

    fn tag(&mut self, source: &dyn Source, tag: &str, at: &Span) {
        let has = |file: &FileId| source.has_tag(*file, tag);
        if any(source, &Hint::HasTag(tag.into()), has) {
            return;
        }
        let bare = tag.trim_start_matches('#');
        let known = source.tag_names();
        let hint = did_you_mean(bare, known.iter().map(|tag| &**tag));
        self.warn(Kind::UnknownName, at, format!("nothing has the tag `{bare}`"), hint);
    }

    fn folder(&mut self, source: &dyn Source, folder: &str, at: &Span) {
        let expected = folder.trim_matches('/');
        let is_in = |path: &str, folder: &str| {
            path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        };
        let lies_in = |file: &FileId| is_in(&source.path(*file), expected);
        if expected.is_empty() || any(source, &Hint::InFolder(expected.into()), lies_in) {
            return;
        }
        let (mut known, mut seen) = (Vec::new(), HashSet::new());
        let mut last = String::new();
        for file in source.files() {
            // Files of one folder are mostly adjacent.
            if source.is_directly_in(file, &last) {
                continue;
            }
            let path = source.path(file);
            let Some((folder, _)) = path.rsplit_once('/') else { continue };
            folder.clone_into(&mut last);
            for (at, _) in path.rmatch_indices('/') {
                // The parents of a known folder are known.
                if seen.contains(&path[..at]) {
                    break;
                }
                seen.insert(path[..at].to_owned());
                known.push(path[..at].to_owned());
            }
        }
        let hint = did_you_mean(expected, known.iter().map(String::as_str));
        self.warn(Kind::UnknownName, at, format!("no file is in a folder `{expected}`"), hint);
    }
}

/// Whether any file meets both `hint` and `holds`.
fn any(source: &dyn Source, hint: &Hint, holds: impl Fn(&FileId) -> bool) -> bool {
    match source.narrow(hint) {
        Some(files) => files.iter().any(holds),
        None => source.files().any(|file| holds(&file)),
    }
}

fn is_of_properties(part: &Expr) -> bool {
    match &part.node {
        Node::Property(_) => true,
        Node::Binary { op: Op::Subtract, left, right, .. } => {
            is_of_properties(left) && is_of_properties(right)
        }
        _ => false,
    }
}

/// The signature of a call: `slice(start, end?)`.
fn usage(function: &Function) -> String {
    let param = |param: &functions::Param| {
        let mark = if param.is_repeated {
            "…"
        } else if param.is_optional {
            "?"
        } else {
            ""
        };
        format!("{}{mark}", param.name)
    };
    let params: Vec<_> = function.params.unwrap_or_default().iter().map(param).collect();
    let dot = if function.of.is_some() { "." } else { "" };
    format!("it is `{dot}{}({})`", function.name, params.join(", "))
}

fn type_name(of: Type) -> &'static str {
    match of {
        Type::Any => "a value",
        Type::Null => "null",
        Type::Bool => "true or false",
        Type::Number => "a number",
        Type::Text => "a text",
        Type::Date => "a date",
        Type::Duration => "a duration",
        Type::List => "a list",
        Type::Object => "an object",
        Type::Link => "a link",
        Type::File => "a file",
        Type::Pattern => "a pattern",
        Type::PerElement => "an expression for each element",
    }
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
