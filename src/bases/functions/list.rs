//! Methods of lists.

use std::collections::HashSet;

use super::super::ast::Expr;
use super::super::context::{Context, Walk};
use super::super::value::{Outcome, Value};
use super::{Type, number_of, one, optional, repeated, span, text_of};

const ANY: &[Type] = &[Type::Any];
const NUMBER: &[Type] = &[Type::Number];
const PER_ELEMENT: &[Type] = &[Type::PerElement];

functions! { FUNCTIONS of List:
    "length" -> Number, Plain(|_, value, _| Ok(Value::Number(elements(value).len() as f64))):
        "How many elements it has.";
    "contains"(one("value", ANY)) -> Bool,
        Plain(|context, list, args| contains_any(context, list, &args[..args.len().min(1)])):
        "Whether an element equals the value.";
    "containsAll"(repeated("values", ANY)) -> Bool, Plain(contains_all):
        "Whether it has all of the values.";
    "containsAny"(repeated("values", ANY)) -> Bool, Plain(contains_any):
        "Whether it has one of the values.";
    "filter"(one("condition", PER_ELEMENT)) -> List, Lazy(filter):
        "The elements for which the condition over value and index holds.";
    "flat"() -> List, Plain(flat): "The elements of the lists in it put in their place.";
    "isEmpty"() -> Bool, Plain(|_, value, _| Ok(Value::Bool(value.is_empty()))):
        "Whether it has no elements, or is not there.";
    "join"(optional("separator", &[Type::Text])) -> Text, Plain(join): "Its elements as one text.";
    "map"(one("expression", PER_ELEMENT)) -> List, Lazy(map):
        "What the expression over value and index gives for each element.";
    "mean"() -> Number, Plain(mean): "The mean of the numbers in it.";
    "reduce"(one("expression", PER_ELEMENT), optional("acc", ANY)) -> Any, Lazy(reduce):
        "One value: the expression over value, index and acc gives the next acc.";
    "reverse"() -> List,
        Plain(|context, list, _| context.made_list(elements(list).iter().rev().cloned().collect())):
        "Its elements from the last to the first.";
    "slice"(one("start", NUMBER), optional("end", NUMBER)) -> List, Plain(slice):
        "From the element at start, counted from 0, up to end; below 0 from the end.";
    "sort"() -> List, Plain(sort): "Its elements from the smallest to the largest.";
    "sum"() -> Number, Plain(sum): "The sum of the numbers in it.";
    "unique"() -> List, Plain(unique): "Each element once.";
}

fn elements(value: &Value) -> &[Value] {
    match value {
        Value::List(list) => list,
        _ => &[],
    }
}

/// Whether a list has a value, at a step for each element.
fn has(context: &mut Context<'_>, list: &Value, value: &Value) -> Result<bool, String> {
    context.charge(elements(list).len() as u64)?;
    let compare = context.compare();
    Ok(elements(list).iter().any(|element| compare.equal(element, value)))
}

fn contains_all(context: &mut Context<'_>, list: &Value, args: &[Value]) -> Outcome {
    for value in args {
        if !has(context, list, value)? {
            return Ok(Value::Bool(false));
        }
    }
    Ok(Value::Bool(true))
}

fn contains_any(context: &mut Context<'_>, list: &Value, args: &[Value]) -> Outcome {
    for value in args {
        if has(context, list, value)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn filter(walk: &mut dyn Walk<'_>, list: &Value, args: &[Expr]) -> Outcome {
    let mut retained = Vec::new();
    for (index, element) in elements(list).iter().enumerate() {
        walk.context().charge(1)?;
        if walk.of_element(&args[0], element, index, None).is_true() {
            retained.push(element.clone());
        }
    }
    walk.context().made_list(retained)
}

fn map(walk: &mut dyn Walk<'_>, list: &Value, args: &[Expr]) -> Outcome {
    let mut output = Vec::new();
    for (index, element) in elements(list).iter().enumerate() {
        walk.context().charge(1)?;
        output.push(walk.of_element(&args[0], element, index, None));
    }
    walk.context().made_list(output)
}

fn reduce(walk: &mut dyn Walk<'_>, list: &Value, args: &[Expr]) -> Outcome {
    let mut acc = args.get(1).map_or(Value::Null, |first| walk.eval(first));
    for (index, element) in elements(list).iter().enumerate() {
        walk.context().charge(1)?;
        acc = walk.of_element(&args[0], element, index, Some(acc));
    }
    Ok(acc)
}

fn flat(context: &mut Context<'_>, list: &Value, _: &[Value]) -> Outcome {
    let mut output = Vec::new();
    for element in elements(list) {
        match element {
            Value::List(inner) => output.extend_from_slice(inner),
            element => output.push(element.clone()),
        }
    }
    context.made_list(output)
}

fn join(context: &mut Context<'_>, list: &Value, args: &[Value]) -> Outcome {
    let separator = match args.first() {
        None | Some(Value::Null) => ",",
        Some(_) => text_of(args, 0),
    };
    let mut text = String::new();
    for (at, element) in elements(list).iter().enumerate() {
        text.push_str(if at > 0 { separator } else { "" });
        context.compare().write(element, &mut text).map_err(|error| error.to_string())?;
    }
    context.made_text(text)
}

fn numbers(list: &Value) -> impl Iterator<Item = f64> + '_ {
    elements(list).iter().filter_map(|element| match element {
        Value::Number(number) => Some(*number),
        _ => None,
    })
}

fn mean(_: &mut Context<'_>, list: &Value, _: &[Value]) -> Outcome {
    let count = numbers(list).count();
    Ok(if count == 0 {
        Value::Null
    } else {
        Value::Number(numbers(list).sum::<f64>() / count as f64)
    })
}

fn sum(_: &mut Context<'_>, list: &Value, _: &[Value]) -> Outcome {
    // The iterator's sum of no numbers is -0.
    Ok(Value::Number(numbers(list).fold(0.0, |sum, number| sum + number)))
}

fn slice(context: &mut Context<'_>, list: &Value, args: &[Value]) -> Outcome {
    let elements = elements(list);
    let range = span(elements.len(), number_of(args, 0), number_of(args, 1));
    context.made_list(elements[range].to_vec())
}

fn sort(context: &mut Context<'_>, list: &Value, _: &[Value]) -> Outcome {
    let mut sorted = elements(list).to_vec();
    context.charge(sorted.len() as u64 * 4)?;
    let compare = context.compare();
    sorted.sort_by(|a, b| compare.sorted(a, b));
    context.made_list(sorted)
}

fn unique(context: &mut Context<'_>, list: &Value, _: &[Value]) -> Outcome {
    let mut retained: Vec<Value> = Vec::new();
    // Equal texts are equal values; compare the rest one by one.
    let mut written: HashSet<String> = HashSet::new();
    for element in elements(list) {
        let is_new = match element {
            Value::Text(_) | Value::Number(_) | Value::Link(_) | Value::Bool(_) | Value::Null => {
                let text = context.text(element)?;
                context.charge(1 + text.len() as u64 / 64)?;
                written.insert(format!("{} {text}", element.type_name()))
            }
            other => {
                context.charge(1 + retained.len() as u64)?;
                let compare = context.compare();
                !retained.iter().any(|known| compare.equal(known, other))
            }
        };
        if is_new {
            retained.push(element.clone());
        }
    }
    context.made_list(retained)
}
