//! The event that a hook reads on standard input.

use std::path::Path;

use serde_json::{Map, Value};

use super::settings::{Kind, Sees};

/// An event, with the access level that a hook needs for each fact.
#[derive(Debug, Clone)]
pub struct Event {
    kind: Kind,
    tool: Option<String>,
    time: String,
    facts: Vec<(Sees, &'static str, Value)>,
    input: Option<Value>,
}

impl Event {
    /// With the current time.
    pub fn new(kind: Kind) -> Self {
        let time = chrono::Local::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        Self { kind, tool: None, time, facts: Vec::new(), input: None }
    }

    pub fn of_tool(mut self, tool: &str) -> Self {
        self.tool = Some(tool.to_owned());
        self
    }

    /// Adds a fact that every hook may see; `null` is left out, here and below.
    pub fn field(self, name: &'static str, value: impl Into<Value>) -> Self {
        self.with(Sees::Events, name, value)
    }

    /// Adds a fact that names notes or folders.
    pub fn place(self, name: &'static str, value: impl Into<Value>) -> Self {
        self.with(Sees::Paths, name, value)
    }

    /// Adds a fact with the text of notes or messages.
    pub fn text(self, name: &'static str, value: impl Into<Value>) -> Self {
        self.with(Sees::Texts, name, value)
    }

    /// Adds the input that a hook may replace, if the event's kind allows it.
    pub fn with_input(mut self, input: Value) -> Self {
        self.input = Some(input);
        self
    }

    fn with(mut self, sees: Sees, name: &'static str, value: impl Into<Value>) -> Self {
        let value = value.into();
        if !value.is_null() {
            self.facts.push((sees, name, value));
        }
        self
    }

    /// Which hooks receive it.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub(super) fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }

    pub(super) fn replace(&mut self, input: Value) {
        self.input = Some(input);
    }

    pub(super) fn into_input(self) -> Option<Value> {
        self.input
    }

    /// One line of JSON with the facts that `hook` may see.
    pub(super) fn shown(&self, hook: &str, sees: Sees, vault: &Path) -> Vec<u8> {
        let mut object = Map::new();
        object.insert("event".to_owned(), self.kind.word().into());
        object.insert("hook".to_owned(), hook.into());
        object.insert("time".to_owned(), self.time.as_str().into());
        object.insert("vault".to_owned(), vault.to_string_lossy().into());
        if let Some(tool) = &self.tool {
            object.insert("tool".to_owned(), tool.as_str().into());
        }
        for (needs, name, value) in &self.facts {
            if *needs <= sees {
                object.insert((*name).to_owned(), value.clone());
            }
        }
        if let Some(input) = self.input.as_ref().filter(|_| sees == Sees::Texts) {
            object.insert("input".to_owned(), input.clone());
        }
        let mut text = Value::Object(object).to_string().into_bytes();
        text.push(b'\n');
        text
    }
}
