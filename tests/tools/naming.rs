//! `describe_vault` and `suggest_names` over whole vaults, and the check behind `steward names check`.

use serde_json::{Value, json};
use vault_steward::note::code::ErrorCode::{InvalidInput, NotFound, TooMany};

use crate::vault::{TestVault, vault};

/// A vault with conventions: dated journal notes in folders by year, people with `@`, pictures with
/// numbers.
fn habits() -> TestVault {
    let mut files: Vec<(String, String)> = Vec::new();
    for year in ["2024", "2025", "2026"] {
        for day in 1..=3 {
            let text = format!("---\ncreated: {year}-03-0{day}\nmood: good\n---\n#daily\n");
            files.push((format!("Journal/{year}/{year}-03-0{day}.md"), text));
        }
    }
    for name in ["Ada Lovelace", "Alan Turing", "Grace Hopper"] {
        files.push((
            format!("People/@{name}.md"),
            "---\nborn: 1906\ntags: [person]\n---\n".to_owned(),
        ));
    }
    for number in 1..=12 {
        files.push((format!("Pictures/IMG_{number:04}.jpg"), "no picture".to_owned()));
    }
    files.push((
        "Inbox/my first idea.md".to_owned(),
        "# Late frost\n\nThe seeds were out too early.\n".to_owned(),
    ));
    files.push((
        "Inbox/Untitled 2.md".to_owned(),
        "---\ntitle: \"Roof: new tiles\"\n---\nText\n".to_owned(),
    ));
    files.push(("Empty/".to_owned(), String::new()));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
    vault(&files)
}

fn folder<'a>(answer: &'a Value, path: &str) -> &'a Value {
    let folders = answer["folders"].as_array().expect("folders");
    folders
        .iter()
        .find(|folder| folder["path"] == path)
        .unwrap_or_else(|| panic!("no {path} in {answer}"))
}

#[test]
fn a_vault_is_described_to_somebody_who_has_never_seen_it() {
    let vault = habits();
    let answer = vault.ok("describe_vault", json!({}));
    assert_eq!((&answer["notes"], &answer["other_files"]), (&json!(14), &json!(12)));
    let years = folder(&answer, "Journal/2024");
    assert_eq!(years["alike"], json!(["2025", "2026"]), "folders of one shape are told once");
    assert_eq!(years["notes"], 9);
    assert_eq!(years["conventions"][0]["pattern"], "{YYYY-MM-DD}");
    let people = folder(&answer, "People");
    assert_eq!(people["conventions"][0]["pattern"], "@{Title Words}");
    assert_eq!(people["tags"], json!([{"name": "person", "count": 3}]));
    let pictures = folder(&answer, "Pictures");
    assert_eq!(pictures["numbered"], json!([{"name": "IMG_{4 digits}", "count": 12}]));
    assert_eq!(pictures["conventions"][0]["pattern"], "IMG_{4 digits}");
    assert_eq!(folder(&answer, "Empty")["notes"], 0);
    assert_eq!(answer["conventions"].as_array().map(Vec::len), Some(3));
    let created = &answer["properties"].as_array().expect("properties")[0];
    assert_eq!((&created["name"], &created["notes"]), (&json!("created"), &json!(9)));
    assert_eq!((&created["least"], &created["most"]), (&json!("2024-03-01"), &json!("2026-03-03")));
    let text = vault.text("describe_vault", json!({}));
    for said in [
        "14 notes and 12 other files",
        "IMG_{4 digits} ×12",
        "2024/ and 2 like it (2025, 2026): 9 notes",
        "mood: text, 9 notes; good 9",
    ] {
        assert!(text.contains(said), "{said} is not in:\n{text}");
    }
}

#[test]
fn a_description_keeps_to_its_folder_its_depth_and_its_bytes() {
    let vault = habits();
    let answer = vault.ok("describe_vault", json!({"path": "Journal", "depth": 0}));
    assert_eq!(answer["notes"], 9);
    assert_eq!(answer["folders"].as_array().map(Vec::len), Some(1));
    assert_eq!(answer["omitted_folders"], 1);
    let many: Vec<(String, String)> = (0..200)
        .map(|n| {
            (
                format!("Area {}/Topic {n}/Note.md", n % 7),
                format!("---\nkind: k{}\n---\n#t{n}\n", n % 5),
            )
        })
        .collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(path, text)| (&**path, &**text)).collect();
    let vault = self::vault(&many);
    for bytes in [1_000, 2_000, 30_000] {
        let text = vault.text("describe_vault", json!({ "bytes": bytes }));
        assert!(text.len() <= bytes, "{} of {bytes}", text.len());
    }
    vault.err("describe_vault", json!({"bytes": 10}), InvalidInput);
    vault.err("describe_vault", json!({"path": "Nowhere"}), NotFound);
}

