//! Near misses of a rule: notes for which all parts of its condition but one hold. They show the
//! reader of a draft what the condition misses.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::planner::{PlanError, World};
use super::rule::Rule;
use super::trace;
use crate::bases::ast::{Expr, Expression, Node};
use crate::bases::query::Filter;
use crate::bases::source::Source as _;
use crate::bases::view::PreparedFilter;
use crate::bases::{Evaluator, Scope};

/// A near miss.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NearMiss {
    pub path: String,
    pub rule: String,
    /// The failing part with the values it read: `file.hasTag("meeting")  false: tags are call, work`.
    pub part: String,
}

/// The first near misses of each rule by path, at most `most` a rule. A rule whose condition is a single part has
/// none.
pub fn misses(world: &World<'_>, rules: &[Rule], most: usize) -> Result<Vec<NearMiss>, PlanError> {
    let mut found = Vec::new();
    for rule in rules {
        of_rule(world, rule, most, &mut found)?;
    }
    Ok(found)
}

fn of_rule(
    world: &World<'_>,
    rule: &Rule,
    most: usize,
    found: &mut Vec<NearMiss>,
) -> Result<(), PlanError> {
    let Some(when) = &rule.when else { return Ok(()) };
    let mut parts = Vec::new();
    conjuncts(when, &mut parts);
    if parts.len() < 2 {
        return Ok(());
    }
    let source = world.snapshot;
    let this = rule.this.as_ref().and_then(|path| source.file(path)).or(world.scope.this);
    let scope = Scope { source, formulas: &rule.formulas, this, ..world.scope };
    let mut evaluator = Evaluator::new(scope);
    let prepared: Vec<PreparedFilter> =
        parts.iter().map(|part| PreparedFilter::new(part, source)).collect();
    let mut files: Vec<_> = match rule.within.as_slice() {
        [] => source.files().collect(),
        folders => folders.iter().flat_map(|folder| source.within(folder.as_str())).collect(),
    };
    files.sort_by_cached_key(|file| source.path(*file));
    files.dedup();
    let mut near = 0;
    for file in files {
        if source.is_cancelled() {
            return Err(PlanError::Cancelled);
        }
        let mut failing = prepared
            .iter()
            .enumerate()
            .filter(|(_, part)| !part.holds(file, &mut evaluator).unwrap_or(false))
            .map(|(at, _)| at);
        let (Some(at), None) = (failing.next(), failing.next()) else { continue };
        let failed_parts = trace::parts(&parts[at], file, &mut evaluator);
        found.push(NearMiss {
            path: source.path(file).to_string(),
            rule: rule.name.clone(),
            part: failed_parts.into_iter().next().unwrap_or_default(),
        });
        near += 1;
        if near == most {
            break;
        }
    }
    Ok(())
}

fn conjuncts(filter: &Filter, parts: &mut Vec<Filter>) {
    match filter {
        Filter::And(all) => all.iter().for_each(|one| conjuncts(one, parts)),
        Filter::Is(expression) => of_expression(expression, &expression.root, parts),
        Filter::Or(_) | Filter::Not(_) => parts.push(filter.clone()),
    }
}

fn of_expression(whole: &Expression, expr: &Expr, parts: &mut Vec<Filter>) {
    if let Node::And(left, right) = &expr.node {
        of_expression(whole, left, parts);
        of_expression(whole, right, parts);
    } else {
        let part = Expression { root: expr.clone(), ..whole.clone() };
        parts.push(Filter::Is(Arc::new(part)));
    }
}
