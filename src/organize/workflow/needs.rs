//! The dependencies of steps: from `depends_on`, and from the results that their expressions use.

use super::Input;
use super::values::NAMES;
use crate::bases::ast::{Expr, Expression, Node, Span};
use crate::bases::check::Checker;
use crate::bases::diagnostic::{Diagnostic, Kind, Severity};
use crate::bases::nearest::{did_you_mean, nearest};
use crate::bases::visit;

/// A reference to a step, and its position.
pub(super) struct StepReference {
    pub(super) step: usize,
    pub(super) needs: String,
    pub(super) at: Span,
}

/// The position of an expression, and the names that are in scope there.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) step: usize,
    pub(super) inputs: &'a [Input],
    pub(super) has_item: bool,
}

/// The steps that an expression uses with their places, and its errors.
pub(super) fn check(
    expression: &Expression,
    at: &At<'_>,
) -> (Vec<(String, Span)>, Vec<Diagnostic>) {
    let (mut used, mut found) = (Vec::new(), Vec::new());
    for diagnostic in Checker::new(None).check(expression) {
        // Reject early: a file is run more often than it is written.
        let is_wrong = matches!(diagnostic.kind, Kind::UnknownName | Kind::WrongArguments);
        found.push(match (is_wrong, diagnostic.severity) {
            (true, Severity::Warning) => {
                let span = diagnostic.at.clone();
                let error = Diagnostic::error(
                    diagnostic.kind,
                    &expression.source,
                    span,
                    diagnostic.message.clone(),
                );
                error.hint(diagnostic.hint.clone().unwrap_or_default())
            }
            _ => diagnostic,
        });
    }
    let name_of = |expr: &Expr| match &expr.node {
        Node::Property(number) => expression.properties.get(*number).cloned(),
        _ => None,
    };
    // Occurrences of `inputs` and `steps` that a name follows.
    let mut named: Vec<Span> = Vec::new();
    visit(&expression.root, &mut |expr| {
        let mut refuse = |span: &Span, message: String, hint: String| {
            found.push(
                Diagnostic::error(Kind::UnknownName, &expression.source, span.clone(), message)
                    .hint(hint),
            );
        };
        let member = match &expr.node {
            Node::Field { of, name, name_at } => Some((of, name.clone(), name_at.clone())),
            Node::Index { of, key } => match &key.node {
                Node::Text(text) => Some((of, text.clone(), key.at.clone())),
                _ => None,
            },
            _ => None,
        };
        if let Some((of, member, span)) = member
            && let Some(name) = name_of(of)
        {
            match &*name {
                "steps" => {
                    named.push(of.at.clone());
                    used.push((member.to_string(), span));
                }
                "inputs" => {
                    named.push(of.at.clone());
                    if !at.inputs.iter().any(|input| input.name == *member) {
                        let hint = input_hint(&member, at.inputs);
                        refuse(&span, format!("the workflow has no input `{member}`"), hint);
                    }
                }
                _ => {}
            }
        }
        match &expr.node {
            Node::Property(_) => {
                let name = name_of(expr).unwrap_or_default();
                match &*name {
                    "inputs" | "steps" if named.contains(&expr.at) => {}
                    "inputs" => {}
                    "steps" => {
                        let hint =
                            "write `steps.NAME.data`, so that it is known what has to run before";
                        let message = "`steps` needs the name of a step".to_owned();
                        refuse(&expr.at, message, hint.to_owned());
                    }
                    "item" if at.has_item => {}
                    "item" => {
                        let hint = "add `for_each` to the step; `item` is each element of it";
                        refuse(&expr.at, "there is no `item` here".to_owned(), hint.to_owned());
                    }
                    _ => {
                        let near = nearest(&name, NAMES.into_iter());
                        let hint = match near {
                            Some(near) => format!("did you mean `{near}`?"),
                            None => "expressions of a workflow read `inputs`, `steps` and `item`; a text needs quotes"
                                .to_owned(),
                        };
                        refuse(&expr.at, format!("a workflow has no `{name}`"), hint);
                    }
                }
            }
            Node::File | Node::Note | Node::This | Node::Formula(_) => {
                let written = expression.source.get(expr.at.start as usize..expr.at.end as usize);
                let message = format!(
                    "a workflow has no `{}`: it belongs to no note",
                    written.unwrap_or_default()
                );
                refuse(
                    &expr.at,
                    message,
                    "expressions of a workflow read `inputs`, `steps` and `item`".to_owned(),
                );
            }
            _ => {}
        }
    });
    (used, found)
}

fn input_hint(name: &str, inputs: &[Input]) -> String {
    did_you_mean(name, inputs.iter().map(|input| input.name.as_str()))
        .unwrap_or_else(|| format!("add `{name}:` below `inputs`"))
}

/// For each step, the numbers of its dependencies. Rejects unknown steps and cycles.
pub(super) fn of_steps(
    text: &str,
    places: &[StepReference],
    ids: &[String],
) -> (Vec<Vec<usize>>, Vec<Diagnostic>) {
    let mut faults = Vec::new();
    let mut needs = vec![Vec::new(); ids.len()];
    for place in places {
        match ids.iter().position(|id| *id == place.needs) {
            Some(number) => {
                if !needs[place.step].contains(&number) {
                    needs[place.step].push(number);
                }
            }
            None => {
                let message = format!("there is no step `{}`", place.needs.escape_debug());
                let error = Diagnostic::error(Kind::UnknownName, text, place.at.clone(), message);
                faults.push(match nearest(&place.needs, ids.iter().map(String::as_str)) {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => error.hint(format!("the steps are `{}`", ids.join("`, `"))),
                });
            }
        }
    }
    if let Some(circle) = circle(&needs) {
        let names: Vec<&str> = circle.iter().map(|&number| ids[number].as_str()).collect();
        let message = format!("steps depend on each other: {} → {}", names.join(" → "), names[0]);
        // The place where the first names the second.
        let next = circle.get(1).unwrap_or(&circle[0]);
        let at = places.iter().find(|place| place.step == circle[0] && place.needs == ids[*next]);
        let at = at.map_or(0..0, |place| place.at.clone());
        let error = Diagnostic::error(Kind::Circular, text, at, message);
        faults.push(error.hint("remove one of these references"));
    }
    (needs, faults)
}

/// A cycle of steps, each of which depends on the next.
fn circle(needs: &[Vec<usize>]) -> Option<Vec<usize>> {
    // Remove steps without remaining dependencies until none is left to remove.
    let mut left: Vec<usize> = (0..needs.len()).collect();
    loop {
        let stays = |step: &usize| needs[*step].iter().any(|before| left.contains(before));
        let rest: Vec<usize> = left.iter().copied().filter(stays).collect();
        if rest.len() == left.len() {
            break;
        }
        left = rest;
    }
    let mut chain = vec![*left.first()?];
    loop {
        let last = chain[chain.len() - 1];
        let next = *needs[last].iter().find(|before| left.contains(before))?;
        if let Some(first) = chain.iter().position(|&step| step == next) {
            return Some(chain.split_off(first));
        }
        chain.push(next);
    }
}
