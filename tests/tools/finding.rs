//! `search_notes` over whole vaults.

use serde_json::{Value, json};
use vault_steward::index::knowledge::{Model, Settings};
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
        (&json!("Kettle"), &json!(1.0), &json!(["title", "words", "meaning"]))
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
    let text = vault.text("search_notes", json!({"query": "descale", "meaning": "off"}));
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
    let leads = graph.in_view(&View::default()).outgoing(&cites).expect("it was read");
    assert_eq!(leads.len(), links.len());
    for lead in leads {
        let target = lead.resolution.target.expect("it leads somewhere");
        assert!(targets.contains(&target.as_str()), "{target}");
    }
}

#[test]
fn a_search_can_be_narrowed() {
    let vault = kitchen();
    let found = |mut asked: Value| {
        asked["meaning"] = json!("off");
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
    let page = |first| {
        let asked = json!({"query": "water", "limit": 1, "first_result": first, "meaning": "off"});
        vault.ok("search_notes", asked)
    };
    let (first, second) = (page(1), page(2));
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

/// Bare words rank, everything else filters exactly; `all` finds what Obsidian does.
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
        let asked = json!({"query": query, "match": matching, "meaning": "off"});
        let answer = vault.ok("search_notes", asked);
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
    let expected = "[`tag:` is followed by nothing: it is searched for as text]";
    assert!(text.contains("[read as: ") && text.contains(expected), "{text}");
}

#[test]
fn what_changes_is_found_as_it_is_now() {
    let vault = kitchen();
    let words = json!({"query": "kettle samovar", "meaning": "off"});
    let asked = || vault.ok("search_notes", words.clone());
    assert_eq!(asked()["total"], 2);
    vault.ok("write_file", json!({"path": "Samovar.md", "content": "a samovar"}));
    assert_eq!(paths(&asked())[0], "Samovar.md");
    vault.ok("move", json!({"source": "Samovar.md", "destination": "Old/Urn.md"}));
    assert_eq!(paths(&asked())[0], "Old/Urn.md");
    vault.ok("delete", json!({"path": "Old/Urn.md"}));
    assert_eq!(asked()["total"], 2);
}

/// For the questions of a fixture: their number, for how many the right note is first, and for how
/// many among the first five.
fn recall(questions: &str, meaning: &str) -> (usize, usize, usize) {
    let notes = include_str!("../../fixtures/knowledge/notes.txt").replace("\r\n", "\n");
    let notes: Vec<(&str, &str)> =
        notes.split("=== ").filter_map(|note| note.split_once('\n')).collect();
    let vault = vault(&notes);
    let (mut first, mut among_five, mut missed) = (0, 0, Vec::new());
    let questions: Vec<_> = questions.lines().filter_map(|line| line.split_once(" -> ")).collect();
    for (question, note) in &questions {
        assert!(notes.iter().any(|(path, _)| path == note), "{note}");
        let asked = json!({"query": question, "limit": 5, "meaning": meaning});
        let answer = vault.ok("search_notes", asked);
        match paths(&answer).iter().position(|path| path == note) {
            Some(0) => (first, among_five) = (first + 1, among_five + 1),
            Some(_) => among_five += 1,
            None => missed.push(*question),
        }
    }
    println!("{meaning}: {first} first, {among_five} among five, without {missed:?}");
    (questions.len(), first, among_five)
}

#[test]
fn questions_in_plain_words_find_their_notes() {
    let questions = include_str!("../../fixtures/knowledge/questions.txt");
    for meaning in ["off", "auto"] {
        let (all, first, among_five) = recall(questions, meaning);
        assert!(among_five * 100 >= all * 95, "{meaning}: {among_five} of {all}");
        assert!(first * 100 >= all * 90, "{meaning}: {first} of {all} are first");
    }
}

#[test]
fn questions_in_other_words_find_their_notes() {
    let questions = include_str!("../../fixtures/knowledge/meanings.txt");
    let (all, _, by_words) = recall(questions, "off");
    for meaning in ["auto", "only"] {
        let (_, first, among_five) = recall(questions, meaning);
        assert!(among_five * 100 >= all * 60, "{meaning}: {among_five} of {all}");
        assert!(first * 100 >= all * 12, "{meaning}: {first} of {all} are first");
        assert!(among_five > by_words, "{by_words} by words alone");
    }
}

#[test]
fn notes_are_found_by_what_they_mean() {
    let vault = vault(&[
        ("Garage.md", "# Engine\nThe car does not start.\n"),
        ("Tea.md", "Green tea wants water at eighty degrees.\n"),
        ("Old/Van.md", "The truck was sold.\n"),
    ]);
    let asked = |meaning: &str| {
        vault.ok("search_notes", json!({"query": "a vehicle that is broken", "meaning": meaning}))
    };
    let found = asked("auto");
    assert_eq!((&found["meaning"], paths(&found)[0]), (&json!("used"), "Garage.md"), "{found}");
    let best = &found["notes"][0];
    assert_eq!(best["why"], json!(["meaning"]));
    assert_eq!(best["chunks"][0]["link"], "[[Garage#Engine]]");
    assert!(!paths(&found).contains(&"Tea.md"), "{found}");
    let (off, only) = (asked("off"), asked("only"));
    assert_eq!((&off["meaning"], &off["total"]), (&json!("off"), &json!(0)));
    assert_eq!((&only["meaning"], paths(&only)[0]), (&json!("used"), "Garage.md"));
    // Filters also apply to notes found by meaning.
    let narrowed = vault.ok("search_notes", json!({"query": "vehicle -sold path:Old"}));
    assert_eq!(narrowed["total"], 0, "{narrowed}");
    let narrowed = vault.ok("search_notes", json!({"query": "vehicle", "path": "Old"}));
    assert_eq!(paths(&narrowed), ["Old/Van.md"]);
    // The model knows no such word; a search that does not rank needs no meaning.
    let unknown = vault.ok("search_notes", json!({"query": "\u{10330}\u{10331}"}));
    assert_eq!((&unknown["meaning"], &unknown["total"]), (&json!("no_words"), &json!(0)));
    let all = vault.ok("search_notes", json!({"query": "truck", "match": "all"}));
    assert_eq!((&all["meaning"], paths(&all)), (&json!("off"), vec!["Old/Van.md"]));
    vault.ok("write_file", json!({"path": "Bike.md", "content": "A bicycle with a flat tyre.\n"}));
    let punctured = json!({"query": "cycling puncture", "meaning": "only"});
    assert_eq!(paths(&vault.ok("search_notes", punctured))[0], "Bike.md");
    let knowledge = &vault.context.index.knowledge;
    let settings = |meaning| knowledge.set_settings(Settings { meaning, ..Settings::default() });
    settings(Model::Off);
    assert_eq!(asked("auto")["meaning"], "off");
    let summary = vault.context.index.knowledge.summary();
    assert_eq!((summary.model, summary.vectors), (None, 0));
    settings(Model::BuiltIn);
    assert_eq!(paths(&asked("auto"))[0], "Garage.md");
}

/// As in Obsidian.
#[test]
fn excluded_files_come_last() {
    let vault = vault(&[
        (".obsidian/app.json", r#"{"userIgnoreFilters": ["Archive/"]}"#),
        ("Archive/Kettle.md", "kettle kettle kettle\n"),
        ("Tea.md", "Fill the kettle first.\n"),
    ]);
    let found = vault.ok("search_notes", json!({"query": "kettle"}));
    assert_eq!(paths(&found), ["Tea.md", "Archive/Kettle.md"]);
    let marks = [&found["notes"][0]["excluded"], &found["notes"][1]["excluded"]];
    assert_eq!(marks, [&Value::Null, &json!(true)]);
    assert_eq!(found["notes"][1]["score"], 1.0);
    let text = vault.text("search_notes", json!({"query": "kettle"}));
    assert!(text.contains("title, words, meaning  (an excluded file)\n"), "{text}");
}

/// The wanted note has rare words, meaning or links in common; notes that are already linked are
/// left out.
#[test]
fn notes_that_have_to_do_with_a_note_are_found() {
    let vault = vault(&[
        ("Kettle.md", "Descale the kettle with citric acid. [[Kitchen]]\n"),
        ("Kitchen.md", "All about cooking: [[Kettle]]\n"),
        ("Limescale.md", "Descale with citric acid.\n"),
        ("Teapot.md", "A pot to brew tea in.\n"),
        ("Stove.md", "[[Kitchen]]\n"),
        ("Taxes.md", "Receipts until July.\n"),
    ]);
    let related = |asked: Value| vault.ok("related_notes", asked);
    let found = related(json!({"path": "kettle"}));
    assert_eq!((&found["path"], &found["meaning"]), (&json!("Kettle.md"), &json!("used")));
    let why = |path: &str| {
        let notes = found["notes"].as_array().expect("notes").iter();
        notes.clone().find(|note| note["path"] == path).map(|note| note["why"].clone())
    };
    assert_eq!(paths(&found)[0], "Limescale.md", "{found}");
    assert_eq!(why("Limescale.md"), Some(json!(["meaning", "words"])), "{found}");
    assert_eq!(why("Teapot.md"), Some(json!(["meaning"])), "{found}");
    assert!(why("Stove.md").is_some_and(|why| why.to_string().contains("links")), "{found}");
    assert_eq!((why("Kitchen.md"), why("Taxes.md"), why("Kettle.md")), (None, None, None));
    let with = related(json!({"path": "Kettle", "linked": true, "limit": 50}));
    assert!(paths(&with).contains(&"Kitchen.md"), "{with}");
    let second = related(json!({"path": "Kettle", "limit": 1, "first_result": 2}));
    assert_eq!((paths(&second), &second["total"]), (vec![paths(&found)[1]], &found["total"]));
    let text = vault.text("related_notes", json!({"path": "Kettle", "limit": 1}));
    assert!(text.starts_with("Limescale.md  0.") && text.contains("  [[Limescale]]\n"), "{text}");
    vault.err("related_notes", json!({"path": "Nowhere"}), NotFound);
    vault.err("related_notes", json!({"path": "Kettle", "limit": 0}), InvalidInput);
    vault
        .context
        .index
        .knowledge
        .set_settings(Settings { meaning: Model::Off, ..Settings::default() });
    let by_words = related(json!({"path": "Kettle"}));
    assert_eq!(by_words["meaning"], "off");
    assert!(paths(&by_words).contains(&"Limescale.md"), "{by_words}");
    assert!(!paths(&by_words).contains(&"Teapot.md"), "{by_words}");
}
