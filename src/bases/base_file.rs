//! A `.base` file: from its YAML to views that can be run. Keys that are not known are left alone.

use std::collections::HashMap;
use std::sync::Arc;

use super::ast::{Expression, Span};
use super::check::Checker;
use super::compare::summaries;
use super::cycles;
use super::diagnostic::{Diagnostic, Kind};
use super::functions;
use super::nearest::{did_you_mean, nearest};
use super::parse::{self, Options};
use super::query::{ColumnKey, Filter, Query, ShownColumn, SortBy, Summary};
use super::value::{Text, Type};
use crate::note::yaml::{self, Content, Node};

/// The longest `.base` file that is read, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

const KEYS: [&str; 5] = ["filters", "formulas", "properties", "summaries", "views"];

const VIEW_KEYS: [&str; 8] =
    ["type", "name", "filters", "order", "sort", "groupBy", "limit", "summaries"];

#[derive(Debug, Clone)]
pub struct BaseFile {
    /// At least one: a base without views is a table of all files.
    pub views: Vec<View>,
    /// Warnings from the text alone; see [`BaseFile::check`] for those that need the vault.
    pub warnings: Vec<Diagnostic>,
    formulas: Vec<(Text, Arc<Expression>)>,
    expressions: Vec<(Arc<Expression>, Node)>,
    text: Arc<str>,
}

#[derive(Debug, Clone)]
pub struct View {
    /// The layout: `table`, `cards`, `list`, `map`, or a plugin's own.
    pub kind: Text,
    pub name: Text,
    pub query: Query,
}

impl BaseFile {
    /// The view with this name, exact before ignoring case; the first one without a name.
    pub fn view(&self, name: Option<&str>) -> Option<&View> {
        let Some(name) = name else { return self.views.first() };
        let exact = self.views.iter().find(|view| &*view.name == name);
        let folded = name.to_lowercase();
        exact.or_else(|| self.views.iter().find(|view| view.name.to_lowercase() == folded))
    }

    /// Checks the expressions against the vault and the function table; diagnostics by place.
    pub fn check(&self, checker: &Checker<'_>) -> Vec<Diagnostic> {
        let formulas = self.formulas.iter().map(|(name, _)| name.clone()).collect();
        let checker = checker.in_base(formulas);
        let mut found = self.warnings.clone();
        for (expression, node) in &self.expressions {
            let of_one = checker.check(expression).into_iter();
            found.extend(of_one.map(|warning| moved(warning, &self.text, node)));
        }
        found.sort_by_key(|warning| warning.at.start);
        found
    }
}

/// Reads a `.base` file, or the content of a fenced block `base`.
///
/// # Errors
/// All errors by place: invalid YAML, values that do not fit their keys, invalid expressions, extensions that Obsidian
/// does not have, cycles of formulas.
pub fn read(text: &str) -> Result<BaseFile, Vec<Diagnostic>> {
    if text.len() > MAX_BYTES {
        let at = MAX_BYTES as u32..MAX_BYTES as u32;
        let message = "the base is larger than 1 MB";
        return Err(vec![Diagnostic::error(Kind::TooLarge, text, at, message)]);
    }
    let root = yaml::read(text).map_err(|fault| vec![not_yaml(text, &fault, Kind::InvalidBase)])?;
    let mut reader = BaseReader::new(text, None);
    let (formulas, views) = reader.base(root.as_ref());
    reader.circular(&formulas);
    reader.extensions();
    reader.faults.sort_by_key(|fault| fault.at.start);
    if !reader.faults.is_empty() {
        return Err(reader.faults);
    }
    let BaseReader { warnings, expressions, .. } = reader;
    let formulas = formulas.into_iter().map(|(name, formula, _)| (name, formula)).collect();
    Ok(BaseFile { views, warnings, formulas, expressions, text: text.into() })
}

/// A condition in a file that is not a base.
#[derive(Debug, Clone)]
pub struct Condition {
    /// `None` if it is empty.
    pub filter: Option<Filter>,
    pub expressions: Vec<(Arc<Expression>, Node)>,
}

