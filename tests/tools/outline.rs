//! `vault_outline` over whole vaults.

use serde_json::{Value, json};
use vault_steward::note::code::ErrorCode::{InvalidInput, NotFound};
use vault_steward::tools::opening;

use crate::vault::{TestVault, vault};

/// 60 daily notes, a folder with many notes, one with folders in it, notes at the top.
fn house() -> TestVault {
    let mut files: Vec<(String, String)> = Vec::new();
    for day in 1..=30 {
        for month in ["09", "10"] {
            let text = format!("Read [[Plan]].\n#day {day}\n");
            files.push((format!("Daily/2026-{month}-{day:02}.md"), text));
        }
    }
    for number in 0..230_usize {
        let name = format!("{}{}", (b'a' + (number % 26) as u8) as char, "o".repeat(number / 26));
        files.push((format!("People/{name}.md"), "#person #contact\n".to_owned()));
    }
    files.push(("Projects/Garden/Beds.md".to_owned(), "#garden [[Plan]]\n".to_owned()));
    files.push(("Projects/Garden/Seeds.md".to_owned(), "#garden [[a]]\n".to_owned()));
    files.push(("Projects/Garden/map.png".to_owned(), "png".to_owned()));
    files.push(("Plan.md".to_owned(), "The plan. #day\n".to_owned()));
    files.push(("Home.md".to_owned(), "[[Plan]] [[Home]]\n".to_owned()));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
    vault(&files)
}

/// The number of notes that the lines count: those of closed lines, and of `more` and `alike`.
fn counted(answer: &Value) -> u64 {
    let entries = answer["entries"].as_array().expect("lines").iter();
    let closed = entries.filter(|line| line["open"] == false);
    closed.map(|line| line["notes"].as_u64().expect("a number")).sum()
}

#[test]
fn an_outline_fits_its_budget_and_tells_every_note_once() {
    let vault = house();
    for budget in [200, 250, 300, 400, 600, 900, 1_500, 2_500, 4_000, 8_000, 30_000] {
        let asked = json!({"budget": budget});
        let (answer, text) =
            (vault.ok("vault_outline", asked.clone()), vault.text("vault_outline", asked.clone()));
        assert!(text.chars().count() <= budget, "{budget}: {}\n{text}", text.chars().count());
        assert_eq!((counted(&answer), &answer["notes"]), (294, &json!(294)), "{budget}\n{text}");
        assert_eq!(text, vault.text("vault_outline", asked), "the same bytes each time");
    }
    let text = vault.text("vault_outline", json!({"budget": 600}));
    let first = text.lines().next().expect("a line");
    assert!(first.starts_with("294 notes, 4 folders, 1 other file, newest 20"), "{first}");
    assert!(text.contains("\ntags: #contact 230, #person 230"), "{text}");
    assert!(text.contains("\nmost linked: Plan.md 62"), "{text}");
    assert!(text.contains("\nDaily/  60 notes, 20"), "{text}");
    assert!(text.contains("\n  2026-09-01 … 2026-10-30, 60 notes\n"), "{text}");
    assert!(text.contains("#garden"), "{text}");
    let text = vault.text("vault_outline", json!({"budget": 30_000}));
    assert!(text.contains("\n    Beds\n    Seeds\n"), "{text}");
    assert!(text.contains("\n  … 218 more notes\n"), "too many to be named: {text}");
    let linked = vault.ok("vault_outline", json!({}))["most_linked"].clone();
    assert_eq!(
        linked,
        json!([{"name": "Plan.md", "count": 62}, {"name": "People/a.md", "count": 1}])
    );
}

#[test]
fn a_folder_alone_can_be_outlined() {
    let vault = house();
    let answer = vault.ok("vault_outline", json!({"path": "projects"}));
    assert_eq!(
        (&answer["notes"], &answer["folders"], &answer["path"]),
        (&json!(2), &json!(1), &json!("Projects"))
    );
    assert_eq!(answer["tags"], json!([{"name": "garden", "count": 2}]));
    let text = vault.text("vault_outline", json!({"path": "Projects"}));
    assert!(text.contains("\nGarden/  2 notes, 1 file, 20"), "{text}");
    assert!(!text.contains("People/"), "{text}");
    let empty = TestVault::new(&[("Nothing/", "")], |_| ());
    assert_eq!(counted(&empty.ok("vault_outline", json!({}))), 0);
    assert!(opening(&empty.context).is_none());
    vault.err("vault_outline", json!({"path": "Nowhere"}), NotFound);
    for wrong in [json!({"budget": 199}), json!({"budget": 30_001}), json!({"budget": -1})] {
        vault.err("vault_outline", wrong, InvalidInput);
    }
}

/// The agent's notice at the beginning of a conversation.
#[test]
fn a_conversation_begins_with_a_short_outline() {
    let text = opening(&house().context).expect("there are notes");
    assert!(text.chars().count() <= 900, "{text}");
    for part in ["294 notes", "\nDaily/  60 notes", "\nPeople/  230 notes", "\nProjects/  2 notes"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn names_cannot_break_the_lines_or_the_budget() {
    let long = "n".repeat(240);
    let files = [(format!("{long}/{long}.md"), ""), ("a\u{202e}b.md".to_owned(), "")];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, *text)).collect();
    let vault = vault(&files);
    let text = vault.text("vault_outline", json!({"budget": 200}));
    assert!(text.chars().count() <= 200 && !text.contains('\u{202e}'), "{text}");
    assert_eq!(counted(&vault.ok("vault_outline", json!({"budget": 200}))), 2);
}
