//! Reading PDFs.

use serde_json::{Value, json};
use vault_steward::index::knowledge::Settings;
use vault_steward::note::code::ErrorCode::{BinaryFile, InvalidInput};
use vault_steward::vault::nonblocking::attempt;

use crate::vault::{TestVault, vault};

/// An ASCII-only PDF with these words on its pages.
fn pdf(pages: &[&str]) -> String {
    let kids: Vec<String> = (0..pages.len()).map(|page| format!("{} 0 R", 4 + page * 2)).collect();
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        format!("<</Type/Pages/Kids[{}]/Count {}>>", kids.join(" "), pages.len()),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
    ];
    for words in pages {
        let program = match *words {
            "" => "0 0 9 9 re f".to_owned(),
            words => format!("BT /F 12 Tf 72 700 Td ({words}) Tj ET"),
        };
        objects.push(format!(
            "<</Type/Page/Parent 2 0 R/Contents {} 0 R/Resources<</Font<</F 3 0 R>>>>>>",
            objects.len() + 2
        ));
        objects.push(format!("<</Length {}>>stream\n{program}\nendstream", program.len()));
    }
    let (mut text, mut offsets) = ("%PDF-1.4\n".to_owned(), String::new());
    for (at, object) in objects.iter().enumerate() {
        offsets.push_str(&format!("{:010} 00000 n \n", text.len()));
        text.push_str(&format!("{} 0 obj\n{object}\nendobj\n", at + 1));
    }
    let (start, count) = (text.len(), objects.len() + 1);
    text + &format!(
        "xref\n0 {count}\n0000000000 65535 f \n{offsets}trailer<</Size {count}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n"
    )
}

#[test]
fn a_pdf_is_read_page_by_page() {
    let vault = vault(&[("Paper.pdf", &pdf(&["On soil", "", "On worms"]))]);
    let text = vault.text("read_file", json!({"path": "paper.pdf"}));
    assert!(text.starts_with("Paper.pdf\nPDF, 3 pages, 961 B\n[page 1]\n"), "{text}");
    let pages = "[page 1]\nOn soil\n[page 2: no text]\n[page 3]\nOn worms\n[pages 1-3 of 3]";
    assert!(text.ends_with(pages), "{text}");
    let read = vault.ok("read_file", json!({"path": "paper.pdf", "start_page": 3}));
    let wanted = json!({"first": 3, "last": 3, "total": 3, "next_start_page": null});
    assert_eq!((&read["pages"], &read["content"]), (&wanted, &json!("[page 3]\nOn worms\n")));
    assert_eq!(read["encoding"], "application/pdf");
    let answer = vault.call("read_file", &json!({"path": "paper.pdf"})).expect("read");
    assert!(answer.read_updates.is_empty(), "a text may not replace it unread");
}

#[test]
fn a_long_pdf_is_continued_where_the_answer_ended() {
    let words: Vec<String> =
        (1..=60).map(|page| format!("page {page} {}", "word ".repeat(60))).collect();
    let mut vault =
        vault(&[("long.pdf", &pdf(&words.iter().map(String::as_str).collect::<Vec<_>>()))]);
    vault.context.max_chars = 4_000;
    let (mut next, mut seen) = (json!(1), 0);
    while !next.is_null() {
        let arguments = json!({"path": "long.pdf", "start_page": next});
        let text = vault.text("read_file", arguments.clone());
        assert!(text.len() <= 4_000, "{}", text.len());
        let read = vault.ok("read_file", arguments);
        let (first, last) = (read["pages"]["first"].as_u64(), read["pages"]["last"].as_u64());
        assert_eq!(first, Some(seen + 1));
        seen = last.expect("a page");
        next = read["pages"]["next_start_page"].clone();
        let goes_on = format!("; go on with start_page {}]", seen + 1);
        assert_eq!(text.ends_with(&goes_on), next != Value::Null, "{text}");
    }
    assert_eq!(seen, 60);
}

