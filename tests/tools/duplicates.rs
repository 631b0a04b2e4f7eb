//! `find_duplicates` over whole vaults.

use serde_json::{Value, json};
use vault_steward::note::code::ErrorCode::{InvalidInput, NotFound};

use crate::vault::vault;

/// The paths of each group, with the first lines unless they are 1.
fn groups(answer: &Value) -> Vec<String> {
    let texts = |group: &Value| {
        let texts = group["texts"].as_array().expect("texts").iter();
        let text = |text: &Value| match text["first_line"].as_u64() {
            Some(1) => text["path"].as_str().expect("a path").to_owned(),
            line => format!("{}:{}", text["path"].as_str().expect("a path"), line.expect("a line")),
        };
        texts.map(text).collect::<Vec<_>>().join(" ")
    };
    answer["groups"].as_array().expect("groups").iter().map(texts).collect()
}

/// This many different words.
fn prose(from: usize, words: usize) -> String {
    let word = |number: usize| format!("word{number}");
    (from..from + words).map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_same_and_nearly_the_same_texts_are_found() {
    let long = prose(0, 200);
    let near = long.replace("word100 ", "changed ");
    let spaced = format!("---\nmade: 2026\n---\n{}\n", long.replace(' ', "\n"));
    let half = format!("{} {}", prose(0, 100), prose(1_000, 100));
    let vault = vault(&[
        ("A/long.md", &long),
        ("B/near.md", &near),
        ("B/spaced.md", &spaced),
        ("half.md", &half),
        ("short.md", "two words\n"),
        ("Copy of short.md", "two\n\nwords"),
        ("empty.md", ""),
        ("empty too.md", "\n"),
        ("other.md", &prose(5_000, 200)),
        ("picture.png", &long),
        ("日.md", "私は昨日の夕方に駅前の古い喫茶店で友人と長い話をして帰りました。"),
        ("月.md", "私は昨日の夕方に駅前の古い喫茶店で友人と長い話をして帰りました！"),
    ]);
    let found = vault.ok("find_duplicates", json!({}));
    let expected = ["A/long.md B/near.md B/spaced.md", "日.md 月.md", "Copy of short.md short.md"];
    assert_eq!(groups(&found), expected);
    let first = &found["groups"][0];
    assert_eq!((&first["exact"], &first["total"]), (&json!(false), &json!(3)));
    let likeness = first["likeness"].as_f64().expect("a number");
    assert!((0.9..1.0).contains(&likeness), "five of 196 sequences differ: {likeness}");
    assert_eq!(found["groups"][2]["exact"], true);
    let exact = vault.ok("find_duplicates", json!({"kind": "exact"}));
    assert_eq!(groups(&exact), ["Copy of short.md short.md"]);
    let least = vault.ok("find_duplicates", json!({"least": 0.99}));
    assert_eq!(groups(&least)[0], "A/long.md B/spaced.md");
    let below = vault.ok("find_duplicates", json!({"path": "B"}));
    assert_eq!(
        (groups(&below), &below["notes"]),
        (vec!["B/near.md B/spaced.md".to_owned()], &json!(2))
    );
    let second = vault.ok("find_duplicates", json!({"limit": 1, "first_result": 2}));
    assert_eq!((groups(&second).len(), &second["total"]), (1, &json!(3)));
    let text = vault.text("find_duplicates", json!({}));
    assert!(
        text.starts_with("3 alike (0.9") && text.contains("\n2 with the same text:\n"),
        "{text}"
    );
}

#[test]
fn repeated_sections_are_found() {
    let section = format!("## Licence\n{}\n", prose(0, 60));
    let one = format!("# One\n{}\n{section}", prose(300, 250));
    let two = format!("# Two\n{}\n{section}## End\n{}\n", prose(700, 250), prose(1_200, 60));
    let vault = vault(&[("one.md", &one), ("two.md", &two), ("three.md", &prose(2_000, 100))]);
    assert_eq!(groups(&vault.ok("find_duplicates", json!({}))), [""; 0]);
    let found = vault.ok("find_duplicates", json!({"kind": "sections"}));
    assert_eq!(groups(&found), ["one.md:3 two.md:3"]);
    let text = vault.text("find_duplicates", json!({"kind": "sections"}));
    assert!(text.contains("  one.md:3-4\n  two.md:3-4\n"), "{text}");
}

#[test]
fn many_notes_of_one_template_are_one_group() {
    let template = prose(0, 80);
    let files: Vec<(String, String)> = (0..120)
        .map(|day| (format!("Daily/{day:03}.md"), format!("{template} day{day}\n")))
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
    let found = vault(&files).ok("find_duplicates", json!({}));
    assert_eq!((&found["total"], &found["groups"][0]["total"]), (&json!(1), &json!(120)));
    assert_eq!(found["groups"][0]["texts"].as_array().expect("texts").len(), 50);
}

#[test]
fn what_cannot_be_is_refused() {
    let vault = vault(&[("a.md", "a")]);
    vault.err("find_duplicates", json!({"path": "Nowhere"}), NotFound);
    for wrong in [
        json!({"least": 0.4}),
        json!({"least": 1.1}),
        json!({"kind": "meaning"}),
        json!({"limit": 0}),
    ] {
        vault.err("find_duplicates", wrong, InvalidInput);
    }
    assert_eq!(
        vault.text("find_duplicates", json!({"path": ""})),
        "no duplicates (1 note compared)"
    );
}
