//! Evaluates expressions by walking the tree, whose depth the parser limits.

use std::rc::Rc;
use std::sync::Arc;

use super::ast::{Expr, Expression, Local, Node, Op, Span};
use super::compare::Compare;
pub use super::context::Scope;
use super::context::{Context, EXHAUSTED, Walk};
use super::functions::{self, Code, Function, Type};
use super::source::{Column, Source};
use super::value::{EvalError, FileId, Outcome, Text, Value};

/// The deepest nesting of an evaluation, including formulas within formulas.
const DEEPEST: u32 = 300;

/// An expression whose properties are resolved in a source.
#[derive(Debug, Clone)]
pub struct Prepared {
    pub expression: Arc<Expression>,
    columns: Vec<Option<Column>>,
}

impl Prepared {
    /// Resolves each property of the expression in `source` once for all rows.
    pub fn new(expression: &Arc<Expression>, source: &dyn Source) -> Self {
        let columns = expression.properties.iter().map(|name| source.column(name)).collect();
        Self { expression: Arc::clone(expression), columns }
    }
}

/// A formula's value for the current row.
#[derive(Debug, Clone, Default)]
enum Memo {
    #[default]
    Unknown,
    /// In evaluation: reading it now is a cycle.
    Running,
    Known(Value),
}

/// The variables bound by enclosing calls.
#[derive(Debug, Default)]
struct Locals {
    value: Value,
    index: Value,
    acc: Value,
    values: Value,
}

/// Evaluates expressions row by row.
#[derive(Debug)]
pub struct Evaluator<'a> {
    context: Context<'a>,
    formulas: Rc<[(Text, Prepared)]>,
    locals: Locals,
    memos: Vec<Memo>,
    /// The formulas in evaluation, outermost first.
    running: Vec<usize>,
    depth: u32,
}

impl<'a> Evaluator<'a> {
    /// Creates an evaluator with the formulas of `scope`, and resolves their properties.
    pub fn new(scope: Scope<'a>) -> Self {
        let prepared = |(name, formula): &(Text, Arc<Expression>)| {
            (Arc::clone(name), Prepared::new(formula, scope.source))
        };
        let formulas: Rc<[_]> = scope.formulas.iter().map(prepared).collect();
        Self {
            context: Context::new(scope),
            memos: vec![Memo::Unknown; formulas.len()],
            formulas,
            locals: Locals::default(),
            running: Vec::new(),
            depth: 0,
        }
    }

    /// Moves to another row; `None` for evaluation without a row.
    pub fn begin(&mut self, row: Option<FileId>) {
        self.context.begin(row);
        self.memos.fill(Memo::Unknown);
    }

