//! Tables of valid and invalid expressions, and properties of the parser and the printer.

use proptest::prelude::*;

use super::super::tree::{MAX_NESTING, MAX_NODES};
use super::*;

/// The canonical form of an expression, with all brackets that it needs.
#[track_caller]
fn reads(text: &str, canonical: &str) {
    let parsed = parse(text, Options::default());
    let parsed = parsed.unwrap_or_else(|error| panic!("{}", error.render(text)));
    assert_eq!(parsed.to_string(), canonical, "{text}");
}

#[track_caller]
fn fails(text: &str, kind: Kind, column: u32, message: &str, hint: &str) {
    let error = parse(text, Options::default()).expect_err(text);
    let shown = error.render(text);
    assert_eq!((error.kind, error.column), (kind, column), "{shown}");
    assert!(error.message.contains(message), "{shown}");
    assert!(error.hint.as_deref().unwrap_or_default().contains(hint), "{shown}");
}

#[track_caller]
fn invalid(text: &str, column: u32, message: &str, hint: &str) {
    fails(text, Kind::InvalidExpression, column, message, hint);
}

#[test]
fn operators_hold_as_tightly_as_they_should() {
    reads("a||b&&c==d+e*-f.g", "a || b && c == d + e * -f.g");
    reads("((a||b)&&(c==d))", "(a || b) && c == d");
    reads("a - (b - c) - d", "a - (b - c) - d");
    reads("a == b == c", "a == b == c");
    reads("a == (b == c)", "a == (b == c)");
    reads("!a.b", "!a.b");
    reads("(!a).b", "(!a).b");
    reads("!!-a", "!!-a");
    reads("-1", "-1");
    reads("(-1).abs()", "(-1).abs()");
    reads("(1).round()", "(1).round()");
    reads("10 % 4 / 2", "10 % 4 / 2");
    reads("a < b != (c >= d)", "a < b != (c >= d)");
}

#[test]
fn joined_conditions_are_one_with_any_brackets() {
    reads("a && (b && c) && d", "a && b && c && d");
    reads("(a || b) || (c || d && e)", "a || b || c || d && e");
    let many = vec!["a == 1"; 1500].join(" || ");
    reads(&many, &many);
}

#[test]
fn values_are_written_in_several_ways() {
    reads("'it\\'s'", "\"it's\"");
    reads("\"a\\n\\t\\r\\\\\\\"\\q\"", "\"a\\n\\t\\r\\\\\\\"q\"");
    reads("1.50", "1.5");
    reads("2e3 + 1E-2", "2000 + 0.01");
    reads("1e999", "1e999");
    reads("[1, [true, null], []]", "[1, [true, null], []]");
    reads("/a[/]b\\/c/gi.matches(x)", "/a[/]b\\/c/gi.matches(x)");
    reads("a / b / c", "a / b / c");
    reads("(a) / 2 /b", "a / 2 / b");
    reads("a[0] / 2", "a[0] / 2");
    reads("x.split(/,/, 2)", "x.split(/,/, 2)");
    reads("\u{feff} a\u{a0}+\n\tb ", "a + b");
}

#[test]
fn names_mean_properties_unless_they_are_reserved() {
    reads("note.price + note[\"price\"] + price", "price + price + price");
    reads("note[\"due date\"]", "note[\"due date\"]");
    reads("note['true']", "note[\"true\"]");
    reads("note.file", "note[\"file\"]");
    reads("note.keys()", "note.keys()");
    reads("note[key]", "note[key]");
    reads("über_1 + $a + имя + 名前", "über_1 + $a + имя + 名前");
    reads("formula.a + formula['b c']", "formula.a + formula[\"b c\"]");
    reads("this.file.name + this.x", "this.file.name + this.x");
    reads("file.properties.x.y", "file.properties.x.y");
    reads("f() + g(a)", "f() + g(a)");
    let parsed = parse("a + b + note.a + x.map(a)", Options::default()).expect("an expression");
    assert_eq!(parsed.properties.iter().map(|name| &**name).collect::<Vec<_>>(), ["a", "b", "x"]);
}

#[test]
fn names_are_bound_within_their_calls() {
    let locals = |text: &str, options| {
        let parsed = parse(text, options).expect(text);
        let properties = parsed.properties;
        properties.iter().map(|name| name.to_string()).collect::<Vec<_>>().join(" ")
    };
    let plain = Options::default();
    assert_eq!(locals("value + index + acc + values", plain), "value index acc values");
    assert_eq!(locals("[1].map(value + index + acc)", plain), "acc");
    assert_eq!(locals("[1].filter(value > index)", plain), "");
    assert_eq!(locals("[1].reduce(acc + value + index, acc)", plain), "acc");
    assert_eq!(locals("[1].map([2].reduce(acc + value, value)) + value", plain), "value");
    assert_eq!(locals("map(value)", plain), "value");
    assert_eq!(locals("values.mean()", Options { is_summary: true, ..plain }), "");
    reads("[1].map(note.value + value)", "[1].map(note[\"value\"] + value)");
}