/// How conditions in a file that is not a base are parsed.
#[derive(Debug, Clone, Copy)]
pub struct ConditionSyntax {
    /// The kind of diagnostic for malformed content.
    pub kind: Kind,
    pub parse: fn(&str) -> Result<Expression, Diagnostic>,
}

/// Parses a filter at `path` in a file such as a rule file: `when.and[2]`. `text` is the file's text, `node` a node
/// of it.
pub fn read_condition(
    text: &str,
    node: &Node,
    path: &str,
    syntax: ConditionSyntax,
) -> Result<Condition, Vec<Diagnostic>> {
    let mut reader = BaseReader::new(text, Some(syntax));
    let filter = reader.filter(node, path);
    if reader.faults.is_empty() {
        Ok(Condition { filter, expressions: reader.expressions })
    } else {
        Err(reader.faults)
    }
}

pub fn not_yaml(text: &str, fault: &yaml::YamlFault, kind: Kind) -> Diagnostic {
    let line = text[..fault.at].rfind('\n').map_or(0, |newline| newline + 1);
    let rest = text[line..].lines().next().unwrap_or_default();
    let value = rest.trim_start().trim_start_matches("- ");
    let value = value.split_once(": ").map_or(value, |(_, value)| value).trim_start();
    if value.starts_with('!') && !value.starts_with("!=") {
        return as_type(text, line + (rest.len() - value.len()), value, kind);
    }
    let is_base = kind == Kind::InvalidBase;
    let kind = if fault.reason.contains("levels deep") { Kind::TooDeep } else { kind };
    let hint = if is_base {
        "a base is YAML: write an expression that holds `: `, ` #` or quotes between `'`"
    } else if rest.contains("{{") {
        "write a text with `{{…}}` between `'`"
    } else {
        "this is YAML: write an expression that holds `: `, ` #` or quotes between `'`"
    };
    Diagnostic::error(kind, text, place(fault.at, fault.at + 1), fault.to_string()).hint(hint)
}

/// An expression that YAML reads as a tag, since it begins with `!`.
fn as_type(text: &str, at: usize, value: &str, kind: Kind) -> Diagnostic {
    let word = value.split_whitespace().next().unwrap_or_default();
    let quoted = value.trim().replace('\'', "''");
    let message = format!("YAML reads `{word}` as a type");
    Diagnostic::error(kind, text, place(at, at + word.len()), message)
        .hint(format!("write it in quotes: `'{quoted}'`"))
}

fn place(start: usize, end: usize) -> Span {
    start as u32..end as u32
}

/// Moves diagnostics of an expression to the enclosing file.
pub fn moved(diagnostic: Diagnostic, text: &str, node: &Node) -> Diagnostic {
    let start = node.place(text, diagnostic.at.start as usize);
    let end = node.place(text, diagnostic.at.end as usize).max(start);
    diagnostic.moved_to(text, place(start, end))
}

/// A formula with its name and the name's place.
type Formula = (Text, Arc<Expression>, Span);

struct BaseReader<'t> {
    text: &'t str,
    faults: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
    expressions: Vec<(Arc<Expression>, Node)>,
    /// `None` in a base.
    syntax: Option<ConditionSyntax>,
}

/// The parts of a base that all views share.
#[derive(Default)]
struct ViewDefaults {
    filter: Option<Filter>,
    formulas: Vec<(Text, Arc<Expression>)>,
    summaries: Vec<(Text, Arc<Expression>)>,
    titles: HashMap<ColumnKey, Text>,
}

impl<'t> BaseReader<'t> {
    fn new(text: &'t str, syntax: Option<ConditionSyntax>) -> Self {
        let (faults, warnings, expressions) = (Vec::new(), Vec::new(), Vec::new());
        Self { text, faults, warnings, expressions, syntax }
    }

    fn fault(&mut self, kind: Kind, node: &Node, message: impl Into<String>, hint: &str) {
        let at = place(node.at.start, node.at.end);
        let error = Diagnostic::error(kind, self.text, at, message);
        self.faults.push(error.hint(hint));
    }

