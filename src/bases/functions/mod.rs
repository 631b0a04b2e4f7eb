//! The table of all functions and fields, used by the evaluator, the checker, completion, the manual and the grammar
//! card for models.

/// Defines the table of a receiver's functions, or of the global ones (`Globals`): name, parameters (none for a field),
/// type of the result, implementation, and the line of help.
macro_rules! functions {
    ($table:ident of $of:ident: $(
        $name:literal $(($($param:expr),*))? -> $gives:ident, $kind:ident($code:expr) $($extension:ident)?: $help:literal;
    )*) => {
        pub(super) const $table: &[super::Function] = &[$(super::Function {
            of: functions!(@of $of),
            name: $name,
            params: functions!(@params $(($($param),*))?),
            gives: super::Type::$gives,
            help: $help,
            is_extension: !stringify!($($extension)?).is_empty(),
            code: super::Code::$kind($code),
        }),*];
    };
    (@of Globals) => { None };
    (@of $of:ident) => { Some(super::Type::$of) };
    (@params) => { None };
    (@params ($($param:expr),*)) => { Some(&[$($param),*]) };
}

mod any;
mod date;
pub(super) mod file;
mod global;
mod link;
mod list;
mod number;
mod object;
mod pattern;
mod replacement;
mod text;

use std::fmt::Write as _;
use std::sync::LazyLock;

