//! Queries: filter, order, groups, limit, pages, summaries.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::super::query::{ColumnKey, Filter, Query, ShownColumn, SortBy, Summary};
use super::super::trace::{Outcome, explain};
use super::super::value::FileId;
use super::super::view::{Page, Table, run};
use super::super::{Evaluator, Source};
use super::memory::{Memory, Note};
use super::{Scope, parsed, scope};

fn vault() -> Memory {
    let mut memory = Memory::default();
    for (path, properties) in [
        ("B/Note 10.md", json!({"n": 3, "group": "x", "done": true})),
        ("B/Note 2.md", json!({"n": 1, "group": "y", "done": false})),
        ("A/zebra.md", json!({"n": null, "group": "x"})),
        ("A/Apple.md", json!({"n": 2, "group": null, "on": "2026-01-05"})),
        ("A/apple 2.md", json!({"n": "text", "group": "y", "on": "2026-01-02"})),
        ("C.png", json!(null)),
    ] {
        memory.add(Note {
            properties,
            tags: if path.starts_with('A') { &["a/b"] } else { &[] },
            ..Note::at(path)
        });
    }
    memory
}

fn is(text: &str) -> Filter {
    Filter::Is(parsed(text))
}

fn note(name: &str) -> ColumnKey {
    ColumnKey::Note(name.into())
}

fn names(memory: &Memory, table: &Table) -> Vec<Vec<String>> {
    let rows = |rows: &[super::super::view::Row]| {
        rows.iter().map(|row| memory.path(row.file).to_string()).collect()
    };
    table.groups.iter().map(|group| rows(&group.rows)).collect()
}

#[test]
fn without_an_order_rows_come_by_name() {
    let memory = vault();
    let table = run(&Query::default(), scope(&memory), Page::ALL);
    let expected =
        ["A/Apple.md", "A/apple 2.md", "C.png", "B/Note 2.md", "B/Note 10.md", "A/zebra.md"];
    assert_eq!(names(&memory, &table), [expected]);
    assert_eq!(table.total, 6);
}

#[test]
fn empty_values_are_last_in_either_direction() {
    let memory = vault();
    let sort = |is_descending| Query {
        filter: Some(is("file.ext == \"md\"")),
        sort: vec![SortBy { key: note("n"), is_descending }],
        ..Query::default()
    };
    let up = run(&sort(false), scope(&memory), Page::ALL);
    let expected = ["B/Note 2.md", "A/Apple.md", "B/Note 10.md", "A/apple 2.md", "A/zebra.md"];
    assert_eq!(names(&memory, &up), [expected]);
    let down = run(&sort(true), scope(&memory), Page::ALL);
    let expected = ["A/apple 2.md", "B/Note 10.md", "A/Apple.md", "B/Note 2.md", "A/zebra.md"];
    assert_eq!(names(&memory, &down), [expected]);
}

#[test]
fn groups_limit_pages_and_summaries() {
    let memory = vault();
    let mut query = Query {
        filter: Some(is("file.ext == \"md\"")),
        columns: vec![ShownColumn {
            key: ColumnKey::Formula("twice".into()),
            title: "twice".into(),
            expression: None,
        }],
        formulas: vec![("twice".into(), parsed("n * 2"))],
        group_by: Some(SortBy { key: note("group"), is_descending: true }),
        summaries: vec![
            (note("n"), Summary::BuiltIn("Sum".into())),
            (note("n"), Summary::Own { name: "count".into(), formula: summary("values.length") }),
        ],
        ..Query::default()
    };
    let table = run(&query, scope(&memory), Page::ALL);
    let expected = [
        vec!["A/apple 2.md", "B/Note 2.md"],
        vec!["B/Note 10.md", "A/zebra.md"],
        vec!["A/Apple.md"],
    ];
    assert_eq!(names(&memory, &table), expected);
    let times = super::super::date::Times::new(&chrono::Utc);
    let compare = super::super::compare::Compare { source: &memory, times: &times };
    let json = |values: &[super::super::value::Value]| {
        values.iter().map(|value| compare.json(value)).collect::<Vec<_>>()
    };
    assert_eq!(json(&table.summaries), [json!(6), json!(5)]);
    assert_eq!(json(&table.groups[0].summaries), [json!(1), json!(2)]);
    assert_eq!(json(&table.groups[1].rows[0].cells), [json!(6)]);
    assert_eq!(table.groups[2].key.as_ref().map(|key| key.is_empty()), Some(true));

    let page = run(&query, scope(&memory), Page { first: 1, rows: 2 });
    assert_eq!(names(&memory, &page), [["B/Note 2.md"], ["B/Note 10.md"]]);
    assert_eq!((page.total, page.groups[0].total), (5, 2));

    query.limit = Some(2);
    let limited = run(&query, scope(&memory), Page::ALL);
    assert_eq!(names(&memory, &limited), [["A/apple 2.md"], ["A/Apple.md"]]);
    assert_eq!(limited.total, 2);
}

fn summary(text: &str) -> Arc<super::super::ast::Expression> {
    let options = super::Options { is_summary: true, ..super::Options::default() };
    Arc::new(super::parse(text, options).expect(text))
}

#[test]
fn errors_of_a_filter_are_counted() {
    let memory = vault();
    let filter = |filter| Query { filter: Some(filter), ..Query::default() };
    let table = run(&filter(is("number(n) > 1")), scope(&memory), Page::ALL);
    assert_eq!(names(&memory, &table), [["A/Apple.md", "B/Note 10.md"]]);
    assert_eq!(table.failed.count, 1);
    let (path, failed) = table.failed.first.expect("an error");
    assert_eq!(&*path, "A/apple 2.md");
    assert_eq!((failed.error.at.start, &*failed.expression), (0, "number(n) > 1"));
    // `!` treats an error as false, so the result is not an error.
    let table = run(&filter(is("!(number(n) > 1)")), scope(&memory), Page::ALL);
    assert_eq!((table.failed.count, table.total), (0, 4));
}

