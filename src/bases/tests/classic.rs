//! Values of conditions of the classic dialect.

use std::sync::Arc;

use super::memory::{Memory, Note};
use super::{Evaluator, FileId, Prepared, Value, scope};
use crate::bases::classic::parse;

/// Asserts how many of the vault's initial files, which are named by letters, each condition
/// matches.
#[track_caller]
fn hold(cases: &[(&str, &str)]) {
    let mut memory = Memory::default();
    let day = 86_400_000;
    memory.add(Note { size: 10, modified: 100 * day, ..Note::at("sub/Annual Report.PDF") });
    memory.add(Note { size: 20, modified: 200 * day, ..Note::at("b.md") });
    memory.add(Note { size: 30, modified: 300 * day, ..Note::at("LICENSE") });
    let mut evaluator = Evaluator::new(scope(&memory));
    let mut wrong = Vec::new();
    for (text, expected) in cases {
        let parsed = parse(text).unwrap_or_else(|fault| panic!("{text}: {fault:?}"));
        let prepared = Prepared::new(&Arc::new(parsed), &memory);
        let mut given = String::new();
        for (number, letter) in (0..).zip(["a", "b", "c"]) {
            evaluator.begin(Some(FileId(number)));
            match evaluator.value(&prepared) {
                Value::Bool(true) => given.push_str(letter),
                Value::Bool(false) => {}
                other => given.push_str(other.type_name()),
            }
        }
        if given != *expected {
            wrong.push(format!("{text}: {given}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn case_counts_in_patterns_and_in_order_alone() {
    hold(&[
        ("file.name == 'annual report'", "a"),
        ("file.name IN ['B', 'license']", "bc"),
        (
            "file.name.contains('REPORT') OR file.name.startsWith('L') OR file.name.endsWith('B')",
            "abc",
        ),
        ("file.name MATCHES 'report'", ""),
        ("file.name MATCHES '(?i)report'", "a"),
        ("file.name MATCHES ''", "abc"),
        ("file.name < 'a'", "ac"),
    ]);
}

#[test]
fn an_extension_is_in_lower_case_or_null() {
    hold(&[
        ("file.ext MATCHES '^[a-z]+$'", "ab"),
        ("file.ext.matches('PDF')", ""),
        ("file.ext == null", "c"),
        ("file.ext != null", "ab"),
        ("file.ext IN [null, 'md']", "bc"),
        ("file.ext == '' OR file.ext MATCHES '' AND file.size > 25", ""),
        ("file.ext.contains('')", "ab"),
        ("file.mimeType == 'application/pdf'", "a"),
        ("file.mimeType == null", "c"),
        ("NOT file.mimeType.startsWith('text')", "ac"),
    ]);
}

#[test]
fn times_are_iso_texts_in_utc_or_unix_milliseconds() {
    hold(&[
        ("file.modifiedAt == '1970-04-11'", "a"),
        ("file.modifiedAt == '1970-04-11T00:00:00Z'", "a"),
        ("file.modifiedAt == '1970-04-11T02:00:00+02:00'", "a"),
        ("file.modifiedAt IN [8640000000]", "a"),
        ("file.modifiedAt > 8640000000 AND file.modifiedAt <= '1970-07-20'", "b"),
        ("file.modifiedAt == null OR file.modifiedAt > null", ""),
        ("file.modifiedAt == 'soon'", ""),
        ("file.size > '5' OR file.modifiedAt > 'soon'", ""),
    ]);
}
