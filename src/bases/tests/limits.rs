//! No expression panics, hangs or exceeds a limit.

use std::sync::Arc;

use proptest::prelude::*;

use super::super::eval::{Evaluator, Prepared, Scope};
use super::super::parse::{Options, parse};
use super::super::value::{FileId, Text, Value};
use super::{parsed, sample, scope, value};

#[track_caller]
fn message(text: &str) -> String {
    match value(&sample(), text) {
        Value::Error(error) => error.message.clone(),
        other => panic!("{text} gives {other:?}"),
    }
}

#[test]
fn what_grows_is_stopped() {
    let ten = "[0,1,2,3,4,5,6,7,8,9]";
    let million = format!("{ten}.map({ten}.map({ten}.map({ten}.map({ten}.map({ten}.map(1))))))");
    assert!(message(&million).contains("steps"));
    let taken_for_false = format!("!{million}.isEmpty()");
    assert!(message(&taken_for_false).contains("steps"));
    let thousand = format!("{ten}.map({ten}.map({ten})).flat().flat()");
    assert!(message(&format!("{thousand}.reduce([acc, acc], 1)")).contains("100,000"));
    assert!(message(&format!("{thousand}.reduce([acc], 1)")).contains("too deep"));
    assert!(message(&format!("{thousand}.reduce(acc + acc, [1])")).contains("100,000"));
    assert!(message(&format!("{thousand}.reduce(acc + acc, \"ab\")")).contains("1 MB"));
    assert!(message("\"ab\".repeat(1000000)").contains("1 MB"));
    assert!(message("\"\".repeat(1e300).repeat(1e300) + \"ab\".repeat(1e300)").contains("1 MB"));
    assert!(message(&format!("{thousand}.map(\"x\".repeat(1000000)).join()")).contains("steps"));
    assert!(message("\"aaaa\".repeat(100000).replace(/a/g, \"bbbb\")").contains("1 MB"));
}

#[test]
fn formulas_are_remembered_and_cycles_named() {
    let source = sample();
    let names = ["a", "b", "c", "twice", "random"];
    let texts =
        ["formula.b", "formula.c + 1", "formula.a", "formula.random == formula.random", "random()"];
    let formulas: Vec<(Text, Arc<_>)> =
        names.iter().zip(texts).map(|(name, text)| ((*name).into(), parsed(text))).collect();
    let mut evaluator = Evaluator::new(Scope { formulas: &formulas, ..scope(&source) });
    evaluator.begin(Some(FileId(0)));
    let mut ask = |text: &str| evaluator.value(&Prepared::new(&parsed(text), &source));
    let Value::Error(error) = ask("formula.a") else { panic!("no error") };
    assert!(error.message.contains("a → b → c → a"), "{}", error.message);
    assert!(matches!(ask("formula.twice"), Value::Bool(true)));
}

#[test]
fn deep_nesting_gives_a_value_or_an_error() {
    let source = sample();
    let nested = |with: &str, levels: usize| {
        format!("{}{with}{}", "[1].map(".repeat(levels), ")".repeat(levels))
    };
    assert!(matches!(value(&source, &nested("1", 90)), Value::List(_)));
    let texts: Vec<String> =
        (0..10).map(|at| nested(&format!("formula.f{}", at + 1), 90)).collect();
    let formulas: Vec<(Text, Arc<_>)> = texts
        .iter()
        .enumerate()
        .map(|(at, text)| (format!("f{at}").into(), parsed(text)))
        .collect();
    let mut evaluator = Evaluator::new(Scope { formulas: &formulas, ..scope(&source) });
    evaluator.begin(Some(FileId(0)));
    let text = {
        let value = evaluator.value(&Prepared::new(&parsed("formula.f0.toString()"), &source));
        evaluator.compare().text(&value).expect("a text")
    };
    assert!(text.contains("too deep"), "{text}");
}

#[test]
fn this_is_the_file_that_was_given() {
    let source = sample();
    let mut evaluator = Evaluator::new(Scope { this: Some(FileId(1)), ..scope(&source) });
    evaluator.begin(Some(FileId(0)));
    for text in [
        "this.status == \"done\"",
        "this.name == \"Other\"",
        "this.file.path == \"Other.md\"",
        "this.nothing == null",
        "this[\"status\"] == \"done\"",
        "other == this && people.contains(this) && list(other).contains(this)",
        "file.hasLink(this) && this.hasLink(file)",
    ] {
        let given = evaluator.value(&Prepared::new(&parsed(text), &source));
        assert!(matches!(given, Value::Bool(true)), "{text}: {given:?}");
    }
    assert!(evaluator.used_this());
}

fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("\"aé🌱 1\"".to_owned()),
        Just("\"2026-01-31\"".to_owned()),
        Just("\"1M 2d\"".to_owned()),
        Just("1e300".to_owned()),
        Just("(0/0)".to_owned()),
        Just("-3.5".to_owned()),
        Just("/a*/g".to_owned()),
        "(file|note|this|status|price|Due|tags|other|people|nested|missing|now\\(\\))",
    ];
    leaf.prop_recursive(5, 60, 4, |inner| {
        let names: Vec<_> = super::super::functions::all()
            .map(|function| (function.name, function.is_call()))
            .collect();
        let operator = "(\\+|-|\\*|/|%|==|!=|<|<=|>|>=|&&|\\|\\|)";
        prop_oneof![
            (inner.clone(), operator, inner.clone())
                .prop_map(|(a, op, b)| format!("({a}) {op} ({b})")),
            (
                inner.clone(),
                prop::sample::select(names),
                prop::collection::vec(inner.clone(), 0..3)
            )
                .prop_map(|(of, (name, is_call), args)| {
                    if is_call {
                        format!("({of}).{name}({})", args.join(", "))
                    } else {
                        format!("({of}).{name}")
                    }
                }),
            (
                prop::sample::select(vec![
                    "date", "duration", "file", "link", "number", "list", "if", "max", "image"
                ]),
                prop::collection::vec(inner.clone(), 0..3)
            )
                .prop_map(|(name, args)| format!("{name}({})", args.join(", "))),
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|list| format!("[{}]", list.join(", "))),
            (inner.clone(), inner.clone()).prop_map(|(of, key)| format!("({of})[{key}]")),
            inner.prop_map(|of| format!("!({of})")),
        ]
    })
}

proptest! {
    #[test]
    fn no_expression_panics(text in expression()) {
        let source = sample();
        if let Ok(expression) = parse(&text, Options { allows_extensions: true, ..Options::default() }) {
            let mut evaluator = Evaluator::new(Scope { this: Some(FileId(1)), ..scope(&source) });
            evaluator.begin(Some(FileId(0)));
            let value = evaluator.value(&Prepared::new(&Arc::new(expression), &source));
            let compare = evaluator.compare();
            let _ = compare.text(&value);
            prop_assert!(compare.json(&value).to_string().len() < 16 << 20);
            prop_assert!(compare.sorted(&value, &value).is_eq());
        }
    }

    #[test]
    fn texts_of_any_kind_are_no_trouble(text in "\\PC{0,20}") {
        let source = sample();
        let written = text.replace('\\', "\\\\").replace('"', "\\\"");
        for call in [
            "date(_)", "duration(_)", "number(_)", "link(_).asFile()", "_.title()", "_.slice(-3, 2)", "now() + _",
            "now().format(_)", "_.replace(/./g, _)", "_.split(/b*/)", "_ < 1", "file.hasTag(_)", "file.hasLink(_)",
        ] {
            let _ = value(&source, &call.replace('_', &format!("\"{written}\"")));
        }
    }
}