    /// The vault that expressions are evaluated over.
    pub fn source(&self) -> &'a dyn Source {
        self.context.source()
    }

    /// The rules by which this evaluation compares and prints values.
    pub fn compare(&self) -> Compare<'_> {
        self.context.compare()
    }

    pub fn value(&mut self, prepared: &Prepared) -> Value {
        if self.context.source().is_cancelled() {
            return Value::Null;
        }
        let expression = Arc::clone(&prepared.expression);
        let value = self.eval(prepared, &expression.root);
        if self.context.is_exhausted() {
            error(EXHAUSTED.to_owned(), &expression.root.at)
        } else {
            value
        }
    }

    /// The value of a summary's formula for all values of a column.
    pub fn of_values(&mut self, prepared: &Prepared, values: Arc<[Value]>) -> Value {
        self.begin(None);
        self.locals.values = Value::List(values);
        let value = self.value(prepared);
        self.locals.values = Value::Null;
        value
    }

    /// The value of `formula.NAME` for the row; an error if there is no such formula.
    pub fn formula(&mut self, name: &str, at: &Span) -> Value {
        let formulas = Rc::clone(&self.formulas);
        let Some(index) = formulas.iter().position(|(known, _)| **known == *name) else {
            return error(format!("Cannot find formula \"{name}\""), at);
        };
        match &self.memos[index] {
            Memo::Known(value) => return value.clone(),
            Memo::Running => {
                let first = self.running.iter().position(|known| *known == index).unwrap_or(0);
                let circle =
                    self.running[first..].iter().chain([&index]).map(|at| &*formulas[*at].0);
                let circle = circle.collect::<Vec<_>>().join(" → ");
                return error(format!("the formulas depend on each other: {circle}"), at);
            }
            Memo::Unknown => {}
        }
        if self.context.source().is_cancelled() {
            return Value::Null;
        }
        self.memos[index] = Memo::Running;
        self.running.push(index);
        let locals = std::mem::take(&mut self.locals);
        let value = self.eval(&formulas[index].1, &formulas[index].1.expression.root);
        self.locals = locals;
        self.running.pop();
        self.memos[index] = Memo::Known(value.clone());
        value
    }

    /// The value of `file.NAME` for a file.
    pub fn field_of(&mut self, file: FileId, name: &str) -> Value {
        self.field(&Value::File(file), false, name, &(0..0))
    }

    /// Whether an expression read `this`.
    pub fn used_this(&self) -> bool {
        self.context.used_this()
    }

    /// Evaluates an expression for an element of a list.
    fn of_element(
        &mut self,
        of: &Prepared,
        expr: &Expr,
        value: &Value,
        index: usize,
        acc: Option<Value>,
    ) -> Value {
        let value = std::mem::replace(&mut self.locals.value, value.clone());
        let index = std::mem::replace(&mut self.locals.index, Value::Number(index as f64));
        let outer = acc.map(|acc| std::mem::replace(&mut self.locals.acc, acc));
        let result = self.eval(of, expr);
        self.locals.value = value;
        self.locals.index = index;
        if let Some(outer) = outer {
            self.locals.acc = outer;
        }
        result
    }

    pub(super) fn eval(&mut self, of: &Prepared, expr: &Expr) -> Value {
        self.context.step();
        let Some(left) = leftmost(expr) else { return self.leaf(of, expr) };
        if self.context.is_exhausted() {
            return error(EXHAUSTED.to_owned(), &expr.at);
        }
        if self.depth >= DEEPEST {
            return error("the expression is nested too deep".to_owned(), &expr.at);
        }
        self.depth += 1;
        let left = self.eval(of, left);
        let value = self.apply(of, expr, left);
        self.depth -= 1;
        value
    }

    /// The value of a node without a left operand.
    fn leaf(&mut self, of: &Prepared, expr: &Expr) -> Value {
        match &expr.node {
            Node::Bool(value) => Value::Bool(*value),
            Node::Number(number) => Value::Number(*number),
            Node::Text(text) => Value::Text(Arc::clone(text)),
            Node::Pattern(pattern) => Value::Pattern(Arc::clone(pattern)),
            Node::List(elements) => {
                let mut list = Vec::with_capacity(elements.len());
                for element in elements {
                    match self.eval(of, element) {
                        error @ Value::Error(_) => return error,
                        value => list.push(value),
                    }
                }
                located(self.context.made_list(list), &expr.at)
            }
            Node::Property(index) => match (self.context.row(), of.columns.get(*index)) {
                (Some(row), Some(Some(column))) => self.context.source().property(row, *column),
                _ => Value::Null,
            },
            Node::File => self.context.row().map_or(Value::Null, Value::File),
            Node::Note => self
                .context
                .row()
                .map_or(Value::Null, |row| Value::Object(self.context.source().properties(row))),
            Node::Formula(name) => self.formula(name, &expr.at),
            Node::This => self.context.this().map_or(Value::Null, Value::File),
            Node::Local(Local::Value) => self.locals.value.clone(),
            Node::Local(Local::Index) => self.locals.index.clone(),
            Node::Local(Local::Acc) => self.locals.acc.clone(),
            Node::Local(Local::Values) => self.locals.values.clone(),
            Node::Call { name, args, .. } => {
                self.depth += 1;
                let value = if self.depth > DEEPEST {
                    error("the expression is nested too deep".to_owned(), &expr.at)
                } else {
                    self.call_global(of, name, args, &expr.at)
                };
                self.depth -= 1;
                value
            }
            _ => Value::Null,
        }
    }

    /// The value of a node whose left operand is evaluated.
    fn apply(&mut self, of: &Prepared, expr: &Expr, left: Value) -> Value {
        match &expr.node {
            Node::Not(_) => return Value::Bool(!left.is_true()),
            Node::And(_, right) => {
                return Value::Bool(left.is_true() && self.eval(of, right).is_true());
            }
            Node::Or(_, right) => {
                return Value::Bool(left.is_true() || self.eval(of, right).is_true());
            }
            _ => {}
        }
        if matches!(left, Value::Error(_)) {
            return left;
        }
        match &expr.node {
            Node::Negate(_) => match left {
                Value::Number(number) => Value::Number(-number),
                Value::Duration(duration) => Value::Duration(duration.times(-1.0)),
                Value::Null => Value::Null,
                other => error(format!("Invalid operator - on {}", other.type_name()), &expr.at),
            },
            Node::Binary { op, right, .. } => {
                let right = self.eval(of, right);
                self.binary(*op, left, right, &expr.at)
            }
            Node::Classic { op, right, .. } => {
                let right = self.eval(of, right);
                if matches!(right, Value::Error(_)) {
                    return right;
                }
                located(self.compare().classic(*op, &left, &right), &expr.at)
            }
            Node::Field { of: object, name, name_at } => {
                let is_this = matches!(object.node, Node::This);
                self.field(&left, is_this, name, name_at)
            }
            Node::Index { of: object, key } => {
                let key = self.eval(of, key);
                let is_this = matches!(object.node, Node::This);
                let is_note = matches!(object.node, Node::Note);
                self.element(&left, is_this, is_note, &key, &expr.at)
            }
            Node::Method { name, args, name_at, .. } => {
                self.call_method(of, &left, name, args, name_at)
            }
            _ => left,
        }
    }

    fn binary(&mut self, op: Op, left: Value, right: Value, at: &Span) -> Value {
        if matches!(right, Value::Error(_)) {
            return right;
        }
        if let Err(message) = self.context.look_at(&[&left, &right]) {
            return error(message, at);
        }
        let value = located(self.compare().operate(op, &left, &right), at);
        match value {
            Value::List(list) => located(self.context.made_list(list.to_vec()), at),
            Value::Text(text) => located(self.context.made_text(text), at),
            value => value,
        }
    }

    fn field(&mut self, of: &Value, is_this: bool, name: &str, at: &Span) -> Value {
        match of {
            Value::Null => return Value::Null,
            Value::Error(_) => return of.clone(),
            Value::Object(object) => return object.get(name).cloned().unwrap_or_default(),
            Value::File(file) if is_this => {
                let source = self.context.source();
                let property = source.column(name).map(|column| source.property(*file, column));
                match property {
                    Some(Value::Null) | None => {}
                    Some(value) => return value,
                }
            }
            _ => {}
        }
        match functions::find(Some(of.kind()), name, false) {
            Some(function) => self.run(function, of, &[], at),
            // The row's file does not have the property.
            None if is_this => Value::Null,
            None => error(format!("Cannot find \"{name}\" on type {}", of.type_name()), at),
        }
    }

    fn element(
        &mut self,
        of: &Value,
        is_this: bool,
        is_note: bool,
        key: &Value,
        at: &Span,
    ) -> Value {
        match (of, key) {
            (_, Value::Error(_)) => key.clone(),
            (Value::Null, _) => Value::Null,
            (Value::List(list), Value::Number(index)) => {
                let is_position = *index >= 0.0 && *index == index.trunc();
                if is_position {
                    list.get(*index as usize).cloned().unwrap_or_default()
                } else {
                    Value::Null
                }
            }
            (Value::Object(_), Value::Text(name)) if is_note => {
                let column = self.context.source().column(name);
                match (self.context.row(), column) {
                    (Some(row), Some(column)) => self.context.source().property(row, column),
                    _ => Value::Null,
                }
            }
            (_, Value::Text(name)) => self.field(of, is_this, name, at),
            (Value::Object(_), key) => match self.context.text(key) {
                Ok(name) => self.field(of, false, &name, at),
                Err(message) => error(message, at),
            },
            (_, Value::Null) => Value::Null,
            (Value::Text(text), Value::Number(index)) => {
                let is_position = *index >= 0.0 && *index == index.trunc();
                let found = is_position.then(|| text.chars().nth(*index as usize)).flatten();
                found.map_or(Value::Null, |c| Value::text(c.to_string()))
            }
            _ => {
                let key = self.context.text(key).unwrap_or_default();
                error(format!("Cannot find \"{key}\" on type {}", of.type_name()), at)
            }
        }
    }

    fn call_global(&mut self, of: &Prepared, name: &str, args: &[Expr], at: &Span) -> Value {
        match functions::find(None, name, true) {
            Some(function) => self.call(of, function, &Value::Null, args, at),
            None => error(format!("Cannot find function \"{name}\""), at),
        }
    }

    fn call_method(
        &mut self,
        of: &Prepared,
        receiver: &Value,
        name: &str,
        args: &[Expr],
        at: &Span,
    ) -> Value {
        let function = functions::find(Some(receiver.kind()), name, true);
        match (receiver, function) {
            (_, Some(function)) => self.call(of, function, receiver, args, at),
            (_, None) if name == "isEmpty" => Value::Bool(receiver.is_empty()),
            (Value::Null, None) => Value::Null,
            (_, None) => error(
                format!("Cannot find function \"{name}\" on type {}", receiver.type_name()),
                at,
            ),
        }
    }

    fn call(
        &mut self,
        of: &Prepared,
        function: &Function,
        receiver: &Value,
        args: &[Expr],
        at: &Span,
    ) -> Value {
        match function.code {
            Code::Lazy(code) => {
                let needed =
                    function.params.unwrap_or_default().iter().filter(|param| !param.is_optional);
                if args.len() < needed.count() {
                    return error(missing_argument(function, args.len()), at);
                }
                located(code(&mut Walker { evaluator: self, of }, receiver, args), at)
            }
            Code::Plain(_) => {
                let mut values = Vec::with_capacity(args.len());
                for arg in args {
                    match self.eval(of, arg) {
                        error @ Value::Error(_) => return error,
                        value => values.push(value),
                    }
                }
                if let Err(message) = check(function, &values) {
                    return error(message, at);
                }
                self.run(function, receiver, &values, at)
            }
        }
    }

    fn run(&mut self, function: &Function, receiver: &Value, args: &[Value], at: &Span) -> Value {
        let Code::Plain(code) = function.code else { return Value::Null };
        let looked_at =
            args.iter().chain([receiver]).try_for_each(|value| self.context.look_at(&[value]));
        if let Err(message) = looked_at {
            return error(message, at);
        }
        located(code(&mut self.context, receiver, args), at)
    }
}

