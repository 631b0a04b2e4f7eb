//! The context and limits of an evaluation, for functions.

use std::cell::Cell;
use std::sync::Arc;

use super::ast::{Expr, Expression};
use super::compare::Compare;
use super::compare::show::{LONGEST_TEXT, TooLong};
use super::date::{Times, Zone};
use super::source::Source;
use super::value::{Date, FileId, Outcome, Text, Value};

/// The most steps for one row. A node is a step, and so is each 64 bytes that a function reads or writes.
pub const MAX_STEPS: u64 = 1_000_000;
/// The most elements of a list that an expression creates, including those of nested lists.
pub const MAX_ELEMENTS: usize = 100_000;
/// The deepest nesting of lists.
const DEEPEST_LIST: usize = 100;
/// The environment of an evaluation, the same for all rows.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    pub source: &'a dyn Source,
    /// The value of `now()`, in milliseconds since 1970.
    pub now: i64,
    pub zone: &'a dyn Zone,
    /// The file that is `this`, if any.
    pub this: Option<FileId>,
    pub seed: u64,
    pub formulas: &'a [(Text, Arc<Expression>)],
}

debug_only!(Scope<'_>, now, this);

/// Evaluates arguments for functions that decide which of them to evaluate, and how often.
pub(super) trait Walk<'a> {
    fn eval(&mut self, expr: &Expr) -> Value;
    /// The value of an argument for an element of a list, with `acc` if given.
    fn of_element(&mut self, expr: &Expr, value: &Value, index: usize, acc: Option<Value>)
    -> Value;
    /// The limits and the scope of this evaluation.
    fn context(&mut self) -> &mut Context<'a>;
}

/// The services that functions may use.
#[derive(Debug)]
pub struct Context<'a> {
    scope: Scope<'a>,
    times: Times<'a>,
    row: Option<FileId>,
    steps: u64,
    randoms: u64,
    used_this: Cell<bool>,
}

impl<'a> Context<'a> {
    pub(super) fn new(scope: Scope<'a>) -> Self {
        let times = Times::new(scope.zone);
        Self { scope, times, row: None, steps: 0, randoms: 0, used_this: Cell::new(false) }
    }

    pub(super) fn begin(&mut self, row: Option<FileId>) {
        self.row = row;
        self.steps = 0;
        self.randoms = 0;
    }

    pub(super) fn row(&self) -> Option<FileId> {
        self.row
    }

    /// The file that is `this`. Records that it was read.
    pub(super) fn this(&self) -> Option<FileId> {
        self.used_this.set(true);
        self.scope.this
    }

    /// Whether an expression read `this`.
    pub(super) fn used_this(&self) -> bool {
        self.used_this.get()
    }

    /// The vault that expressions are evaluated over.
    pub fn source(&self) -> &'a dyn Source {
        self.scope.source
    }

    /// The value of `now()`, in milliseconds since 1970.
    pub fn now(&self) -> i64 {
        self.scope.now
    }

    /// Dates in the time zone of the evaluation.
    pub fn times(&self) -> &Times<'a> {
        &self.times
    }

    /// The rules by which this evaluation compares and prints values.
    pub fn compare(&self) -> Compare<'_> {
        Compare { source: self.scope.source, times: &self.times }
    }

    /// The file from which links of the expression are resolved: `this`, else the row's file.
    pub(super) fn from(&self) -> Option<FileId> {
        self.scope.this.or(self.row)
    }

    pub(super) fn random(&mut self) -> f64 {
        self.randoms += 1;
        let row = self.row.map_or(0, |row| u64::from(row.0) + 1);
        // SplitMix64, with its own seed for each call of each row.
        let mut z = self.scope.seed ^ row.wrapping_mul(0xD134_2543_DE82_EF95);
        z = z.wrapping_add(self.randoms.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        (z >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Consumes steps. Fails once none are left.
    pub(super) fn charge(&mut self, steps: u64) -> Result<(), String> {
        self.steps = self.steps.saturating_add(steps);
        if self.is_exhausted() { Err(EXHAUSTED.to_owned()) } else { Ok(()) }
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.steps > MAX_STEPS
    }

    /// Checks the length of a text that a function created.
    pub(super) fn made_text(&mut self, text: impl Into<Text>) -> Outcome {
        let text = text.into();
        if text.len() > LONGEST_TEXT {
            return Err(TooLong.to_string());
        }
        self.charge(text.len() as u64 / 64)?;
        Ok(Value::Text(text))
    }

    /// Checks the length and depth of a list that was created.
    pub(super) fn made_list(&mut self, list: Vec<Value>) -> Outcome {
        let mut left = MAX_ELEMENTS;
        count(&list, &mut left, 0)?;
        self.charge((MAX_ELEMENTS - left) as u64 / 8)?;
        Ok(Value::List(list.into()))
    }

    pub(super) fn text(&self, value: &Value) -> Result<String, String> {
        self.compare().text(value).map_err(|error| error.to_string())
    }

    /// Consumes a step; a later call reports that none was left.
    pub(super) fn step(&mut self) {
        self.steps = self.steps.saturating_add(1);
    }

    /// Consumes the steps of reading values.
    pub(super) fn look_at(&mut self, values: &[&Value]) -> Result<(), String> {
        let work = values.iter().fold(0u64, |sum, value| sum.saturating_add(size(value))) / 64;
        if work > 0 { self.charge(work) } else { Ok(()) }
    }
}

pub(super) const EXHAUSTED: &str = "the expression takes more than 1,000,000 steps";

/// Bytes or elements that a function may have to read.
fn size(value: &Value) -> u64 {
    match value {
        Value::Text(text) => text.len() as u64,
        Value::List(list) => list.len() as u64 * 8,
        _ => 0,
    }
}

/// Subtracts the elements of a list, including those of nested lists.
fn count(list: &[Value], left: &mut usize, depth: usize) -> Result<(), String> {
    *left = left.checked_sub(list.len()).ok_or("the list would have more than 100,000 elements")?;
    if depth > DEEPEST_LIST {
        return Err("the lists are nested too deep".to_owned());
    }
    for value in list {
        if let Value::List(inner) = value {
            count(inner, left, depth + 1)?;
        }
    }
    Ok(())
}

/// A date with a time.
pub(super) fn moment(millis: i64) -> Value {
    Value::Date(Date { millis, has_time: true })
}
