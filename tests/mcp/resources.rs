//! Resources, prompts and completion.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::ground::Ground;

/// Writes a note with this modification time, in seconds since the epoch.
fn put(ground: &Ground, path: &str, text: impl AsRef<[u8]>, at: u64) {
    let file = ground.vault.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, text).unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(at);
    fs::File::options().write(true).open(file).unwrap().set_modified(time).unwrap();
}

fn result(ground: &Ground, method: &str, params: &Value) -> Value {
    let (status, mut answer) = ground.ask(method, params);
    assert_eq!(status, 200, "{answer}");
    assert!(answer["result"].is_object(), "{method} {params}: {answer}");
    answer["result"].take()
}

/// A fault's number and message.
fn fault((status, answer): (u16, Value)) -> (u16, i64, String) {
    let error = &answer["error"];
    assert!(error.is_object(), "{answer}");
    (status, error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
}

#[test]
fn the_newest_notes_are_listed_in_pages_and_read_by_their_addresses() {
    let ground = Ground::new("");
    for number in 0..230 {
        put(&ground, &format!("Many/{number}.md"), "n\n", 1_700_000_000 + number);
    }
    // Windows allows no question mark in a name.
    let (asks, encoded) = if cfg!(windows) { ("", "") } else { ("?", "%3F") };
    let name = format!("Ein Ordner/100% für #2{asks}.md");
    put(&ground, &name, "# Ja\n", 1_800_000_000);
    put(&ground, "later.txt", "no note", 1_900_000_000);
    let (mut found, mut pages, mut cursor) = (Vec::new(), 0, json!({}));
    loop {
        let mut page = result(&ground, "resources/list", &cursor);
        let notes = page["resources"].as_array_mut().unwrap();
        assert!(notes.len() <= 50, "{}", notes.len());
        found.append(notes);
        pages += 1;
        match page["nextCursor"].take() {
            Value::Null => break,
            next => cursor = json!({ "cursor": next }),
        }
    }
    assert_eq!((found.len(), pages), (200, 4));
    // `a.md` was written just now, the others at the times given.
    let odd = found.iter().position(|one| one["name"] == name).unwrap();
    assert!(odd <= 1, "the newest come first");
    let odd = found[odd].clone();
    assert_eq!(odd["uri"], format!("vault:///Ein%20Ordner/100%25%20f%C3%BCr%20%232{encoded}.md"));
    assert_eq!((&odd["title"], &odd["size"]), (&json!(format!("100% für #2{asks}")), &json!(5)));
    assert_eq!(odd["mimeType"], "text/markdown");
    let modified = odd["annotations"]["lastModified"].as_str().unwrap();
    let modified = chrono::DateTime::parse_from_rfc3339(modified).unwrap();
    assert_eq!(modified.timestamp(), 1_800_000_000);
    let many = found.iter().filter(|one| one["name"].as_str().unwrap().starts_with("Many/"));
    let many: Vec<&Value> = many.map(|one| &one["title"]).take(3).collect();
    assert_eq!(many, ["229", "228", "227"]);

    let read = result(&ground, "resources/read", &json!({ "uri": odd["uri"] }));
    let contents = json!([{"uri": odd["uri"], "mimeType": "text/markdown", "text": "# Ja\n"}]);
    assert_eq!(read["contents"], contents);
    for cursor in ["7", "200", "-50", "x", ""] {
        let (status, code, _) = fault(ground.ask("resources/list", &json!({ "cursor": cursor })));
        assert_eq!((status, code), (200, -32602), "{cursor}");
    }
    let templates = result(&ground, "resources/templates/list", &json!({}));
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "vault:///{+path}");
    let audit = ground.home.run_in(&ground.vault, &["audit", "--json"]).expect(0).stdout;
    assert!(audit.contains("resources/read") && audit.contains("Ein Ordner"), "{audit}");
}

