//! Parses a workflow: its YAML, the value of each key, and each step against the tool that it
//! calls.

use std::time::Duration;

use serde_json::{Map, Value as Json, json};

use super::needs::{self, At, StepReference};
use super::{Does, Input, OnError, Slot, Step, ToolFacts, Tools, Workflow};
use crate::bases::ast::Span;
use crate::bases::diagnostic::{Diagnostic, Kind, Severity};
use crate::bases::duration;
use crate::bases::nearest::did_you_mean;

use crate::note::yaml::{self, Content, Node};
use crate::organize::rules_file;

mod values;

/// The longest definition, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

pub const MAX_STEPS: usize = 200;

const KEYS: [&str; 4] = ["id", "description", "inputs", "steps"];

const STEP_KEYS: [&str; 11] = [
    "id",
    "tool",
    "model",
    "ask",
    "rules",
    "input",
    "depends_on",
    "when",
    "for_each",
    "timeout",
    "on_error",
];

/// The keys that say what a step does.
const KINDS: [&str; 4] = ["tool", "model", "ask", "rules"];

pub fn read(text: &str, tools: &dyn Tools) -> Result<Workflow, Vec<Diagnostic>> {
    if text.len() > MAX_BYTES {
        let at = MAX_BYTES as u32..MAX_BYTES as u32;
        let message = "the workflow is larger than 1 MB";
        return Err(vec![Diagnostic::error(Kind::TooLarge, text, at, message)]);
    }
    let root = yaml::read(text).map_err(|fault| {
        let at = fault.at as u32..fault.at as u32 + 1;
        let hint = "write texts that hold `: `, ` #`, `{` or quotes between `'`";
        vec![Diagnostic::error(Kind::InvalidWorkflow, text, at, fault.to_string()).hint(hint)]
    })?;
    let (faults, warnings, places) = Default::default();
    let mut reader = WorkflowReader { text, tools, faults, warnings, places };
    let workflow = reader.workflow(root.as_ref());
    let WorkflowReader { mut faults, warnings, .. } = reader;
    faults.sort_by_key(|fault| fault.at.start);
    if faults.is_empty() { Ok(Workflow { warnings, ..workflow }) } else { Err(faults) }
}

struct WorkflowReader<'t> {
    text: &'t str,
    tools: &'t dyn Tools,
    faults: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
    /// The references of steps to others, with their positions.
    places: Vec<StepReference>,
}

struct Entries<'n>(&'n [(Node, Node)]);

impl<'n> Entries<'n> {
    fn get(&self, key: &str) -> Option<&'n Node> {
        let found = self.0.iter().find(|(name, _)| name.text() == Some(key));
        found.map(|(_, value)| value).filter(|value| !value.is_null())
    }
}

