//! The parser of Obsidian's expression language.
//!
//! ```text
//! expr    = and { "||" and }                 and     = compare { "&&" compare }
//! compare = sum { ("=="|"!="|"<"|"<="|">"|">=") sum }
//! sum     = product { ("+"|"-") product }    product = unary { ("*"|"/"|"%") unary }
//! unary   = ("!"|"-") unary | postfix
//! postfix = primary { "." NAME [ args ] | "[" expr "]" }
//! primary = NUMBER | STRING | REGEX | "true" | "false" | "null" | NAME [ args ] | "[" [ list ] "]" | "(" expr ")"
//! args    = "(" [ list ] ")"                 list    = expr { "," expr }
//! ```

use std::sync::Arc;

use super::ast::{Expr, Expression, Local, Node, Op, Span};
use super::diagnostic::{Diagnostic, Kind};
use super::pattern;
use super::token::{Lexer, Token};
use super::tree::{self, MAX_BYTES, Subtree, Tree};
use super::value::Text;

/// Syntax that is allowed in an expression, depending on its place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether extensions such as the size `10MB` are allowed.
    pub allows_extensions: bool,
    /// Whether the expression is a summary, in which `values` are those of its column.
    pub is_summary: bool,
    /// Whether the expression is part of a [template](super::template), where `title` is the name of the row's file
    /// without its extension, and a property of that name is `note.title`.
    pub is_in_template: bool,
}

/// Parses an expression.
///
/// # Errors
/// The text is not an expression, or exceeds a limit: 64 KB, 200 levels, 10,000 nodes.
pub fn parse(source: &str, options: Options) -> Result<Expression, Diagnostic> {
    if source.len() > MAX_BYTES {
        return Err(tree::too_long(source));
    }
    let mut lexer = Lexer::new(source);
    let (next, next_at) = lexer.next()?;
    let mut parser = Parser {
        source,
        lexer,
        next,
        next_at,
        options,
        bound: Bound { values: options.is_summary, ..Bound::default() },
        tree: Tree::new(source),
    };
    if parser.next == Token::End {
        return Err(parser.fault("the expression is empty"));
    }
    let root = parser.binary(0)?;
    if parser.next != Token::End {
        return Err(parser.unexpected(&root.expr));
    }
    Ok(parser.tree.finish(root))
}

#[derive(Debug, Clone, Copy, Default)]
struct Bound {
    value: bool,
    acc: bool,
    values: bool,
}

struct Parser<'s> {
    source: &'s str,
    lexer: Lexer<'s>,
    next: Token<'s>,
    next_at: Span,
    options: Options,
    bound: Bound,
    tree: Tree<'s>,
}

/// Elements or arguments, and the greatest height among them.
#[derive(Default)]
struct Items {
    items: Vec<Expr>,
    height: u32,
}

type Parsed = Result<Subtree, Diagnostic>;

/// Operators of other languages as words, with ours.
const WORDS: [(&str, &str); 10] = [
    ("and", "write `&&`"),
    ("or", "write `||`"),
    ("not", "write `!`"),
    ("is", "write `==`"),
    ("equals", "write `==`"),
    ("in", "write `list.contains(value)`"),
    ("contains", "write `a.contains(b)`"),
    ("matches", "write `/pattern/.matches(text)`"),
    ("startsWith", "write `a.startsWith(b)`"),
    ("like", "write `a.contains(b)`"),
];

