//! The classic dialect: the rule language before Bases, parsed into the same tree.
//!
//! ```text
//! or      = and { ("OR"|"||") and }          and = not { ("AND"|"&&") not }
//! not     = ("NOT"|"!") not | "(" or ")" | "true" | "false" | test
//! test    = FIELD ("=="|"!="|">"|"<"|">="|"<=") value | FIELD "IN" "[" [ value { "," value } ] "]"
//!         | FIELD "MATCHES" STRING | FIELD "." FUNCTION "(" STRING ")" | "file.isHidden"
//!         | [ "file." ] "vector_similarity" "(" STRING ")" [ COMPARISON NUMBER ]
//! value   = STRING | NUMBER | SIZE | "true" | "false" | "null"
//! ```
//!
//! Words in capitals may be in any case. A field is `file.` and a name in camel or snake case.

mod fields;
mod scan;

use std::sync::Arc;

use fields::{FUNCTIONS, Field, MEDIA_TYPES, NAMES, field};
use scan::Scanner;

use super::ast::{Classic, Expression, Node, Op, Span};
use super::diagnostic::Diagnostic;
use super::nearest::nearest;
use super::pattern;
use super::token::span;
use super::tree::{self, MAX_BYTES, Subtree, Tree};
use super::value::Text;

/// The threshold of a `vector_similarity` without a comparison.
const SIMILAR: f64 = 0.5;

/// Parses a condition of the classic dialect.
///
/// # Errors
/// The text is not an expression, names an unknown field or function, or exceeds a limit of [`parse`](super::parse).
pub fn parse(source: &str) -> Result<Expression, Diagnostic> {
    if source.len() > MAX_BYTES {
        return Err(tree::too_long(source));
    }
    let mut parser = Parser { scan: Scanner { source, at: 0 }, tree: Tree::new(source) };
    parser.scan.blanks();
    if parser.scan.rest().is_empty() {
        return Err(parser.scan.fault_here("the condition is empty"));
    }
    let root = parser.or()?;
    if !parser.scan.rest().is_empty() {
        return Err(parser.left_over());
    }
    Ok(parser.tree.finish(root))
}

type Parsed = Result<Subtree, Diagnostic>;

struct Parser<'s> {
    scan: Scanner<'s>,
    tree: Tree<'s>,
}

impl<'s> Parser<'s> {
    fn left_over(&self) -> Diagnostic {
        let word = self.scan.word();
        if !word.is_empty() {
            let error = self.scan.fault(
                span(self.scan.at, self.scan.at + word.len()),
                "an operator is missing before this",
            );
            return error.hint("join conditions with `AND` or `OR`");
        }
        match self.scan.rest().chars().next() {
            Some(')') => self.scan.fault_here("`)` without a `(`").hint("leave it out"),
            Some('&') => self.scan.fault_here("`&` is not an operator").hint("write `&&` or `AND`"),
            Some('|') => self.scan.fault_here("`|` is not an operator").hint("write `||` or `OR`"),
            Some('=') => self.scan.fault_here("`=` is not an operator").hint("write `==`"),
            _ => self
                .scan
                .fault_here("an operator is missing before this")
                .hint("join conditions with `AND` or `OR`"),
        }
    }

    fn or(&mut self) -> Parsed {
        let mut parts = vec![self.and()?];
        while self.scan.sign("||").or_else(|| self.scan.keyword("OR")).is_some() {
            parts.push(self.and()?);
        }
        self.tree.joined(parts, true)
    }

    fn and(&mut self) -> Parsed {
        let mut parts = vec![self.not()?];
        while self.scan.sign("&&").or_else(|| self.scan.keyword("AND")).is_some() {
            parts.push(self.not()?);
        }
        self.tree.joined(parts, false)
    }

