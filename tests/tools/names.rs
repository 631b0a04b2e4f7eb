//! Names as people say them: the matched note, suggestions in doubt, and created files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use vault_steward::note::code::ErrorCode;
use vault_steward::tools::Clock;
use vault_steward::vault::View;

use crate::vault::{TestVault, put, vault};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// A vault on Sunday, 22 November 2026.
fn on_that_sunday(mut vault: TestVault) -> TestVault {
    let now = "2026-11-22T14:00:00+01:00".parse().expect("a time");
    vault.context.clock = Clock::At(now);
    vault
}

/// The sample vault.
fn garden() -> TestVault {
    fn copy(from: &Path, to: &Path) {
        for entry in std::fs::read_dir(from).expect("listed").flatten() {
            let place = to.join(entry.file_name());
            if entry.path().is_dir() {
                std::fs::create_dir_all(&place).expect("made");
                copy(&entry.path(), &place);
            } else {
                std::fs::copy(entry.path(), place).expect("copied");
            }
        }
    }
    on_that_sunday(TestVault::new(&[], |place| copy(&fixtures().join("vault"), place)))
}

/// The vault that `notes.txt` describes.
fn harbour() -> TestVault {
    let notes = std::fs::read_to_string(fixtures().join("speech/notes.txt")).expect("read");
    let daily = r#"{"folder": "Logbook", "format": "DD-MM-YYYY"}"#;
    on_that_sunday(TestVault::new(&[(".obsidian/daily-notes.json", daily)], |place| {
        for line in notes.lines().filter(|line| !line.starts_with('#')) {
            let (line, heading) = line.split_once(" # ").unwrap_or((line, ""));
            let (path, aliases) = line.split_once(" = ").unwrap_or((line, ""));
            let mut text = String::new();
            if !aliases.is_empty() {
                let _ = writeln!(text, "---\naliases: [{aliases}]\n---");
            }
            if !heading.is_empty() {
                let _ = writeln!(text, "# {heading}");
            }
            put(place, path, &text);
        }
    }))
}

/// The outcome for one name.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// Only that note was changed.
    Right,
    /// Another note was.
    Wrong(String),
    /// None was, and these were suggested.
    Offered(Vec<String>),
}

fn say(vault: &TestVault, said: &str, meant: &str) -> Outcome {
    match vault.call("read_file", &json!({ "path": said })) {
        Ok(answer) if answer.data["path"] == meant => Outcome::Right,
        Ok(answer) => Outcome::Wrong(answer.data["path"].to_string()),
        Err(error) => {
            let data = error.data.unwrap_or_default();
            let offered = if data["near"].is_null() { &data["candidates"] } else { &data["near"] };
            let texts = |list: &Vec<Value>| {
                list.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect()
            };
            Outcome::Offered(offered.as_array().map(texts).unwrap_or_default())
        }
    }
}

/// How the names of one kind were understood.
#[derive(Default, Clone)]
struct Score {
    names: usize,
    resolved: usize,
    first: usize,
    within_five: usize,
    not_offered: usize,
}

/// Below this the test fails: of all names that mean a note, those resolved correctly or suggested
/// first, and those within the first five suggestions.
const LEAST: (usize, usize) = (242, 243);