#[test]
fn all_summaries() {
    let memory = vault();
    let of = |key: &str, name: &str| {
        let query = Query {
            summaries: vec![(note(key), Summary::BuiltIn(name.into()))],
            ..Query::default()
        };
        let table = run(&query, scope(&memory), Page::ALL);
        let evaluator = Evaluator::new(scope(&memory));
        evaluator.compare().json(&table.summaries[0])
    };
    for (key, name, expected) in [
        ("n", "Average", json!(2)),
        ("n", "Min", json!(1)),
        ("n", "max", json!(3)),
        ("n", "Sum", json!(6)),
        ("n", "Range", json!(2)),
        ("n", "Median", json!(2)),
        ("n", "Stddev", json!((2.0f64 / 3.0).sqrt())),
        ("on", "Earliest", json!("2026-01-02")),
        ("on", "Latest", json!("2026-01-05")),
        ("on", "Range", json!("3 days")),
        ("done", "Checked", json!(1)),
        ("done", "Unchecked", json!(1)),
        ("group", "Empty", json!(2)),
        ("group", "Filled", json!(4)),
        ("group", "Unique", json!(2)),
        ("nothing", "Average", json!(null)),
        ("nothing", "Sum", json!(0)),
    ] {
        assert_eq!(of(key, name), expected, "{name} of {key}");
    }
}

#[test]
fn why_a_row_is_in_or_out() {
    let memory = vault();
    let filter = Filter::And(vec![
        is("file.hasTag(\"meeting\") || n > 1 && group == \"x\""),
        Filter::Not(vec![is("done")]),
    ]);
    let mut evaluator = Evaluator::new(scope(&memory));
    let mut lines = Vec::new();
    for part in explain(&filter, FileId(0), &mut evaluator) {
        let outcome = match part.outcome {
            Outcome::Holds => "yes",
            Outcome::HoldsNot => "no",
            Outcome::Failed(_) => "error",
            Outcome::NotAsked => "not asked",
        };
        let compare = evaluator.compare();
        let reads =
            part.reads.iter().map(|(name, value)| format!("{name}={}", compare.json(value)));
        let reads = reads.collect::<Vec<_>>().join(" ");
        lines.push(
            format!("{}{} {outcome} {reads}", " ".repeat(part.depth), part.text)
                .trim_end()
                .to_owned(),
        );
    }
    assert_eq!(
        lines,
        [
            "and no",
            " || yes",
            "  file.hasTag(\"meeting\") no file.tags=[]",
            "  && yes",
            "   n > 1 yes n=3",
            "   group == \"x\" yes group=\"x\"",
            " not no",
            "  done yes done=true",
        ]
    );
}

fn filter() -> impl Strategy<Value = Filter> {
    let leaf = prop::sample::select(vec![
        "file.inFolder(\"A\")",
        "file.inFolder(\"/\")",
        "file.hasTag(\"a\")",
        "file.hasTag(\"x\", \"a/b\")",
        "file.ext == \"png\"",
        "\"md\" == file.ext",
        "file.ext == \"md\" && file.inFolder(\"B\")",
        "file.inFolder(\"B\") || file.hasTag(\"a\")",
        "number(n) > 1",
        "file.hasTag(1)",
        "done",
        "n > 1 && file.inFolder(\"A\")",
        "!file.inFolder(\"A\")",
    ]);
    leaf.prop_map(is).prop_recursive(3, 12, 3, |inner| {
        let parts = prop::collection::vec(inner, 0..3);
        prop_oneof![
            parts.clone().prop_map(Filter::And),
            parts.clone().prop_map(Filter::Or),
            parts.prop_map(Filter::Not),
        ]
    })
}

proptest! {
    /// A page is a slice of all rows.
    #[test]
    fn pages_are_parts_of_the_whole(first in 0..8usize, rows in 0..8usize, limit in prop::option::of(0..8usize)) {
        let memory = vault();
        let query = Query { limit, ..Query::default() };
        let files = |page| run(&query, scope(&memory), page).groups.into_iter().flat_map(|group| group.rows).map(|row| row.file).collect::<Vec<_>>();
        let whole = files(Page::ALL);
        let expected: Vec<_> = whole.into_iter().skip(first).take(rows).collect();
        prop_assert_eq!(files(Page { first, rows }), expected);
    }

    /// An index changes neither the answer nor the number of errors.
    #[test]
    fn a_narrowed_view_is_the_whole_view(filter in filter()) {
        let query = Query { filter: Some(filter.clone()), ..Query::default() };
        let mut memory = vault();
        let shown = |memory: &Memory| {
            let table = run(&query, scope(memory), Page::ALL);
            (names(memory, &table), table.failed.count, table.failed.first.map(|(path, _)| path))
        };
        let whole = shown(&memory);
        memory.narrows = true;
        prop_assert_eq!(shown(&memory), whole);
        // The trace of each row agrees with the view.
        let whole = run(&query, scope(&memory), Page::ALL);
        let mut evaluator = Evaluator::new(Scope { ..scope(&memory) });
        for file in memory.files() {
            let trace = explain(&filter, file, &mut evaluator);
            let is_in = whole.groups.iter().flat_map(|group| &group.rows).any(|row| row.file == file);
            let failed = trace.iter().any(|part| matches!(part.outcome, Outcome::Failed(_)));
            prop_assert!(is_in == matches!(trace[0].outcome, Outcome::Holds) || failed);
        }
    }
}
