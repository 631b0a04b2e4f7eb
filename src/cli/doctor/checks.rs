//! The checks and their outcomes.

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Ok,
    /// Works, with a limitation.
    Warn,
    Fail,
}

#[derive(Debug, Clone, Serialize)]
pub struct Check {
    pub what: &'static str,
    pub outcome: Outcome,
    pub says: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

#[derive(Debug, Default)]
pub struct Checks(pub Vec<Check>);

impl Checks {
    pub fn ok(&mut self, what: &'static str, says: impl Into<String>) {
        self.add(what, Outcome::Ok, says.into(), None);
    }

    pub fn warn(&mut self, what: &'static str, says: impl Into<String>, hint: impl Into<String>) {
        self.add(what, Outcome::Warn, says.into(), Some(hint.into()));
    }

    pub fn fail(&mut self, what: &'static str, says: impl Into<String>, hint: impl Into<String>) {
        self.add(what, Outcome::Fail, says.into(), Some(hint.into()));
    }

    fn add(&mut self, what: &'static str, outcome: Outcome, says: String, hint: Option<String>) {
        self.0.push(Check { what, outcome, says, hint });
    }
}