/// Evaluates the arguments of a call.
struct Walker<'e, 'a> {
    evaluator: &'e mut Evaluator<'a>,
    of: &'e Prepared,
}

impl<'a> Walk<'a> for Walker<'_, 'a> {
    fn eval(&mut self, expr: &Expr) -> Value {
        self.evaluator.eval(self.of, expr)
    }

    fn of_element(
        &mut self,
        expr: &Expr,
        value: &Value,
        index: usize,
        acc: Option<Value>,
    ) -> Value {
        self.evaluator.of_element(self.of, expr, value, index, acc)
    }

    fn context(&mut self) -> &mut Context<'a> {
        &mut self.evaluator.context
    }
}

/// The left operand of a node, which is evaluated first.
fn leftmost(expr: &Expr) -> Option<&Expr> {
    match &expr.node {
        Node::Field { of, .. } | Node::Index { of, .. } | Node::Method { of, .. } => Some(of),
        Node::Not(of) | Node::Negate(of) => Some(of),
        Node::And(left, _) | Node::Or(left, _) => Some(left),
        Node::Binary { left, .. } | Node::Classic { left, .. } => Some(left),
        _ => None,
    }
}

pub(super) fn error(message: String, at: &Span) -> Value {
    Value::Error(Arc::new(EvalError { message, at: at.clone() }))
}

