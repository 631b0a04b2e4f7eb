//! `query_notes` over whole vaults.

use serde_json::{Value, json};
use vault_steward::index::knowledge::{Model, Settings};
use vault_steward::note::code::ErrorCode::{InvalidExpression, InvalidInput, NotFound};

use crate::vault::{TestVault, vault};

/// A vault of tasks.
fn tasks() -> TestVault {
    vault(&[
        (
            "Projects/Boat.md",
            "---\nstatus: open\npriority: 2\ndue: 2026-11-01\nowner: \"[[Ada]]\"\n---\n#garden\n[[Ada]]\n",
        ),
        (
            "Projects/Shed.md",
            "---\nstatus: done\npriority: 5\ndue: 2026-12-24\n---\n![[pic.png]]\n",
        ),
        (
            "Projects/Deep/Fence.md",
            "---\nStatus: open\npriority: high\n---\n#garden/soil [[Boat]]\n",
        ),
        ("People/Ada.md", "---\ntags: [person]\n---\n"),
        ("pic.png", "no picture"),
    ])
}

fn paths(answer: &Value) -> Vec<&str> {
    let rows = answer["rows"].as_array().expect("rows");
    rows.iter().map(|row| row["path"].as_str().expect("a path")).collect()
}

fn found(vault: &TestVault, condition: &str) -> Vec<String> {
    let answer = vault.ok("query_notes", json!({ "where": condition }));
    paths(&answer).into_iter().map(str::to_owned).collect()
}

