//! Prints a tree as canonical text with the fewest brackets.

use std::fmt::{self, Write as _};

use super::super::token::is_name;
use super::{Classic, Expr, Expression, Local, Node, Op};

/// Precedence of the parts of an expression; a part of lower precedence is put in brackets.
mod level {
    pub(super) const OR: u8 = 1;
    pub(super) const AND: u8 = 2;
    pub(super) const COMPARE: u8 = 3;
    pub(super) const SUM: u8 = 4;
    pub(super) const PRODUCT: u8 = 5;
    pub(super) const SIGNED: u8 = 6;
    pub(super) const WHOLE: u8 = 7;
}

/// Names that do not mean the property of that name, in some or all places.
const RESERVED: [&str; 11] =
    ["true", "false", "null", "file", "note", "this", "formula", "value", "index", "acc", "values"];

impl fmt::Display for Expression {
    /// The expression in its canonical form, which parses to the same tree.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.print(&self.root))
    }
}

impl Expression {
    /// A part of this expression in its canonical form.
    pub fn print(&self, part: &Expr) -> String {
        let mut printer = Printer { of: self, text: String::new() };
        printer.part(part, 0);
        printer.text
    }
}

struct Printer<'e> {
    of: &'e Expression,
    text: String,
}

impl Printer<'_> {
    /// Writes a part, in brackets if its precedence is below that of its place.
    fn part(&mut self, part: &Expr, least: u8) {
        let is_bracketed = level(&part.node) < least;
        if is_bracketed {
            self.text.push('(');
        }
        self.node(&part.node);
        if is_bracketed {
            self.text.push(')');
        }
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Null => self.text.push_str("null"),
            Node::Bool(value) => self.write(value),
            Node::Number(number) if number.is_infinite() => self.text.push_str("1e999"),
            Node::Number(number) => self.write(number),
            Node::Text(text) => self.quoted(text),
            Node::Pattern(pattern) => {
                let (source, flags) = (&pattern.source, &pattern.flags);
                self.write(format_args!("/{source}/{flags}"));
            }
            Node::List(items) => self.list('[', items, ']'),
            Node::Property(number) => {
                let name = self.of.properties.get(*number).map_or("", |name| &**name);
                if is_name(name) && !RESERVED.contains(&name) {
                    self.text.push_str(name)
                } else {
                    self.named("note", name, true)
                }
            }
            Node::File => self.text.push_str("file"),
            Node::Note => self.text.push_str("note"),
            Node::This => self.text.push_str("this"),
            Node::Formula(name) => self.named("formula", name, !is_name(name)),
            Node::Local(Local::Value) => self.text.push_str("value"),
            Node::Local(Local::Index) => self.text.push_str("index"),
            Node::Local(Local::Acc) => self.text.push_str("acc"),
            Node::Local(Local::Values) => self.text.push_str("values"),
            Node::Field { of, name, .. } => {
                self.receiver(of);
                self.write(format_args!(".{name}"));
            }
            Node::Index { of, key } => {
                self.receiver(of);
                self.list('[', std::slice::from_ref(&**key), ']');
            }
            Node::Call { name, args, .. } => {
                self.text.push_str(name);
                self.list('(', args, ')');
            }
            Node::Method { of, name, args, .. } => {
                self.receiver(of);
                self.write(format_args!(".{name}"));
                self.list('(', args, ')');
            }
            Node::Not(of) => {
                self.text.push('!');
                self.part(of, level::SIGNED);
            }
            Node::Negate(of) => {
                self.text.push('-');
                self.part(of, level::SIGNED);
            }
            Node::And(left, right) => self.binary(left, "&&", right, level::AND, level::AND),
            Node::Or(left, right) => self.binary(left, "||", right, level::OR, level::OR),
            Node::Binary { op, left, right, .. } => {
                let (sign, level) = sign(*op);
                self.binary(left, sign, right, level, level + 1);
            }
            Node::Classic { op, left, right } => {
                let next = level::COMPARE + 1;
                self.binary(left, word(*op), right, next, next);
            }
        }
    }

    fn write(&mut self, part: impl fmt::Display) {
        let _ = write!(self.text, "{part}");
    }

    /// Writes the receiver of a name, a bracket or a dot. A number needs brackets there.
    fn receiver(&mut self, of: &Expr) {
        let is_number = matches!(of.node, Node::Number(_));
        self.part(of, if is_number { u8::MAX } else { level::WHOLE });
    }

    fn binary(&mut self, left: &Expr, sign: &str, right: &Expr, at_left: u8, at_right: u8) {
        self.part(left, at_left);
        self.write(format_args!(" {sign} "));
        self.part(right, at_right);
    }

    fn list(&mut self, opening: char, items: &[Expr], closing: char) {
        self.text.push(opening);
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.text.push_str(", ");
            }
            self.part(item, 0);
        }
        self.text.push(closing);
    }

    fn named(&mut self, of: &str, name: &str, is_quoted: bool) {
        self.text.push_str(of);
        if is_quoted {
            self.text.push('[');
            self.quoted(name);
            self.text.push(']');
        } else {
            self.write(format_args!(".{name}"));
        }
    }

    fn quoted(&mut self, text: &str) {
        self.text.push('"');
        for c in text.chars() {
            match c {
                '"' | '\\' => {
                    self.text.push('\\');
                    self.text.push(c);
                }
                '\n' => self.text.push_str("\\n"),
                '\r' => self.text.push_str("\\r"),
                '\t' => self.text.push_str("\\t"),
                c => self.text.push(c),
            }
        }
        self.text.push('"');
    }
}

fn level(node: &Node) -> u8 {
    match node {
        Node::Or(..) => level::OR,
        Node::And(..) => level::AND,
        Node::Classic { .. } => level::COMPARE,
        Node::Binary { op, .. } => sign(*op).1,
        Node::Not(_) | Node::Negate(_) => level::SIGNED,
        _ => level::WHOLE,
    }
}

fn sign(op: Op) -> (&'static str, u8) {
    match op {
        Op::Equal => ("==", level::COMPARE),
        Op::NotEqual => ("!=", level::COMPARE),
        Op::Less => ("<", level::COMPARE),
        Op::LessOrEqual => ("<=", level::COMPARE),
        Op::Greater => (">", level::COMPARE),
        Op::GreaterOrEqual => (">=", level::COMPARE),
        Op::Add => ("+", level::SUM),
        Op::Subtract => ("-", level::SUM),
        Op::Multiply => ("*", level::PRODUCT),
        Op::Divide => ("/", level::PRODUCT),
        Op::Remainder => ("%", level::PRODUCT),
    }
}

fn word(op: Classic) -> &'static str {
    match op {
        Classic::Equal => "==",
        Classic::NotEqual => "!=",
        Classic::Less => "<",
        Classic::LessOrEqual => "<=",
        Classic::Greater => ">",
        Classic::GreaterOrEqual => ">=",
        Classic::In => "IN",
        Classic::Matches => "MATCHES",
        Classic::Contains => "contains",
        Classic::StartsWith => "startsWith",
        Classic::EndsWith => "endsWith",
    }
}
