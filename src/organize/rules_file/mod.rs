//! Parses rules from a YAML file or from the fenced blocks `rules` of a note.

mod actions;
mod classic;
mod meaning;
mod reader;

use std::sync::Arc;

use chrono::NaiveTime;

use super::rule::{Action, OnConflict, Rule, Trigger};
use crate::bases::ast::{Expression, Span};
use crate::bases::base_file::{self, ConditionSyntax, not_yaml};
use crate::bases::blocks::blocks;
use crate::bases::diagnostic::{Diagnostic, Kind};
use crate::bases::duration::{Duration, Unit};
use crate::bases::parse::{self, Options};
use crate::bases::value::Text;
use crate::note::path::VaultPath;
use crate::note::yaml::{self, Content, Node};
use reader::get;
pub(super) use reader::in_hours;

/// The longest rule file that is read, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

const KEYS: [&str; 3] = ["version", "dialect", "rules"];

const RULE_KEYS: [&str; 11] = [
    "name",
    "in",
    "when",
    "do",
    "priority",
    "then",
    "once",
    "on_conflict",
    "run",
    "dialect",
    "description",
];

#[derive(Debug, Clone, Default)]
pub struct RuleFile {
    pub rules: Vec<Rule>,
    /// Warnings from the text alone; [`check`](super::check) adds those that need the vault.
    pub warnings: Vec<Diagnostic>,
    pub(super) written: Vec<Written>,
}

/// The place of a rule, and the names in it.
#[derive(Debug, Clone)]
pub(super) struct Written {
    /// The text to which the places refer.
    pub text: Arc<str>,
    pub name: Span,
    /// The condition; the rule's name if it has none.
    pub when: Span,
    pub mentions: Vec<Mention>,
}

#[derive(Debug, Clone)]
pub(super) struct Mention {
    pub at: Span,
    pub what: Mentioned,
}

#[derive(Debug, Clone)]
pub(super) enum Mentioned {
    Expression {
        expression: Arc<Expression>,
        /// The scalar that contains it.
        node: Node,
        /// Byte offset of the expression in the scalar's text.
        offset: u32,
    },
    Folder(VaultPath),
    /// A property that the rule removes.
    Property(Text),
    /// A tag that the rule removes.
    Tag(Text),
    Template(VaultPath),
    /// A target folder, without the parts that depend on the note.
    Destination(VaultPath),
}

/// Finds the base that a condition names: its path and its text.
///
/// # Errors
/// The reason as a sentence.
pub type FindBase<'a> = dyn Fn(&str) -> Result<(VaultPath, String), String> + 'a;

/// Reads a rule file.
///
/// # Errors
/// All errors by place: invalid YAML, unknown keys and values, invalid expressions and templates, paths that lead out
/// of the vault, duplicate names, no rules at all.
pub fn read(text: &str, find_base: &FindBase<'_>) -> Result<RuleFile, Vec<Diagnostic>> {
    let mut file = RuleFile::default();
    read_into(&mut file, text, find_base)?;
    Ok(file)
}

/// Reads the fenced blocks `rules` of a note. Places are those in the note.
pub fn read_note(note: &str, find_base: &FindBase<'_>) -> Result<RuleFile, Vec<Diagnostic>> {
    let blocks = blocks(note, "rules");
    if blocks.is_empty() {
        let message = "the note has no block of rules";
        let error = Diagnostic::error(Kind::InvalidRule, note, 0..0, message);
        return Err(vec![error.hint("write them between ```` ```rules ```` and ```` ``` ````")]);
    }
    let mut file = RuleFile::default();
    let mut faults = Vec::new();
    for block in blocks {
        faults.extend(read_into(&mut file, &block.text, find_base).err().into_iter().flatten());
    }
    if faults.is_empty() { Ok(file) } else { Err(faults) }
}

