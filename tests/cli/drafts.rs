//! `steward organize draft`, with the real daemon and a model server.

use serde_json::json;

use crate::chat::{Place, WIRE};
use crate::script::says;

const RULES: &str = "Here:\n```yaml\nrules:\n  - name: Archive old recipes\n    in: [Recipes]\n    \
    when: status == \"done\" && file.hasTag(\"recipe\")\n    do:\n      - move: Archive\n```\n";

#[test]
fn a_sentence_becomes_rules_that_are_shown_and_change_nothing() {
    let place = Place::new(vec![
        says(WIRE, "rules:\n  - name: x\n    when: status = 1\n"),
        says(WIRE, RULES),
    ]);
    let write = |name: &str, text: &str| std::fs::write(place.vault.join(name), text).unwrap();
    write("Recipes/Old.md", "---\nstatus: done\ntags: [recipe]\n---\n");
    write("Recipes/Near.md", "---\nstatus: open\ntags: [recipe]\n---\n");
    let run = |arguments: &[&str]| place.home.run_in(&place.vault, arguments);

    let arguments =
        ["organize", "draft", "finished recipes into the archive", "--save", "Tidy.yaml"];
    let text = run(&arguments).expect(0).stdout;
    assert!(text.contains("move: Archive"), "{text}");
    assert!(text.contains("has the tag #recipe"), "{text}");
    assert!(text.contains("Fits 1 file now."), "{text}");
    let why = "Fits 1 file now.\n    Recipes/Old.md\n      → Archive/Old.md\n      status == \"done\"  true: status is done\n";
    assert!(text.contains(why), "{text}");
    assert!(text.contains("Nearly taken:\n  Recipes/Near.md\n"), "{text}");
    assert!(text.contains("Nothing is changed yet."), "{text}");
    assert!(place.vault.join("Recipes/Old.md").exists());
    assert!(place.note("Tidy.yaml").starts_with("rules:"), "{}", place.note("Tidy.yaml"));

    // The model got the errors of its first attempt, and had no tools.
    let asked = place.server.requests();
    assert_eq!(asked.len(), 2);
    let second = String::from_utf8_lossy(&asked[1].body);
    assert!(second.contains("`==`"), "{second}");
    assert!(second.contains("Recipes"), "{second}");

    let usage = run(&["usage", "--json"]).expect(0).json();
    assert_eq!(usage["total"]["requests"], 2, "{usage}");
    assert!(usage["total"]["output"].as_u64() > Some(0), "{usage}");

    let plan =
        run(&["organize", "plan", "Tidy.yaml", "--json"]).expect(0).json()["plan"].to_string();
    let done = run(&["organize", "apply", &plan, "--yes", "--json"]).expect(0).json();
    assert_eq!(done["state"], json!("completed"), "{done}");
    assert!(place.vault.join("Archive/Old.md").exists());
}

#[test]
fn invalid_rules_are_shown_with_their_errors() {
    let bad = "rules:\n  - name: x\n    when: status = 1\n";
    let place = Place::new(vec![says(WIRE, bad), says(WIRE, bad), says(WIRE, bad)]);
    let refused = place.home.run_in(&place.vault, &["organize", "draft", "tidy up"]).expect(1);
    assert!(refused.stderr.contains("in 3 tries"), "{refused:?}");
    assert!(refused.stderr.contains("status = 1"), "{refused:?}");
    let usage = place.home.run_in(&place.vault, &["usage", "--json"]).expect(0).json();
    assert_eq!(usage["total"]["requests"], 3, "{usage}");
}