impl WorkflowReader<'_> {
    fn fault(&mut self, kind: Kind, node: &Node, message: impl Into<String>, hint: &str) {
        let error = Diagnostic::error(kind, self.text, self.first_line(node), message);
        self.faults.push(error.hint(hint));
    }

    /// Where a list or mapping is marked.
    fn first_line(&self, node: &Node) -> Span {
        let line = self.text[node.at.clone()].lines().next().map_or(0, str::len);
        node.at.start as u32..(node.at.start + line) as u32
    }

    fn wrong(&mut self, node: &Node, message: impl Into<String>, hint: &str) {
        self.fault(Kind::InvalidWorkflow, node, message, hint);
    }

    fn workflow(&mut self, root: Option<&Node>) -> Workflow {
        let mut result = Workflow {
            id: String::new(),
            inputs: Vec::new(),
            steps: Vec::new(),
            warnings: Vec::new(),
        };
        let Some(Content::Mapping(pairs)) = root.map(|root| &root.content) else {
            let at = root.map_or(0, |root| root.at.start) as u32;
            let message = "a workflow has the keys `id` and `steps`";
            let error = Diagnostic::error(Kind::InvalidWorkflow, self.text, at..at + 1, message);
            self.faults.push(error.hint("docs/workflows.md has one to start from"));
            return result;
        };
        self.keys(pairs, &KEYS, "a workflow");
        let entries = Entries(pairs);
        let first = pairs.first().map(|(key, _)| key);
        match entries.get("id").map(|id| (id, id.text())) {
            Some((_, Some(id))) if !id.trim().is_empty() => result.id = id.trim().to_owned(),
            Some((node, _)) => self.wrong(node, "`id` must be a string", ""),
            None => self.lacks(first, "id", "give it a name: `id: file-inbox`"),
        }
        if let Some(inputs) = entries.get("inputs") {
            result.inputs = self.inputs(inputs);
        }
        match entries.get("steps").map(|node| (node, &node.content)) {
            Some((node, Content::List(steps))) => {
                if steps.len() > MAX_STEPS {
                    let has = steps.len();
                    let message = format!("the workflow has {has} steps; the limit is {MAX_STEPS}");
                    self.wrong(node, message, "use `for_each` to repeat a step");
                    return result;
                }
                for (number, step) in steps.iter().enumerate() {
                    let step = self.step(step, number, &result.inputs, &result.steps);
                    result.steps.push(step);
                }
                let ids: Vec<String> = result.steps.iter().map(|step| step.id.clone()).collect();
                let (needed, faults) = needs::of_steps(self.text, &self.places, &ids);
                self.faults.extend(faults);
                for (step, before) in result.steps.iter_mut().zip(needed) {
                    step.depends_on = before;
                }
            }
            Some((node, _)) => {
                self.wrong(node, "`steps` has to be a list", "begin each step with `- id: name`")
            }
            None => self.lacks(first, "steps", ""),
        }
        result
    }

    /// Reports at its first key that the workflow lacks one.
    fn lacks(&mut self, first: Option<&Node>, key: &str, hint: &str) {
        if let Some(first) = first {
            self.wrong(first, format!("the workflow has no `{key}`"), hint);
        }
    }

    fn name(&mut self, node: &Node, of: &str) -> String {
        let name = node.text().unwrap_or_default();
        if !is_name(name) {
            let message = format!("`{}` is not a name for {of}", name.escape_debug());
            self.wrong(node, message, "use letters, digits and `_`, and begin with a letter");
        }
        name.to_owned()
    }

    fn keys(&mut self, pairs: &[(Node, Node)], known: &[&str], of: &str) {
        for (key, _) in pairs {
            let name = key.text().unwrap_or_default();
            if !known.contains(&name) {
                let hint = did_you_mean(name, known.iter().copied())
                    .unwrap_or_else(|| format!("{of} has `{}`", known.join("`, `")));
                let message = format!("`{}` is not a key of {of}", name.escape_debug());
                self.fault(Kind::UnknownName, key, message, &hint);
            }
        }
    }

    fn inputs(&mut self, node: &Node) -> Vec<Input> {
        let Content::Mapping(pairs) = &node.content else {
            let hint = "write `folder: Inbox`, or `folder:` for one that must be given";
            self.wrong(node, "`inputs` has to be names with their defaults", hint);
            return Vec::new();
        };
        let mut result = Vec::new();
        for (key, value) in pairs {
            let default = (!value.is_null()).then(|| self::value(value));
            result.push(Input { name: self.name(key, "an input"), default });
        }
        result
    }

    fn step(&mut self, node: &Node, number: usize, inputs: &[Input], before: &[Step]) -> Step {
        let mut step = Step {
            id: format!("step_{}", number + 1),
            does: Does::Tool { name: String::new(), changes: false },
            input: Slot::Object(Vec::new()),
            depends_on: Vec::new(),
            when: None,
            for_each: None,
            timeout: None,
            on_error: OnError::Stop,
        };
        let Content::Mapping(pairs) = &node.content else {
            self.wrong(node, "a step has the keys `id`, `tool` and `input`", "");
            return step;
        };
        self.keys(pairs, &STEP_KEYS, "a step");
        let entries = Entries(pairs);
        if let Some(id) = entries.get("id") {
            step.id = self.name(id, "a step");
        }
        if before.iter().any(|other| other.id == step.id) {
            let at = entries.get("id").unwrap_or(node);
            let message = format!("there are two steps `{}`", step.id);
            self.wrong(at, message, "give each a name of its own");
        }
        let place = &At { step: number, inputs, has_item: entries.get("for_each").is_some() };
        // `item` is not in scope in the list itself.
        let outside = &At { has_item: false, ..*place };
        step.for_each = entries.get("for_each").and_then(|node| self.for_each(node, outside));
        step.when = entries.get("when").and_then(|node| self.condition(node, place));
        step.timeout = entries.get("timeout").and_then(|node| self.timeout(node));
        step.on_error = match entries.get("on_error").map(|node| (node, node.text())) {
            None | Some((_, Some("stop"))) => OnError::Stop,
            Some((_, Some("continue"))) => OnError::Continue,
            Some((node, _)) => {
                self.wrong(node, "`on_error` is `stop` or `continue`", "");
                OnError::Stop
            }
        };
        self.depends_on(entries.get("depends_on"), number);
        let input = entries.get("input");
        let kinds: Vec<&(Node, Node)> = pairs
            .iter()
            .filter(|(key, value)| {
                key.text().is_some_and(|key| KINDS.contains(&key)) && !value.is_null()
            })
            .collect();
        let (key, value) = match kinds[..] {
            [(key, value)] => (key.text().unwrap_or_default(), value),
            [] => {
                let hint =
                    "name what it does: `tool: read_file`, `model: …`, `ask: …` or `rules: …`";
                self.wrong(node, format!("the step `{}` does nothing", step.id), hint);
                return step;
            }
            [_, (key, _), ..] => {
                let message = format!("the step `{}` does two things", step.id);
                self.wrong(key, message, "make two steps of it");
                return step;
            }
        };
        match key {
            "tool" => self.tool(&mut step, value, input, node, place),
            "rules" => match self.tools.planner() {
                Some(planner) => self.call(&mut step, &planner, Some(value), input, node, place),
                None => {
                    let hint = "use a step with `tool` for each thing that is to be done";
                    self.wrong(value, "no tool makes plans from rules here", hint);
                }
            },
            "model" => {
                if let Some(prompt) = self.template(value, place) {
                    step.does = Does::Model(prompt);
                }
                step.input = input.map_or(Slot::Value(Json::Null), |input| self.slot(input, place));
            }
            _ => {
                if let Some(timeout) = entries.get("timeout") {
                    let hint = "leave `timeout` out: nothing is held up while it waits";
                    self.wrong(timeout, "a question waits until it is answered", hint);
                }
                self.ask(&mut step, value, input, place);
            }
        }
        step
    }

    fn tool(
        &mut self,
        step: &mut Step,
        name: &Node,
        input: Option<&Node>,
        node: &Node,
        at: &At<'_>,
    ) {
        let Some(called) = name.text() else {
            let message = "`tool` has to be the name of a tool";
            return self.wrong(name, message, "`steward tools` lists them");
        };
        if self.tools.find(called).is_some() {
            return self.call(step, called, None, input, node, at);
        }
        let names = self.tools.names();
        let hint = did_you_mean(called, names.iter().map(String::as_str))
            .unwrap_or_else(|| "`steward tools` lists them".to_owned());
        let message = format!("there is no tool `{}`", called.escape_debug());
        self.fault(Kind::UnknownName, name, message, &hint);
    }

    /// A step that calls a tool, with `rules` in addition to its input if the step has some.
    fn call(
        &mut self,
        step: &mut Step,
        called: &str,
        rules: Option<&Node>,
        input: Option<&Node>,
        node: &Node,
        at: &At<'_>,
    ) {
        let facts = self.tools.find(called).unwrap_or_default();
        step.does = Does::Tool { name: called.to_owned(), changes: facts.changes };
        let pairs = match input.map(|input| (input, &input.content)) {
            None => &[][..],
            Some((_, Content::Mapping(pairs))) => pairs,
            Some((input, _)) => {
                let message = "`input` has to be the tool's arguments by name";
                return self.wrong(input, message, "write `path: a.md` below it");
            }
        };
        let mut given: Vec<(String, Slot)> = Vec::new();
        let named = pairs
            .iter()
            .filter_map(|(key, value)| Some((self.argument(called, &facts, key)?, value)));
        let arguments: Vec<(String, &Node)> = named.collect();
        let is_misspelt = arguments.len() < pairs.len();
        for (argument, value) in arguments {
            let slot = self.slot(value, at);
            if let Slot::Value(literal) = &slot
                && let Err(reason) = self.tools.fits(called, &argument, literal)
            {
                let message = format!("`{called}` does not accept this `{argument}`: {reason}");
                self.wrong(value, message, "");
            }
            given.push((argument, slot));
        }
        if let Some(rules) = rules {
            given.push(("rules".to_owned(), Slot::Value(self.rules(rules))));
        }
        let is_given = |name: &str| given.iter().any(|(one, _)| one == name);
        let missing = facts.arguments.iter().find(|one| one.required && !is_given(&one.name));
        // A misspelt name is reported already, and is probably the missing one.
        if let Some(missing) = missing.filter(|_| !is_misspelt) {
            let hint = format!("`steward call {called} --help` says what it takes");
            let at = input.unwrap_or(node);
            self.wrong(at, format!("`{called}` needs `{}`", missing.name), &hint);
        }
        step.input = Slot::Object(given);
    }

    /// Rules in the planner's form: a text, or the path of a file. The planner fills in their
    /// templates.
    fn rules(&mut self, node: &Node) -> Json {
        let text = match &node.content {
            Content::Scalar { text, .. } => text.clone(),
            Content::List(_) => json!({ "version": 1, "rules": value(node) }).to_string(),
            Content::Mapping(_) => value(node).to_string(),
        };
        // A path is resolved at run time; so are the bases that rules name.
        if text.contains('\n') || text.starts_with('{') {
            let find_base = |_: &str| Err(String::new());
            let faults = rules_file::read(&text, &find_base).err().unwrap_or_default();
            let is_known =
                |fault: &Diagnostic| !fault.message.is_empty() && fault.severity == Severity::Error;
            for fault in faults.into_iter().filter(is_known) {
                let moved = match node.content {
                    Content::Scalar { .. } => self.moved(fault, node, 0),
                    _ => fault.moved_to(self.text, self.first_line(node)),
                };
                self.faults.push(moved);
            }
        }
        Json::String(text)
    }

    /// The tool's own name of an argument.
    fn argument(&mut self, tool: &str, facts: &ToolFacts, key: &Node) -> Option<String> {
        let name = key.text().unwrap_or_default();
        let known = facts
            .arguments
            .iter()
            .find(|one| one.name == name || one.aliases.iter().any(|alias| alias == name));
        if let Some(known) = known {
            return Some(known.name.clone());
        }
        let names = facts.arguments.iter().map(|one| one.name.as_str());
        let hint = did_you_mean(name, names.clone())
            .unwrap_or_else(|| format!("it takes `{}`", names.collect::<Vec<_>>().join("`, `")));
        let message = format!("`{tool}` takes no `{}`", name.escape_debug());
        self.fault(Kind::UnknownName, key, message, &hint);
        None
    }

    fn ask(&mut self, step: &mut Step, question: &Node, input: Option<&Node>, at: &At<'_>) {
        let mut choices = Vec::new();
        match input.map(|input| (input, &input.content)) {
            None => {}
            Some((_, Content::Mapping(pairs))) => {
                self.keys(pairs, &["choices"], "the input of a question");
                match Entries(pairs).get("choices").map(|node| (node, &node.content)) {
                    None => {}
                    Some((_, Content::List(items)))
                        if items.iter().all(|item| item.text().is_some()) =>
                    {
                        choices = items.iter().filter_map(Node::text).map(str::to_owned).collect();
                    }
                    Some((node, _)) => self.wrong(node, "`choices` must be a list of strings", ""),
                }
            }
            Some((input, _)) => {
                let message = "the input of a question is `choices`";
                self.wrong(input, message, "write `choices: [yes, no]` below it");
            }
        }
        if let Some(question) = self.template(question, at) {
            step.does = Does::Ask { question, choices };
        }
    }

    fn for_each(&mut self, node: &Node, at: &At<'_>) -> Option<Slot> {
        let slot = self.slot(node, at);
        let is_list = match &slot {
            Slot::List(_) | Slot::Value(Json::Array(_)) => true,
            Slot::Template(template) => template.is_value(),
            _ => false,
        };
        if !is_list {
            let hint =
                "write a list, or one expression that gives one: '{{steps.find.data.files}}'";
            self.wrong(node, "`for_each` has to be a list", hint);
        }
        is_list.then_some(slot)
    }

    fn timeout(&mut self, node: &Node) -> Option<Duration> {
        let millis = match node.scalar() {
            Some(Json::Number(seconds)) => seconds.as_f64().map(|seconds| seconds * 1000.0),
            Some(Json::String(text)) => duration::Duration::parse(&text)
                .map(|length| length.total(duration::Unit::Milliseconds)),
            _ => None,
        };
        let length = millis.filter(|millis| *millis > 0.0).map(|millis| millis / 1000.0);
        let length = length.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        if length.is_none() {
            self.wrong(node, "`timeout` has to be a length of time", "write `30s`, `5m` or `1h`");
        }
        length
    }

    fn depends_on(&mut self, node: Option<&Node>, step: usize) {
        let Some(node) = node else { return };
        let items = match &node.content {
            Content::List(items) => &items[..],
            _ => std::slice::from_ref(node),
        };
        for item in items {
            match item.text() {
                Some(name) => {
                    let at = item.at.start as u32..item.at.end as u32;
                    self.places.push(StepReference { step, needs: name.to_owned(), at });
                }
                None => self.wrong(item, "`depends_on` has to be the names of steps", ""),
            }
        }
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn value(node: &Node) -> Json {
    match &node.content {
        Content::Scalar { .. } => node.scalar().unwrap_or_default(),
        Content::List(items) => Json::Array(items.iter().map(value).collect()),
        Content::Mapping(pairs) => {
            let entry = |(key, node): &(Node, Node)| {
                (key.text().unwrap_or_default().to_owned(), value(node))
            };
            Json::Object(pairs.iter().map(entry).collect::<Map<_, _>>())
        }
    }
}