fn read_into(
    file: &mut RuleFile,
    text: &str,
    find_base: &FindBase<'_>,
) -> Result<(), Vec<Diagnostic>> {
    if text.len() > MAX_BYTES {
        let at = MAX_BYTES as u32..MAX_BYTES as u32;
        let message = "the rule file is larger than 1 MB";
        return Err(vec![Diagnostic::error(Kind::TooLarge, text, at, message)]);
    }
    let root = match yaml::read(text) {
        Ok(root) => root,
        Err(fault) => {
            // JSON has escapes and white space that YAML does not allow. Places are lost in that case.
            let json = serde_json::from_str::<serde_json::Value>(text).ok();
            let again = json.and_then(|json| serde_json::to_string_pretty(&json).ok());
            return match again {
                Some(again) if again != text => read_into(file, &again, find_base),
                _ => Err(vec![not_yaml(text, &fault, Kind::InvalidRule)]),
            };
        }
    };
    let mut reader = RuleReader::new(text, find_base);
    reader.file(root.as_ref(), file);
    reader.faults.sort_by_key(|fault| fault.at.start);
    file.warnings.append(&mut reader.warnings);
    if reader.faults.is_empty() { Ok(()) } else { Err(reader.faults) }
}

struct RuleReader<'t> {
    text: &'t str,
    find_base: &'t FindBase<'t>,
    faults: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
    is_classic: bool,
    rule: String,
    /// The names in the rule.
    mentions: Vec<Mention>,
}

