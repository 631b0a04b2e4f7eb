//! Valid `.base` files, and the diagnostics of invalid ones.

use super::*;

/// The example of Obsidian's manual, with other texts.
const EXAMPLE: &str = r#"filters:
  or:
    - file.hasTag("tag")
    - and:
        - file.hasTag("book")
        - file.hasLink("Textbook")
    - not:
        - file.hasTag("book")
        - file.inFolder("Required Reading")
formulas:
  formatted_price: 'if(price, price.toFixed(2) + " dollars")'
  ppu: "(price / age).toFixed(2)"
properties:
  note.status:
    displayName: Status
  formula.formatted_price:
    displayName: "Price"
summaries:
  customAverage: 'values.mean().round(3)'
views:
  - type: table
    name: "My table"
    limit: 10
    groupBy:
      property: note.age
      direction: DESC
    filters:
      and:
        - 'status != "done"'
        - or:
            - "formula.ppu > 5"
            - "price > 2.1"
    order:
      - file.name
      - status
      - formula.formatted_price
    sort:
      - property: file.mtime
        direction: asc
    summaries:
      formula.ppu: average
      price: customAverage
    columnSize:
      file.name: 414
  - type: cards
    name: Images
    image: file.file
"#;

fn shown(filter: &Filter) -> String {
    let all = |filters: &[Filter]| filters.iter().map(shown).collect::<Vec<_>>().join(", ");
    match filter {
        Filter::Is(expression) => expression.to_string(),
        Filter::And(filters) => format!("and({})", all(filters)),
        Filter::Or(filters) => format!("or({})", all(filters)),
        Filter::Not(filters) => format!("not({})", all(filters)),
    }
}

#[test]
fn the_manual_s_example_is_read_whole() {
    let base = read(EXAMPLE).expect("a base");
    assert!(base.warnings.is_empty(), "{:?}", base.warnings);
    let view = base.view(Some("my TABLE")).expect("a view");
    assert_eq!((&*view.kind, &*view.name), ("table", "My table"));
    let query = &view.query;
    let filter = shown(query.filter.as_ref().expect("a filter"));
    assert_eq!(
        filter,
        "and(or(file.hasTag(\"tag\"), and(file.hasTag(\"book\"), file.hasLink(\"Textbook\")), \
         not(file.hasTag(\"book\"), file.inFolder(\"Required Reading\"))), \
         and(status != \"done\", or(formula.ppu > 5, price > 2.1)))"
    );
    let titles: Vec<_> = query.columns.iter().map(|column| &*column.title).collect();
    assert_eq!(titles, ["file.name", "Status", "Price"]);
    assert_eq!(query.limit, Some(10));
    assert_eq!(query.sort[0].key, ColumnKey::File("mtime".into()));
    let group = query.group_by.as_ref().expect("a group");
    assert_eq!((&group.key, group.is_descending), (&ColumnKey::Note("age".into()), true));
    assert!(matches!(&query.summaries[0].1, Summary::BuiltIn(name) if &**name == "Average"));
    assert!(
        matches!(&query.summaries[1].1, Summary::Own { name, .. } if &**name == "customAverage")
    );
    assert_eq!(query.formulas.len(), 2);
    let first = base.view(None).expect("a first view");
    assert_eq!(first.name, view.name);
    assert_eq!(base.view(Some("images")).map(|view| &*view.kind), Some("cards"));
    assert!(base.view(Some("none")).is_none());
}

#[test]
fn little_is_needed() {
    for text in
        ["", "{}", "# nothing\n", "filters:\nviews:\n", "views: []\nfilters: {}\nother: 1\n"]
    {
        let base = read(text).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
        let [view] = &base.views[..] else { panic!("one view") };
        assert_eq!((&*view.kind, &*view.name), ("table", "Table"));
        assert!(view.query.filter.is_none());
        assert_eq!(view.query.columns[0].key, ColumnKey::File("name".into()));
    }
    let base = read(
        "filters: price > 1\nviews:\n  - type: list\n    order: []\n    filters:\n      not: done\n",
    );
    let base = base.expect("a base");
    assert_eq!(&*base.views[0].name, "list");
    assert_eq!(
        shown(base.views[0].query.filter.as_ref().expect("one")),
        "and(price > 1, not(done))"
    );
}