#[test]
fn missing_parts_are_reported_at_their_place() {
    invalid("", 1, "empty", "");
    invalid("  ", 3, "empty", "");
    invalid("price = 1", 7, "not an operator", "`==`");
    invalid("status ==", 10, "a value is missing", "");
    invalid("a b", 3, "an operator is missing", "");
    invalid("a and b", 3, "an operator is missing", "`&&`");
    invalid("not a", 5, "an operator is missing", "`!`");
    invalid("tags contains \"x\"", 6, "an operator is missing", "a.contains(b)");
    invalid("(a", 1, "not closed", "`)`");
    invalid("x + f(a, ", 6, "not closed", "`)`");
    invalid("[a", 1, "not closed", "`]`");
    invalid("a[b", 2, "not closed", "`]`");
    invalid("\"a", 1, "not closed", "\"");
    invalid("x == 'a", 6, "not closed", "'");
    invalid("/a", 1, "not closed", "`/`");
    invalid("/a\nb/", 1, "not closed", "`/`");
    invalid("a)", 2, "without a `(`", "");
    invalid("(a]", 3, "without a `[`", "");
    invalid("f(,a)", 3, "before this `,`", "");
    invalid("f(a,)", 4, "after this `,`", "");
    invalid("a, b", 2, "only separate elements", "&&");
    invalid("()", 2, "between `(` and `)`", "");
    invalid("a[]", 3, "a key is missing", "");
    invalid("a.", 3, "a name is missing", "");
    invalid("a.\"b\"", 2, "a name has to follow", "[\"name\"]");
    invalid("a * / b", 5, "not closed", "`/`");
    invalid("+a", 1, "needs a value before it", "leave it out");
    invalid(".5", 1, "before this `.`", "0.5");
    invalid("a !b", 3, "not an operator between", "");
}

#[test]
fn what_other_languages_have_is_named() {
    invalid("1.round()", 2, "directly after a number", "`(1).round()`");
    invalid("2.5.x", 4, "directly after a number", "`(2.5).x`");
    invalid("{\"a\": 1}", 1, "no objects", "");
    invalid("a === b", 3, "`===`", "`==`");
    invalid("a & b", 3, "`&`", "`&&`");
    invalid("a ? b : c", 3, "`?`", "if(");
    invalid("a == “b”", 6, "no meaning", "straight quotes");
    invalid("#tag", 1, "`#`", "hasTag");
    invalid("a == 1d", 7, "directly follows a number", "`\"1d\"`");
    invalid("a @ b", 3, "no meaning", "");
    invalid("formula + 1", 1, "needs the name", "formula.name");
    invalid("formula.x()", 9, "no arguments", "formula.x");
    fails("file.size > 10MB", Kind::Extension, 13, "does not know", "`10485760`");
    let allowed = Options { allows_extensions: true, ..Options::default() };
    let parsed = parse("file.size > 1.5kb", allowed).expect("sizes are allowed");
    assert_eq!(parsed.to_string(), "file.size > 1536");
}

#[test]
fn errors_in_patterns_have_their_column() {
    fails("/(?=a)/.matches(x)", Kind::InvalidPattern, 2, "lookahead", "");
    fails("x.replace(/ab(?!c)/g, \"\")", Kind::InvalidPattern, 14, "lookahead", "");
    fails("/(a)\\1/.matches(x)", Kind::InvalidPattern, 5, "back references", "");
    fails("/a/x.matches(x)", Kind::InvalidPattern, 4, "no flag", "");
}