impl RuleReader<'_> {
    fn file(&mut self, root: Option<&Node>, file: &mut RuleFile) {
        let root = root.filter(|root| !root.is_null());
        let rules = match root.map(|root| (root, &root.content)) {
            Some((_, Content::List(rules))) => &rules[..],
            Some((root, Content::Mapping(pairs))) => self.head(root, pairs),
            _ => &[],
        };
        if rules.is_empty() && self.faults.is_empty() {
            let at = root.map_or(0..0, |root| root.at.start..root.at.start);
            let hint = "write a list `rules:` of keys such as `name`, `when` and `do`";
            self.fault_at(at, "there are no rules", hint);
        }
        let text: Arc<str> = self.text.into();
        for node in rules {
            let is_known = |name: &str| file.rules.iter().any(|rule| rule.name == name);
            let Some((rule, mut written)) = self.rule(node, &is_known) else { continue };
            written.text = Arc::clone(&text);
            file.rules.push(rule);
            file.written.push(written);
        }
    }

    /// Reads the file's header and its rules.
    fn head<'n>(&mut self, root: &Node, pairs: &'n [(Node, Node)]) -> &'n [Node] {
        let is_rule = |(key, _): &(Node, Node)| {
            let key = key.text().unwrap_or_default();
            RULE_KEYS[..4].contains(&key) || key == "if"
        };
        if get(pairs, "rules").is_none() && pairs.iter().any(is_rule) {
            let hint = "write `rules:` above it, and `- ` before it";
            self.fault(root, "a rule is outside of a list", hint);
            return &[];
        }
        for (key, value) in pairs {
            match key.text().unwrap_or_default() {
                "rules" => {}
                "version" if value.scalar().is_some_and(|version| version == 1) => {}
                "version" => {
                    let message = "there is no such version of rules";
                    self.fault(value, message, "write `version: 1`");
                }
                "dialect" => self.is_classic = self.dialect(value),
                other => self.unknown_key(key, other, &KEYS),
            }
        }
        let Some((_, rules)) = get(pairs, "rules") else { return &[] };
        self.list(rules, "rules")
    }

    fn dialect(&mut self, node: &Node) -> bool {
        let dialects = [("bases", false), ("classic", true)];
        self.word(node, "dialect", &dialects).unwrap_or_default()
    }

    fn rule(&mut self, node: &Node, is_known: &dyn Fn(&str) -> bool) -> Option<(Rule, Written)> {
        let pairs = self.mapping(node, "a rule")?;
        let before = self.faults.len();
        let named = get(pairs, "name").filter(|(_, name)| !name.is_null());
        let name = match named {
            Some((_, name)) => self.scalar(name, "name").unwrap_or_default(),
            None => {
                let at = node.at.start..node.at.start;
                let hint = "give it one: `name: File meeting notes`";
                self.fault_at(at, "a rule has no `name`", hint);
                String::new()
            }
        };
        let name = name.trim().to_owned();
        if let Some((_, node)) = named.filter(|_| !name.is_empty() && is_known(&name)) {
            let message = format!("another rule is named `{name}` too");
            self.fault(node, message, "give it a name of its own");
        }
        if named.is_some() && name.is_empty() && self.faults.len() == before {
            self.fault(node, "a rule's `name` is empty", "write one");
        }
        self.rule = name.clone();
        self.mentions = Vec::new();
        let place = |node: &Node| node.at.start as u32..node.at.end as u32;
        let name_at = place(named.map_or(node, |(_, name)| name));
        let mut rule = Rule {
            name,
            hash: String::new(),
            within: Vec::new(),
            when: None,
            formulas: Vec::new(),
            this: None,
            actions: Vec::new(),
            priority: 0,
            continues: false,
            once: false,
            on_conflict: None,
            trigger: Trigger::Manual,
        };
        let file_is_classic = self.is_classic;
        if let Some((_, dialect)) = get(pairs, "dialect") {
            self.is_classic = self.dialect(dialect);
        }
        let when = if classic::is_form(pairs) {
            self.is_classic = true;
            self.classic_form(pairs, &mut rule)
        } else {
            self.keys(pairs, &mut rule)
        };
        rule.hash = meaning::hash(&rule, self.is_classic);
        self.is_classic = file_is_classic;
        if self.faults.len() > before {
            return None;
        }
        if rule.actions.is_empty() {
            let message = format!("rule `{}` does nothing", rule.name);
            let warning =
                Diagnostic::warning(Kind::InvalidRule, self.text, name_at.clone(), message);
            let hint = "say under `do` what becomes of the notes, such as `- move: Archive`";
            self.warnings.push(warning.hint(hint));
        }
        let when = when.map_or(name_at.clone(), |node| place(&node));
        let mentions = std::mem::take(&mut self.mentions);
        Some((rule, Written { text: Arc::default(), name: name_at, when, mentions }))
    }

    /// Reads the keys of a rule; returns its condition.
    fn keys(&mut self, pairs: &[(Node, Node)], rule: &mut Rule) -> Option<Node> {
        let mut when = None;
        for (key, value) in pairs {
            match key.text().unwrap_or_default() {
                "name" | "dialect" => {}
                "description" => drop(self.scalar(value, "description")),
                "in" => rule.within = self.folders(value),
                "when" => {
                    self.condition(value, rule);
                    when = Some(value.clone());
                }
                "do" => self.actions(value, rule),
                "priority" => rule.priority = self.priority(value),
                "then" => {
                    let words = [("stop", false), ("continue", true)];
                    rule.continues = self.word(value, "then", &words).unwrap_or_default();
                }
                "once" => rule.once = self.flag(value, "once").unwrap_or_default(),
                "on_conflict" => {
                    let words = [
                        ("number", OnConflict::Number),
                        ("skip", OnConflict::Skip),
                        ("ask", OnConflict::Ask),
                        ("fail", OnConflict::Fail),
                    ];
                    rule.on_conflict = self.word(value, "on_conflict", &words);
                }
                "run" => rule.trigger = self.trigger(value),
                other => self.unknown_key(key, other, &RULE_KEYS),
            }
        }
        self.repeats(pairs, rule);
        when
    }

    fn priority(&mut self, node: &Node) -> i64 {
        let priority = node.scalar().and_then(|priority| priority.as_i64());
        if priority.is_none() {
            let message = "`priority` has to be a whole number";
            self.fault(node, message, "the highest goes first; left out it is 0");
        }
        priority.unwrap_or_default()
    }

    fn folders(&mut self, node: &Node) -> Vec<VaultPath> {
        let mut folders = Vec::new();
        for item in self.one_or_more(node, "in") {
            let Some(text) = self.scalar(item, "in") else { continue };
            let Some(folder) = self.path(item, &text) else { continue };
            self.mention(item, Mentioned::Folder(folder.clone()));
            folders.push(folder);
        }
        // The root contains everything.
        if folders.iter().any(VaultPath::is_root) { Vec::new() } else { folders }
    }

    fn condition(&mut self, node: &Node, rule: &mut Rule) {
        if node.is_null() {
            return;
        }
        if let Content::Mapping(pairs) = &node.content
            && get(pairs, "base").is_some()
        {
            return self.base(pairs, rule);
        }
        let syntax = ConditionSyntax { kind: Kind::InvalidRule, parse: self.parser() };
        match base_file::read_condition(self.text, node, "when", syntax) {
            Ok(condition) => {
                rule.when = condition.filter;
                for (expression, node) in condition.expressions {
                    let what = Mentioned::Expression { expression, node: node.clone(), offset: 0 };
                    self.mention(&node, what);
                }
            }
            Err(faults) => self.faults.extend(faults),
        }
    }

    fn parser(&self) -> fn(&str) -> Result<Expression, Diagnostic> {
        if self.is_classic { crate::bases::classic::parse } else { parse_expression }
    }

    /// A condition that is a view of a base: `{base: Projects.base, view: Late}`.
    fn base(&mut self, pairs: &[(Node, Node)], rule: &mut Rule) {
        for (key, _) in pairs {
            let name = key.text().unwrap_or_default();
            if !matches!(name, "base" | "view") {
                self.unknown_key(key, name, &["base", "view"]);
            }
        }
        let Some((_, node)) = get(pairs, "base") else { return };
        let Some(requested) = self.scalar(node, "base") else { return };
        let view = match get(pairs, "view").filter(|(_, view)| !view.is_null()) {
            Some((_, view)) => self.scalar(view, "view").map(|name| (view, name)),
            None => None,
        };
        let (path, text) = match (self.find_base)(&requested) {
            Ok(found) => found,
            Err(message) => {
                return self.fault(node, message, "name a `.base` file");
            }
        };
        let base = match base_file::read(&text) {
            Ok(base) => base,
            Err(faults) => {
                let first = faults.first();
                let message = first.map(|first| first.described(&requested)).unwrap_or_default();
                let message = format!("the base cannot be used: {message}");
                return self.fault(node, message, "correct the base first");
            }
        };
        let Some(found) = base.view(view.as_ref().map(|(_, name)| &**name)) else {
            let names: Vec<&str> = base.views.iter().map(|view| &*view.name).collect();
            let (node, name) = view.map_or((node, ""), |(node, _)| (node, "of that name"));
            let message = format!("`{requested}` has no view {name}");
            let hint = format!("its views are `{}`", names.join("`, `"));
            return self.fault(node, message.trim_end(), &hint);
        };
        rule.when.clone_from(&found.query.filter);
        rule.formulas.clone_from(&found.query.formulas);
        rule.this = Some(path);
    }

    fn trigger(&mut self, node: &Node) -> Trigger {
        let Content::Mapping(pairs) = &node.content else {
            let words = [("manual", Trigger::Manual), ("change", Trigger::Change)];
            return self.word(node, "run", &words).unwrap_or_default();
        };
        for (key, _) in pairs {
            let name = key.text().unwrap_or_default();
            if !matches!(name, "every" | "at") {
                self.unknown_key(key, name, &["every", "at"]);
            }
        }
        let Some((_, every)) = get(pairs, "every") else {
            let hint = "write `run: {every: 1d, at: \"03:00\"}`";
            self.fault(node, "`run` does not say how often", hint);
            return Trigger::Manual;
        };
        let text = self.scalar(every, "every").unwrap_or_default();
        let seconds = Duration::parse(&text).filter(|time| time.years == 0.0 && time.months == 0.0);
        let seconds = seconds.map(|time| time.total(Unit::Seconds));
        let in_range = |seconds: &f64| (60.0..=31_622_400.0).contains(seconds);
        let Some(seconds) = seconds.filter(in_range).map(|seconds| seconds as u64) else {
            let message = format!("`{text}` is not a time between a minute and 366 days");
            let hint = "write it as `30m`, `12h`, `1d` or `2w`";
            self.fault(every, message, hint);
            return Trigger::Manual;
        };
        let at = get(pairs, "at").filter(|(_, at)| !at.is_null()).and_then(|(_, at)| {
            let text = self.scalar(at, "at")?;
            let time = NaiveTime::parse_from_str(&text, "%H:%M").ok();
            if time.is_none() {
                let message = format!("`{text}` is not a time of day");
                self.fault(at, message, "write it as `\"03:00\"`");
            } else if seconds % 86_400 > 0 {
                let message =
                    format!("`at` needs whole days, and `{}` are none", in_hours(seconds));
                self.fault(at, message, "leave it out, or write `every: 1d`");
            }
            time
        });
        Trigger::Every { seconds, at }
    }

    /// Rejects actions that would add their text again in each run.
    fn repeats(&mut self, pairs: &[(Node, Node)], rule: &Rule) {
        let adds =
            rule.actions.iter().any(|it| matches!(it, Action::Append(_) | Action::Prepend(_)));
        if !adds || rule.once || meaning::ends_itself(rule) {
            return;
        }
        let Some((_, node)) = get(pairs, "do") else { return };
        let message = "the rule would add its text each time it runs";
        let hint = "write `once: true`, or let it set what its condition asks for";
        self.fault(node, message, hint);
    }
}

fn parse_expression(text: &str) -> Result<Expression, Diagnostic> {
    parse::parse(text, Options { allows_extensions: true, ..Options::default() })
}

#[cfg(test)]
mod tests;