impl<'s> Parser<'s> {
    fn advance(&mut self) -> Result<(Token<'s>, Span), Diagnostic> {
        let (next, at) = self.lexer.next()?;
        Ok((std::mem::replace(&mut self.next, next), std::mem::replace(&mut self.next_at, at)))
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.next, Token::Sign(next) if next == sign)
    }

    fn fault(&self, message: impl Into<String>) -> Diagnostic {
        self.fault_at(self.next_at.clone(), message)
    }

    fn fault_at(&self, at: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(Kind::InvalidExpression, self.source, at, message)
    }

    /// The error for a token after a complete value.
    fn unexpected(&self, before: &Expr) -> Diagnostic {
        let text = |at: &Span| &self.source[at.start as usize..at.end as usize];
        let here = text(&self.next_at);
        match self.next {
            Token::Sign(sign @ (")" | "]")) => {
                let opening = if sign == ")" { "(" } else { "[" };
                self.fault(format!("`{sign}` without a `{opening}`")).hint("leave it out")
            }
            Token::Sign(",") => self
                .fault("`,` may only separate elements or arguments")
                .hint("join conditions with `&&` or `||`"),
            Token::Sign(sign) => {
                self.fault(format!("`{sign}` is not an operator between two values"))
            }
            _ => {
                let fault = self.fault("an operator is missing before this");
                let word =
                    |word: &str| WORDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
                match word(here).or_else(|| word(text(&before.at))) {
                    Some((_, hint)) => fault.hint(*hint),
                    None => fault.hint(
                        "join values with an operator, write a text in quotes, and a property with \
                         a blank in its name as `note[\"two words\"]`",
                    ),
                }
            }
        }
    }

    fn operator(&self) -> Option<(&'static str, u8)> {
        let Token::Sign(sign) = self.next else { return None };
        let level = match sign {
            "||" => 1,
            "&&" => 2,
            "==" | "!=" | "<" | "<=" | ">" | ">=" => 3,
            "+" | "-" => 4,
            "*" | "/" | "%" => 5,
            _ => return None,
        };
        Some((sign, level))
    }

    /// Parses operators of at least this precedence with their operands.
    fn binary(&mut self, least: u8) -> Parsed {
        let mut left = self.unary()?;
        while let Some((sign, level)) = self.operator().filter(|(_, level)| *level >= least) {
            if level <= 2 {
                let mut parts = vec![left];
                while self.is(sign) {
                    self.advance()?;
                    parts.push(self.operand(level)?);
                }
                left = self.tree.joined(parts, sign == "||")?;
                continue;
            }
            self.advance()?;
            let right = self.operand(level)?;
            let op = op(sign);
            left = self.tree.binary(left, right, |left, right| Node::Binary { op, left, right })?;
        }
        Ok(left)
    }

    fn operand(&mut self, level: u8) -> Parsed {
        self.tree.enter(self.next_at.clone())?;
        let operand = self.binary(level + 1);
        self.tree.leave();
        operand
    }

    fn unary(&mut self) -> Parsed {
        let sign = if self.is("!") {
            Node::Not
        } else if self.is("-") {
            Node::Negate
        } else {
            return self.postfix();
        };
        let (_, at) = self.advance()?;
        self.tree.enter(at.clone())?;
        let of = self.unary();
        self.tree.leave();
        let of = of?;
        let at = at.start..of.expr.at.end;
        self.tree.make(sign(of.expr), at, of.height)
    }

    fn postfix(&mut self) -> Parsed {
        let mut of = self.primary()?;
        loop {
            if self.is(".") {
                let (_, dot) = self.advance()?;
                let (name, name_at) = self.member(dot)?;
                of = self.named(of, name, name_at)?;
            } else if self.is("[") {
                let (_, opening) = self.advance()?;
                if self.is("]") {
                    return Err(self.fault("a key is missing between `[` and `]`"));
                }
                let key = self.inside(&opening, "]")?;
                let at = of.expr.at.start..self.close(&opening, "]")?;
                of = match (&of.expr.node, &key.expr.node) {
                    (Node::Note, Node::Text(name)) => self.tree.property(name, at)?,
                    _ => {
                        let below = of.height.max(key.height);
                        self.tree.make(Node::Index { of: of.expr, key: key.expr }, at, below)?
                    }
                };
            } else {
                return Ok(of);
            }
        }
    }

    fn member(&mut self, dot: Span) -> Result<(&'s str, Span), Diagnostic> {
        match self.next {
            Token::Name(name) => {
                let (_, at) = self.advance()?;
                Ok((name, at))
            }
            Token::End => Err(self.fault("a name is missing after the `.`")),
            _ => Err(self
                .fault_at(dot, "a name has to follow this `.`")
                .hint("read what has another name as `[\"name\"]`")),
        }
    }

    /// A field or a method of `of`.
    fn named(
        &mut self,
        Subtree { expr: of, height }: Subtree,
        name: &'s str,
        name_at: Span,
    ) -> Parsed {
        let start = of.at.start;
        if !self.is("(") {
            let at = start..name_at.end;
            if matches!(of.node, Node::Note) {
                return self.tree.property(name, at);
            }
            let name = Text::from(name);
            return self.tree.make(Node::Field { of, name, name_at }, at, height);
        }
        let outer = self.bound;
        let inner = match name {
            "filter" | "map" => Bound { value: true, ..outer },
            "reduce" => Bound { value: true, acc: true, ..outer },
            _ => outer,
        };
        let (args, end) = self.args(inner)?;
        let below = height.max(args.height);
        let (name, args) = (Text::from(name), args.items);
        self.tree.make(Node::Method { of, name, name_at, args }, start..end, below)
    }

    /// Parses arguments in parentheses; also gives their end. The first argument has the variables of `first` in scope.
    fn args(&mut self, first: Bound) -> Result<(Items, u32), Diagnostic> {
        let outer = std::mem::replace(&mut self.bound, first);
        let (_, opening) = self.advance()?;
        let args = self.list(&opening, ")", outer);
        self.bound = outer;
        args
    }

    /// Parses elements up to `closing`; also gives its end. All but the first have the variables of `rest` in scope.
    fn list(
        &mut self,
        opening: &Span,
        closing: &'static str,
        rest: Bound,
    ) -> Result<(Items, u32), Diagnostic> {
        let mut found = Items::default();
        while !self.is(closing) {
            if self.is(",") {
                return Err(self.fault("a value is missing before this `,`"));
            }
            let item = self.inside(opening, closing)?;
            found.height = found.height.max(item.height);
            found.items.push(*item.expr);
            self.bound = rest;
            if !self.is(",") {
                break;
            }
            let (_, comma) = self.advance()?;
            if self.is(closing) {
                return Err(self.fault_at(comma, "a value is missing after this `,`"));
            }
        }
        Ok((found, self.close(opening, closing)?))
    }

    /// An expression between brackets.
    fn inside(&mut self, opening: &Span, closing: &str) -> Parsed {
        if self.next == Token::End {
            return Err(self.unclosed(opening, closing));
        }
        self.tree.enter(opening.clone())?;
        let found = self.binary(0);
        self.tree.leave();
        let found = found?;
        match self.next {
            Token::End => Err(self.unclosed(opening, closing)),
            Token::Sign(sign) if sign == closing => Ok(found),
            Token::Sign(",") if self.source[opening.start as usize..].starts_with(['(', '[']) => {
                Ok(found)
            }
            _ => Err(self.unexpected(&found.expr)),
        }
    }

    /// Takes the closing bracket, and gives its end.
    fn close(&mut self, opening: &Span, closing: &str) -> Result<u32, Diagnostic> {
        match self.next {
            Token::Sign(sign) if sign == closing => Ok(self.advance()?.1.end),
            Token::End => Err(self.unclosed(opening, closing)),
            _ => Err(self.fault(format!("`{closing}` is missing before this"))),
        }
    }

    fn unclosed(&self, opening: &Span, closing: &str) -> Diagnostic {
        let open = &self.source[opening.start as usize..opening.end as usize];
        self.fault_at(opening.clone(), format!("this `{open}` is not closed"))
            .hint(format!("write `{closing}` after its content"))
    }

    fn primary(&mut self) -> Parsed {
        let (token, at) = match self.next {
            Token::Sign("(" | "[") | Token::Number(_) | Token::Size(_) | Token::Text(_) => {
                self.advance()?
            }
            Token::Pattern { .. } | Token::Name(_) => self.advance()?,
            _ => return Err(self.no_value()),
        };
        match token {
            Token::Number(number) => self.tree.make(Node::Number(number), at, 0),
            Token::Size(size) if self.options.allows_extensions => {
                self.tree.make(Node::Number(size), at, 0)
            }
            Token::Size(size) => {
                let text = &self.source[at.start as usize..at.end as usize];
                let message = format!("Obsidian does not know sizes such as `{text}`");
                let error = Diagnostic::error(Kind::Extension, self.source, at, message);
                Err(error.hint(format!("write `{size}`")))
            }
            Token::Text(text) => self.tree.make(Node::Text(text.into()), at, 0),
            Token::Pattern { source, flags } => {
                let pattern = pattern::compile(source, flags).map_err(|fault| {
                    // After the opening slash.
                    tree::pattern_fault(self.source, at.start + 1, fault)
                })?;
                self.tree.make(Node::Pattern(Arc::new(pattern)), at, 0)
            }
            Token::Name(name) => self.name(name, at),
            Token::Sign("[") => {
                let (items, end) = self.list(&at, "]", self.bound)?;
                self.tree.make(Node::List(items.items), at.start..end, items.height)
            }
            _ => {
                if self.is(")") {
                    return Err(self.fault("a value is missing between `(` and `)`"));
                }
                let mut inner = self.inside(&at, ")")?;
                inner.expr.at = at.start..self.close(&at, ")")?;
                Ok(inner)
            }
        }
    }

    /// The error where a value should begin.
    fn no_value(&self) -> Diagnostic {
        match self.next {
            Token::Sign("+") => self
                .fault("`+` needs a value before it")
                .hint("leave it out, or write the value before it"),
            Token::Sign(".") => {
                self.fault("a value is missing before this `.`").hint("write a fraction as `0.5`")
            }
            Token::Sign(sign) => self.fault(format!("a value is missing before this `{sign}`")),
            _ => self.fault("a value is missing here"),
        }
    }

    fn name(&mut self, name: &'s str, at: Span) -> Parsed {
        if self.is("(") {
            let (args, end) = self.args(self.bound)?;
            let Items { items: args, height } = args;
            let call = Node::Call { name: name.into(), name_at: at.clone(), args };
            return self.tree.make(call, at.start..end, height);
        }
        let node = match name {
            "true" => Node::Bool(true),
            "false" => Node::Bool(false),
            "null" => Node::Null,
            "file" => Node::File,
            "note" => Node::Note,
            "this" => Node::This,
            "formula" => return self.formula(at),
            "value" if self.bound.value => Node::Local(Local::Value),
            "index" if self.bound.value => Node::Local(Local::Index),
            "acc" if self.bound.acc => Node::Local(Local::Acc),
            "values" if self.bound.values => Node::Local(Local::Values),
            "title" if self.options.is_in_template => {
                let file = self.tree.make(Node::File, at.clone(), 0)?;
                let (of, name, name_at) = (file.expr, "basename".into(), at.clone());
                return self.tree.make(Node::Field { of, name, name_at }, at, file.height);
            }
            _ => return self.tree.property(name, at),
        };
        self.tree.make(node, at, 0)
    }

    /// Parses the name after `formula`, which means nothing alone.
    fn formula(&mut self, at: Span) -> Parsed {
        let name = if self.is(".") {
            let (_, dot) = self.advance()?;
            let (name, name_at) = self.member(dot)?;
            if self.is("(") {
                return Err(self.fault_at(name_at, "a formula takes no arguments").hint(format!(
                    "write `formula.{name}` for its value; functions need no prefix: `{name}(…)`"
                )));
            }
            Some((Text::from(name), name_at.end))
        } else if self.is("[") {
            let (_, opening) = self.advance()?;
            match &self.next {
                Token::Text(text) => {
                    let name = Text::from(text.as_ref());
                    self.advance()?;
                    Some((name, self.close(&opening, "]")?))
                }
                _ => None,
            }
        } else {
            None
        };
        let Some((name, end)) = name else {
            return Err(self
                .fault_at(at, "`formula` needs the name of one")
                .hint("write `formula.name` or `formula[\"name\"]`; for a property of the note, `note.formula`"));
        };
        self.tree.make(Node::Formula(name), at.start..end, 0)
    }
}

fn op(sign: &str) -> Op {
    match sign {
        "==" => Op::Equal,
        "!=" => Op::NotEqual,
        "<" => Op::Less,
        "<=" => Op::LessOrEqual,
        ">" => Op::Greater,
        ">=" => Op::GreaterOrEqual,
        "+" => Op::Add,
        "-" => Op::Subtract,
        "*" => Op::Multiply,
        "/" => Op::Divide,
        _ => Op::Remainder,
    }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