#[test]
fn names_are_suggested_with_a_reason_and_nothing_is_renamed() {
    let vault = habits();
    let before = vault
        .text("list_files", json!({"pattern": "**/*", "max_results": 1000, "sort_by": "name"}));
    let answer = vault.ok("suggest_names", json!({"paths": ["Inbox"], "convention": "kebab-case"}));
    let files = answer["files"].as_array().expect("files");
    let of = |path: &str| {
        files
            .iter()
            .find(|file| file["path"] == path)
            .unwrap_or_else(|| panic!("no {path} in {answer}"))
    };
    let idea = of("Inbox/my first idea.md");
    let first = &idea["suggestions"][0];
    assert_eq!(
        (&first["to"], &first["reason"]),
        (&json!("Inbox/my-first-idea.md"), &json!("its present name"))
    );
    assert_eq!(idea["suggestions"][1]["name"], "late-frost.md");
    assert!(
        idea["preview"].as_str().expect("text").starts_with("# Late frost The seeds"),
        "{answer}"
    );
    let first = &of("Inbox/Untitled 2.md")["suggestions"][0];
    assert_eq!(
        (&first["name"], &first["reason"]),
        (&json!("roof-new-tiles.md"), &json!("property `title`"))
    );
    // By its folder: the journal's dates.
    vault.put("Journal/2026/20260304.md", "");
    let answer = vault.ok("suggest_names", json!({"paths": ["Journal/2026/20260304"]}));
    assert_eq!(answer["files"][0]["suggestions"][0]["name"], "2026-03-04.md");
    let answer = vault.ok("suggest_names", json!({"paths": ["People/@Ada Lovelace"]}));
    assert_eq!(answer["files"][0]["fits"], true);
    std::fs::remove_file(vault.place.join("Journal/2026/20260304.md")).expect("removed");
    let after = vault
        .text("list_files", json!({"pattern": "**/*", "max_results": 1000, "sort_by": "name"}));
    assert_eq!(before, after);
}

#[test]
fn a_suggestion_that_is_taken_says_so() {
    let vault =
        vault(&[("a b.md", ""), ("a-b.md", ""), ("A_b.md", ""), ("c d.md", ""), ("c_d.md", "")]);
    let answer = vault.ok(
        "suggest_names",
        json!({"paths": ["a b.md", "c d.md", "c_d.md"], "convention": "{kebab-words}"}),
    );
    let taken = |at: usize| answer["files"][at]["suggestions"][0]["taken_by"].clone();
    assert_eq!(taken(0), "a-b.md");
    assert_eq!(taken(1), Value::Null);
    assert_eq!(taken(2), "c d.md", "one name is given to one file");
}

#[test]
fn unknown_arguments_are_refused_with_the_known_ones() {
    let vault = habits();
    for convention in ["{nothing}", "{kebab-words", "no such thing"] {
        let error = vault.err(
            "suggest_names",
            json!({"paths": ["Inbox"], "convention": convention}),
            InvalidInput,
        );
        assert!(error.hint.expect("a hint").contains("{YYYY-MM-DD}"), "{convention}");
    }
    vault.err("suggest_names", json!({"paths": []}), InvalidInput);
    vault.err("suggest_names", json!({"paths": ["Empty"]}), InvalidInput);
    vault.err("suggest_names", json!({"paths": ["nowhere.md"]}), NotFound);
    let many: Vec<(String, &str)> = (0..501).map(|n| (format!("n{n}.md"), "")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(path, text)| (&**path, *text)).collect();
    self::vault(&many).err("suggest_names", json!({"paths": ["/"]}), TooMany);
    // The id that describe_vault shows is accepted.
    let answer = vault.ok("describe_vault", json!({"path": "People"}));
    let id = &answer["conventions"][0]["id"];
    let answer =
        vault.ok("suggest_names", json!({"paths": ["Inbox/my first idea.md"], "convention": id}));
    assert_eq!(answer["files"][0]["suggestions"][0]["name"], "@My First Idea.md");
}

#[test]
fn a_suggestion_becomes_a_plan_and_links_follow() {
    // Both exist from the start: later files are found through events, for which no test waits.
    let vault = vault(&[("Inbox/my first idea.md", ""), ("Inbox/List.md", "[[my first idea]]\n")]);
    let answer = vault
        .ok("suggest_names", json!({"paths": ["Inbox/my first idea"], "convention": "kebab-case"}));
    let file = &answer["files"][0];
    let items = json!([{"path": file["path"], "to": file["suggestions"][0]["to"]}]);
    let plan = vault.ok("plan_changes", json!({ "items": items }));
    vault.ok("apply_plan", json!({"plan": plan["plan"], "identity": plan["identity"]}));
    assert!(vault.exists("Inbox/my-first-idea.md"));
    assert_eq!(vault.content("Inbox/List.md"), "[[my-first-idea]]\n");
}
