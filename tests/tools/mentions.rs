//! `unlinked_mentions` and `link_mentions` over whole vaults.

use serde_json::{Value, json};
use vault_steward::note::code::ErrorCode::{InvalidInput, NotFound};

use crate::vault::{TestVault, vault};

/// Places as `path:line text`.
fn places(answer: &Value) -> Vec<String> {
    let mentions = answer["mentions"].as_array().expect("mentions").iter();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    mentions
        .map(|it| format!("{}:{} {}", text(&it["path"]), it["line"], text(&it["text"])))
        .collect()
}

const TRAPS: &str = "---\nmaker: Kettle\n---\n# The Kettle\n`Kettle` and [[Cup|a Kettle]] and [Kettle](Cup.md)\n\
    ```\nKettle\n```\nhttps://shop.example/Kettle and <b title=\"Kettle\"> and $Kettle$ #Kettle\n%% Kettle %%\n\
    Kettles, teakettle, Kettle_2 are others ^Kettle\n";

fn kitchen() -> TestVault {
    vault(&[
        (
            "Kettle.md",
            "---\naliases: [\"Café\", Boiler]\n---\nThe Kettle itself boils in the Cup.\n",
        ),
        ("Traps.md", TRAPS),
        (
            "Notes/Tea.md",
            "\u{feff}First\r\nthe kettle, the KETTLE.\r\n| a | b |\r\n|---|---|\r\n| x | old boiler |\r\n",
        ),
        ("Notes/Cafe.md", "Zum cafe\u{301} (sic) mit 茶.\n"),
        ("Linked.md", "See [[Kettle]]; the kettle.\n"),
        ("Cup.md", "Nothing.\n"),
        ("茶.md", "お茶と茶。\n"),
        ("In.md", "in\n"),
        ("Other.md", "The tea is In the cup, 日本茶です. In.\n"),
    ])
}

#[test]
fn names_and_aliases_are_found_as_whole_words_in_prose_alone() {
    let vault = kitchen();
    let found = vault.ok("unlinked_mentions", json!({"path": "kettle"}));
    let expected = [
        "Notes/Cafe.md:1 cafe\u{301}",
        "Notes/Tea.md:2 kettle",
        "Notes/Tea.md:2 KETTLE",
        "Notes/Tea.md:5 boiler",
    ];
    assert_eq!(places(&found), expected);
    assert_eq!((&found["total"], &found["notes"]), (&json!(4), &json!(2)));
    let links: Vec<&Value> =
        found["mentions"].as_array().expect("mentions").iter().map(|it| &it["link"]).collect();
    let expected =
        ["[[Kettle|cafe\u{301}]]", "[[Kettle|kettle]]", "[[Kettle|KETTLE]]", "[[Kettle\\|boiler]]"];
    assert_eq!(links, expected);
    assert_eq!(found["mentions"][1]["snippet"], "the kettle, the KETTLE.");
    let all = vault.ok("unlinked_mentions", json!({"path": "Kettle.md", "also_linked": true}));
    assert!(places(&all).contains(&"Linked.md:1 kettle".to_owned()), "{all}");
    let one = json!({"path": "Kettle.md", "limit": 1, "first_result": 2});
    assert_eq!(places(&vault.ok("unlinked_mentions", one)), ["Notes/Tea.md:2 kettle"]);
    let text = vault.text("unlinked_mentions", json!({"path": "Kettle", "limit": 1}));
    assert!(text.contains("names Kettle.md: Zum"), "{text}");
}

#[test]
fn the_names_of_others_are_found_in_a_note() {
    let vault = kitchen();
    let from = |path: &str| {
        let found = vault.ok("unlinked_mentions", json!({"path": path, "direction": "from"}));
        places(&found)
    };
    // A short name must match in case; in scripts without spaces it needs no word boundary.
    let other =
        ["Other.md:1 tea", "Other.md:1 In", "Other.md:1 cup", "Other.md:1 茶", "Other.md:1 In"];
    assert_eq!(from("Other.md"), other);
    assert_eq!(from("Kettle.md"), ["Kettle.md:4 Cup"], "not its own name");
    assert_eq!(from("Linked.md"), [""; 0]);
}

#[test]
fn mentions_become_links_and_back_and_nothing_else_changes() {
    let vault = kitchen();
    let before = vault.snapshot();
    let would = vault.ok("link_mentions", json!({"path": "Kettle", "dry_run": true}));
    assert_eq!((&would["links"], &would["change_set"]), (&json!(2), &Value::Null));
    assert_eq!(vault.snapshot(), before);
    vault.ok("link_mentions", json!({"path": "Kettle"}));
    let read = |path: &str| std::fs::read_to_string(vault.place.join(path)).expect("read");
    let tea = "\u{feff}First\r\nthe [[Kettle|kettle]], the KETTLE.\r\n| a | b |\r\n|---|---|\r\n| x | old boiler |\r\n";
    assert_eq!(read("Notes/Tea.md"), tea);
    assert_eq!(read("Traps.md"), TRAPS);
    assert_eq!(places(&vault.ok("unlinked_mentions", json!({"path": "Kettle"}))), [""; 0]);
    vault.ok("undo", json!({}));
    assert_eq!(vault.snapshot(), before);
    let every = json!({"path": "Kettle", "every": true, "within": "Notes"});
    let done = vault.ok("link_mentions", every);
    assert_eq!((&done["links"], &done["notes"]), (&json!(4), &json!(2)));
    assert!(
        read("Notes/Tea.md").contains("| x | old [[Kettle\\|boiler]] |"),
        "{}",
        read("Notes/Tea.md")
    );
    let links = vault.ok("get_links", json!({"path": "Kettle"}));
    assert_eq!(links["total_backlinks"], 3, "all of them lead there: {links}");
    vault.ok("undo", json!({}));
    assert_eq!(vault.snapshot(), before);
    vault.ok("link_mentions", json!({"path": "Other", "direction": "from"}));
    assert_eq!(
        read("Other.md"),
        "The [[Tea|tea]] is [[In]] the [[Cup|cup]], 日本[[茶]]です. In.\n"
    );
}

#[test]
fn what_cannot_be_is_refused() {
    let vault = kitchen();
    for tool in ["unlinked_mentions", "link_mentions"] {
        vault.err(tool, json!({"path": "Nobody"}), NotFound);
        vault.err(tool, json!({"path": "Kettle", "direction": "up"}), InvalidInput);
    }
    vault.err("unlinked_mentions", json!({"path": "Kettle", "limit": 201}), InvalidInput);
    let both = json!({"path": "Kettle", "direction": "from", "names": ["x"]});
    vault.err("link_mentions", both, InvalidInput);
    let nothing = vault.ok("link_mentions", json!({"path": "Kettle", "within": "Traps.md"}));
    assert_eq!((&nothing["links"], &nothing["change_set"]), (&json!(0), &Value::Null));
}