    fn not(&mut self) -> Parsed {
        if let Some(at) = self.scan.sign("!").or_else(|| self.scan.keyword("NOT")) {
            self.tree.enter(at.clone())?;
            let of = self.not();
            self.tree.leave();
            let of = of?;
            let at = at.start..of.expr.at.end;
            return self.tree.make(Node::Not(of.expr), at, of.height);
        }
        if let Some(opening) = self.scan.sign("(") {
            self.tree.enter(opening.clone())?;
            let inner = self.or();
            self.tree.leave();
            let inner = inner?;
            if self.scan.sign(")").is_some() {
                return Ok(inner);
            }
            return Err(match self.scan.rest() {
                "" => self
                    .scan
                    .fault(opening, "this `(` is not closed")
                    .hint("write `)` after its content"),
                _ => self.left_over(),
            });
        }
        self.test()
    }

    fn test(&mut self) -> Parsed {
        let word = self.scan.word();
        if word.is_empty() {
            return Err(self.no_field());
        }
        let is_true = word.eq_ignore_ascii_case("true");
        if is_true || word.eq_ignore_ascii_case("false") {
            let at = self.scan.take_word(word);
            return self.tree.make(Node::Bool(is_true), at, 0);
        }
        if is_similarity(word) {
            return self.similarity(self.scan.at, word);
        }
        if !word.eq_ignore_ascii_case("file") {
            return Err(self.bare_word(word));
        }
        let start = self.scan.take_word(word).start;
        if self.scan.sign(".").is_none() {
            return Err(self
                .scan
                .fault(start..start + 4, "`file` alone is not a condition")
                .hint("name one of its fields: `file.name`"));
        }
        let name = self.scan.word();
        if is_similarity(name) {
            return self.similarity(start as usize, name);
        }
        let name_at = span(self.scan.at, self.scan.at + name.len());
        let Some(field) = field(name) else { return Err(self.unknown_field(name, name_at)) };
        self.scan.take_word(name);
        let left = self.field(field, start..name_at.end)?;
        if self.scan.sign(".").is_some() {
            return self.function(field, left);
        }
        if self.scan.keyword("IN").is_some() {
            let right = self.values()?;
            return self.tree.binary(left, right, |left, right| Node::Classic {
                op: Classic::In,
                left,
                right,
            });
        }
        if self.scan.keyword("MATCHES").is_some() {
            let right = self.pattern()?;
            let left = self.matched(field, left)?;
            return self.tree.binary(left, right, |left, right| Node::Classic {
                op: Classic::Matches,
                left,
                right,
            });
        }
        if let Some((op, _)) = self.comparison()? {
            let right = self.value()?;
            return self.tree.binary(left, right, |left, right| Node::Classic { op, left, right });
        }
        if field == Field::IsHidden {
            return Ok(left);
        }
        let at = left.expr.at;
        let written = &self.scan.source[at.start as usize..at.end as usize];
        Err(self
            .scan
            .fault(at, format!("`{written}` alone is not a condition"))
            .hint(format!("compare it: `{written} == …`")))
    }

    fn no_field(&self) -> Diagnostic {
        match self.scan.rest().chars().next() {
            None => self.scan.fault_here("a condition is missing here"),
            Some('"' | '\'' | '0'..='9' | '-') => self
                .scan
                .fault_here("a condition begins with a field")
                .hint("write the field first: `file.size > 10MB`"),
            Some(sign) => {
                self.scan.fault_here(format!("a condition is missing before this `{sign}`"))
            }
        }
    }

    fn bare_word(&self, word: &str) -> Diagnostic {
        let error = self.scan.fault(
            span(self.scan.at, self.scan.at + word.len()),
            format!("`{word}` is not a field"),
        );
        if let Some(field) = field(word) {
            return error.hint(format!("write `file.{}`", NAMES[field as usize]));
        }
        match nearest(word, FUNCTIONS.into_iter()) {
            Some("vector_similarity") => error.hint("write `vector_similarity(\"…\")`"),
            Some(function) => error.hint(format!("write `file.name.{function}(\"…\")`")),
            None => error.hint("fields begin with `file.`, and texts need quotes"),
        }
    }