#[test]
fn what_people_say_is_understood_and_nothing_is_guessed() {
    let corpus = std::fs::read_to_string(fixtures().join("speech/said.tsv")).expect("read");
    let vaults = BTreeMap::from([("garden", garden()), ("harbour", harbour())]);
    let mut scores: BTreeMap<&str, Score> = BTreeMap::new();
    let (mut wrong, mut missed, mut refusals) = (Vec::new(), Vec::new(), (0, 0));
    for line in corpus.lines().filter(|line| !line.starts_with('#')) {
        let [kind, vault, said, meant] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("not four columns: {line}");
        };
        let vault = &vaults[vault];
        let several: Vec<&str> = meant.split(" | ").collect();
        for path in several.iter().filter(|path| **path != "-") {
            assert!(vault.exists(path), "{line}: there is no such note");
        }
        match say(vault, said, meant) {
            Outcome::Wrong(path) => wrong.push(format!("{line}: {path}")),
            Outcome::Right if several.len() > 1 => wrong.push(line.to_owned()),
            Outcome::Offered(offered) if kind == "none" || kind == "several" => {
                let five = &offered[..offered.len().min(5)];
                let all =
                    kind == "none" || several.iter().all(|path| five.iter().any(|one| one == path));
                refusals.0 += usize::from(all);
                refusals.1 += 1;
                if !all {
                    missed.push(format!("{line}: {offered:?}"));
                }
            }
            outcome => {
                let score = scores.entry(kind).or_default();
                score.names += 1;
                let place = match &outcome {
                    Outcome::Right => {
                        score.resolved += 1;
                        continue;
                    }
                    Outcome::Offered(offered) => offered.iter().position(|path| path == meant),
                    Outcome::Wrong(_) => unreachable!("counted above"),
                };
                match place {
                    Some(0) => score.first += 1,
                    Some(1..5) => score.within_five += 1,
                    _ => score.not_offered += 1,
                }
                if place != Some(0) {
                    missed.push(format!("{line}: {outcome:?}"));
                }
            }
        }
    }
    let mut table = "| kind | names | resolved | offered first | 2nd to 5th | not offered |\n\
                     |---|---|---|---|---|---|\n"
        .to_owned();
    let mut all = Score::default();
    let mut row = |kind: &str, score: &Score| {
        let Score { names, resolved, first, within_five, not_offered } = score;
        let _ = writeln!(
            table,
            "| {kind} | {names} | {resolved} | {first} | {within_five} | {not_offered} |"
        );
    };
    for (kind, score) in &scores {
        row(kind, score);
        all.names += score.names;
        all.resolved += score.resolved;
        all.first += score.first;
        all.within_five += score.within_five;
        all.not_offered += score.not_offered;
    }
    row("**all**", &all);
    let _ = writeln!(table, "\nRefused as they should be: {} of {}.", refusals.0, refusals.1);
    println!("{table}\n{}", missed.join("\n"));
    assert!(wrong.is_empty(), "acted on what was not meant:\n{}", wrong.join("\n"));
    let first = all.resolved + all.first;
    assert!(
        first >= LEAST.0 && first + all.within_five >= LEAST.1,
        "{table}\n{}",
        missed.join("\n")
    );
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/names.md");
    let page = std::fs::read_to_string(page).unwrap_or_default();
    assert!(
        page.replace("\r\n", "\n").contains(&table),
        "docs/names.md has another table than\n{table}"
    );
}

/// Below this the test fails: of the garbled names that mean a note, those suggested first and
/// within the first five.
const MIN_GARBLED: (usize, usize) = (38, 39);

#[test]
fn garbled_names_are_offered_by_their_letters_and_none_is_acted_on() {
    let corpus = std::fs::read_to_string(fixtures().join("speech/garbled.tsv")).expect("read");
    let vaults = BTreeMap::from([("garden", garden()), ("harbour", harbour())]);
    let mut scores: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    let mut missed = String::new();
    for line in corpus.lines().filter(|line| !line.starts_with('#')) {
        let [kind, vault, said, meant] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("not four columns: {line}");
        };
        let Outcome::Offered(offered) = say(&vaults[vault], said, meant) else {
            panic!("{line}: was acted on");
        };
        if meant == "-" {
            assert_eq!(offered, [""; 0], "{line}");
            continue;
        }
        assert!(vaults[vault].exists(meant), "{line}: there is no such note");
        let place = match offered.iter().position(|path| path == meant) {
            Some(0) => 1,
            Some(1..5) => 2,
            _ => 3,
        };
        for kind in [kind, "**all**"] {
            let score = scores.entry(kind).or_default();
            score[0] += 1;
            score[place] += 1;
        }
        if place > 1 {
            let _ = writeln!(missed, "{line}: {offered:?}");
        }
    }
    let all = scores.remove("**all**").unwrap_or_default();
    let mut table =
        "| kind | names | offered first | 2nd to 5th | not offered |\n|---|---|---|---|---|\n"
            .to_owned();
    for (kind, [names, first, within, not]) in scores.iter().chain([(&"**all**", &all)]) {
        let _ = writeln!(table, "| {kind} | {names} | {first} | {within} | {not} |");
    }
    println!("{table}\n{missed}");
    assert!(all[1] >= MIN_GARBLED.0 && all[1] + all[2] >= MIN_GARBLED.1, "{table}\n{missed}");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/names.md");
    let page = std::fs::read_to_string(page).unwrap_or_default();
    assert!(
        page.replace("\r\n", "\n").contains(&table),
        "docs/names.md has another table than\n{table}"
    );
}