/// All errors as `line:column kind message → hint`.
fn errors(text: &str) -> Vec<String> {
    let found = read(text).expect_err(text);
    found
        .iter()
        .map(|error| {
            let hint = error.hint.as_deref().unwrap_or("");
            let kind = error.kind.as_str();
            format!("{}:{} {kind} {} → {hint}", error.line, error.column, error.message)
        })
        .collect()
}

#[track_caller]
fn fails(text: &str, expected: &[&str]) {
    let found = errors(text);
    assert_eq!(found.len(), expected.len(), "{text}\n{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{text}\n{found}\n{expected}");
    }
}

#[test]
fn an_error_in_an_expression_has_its_place_in_the_file() {
    fails("filters: status ==\n", &["1:19 invalid_expression a value is missing"]);
    fails("filters:\n  and:\n    - 'a == ''b'' x'\n", &["3:19 invalid_expression an operator"]);
    fails("filters: \"a \\u00e9 b\"\n", &["1:13 invalid_expression an operator"]);
    fails("formulas:\n  ü: ä = 1\n", &["2:8 invalid_expression `=`"]);
    fails("formulas:\n  x: >-\n    a +\n    b c\n", &["4:7 invalid_expression an operator"]);
    fails("formulas:\n  x: |\n    a +\n     = c\n", &["4:6 invalid_expression `=`"]);
    fails("filters: x > 10MB\n", &["1:14 extension"]);
    fails("filters: file.words > 1\n", &["1:15 extension Obsidian does not know `file.words`"]);
    fails("filters: /(?=a)/.matches(x)\n", &["1:11 invalid_pattern lookahead"]);
    fails(
        "filters: a =\nformulas: {x: (b}\n",
        &["1:12 invalid_expression `=`", "2:15 invalid_expression this `(` is not closed"],
    );
}

#[test]
fn a_filter_is_one_of_three() {
    fails(
        "filters:\n  and: [a]\n  or: [b]\n",
        &["2:3 invalid_filter `filters` has `and` and `or`"],
    );
    fails(
        "filters:\n  and:\n    - a\n    - b\n    - or: [c]\n      not: [d]\n",
        &["5:7 invalid_filter `filters.and[2]` has `or` and `not`"],
    );
    fails("filters: [a, b]\n", &["1:10 invalid_filter `filters` is a list"]);
    fails("filters:\n  und: [a]\n", &["2:3 invalid_filter `filters` has `und`"]);
    fails("filters:\n  - and: [a]\n", &["2:3 invalid_filter `filters` is a list"]);
}

#[test]
fn values_that_yaml_reads_otherwise_are_reported() {
    let quote = "1:10 invalid_base YAML reads `!done` as a type → write it in quotes: `'!done'`";
    fails("filters: !done\n", &[quote]);
    let found = errors("filters:\n  and:\n    - !file.name.contains(\"T\")\n");
    assert!(
        found[0].contains("YAML reads") && found[0].contains("'!file.name.contains(\"T\")'"),
        "{found:?}"
    );
    assert!(found[0].starts_with("3:7 "), "{found:?}");
    let found = errors("filters: a: b\n");
    assert!(found[0].starts_with("1:") && found[0].contains("invalid_base"), "{found:?}");
    fails("- a\n", &["1:1 invalid_base a base has to be keys with values"]);
    fails(&format!("filters: {}a\n", "[".repeat(100)), &["1:"]);
}

#[test]
fn values_have_to_fit_their_keys() {
    fails("views: table\n", &["1:8 invalid_base `views` has to be a list"]);
    fails("views:\n  - type: [a]\n", &["2:11 invalid_base `type` must be a string"]);
    fails("views:\n  - limit: many\n", &["2:12 invalid_base `limit` has to be a whole number"]);
    fails("views:\n  - limit: -1\n", &["2:12 invalid_base"]);
    fails(
        "views:\n  - sort:\n      - {property: a, direction: up}\n",
        &["3:34 invalid_base this is not a direction → write `ASC` or `DESC`"],
    );
    fails("views:\n  - sort:\n      - {by: a}\n", &["3:9 invalid_base `sort` names no property"]);
    fails("formulas:\n  a: [1]\n", &["2:6 invalid_base `formulas.a` must be a string"]);
    fails("formulas: x\n", &["1:11 invalid_base `formulas` has to be keys with values"]);
}