fn located(outcome: Outcome, at: &Span) -> Value {
    outcome.unwrap_or_else(|message| error(message, at))
}

/// Whether arguments match the types of a signature.
fn check(function: &Function, args: &[Value]) -> Result<(), String> {
    let params = function.params.unwrap_or_default();
    for (at, param) in params.iter().enumerate() {
        let arguments = if param.is_repeated { args.get(at..) } else { args.get(at..=at) };
        let arguments = arguments.unwrap_or_default();
        if arguments.is_empty() && !param.is_optional {
            return Err(missing_argument(function, at));
        }
        for value in arguments {
            let kind = value.kind();
            let is_right = |of: &Type| {
                *of == Type::Any || *of == kind || (*of == Type::Text && kind == Type::Link)
            };
            if !(param.types.iter().any(is_right) || (param.is_optional && kind == Type::Null)) {
                let (name, param, kind) = (function.name, param.name, value.type_name());
                return Err(format!(
                    "{name}(): the argument \"{param}\" may not be of type {kind}"
                ));
            }
        }
    }
    Ok(())
}

fn missing_argument(function: &Function, at: usize) -> String {
    let param = function.params.unwrap_or_default().get(at).map_or("", |param| param.name);
    format!("{}(): the argument \"{param}\" is missing", function.name)
}
