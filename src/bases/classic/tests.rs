//! Tables of valid and invalid conditions of the classic dialect.

use crate::bases::diagnostic::Kind;
use proptest::prelude::*;

use super::*;

#[track_caller]
fn reads(text: &str, canonical: &str) {
    let parsed = parse(text).unwrap_or_else(|error| panic!("{}", error.render(text)));
    assert_eq!(parsed.to_string(), canonical, "{text}");
}

#[track_caller]
fn fails(text: &str, column: u32, message: &str, hint: &str) {
    let error = parse(text).expect_err(text);
    let shown = error.render(text);
    assert_eq!((error.kind, error.column), (Kind::InvalidExpression, column), "{shown}");
    assert!(error.message.contains(message), "{shown}");
    assert!(error.hint.as_deref().unwrap_or_default().contains(hint), "{shown}");
}

#[test]
fn comparisons_and_their_fields() {
    reads("file.ext == \"pdf\"", "file.ext == \"pdf\"");
    reads("file.name!='a'", "file.basename != \"a\"");
    reads("file.size > 100MB", "file.size > 104857600");
    reads("file.size <= 1.5k", "file.size <= 1536");
    reads("file.file_size >= 2 ", "file.size >= 2");
    reads("file.modifiedAt < \"2024-01-01\"", "file.mtime < \"2024-01-01\"");
    reads("file.created_at > 1700000000000", "file.ctime > 1700000000000");
    reads("file.path == null", "file.path == null");
    reads("file.ext ! = 'x'", "file.ext != \"x\"");
    reads("file.isHidden", "file.name.startsWith(\".\")");
    reads("file.hidden == FALSE", "file.name.startsWith(\".\") == false");
    reads("file.ext IN [\"png\", 'jpg', 1, null]", "file.ext IN [\"png\", \"jpg\", 1, null]");
    reads("file.ext in []", "file.ext IN []");
    reads("file.name MATCHES '^\\d{4}'", "file.basename MATCHES /^\\d{4}/");
    reads("true", "true");
}

#[test]
fn functions() {
    reads("file.name.startsWith(\"S\")", "file.basename startsWith \"S\"");
    reads("file.path.ends_with('rc')", "file.path endsWith \"rc\"");
    reads("file.name.contains('a') ", "file.basename contains \"a\"");
    reads("file.name.matches(\"\\\\w+\")", "file.basename MATCHES /\\w+/");
    reads("vector_similarity('x')", "file.similarity(\"x\") > 0.5");
    reads("file.vector_similarity(\"x\") >= 0.8", "file.similarity(\"x\") >= 0.8");
    let parsed = parse("file.mimeType == 'application/pdf'").expect("a condition");
    assert!(
        parsed.to_string().contains("if(file.ext == \"pdf\", \"application/pdf\","),
        "{parsed}"
    );
}

#[test]
fn names_are_read_in_any_case() {
    reads("File.Name == 'a'", "file.basename == \"a\"");
    reads("FILE.modified_AT > 0", "file.mtime > 0");
    reads("file.name.STARTSWITH('a')", "file.basename startsWith \"a\"");
    reads("file.vectorSimilarity('x')", "file.similarity(\"x\") > 0.5");
    reads("file.similarity('x') > 0.9", "file.similarity(\"x\") > 0.9");
}

#[test]
fn patterns_may_begin_with_their_flags_and_be_empty() {
    reads("file.name MATCHES '(?i)a'", "file.basename MATCHES /a/i");
    reads("file.name.matches('(?is)a.b')", "file.basename MATCHES /a.b/is");
    reads("file.name MATCHES ''", "file.basename MATCHES /(?:)/");
    reads("file.name MATCHES '(?i)'", "file.basename MATCHES /(?:)/i");
    let error = parse("file.name MATCHES '(?i)a('").expect_err("a group that is not closed");
    assert_eq!((error.kind, error.column), (Kind::InvalidPattern, 25), "{error}");
}

#[test]
fn a_pattern_sees_an_extension_in_lower_case() {
    reads("file.ext MATCHES '^md$'", "file.ext.lower() MATCHES /^md$/");
    reads("file.ext.matches('^md$')", "file.ext.lower() MATCHES /^md$/");
}