    fn unknown_field(&self, name: &str, at: Span) -> Diagnostic {
        let error = match name {
            "" => self.scan.fault_here("a field is missing after `file.`"),
            name => self.scan.fault(at, format!("there is no field `file.{name}`")),
        };
        match nearest(name, NAMES.into_iter()) {
            Some(near) => error.hint(format!("did you mean `file.{near}`?")),
            None => error.hint(format!("there are `file.{}`", NAMES.join("`, `file."))),
        }
    }

    /// The node that evaluates to the field's value.
    fn field(&mut self, field: Field, at: Span) -> Parsed {
        match field {
            Field::Name => self.of_file("basename", at),
            Field::Ext => self.of_file("ext", at),
            Field::Size => self.of_file("size", at),
            Field::Path => self.of_file("path", at),
            Field::ModifiedAt => self.of_file("mtime", at),
            Field::CreatedAt => self.of_file("ctime", at),
            Field::IsHidden => {
                let name = self.of_file("name", at.clone())?;
                let dot = self.tree.make(Node::Text(".".into()), at.clone(), 0)?;
                let method = Node::Method {
                    of: name.expr,
                    name: "startsWith".into(),
                    name_at: at.clone(),
                    args: vec![*dot.expr],
                };
                self.tree.make(method, at, name.height)
            }
            Field::MimeType => {
                // Bases has no such field: the extension decides.
                let mut found = self.tree.make(Node::Null, at.clone(), 0)?;
                for (extension, media) in MEDIA_TYPES.iter().rev() {
                    let own = self.of_file("ext", at.clone())?;
                    let extension =
                        self.tree.make(Node::Text((*extension).into()), at.clone(), 0)?;
                    let is = self.tree.binary(own, extension, |left, right| Node::Classic {
                        op: Classic::Equal,
                        left,
                        right,
                    })?;
                    let media = self.tree.make(Node::Text((*media).into()), at.clone(), 0)?;
                    let below = is.height.max(found.height);
                    let args = vec![*is.expr, *media.expr, *found.expr];
                    let call = Node::Call { name: "if".into(), name_at: at.clone(), args };
                    found = self.tree.make(call, at.clone(), below)?;
                }
                Ok(found)
            }
        }
    }

    /// The field as patterns match it: an extension is in lower case.
    fn matched(&mut self, field: Field, value: Subtree) -> Parsed {
        if field != Field::Ext {
            return Ok(value);
        }
        let at = value.expr.at.clone();
        let height = value.height;
        let (name, name_at) = ("lower".into(), at.clone());
        self.tree.make(Node::Method { of: value.expr, name, name_at, args: Vec::new() }, at, height)
    }

    fn of_file(&mut self, name: &str, at: Span) -> Parsed {
        let file = self.tree.make(Node::File, at.start..at.start + 4, 0)?;
        let field = Node::Field { of: file.expr, name: name.into(), name_at: at.clone() };
        self.tree.make(field, at, file.height)
    }

    /// A function of a field; the next token is its name.
    fn function(&mut self, field: Field, left: Subtree) -> Parsed {
        let name = self.scan.word();
        let at = span(self.scan.at, self.scan.at + name.len());
        let snake = name.replace('_', "");
        let op = match &snake.to_ascii_lowercase()[..] {
            "contains" => Classic::Contains,
            "startswith" => Classic::StartsWith,
            "endswith" => Classic::EndsWith,
            "matches" => Classic::Matches,
            _ => {
                let error = match name {
                    "" => self.scan.fault_here("a function is missing after this `.`"),
                    name => self.scan.fault(at, format!("there is no function `{name}`")),
                };
                return Err(match nearest(name, FUNCTIONS.into_iter()) {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => error.hint(format!("there are {}", FUNCTIONS.join(", "))),
                });
            }
        };
        if !matches!(field, Field::Name | Field::Ext | Field::Path | Field::MimeType) {
            let message = format!("`file.{}` is not text", NAMES[field as usize]);
            return Err(self.scan.fault(at, message).hint("compare it with `==`, `<` or `>`"));
        }
        self.scan.take_word(name);
        let opening = self.opening(name)?;
        let start = left.expr.at.start;
        let (left, right) = match op {
            Classic::Matches => {
                let right = self.pattern()?;
                (self.matched(field, left)?, right)
            }
            _ => (left, self.text_value()?),
        };
        let end = self.closing(opening)?;
        let mut made =
            self.tree.binary(left, right, |left, right| Node::Classic { op, left, right })?;
        made.expr.at = start..end;
        Ok(made)
    }