#[test]
fn a_pdf_without_text_and_one_that_cannot_be_read_say_so() {
    let whole = pdf(&["Text"]);
    let vault = vault(&[
        ("scan.pdf", &pdf(&["", ""])),
        ("whole.pdf", &whole),
        ("broken.pdf", "%PDF-1.7\nnothing\n"),
        ("note.md", "%PDF-1.4 is how such a file begins\n"),
        ("notes.txt", "one\n"),
    ]);
    let scan = vault.text("read_file", json!({"path": "scan.pdf"}));
    assert!(scan.contains("they may be images, such as a scan"), "{scan}");
    let broken = vault.err("read_file", json!({"path": "broken.pdf"}), BinaryFile);
    assert!(broken.message.starts_with("`broken.pdf` is a PDF that is damaged: "), "{broken}");
    let note = vault.text("read_file", json!({"path": "note.md"}));
    assert!(note.ends_with("1: %PDF-1.4 is how such a file begins\n[lines 1-1 of 1]"), "{note}");
    for (path, arguments, said) in [
        ("whole.pdf", json!({"start_line": 2}), "`whole.pdf` is a PDF and has no lines"),
        ("whole.pdf", json!({"start_page": 2}), "`whole.pdf` has 1 page; there is no page 2"),
        ("whole.pdf", json!({"start_page": 0}), "`start_page` is 0"),
        ("notes.txt", json!({"start_page": 1}), "`notes.txt` is text, and has no pages"),
    ] {
        let mut arguments = arguments;
        arguments["path"] = path.into();
        let refused = vault.err("read_file", arguments, InvalidInput);
        assert!(refused.message.starts_with(said), "{refused}");
    }
    let read = || vault.call("read_file", &json!({"path": "whole.pdf"}));
    assert!(read().is_ok() && attempt(read).is_none(), "not for a thread that must not wait");
}

fn paths(answer: &Value) -> Vec<&str> {
    let notes = answer["notes"].as_array().expect("notes");
    notes.iter().map(|note| note["path"].as_str().expect("a path")).collect()
}

fn search(vault: &TestVault, query: &str) -> Value {
    vault.ok("search_notes", json!({"query": query, "meaning": "off"}))
}

#[test]
fn attachments_are_found_by_their_names_and_canvases_by_their_cards() {
    let vault = vault(&[
        ("Garden.md", "A pear tree stands beside the shed.\n"),
        ("Pictures/Late pear.png", "not looked into"),
        ("Seed catalogue.pdf", &pdf(&["Kohlrabi"])),
        (
            "Plan.canvas",
            r#"{"nodes":[{"id":"1","type":"text","text":"Build a trellis"},{"id":"2","type":"text","text":"Buy twine"}]}"#,
        ),
        ("notes.txt", "pear"),
    ]);
    let found = search(&vault, "pear");
    assert_eq!(paths(&found), ["Garden.md", "Pictures/Late pear.png"], "a note comes first");
    assert_eq!(found["notes"][1]["why"], json!(["title"]));
    let found = search(&vault, "twine");
    assert_eq!(paths(&found), ["Plan.canvas"]);
    let chunk = &found["notes"][0]["chunks"][0];
    assert_eq!(
        (&chunk["snippet"], &chunk["link"]),
        (&json!("Buy twine"), &json!("[[Plan.canvas]]"))
    );
    assert_eq!(paths(&search(&vault, "seed catalogues")), ["Seed catalogue.pdf"]);
    assert_eq!(search(&vault, "kohlrabi")["total"], 0, "the settings do not allow it");
    // A filter without names is about texts.
    assert_eq!(paths(&search(&vault, "-shed")), ["Plan.canvas"]);
    assert_eq!(paths(&search(&vault, "file:pear")), ["Pictures/Late pear.png"]);
}

#[test]
fn the_text_of_a_pdf_is_found_where_the_settings_allow_it() {
    let book = ["The beetle sleeps", "", "Turn the heap in autumn"];
    let vault = vault(&[("Book.pdf", &pdf(&book)), ("Stones.md", "A heap of stones.\n")]);
    let knowledge = &vault.context.index.knowledge;
    let settings = |pdf| Settings { pdf, ..Settings::default() };
    knowledge.set_settings(settings(true));
    let asked = json!({"query": "turn the heap in autumn"});
    let found = vault.ok("search_notes", asked);
    assert_eq!(paths(&found), ["Book.pdf", "Stones.md"]);
    let best = &found["notes"][0];
    assert_eq!(best["why"], json!(["words", "meaning"]), "{found}");
    let chunk = &best["chunks"][0];
    assert_eq!(
        (&chunk["link"], &chunk["headings"], &chunk["snippet"]),
        (&json!("[[Book.pdf#page=3]]"), &json!(["page 3"]), &json!(book[2]))
    );
    assert_eq!(paths(&search(&vault, "\"the heap\" -stones")), ["Book.pdf"]);
    assert_eq!(paths(&search(&vault, "sleeping insects")), ["Book.pdf"]);
    assert_eq!(knowledge.summary().pdfs, Some(1));
    vault.put("Book.pdf", &pdf(&["On worms"]));
    assert_eq!(paths(&search(&vault, "worm")), ["Book.pdf"]);
    assert_eq!(paths(&search(&vault, "heap")), ["Stones.md"]);
    knowledge.set_settings(settings(false));
    assert_eq!(paths(&search(&vault, "worm")), [""; 0]);
    assert_eq!(paths(&search(&vault, "book")), ["Book.pdf"]);
    assert_eq!(knowledge.summary().pdfs, None);
}