#[test]
fn conditions_are_joined_in_two_ways() {
    reads(
        "file.isHidden AND file.name.endsWith(\"rc\") or NOT file.size > 5",
        "file.name.startsWith(\".\") && file.basename endsWith \"rc\" || !(file.size > 5)",
    );
    reads("!(true || false) && !true", "!(true || false) && !true");
    reads("NOT NOT true", "!!true");
}

#[test]
fn escapes_that_are_not_known_keep_their_backslash() {
    let text = parse(r#"file.name == 'a\'\n\d\\'"#).expect("a condition");
    let Node::Classic { right, .. } = text.root.node else { panic!("a comparison") };
    assert!(matches!(right.node, Node::Text(text) if &*text == "a'\n\\d\\"));
}

#[test]
fn refused_parts_are_reported_at_their_place() {
    fails("", 1, "empty", "");
    fails("file.name = 'a'", 11, "`=`", "`==`");
    fails("true & false", 6, "`&`", "`&&`");
    fails("true | false", 6, "`|`", "`||`");
    fails("file.nam == 'a'", 6, "no field `file.nam`", "file.name");
    fails("file.colour == 'a'", 6, "no field", "there are");
    fails("size > 5", 1, "`size` is not a field", "`file.size`");
    fails("contains(file.name, 'a')", 1, "is not a field", "file.name.contains");
    fails("file.ext == pdf", 13, "`pdf` is not a value", "`\"pdf\"`");
    fails("file.name", 1, "alone is not a condition", "compare it");
    fails("file", 1, "alone", "file.name");
    fails("file.size > -5", 13, "below zero", "");
    fails("file.size > 5XB", 14, "not a unit", "KB");
    fails("file.ext IN ['a',]", 17, "after this `,`", "");
    fails("file.ext IN ['a' 'b']", 18, "is missing", "");
    fails("file.ext IN ['a'", 13, "not closed", "");
    fails("file.ext IN 'a'", 13, "`[` is missing", "");
    fails("file.name.begins('a')", 11, "no function `begins`", "contains");
    fails("file.size.contains('a')", 11, "is not text", "compare");
    fails("file.name.contains(5)", 20, "a text is missing", "quotes");
    fails("file.name.contains('a', 'b')", 23, "`)` is missing", "");
    fails("(true", 1, "not closed", "`)`");
    fails("true)", 5, "without a `(`", "");
    fails("true false", 6, "an operator is missing", "AND");
    fails("true AND", 9, "a condition is missing", "");
    fails("file.name ==", 13, "a value is missing", "");
    fails("file.name == 'a", 14, "not closed", "'");
    fails("5 < file.size", 1, "begins with a field", "");
    fails("vector_similarity('a') > 'b'", 26, "number from 0 to 1", "");
    let pattern = parse("file.name MATCHES 'a(?=b)'").expect_err("a lookahead");
    assert_eq!((pattern.kind, pattern.column), (Kind::InvalidPattern, 21), "{pattern}");
    let deep = parse(&"(".repeat(20_000)).expect_err("too deep");
    assert_eq!((deep.kind, deep.column), (Kind::TooDeep, 201));
    let deep = parse(&"NOT ".repeat(15_000)).expect_err("too deep");
    assert_eq!((deep.kind, deep.column), (Kind::TooDeep, 801));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_text_is_a_condition_or_an_error(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "file", ".", "name", "size", " ", "==", "!=", "! =", "<", "=", "AND", "or", "NOT", "!",
            "(", ")", "[", "]", ",", "'a'", "\"", "\\", "5", "1.5", "MB", "IN", "MATCHES", "contains",
            "vector_similarity", "true", "null", "é", "🌱", "&&", "|", "-", "file.mime == 'x'",
            "file.name.contains('a')", "file.size > 5KB",
        ]), 0..25)
    ) {
        let text = pieces.concat();
        match parse(&text) {
            Ok(parsed) => prop_assert!(!parsed.to_string().is_empty()),
            Err(error) => {
                prop_assert!(error.at.end as usize <= text.len());
                prop_assert!(!error.render("x").is_empty());
            }
        }
    }
}
