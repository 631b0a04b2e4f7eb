//! Searching conversations.

use proptest::prelude::*;
use vault_steward::conversation::{ConversationId, EndKind, ItemKind};

use crate::clock::{NOON, Set, conversations, exchange, item, message};

#[test]
fn words_parts_of_words_and_scripts_without_blanks_are_found() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let open = conversations(folder.path(), &clock);
    for (asked, answer) in [
        ("Where did I write about the Überraschungsparty?", "In `Feiern/2026.md`."),
        ("请整理会议笔记", "移动了六个笔记"),
        ("会議のメモを探して", "見つかりました 🦀 crab"),
        ("C++ or foo-bar* NOT \"x AND y\" (a:b) 100%_sure", "it's fine"),
        ("naïve café résumé", "ok"),
    ] {
        let id = exchange(&open, &message(asked), answer).conversation;
        open.end(id, EndKind::Person, "").unwrap();
    }
    let found = |text: &str| -> Vec<i64> {
        open.search(text, 50).unwrap().iter().map(|one| one.conversation.id.0).collect()
    };
    assert_eq!(found("überraschung"), [1]);
    assert_eq!(found("RASCHUNGSPARTY"), [1], "a part of a word, in another case");
    assert_eq!(found("feiern 2026"), [1], "all words, in any order");
    assert!(found("2026 feiern missing").is_empty());
    assert_eq!(found("会议笔记"), [2]);
    assert_eq!(found("会议"), [2], "two characters, which the index does not know");
    assert_eq!(found("笔"), [2]);
    assert_eq!(found("会議"), [3]);
    assert_eq!(found("🦀"), [3]);
    assert_eq!(found("🦀 crab"), [3]);
    assert_eq!(found("C++"), [4]);
    assert_eq!(found("foo-bar*"), [4]);
    assert_eq!(found("\"x and y\""), [4], "a phrase as a whole");
    assert!(found("\"y and x\"").is_empty());
    assert_eq!(found("100%_sure"), [4]);
    assert_eq!(found("%_"), [4], "signs of LIKE have no meaning");
    assert!(found("__").is_empty());
    assert_eq!(found("it's"), [4]);
    assert_eq!(found("naive cafe resume"), [5], "without its accents");
    assert_eq!(found("üb"), [1], "a short term in another case");
    for nothing in ["", " ", "\"\"", "\" \""] {
        assert!(found(nothing).is_empty(), "{nothing:?}");
    }
}

#[test]
fn results_name_their_conversation_and_are_deleted_with_it() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let open = conversations(folder.path(), &clock);
    let id = exchange(&open, &message("one"), "x").conversation;
    let long = format!("{} the needle here {}", "hay ".repeat(200), "straw ".repeat(200));
    let items: Vec<_> = (0..9).map(|_| item(ItemKind::ToolResults, &long)).collect();
    open.append(id, None, &items).unwrap();
    let found = open.search("NEEDLE", 10).unwrap();
    assert_eq!((found.len(), found[0].excerpts.len()), (1, 3), "no conversation fills the list");
    let place = &found[0].excerpts[0];
    assert!(place.text.contains("the needle here") && place.text.len() < 200, "{}", place.text);
    assert_eq!((place.item.0, place.kind), (11, ItemKind::ToolResults), "the newest first");
    open.delete(id).unwrap();
    assert!(open.search("needle", 10).unwrap().is_empty());
    assert!(open.search("x", 10).unwrap().is_empty());
    let raw = rusqlite::Connection::open(folder.path().join("state.db")).unwrap();
    let check = "INSERT INTO item_text (item_text, rank) VALUES ('integrity-check', 1)";
    raw.execute(check, []).unwrap();
}

#[test]
fn titles_and_summaries_are_found_too() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let open = conversations(folder.path(), &clock);
    let id = exchange(&open, &message("one"), "x").conversation;
    open.end(id, EndKind::Person, "").unwrap();
    let titled = vault_steward::conversation::Titled {
        title: "Quarterly report".into(),
        summary: "It was about money.".into(),
    };
    let by = vault_steward::conversation::TitleOrigin::Model;
    let ended = open.get(id).unwrap().ended.unwrap().at;
    assert!(
        !open.store().conversations.endings.title(id, ended - 1, &titled, by).unwrap(),
        "of an earlier end"
    );
    assert!(open.store().conversations.endings.title(id, ended, &titled, by).unwrap());
    for text in ["quarterly", "MONEY", "report money"] {
        let found = open.search(text, 9).unwrap();
        assert_eq!((found.len(), found[0].excerpts.len()), (1, 0), "{text}");
        assert_eq!(found[0].conversation.id, ConversationId(1));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// No query is an error, and every text is found by searching for itself.
    #[test]
    fn every_text_finds_itself(text in "\\PC{1,40}", query in "[\"*^:()+\\-a-zA-Z%_'\\\\ ANDORT]{0,30}") {
        let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
        let open = conversations(folder.path(), &clock);
        exchange(&open, &message(&text), "x");
        open.search(&query, 9).unwrap();
        // A quote in a query marks a phrase, so only the words between quotes and white space are
        // searched for.
        for word in text.split(|c: char| c == '"' || c.is_whitespace()) {
            if !word.is_empty() && word.chars().all(char::is_alphanumeric) {
                prop_assert_eq!(open.search(word, 9).unwrap().len(), 1, "{}", word);
            }
        }
    }
}
