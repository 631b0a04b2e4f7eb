//! `search_notes` over whole vaults.

use serde_json::{Value, json};
use vault_steward::index::links::missing_parts;
use vault_steward::note::code::ErrorCode::{InvalidInput, NotFound};
use vault_steward::note::path::VaultPath;
use vault_steward::vault::{Cancel, View};

use crate::vault::{TestVault, vault};

fn paths(answer: &Value) -> Vec<&str> {
    let notes = answer["notes"].as_array().expect("notes");
    notes.iter().map(|note| note["path"].as_str().expect("a path")).collect()
}

fn kitchen() -> TestVault {
    vault(&[
        (
            "Kettle.md",
            "# Care\n## Descaling: how\nBoil the kettle with citric acid.\n# Repair\n## Lid\nGlue it.\n",
        ),
        (
            "Old/Kettle.md",
            "# A\n## Same\nnothing\n# B [[x|y]] #1\n## Same\nThe old kettle whistled.\n",
        ),
        ("Tea.md", "Green tea wants water at eighty degrees.\n"),
        ("Coffee.md", "Water at ninety degrees. No green beans.\n"),
    ])
}

#[test]
fn notes_are_found_with_passages_and_links_that_lead_there() {
    let vault = kitchen();
    let found = vault.ok("search_notes", json!({"query": "how do I descale my kettles?"}));
    assert_eq!(paths(&found)[0], "Kettle.md");
    let best = &found["notes"][0];
    assert_eq!(
        (&best["title"], &best["score"], &best["why"]),
        (&json!("Kettle"), &json!(1.0), &json!(["title", "words"]))
    );
    let chunk = &best["chunks"][0];
    assert_eq!(chunk["headings"], json!(["Care", "Descaling: how"]));
    assert!(chunk["snippet"].as_str().expect("text").contains("citric acid"), "{chunk}");
    // Another note has its name, so the whole path.
    let links: Vec<&str> = found["notes"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|note| note["chunks"].as_array().into_iter().flatten())
        .map(|chunk| chunk["link"].as_str().expect("a link"))
        .collect();
    assert!(links.contains(&"[[Old/Kettle#B x y 1#Same]]"), "{links:?}");
    let text = vault.text("search_notes", json!({"query": "descale"}));
    assert!(
        text.starts_with("Kettle.md  1.00  words\n  1-3  [[Kettle#Descaling: how]]\n"),
        "{text}"
    );
    let targets: Vec<&str> = paths(&found);
    vault.ok("write_file", json!({"path": "Cites.md", "content": links.join("\n")}));
    let graph = &vault.context.index.links;
    graph.refresh(&Cancel::default()).expect("nobody withdraws");
    assert_eq!(missing_parts(graph, &VaultPath::root()), []);
    let cites = VaultPath::from_disk("Cites.md").expect("a path");
    let leads = graph.seen_through(&View::default()).outgoing(&cites).expect("it was read");
    assert_eq!(leads.len(), links.len());
    for lead in leads {
        let target = lead.resolution.target.expect("it leads somewhere");
        assert!(targets.contains(&target.as_str()), "{target}");
    }
}

#[test]
fn a_search_can_be_narrowed() {
    let vault = kitchen();
    let found = |asked: Value| {
        let answer = vault.ok("search_notes", asked);
        let mut paths: Vec<String> = paths(&answer).into_iter().map(str::to_owned).collect();
        paths.sort();
        (paths.join(" "), answer["total"].as_u64().expect("a number"))
    };
    for (asked, expected) in [
        (json!({"query": "kettle", "path": "Old"}), ("Old/Kettle.md", 1)),
        (json!({"query": "water green"}), ("Coffee.md Tea.md", 2)),
        (json!({"query": "water green tea", "match": "all"}), ("Tea.md", 1)),
        (json!({"query": "\"Green tea\""}), ("Tea.md", 1)),
        (json!({"query": "water -beans"}), ("Tea.md", 1)),
        (json!({"query": "-water"}), ("Kettle.md Old/Kettle.md", 2)),
        (json!({"query": "water", "since": "1h", "path": ""}), ("Coffee.md Tea.md", 2)),
        (json!({"query": "water", "until": "1h"}), ("", 0)),
        (json!({"query": "!?"}), ("", 0)),
    ] {
        let (paths, total) = found(asked.clone());
        assert_eq!((&*paths, total), expected, "{asked}");
    }
    let first = vault.ok("search_notes", json!({"query": "water", "limit": 1}));
    let second = vault.ok("search_notes", json!({"query": "water", "limit": 1, "first_result": 2}));
    assert_eq!((paths(&first).len(), first["total"].as_u64()), (1, Some(2)));
    assert_ne!(paths(&first), paths(&second));
    vault.err("search_notes", json!({"query": "x", "path": "Nowhere"}), NotFound);
    for wrong in [
        json!({"query": " "}),
        json!({"query": "x", "limit": 51}),
        json!({"query": "x", "since": "soon"}),
    ] {
        vault.err("search_notes", wrong, InvalidInput);
    }
}

