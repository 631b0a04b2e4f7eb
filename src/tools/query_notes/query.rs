//! Converts the tool's input to a query.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::json;

use super::super::text_file;
use super::super::{Context, ToolError};
use super::{Dialect, QueryNotes};
use crate::bases::ast::{Expression, Node};
use crate::bases::base_file;
use crate::bases::blocks::blocks;
use crate::bases::check::Checker;
use crate::bases::classic;
use crate::bases::diagnostic::{Diagnostic, Kind};
use crate::bases::functions;
use crate::bases::parse::{self, Options};
use crate::bases::query::{ColumnKey, Filter, Query, ShownColumn, SortBy};
use crate::bases::value::Text;
use crate::index::properties::VaultSnapshot;
use crate::note::code::ErrorCode;
use crate::note::path::VaultPath;
use crate::vault::Want;

/// A query that can be run.
pub(super) struct RunnableQuery {
    pub query: Query,
    pub view: Option<Text>,
    pub base: Option<VaultPath>,
    file: Option<base_file::BaseFile>,
    expressions: Vec<Arc<Expression>>,
}

impl RunnableQuery {
    pub fn of(context: &Context, input: &QueryNotes) -> Result<Self, ToolError> {
        if input.condition.is_none() && input.base.is_none() {
            let hint = "give a condition in `where`, such as `status == \"open\"`, or a `.base` file in `base`";
            let message = "neither `where` nor `base` is given";
            return Err(ToolError::invalid(message, hint));
        }
        let mut asked = match &input.base {
            Some(base) => Self::of_base(context, base, input.view.as_deref())?,
            None if input.view.is_some() => {
                let hint = "name the `.base` file in `base`";
                let message = "`view` is given without `base`";
                return Err(ToolError::invalid(message, hint));
            }
            None => Self {
                query: Query::default(),
                view: None,
                base: None,
                file: None,
                expressions: Vec::new(),
            },
        };
        if let Some(condition) = &input.condition {
            let condition = asked.expression("where", condition, input.dialect)?;
            let own = Filter::Is(Arc::clone(&condition));
            asked.query.filter = Some(match asked.query.filter.take() {
                Some(filter) => Filter::And(vec![filter, own]),
                None => own,
            });
            if asked.base.is_none() {
                // By default show the properties that the condition reads.
                let column = |name: &Text| shown_column(ColumnKey::Note(Arc::clone(name)));
                asked.query.columns = condition.properties.iter().map(column).collect();
            }
        }
        if !input.select.is_empty() {
            asked.query.columns = Vec::with_capacity(input.select.len());
            for text in &input.select {
                let expression = asked.expression("select", text, Dialect::Bases)?;
                let column = match key(&expression) {
                    Some(key) => ShownColumn { title: text.as_str().into(), ..shown_column(key) },
                    None => ShownColumn {
                        key: ColumnKey::Formula(text.as_str().into()),
                        title: text.as_str().into(),
                        expression: Some(expression),
                    },
                };
                asked.query.columns.push(column);
            }
        }
        if !input.sort.is_empty() {
            asked.query.sort = Vec::with_capacity(input.sort.len());
            for text in &input.sort {
                let text = text.trim();
                let (text, is_descending) = match text.rsplit_once(char::is_whitespace) {
                    Some((text, order)) if order.eq_ignore_ascii_case("desc") => (text, true),
                    Some((text, order)) if order.eq_ignore_ascii_case("asc") => (text, false),
                    _ => (text, false),
                };
                let expression = asked.expression("sort", text, Dialect::Bases)?;
                let key = key(&expression).unwrap_or_else(|| {
                    // Rows are sorted by keys. Another expression becomes a formula with a name that no base can use.
                    let name: Text = format!("\u{0}sort {}", asked.query.formulas.len()).into();
                    asked.query.formulas.push((Arc::clone(&name), expression));
                    ColumnKey::Formula(name)
                });
                asked.query.sort.push(SortBy { key, is_descending });
            }
        }
        Ok(asked)
    }

