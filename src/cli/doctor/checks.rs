//! What was looked at, and how it came out.

use serde::Serialize;

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// As it should be.
    Ok,
    /// Works, with a loss worth knowing.
    Warn,
    /// Will not work.
    Fail,
}

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize)]
pub struct Check {
    /// What was looked at.
    pub what: &'static str,
    /// How that came out.
    pub outcome: Outcome,
    /// What was found.
    pub says: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What has been looked at so far.
#[derive(Debug, Default)]
pub struct Checks(pub Vec<Check>);

impl Checks {
    /// It is as it should be.
    pub fn ok(&mut self, what: &'static str, says: impl Into<String>) {
        self.add(what, Outcome::Ok, says.into(), None);
    }

    /// It works, with a loss.
    pub fn warn(&mut self, what: &'static str, says: impl Into<String>, hint: impl Into<String>) {
        self.add(what, Outcome::Warn, says.into(), Some(hint.into()));
    }

    /// It will not work.
    pub fn fail(&mut self, what: &'static str, says: impl Into<String>, hint: impl Into<String>) {
        self.add(what, Outcome::Fail, says.into(), Some(hint.into()));
    }

    fn add(&mut self, what: &'static str, outcome: Outcome, says: String, hint: Option<String>) {
        self.0.push(Check { what, outcome, says, hint });
    }
}
