use serde_json::json;

use super::super::rules_file::read;
use super::*;
use crate::bases::tests::memory::{Memory, Note};

fn vault() -> Memory {
    let mut memory = Memory::default();
    for number in 0..6 {
        memory.add(Note {
            properties: json!({"status": "open", "n": number}),
            tags: &["meeting"],
            ..Note::at(&format!("Inbox/Note {number}.md"))
        });
    }
    for number in 0..6 {
        memory.add(Note {
            properties: json!({"rating": "high"}),
            ..Note::at(&format!("Other/Note {number}.md"))
        });
    }
    memory.add(Note::at("Templates/Person.md"));
    memory
}

/// The diagnostics of these rules: line, column, message and hint of each.
fn found(rules: &str) -> (Vec<String>, Vec<usize>) {
    let memory = vault();
    let file = read(rules, &|_| Err("no bases".to_owned()));
    let file = file.unwrap_or_else(|faults| panic!("{}", faults[0].render("rules")));
    let refuses = |path: &VaultPath| {
        (path.as_str() == "State").then(|| "`State` holds the steward's own state".to_owned())
    };
    let checked = check(&file, crate::bases::tests::scope(&memory), &refuses);
    let line = |found: &Diagnostic| {
        let hint = found.hint.as_deref().unwrap_or_default();
        format!(
            "{}:{} {}: {} -> {hint}",
            found.line,
            found.column,
            found.kind.as_str(),
            found.message
        )
    };
    (checked.found.iter().map(line).collect(), checked.fits)
}

#[track_caller]
fn check_one(rule: &str, expected: &[&str]) {
    let (found, _) = found(&format!("rules:\n- name: r\n  {rule}\n"));
    assert_eq!(found, expected, "{rule}");
}

#[test]
fn unknown_names_are_reported_with_the_nearest() {
    check_one("in: Inbox\n  do: [move: Done]", &[]);
    check_one(
        "when: staus == 'open' && n < 2\n  do: [move: Done]",
        &[
            "3:9 unknown_property: no note has `staus`; 1 has `status` -> did you mean `status`?",
            "3:9 misleading: `r` fits no file now -> look at its condition with `why`",
        ],
    );
    check_one(
        "when: n < 2\n  do: [move: 'A/{{staus}}', untag: meetin, remove: [statu], template: Templates/Persn]",
        &[
            "4:19 unknown_property: no note has `staus`; 1 has `status` -> did you mean `status`?",
            "4:36 unknown_name: nothing has the tag `meetin` -> did you mean `meeting`?",
            "4:53 unknown_property: no note has `statu`; 1 has `status` -> did you mean `status`?",
            "4:71 unknown_name: there is no template `Templates/Persn` -> did you mean `Templates/Person`?",
        ],
    );
    check_one(
        "in: Inbx\n  do: [move: Done]",
        &[
            "2:9 misleading: `r` fits no file now -> look at its condition with `why`",
            "3:7 unknown_name: no file is in a folder `Inbx` -> did you mean `Inbox`?",
        ],
    );
}

#[test]
fn odd_numbers_of_matches_are_reported() {
    check_one(
        "when: file.ext == 'md'\n  do: [move: Done]",
        &[
            "3:9 misleading: `r` fits 13 of all 13 files -> name its folders with `in`, or ask for more in `when`",
        ],
    );
    check_one(
        "when: rating > 3\n  do: [move: Done]",
        &["3:9 misleading: `r` fits no file now -> look at its condition with `why`"],
    );
    check_one(
        "when: rating.round() > 3\n  do: [move: Done]",
        &[
            "3:9 misleading: the condition of `r` fails for 6 files, which the rule does not take; the first is \
           `Other/Note 0.md`: Cannot find function \"round\" on type String -> ask first what a file is: \
           `file.ext == \"md\" && …`",
        ],
    );
}

#[test]
fn rules_without_files_are_reported() {
    let rules = "rules:\n- {name: all, in: Inbox, do: [move: A]}\n- {name: some, in: Inbox, when: n < 2, do: [move: B]}\n";
    let expected = "3:10 misleading: `all` takes every file that `some` fits before it -> give it a higher `priority`, or write \
                    `then: continue` above";
    assert_eq!(found(rules), (vec![expected.to_owned()], vec![6, 2]));
    assert_eq!(
        found(&rules.replace("when: n < 2", "when: n < 2, priority: 1")).0,
        Vec::<String>::new()
    );
    assert_eq!(
        found(&rules.replace("do: [move: A]", "then: continue, do: [move: A]")).0,
        Vec::<String>::new()
    );
}

#[test]
fn a_place_where_nothing_may_be_put_is_an_error() {
    check_one(
        "when: n < 2\n  do: [move: State]",
        &["4:14 protected_path: `State` holds the steward's own state -> choose another folder"],
    );
}
