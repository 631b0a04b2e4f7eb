//! The results of 281 expressions in a running Obsidian (`fixtures/bases/`), compared on the same
//! vault on a disk. The recording has Obsidian's results, not the notes' texts; those are written
//! here.

use std::path::Path;

use chrono::DateTime;
use serde_json::{Value, json};
use vault_steward::tools::{self, Clock, Registry};

use crate::abilities::{Ability, can};
use crate::vault::TestVault;

const RECORDED: &str = include_str!("../../fixtures/bases/oracle.compact.json");

const FOLDER: &str = "__codex_bases_expression_oracle";

/// The bytes of the queried note.
const SIZE: usize = 1957;

const ROW: &str = r#"---
price: 12.5
quantity: 4
status: Todo
tags:
  - urgent
  - work
values: [1, 2, 3]
space key: space value
frontWiki: "[[Other|Front Alias]]"
frontList:
  - "[[Spaced Note]]"
  - "[Front MD](Other.md)"
frontMd: "[Front MD](Other.md)"
---
#project/a

[[Other]] [[Other|Alias Other]] [[Other#Section One]] [[Other#^block-id]]
[[Duplicate]] [[__codex_bases_expression_oracle/Folder A/Duplicate|Dup A]]
[[__codex_bases_expression_oracle/Folder B/Duplicate]] [[Spaced Note|Space Alias]] [[Missing Note]]
[Markdown Other](Other.md) [Markdown Space](Spaced%20Note.md) [Markdown Missing](Missing.md)
[Markdown Dot](./Other.md) [Markdown Sub](Sub/Target.md)
[[Other#Section|Pipe]] [[Other#Heading [Bracket]]]
[[Unicode & Punctuation/Über Café, déjà vu! (v2)|Unicode Alias]]
[[Unicode & Punctuation/Über Café, déjà vu! (v2)#Café & crème: naïve? (v2)!]]
[Unicode Markdown](Unicode%20%26%20Punctuation/%C3%9Cber%20Caf%C3%A9%2C%20d%C3%A9j%C3%A0%20vu!%20(v2).md)
[[Case Target]] [[Duplicate Anchors#Twin]] [[Duplicate Anchors#Twin|Twin Alias]]
[[Duplicate Anchors#^dupe-block]] [[Duplicate Anchors#^dupe-block|Block Alias]]
[[Report Final.pdf]] [[Data Export.csv|CSV Alias]] [Audio Track](Audio%20Track.mp3)

![[Embedded Note]]
![[Other#Section One]]
![Asset Alt](Asset.png)
![[Report Final.pdf]]
![Photo Alt](Photo%20Sample.jpg)
"#;

const RELATIVE: &str = "[Parent Other](../Other.md) [Sibling Target](Target.md) \
                        [Parent Space](../Spaced%20Note.md) [[../Other]]\n";

/// Cases with other results than recorded, each with its reason.
const DIFFERENT: &[(&str, &str)] = &[
    ("random range", "a random number"),
    ("unary plus", "an error here, which a recording of the result alone shows as null"),
    ("object keys", "as above: object literals are refused"),
    ("object values", "as above"),
    ("object isEmpty", "as above"),
    ("any isTruthy number direct literal", "as above: a method right behind a number is refused"),
    ("any isTruthy zero direct literal", "as above"),
    ("any toString number direct literal", "as above"),
    ("number isEmpty false direct literal", "as above"),
];

fn put(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    std::fs::write(path, text).expect("written");
}

fn recorded() -> Value {
    serde_json::from_str(RECORDED).expect("JSON")
}

fn vault(recorded: &Value) -> TestVault {
    let context = &recorded["context"];
    let base =
        json!({"formulas": context["formulas"], "views": [{"type": "table", "name": "All"}]});
    let mut vault = TestVault::new(&[("oracle.base", &base.to_string())], |place| {
        for file in context["files"].as_array().expect("files") {
            let path = file["path"].as_str().expect("a path");
            let status = file["properties"]["status"].as_str();
            let text = match path.rsplit('/').next().expect("a name") {
                "row.md" => format!("{ROW:SIZE$}", SIZE = SIZE - (ROW.len() - ROW.chars().count())),
                "Relative Source.md" => RELATIVE.to_owned(),
                "Backlink Source.md" => {
                    format!("[[{FOLDER}/row.md]] [[{FOLDER}/row.md|Row Alias]]\n")
                }
                "Backlink Markdown Source.md" => format!("[Row Markdown]({FOLDER}/row.md)\n"),
                _ => {
                    status.map_or("x".to_owned(), |status| format!("---\nstatus: {status}\n---\n"))
                }
            };
            put(place, path, &text);
            if path.contains("Backlink") {
                // Of two files created in the same millisecond neither is older.
                let made = std::time::Instant::now();
                while made.elapsed() < std::time::Duration::from_millis(20) {}
            }
        }
    });
    let now = context["now"].as_str().expect("a time");
    let now = DateTime::parse_from_rfc3339(now).expect("a time");
    let melbourne = chrono::FixedOffset::east_opt(36_000).expect("a zone");
    vault.context.clock = Clock::At(now.with_timezone(&melbourne));
    vault
}

/// The value of an expression for the note.
fn given(vault: &TestVault, expression: &str) -> Value {
    let row = format!("{FOLDER}/row.md");
    let asked = json!({"base": "oracle.base", "where": format!("file.path == \"{row}\""),
        "this": row, "select": [expression]});
    let tool = Registry::built_in().get("query_notes").expect("it is there");
    match tools::call(tool, &vault.context, &asked) {
        Ok(answer) => {
            let answer = answer.read();
            assert_eq!(answer.data["total"], 1, "{expression}: {}", answer.text);
            answer.data["rows"][0]["cells"][0].clone()
        }
        Err(error) => json!({"refused": error.text()}),
    }
}

/// The same, if the recording has a link that is a whole value as its path.
fn is_same(given: &Value, expected: &Value) -> bool {
    let path = || given.as_str()?.strip_prefix("[[")?.strip_suffix("]]")?.split('|').next();
    match (given.as_f64(), expected.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => given == expected || path().is_some_and(|path| *expected == *path),
    }
}

#[test]
fn a_vault_on_a_disk_gives_what_a_running_obsidian_gave() {
    if !can(Ability::InKernel) {
        return;
    }
    let recorded = recorded();
    let vault = vault(&recorded);
    let cases = recorded["cases"].as_array().expect("cases");
    let (mut wrong, mut different) = (Vec::new(), Vec::new());
    for case in cases {
        let (name, expression) = (
            case["name"].as_str().expect("a name"),
            case["expression"].as_str().expect("an expression"),
        );
        let given = given(&vault, expression);
        let is_same = is_same(&given, &case["expected"]);
        if DIFFERENT.iter().any(|(known, _)| *known == name) {
            assert!(!is_same, "{name} is no difference any more");
            different.push(name);
        } else if !is_same {
            wrong.push(format!(
                "{name}: {expression}\n   gives {given}\n   not   {}",
                case["expected"]
            ));
        }
    }
    assert_eq!((cases.len(), different.len()), (281, DIFFERENT.len()));
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
