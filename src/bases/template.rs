//! Templates: texts with `{{expression}}`, for rules and workflows.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value as Json;

use super::ast::{Expr, Expression, Node, Span};
use super::diagnostic::{Diagnostic, Kind};
use super::eval::{Evaluator, Prepared};
use super::functions;
use super::nearest::nearest;
use super::parse::{self, Options};
use super::source::Source;
use super::token::{Lexer, Token};
use super::tree::MAX_BYTES;
use super::value::{Link, Text, Value};
use crate::note::names::{check_new_name, forbidden_in, without_forbidden};

/// The longest name that a template creates, in bytes. A longer one is cut at a word.
pub const MAX_NAME_BYTES: usize = 200;

/// A text with expressions in it.
///
/// `title` in an expression is the name of the row's file without its extension; a property of that
/// name is `note.title`. Write two literal opening braces as `{{"{{"}}`.
#[derive(Debug, Clone)]
pub struct Template {
    /// As written, with its expressions in braces.
    pub source: Text,
    pub parts: Vec<TemplatePart>,
    purpose: Purpose,
}

#[derive(Debug, Clone)]
pub enum TemplatePart {
    Text(Text),
    Expression {
        expression: Arc<Expression>,
        /// Byte offset of the expression in the template.
        at: u32,
    },
}

/// The use of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The text of a note, or the value of a property.
    Text,
    /// The name of a note, without its extension.
    Name,
    /// A path from the vault's top: of a folder, or of a note.
    Path,
}

/// Why a template has no text for a row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{expression}` gives {gives}")]
pub struct NothingToInsert {
    /// The expression that has no text, or the whole template.
    pub expression: Text,
    /// Its actual value: `null`, `a list`, or the error.
    pub gives: String,
}

/// A name or path created by a template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Named {
    /// Empty for the vault's top.
    pub text: String,
    /// Whether a value had characters that are not allowed in names, or created a name that no file may have.
    pub is_changed: bool,
    /// Whether a name was longer than [`MAX_NAME_BYTES`].
    pub is_shortened: bool,
}

impl Template {
    /// Parses a template. Places of diagnostics are those in `source`, not in an enclosing file.
    ///
    /// # Errors
    /// An invalid or unclosed expression, a template over 64 KB, and, for a name or path, literal text that no name may
    /// hold or that leads out of the vault.
    pub fn parse(source: &str, purpose: Purpose) -> Result<Self, Diagnostic> {
        let mut reader = TemplateReader::new(source, purpose)?;
        while let Some(opening) = source[reader.at..].find("{{") {
            let opening = reader.at + opening;
            reader.text(opening);
            let begin = opening + 2;
            let end = closing(source, opening)?;
            reader.expression(&source[begin..end], begin)?;
            reader.at = end + 2;
        }
        reader.finish()
    }

    /// Parses a template of the classic dialect, which has `{name}`, `{ext}` and `{date}`.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and braces around another word.
    pub fn parse_classic(source: &str, purpose: Purpose) -> Result<Self, Diagnostic> {
        let mut reader = TemplateReader::new(source, purpose)?;
        while let Some(opening) = source[reader.at..].find('{') {
            let opening = reader.at + opening;
            let Some(length) = source[opening..].find('}') else {
                return Err(unclosed_error(source, opening..opening + 1, "}"));
            };
            let end = opening + length + 1;
            let expression = match &source[opening + 1..end - 1] {
                "name" => "file.basename",
                "date" => "file.mtime.format(\"YYYY-MM-DD\")",
                // The extension stays, and with it its dot.
                "ext" if purpose == Purpose::Name && end == source.len() => {
                    reader.text(opening);
                    reader.take_dot();
                    reader.at = end;
                    continue;
                }
                "ext" => "file.ext",
                other => {
                    let message = format!("`{{{other}}}` is nothing that the classic dialect has");
                    let at = span(opening, end);
                    let error = Diagnostic::error(Kind::InvalidExpression, source, at, message);
                    return Err(error.hint(
                        match nearest(other, ["name", "ext", "date"].into_iter()) {
                            Some(near) => format!("did you mean `{{{near}}}`?"),
                            None => "it has `{name}`, `{ext}` and `{date}`".to_owned(),
                        },
                    ));
                }
            };
            reader.text(opening);
            // A missing extension removes its dot too.
            let has_dot = expression == "file.ext" && reader.take_dot();
            let expression =
                if has_dot { "if(file.ext.isEmpty(), \"\", \".\" + file.ext)" } else { expression };
            reader.expression(expression, opening)?;
            reader.at = end;
        }
        reader.finish()
    }

