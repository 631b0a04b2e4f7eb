//! The checks and their results.

use std::cell::RefCell;

use serde::Serialize;

use crate::config::folders::Folders;
use crate::config::{Config, Environment};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckResult {
    Ok,
    /// Works, with a limitation.
    Warn,
    Fail,
}

#[derive(Debug, Clone, Serialize)]
pub struct Check {
    pub what: &'static str,
    #[serde(rename = "outcome")]
    pub result: CheckResult,
    pub says: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What is checked, and the checks so far.
#[derive(Debug)]
pub struct Doctor<'a> {
    pub config: Config,
    pub environment: &'a Environment,
    pub folders: &'a Folders,
    pub checks: RefCell<Vec<Check>>,
}

impl Doctor<'_> {
    pub fn ok(&self, what: &'static str, says: impl Into<String>) {
        self.add(what, CheckResult::Ok, says.into(), None);
    }

    pub fn warn(&self, what: &'static str, says: impl Into<String>, hint: impl Into<String>) {
        self.add(what, CheckResult::Warn, says.into(), Some(hint.into()));
    }

    pub fn fail(&self, what: &'static str, says: impl Into<String>, hint: impl Into<String>) {
        self.add(what, CheckResult::Fail, says.into(), Some(hint.into()));
    }

    fn add(&self, what: &'static str, result: CheckResult, says: String, hint: Option<String>) {
        self.checks.borrow_mut().push(Check { what, result, says, hint });
    }
}