#[test]
fn a_condition_finds_notes_by_all_that_is_known_of_them() {
    let vault = tasks();
    for (condition, expected) in [
        (r#"status == "open""#, &["Projects/Boat.md", "Projects/Deep/Fence.md"][..]),
        (r#"due < date("2026-12-01")"#, &["Projects/Boat.md"]),
        (r#"priority > 3"#, &["Projects/Shed.md"]),
        (r#"file.hasTag("garden")"#, &["Projects/Boat.md", "Projects/Deep/Fence.md"]),
        (r#"file.inFolder("Projects/Deep")"#, &["Projects/Deep/Fence.md"]),
        (r#"file.ext == "png""#, &["pic.png"]),
        (r#"owner == link("Ada")"#, &["Projects/Boat.md"]),
        (r#"file.hasLink("Ada")"#, &["Projects/Boat.md"]),
        (r#"file.backlinks.length == 1"#, &["People/Ada.md", "Projects/Boat.md", "pic.png"]),
        (r#"file.size < 12"#, &["pic.png"]),
        (r#"status == "never""#, &[]),
    ] {
        let mut found = found(&vault, condition);
        found.sort();
        assert_eq!(found, expected, "{condition}");
    }
}

#[test]
fn columns_sort_and_pages_are_as_asked() {
    let vault = tasks();
    let asked = json!({"where": "file.inFolder(\"Projects\")", "select": ["status", "file.name", "priority + 1"],
        "sort": ["file.name desc"], "limit": 2});
    let answer = vault.ok("query_notes", asked.clone());
    assert_eq!(paths(&answer), ["Projects/Shed.md", "Projects/Deep/Fence.md"]);
    assert_eq!(answer["total"], 3);
    assert_eq!(answer["rows"][0]["cells"], json!(["done", "Shed", 6]));
    assert_eq!(answer["columns"][2]["title"], "priority + 1");
    let text = vault.text("query_notes", asked);
    assert!(
        text.contains("Projects/Shed.md | done | Shed | 6") && text.contains("first_result: 3"),
        "{text}"
    );
    let rest = json!({"where": "file.inFolder(\"Projects\")", "sort": ["file.name desc"], "first_result": 3});
    assert_eq!(paths(&vault.ok("query_notes", rest)), ["Projects/Boat.md"]);
}

#[test]
fn types_are_those_that_obsidian_assigned_and_change_with_them() {
    let vault = tasks();
    let kind = |vault: &TestVault| {
        let asked = json!({"where": "file.name == \"Boat\"", "select": ["due.isType(\"date\")"]});
        vault.ok("query_notes", asked)["rows"][0]["cells"][0].clone()
    };
    assert_eq!(kind(&vault), true);
    vault.put(".obsidian/types.json", r#"{"types": {"due": "text"}}"#);
    assert_eq!(kind(&vault), false);
    vault.put(".obsidian/types.json", r#"{"types": {"due": "date", "more": "text"}}"#);
    assert_eq!(kind(&vault), true);
}

#[test]
fn a_base_shows_its_view_and_so_does_a_block_of_a_note() {
    let vault = tasks();
    let base = "filters: 'file.inFolder(\"Projects\")'\nformulas:\n  twice: priority * 2\nproperties:\n  note.status:\n    displayName: State\nviews:\n  - type: table\n    name: Open\n    filters: status == \"open\"\n    order: [file.name, note.status, formula.twice]\n    groupBy: {property: note.status, direction: ASC}\n    summaries: {note.priority: Sum}\n  - type: table\n    name: All\n";
    vault.put("Tasks.base", base);
    vault.put("Board.md", &format!("# Board\n```base\nviews: []\n```\ntext\n```base\n{base}```\n"));
    vault.context.vault.rescan().expect("scanned");
    let view = vault.ok("query_notes", json!({"base": "Tasks.base"}));
    assert_eq!(view["view"], "Open");
    assert_eq!(paths(&view), ["Projects/Boat.md", "Projects/Deep/Fence.md"]);
    assert_eq!(view["columns"][1]["title"], "State");
    assert_eq!(view["rows"][0]["cells"][2], 4);
    assert_eq!(view["groups"][0]["count"], 2);
    assert_eq!(vault.ok("query_notes", json!({"base": "Tasks", "view": "All"}))["total"], 3);
    let block = vault.ok("query_notes", json!({"base": "Board.md#2"}));
    assert_eq!(block["rows"], view["rows"]);
    vault.err("query_notes", json!({"base": "Board.md#3"}), NotFound);
    vault.err("query_notes", json!({"base": "Tasks.base", "view": "None"}), NotFound);
    vault.err("query_notes", json!({}), InvalidInput);
}

#[test]
fn a_base_in_a_callout_is_a_base_too() {
    let vault = tasks();
    vault.put("Board.md", "> [!info] Open\n> ```base\n> filters: status == \"open\"\n> ```\n");
    vault.context.vault.rescan().expect("scanned");
    let found = vault.ok("query_notes", json!({"base": "Board.md"}));
    assert_eq!(paths(&found), ["Projects/Boat.md", "Projects/Deep/Fence.md"]);
}

#[test]
fn it_says_where_this_is_used_and_not_given() {
    let vault = tasks();
    let own = "filters: status == this.status";
    vault.put("Like.base", own);
    vault.put("Like.md", &format!("```base\n{own}\n```\n"));
    vault.put("All.base", "views: []\n");
    vault.context.vault.rescan().expect("scanned");
    for (asked, is_missing) in [
        (json!({"base": "Like.base"}), true),
        (json!({"base": "Like.base", "this": "Boat"}), false),
        (json!({"base": "Like.md"}), false),
        (json!({"base": "All.base"}), false),
        (json!({"where": "status == this.status"}), true),
    ] {
        let found = vault.ok("query_notes", asked.clone());
        assert_eq!(found["is_this_missing"], is_missing, "{asked}");
    }
}

#[test]
fn blank_arguments_count_as_missing() {
    let vault = tasks();
    let blank =
        json!({"where": "status == \"done\"", "base": "", "view": "", "this": " ", "explain": ""});
    assert_eq!(paths(&vault.ok("query_notes", blank)), ["Projects/Shed.md"]);
    vault.err("query_notes", json!({"where": ""}), InvalidInput);
}

#[test]
fn hints_match_the_error() {
    let vault = tasks();
    vault.put("Bad.base", "views:\n  - limit: x\n");
    vault.context.vault.rescan().expect("scanned");
    for (asked, said) in [
        (json!({"base": "Bad.base"}), "`groupBy`"),
        (json!({"where": "file.name == ", "dialect": "classic"}), "file.mimeType"),
        (json!({"where": "name == "}), "escapeHTML()"),
    ] {
        let error = vault.err("query_notes", asked.clone(), InvalidExpression);
        assert!(error.hint.as_deref().unwrap_or_default().contains(said), "{asked}: {error:?}");
    }
}

#[test]
fn a_wrong_expression_is_named_with_its_place() {
    let vault = tasks();
    for (condition, column) in [("price = 1", 7), ("status ==", 10), ("(a", 1), ("1 +", 4)] {
        let error = vault.err("query_notes", json!({ "where": condition }), InvalidExpression);
        assert_eq!(error.data.as_ref().expect("data")["column"], column, "{condition}");
        assert!(error.message.contains('^') && error.hint.is_some(), "{error:?}");
    }
    let warned = vault.ok("query_notes", json!({"where": "staus == \"open\""}));
    assert!(warned["warnings"][0]["message"].as_str().expect("text").contains("staus"), "{warned}");
    let failed = vault.ok("query_notes", json!({"where": "priority.contains(1)"}));
    assert!(failed["row_errors"]["count"].as_u64() > Some(0), "{failed}");
}

#[test]
fn changes_from_outside_are_seen_by_the_next_question() {
    let vault = tasks();
    let open = r#"status == "open""#;
    assert_eq!(found(&vault, open).len(), 2);
    vault.put("Projects/New.md", "---\nstatus: open\n---\n");
    vault.put("Projects/Boat.md", "---\nstatus: done\n---\n");
    vault.context.vault.rescan().expect("scanned");
    let mut now = found(&vault, open);
    now.sort();
    assert_eq!(now, ["Projects/Deep/Fence.md", "Projects/New.md"]);
}

#[test]
fn it_says_why_a_note_is_in_or_out() {
    let vault = tasks();
    let asked = json!({"where": "status == \"open\" && priority > 3", "explain": "Boat"});
    let answer = vault.ok("query_notes", asked.clone());
    assert_eq!(answer["explanation"]["path"], "Projects/Boat.md");
    assert_eq!(answer["explanation"]["is_row"], false);
    let text = vault.text("query_notes", asked);
    assert!(
        text.contains("Projects/Boat.md is not a row") && text.contains("priority > 3"),
        "{text}"
    );
}

#[test]
fn notes_are_compared_with_the_meaning_of_a_text() {
    let vault = vault(&[
        ("Garage.md", "---\nkind: x\n---\nThe engine of the car does not start.\n"),
        ("Tea.md", "Green tea wants water at eighty degrees.\n"),
        ("Empty.md", ""),
        ("pic.png", "no picture"),
    ]);
    let near = r#"file.similarity("a broken vehicle") > 0.3"#;
    assert_eq!(found(&vault, near), ["Garage.md"]);
    // In the classic dialect a similarity matches above 0.5, unless it is compared.
    let old = |condition: &str| {
        let answer = vault.ok("query_notes", json!({"where": condition, "dialect": "classic"}));
        paths(&answer).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(old("vector_similarity('a broken vehicle') > 0.3"), ["Garage.md"]);
    assert_eq!(old("file.vector_similarity('engine of the car')"), ["Garage.md"]);
    // Like everything else, it reads the notes as they are now.
    vault.ok("write_file", json!({"path": "Tea.md", "content": "The vehicle is broken.\n"}));
    let asked = json!({"where": near, "sort": [r#"file.similarity("a broken vehicle") desc"#],
        "select": [r#"file.similarity("a broken vehicle")"#]});
    let answer = vault.ok("query_notes", asked);
    assert_eq!(paths(&answer), ["Tea.md", "Garage.md"]);
    let values =
        answer["rows"].as_array().unwrap().iter().map(|row| row["cells"][0].as_f64().unwrap());
    assert!(values.clone().all(|value| (0.3..=1.0).contains(&value)), "{answer}");
    let none = "file.similarity('') == 0 && file.similarity('\u{10330}') == 0";
    let none = json!({"where": none});
    assert_eq!(vault.ok("query_notes", none)["total"], 4);
    vault
        .context
        .index
        .knowledge
        .set_settings(Settings { meaning: Model::Off, ..Settings::default() });
    let text = vault.text("query_notes", json!({"where": near}));
    assert!(text.contains("set `knowledge.meaning` to `built-in`"), "{text}");
}