    /// The text of a template without expressions.
    pub fn literal(&self) -> Option<&str> {
        match &self.parts[..] {
            [] => Some(""),
            [TemplatePart::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether the template is a single expression, whose value keeps its type.
    pub fn is_value(&self) -> bool {
        matches!(self.parts[..], [TemplatePart::Expression { .. }])
    }

    /// The expressions with their byte offsets in the template.
    pub fn expressions(&self) -> impl Iterator<Item = (&Arc<Expression>, u32)> {
        self.parts.iter().filter_map(|part| match part {
            TemplatePart::Expression { expression, at } => Some((expression, *at)),
            TemplatePart::Text(_) => None,
        })
    }

    /// Resolves the properties of its expressions in `source` once for all rows.
    pub fn prepare(&self, source: &dyn Source) -> PreparedTemplate {
        let prepared = |(expression, _): (&Arc<Expression>, u32)| Prepared::new(expression, source);
        let expressions = self.expressions().map(prepared).collect();
        PreparedTemplate { template: self.clone(), expressions }
    }
}

/// A template whose properties are resolved in a source.
#[derive(Debug, Clone)]
pub struct PreparedTemplate {
    pub template: Template,
    expressions: Vec<Prepared>,
}

impl PreparedTemplate {
    /// The text for the evaluator's current row: a link as the name of its file, a date as `YYYY-MM-DD`.
    ///
    /// # Errors
    /// An expression gives null, a list, an object or an error.
    pub fn text(&self, evaluator: &mut Evaluator<'_>) -> Result<String, NothingToInsert> {
        let mut expressions = self.expressions.iter();
        let mut filled = String::new();
        for part in &self.template.parts {
            match part {
                TemplatePart::Text(text) => filled.push_str(text),
                TemplatePart::Expression { .. } => {
                    if let Some(prepared) = expressions.next() {
                        filled.push_str(&inserted(prepared, evaluator)?);
                    }
                }
            }
        }
        Ok(filled)
    }

    /// The value for a property: of a single expression its value (dates and links as in YAML), else the text.
    ///
    /// # Errors
    /// As [`text`](Self::text), but a list or an object is a value.
    pub fn value(&self, evaluator: &mut Evaluator<'_>) -> Result<Json, NothingToInsert> {
        let (true, Some(prepared)) = (self.template.is_value(), self.expressions.first()) else {
            return self.text(evaluator).map(Json::String);
        };
        let gives = match evaluator.value(prepared) {
            Value::Error(error) => error.message.clone(),
            value => match evaluator.compare().json(&value) {
                Json::Null => "null".to_owned(),
                json => return Ok(json),
            },
        };
        Err(nothing_to_insert(prepared, gives))
    }

    /// The name or path for the evaluator's current row. Characters that no name may hold become `-`, `/` too.
    /// Only a date's format, `file.folder` and the template's own text can create folders.
    ///
    /// # Errors
    /// As [`text`](Self::text), and a name is empty.
    pub fn named(&self, evaluator: &mut Evaluator<'_>) -> Result<Named, NothingToInsert> {
        let is_path = self.template.purpose == Purpose::Path;
        let mut expressions = self.expressions.iter();
        let mut components = vec![Component::default()];
        let mut is_changed = false;
        for part in &self.template.parts {
            let (text, has_folders) = match part {
                TemplatePart::Text(text) => (text.to_string(), true),
                TemplatePart::Expression { expression, .. } => {
                    let Some(prepared) = expressions.next() else { continue };
                    let text = inserted(prepared, evaluator)?;
                    (text, gives_folders(&expression.root))
                }
            };
            let pieces: Vec<&str> =
                if is_path && has_folders { text.split('/').collect() } else { vec![&text] };
            for (number, piece) in pieces.into_iter().enumerate() {
                if number > 0 {
                    components.push(Component::default());
                }
                let clean = without_forbidden(piece);
                is_changed |= clean != piece;
                if let Some(last) = components.last_mut() {
                    last.text.push_str(&clean);
                    last.is_needed |= !(is_path && has_folders);
                }
            }
        }
        let mut named = Named { is_changed, ..Named::default() };
        for component in components {
            let whole = component.text.trim();
            if whole.trim_matches(['.', ' ']).is_empty() {
                if component.is_needed || !is_path || !whole.is_empty() {
                    let (expression, gives) = (self.template.source.clone(), "no name".to_owned());
                    return Err(NothingToInsert { expression, gives });
                }
                continue;
            }
            let short = shorten_name(whole);
            named.is_shortened |= short.len() < whole.len();
            // The extension follows the name, so a final dot of the name is allowed.
            let ending = if is_path { "" } else { ".md" };
            let name = format!("{short}{ending}");
            let name = match check_new_name(&name) {
                Ok(()) => name,
                Err(fault) => {
                    named.is_changed = true;
                    fault.suggestion
                }
            };
            if !named.text.is_empty() {
                named.text.push('/');
            }
            named.text.push_str(name.strip_suffix(ending).unwrap_or(&name));
        }
        Ok(named)
    }
}

/// A component of a path under construction.
#[derive(Default)]
struct Component {
    text: String,
    /// Whether it contains a value, so that it cannot be left out.
    is_needed: bool,
}

struct TemplateReader<'s> {
    source: &'s str,
    purpose: Purpose,
    /// The first byte that is not in a part yet.
    at: usize,
    parts: Vec<TemplatePart>,
    texts: Vec<Range<usize>>,
    /// The components of a path, each with its offset and whether it contains an expression.
    names: Vec<(usize, String, bool)>,
}

impl<'s> TemplateReader<'s> {
    fn new(source: &'s str, purpose: Purpose) -> Result<Self, Diagnostic> {
        if source.len() > MAX_BYTES {
            let at = span(MAX_BYTES, source.len());
            let error =
                Diagnostic::error(Kind::TooLarge, source, at, "the text is longer than 64 KB");
            return Err(error.hint("put it into a template of Obsidian, and name that"));
        }
        let names = vec![(0, String::new(), false)];
        Ok(Self { source, purpose, at: 0, parts: Vec::new(), texts: Vec::new(), names })
    }

    /// Adds the literal text up to a byte.
    fn text(&mut self, end: usize) {
        let text = &self.source[self.at..end];
        if text.is_empty() {
            return;
        }
        self.parts.push(TemplatePart::Text(text.into()));
        self.texts.push(self.at..end);
        let mut begin = self.at;
        for (number, name) in text.split('/').enumerate() {
            if number > 0 {
                self.names.push((begin, String::new(), false));
            }
            if let Some((_, whole, _)) = self.names.last_mut() {
                whole.push_str(name);
            }
            begin += name.len() + 1;
        }
    }

    /// Removes a dot at the end of the text.
    fn take_dot(&mut self) -> bool {
        let Some(TemplatePart::Text(text)) = self.parts.last_mut() else { return false };
        let Some(rest) = text.strip_suffix('.') else { return false };
        *text = rest.into();
        if text.is_empty() {
            self.parts.pop();
        }
        if let Some((_, whole, _)) = self.names.last_mut() {
            whole.pop();
        }
        true
    }

    fn expression(&mut self, text: &str, at: usize) -> Result<(), Diagnostic> {
        let options =
            Options { allows_extensions: true, is_in_template: true, ..Options::default() };
        let parsed =
            parse::parse(text, options).map_err(|error| move_diagnostic(error, self.source, at))?;
        self.parts.push(TemplatePart::Expression { expression: Arc::new(parsed), at: at as u32 });
        if let Some((_, whole, is_mixed)) = self.names.last_mut() {
            // A placeholder for a value that is valid in a name.
            whole.push('x');
            *is_mixed = true;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Template, Diagnostic> {
        self.text(self.source.len());
        if self.purpose != Purpose::Text {
            self.check_names()?;
        }
        Ok(Template { source: self.source.into(), parts: self.parts, purpose: self.purpose })
    }

    /// Rejects literal text that no name may hold.
    fn check_names(&self) -> Result<(), Diagnostic> {
        let error = |kind, at: Span, message: String, hint: &str| {
            Err(Diagnostic::error(kind, self.source, at, message).hint(hint))
        };
        let is_path = self.purpose == Purpose::Path;
        let whole = span(0, self.source.len());
        if self.parts.is_empty() {
            return error(Kind::InvalidPath, whole, "the name is empty".to_owned(), "write one");
        }
        if is_path && self.source.trim() != "/" && self.source.starts_with('/') {
            let message = format!("`{}` leads out of the vault", self.source);
            let hint = "write the path from the vault's top, without a `/` before it";
            return error(Kind::OutsideVault, whole, message, hint);
        }
        if !is_path && self.names.len() > 1 {
            let at = self.names[1].0.saturating_sub(1);
            let hint = "name the folder with `move`";
            let message = "a name has no `/`".to_owned();
            return error(Kind::InvalidPath, span(at, at + 1), message, hint);
        }
        for (begin, name, is_mixed) in &self.names {
            let at = span(*begin, (begin + name.len()).min(self.source.len()));
            let bare = name.trim();
            if bare == ".." {
                let message = format!("`{}` leads out of the vault", self.source);
                return error(
                    Kind::OutsideVault,
                    at,
                    message,
                    "write the path from the vault's top",
                );
            }
            if is_path && bare.starts_with('.') && bare != "." {
                let message = format!("`{bare}` is hidden in Obsidian, and no rule touches it");
                return error(Kind::ProtectedPath, at, message, "choose another folder");
            }
            if bare.is_empty() && is_path {
                continue;
            }
            let ending = if is_path { "" } else { ".md" };
            let Err(fault) = check_new_name(&format!("{bare}{ending}")) else { continue };
            let suggestion = fault.suggestion.strip_suffix(ending).unwrap_or(&fault.suggestion);
            let (message, hint) = if *is_mixed {
                let message = format!("`{}` makes no name: {}", self.source, fault.reason);
                (message, "leave it out".to_owned())
            } else {
                (fault.to_string(), format!("call it `{suggestion}`"))
            };
            let at = forbidden_in(name).and_then(|_| self.forbidden(*begin)).unwrap_or(at);
            return error(Kind::InvalidPath, at, message, &hint);
        }
        Ok(())
    }

    /// The offset of the first literal character from `begin` on that no name may hold.
    fn forbidden(&self, begin: usize) -> Option<Span> {
        self.texts.iter().find_map(|range| {
            let mut at = range.start.max(begin);
            self.source.get(at..range.end)?.split('/').find_map(|name| {
                let start = at;
                at += name.len() + 1;
                let (found, _) = forbidden_in(name)?;
                let length = name[found..].chars().next().map_or(1, char::len_utf8);
                Some(span(start + found, start + found + length))
            })
        })
    }
}

/// The offset of the `}}` that closes the expression opened at `opening`.
fn closing(source: &str, opening: usize) -> Result<usize, Diagnostic> {
    let begin = opening + 2;
    let mut lexer = Lexer::new(&source[begin..]);
    loop {
        if lexer.rest().starts_with("}}") {
            return Ok(source.len() - lexer.rest().len());
        }
        match lexer.next() {
            Ok((Token::End, _)) => return Err(unclosed_error(source, opening..begin, "}}")),
            Ok(_) => {}
            Err(error) => return Err(move_diagnostic(error, source, begin)),
        }
    }
}

fn unclosed_error(source: &str, at: Range<usize>, closing: &str) -> Diagnostic {
    let message = format!("this `{}` is not closed", &source[at.clone()]);
    Diagnostic::error(Kind::InvalidExpression, source, span(at.start, at.end), message)
        .hint(format!("write `{closing}` after the expression"))
}

/// Moves diagnostics of an expression to the enclosing template.
fn move_diagnostic(error: Diagnostic, source: &str, begin: usize) -> Diagnostic {
    let at = begin as u32 + error.at.start..begin as u32 + error.at.end;
    error.moved_to(source, at)
}

fn span(start: usize, end: usize) -> Span {
    start as u32..end as u32
}

/// Whether a `/` in an expression's value comes from the rule's author or from the file's folder.
fn gives_folders(part: &Expr) -> bool {
    match &part.node {
        Node::Text(_) => true,
        Node::Field { of, name, .. } => matches!(of.node, Node::File) && &**name == "folder",
        Node::Method { name, args, .. } if &**name == "format" => args.iter().all(gives_folders),
        Node::Call { name, args, .. } if &**name == "if" => args.iter().skip(1).all(gives_folders),
        Node::Binary { left, right, .. } => gives_folders(left) && gives_folders(right),
        _ => false,
    }
}

/// The text of an expression's value.
fn inserted(prepared: &Prepared, evaluator: &mut Evaluator<'_>) -> Result<String, NothingToInsert> {
    let value = evaluator.value(prepared);
    let compare = evaluator.compare();
    let gives = match &value {
        Value::Null => "null".to_owned(),
        Value::List(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::Error(error) => error.message.clone(),
        Value::Number(number) if !number.is_finite() => "no number".to_owned(),
        Value::Date(date) => return Ok(compare.times.written(compare.times.day(*date))),
        Value::File(file) => {
            return Ok(functions::shown_name(&compare.source.path(*file)).to_owned());
        }
        Value::Link(link) => {
            return Ok(match compare.leads_to(link) {
                Some(file) => functions::shown_name(&compare.source.path(file)).to_owned(),
                None => name_of(link).to_owned(),
            });
        }
        value => match compare.text(value) {
            Ok(text) => return Ok(text),
            Err(error) => error.to_string(),
        },
    };
    Err(nothing_to_insert(prepared, gives))
}

/// The file name of a link without a target file.
fn name_of(link: &Link) -> &str {
    match (link.is_external, link.path()) {
        (true, _) => link.display.as_deref().unwrap_or(&link.target),
        (false, "") => link.target.trim_start_matches(['#', '^']),
        (false, path) => functions::shown_name(path),
    }
}

fn nothing_to_insert(prepared: &Prepared, gives: String) -> NothingToInsert {
    NothingToInsert { expression: prepared.expression.source.trim().into(), gives }
}

/// Shortens a name to [`MAX_NAME_BYTES`], after a word if one ends in its second half.
fn shorten_name(name: &str) -> &str {
    if name.len() <= MAX_NAME_BYTES {
        return name;
    }
    let end = (0..=MAX_NAME_BYTES).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
    let cut = &name[..end];
    let is_whole = name[end..].starts_with(char::is_whitespace);
    let word = cut.rfind(char::is_whitespace).filter(|at| !is_whole && *at > MAX_NAME_BYTES / 2);
    word.map_or(cut, |at| &cut[..at]).trim_end_matches(['\u{200c}', '\u{200d}']).trim_end()
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