#[test]
fn a_resource_is_found_like_any_path_and_is_text_or_bytes() {
    let ground = Ground::new("");
    put(&ground, "Garden plan.md", "dig\r\n", 1_700_000_000);
    put(&ground, "pic.png", [0x89, b'P', 0xff, 0], 1_700_000_000);
    put(&ground, "large.md", vec![b'x'; (1 << 20) + 1], 1_700_000_000);
    put(&ground, "quotes.md", vec![b'"'; (1 << 20) - 10], 1_700_000_000);
    let read =
        |path: &str| ground.ask("resources/read", &json!({"uri": format!("vault:///{path}")}));
    // As a client that fills the template without encoding, and by a name.
    for path in ["Garden%20plan.md", "Garden plan.md", "garden%20plan"] {
        assert_eq!(read(path).1["result"]["contents"][0]["text"], "dig\r\n", "{path}");
    }
    let picture = &read("pic.png").1["result"]["contents"][0];
    assert_eq!((&picture["mimeType"], &picture["blob"]), (&json!("image/png"), &json!("iVD/AA==")));
    for path in ["large.md", "quotes.md"] {
        let (_, code, words) = fault(read(path));
        assert!(code == -32602 && words.contains("read_file"), "{path}: {words}");
    }
    for path in ["nowhere.md", ".obsidian/app.json", "%ff", "../../etc/passwd", ""] {
        let (status, code, _) = fault(read(path));
        assert!(status == 200 && [-32002, -32602].contains(&code), "{path}: {code}");
    }
    assert_eq!(fault(read("nowhere.md")).1, -32002);
    let modern = |uri: &str| ground.ask_modern("resources/read", &json!({ "uri": uri }));
    for uri in ["vault:///nowhere.md", "file:///etc/passwd"] {
        let (status, code, _) = fault(modern(uri));
        assert_eq!((status, code), (400, -32602), "{uri}");
    }
    let (status, answer) = modern("vault:///a.md");
    let result = &answer["result"];
    assert_eq!((status, &result["contents"][0]["text"]), (200, &json!("one\n")), "{answer}");
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(0), &json!("private")));
    assert_eq!(result["resultType"], "complete");
}