    fn opening(&mut self, name: &str) -> Result<Span, Diagnostic> {
        self.scan.sign("(").ok_or_else(|| {
            self.scan
                .fault_here(format!("`(` is missing after `{name}`"))
                .hint(format!("write `{name}(\"…\")`"))
        })
    }

    fn closing(&mut self, opening: Span) -> Result<u32, Diagnostic> {
        match self.scan.sign(")") {
            Some(closing) => Ok(closing.end),
            None if self.scan.rest().is_empty() => {
                Err(self.scan.fault(opening, "this `(` is not closed"))
            }
            None => Err(self.scan.fault_here("`)` is missing before this").hint("give one text")),
        }
    }

    /// `vector_similarity("…")`, alone or compared; `name` is how it is written.
    fn similarity(&mut self, start: usize, name: &str) -> Parsed {
        let name_at = self.scan.take_word(name);
        let opening = self.opening(name)?;
        let text = self.text_value()?;
        let end = self.closing(opening)?;
        let at = start as u32..end;
        let file = self.tree.make(Node::File, at.clone(), 0)?;
        let args = vec![*text.expr];
        let method = Node::Method { of: file.expr, name: "similarity".into(), name_at, args };
        let left = self.tree.make(method, at.clone(), file.height)?;
        let (op, right) = match self.comparison()? {
            Some((op, _)) => {
                let right = self.value()?;
                if !matches!(right.expr.node, Node::Number(_)) {
                    return Err(self
                        .scan
                        .fault(right.expr.at, "a similarity is a number from 0 to 1"));
                }
                (op, right)
            }
            None => {
                let half = self.tree.make(Node::Number(SIMILAR), at, 0)?;
                (Classic::Greater, half)
            }
        };
        let op = match op {
            Classic::NotEqual => Op::NotEqual,
            Classic::Less => Op::Less,
            Classic::LessOrEqual => Op::LessOrEqual,
            Classic::Greater => Op::Greater,
            Classic::GreaterOrEqual => Op::GreaterOrEqual,
            _ => Op::Equal,
        };
        self.tree.binary(left, right, |left, right| Node::Binary { op, left, right })
    }

    fn comparison(&mut self) -> Result<Option<(Classic, Span)>, Diagnostic> {
        const SIGNS: [(&str, Classic); 6] = [
            ("==", Classic::Equal),
            ("!=", Classic::NotEqual),
            (">=", Classic::GreaterOrEqual),
            ("<=", Classic::LessOrEqual),
            (">", Classic::Greater),
            ("<", Classic::Less),
        ];
        for (sign, op) in SIGNS {
            if let Some(at) = self.scan.sign(sign) {
                return Ok(Some((op, at)));
            }
        }
        if self.scan.rest().starts_with('!')
            && let Some(rest) = self.scan.rest()[1..].trim_start().strip_prefix('=')
        {
            let end = self.scan.source.len() - rest.len();
            let at = span(self.scan.at, end);
            self.scan.at = end;
            self.scan.blanks();
            return Ok(Some((Classic::NotEqual, at)));
        }
        if self.scan.rest().starts_with('=') {
            Err(self.scan.fault_here("`=` is not an operator").hint("write `==`"))
        } else {
            Ok(None)
        }
    }