#[test]
fn a_name_is_enough_and_is_refused_as_soon_as_it_could_be_another() {
    let vault = vault(&[
        ("Deep/Down/Slow Cooker.md", "---\naliases: [the crock, Crock-Pot 3000]\n---\nslow\n"),
        ("Deep/Oven.md", "---\nalias: stove, cooker two\n---\noven\n"),
        ("Deep/tomato.md", "tomato\n"),
        ("Soup/Tomato soup.md", "soup\n"),
        ("Soup/plan.png", "picture"),
        ("Soup/plan.md", "plan\n"),
        ("Other/Twice.md", "one\n"),
        ("Third/Twice.md", "two\n"),
        ("Third/Empty nest/", ""),
        ("Third/Seed swap 🌱.md", "seeds\n"),
        ("Third/C notes.md", "c\n"),
    ]);
    for (said, path) in [
        ("slow cooker", "Deep/Down/Slow Cooker.md"),
        ("SlowCooker.md", "Deep/Down/Slow Cooker.md"),
        ("the slow-cooker.", "Deep/Down/Slow Cooker.md"),
        ("[[Slow Cooker]]", "Deep/Down/Slow Cooker.md"),
        ("[[Slow Cooker|the pot]]", "Deep/Down/Slow Cooker.md"),
        ("crock", "Deep/Down/Slow Cooker.md"),
        ("crock pot three thousand", "Deep/Down/Slow Cooker.md"),
        ("stove", "Deep/Oven.md"),
        ("cooker 2", "Deep/Oven.md"),
        ("deep slash oven dot md", "Deep/Oven.md"),
        ("plan", "Soup/plan.md"),
        ("plan dot png", "Soup/plan.png"),
        ("seed swap", "Third/Seed swap 🌱.md"),
    ] {
        assert_eq!(vault.ok("get_file_info", json!({ "path": said }))["path"], path, "{said}");
    }
    for (said, code, offered) in [
        // Another note's name contains all the words.
        ("tomato", ErrorCode::AmbiguousPath, "Deep/tomato.md"),
        ("twice", ErrorCode::AmbiguousPath, "Other/Twice.md"),
        // Similar names are suggested.
        ("slow cookers", ErrorCode::NotFound, "Deep/Down/Slow Cooker.md"),
        ("cooker", ErrorCode::NotFound, "Deep/Oven.md"),
        // A path is exact: in another folder it is another note.
        ("Soup/oven", ErrorCode::NotFound, "Deep/Oven.md"),
        ("Down/Slow Cooker", ErrorCode::NotFound, "Deep/Down/Slow Cooker.md"),
        ("seed swap 🍂", ErrorCode::NotFound, "Third/Seed swap 🌱.md"),
        ("C# notes", ErrorCode::NotFound, "Third/C notes.md"),
        ("[[Slow Cooker#Lid]]", ErrorCode::NotFound, "Deep/Down/Slow Cooker.md"),
    ] {
        let error = vault.err(
            "edit_file",
            json!({"path": said, "insert_after_line": 0, "content": "x"}),
            code,
        );
        let data = error.data.expect("data");
        let first = if data["near"].is_null() { &data["candidates"][0] } else { &data["near"][0] };
        assert_eq!(first, offered, "{said}: {data}");
    }
    // A folder is listed by its name, but not deleted by it.
    assert_eq!(
        vault.ok("directory_tree", json!({"path": "empty nest"}))["path"],
        "Third/Empty nest"
    );
    let error = vault.err("delete", json!({"path": "empty nest"}), ErrorCode::NotFound);
    assert_eq!(error.data.expect("data")["near"][0], "Third/Empty nest");
    vault.ok("edit_file", json!({"path": "the crock", "insert_after_line": 0, "content": "x"}));
    vault.ok("move", json!({"source": "stove", "destination": "Deep/Range.md"}));
    assert!(vault.exists("Deep/Range.md"));
}

#[test]
fn names_follow_edits() {
    let vault = vault(&[("a/One.md", "---\naliases: [kettle]\n---\n"), ("a/Two.md", "two\n")]);
    let found = |said: &str| match vault.call("get_file_info", &json!({ "path": said })) {
        Ok(answer) => answer.data["path"].as_str().expect("a path").to_owned(),
        Err(error) => error.text(),
    };
    assert_eq!(found("kettle"), "a/One.md");
    vault.ok("set_properties", json!({"path": "a/One.md", "set": {"aliases": ["pot"]}}));
    vault.ok("set_properties", json!({"path": "a/Two.md", "set": {"aliases": ["kettle"]}}));
    assert_eq!(found("kettle"), "a/Two.md");
    assert_eq!(found("pot"), "a/One.md");
    vault.ok("move", json!({"source": "a/Two.md", "destination": "b/Three.md"}));
    assert_eq!(found("kettle"), "b/Three.md");
    assert_eq!(found("three"), "b/Three.md");
    // A name that was unique until now is not resolved to another note.
    vault.ok("write_file", json!({"path": "b/Two.md", "content": "other"}));
    assert!(found("a/Two.md").contains("was moved to `b/Three.md`"), "{}", found("a/Two.md"));
    vault.ok("delete", json!({"path": "b/Three.md"}));
    assert!(found("kettle").contains("does not exist"));
}