#[test]
fn the_daily_note_and_the_templates_are_prompts() {
    let ground = Ground::new("");
    let settings = |file: &str, text: &str| {
        fs::write(ground.vault.join(".obsidian").join(file), text).unwrap();
    };
    settings("daily-notes.json", r#"{"folder": "Days", "format": "YYYY-MM-DD"}"#);
    settings("templates.json", r#"{"folder": "Templates", "dateFormat": "D.M.YYYY"}"#);
    put(&ground, "Templates/Meeting notes.md", "# {{title}}\n{{date}} {{other}}\n", 1_700_000_000);
    put(&ground, "Templates/Sub/Meeting-notes.md", "two\n", 1_700_000_000);
    put(&ground, "Days/2026-11-21.md", "dug\n", 1_700_000_000);
    let prompts = result(&ground, "prompts/list", &json!({}));
    let names: Vec<&Value> =
        prompts["prompts"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["daily", "template_Meeting_notes", "template_Meeting_notes_2"]);
    let get = |params: Value| result(&ground, "prompts/get", &params);
    let text = |params: Value| {
        let got = get(params);
        assert_eq!(got["messages"][0]["role"], "user", "{got}");
        got["messages"][0]["content"]["text"].as_str().unwrap().to_owned()
    };
    let day = json!({"name": "daily", "arguments": {"date": "2026-11-21"}});
    assert!(text(day).contains("`Days/2026-11-21.md`:\n\ndug"));
    let none = text(json!({"name": "daily", "arguments": {"date": "1999-01-02"}}));
    assert!(none.contains("There is no daily note of 1999-01-02") && none.contains("daily_note"));
    assert!(text(json!({"name": "daily"})).contains("no daily note"));
    let filled = json!({"name": "template_Meeting_notes",
        "arguments": {"title": "Budget", "date": "2026-11-21"}});
    assert_eq!(text(filled), "# Budget\n21.11.2026 {{other}}\n");
    let blank = json!({"name": "template_Meeting_notes", "arguments": {"title": "", "date": ""}});
    assert!(text(blank).starts_with("# Untitled\n"));
    for params in [
        json!({"name": "template_nothing"}),
        json!({"name": "daily", "arguments": {"date": "soon"}}),
        json!({"name": "daily", "arguments": {"name": "x"}}),
        json!({"name": "daily", "arguments": {"when": "x"}}),
        json!({"name": "daily", "arguments": []}),
        json!({}),
    ] {
        assert_eq!(fault(ground.ask("prompts/get", &params)).1, -32602, "{params}");
    }

    let complete = |reference: Value, name: &str, value: &str| {
        let params = json!({"ref": reference, "argument": {"name": name, "value": value}});
        result(&ground, "completion/complete", &params)["completion"].take()
    };
    let resource = json!({"type": "ref/resource", "uri": "vault:///{+path}"});
    let paths = complete(resource.clone(), "path", "meeting");
    assert_eq!(paths["values"].as_array().unwrap().len(), 2, "{paths}");
    assert_eq!((&paths["total"], &paths["hasMore"]), (&json!(2), &json!(false)));
    let prompt = json!({"type": "ref/prompt", "name": "daily"});
    assert_eq!(complete(prompt.clone(), "date", "to")["values"], json!(["today", "tomorrow"]));
    assert_eq!(complete(prompt, "title", "x")["values"], json!([]));
    for number in 0..120 {
        put(&ground, &format!("Many/zebra {number}.md"), "n\n", 1_700_000_000 + number);
    }
    let many = complete(resource, "path", "zebra");
    assert_eq!(many["values"].as_array().unwrap().len(), 100);
    assert_eq!((&many["total"], &many["hasMore"]), (&json!(120), &json!(true)));
    for params in [json!({}), json!({"ref": {"type": "x"}, "argument": {"name": "a", "value": ""}})]
    {
        assert_eq!(fault(ground.ask("completion/complete", &params)).1, -32602, "{params}");
    }
}

#[test]
fn notes_of_a_folder_are_prompts_and_a_selection_goes_beside_one() {
    let ground = Ground::new("");
    let review = "---\ndescription: Look back\narguments: HOW LONG\n---\n\nReview {{note}} for \
                  {{arguments}}, up to {{date}}.\n";
    put(&ground, "Prompts/Weekly review.md", review, 1_700_000_000);
    put(&ground, "Prompts/Zoo/weekly-review.md", "Another one.\n", 1_700_000_000);
    put(&ground, "Prompts/Daily.md", "Not the daily note.\n", 1_700_000_000);
    put(&ground, "Prompts/Improve.md", "Improve {{selection}}.\n", 1_700_000_000);
    put(&ground, "Prompts/!!.md", "It has no name.\n", 1_700_000_000);
    put(&ground, "Garden/Compost.md", "dug {{date}}\n", 1_700_000_000);
    let prompts = result(&ground, "prompts/list", &json!({}));
    let prompts = prompts["prompts"].as_array().unwrap();
    let named = |name: &str| prompts.iter().find(|one| one["name"] == name).unwrap();
    let names: Vec<&Value> = prompts.iter().map(|one| &one["name"]).collect();
    assert_eq!(names.len(), 5, "{names:?}");
    assert_eq!(named("daily-2")["title"], "Daily");
    assert_eq!(
        named("weekly-review-2")["description"].as_str().map(|it| it.contains('`')),
        Some(true)
    );
    let review = named("weekly-review");
    assert_eq!(review["description"], "Look back", "{review}");
    let arguments: Vec<(&Value, &Value)> = review["arguments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["name"], &one["required"]))
        .collect();
    let (yes, no) = (json!(true), json!(false));
    let expected = [(json!("arguments"), &yes), (json!("note"), &no), (json!("date"), &no)];
    let expected: Vec<(&Value, &Value)> = expected.iter().map(|(a, b)| (a, *b)).collect();
    assert_eq!(arguments, expected);

    let messages = |name: &str, arguments: Value| {
        let params = json!({"name": name, "arguments": arguments});
        result(&ground, "prompts/get", &params)["messages"].take()
    };
    let given = json!({"note": "compost", "arguments": "a month", "date": "2026-11-21"});
    let filled = messages("weekly-review", given);
    assert_eq!(
        filled[0]["content"]["text"],
        "Review [[Garden/Compost]] for a month, up to 2026-11-21."
    );
    assert_eq!(filled.as_array().unwrap().len(), 1, "{filled}");
    let given = json!({"note": "Garden/Compost.md", "selection": "dug {{date}}"});
    let filled = messages("improve", given);
    assert_eq!(filled[0]["content"]["text"], "Improve the selected text.");
    let resource = json!({"uri": "vault:///Garden/Compost.md", "mimeType": "text/markdown",
        "text": "dug {{date}}"});
    assert_eq!(filled[1]["content"], json!({"type": "resource", "resource": resource}));
    let added = messages("daily-2", json!({"arguments": "And tomorrow's?"}));
    assert_eq!(added[0]["content"]["text"], "Not the daily note.\n\nAnd tomorrow's?");

    for (name, arguments, says) in [
        ("weekly-review", json!({"note": "compost"}), "`/weekly-review HOW LONG`"),
        ("weekly-review", json!({"arguments": "a day"}), "needs a note"),
        ("weekly-review", json!({"arguments": "a day", "note": "nowhere"}), "nowhere"),
        ("improve", json!({"note": "compost"}), "needs a selected text"),
        ("improve", json!({"selection": "x"}), "give `note`"),
        ("missing", json!({}), "there is no prompt `missing`"),
    ] {
        let params = json!({"name": name, "arguments": arguments});
        let (_, answer) = ground.ask("prompts/get", &params);
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert!(message.contains(says), "{message}");
    }
}

#[test]
fn the_policy_limits_lookups() {
    let ground = Ground::new("[policy]\nmcp = \"none\"\n");
    for (method, params) in [
        ("resources/list", json!({})),
        ("resources/read", json!({"uri": "vault:///a.md"})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "daily"})),
    ] {
        assert_eq!(fault(ground.ask(method, &params)).1, -32003, "{method}");
    }
    // No other transport has them.
    let ground = Ground::new("");
    let called = ground.call_unknown("resources/read", &json!({"path": "a.md"}));
    assert_eq!(called, -32602);
}