/// Bare words rank, all else filters exactly; `all` finds what Obsidian does.
#[test]
fn the_search_language_of_obsidian_is_understood() {
    let vault = vault(&[
        (
            "Work/Plan.md",
            "---\ntags: [work/urgent]\nstatus: Draft\nhours: 4\n---\n# One\nThe meetings of the year.\n\
             - [ ] call Ann\n- [x] mail Bob\n# Two\nAnn and Bob met.\n",
        ),
        (
            "Work/Minutes.md",
            "---\nstatus:\nhours: 6\n---\nThe meeting, #work, was short.\nAnn left.\n",
        ),
        ("Home.md", "A meeting with Bob about `#work`.\n"),
    ]);
    let found = |query: &str, matching: &str| {
        let answer = vault.ok("search_notes", json!({"query": query, "match": matching}));
        let mut paths: Vec<String> = paths(&answer).into_iter().map(str::to_owned).collect();
        paths.sort();
        assert_eq!(answer["total"], paths.len(), "{query}");
        (paths.join(" "), answer)
    };
    let (home, minutes, plan) = ("Home.md", "Work/Minutes.md", "Work/Plan.md");
    for (query, ranked, all) in [
        ("meeting tag:#work", vec![minutes, plan], vec![minutes, plan]),
        ("meetng path:minutes", vec![minutes], vec![]),
        ("meeting -tag:work", vec![home], vec![home]),
        ("meeting short", vec![home, minutes, plan], vec![minutes]),
        ("meeting -(ann bob)", vec![home, minutes], vec![home, minutes]),
        ("\"meeting with\" OR file:plan", vec![home, plan], vec![home, plan]),
        ("short OR path:Work", vec![minutes, plan], vec![minutes, plan]),
        ("line:(ann bob)", vec![plan], vec![plan]),
        ("line:(ann left) match-case:Ann", vec![minutes], vec![minutes]),
        ("section:(ann mail) block:(ann met)", vec![plan], vec![plan]),
        ("task-todo:call -task-done:call", vec![plan], vec![plan]),
        ("[status]", vec![minutes, plan], vec![minutes, plan]),
        ("[status:null]", vec![minutes], vec![minutes]),
        ("[status:draft] [hours:<5]", vec![plan], vec![plan]),
        ("/m[a-z]+s of/", vec![plan], vec![plan]),
        ("-meeting", vec![], vec![]),
    ] {
        assert_eq!(found(query, "ranked").0, ranked.join(" "), "{query}");
        assert_eq!(found(query, "all").0, all.join(" "), "{query}");
    }
    let (_, answer) = found("meeting -short", "ranked");
    assert_eq!(
        answer["understood"],
        "the best for \"meeting\" first; only files without \"short\""
    );
    let (_, answer) = found("meeting short", "all");
    assert_eq!(answer["understood"], "files with \"meeting\" and \"short\"");
    assert_eq!(answer["ignored"], json!([]));
    for wrong in ["/(/", "tag:", "[", "line:(", "\"", "(", "a:b", "*", "NEAR(", "C++", "AND"] {
        found(wrong, "ranked");
        found(wrong, "all");
    }
    let text = vault.text("search_notes", json!({"query": "zzzzz tag:"}));
    let expected = "[`tag:` has nothing right behind it: it is searched for as text]";
    assert!(text.contains("[read as: ") && text.contains(expected), "{text}");
}

#[test]
fn what_changes_is_found_as_it_is_now() {
    let vault = kitchen();
    let asked = || vault.ok("search_notes", json!({"query": "kettle samovar"}));
    assert_eq!(asked()["total"], 2);
    vault.ok("write_file", json!({"path": "Samovar.md", "content": "a samovar"}));
    assert_eq!(paths(&asked())[0], "Samovar.md");
    vault.ok("move", json!({"source": "Samovar.md", "destination": "Old/Urn.md"}));
    assert_eq!(paths(&asked())[0], "Old/Urn.md");
    vault.ok("delete", json!({"path": "Old/Urn.md"}));
    assert_eq!(asked()["total"], 2);
}

#[test]
fn questions_in_plain_words_find_their_notes() {
    let notes = include_str!("../../fixtures/knowledge/notes.txt").replace("\r\n", "\n");
    let notes: Vec<(&str, &str)> =
        notes.split("=== ").filter_map(|note| note.split_once('\n')).collect();
    let vault = vault(&notes);
    let (mut first, mut among_five, mut missed) = (0, 0, Vec::new());
    let questions = include_str!("../../fixtures/knowledge/questions.txt").lines();
    let questions: Vec<_> = questions.filter_map(|line| line.split_once(" -> ")).collect();
    for (question, note) in &questions {
        assert!(notes.iter().any(|(path, _)| path == note), "{note}");
        let answer = vault.ok("search_notes", json!({"query": question, "limit": 5}));
        match paths(&answer).iter().position(|path| path == note) {
            Some(0) => (first, among_five) = (first + 1, among_five + 1),
            Some(_) => among_five += 1,
            None => missed.push(*question),
        }
    }
    let all = questions.len();
    assert!(among_five * 100 >= all * 95, "{among_five} of {all}, without {missed:?}");
    assert!(first * 100 >= all * 90, "{first} of {all} are first");
}