#[test]
fn a_call_that_is_repeated_takes_one_note() {
    let vault = vault(&[("Archive/Plan.md", "old")]);
    let refused = |tool: &str, arguments: Value| {
        let error = vault.err(tool, arguments, ErrorCode::NotFound);
        assert_eq!(error.data.expect("data")["near"][0], "Archive/Plan.md");
        assert_eq!(vault.content("Archive/Plan.md"), "old");
    };
    for path in ["Plan.md", "plan"] {
        vault.ok("write_file", json!({"path": "Plan.md", "content": "new", "create": true}));
        vault.ok("delete", json!({ "path": path }));
        refused("delete", json!({ "path": path }));
        refused("move", json!({"source": path, "destination": "Other.md"}));
    }
    // It can be deleted by its own path.
    vault.ok("delete", json!({"path": "Archive/Plan"}));
}

#[test]
fn a_path_takes_no_file_that_only_sounds_like_it() {
    let files = [
        (".obsidian/daily-notes.json", r#"{"folder": "Log"}"#),
        ("1.md", "one"),
        ("Beds/2.md", "two"),
        ("Garden/Compost.md", "---\naliases: [Heaps]\n---\n"),
        ("Log/2026-11-22.md", "that day"),
    ];
    let vault = on_that_sunday(vault(&files));
    for (path, meant) in [
        ("one.md", "1.md"),
        ("two.md", "Beds/2.md"),
        ("Beds/two.md", "Beds/2.md"),
        ("beds/two", "Beds/2.md"),
        ("two", "Beds/2.md"),
        ("the compost", "Garden/Compost.md"),
        ("the heaps", "Garden/Compost.md"),
        ("22 november", "Log/2026-11-22.md"),
    ] {
        assert_eq!(vault.ok("read_file", json!({ "path": path }))["path"], meant);
        for (tool, arguments) in [
            ("delete", json!({ "path": path })),
            ("move", json!({"source": path, "destination": "Elsewhere.md"})),
        ] {
            let error = vault.err(tool, arguments, ErrorCode::AmbiguousPath);
            assert_eq!(error.data, Some(json!({ "did_you_mean": [meant] })), "{tool} {path}");
        }
    }
    files[1..].iter().for_each(|(path, text)| assert_eq!(vault.content(path), *text));
    // A name that equals the file's, or its alias, is not merely similar.
    vault.ok("delete", json!({"path": "2"}));
    vault.ok("move", json!({"source": "compost.md", "destination": "Heap.md"}));
    vault.ok("move", json!({"source": "heaps", "destination": "Other.md"}));
    assert!(!vault.exists("Beds/2.md") && vault.exists("Other.md"));
}

#[test]
fn names_are_saved_between_runs() {
    let vault = vault(&[
        ("a/One.md", "---\naliases: [kettle]\n---\n"),
        ("a/Two.md", "---\naliases: [basket]\n---\n"),
        ("Gone/Three.md", "three\n"),
    ]);
    let read = |vault: &TestVault, said: &str| match vault
        .call("get_file_info", &json!({ "path": said }))
    {
        Ok(answer) => answer.data["path"].as_str().expect("a path").to_owned(),
        Err(error) => error.code.as_str().to_owned(),
    };
    vault.context.index.names.load_saved(&vault.state);
    assert_eq!(read(&vault, "kettle"), "a/One.md");
    // A file that was read within the last tick of the disk's clock is not saved.
    std::fs::File::options()
        .append(true)
        .open(vault.place.join("a/Two.md"))
        .and_then(|file| file.set_modified(std::time::UNIX_EPOCH))
        .expect("set");
    vault.context.vault.rescan().expect("scanned");
    assert_eq!(read(&vault, "basket"), "a/Two.md");
    vault.context.index.names.stop();
    assert!(vault.state.join("names/table").is_file());
    // While nobody watched: another text of the same size and time, one more note, one less. On Windows, where the ctime is not read,
    // of another time.
    let then = std::time::UNIX_EPOCH + std::time::Duration::from_secs(u64::from(cfg!(windows)));
    put(&vault.place, "a/Two.md", "---\naliases: [bucket]\n---\n");
    std::fs::File::options()
        .append(true)
        .open(vault.place.join("a/Two.md"))
        .and_then(|file| file.set_modified(then))
        .expect("set");
    put(&vault.place, "b/Four.md", "---\naliases: [basket]\n---\n");
    std::fs::remove_dir_all(vault.place.join("Gone")).expect("removed");
    let vault = vault.reopened();
    vault.context.index.names.load_saved(&vault.state);
    for (said, path) in [
        ("kettle", "a/One.md"),
        ("bucket", "a/Two.md"),
        ("basket", "b/Four.md"),
        ("four", "b/Four.md"),
        ("three", "not_found"),
    ] {
        assert_eq!(read(&vault, said), path, "{said}");
    }
}

#[test]
fn nothing_is_made_twice() {
    let vault = vault(&[
        ("Garden/Crop rotation.md", "---\naliases: [bed plan]\n---\nold\n"),
        ("Garden/Beds/One.md", "one\n"),
    ]);
    for name in ["crop rotation", "Crop-Rotation.md", "bed plan"] {
        let write = json!({"path": name, "content": "new\n"});
        let error = vault.err("write_file", write, ErrorCode::AmbiguousPath);
        assert_eq!(
            error.data,
            Some(json!({"did_you_mean": ["Garden/Crop rotation.md"]})),
            "{name}"
        );
    }
    // A path with a folder is not a name.
    let elsewhere =
        vault.ok("write_file", json!({"path": "Plans/crop rotation", "content": "new\n"}));
    assert_eq!(elsewhere["path"], "Plans/crop rotation.md");
    let write = json!({"path": "Bed plan", "content": "new\n", "create": true});
    assert_eq!(vault.ok("write_file", write)["path"], "Bed plan.md");
    let new = json!({"path": "v2.0 of it", "content": "new\n"});
    assert_eq!(vault.ok("write_file", new)["path"], "v2.0 of it.md");
    assert_eq!(
        vault.ok("write_file", json!({"path": "data.csv", "content": "1"}))["path"],
        "data.csv"
    );
    let error = vault.err("create_folder", json!({"path": "beds"}), ErrorCode::AmbiguousPath);
    assert_eq!(error.data, Some(json!({"did_you_mean": ["Garden/Beds"]})));
    let error = vault.err("create_folder", json!({"path": "one"}), ErrorCode::AmbiguousPath);
    assert_eq!(error.data, Some(json!({"did_you_mean": ["Garden/Beds/One.md"]})));
    assert_eq!(vault.ok("create_folder", json!({"path": "Plans/beds"}))["created"], true);
    assert_eq!(vault.ok("create_folder", json!({"path": "Bēds", "create": true}))["path"], "Bēds");
}

#[test]
fn who_sees_a_part_learns_of_no_other_name() {
    let files = [
        ("Open/Rowing boat.md", "boat\n"),
        ("Open/Oars.md", "oars\n"),
        ("Open/Sails.md", "---\naliases: [sheets]\n---\n"),
    ];
    let hidden = [
        ("Closed/Oars.md", "hidden\n"),
        ("Closed/Rowing boat races.md", "---\naliases: [sails, sheets, rowing]\n---\n# Oars\n"),
        ("Closed/Rows/", ""),
    ];
    let alone = vault(&files);
    let whole = vault(&[&files[..], &hidden[..]].concat());
    let folders = vec![vault_steward::note::path::VaultPath::parse("Open", None).expect("a path")];
    let limited = |mut vault: TestVault| {
        vault.context.vault = vault.context.vault.in_view(View::of(folders.clone()));
        vault
    };
    let (alone, whole) = (limited(alone), limited(whole));
    for said in [
        "oars",
        "rowing boat",
        "rowing boats",
        "sails",
        "sheets",
        "rowing",
        "races",
        "rowing boat races",
        "rows",
        "boat",
        "closed",
        "closed slash oars",
        "the oars and the sails",
    ] {
        for tool in ["get_file_info", "read_file", "list_files", "get_links"] {
            let ask = |vault: &TestVault| match vault.call(tool, &json!({ "path": said })) {
                Ok(answer) => answer.data["path"].to_string(),
                Err(error) => format!("{} {:?}", error.text(), error.data),
            };
            assert_eq!(ask(&whole), ask(&alone), "{tool} {said}");
        }
    }
    for (name, tool) in [
        ("rowing boat races", "write_file"),
        ("Open/rowing boat races", "write_file"),
        ("rows", "create_folder"),
    ] {
        let made = |vault: &TestVault| {
            let mut arguments = json!({ "path": name });
            if tool == "write_file" {
                arguments["content"] = json!("x");
            }
            match vault.call(tool, &arguments) {
                Ok(answer) => answer.data["path"].to_string(),
                Err(error) => format!("{} {:?}", error.text(), error.data),
            }
        };
        assert_eq!(made(&whole), made(&alone), "{tool} {name}");
    }
}
