//! Cycles of formulas, whose members have no value.

use std::collections::HashMap;

use super::ast::{Expression, Node};
use super::tree::visit;

/// Cycles of formulas, by number, each with its first member at both ends. Every formula of a cycle is in one of
/// these or depends on a formula that is.
pub(super) fn find(formulas: &[(&str, &Expression)]) -> Vec<Vec<usize>> {
    let numbers: HashMap<&str, usize> =
        formulas.iter().enumerate().map(|(number, (name, _))| (*name, number)).collect();
    let needs: Vec<Vec<usize>> =
        formulas.iter().map(|(_, formula)| needs(formula, &numbers)).collect();
    let mut found = Vec::new();
    let mut states = vec![Visit::New; formulas.len()];
    for start in 0..formulas.len() {
        // Depth first, without recursion: each formula on the stack, and how many of its dependencies were visited.
        let mut stack: Vec<(usize, usize)> = Vec::new();
        if states[start] == Visit::New {
            states[start] = Visit::OnTheWay;
            stack.push((start, 0));
        }
        while let Some((at, looked_at)) = stack.last_mut() {
            let (at, needed) = (*at, needs[*at].get(*looked_at).copied());
            *looked_at += 1;
            let Some(needed) = needed else {
                states[at] = Visit::Done;
                stack.pop();
                continue;
            };
            match states[needed] {
                Visit::New => {
                    states[needed] = Visit::OnTheWay;
                    stack.push((needed, 0));
                }
                Visit::OnTheWay => {
                    let circle = stack.iter().map(|(at, _)| *at).skip_while(|at| *at != needed);
                    found.push(circle.chain([needed]).collect());
                }
                Visit::Done => {}
            }
        }
    }
    found
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    OnTheWay,
    Done,
}

fn needs(formula: &Expression, numbers: &HashMap<&str, usize>) -> Vec<usize> {
    let mut found = Vec::new();
    visit(&formula.root, &mut |part| {
        if let Node::Formula(name) = &part.node {
            found.extend(numbers.get(&**name));
        }
    });
    found.sort_unstable();
    found.dedup();
    found
}