    fn warn(&mut self, kind: Kind, node: &Node, message: String, hint: String) {
        let at = place(node.at.start, node.at.end);
        self.warnings.push(Diagnostic::warning(kind, self.text, at, message).hint(hint));
    }

    fn base(&mut self, root: Option<&Node>) -> (Vec<Formula>, Vec<View>) {
        let mut shared = ViewDefaults::default();
        let mut formulas = Vec::new();
        let mut views = None;
        let root = root.filter(|root| !root.is_null());
        for (key, value) in root.map_or(&[][..], |root| self.mapping(root, "a base")) {
            match key.text().unwrap_or_default() {
                _ if value.is_null() => {}
                "filters" => shared.filter = self.filter(value, "filters"),
                "formulas" => formulas = self.named(value, "formulas", false),
                "properties" => self.titles(value, &mut shared.titles),
                "summaries" => {
                    let named = self.named(value, "summaries", true).into_iter();
                    shared.summaries = named.map(|(name, formula, _)| (name, formula)).collect();
                }
                "views" => views = Some(value),
                other => self.unknown_key(key, other, &KEYS),
            }
        }
        shared.formulas =
            formulas.iter().map(|(name, formula, _)| (name.clone(), formula.clone())).collect();
        let mut made: Vec<View> = Vec::new();
        for view in views.map_or(&[][..], |views| self.list(views, "views")) {
            let next = self.view(view, &shared);
            if let Some(name) =
                name_node(view).filter(|_| made.iter().any(|one| one.name == next.name))
            {
                let message = format!("another view is named `{}` too", next.name);
                self.warn(Kind::Misleading, name, message, "give it a name of its own".to_owned());
            }
            made.push(next);
        }
        if made.is_empty() {
            made.push(View::new("table", "Table", &shared));
        }
        (formulas, made)
    }

    fn unknown_key(&mut self, key: &Node, name: &str, known: &[&str]) {
        if let Some(near) = nearest(name, known.iter().copied()) {
            let message = format!("`{name}` is not a key here and is ignored");
            self.warn(Kind::UnknownName, key, message, format!("did you mean `{near}`?"));
        }
    }