#[test]
fn formulas_that_need_each_other_are_named() {
    fails(
        "formulas:\n  a: formula.b + 1\n  b: formula[\"c\"]\n  c: \"[1].map(formula.a)\"\n  d: formula.a\n",
        &["2:3 circular formulas depend on each other: a → b → c → a"],
    );
    fails("formulas:\n  a: formula.a\n", &["2:3 circular formulas depend on each other: a → a"]);
    assert!(read("formulas:\n  a: formula.b + formula.c\n  b: formula.c\n  c: '1'\n").is_ok());
}

#[track_caller]
fn warns(text: &str, expected: &[&str]) {
    let base = read(text).unwrap_or_else(|errors| panic!("{}", errors[0].render(text)));
    let found: Vec<_> = base
        .check(&Checker::new(None))
        .iter()
        .map(|it| {
            let hint = it.hint.as_deref().unwrap_or("");
            format!("{}:{} {} → {hint}", it.line, it.column, it.message)
        })
        .collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn ignored_parts_are_reported() {
    warns(
        "filter: a\n",
        &["1:1 `filter` is not a key here and is ignored → did you mean `filters`?"],
    );
    warns(
        "views:\n  - groupby: {property: a}\n    image: b\n",
        &["2:5 `groupby` is not a key here and is ignored → did you mean `groupBy`?"],
    );
    warns(
        "views:\n  - sort:\n      - column: note.a\n        direction: DESC\n",
        &["3:9 `column` is an early spelling and is ignored → write `property: note.a`"],
    );
    warns(
        "properties:\n  status:\n    displayName: S\n",
        &["2:3 the `displayName` of `status` is ignored → write `note.status`"],
    );
    warns(
        "views:\n  - summaries:\n      a: Avrage\n",
        &["3:10 there is no summary `Avrage` → did you mean `Average`?"],
    );
    warns(
        "formulas:\n  a: ''\nfilters: formula.b || due-date && file.hastag('x')\n",
        &[
            "2:3 `formulas.a` is empty and is ignored → write its expression",
            "3:10 the base has no formula `b` → ",
            "3:23 `due-date` subtracts one property from another → write `note[\"due-date\"]` for the \
             property of that name",
            "3:40 a file has no method `hastag` → did you mean `hasTag()`?",
        ],
    );
    warns(
        "filters: not(empty(note.last))\n",
        &["1:10 `not(…)` is how early versions wrote it → write `!last.isEmpty()`"],
    );
}

#[test]
fn missing_columns_and_duplicate_views_are_reported() {
    let base = read(
        "formulas: {age: '1'}\nviews:\n  - type: table\n    name: A\n    order: [file.nam, formula.agee, price]\n    \
         sort: [{property: formula.gone, direction: ASC}]\n    groupBy: file.folder\n  - name: A\n",
    )
    .expect("a base");
    let warnings: Vec<_> = base
        .warnings
        .iter()
        .map(|warning| {
            let hint = warning.hint.as_deref().unwrap_or_default();
            format!("{}:{} {}; {hint}", warning.line, warning.column, warning.message)
        })
        .collect();
    assert_eq!(
        warnings,
        [
            "5:13 a file has no field `nam`; did you mean `file.name`?",
            "5:23 the base has no formula `agee`; did you mean `formula.age`?",
            "6:23 the base has no formula `gone`; write it under `formulas`, or leave it out",
            "8:11 another view is named `A` too; give it a name of its own",
        ]
    );
    let faults = read("views:\n  - type: table\n    order: [file.words]\n").expect_err("our own");
    assert_eq!((faults[0].kind, faults[0].line, faults[0].column), (Kind::Extension, 3, 13));
}