use super::ast::Expr;
use super::compare::as_text;
use super::context::{Context, Walk};
use super::natural;
pub use super::value::Type;
use super::value::{Outcome, Value};
pub(super) use file::shown_name;
pub use global::escaped_html;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Param {
    pub name: &'static str,
    /// The accepted types. A link is accepted as a text, the text of its target.
    pub types: &'static [Type],
    pub is_optional: bool,
    /// Whether it may be repeated; only the last parameter.
    pub is_repeated: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct Function {
    /// The receiver's type; `None` for a global function.
    pub of: Option<Type>,
    pub name: &'static str,
    /// The parameters; `None` for a field, which has no parentheses.
    pub params: Option<&'static [Param]>,
    pub gives: Type,
    /// One line for people and models.
    pub help: &'static str,
    /// Whether it is an extension, allowed only in rules and `--where`.
    pub is_extension: bool,
    pub(super) code: Code,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Code {
    /// Takes its receiver (null for a global function) and its arguments. These have the types of the signature,
    /// and none is an error; optional ones may be missing.
    Plain(fn(&mut Context<'_>, &Value, &[Value]) -> Outcome),
    /// Evaluates its arguments itself.
    Lazy(fn(&mut dyn Walk<'_>, &Value, &[Expr]) -> Outcome),
}

impl Function {
    /// Whether it has parentheses.
    pub fn is_call(&self) -> bool {
        self.params.is_some()
    }
}

const fn one(name: &'static str, types: &'static [Type]) -> Param {
    Param { name, types, is_optional: false, is_repeated: false }
}

const fn optional(name: &'static str, types: &'static [Type]) -> Param {
    Param { name, types, is_optional: true, is_repeated: false }
}

const fn repeated(name: &'static str, types: &'static [Type]) -> Param {
    Param { name, types, is_optional: false, is_repeated: true }
}

/// The default order of rows: by `file.name` in natural order, then by path.
pub(super) fn by_name(a: &str, b: &str) -> std::cmp::Ordering {
    natural::order(file::shown_name(a), file::shown_name(b)).then_with(|| a.cmp(b))
}

/// The text of an argument that the signature says is one; a link's is its target.
fn text_of(args: &[Value], at: usize) -> &str {
    args.get(at).and_then(as_text).unwrap_or_default()
}

/// The number of an argument; `None` where it is missing or null.
fn number_of(args: &[Value], at: usize) -> Option<f64> {
    match args.get(at) {
        Some(Value::Number(number)) => Some(*number),
        _ => None,
    }
}

/// The positions from `start` to `end` out of `count`, as in JavaScript's `slice`: negative ones
/// count from the end.
fn span(count: usize, start: Option<f64>, end: Option<f64>) -> std::ops::Range<usize> {
    let position = |at: f64| {
        let at = if at < 0.0 { at.trunc() + count as f64 } else { at.trunc() };
        // NaN becomes 0.
        at.clamp(0.0, count as f64) as usize
    };
    let (start, end) = (start.map_or(0, position), end.map_or(count, position));
    start..end.max(start)
}

/// The table by receiver.
const TABLES: [(Option<Type>, &[Function]); 11] = [
    (None, global::FUNCTIONS),
    (Some(Type::Any), any::FUNCTIONS),
    (Some(Type::Text), text::FUNCTIONS),
    (Some(Type::Number), number::FUNCTIONS),
    (Some(Type::Date), date::OF_DATES),
    (Some(Type::Duration), date::OF_DURATIONS),
    (Some(Type::List), list::FUNCTIONS),
    (Some(Type::Link), link::FUNCTIONS),
    (Some(Type::File), file::FUNCTIONS),
    (Some(Type::Object), object::FUNCTIONS),
    (Some(Type::Pattern), pattern::FUNCTIONS),
];

/// All functions and fields, grouped by receiver.
pub fn all() -> impl Iterator<Item = &'static Function> {
    TABLES.iter().flat_map(|(_, functions)| functions.iter())
}

/// The functions and fields of a type, nearest first: its own, those of texts if it is a link, those of any value.
/// `None`: the global functions.
pub fn offered_by(receiver: Option<Type>) -> impl Iterator<Item = &'static Function> {
    let tables: [&'static [Function]; 3] = match receiver {
        None => [global::FUNCTIONS, &[], &[]],
        Some(Type::Link) => [link::FUNCTIONS, text::FUNCTIONS, any::FUNCTIONS],
        Some(of) => [own(of), &[], any::FUNCTIONS],
    };
    tables.into_iter().flatten()
}

pub fn find(receiver: Option<Type>, name: &str, is_call: bool) -> Option<&'static Function> {
    offered_by(receiver).find(|function| function.name == name && function.is_call() == is_call)
}

fn own(of: Type) -> &'static [Function] {
    match of {
        Type::Text => text::FUNCTIONS,
        Type::Number => number::FUNCTIONS,
        Type::Date => date::OF_DATES,
        Type::Duration => date::OF_DURATIONS,
        Type::List => list::FUNCTIONS,
        Type::Link => link::FUNCTIONS,
        Type::File => file::FUNCTIONS,
        Type::Object => object::FUNCTIONS,
        Type::Pattern => pattern::FUNCTIONS,
        Type::Any | Type::Null | Type::Bool | Type::PerElement => &[],
    }
}

/// The names that a model may use, from the table of functions; about 900 characters.
pub fn card() -> &'static str {
    static CARD: LazyLock<String> = LazyLock::new(|| {
        let mut card = "the language is that of Obsidian's Bases, without `and`, `or`, `not`, `=` and objects.".to_owned();
        let receivers = [
            (None, "functions"),
            (Some(Type::Text), "of texts"),
            (Some(Type::Number), "of numbers"),
            (Some(Type::Date), "of dates"),
            (Some(Type::List), "of lists"),
            (Some(Type::Link), "of links"),
            (Some(Type::File), "of `file`"),
            (Some(Type::Object), "of objects"),
            (Some(Type::Pattern), "of `/patterns/`"),
            (Some(Type::Any), "of all"),
        ];
        for (receiver, title) in receivers {
            let own = all().filter(|function| function.of == receiver);
            let names = own.map(|function| match function.params {
                Some(_) => format!(" {}()", function.name),
                None => format!(" {}", function.name),
            });
            let _ = write!(card, "\n{title}:{}", names.collect::<String>());
        }
        card
    });
    &CARD
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The number of functions in Obsidian's manual and of our own, by receiver.
    #[test]
    fn the_table_has_all_of_the_manual() {
        let mut counted: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for function in all().filter(|function| !function.is_extension) {
            let name = function.of.map_or("global".to_owned(), |of| format!("{of:?}"));
            let count = counted.entry(name).or_default();
            if function.is_call() { count.0 += 1 } else { count.1 += 1 }
        }
        let counted: Vec<_> =
            counted.iter().map(|(of, (calls, fields))| (of.as_str(), *calls, *fields)).collect();
        assert_eq!(
            counted,
            [
                ("Any", 3, 0),
                ("Date", 5, 7),
                ("Duration", 0, 8),
                ("File", 5, 14),
                ("Link", 2, 0),
                // Two of them, `mean` and `sum`, are for summaries.
                ("List", 15, 1),
                ("Number", 6, 0),
                ("Object", 3, 0),
                ("Pattern", 1, 0),
                ("Text", 14, 1),
                ("global", 16, 0),
            ]
        );
    }

    #[test]
    fn every_table_is_of_its_receiver_and_names_nothing_twice() {
        for (of, functions) in TABLES {
            for (at, function) in functions.iter().enumerate() {
                assert_eq!(function.of, of, "{}", function.name);
                let twin = functions[..at].iter().any(|other| other.name == function.name);
                assert!(!twin, "{}", function.name);
                assert!(!function.help.is_empty(), "{}", function.name);
            }
        }
    }
}