    fn value(&mut self) -> Parsed {
        let word = self.scan.word();
        let node = match self.scan.rest().chars().next() {
            Some('"' | '\'') => return self.text_value(),
            Some('0'..='9') => {
                let (number, at) = self.scan.number()?;
                return self.tree.make(Node::Number(number), at, 0);
            }
            Some('-') => {
                return Err(self
                    .scan
                    .fault_here("numbers below zero cannot be written")
                    .hint("sizes and times are never below zero"));
            }
            Some('[') => {
                return Err(self.scan.fault_here("a list is only allowed after `IN`"));
            }
            None => return Err(self.scan.fault_here("a value is missing here")),
            _ if word.eq_ignore_ascii_case("true") => Node::Bool(true),
            _ if word.eq_ignore_ascii_case("false") => Node::Bool(false),
            _ if word.eq_ignore_ascii_case("null") => Node::Null,
            _ if word.is_empty() => {
                return Err(self.scan.fault_here("a value is missing before this"));
            }
            _ => {
                let at = span(self.scan.at, self.scan.at + word.len());
                let error = self.scan.fault(at, format!("`{word}` is not a value"));
                return Err(error.hint(format!("write a text in quotes: `\"{word}\"`")));
            }
        };
        let at = self.scan.take_word(word);
        self.tree.make(node, at, 0)
    }

    fn values(&mut self) -> Parsed {
        let Some(opening) = self.scan.sign("[") else {
            let error = self.scan.fault_here("`[` is missing after `IN`");
            return Err(error.hint("write a list: `IN [\"png\", \"jpg\"]`"));
        };
        let mut items = Vec::new();
        let mut end = self.scan.sign("]");
        while end.is_none() {
            items.push(*self.value()?.expr);
            end = self.scan.sign("]");
            if end.is_some() {
                break;
            }
            match self.scan.sign(",") {
                Some(comma) if self.scan.rest().starts_with(']') => {
                    return Err(self.scan.fault(comma, "a value is missing after this `,`"));
                }
                Some(_) => {}
                None if self.scan.rest().is_empty() => {
                    return Err(self.scan.fault(opening, "this `[` is not closed"));
                }
                None => {
                    return Err(self.scan.fault_here("`,` or `]` is missing before this"));
                }
            }
        }
        let end = end.map_or(opening.end, |end| end.end);
        let below = u32::from(!items.is_empty());
        self.tree.make(Node::List(items), opening.start..end, below)
    }

    fn text_value(&mut self) -> Parsed {
        let (text, at) = self.scan.text()?;
        self.tree.make(Node::Text(Text::from(text)), at, 0)
    }

    fn pattern(&mut self) -> Parsed {
        let (text, at) = self.scan.text()?;
        let (flags, source) = leading_flags(&text);
        // A pattern between slashes is never empty; here it may be, and matches everywhere.
        let source = if source.is_empty() { "(?:)" } else { source };
        let before = (text.len() - text.len().min(source.len())) as u32;
        // An escape shifts all positions after it, except the escapes of patterns, which stay as written.
        let pattern = pattern::compile(source, flags)
            .map_err(|fault| tree::pattern_fault(self.scan.source, at.start + 1 + before, fault))?;
        self.tree.make(Node::Pattern(Arc::new(pattern)), at, 0)
    }
}

fn is_similarity(word: &str) -> bool {
    let word = word.replace('_', "").to_ascii_lowercase();
    word == "vectorsimilarity" || word == "similarity"
}

/// Splits the inline flags of a pattern (`(?i)`) from the rest of it.
fn leading_flags(pattern: &str) -> (&str, &str) {
    let split = pattern.strip_prefix("(?").and_then(|rest| rest.split_once(')'));
    match split {
        Some((flags, rest)) if !flags.is_empty() && flags.bytes().all(|b| b"ims".contains(&b)) => {
            (flags, rest)
        }
        _ => ("", pattern),
    }
}

#[cfg(test)]
mod tests;
