//! `daily_note`, with a fixed clock.

use chrono::DateTime;
use serde_json::{Value, json};
use vault_steward::note::code::ErrorCode;
use vault_steward::tools::Clock;

use crate::vault::{TestVault, vault};

/// A vault in which it is the evening of 21 November 2026, on the other side of the date line from
/// most machines.
fn evening(settings: &str, files: &[(&str, &str)]) -> TestVault {
    let settings = (".obsidian/daily-notes.json", settings);
    let mut vault = vault(&[&[settings], files].concat());
    let now = DateTime::parse_from_rfc3339("2026-11-21T23:05:00+13:00").expect("a time");
    vault.context.clock = Clock::At(now);
    vault
}

#[test]
fn without_settings_it_lies_at_the_root() {
    let vault = evening("{}", &[("Archive/2026-11-21.md", "another")]);
    let preview = vault.ok("daily_note", json!({"create": false}));
    assert_eq!((&preview["path"], &preview["exists"]), (&json!("2026-11-21.md"), &json!(false)));
    assert!(!vault.exists("2026-11-21.md"));
    let made = vault.ok("daily_note", json!({}));
    assert_eq!((&made["created"], &made["content"]), (&json!(true), &json!("")));
    assert!(made["change_set"].is_u64());
    let found = vault.ok("daily_note", json!({"date": "Today"}));
    assert_eq!((&found["created"], &found["change_set"]), (&json!(false), &Value::Null));
    assert_eq!(found["revision"], made["revision"]);
    for (date, path) in [
        ("tomorrow", "2026-11-22.md"),
        ("yesterday", "2026-11-20.md"),
        ("2024-02-29", "2024-02-29.md"),
    ] {
        let preview = vault.ok("daily_note", json!({"date": date, "create": false}));
        assert_eq!(preview["path"], path);
    }
    assert_eq!(vault.content("Archive/2026-11-21.md"), "another");
}

#[test]
fn folder_format_and_template_are_the_users() {
    let vault = evening(
        r#"{"folder": "/Journal\\", "format": "YYYY/MM-MMMM/[Day] DD, dddd", "template": "Templates/daily"}"#,
        &[(
            "Templates/Daily.md",
            "# {{title}}\r\n{{DATE}} at {{time}}, week {{date:ww}}\r\n{{other}}\r\n",
        )],
    );
    let made = vault.ok("daily_note", json!({"date": "2026-01-02", "append": "- first\n- second"}));
    let path = "Journal/2026/01-January/Day 02, Friday.md";
    assert_eq!(made["path"], path);
    assert_eq!(made["remarks"], json!([]));
    let text =
        "# Day 02, Friday\r\n2026-01-02 at 23:05, week 01\r\n{{other}}\r\n- first\r\n- second\r\n";
    assert_eq!(vault.content(path), text);
    assert_eq!(made["content"], text);
    assert_eq!((&made["created"], &made["appended"]), (&json!(true), &json!(true)));
}

#[test]
fn lines_are_added_as_the_note_ends() {
    let vault =
        evening("{}", &[("2026-11-21.md", "\u{feff}a\r\nb\r\n"), ("2026-11-20.md", "a\nb")]);
    let added = vault.ok("daily_note", json!({"append": "c\nd"}));
    assert_eq!(vault.content("2026-11-21.md"), "\u{feff}a\r\nb\r\nc\r\nd\r\n");
    assert_eq!(added["content"], "a\r\nb\r\nc\r\nd\r\n");
    assert_eq!((&added["created"], &added["appended"]), (&json!(false), &json!(true)));
    vault.ok("daily_note", json!({"date": "yesterday", "append": "c\n"}));
    assert_eq!(vault.content("2026-11-20.md"), "a\nb\nc");
    vault.ok("daily_note", json!({"date": "tomorrow", "append": "new"}));
    assert_eq!(vault.content("2026-11-22.md"), "new\n");
}

#[test]
fn odd_settings_are_reported() {
    let vault = evening(r#"{"format": "YYYY-MM-DDTHH", "template": "Gone"}"#, &[]);
    let made = vault.ok("daily_note", json!({}));
    assert_eq!(made["path"], "2026-11-21T23.md");
    let remarks: Vec<&str> =
        made["remarks"].as_array().unwrap().iter().map(|remark| remark.as_str().unwrap()).collect();
    assert!(remarks[0].contains("`T` in the daily note's date format"), "{remarks:?}");
    assert!(remarks[1].contains("without the template `Gone`"), "{remarks:?}");
    let vault = evening("{broken", &[]);
    assert_eq!(vault.ok("daily_note", json!({}))["path"], "2026-11-21.md");
}

#[test]
fn what_cannot_be_is_refused() {
    let vault = evening(r#"{"format": "HH:mm"}"#, &[]);
    vault.err("daily_note", json!({}), ErrorCode::InvalidPath);
    let vault = evening(r#"{"folder": "../out"}"#, &[]);
    vault.err("daily_note", json!({}), ErrorCode::OutsideVault);
    let vault = evening(r#"{"folder": ".obsidian"}"#, &[]);
    vault.err("daily_note", json!({}), ErrorCode::ProtectedPath);
    let vault = evening(r#"{"template": ".obsidian/app.json"}"#, &[]);
    let made = vault.ok("daily_note", json!({}));
    assert_eq!(made["content"], "", "settings are no template");
    let vault = evening("{}", &[(".2026-11-20.md.icloud", "x")]);
    for date in ["2026-13-01", "2026-02-30", "next week", "friday", "march fourth", ""] {
        vault.err("daily_note", json!({"date": date}), ErrorCode::InvalidInput);
    }
    vault.err("daily_note", json!({"append": ""}), ErrorCode::InvalidInput);
    vault.err("daily_note", json!({"append": "x", "create": false}), ErrorCode::NotFound);
    let error = vault.err("daily_note", json!({"date": "yesterday"}), ErrorCode::NotFound);
    assert!(error.message.contains("iCloud"), "{}", error.text());
    assert!(!vault.exists("2026-11-20.md"));
}

#[test]
fn two_callers_make_one_note_and_lose_no_line() {
    let vault = evening("{}", &[]);
    let done: usize = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..4)
            .map(|caller| {
                let vault = &vault;
                scope.spawn(move || {
                    let line = |at| json!({"append": format!("{caller}.{at}")});
                    (0..5).filter(|at| vault.call("daily_note", &line(*at)).is_ok()).count()
                })
            })
            .collect();
        callers.into_iter().map(|caller| caller.join().expect("nobody panicked")).sum()
    });
    assert!(done > 0);
    assert_eq!(vault.content("2026-11-21.md").lines().count(), done);
}