#[test]
fn exceeded_limits_are_reported_at_their_place() {
    let deep = |count: usize| format!("{}a{}", "(".repeat(count), ")".repeat(count));
    reads(&deep(200), "a");
    fails(&deep(201), Kind::TooDeep, 201, "200 levels", "");
    fails(&deep(20_000), Kind::TooDeep, 201, "200 levels", "");
    fails(&"(".repeat(20_000), Kind::TooDeep, 201, "200 levels", "");
    fails(&format!("{}a", "!".repeat(201)), Kind::TooDeep, 201, "200 levels", "");
    fails(&format!("a{}", ".b".repeat(300)), Kind::TooDeep, 1, "200 levels", "");
    fails(&format!("a{}", " + 1".repeat(300)), Kind::TooDeep, 1, "200 levels", "");
    let sum = format!("a{}", " + 1".repeat(MAX_NESTING as usize - 1));
    reads(&sum, &sum);
    let list = |count: usize| format!("[{}]", vec!["1"; count].join(", "));
    reads(&list(MAX_NODES - 1), &list(MAX_NODES - 1));
    fails(&list(MAX_NODES), Kind::TooLarge, 1, "10000 parts", "");
    fails(&" ".repeat(70_000), Kind::TooLarge, 65_537, "64 KB", "");
}

/// Texts similar to expressions.
fn alike() -> impl Strategy<Value = String> {
    let pieces = vec![
        "a",
        "status",
        "file",
        "note",
        "formula",
        "this",
        "value",
        "acc",
        "values",
        ".",
        ".name",
        ".map(",
        ".filter(",
        ".reduce(",
        "f(",
        "(",
        ")",
        "[",
        "]",
        ",",
        "\"x\"",
        "'y\\''",
        "\"",
        "/a/g",
        "/(?<n>[a-z]+)\\d/",
        "/",
        "1",
        "2.5",
        "1e3",
        "10MB",
        "true",
        "null",
        "==",
        "!=",
        "<",
        "<=",
        "+",
        "-",
        "*",
        "%",
        "&&",
        "||",
        "!",
        " ",
        "\n",
        "é",
        "🌱",
        "formula[\"b c\"]",
        "note[\"due date\"]",
        "=",
        "{",
        "\\",
    ];
    prop::collection::vec(prop::sample::select(pieces), 0..30).prop_map(|all| all.concat())
}

fn expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "a",
        "note[\"b c\"]",
        "formula.d",
        "file",
        "this",
        "value",
        "1",
        "0.5",
        "\"x\\n\"",
        "'\"'",
        "true",
        "null",
        "/a|b/i",
        "note",
        "acc",
        "[]",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(6, 64, 3, |inner| {
        let pair = (inner.clone(), inner.clone());
        let signs = vec!["+", "-", "*", "/", "%", "==", "<", ">=", "&&", "||"];
        prop_oneof![
            (prop::sample::select(signs), pair.clone(), any::<bool>()).prop_map(
                |(sign, (left, right), both)| if both {
                    format!("({left}) {sign} ({right})")
                } else {
                    format!("{left} {sign} {right}")
                }
            ),
            inner.clone().prop_map(|of| format!("!({of})")),
            inner.clone().prop_map(|of| format!("-{of}")),
            inner.clone().prop_map(|of| format!("({of}).name")),
            pair.clone().prop_map(|(of, key)| format!("({of})[{key}]")),
            pair.clone().prop_map(|(of, arg)| format!("({of}).map({arg})")),
            pair.clone().prop_map(|(of, arg)| format!("({of}).reduce({arg}, {arg})")),
            pair.prop_map(|(one, two)| format!("f({one}, [{two}])")),
        ]
    })
}

/// The tree without the positions of its nodes.
fn shape(expression: &Expression) -> String {
    let debug = format!("{:?}", (&expression.root, &expression.properties));
    let places = regex::Regex::new(r"(name_at|op_at|at): \d+\.\.\d+").expect("a pattern");
    places.replace_all(&debug, "").into_owned()
}

fn holds(text: &str) -> Result<(), TestCaseError> {
    for is_summary in [false, true] {
        let options = Options { allows_extensions: true, is_summary, ..Options::default() };
        match parse(text, options) {
            Ok(parsed) => {
                let printed = parsed.to_string();
                let again = parse(&printed, options);
                let again = again.map_err(|error| {
                    TestCaseError::fail(format!("{text}\n{}", error.render(&printed)))
                })?;
                prop_assert_eq!(again.to_string(), &printed[..]);
                prop_assert_eq!(shape(&again), shape(&parsed), "{} as {}", text, printed);
            }
            Err(error) => {
                prop_assert!(error.at.end as usize <= text.len());
                prop_assert!(!error.render("x").is_empty());
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_text_is_an_expression_or_an_error(text in "\\PC{0,40}") {
        holds(&text)?;
    }

    #[test]
    fn what_looks_like_an_expression_is_one_or_an_error(text in alike()) {
        holds(&text)?;
    }

    #[test]
    fn what_is_printed_is_read_as_the_same_tree(text in expression()) {
        prop_assert!(parse(&text, Options::default()).is_ok(), "{}", text);
        holds(&text)?;
    }
}