    fn of_base(context: &Context, asked: &str, view: Option<&str>) -> Result<Self, ToolError> {
        let (name, block) = match asked.rsplit_once('#') {
            Some((name, number))
                if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) =>
            {
                (name, number.parse().ok())
            }
            _ => (asked, None),
        };
        // The extension `.base` may be omitted.
        let with_ending = format!("{name}.base");
        let name = match context.vault.resolve(&with_ending, Want::File) {
            Ok(_) if block.is_none() => with_ending.as_str(),
            _ => name,
        };
        let file = text_file::read(context, name)?;
        let text = file.text()?;
        let source: Cow<'_, str> = match (block, file.path.is_note()) {
            (None, false) => text.body().into(),
            (block, true) => {
                let number: usize = block.unwrap_or(1);
                let found = blocks(text.body(), "base").into_iter().nth(number.saturating_sub(1));
                let found = found.filter(|_| number > 0).ok_or_else(|| {
                    let message = format!("`{}` has no `base` block {number}", file.path);
                    let hint = "blocks are counted from 1: `Note.md#2` is the second";
                    ToolError::not_found(message, hint)
                })?;
                found.text.into()
            }
            (Some(_), false) => {
                let message = format!("`{}` is not a note with blocks", file.path);
                let hint = "leave `#` and the number out";
                return Err(ToolError::invalid(message, hint));
            }
        };
        let base = base_file::read(&source).map_err(|faults| {
            let path = file.path.to_string();
            match faults.split_first() {
                Some((first, rest)) => {
                    let mut error = expression_error(first, &path);
                    for fault in rest.iter().take(MAX_FAULTS) {
                        let _ = write!(error.message, "\n{}", fault.described(&path));
                    }
                    error
                }
                None => ToolError::plain(
                    ErrorCode::InvalidExpression,
                    format!("`{path}` is not a base"),
                ),
            }
        })?;
        let Some(found) = base.view(view) else {
            let names: Vec<String> =
                base.views.iter().map(|view| format!("`{}`", view.name)).collect();
            let message = format!("`{}` has no view `{}`", file.path, view.unwrap_or_default());
            let hint = format!("its views are {}", names.join(", "));
            return Err(ToolError::not_found(message, hint));
        };
        Ok(Self {
            query: found.query.clone(),
            view: Some(Arc::clone(&found.name)),
            base: Some(file.path.clone()),
            expressions: Vec::new(),
            file: Some(base),
        })
    }

    /// Parses `text`, the value of the argument `name`.
    fn expression(
        &mut self,
        name: &str,
        text: &str,
        dialect: Dialect,
    ) -> Result<Arc<Expression>, ToolError> {
        let options = Options { allows_extensions: true, ..Options::default() };
        let parsed = match dialect {
            Dialect::Bases => parse::parse(text, options),
            Dialect::Classic => classic::parse(text).map_err(|fault| match fault.hint {
                Some(_) => fault,
                None => fault.hint(CLASSIC_CARD),
            }),
        };
        let parsed =
            parsed.map(Arc::new).map_err(|diagnostic| expression_error(&diagnostic, name))?;
        self.expressions.push(Arc::clone(&parsed));
        Ok(parsed)
    }

    /// Warnings about the base and the input.
    pub fn warnings(&self, snapshot: &VaultSnapshot<'_>) -> Vec<Diagnostic> {
        let checker = Checker::new(Some(snapshot));
        let mut found = self.file.as_ref().map(|base| base.check(&checker)).unwrap_or_default();
        for expression in &self.expressions {
            found.extend(checker.check(expression));
        }
        found
    }
}

/// The most faults of a base listed after the first.
const MAX_FAULTS: usize = 4;

/// An example of a base for error messages.
const BASE_CARD: &str = "a base has `filters`, `formulas`, `properties`, `summaries` and `views`; a view has `type`, \
    `name`, `filters`, `order`, `sort`, `groupBy`, `limit` and `summaries`";

/// A summary of the classic dialect for error messages.
const CLASSIC_CARD: &str = "fields: file.name file.ext file.size file.path file.modifiedAt file.createdAt file.mimeType \
    file.isHidden\nof texts: contains() startsWith() endsWith() matches()\n\
    operators: == != < <= > >= IN [..] MATCHES '..' AND OR NOT";

/// The error for an invalid expression or base.
fn expression_error(diagnostic: &Diagnostic, source: &str) -> ToolError {
    let code = match diagnostic.kind {
        Kind::InvalidPattern => ErrorCode::InvalidPattern,
        Kind::TooLarge => ErrorCode::TooLarge,
        _ => ErrorCode::InvalidExpression,
    };
    let hint = diagnostic.hint.clone().unwrap_or_else(|| match diagnostic.kind {
        Kind::InvalidBase | Kind::InvalidFilter => BASE_CARD.to_owned(),
        _ => functions::card().to_owned(),
    });
    let message = diagnostic.described(source);
    ToolError {
        data: Some(json!({
            "kind": diagnostic.kind.as_str(),
            "line": diagnostic.line,
            "column": diagnostic.column,
        })),
        ..ToolError::new(code, message, hint)
    }
}

fn key(expression: &Expression) -> Option<ColumnKey> {
    match &expression.root.node {
        Node::Property(name) => Some(ColumnKey::Note(Arc::clone(&expression.properties[*name]))),
        Node::Formula(name) => Some(ColumnKey::Formula(Arc::clone(name))),
        Node::Field { of, name, .. } if matches!(of.node, Node::File) => {
            Some(ColumnKey::File(Arc::clone(name)))
        }
        _ => None,
    }
}

fn shown_column(key: ColumnKey) -> ShownColumn {
    ShownColumn { title: written(&key).into(), key, expression: None }
}

pub(super) fn written(key: &ColumnKey) -> String {
    match key {
        ColumnKey::File(name) => format!("file.{name}"),
        ColumnKey::Note(name) => name.to_string(),
        ColumnKey::Formula(name) => format!("formula.{name}"),
    }
}