    fn mapping<'n>(&mut self, node: &'n Node, what: &str) -> &'n [(Node, Node)] {
        match &node.content {
            Content::Mapping(pairs) => pairs,
            _ => {
                let message = format!("{what} has to be keys with values");
                self.fault(Kind::InvalidBase, node, message, "");
                &[]
            }
        }
    }

    fn list<'n>(&mut self, node: &'n Node, what: &str) -> &'n [Node] {
        match &node.content {
            Content::List(items) => items,
            _ if node.is_null() => &[],
            _ => {
                let hint = "write one item a line, each after `- `";
                self.fault(Kind::InvalidBase, node, format!("`{what}` has to be a list"), hint);
                &[]
            }
        }
    }

    fn text(&mut self, node: &Node, what: &str) -> Option<Text> {
        let text = node.text().map(Text::from);
        if text.is_none() {
            self.fault(Kind::InvalidBase, node, format!("`{what}` must be a string"), "");
        }
        text
    }

    fn expression(&mut self, node: &Node, is_summary: bool) -> Option<Arc<Expression>> {
        let source = node.text()?;
        if let Some(tag) = &node.tag {
            let start = self.text[..node.at.end].rfind(&**tag).unwrap_or(node.at.start);
            let written = self.text[start..].lines().next().unwrap_or_default();
            let kind = self.syntax.map_or(Kind::InvalidBase, |syntax| syntax.kind);
            self.faults.push(as_type(self.text, start, written, kind));
            return None;
        }
        let parsed = match self.syntax {
            Some(syntax) => (syntax.parse)(source),
            None => parse::parse(source, Options { is_summary, ..Options::default() }),
        };
        match parsed {
            Ok(expression) => {
                let expression = Arc::new(expression);
                self.expressions.push((expression.clone(), node.clone()));
                Some(expression)
            }
            Err(error) => {
                self.faults.push(moved(error, self.text, node));
                None
            }
        }
    }

    /// Parses a filter at `path` in the file: `filters.and[2]`. `None` if it is empty or invalid.
    fn filter(&mut self, node: &Node, path: &str) -> Option<Filter> {
        let pairs = match &node.content {
            Content::Scalar { .. } => return self.expression(node, false).map(Filter::Is),
            Content::List(_) => {
                let message =
                    format!("`{path}` is a list, and does not say how its filters are joined");
                self.fault(
                    Kind::InvalidFilter,
                    node,
                    message,
                    "write `and:`, `or:` or `not:` above it",
                );
                return None;
            }
            Content::Mapping(pairs) => pairs,
        };
        let (key, value) = match &pairs[..] {
            [] => return None,
            [pair] => pair,
            _ => {
                let keys: Vec<_> = pairs.iter().filter_map(|(key, _)| key.text()).collect();
                let message = format!("`{path}` has `{}`", keys.join("` and `"));
                let hint =
                    "a filter has exactly one of `and`, `or` and `not`; put one into the other";
                self.fault(Kind::InvalidFilter, node, message, hint);
                return None;
            }
        };
        let join = match key.text().unwrap_or_default() {
            "and" => Filter::And,
            "or" => Filter::Or,
            "not" => Filter::Not,
            other => {
                let written = self.text[node.at.clone()].lines().next().unwrap_or_default();
                let hint =
                    did_you_mean(other, ["and", "or", "not"].into_iter()).unwrap_or_else(|| {
                        format!("write an expression that holds `: ` in quotes: `'{written}'`")
                    });
                let message =
                    format!("`{path}` has `{other}`, and a filter has `and`, `or` or `not`");
                self.fault(Kind::InvalidFilter, key, message, &hint);
                return None;
            }
        };
        let path = format!("{path}.{}", key.text().unwrap_or_default());
        let items = match &value.content {
            Content::List(items) => &items[..],
            _ if value.is_null() => &[],
            _ => std::slice::from_ref(value),
        };
        let filters = items.iter().enumerate().filter(|(_, item)| !item.is_null());
        let filters = filters.filter_map(|(at, item)| self.filter(item, &format!("{path}[{at}]")));
        Some(join(filters.collect()))
    }

    fn named(&mut self, node: &Node, what: &str, is_summary: bool) -> Vec<Formula> {
        let mut found = Vec::new();
        for (key, value) in self.mapping(node, &format!("`{what}`")) {
            let name = key.text().unwrap_or_default();
            if value.text().is_some_and(|text| text.trim().is_empty()) {
                let message = format!("`{what}.{name}` is empty and is ignored");
                self.warn(Kind::InvalidExpression, key, message, "write its expression".to_owned());
                continue;
            }
            let Some(_) = self.text(value, &format!("{what}.{name}")) else { continue };
            if let Some(formula) = self.expression(value, is_summary) {
                found.push((name.into(), formula, place(key.at.start, key.at.end)));
            }
        }
        found
    }

    fn titles(&mut self, node: &Node, titles: &mut HashMap<ColumnKey, Text>) {
        for (key, value) in self.mapping(node, "`properties`") {
            let name = key.text().unwrap_or_default();
            if value.is_null() {
                continue;
            }
            let pairs = self.mapping(value, &format!("`properties.{name}`"));
            let title = pairs.iter().find(|(key, _)| key.text() == Some("displayName"));
            let title = title.and_then(|(_, title)| title.text()).filter(|title| !title.is_empty());
            let Some(title) = title else { continue };
            if ["file.", "note.", "formula."].iter().any(|prefix| name.starts_with(prefix)) {
                titles.insert(ColumnKey::parse(name), title.into());
            } else {
                let message = format!("the `displayName` of `{name}` is ignored");
                self.warn(Kind::Misleading, key, message, format!("write `note.{name}`"));
            }
        }
    }

    fn view(&mut self, node: &Node, shared: &ViewDefaults) -> View {
        let mut view = View::new("table", "", shared);
        let mut own = None;
        for (key, value) in self.mapping(node, "a view") {
            let name = key.text().unwrap_or_default();
            match name {
                _ if value.is_null() => {}
                "type" => view.kind = self.text(value, name).unwrap_or_default(),
                "name" => view.name = self.text(value, name).unwrap_or_default(),
                "filters" => own = self.filter(value, "filters"),
                "order" => {
                    let columns: Vec<_> = self
                        .list(value, name)
                        .iter()
                        .filter_map(|item| {
                            let key = self.text(item, name)?;
                            Some(shown_column(self.column(item, &key, shared), &key, shared))
                        })
                        .collect();
                    if !columns.is_empty() {
                        view.query.columns = columns;
                    }
                }
                "sort" => {
                    let items = self.list(value, name).iter();
                    view.query.sort =
                        items.filter_map(|item| self.sort_by(item, name, shared)).collect();
                }
                "groupBy" => view.query.group_by = self.sort_by(value, name, shared),
                "limit" => {
                    let limit = value.scalar().and_then(|limit| limit.as_u64());
                    if limit.is_none() {
                        let message = "`limit` has to be a whole number, 0 or more";
                        self.fault(Kind::InvalidBase, value, message, "");
                    }
                    view.query.limit = limit.and_then(|limit| usize::try_from(limit).ok());
                }
                "summaries" => {
                    for (key, value) in self.mapping(value, "`summaries`") {
                        let of = self.column(key, key.text().unwrap_or_default(), shared);
                        view.query.summaries.extend(self.summary(value, shared).map(|it| (of, it)));
                    }
                }
                other => self.unknown_key(key, other, &VIEW_KEYS),
            }
        }
        if view.name.is_empty() {
            view.name = view.kind.clone();
        }
        view.query.filter = match (shared.filter.clone(), own) {
            (Some(all), Some(own)) => Some(Filter::And(vec![all, own])),
            (all, own) => all.or(own),
        };
        view
    }

    fn sort_by(&mut self, node: &Node, what: &str, shared: &ViewDefaults) -> Option<SortBy> {
        if let Some(key) = node.text().filter(|key| !key.is_empty()) {
            return Some(SortBy { key: self.column(node, key, shared), is_descending: false });
        }
        let pairs = self.mapping(node, &format!("`{what}`"));
        let get = |name: &str| pairs.iter().find(|(key, _)| key.text() == Some(name));
        let Some((_, property)) = get("property") else {
            if let Some((key, value)) = get("column") {
                let message = "`column` is an early spelling and is ignored";
                let hint = format!("write `property: {}`", value.text().unwrap_or_default());
                self.warn(Kind::Outdated, key, message.to_owned(), hint);
            } else if let Content::Mapping(_) = node.content {
                let message = format!("`{what}` names no property");
                let hint = "write `property: file.name`";
                self.fault(Kind::InvalidBase, node, message, hint);
            }
            return None;
        };
        let key = self.text(property, "property")?;
        let key = self.column(property, &key, shared);
        let direction = get("direction").map(|(_, direction)| direction);
        let direction = direction.filter(|direction| !direction.is_null());
        let is = |word: &str| {
            let written = direction.and_then(Node::text);
            written.is_some_and(|written| written.eq_ignore_ascii_case(word))
        };
        if let Some(direction) = direction.filter(|_| !is("ASC") && !is("DESC")) {
            let message = "this is not a direction";
            self.fault(Kind::InvalidBase, direction, message, "write `ASC` or `DESC`");
        }
        Some(SortBy { key, is_descending: is("DESC") })
    }

    /// Parses a column of a view. All but properties must exist.
    fn column(&mut self, node: &Node, name: &str, shared: &ViewDefaults) -> ColumnKey {
        let key = ColumnKey::parse(name);
        match &key {
            ColumnKey::Formula(name) if shared.formulas.iter().all(|(known, _)| known != name) => {
                let near = nearest(name, shared.formulas.iter().map(|(known, _)| &**known));
                let hint = match near {
                    Some(near) => format!("did you mean `formula.{near}`?"),
                    None => "write it under `formulas`, or leave it out".to_owned(),
                };
                let message = format!("the base has no formula `{name}`");
                self.warn(Kind::UnknownName, node, message, hint);
            }
            ColumnKey::File(name) => match functions::find(Some(Type::File), name, false) {
                Some(field) if field.is_extension => {
                    let message = format!("Obsidian does not know `file.{name}`");
                    let hint = "it can be used in rules and queries, not in a base";
                    self.fault(Kind::Extension, node, message, hint);
                }
                Some(_) => {}
                None => {
                    let fields =
                        functions::offered_by(Some(Type::File)).filter(|known| !known.is_call());
                    let hint = match nearest(name, fields.map(|known| known.name)) {
                        Some(near) => format!("did you mean `file.{near}`?"),
                        None => "see the fields of files in Obsidian's manual".to_owned(),
                    };
                    let message = format!("a file has no field `{name}`");
                    self.warn(Kind::UnknownName, node, message, hint);
                }
            },
            _ => {}
        }
        key
    }

    fn summary(&mut self, node: &Node, shared: &ViewDefaults) -> Option<Summary> {
        let name = self.text(node, "summaries")?;
        if let Some((name, formula)) = shared.summaries.iter().find(|(own, _)| *own == name) {
            return Some(Summary::Own { name: name.clone(), formula: formula.clone() });
        }
        let known = summaries::NAMES.iter().find(|known| known.eq_ignore_ascii_case(&name));
        if known.is_none() {
            let own = shared.summaries.iter().map(|(name, _)| &**name);
            let hint = did_you_mean(&name, summaries::NAMES.into_iter().chain(own))
                .unwrap_or_else(|| format!("there are {}", summaries::NAMES.join(", ")));
            let message = format!("there is no summary `{name}`");
            self.warn(Kind::UnknownName, node, message, hint);
        }
        known.map(|known| Summary::BuiltIn((*known).into()))
    }

    fn circular(&mut self, formulas: &[Formula]) {
        let trees =
            formulas.iter().map(|(name, formula, _)| (&**name, &**formula)).collect::<Vec<_>>();
        for circle in cycles::find(&trees) {
            let names: Vec<_> = circle.iter().map(|number| trees[*number].0).collect();
            let message = format!("formulas depend on each other: {}", names.join(" → "));
            let key = formulas[circle[0]].2.clone();
            let error = Diagnostic::error(Kind::Circular, self.text, key, message);
            self.faults.push(error.hint("remove one of these references"));
        }
    }

    /// Extensions are errors in a file that Obsidian reads.
    fn extensions(&mut self) {
        let checker = Checker::new(None).in_base(Vec::new());
        for (expression, node) in &self.expressions {
            let found = checker.check(expression).into_iter();
            let refused = found.filter(|found| found.kind == Kind::Extension);
            self.faults.extend(refused.map(|error| moved(error, self.text, node)));
        }
    }
}

/// The place of a view's name.
fn name_node(view: &Node) -> Option<&Node> {
    let Content::Mapping(pairs) = &view.content else { return None };
    let name = pairs.iter().find(|(key, _)| key.text() == Some("name"));
    name.map(|(_, name)| name).filter(|name| !name.is_null())
}

impl View {
    fn new(kind: &str, name: &str, shared: &ViewDefaults) -> Self {
        let columns = vec![shown_column(ColumnKey::parse("file.name"), "file.name", shared)];
        let formulas = shared.formulas.clone();
        let filter = shared.filter.clone();
        let query = Query { filter, formulas, columns, ..Query::default() };
        Self { kind: kind.into(), name: name.into(), query }
    }
}

fn shown_column(key: ColumnKey, written: &str, shared: &ViewDefaults) -> ShownColumn {
    let title = shared.titles.get(&key).cloned().unwrap_or_else(|| written.into());
    ShownColumn { key, title, expression: None }
}

#[cfg(test)]
#[path = "base_file_tests.rs"]
mod tests;
