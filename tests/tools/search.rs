//! Text search: the same lines as ripgrep, within bounds (cases 61 to 66).

use std::collections::BTreeSet;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vault_steward::index::search::{self, Mode, Query};
use vault_steward::note::code::ErrorCode::{Cancelled, InvalidInput, InvalidPattern, NotFound};
use vault_steward::note::path::VaultPath;
use vault_steward::vault::Cancel;

use crate::abilities::{Ability, can};
use crate::machine;
use crate::vault::{TestVault, vault};
use crate::vaultgen;

fn files(answer: &Value) -> Vec<&str> {
    let files = answer["files"].as_array().expect("a list").iter();
    files.map(|file| file["path"].as_str().expect("a path")).collect()
}

#[test]
fn a_line_ends_before_its_carriage_return() {
    let long = format!("{} foo\r\n", "x".repeat(200_000));
    let vault =
        vault(&[("a.md", "---\r\nfoo\r\n\r\n# H\r\n"), ("b.md", "foo\n"), ("long.md", &long)]);
    let found = |pattern: &str| {
        let answer = vault.ok("search_files", json!({ "pattern": pattern }));
        files(&answer).into_iter().map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(found("foo$"), set(&["a.md", "b.md", "long.md"]));
    assert_eq!(found("^---$"), set(&["a.md"]));
    assert_eq!(found("^$"), set(&["a.md"]));
    assert_eq!(found("^# H$"), set(&["a.md"]));
    assert_eq!(found("foo."), set(&[]));
    // A search for carriage returns finds them.
    assert_eq!(found(r"foo\r$"), set(&["a.md", "long.md"]));
}

#[test]
fn excerpts_are_merged_and_omissions_are_reported() {
    let body: String = (1..=60)
        .map(|n| if n % 10 == 0 { "hit\n".to_owned() } else { format!("line {n}\n") })
        .collect();
    let vault = vault(&[("a.md", &body), ("b.txt", "hit\n"), ("Projects/c.md", "HIT near\nHit\n")]);
    let answer = vault.ok("search_files", json!({ "pattern": "hit" }));
    let a = answer["files"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|f| f["path"] == "a.md")
        .expect("found");
    assert_eq!((&a["matches"], &a["shown"]), (&json!(6), &json!(5)));
    assert_eq!(a["excerpts"].as_array().expect("a list").len(), 5);
    let lines: Vec<_> =
        a["excerpts"][0].as_array().expect("lines").iter().map(|l| l["line"].clone()).collect();
    assert_eq!(lines, [8, 9, 10, 11, 12]);
    let text = vault
        .text("search_files", json!({ "pattern": "hit", "context_lines": 0, "path": "projects" }));
    assert_eq!(
        text,
        "Projects/c.md (2 matches)\n  1: HIT near\n  2: Hit\n\n[2 matches in 1 file; 1 file searched]"
    );
    // A capital letter makes the search case-sensitive, unless stated otherwise.
    assert_eq!(files(&vault.ok("search_files", json!({ "pattern": "HIT" }))), ["Projects/c.md"]);
    let all = json!({ "pattern": "HIT", "ignore_case": true, "file_pattern": "*.{md,txt}", "output_mode": "count" });
    let counts = vault.ok("search_files", all);
    assert_eq!(files(&counts).len(), 3);
    let only = json!({ "pattern": "hit", "output_mode": "files_with_matches", "max_results": 1 });
    let answer = vault.ok("search_files", only);
    assert_eq!((files(&answer).len(), &answer["not_searched"]), (1, &json!(1)));
    let few =
        vault.ok("search_files", json!({ "pattern": "hit", "max_matches": 2, "path": "projects" }));
    assert_eq!(few["files"][0]["shown"], 2);
    let text = vault.text("search_files", json!({ "pattern": "nothing like it" }));
    assert_eq!(text, "[no line matches `nothing like it`; 2 files searched]");
}

#[test]
fn bad_patterns_and_numbers_are_explained() {
    let vault = vault(&[("a.md", "x")]);
    for pattern in
        ["(", "[a", "a{1000}{1000}{1000}", r"(\w{1000}){50}", "(?=x)", r"(a)\1", "", "a\nb"]
    {
        let start = Instant::now();
        let error = vault.err("search_files", json!({ "pattern": pattern }), InvalidPattern);
        assert!(error.hint.is_some());
        assert!(start.elapsed() < Duration::from_secs(10), "{pattern} is refused soon");
    }
    let error = vault.err("search_files", json!({ "pattern": "note (draft" }), InvalidPattern);
    assert!(error.message.contains("column 6"), "{error}");
    for bad in
        [json!({ "max_results": 0 }), json!({ "max_matches": 501 }), json!({ "context_lines": 21 })]
    {
        let mut arguments = json!({ "pattern": "x" });
        arguments.as_object_mut().expect("an object").extend(bad.as_object().expect("one").clone());
        vault.err("search_files", arguments, InvalidInput);
    }
}

#[test]
fn no_pattern_on_any_file_hangs() {
    let quadratic = "a".repeat(200_000);
    let wide = "x".repeat(9 << 20);
    let vault = vault(&[("q.md", &quadratic), ("wide.md", &wide), ("ok.md", "aab\n")]);
    let start = Instant::now();
    let answer = vault.ok("search_files", json!({ "pattern": "a*b|a" }));
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(files(&answer).len(), 2);
    assert_eq!(answer["skipped"][0]["path"], "wide.md", "a line over 8 MB is counted, not held");
}

#[test]
fn the_deadline_ends_a_search_and_says_so() {
    let files: Vec<(String, String)> =
        (0..200).map(|n| (format!("{n}.md"), "lorem ipsum dolor\n".repeat(2_000))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
    let mut vault = vault(&files);
    vault.context.settings.search.deadline_milliseconds = 0;
    let answer = vault.ok("search_files", json!({ "pattern": "ipsum [A-Z]{5}" }));
    assert_eq!(answer["timed_out"], true);
    let text = vault.text("search_files", json!({ "pattern": "ipsum [A-Z]{5}" }));
    assert!(text.contains("the time limit was reached"), "{text}");
    vault.context.cancel = Cancel::default();
    vault.context.cancel.cancel();
    vault.err("search_files", json!({ "pattern": "x" }), Cancelled);
}

#[test]
fn excluded_files_are_searched_last() {
    let vault = TestVault::new(&[("Archive/new.md", "hit"), ("old.md", "hit")], |at| {
        let app = r#"{"trashOption":"local","userIgnoreFilters":["Archive/"]}"#;
        std::fs::write(at.join(".obsidian/app.json"), app).expect("written");
        let old = std::fs::File::options().append(true).open(at.join("old.md")).expect("opened");
        old.set_modified(std::time::UNIX_EPOCH).expect("set");
    });
    let answer = vault.ok("search_files", json!({ "pattern": "hit" }));
    assert_eq!(files(&answer), ["old.md", "Archive/new.md"]);
}

#[test]
fn the_lines_are_ripgreps() {
    if !machine::has_program("rg", "search::the_lines_are_ripgreps") {
        return;
    }
    let vault = vault(&[
        ("ascii.md", "foo\nbar\nFoo Bar\nfoo-bar foo\n\n  indented\nlast without newline foo"),
        ("crlf.md", "foo\r\nbar foo\r\nbaz\r\n"),
        ("ünïcode.md", "straße\nSTRASSE\nΣίσυφος ς\nKelvin \u{212a}\ncafe\u{301}\n日本語 foo\n"),
        ("bom.md", "\u{feff}foo at start\n"),
        ("Folder/Deep/note.md", "---\ntags: [a, b]\n---\n- [ ] task 2024-01-02\n[[Link|foo]]\n"),
        ("empty.md", ""),
        ("numbers.md", "1\n22\n333\n4444 55555\n2026-11-21\n"),
    ]);
    std::fs::write(vault.place.join("binary.md"), b"foo\nbar\0foo\nfoo\n").expect("written");
    std::fs::write(vault.place.join("invalid.md"), b"foo \xff\xfe\nbar\n").expect("written");
    std::fs::write(vault.place.join("wide.md"), b"\xff\xfef\0o\0o\0\n\0").expect("written");
    vault.context.vault.rescan().expect("rescanned");
    let patterns = [
        "foo",
        "Foo",
        "(?i)foo",
        "^foo",
        "foo$",
        r"\bfoo\b",
        "foo|bar",
        r"\d{4}-\d{2}-\d{2}",
        r"^\s+\S",
        "stra(ß|ss)e",
        "ς",
        "σ",
        "k",
        "K",
        r"\w+",
        "^$",
        ".",
        r"[^a-z\n]",
        r"\[\[.*\|",
        r"^- \[ \]",
        r"\p{Greek}+",
        "é",
        r"\r",
        "日本",
        r"^\d+$",
        "(?-u)foo",
        "[[:upper:]]{2}",
        "x*",
    ];
    for pattern in patterns {
        compare(&vault, pattern);
    }
}

/// Lines by file, as found by this search and by `rg`.
#[track_caller]
pub fn compare(vault: &TestVault, pattern: &str) {
    let query = counting(pattern);
    let settings = search::Settings { deadline_milliseconds: 60_000, ..Default::default() };
    let results = search::search(&vault.context.vault, &query, &settings, &Cancel::default());
    let results = results.unwrap_or_else(|error| panic!("{pattern}: {error}"));
    let text = &vault.context.index.text;
    text.refresh();
    let indexed = text.search(&vault.context.vault, &query, &settings, &Cancel::default());
    assert_eq!(indexed.as_ref(), Ok(&results), "the index answers as the files do: {pattern}");
    let ours: BTreeSet<(String, u64)> =
        results.files.iter().map(|f| (f.path.as_str().to_owned(), f.matches)).collect();
    let theirs = ripgreps_counts(vault, pattern);
    assert_eq!(ours, theirs, "the pattern `{pattern}`");
    // And the line numbers.
    for (path, _) in &ours {
        assert_eq!(
            our_lines(vault, pattern, path),
            their_lines(vault, pattern, path),
            "{pattern} in {path}"
        );
    }
}

/// Lines by file, as found by the index and by `rg`, on a vault like those of the benchmarks.
#[test]
fn the_indexs_lines_are_ripgreps_on_a_generated_vault() {
    if !machine::has_program("rg", "search::the_indexs_lines_are_ripgreps_on_a_generated_vault") {
        return;
    }
    let vault = vault(&[]);
    vaultgen::generate(&vault.place.join("Generated"), 300, 7).expect("the vault can be written");
    vault.context.vault.rescan().expect("rescanned");
    let text = &vault.context.index.text;
    text.refresh();
    // On a disk with times in seconds, the index waits before it indexes a new file.
    let until = Instant::now() + Duration::from_secs(60);
    while text.known().0 < 290 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
        text.refresh();
    }
    let (signed, others) = text.known();
    assert!(signed >= 290 && others <= 10, "{signed} notes are known, {others} are not");
    let notes: Vec<String> = vault
        .snapshot()
        .into_iter()
        .filter(|(path, _)| path.ends_with(".md"))
        .map(|(_, bytes)| String::from_utf8(bytes).expect("generated notes are UTF-8"))
        .collect();
    let mut found = 0;
    for number in 0..300 {
        let pattern = generated_pattern(&notes, number);
        let ours = counts(&vault, &pattern);
        assert_eq!(ours, ripgreps_counts(&vault, &pattern), "the pattern `{pattern}`");
        found += usize::from(!ours.is_empty());
    }
    assert!((150..300).contains(&found), "{found} of 300 patterns match, and some do not");
}

/// A pattern made from the text of the notes, of one of fifteen kinds.
fn generated_pattern(notes: &[String], number: usize) -> String {
    let mut state = number as u64 + 1;
    let mut draw = move |below: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) as usize % below.max(1)
    };
    let mut words = || {
        let note = &notes[draw(notes.len())];
        let words: Vec<&str> =
            note.split_whitespace().filter(|word| word.chars().count() > 2).collect();
        let at = draw(words.len());
        let two = words.get(at..at + 2).unwrap_or(&["Needle", "needle"]);
        (regex::escape(two[0]), regex::escape(two[1]))
    };
    let ((a, b), (c, _)) = (words(), words());
    let part: String =
        a.trim_matches('\\').chars().filter(|c| c.is_alphanumeric()).take(3).collect();
    match number % 15 {
        0 | 1 => a,
        2 => format!("{a} {b}"),
        3 => format!("(?i){}", a.to_uppercase()),
        4 => format!(r"\b{c}\b"),
        5 => format!("{a}|{c}"),
        6 => format!("{a}.*{b}"),
        7 => format!("^{a}"),
        8 => format!("{a}$"),
        9 => format!(r"\w+ {a} \w+"),
        10 => format!("({a}|{c}) ?"),
        11 => format!(r"{part}[a-m]{{2}}"),
        12 => format!(r"{part}\d*[^a-z]"),
        13 => format!("{part}qzx{number}"),
        _ => format!(r"\d{{{}}}-{}", 1 + number % 4, number % 10),
    }
}

fn counts(vault: &TestVault, pattern: &str) -> BTreeSet<(String, u64)> {
    let query = counting(pattern);
    let settings = search::Settings { deadline_milliseconds: 60_000, ..Default::default() };
    let context = &vault.context;
    let results = context.index.text.search(&context.vault, &query, &settings, &Cancel::default());
    let results = results.unwrap_or_else(|error| panic!("{pattern}: {error}"));
    results.files.iter().map(|f| (f.path.as_str().to_owned(), f.matches)).collect()
}

fn counting(pattern: &str) -> Query {
    Query {
        pattern: pattern.to_owned(),
        ignore_case: None,
        files: None,
        folder: VaultPath::root(),
        before: 0,
        after: 0,
        mode: Mode::Count,
        max_files: usize::MAX,
        max_matches: usize::MAX,
    }
}

/// The line terminator for `rg`: as here, before a carriage return, unless the pattern contains
/// one.
fn line_ends(pattern: &str) -> &'static str {
    if pattern.contains(r"\r") { "--no-crlf" } else { "--crlf" }
}

fn ripgreps_counts(vault: &TestVault, pattern: &str) -> BTreeSet<(String, u64)> {
    let output = Command::new("rg")
        .args([
            "--no-config",
            "--no-ignore",
            "--smart-case",
            line_ends(pattern),
            "--count",
            "--glob",
            "*.md",
            "--regexp",
            pattern,
            ".",
        ])
        .current_dir(&vault.place)
        .output()
        .expect("rg runs");
    assert!(output.stderr.is_empty(), "{pattern}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines()
        .filter_map(|line| {
            let (path, count) = line.strip_prefix("./").unwrap_or(line).rsplit_once(':')?;
            Some((path.to_owned(), count.parse().ok()?))
        })
        .collect()
}

fn our_lines(vault: &TestVault, pattern: &str, path: &str) -> BTreeSet<u64> {
    let arguments = json!({
        "pattern": pattern, "context_lines": 0, "max_matches": 500, "max_results": 1000,
        "path": path.rsplit_once('/').map_or("", |(folder, _)| folder),
    });
    let answer = vault.ok("search_files", arguments);
    let files = answer["files"].as_array().expect("a list");
    let file = files.iter().find(|file| file["path"] == path).expect("found before");
    let excerpts = file["excerpts"].as_array().expect("a list").iter();
    let lines = excerpts.flat_map(|excerpt| excerpt.as_array().expect("lines"));
    lines.map(|line| line["line"].as_u64().expect("a number")).take(5).collect()
}

fn their_lines(vault: &TestVault, pattern: &str, path: &str) -> BTreeSet<u64> {
    let output = Command::new("rg")
        .args([
            "--no-config",
            "--smart-case",
            line_ends(pattern),
            "--line-number",
            "--no-filename",
            "--regexp",
            pattern,
        ])
        .arg("--")
        .arg(path)
        .current_dir(&vault.place)
        .output()
        .expect("rg runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers = text.lines().filter_map(|line| line.split_once(':')?.0.parse().ok());
    // The least number that an answer shows.
    numbers.take(5).collect()
}

#[test]
fn monstrous_patterns_are_refused_soon() {
    let vault = vault(&[("a.md", "x")]);
    let words: String = (0..200_000).map(|n| format!("w{n}|")).collect();
    let nested = format!("{}x{}", "(".repeat(100_000), ")".repeat(100_000));
    let inside_limit = format!("{}x{}", "(".repeat(499), ")".repeat(499));
    for pattern in
        [&words, &nested, &inside_limit, "((((((a{99}){9}){9}){9}){9}){99})", r"(\p{L}{999}){99}"]
    {
        let start = Instant::now();
        let error = vault.err("search_files", json!({ "pattern": pattern }), InvalidPattern);
        assert!(error.text().len() < 5_000, "the pattern is not repeated at length");
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    }
}

#[test]
fn binary_files_are_counted_and_the_answer_is_bounded() {
    let line = format!("{}\n", "words ".repeat(100));
    let wide = format!("{}hit\n", line.repeat(45)).repeat(5);
    let names: Vec<String> = (0..60).map(|n| format!("{n}.md")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), &*wide)).collect();
    let vault = vault(&files);
    for name in ["a.png", "b.md"] {
        std::fs::write(vault.place.join(name), b"\0hit\n").expect("written");
    }
    let long = std::fs::File::create(vault.place.join("long.md")).expect("made");
    long.set_len(9 << 20).expect("sparse");
    std::fs::write(vault.place.join("line.md"), "y".repeat(9 << 20)).expect("written");
    vault.context.vault.rescan().expect("rescanned");
    let all = json!({
        "pattern": "hit", "file_pattern": "**", "max_results": 1000, "max_matches": 500,
        "context_lines": 20,
    });
    let answer = vault.call("search_files", &all).expect("an answer");
    assert!(answer.text.len() < 200 << 10, "{} bytes of text", answer.text.len());
    assert!(answer.data.to_string().len() < 400 << 10, "{} bytes", answer.data.to_string().len());
    assert!(answer.text.contains("left out to keep the answer short"), "{}", answer.text);
    let none = json!({ "pattern": "no such line", "file_pattern": "**" });
    let none = vault.ok("search_files", none);
    assert_eq!((&none["binary"], &none["searched"]), (&json!(3), &json!(63)), "{none}");
    assert_eq!(none["skipped"][0]["path"], "line.md");
}

#[test]
fn glob_bombs_fizzle_in_every_tool() {
    let deep = format!("{}/{}.md", ["aaaaaaaaaa"; 20].join("/"), "a".repeat(200));
    let names: Vec<String> = (0..2_000).map(|n| format!("a{}/{n}/aaaa.md", n % 10)).collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x\n")).collect();
    files.push((&deep, "x\n"));
    let vault = vault(&files);
    let braces = "{a,b}".repeat(8);
    let start = Instant::now();
    for bomb in [
        "**/**/**/**/**/**/**/*b",
        "**/a*/**/a*/**/a*/**/a*/**/a*/**/b",
        "**/*a*a*a*a*a*a*a*a*a*a*a*a*b",
        "a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b*/**/*a*a*a*a*b",
        &format!("**/{braces}*/**/*b"),
        &format!("**/{}b", "*?".repeat(100)),
    ] {
        for (tool, arguments) in [
            ("list_files", json!({ "pattern": bomb })),
            ("search_files", json!({ "pattern": "x", "file_pattern": bomb })),
            ("directory_tree", json!({ "exclude": [bomb], "max_depth": 64 })),
        ] {
            let began = Instant::now();
            let answer = vault.call(tool, &arguments);
            let took = began.elapsed();
            assert!(took < Duration::from_secs(3), "{tool} {bomb}: {took:?} {:?}", answer.is_ok());
        }
    }
    for bomb in ["{a,b}".repeat(40), "{".repeat(100_000), format!("{}x", "**/".repeat(50_000))] {
        vault.err("list_files", json!({ "pattern": bomb }), InvalidPattern);
        vault.err("search_files", json!({ "pattern": "x", "file_pattern": bomb }), InvalidPattern);
        vault.err("directory_tree", json!({ "exclude": [bomb] }), InvalidPattern);
    }
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
}

#[test]
fn a_differently_written_match_is_suggested() {
    let vault = vault(&[
        ("a.md", "Ann\u{2019}s plan \u{2013} the Cafe\u{301}\n"),
        ("b.md", "“so” it is in Zürich\n"),
    ]);
    let hint = |pattern: &str| {
        let asked = json!({ "pattern": pattern });
        let found = vault.ok("search_files", asked.clone());
        assert_eq!(found["files"], json!([]), "{pattern}");
        let text = vault.text("search_files", asked);
        let hint = found["written_otherwise"].as_str().map(str::to_owned);
        assert_eq!(text.contains("search for `"), hint.is_some(), "{text}");
        hint
    };
    for (pattern, path) in [
        ("Ann's plan", "a.md"),
        ("plan - the", "a.md"),
        ("Caf\u{e9}", "a.md"),
        ("\"so\"", "b.md"),
        ("Zu\u{308}rich", "b.md"),
    ] {
        let forgiving = hint(pattern).unwrap_or_else(|| panic!("no hint for {pattern}"));
        let found = vault.ok("search_files", json!({ "pattern": forgiving }));
        assert_eq!(found["files"][0]["path"], path, "{forgiving}");
    }
    for pattern in ["Bob's plan", "Ann[']s", "nothing at all", "plan \\- the"] {
        assert_eq!(hint(pattern), None, "{pattern}");
    }
    // If anything is found, no alternative is searched.
    let found = vault.ok("search_files", json!({ "pattern": "Zürich" }));
    assert_eq!(found["written_otherwise"], json!(null));
}

#[test]
fn totals_cover_the_whole_vault() {
    let notes: Vec<(String, String)> =
        (0..40).map(|n| (format!("{n}.md"), "tea and\n".repeat(n % 3))).collect();
    let notes: Vec<(&str, &str)> = notes.iter().map(|(path, text)| (&**path, &**text)).collect();
    let vault = vault(&notes);
    let (files, matches) = (26, 39);
    for (mode, shown) in [("count", 3), ("content", 3), ("files_with_matches", 3), ("count", 1)] {
        let arguments = json!({ "pattern": "tea", "output_mode": mode, "max_results": shown });
        let answer = vault.call("search_files", &arguments).expect("searched");
        let data = &answer.data;
        assert_eq!(data["files"].as_array().map(Vec::len), Some(shown), "{mode}");
        assert_eq!(data["at_least"], false, "{data}");
        let (matches, number) = match mode {
            "files_with_matches" => (json!(null), ""),
            _ => (json!(matches), "39 "),
        };
        assert_eq!((&data["total_files"], &data["total_matches"]), (&json!(files), &matches));
        let said =
            format!("[{number}matches in 26 files, the newest {shown} shown; 40 files searched; ");
        assert!(answer.text.contains(&said), "{}", answer.text);
    }
    let all = vault
        .ok("search_files", json!({ "pattern": "tea", "max_results": 100, "max_matches": 500 }));
    assert_eq!((&all["total_files"], &all["at_least"]), (&json!(files), &json!(false)));
}

#[test]
fn frequent_matches_are_counted_on_request() {
    let notes: Vec<String> = (0..200).map(|n| format!("{n}.md")).collect();
    let notes: Vec<(&str, &str)> = notes.iter().map(|path| (&**path, "tea\n")).collect();
    let vault = vault(&notes);
    let found = vault.ok("search_files", json!({ "pattern": "tea" }));
    assert_eq!((&found["total_files"], &found["at_least"]), (&json!(10), &json!(true)));
    let counted = vault.ok("search_files", json!({ "pattern": "tea", "output_mode": "count" }));
    assert_eq!((&counted["total_files"], &counted["at_least"]), (&json!(200), &json!(false)));
}

#[test]
fn one_file_can_be_searched_by_its_path() {
    let vault = vault(&[
        ("Log.md", "tea\n"),
        ("Deep/Log.md", "tea\ntea\n"),
        ("Deep/Deeper/Log.md", "tea\n"),
        ("Deep/list.txt", "tea\n"),
        ("Both/x.md", "tea\n"),
        ("Both.md", "tea\n"),
    ]);
    let found = |path: &str| {
        let found = vault.ok("search_files", json!({ "pattern": "tea", "path": path }));
        let files = found["files"].as_array().expect("a list").iter();
        files.map(|file| file["path"].as_str().expect("a path").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found("Deep/Log.md"), ["Deep/Log.md"]);
    assert_eq!(found("deep/log"), ["Deep/Log.md"]);
    assert_eq!(found("Log.md"), ["Log.md"]);
    assert_eq!(found("Deep/list.txt"), ["Deep/list.txt"]);
    assert_eq!(found("Both"), ["Both/x.md"]);
    let other = json!({ "pattern": "tea", "path": "Log.md", "file_pattern": "*.txt" });
    assert_eq!(vault.ok("search_files", other)["total_files"], 1);
    vault.err("search_files", json!({ "pattern": "tea", "path": "none" }), NotFound);
}

#[test]
fn braces_in_names_are_literal() {
    if !can(Ability::AnyName) {
        return;
    }
    let vault = vault(&[
        ("{draft}.md", "x"),
        ("draft.md", "x"),
        ("T/{{date}}.md", "x"),
        ("T/one.txt", "x"),
        ("T/[x] *.md", "x"),
    ]);
    let listed = |pattern: &str| {
        let found = vault.ok("list_files", json!({ "pattern": pattern, "sort_by": "name" }));
        let entries = found["entries"].as_array().expect("a list").iter();
        entries.map(|one| one["path"].as_str().expect("a path").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed("{draft}.md"), ["{draft}.md"]);
    assert_eq!(listed("{draft,none}.md"), ["draft.md"]);
    assert_eq!(listed("**/{{date}}.md"), ["T/{{date}}.md"]);
    assert_eq!(listed("T/*.{txt}"), ["T/one.txt"]);
    assert_eq!(listed(r"\{draft\}.md"), ["{draft}.md"]);
    assert_eq!(listed(r"T/\[x\] \*.md"), ["T/[x] *.md"]);
    // No file is named `T*.txt`, so it is read as a pattern.
    assert_eq!(listed(r"T\*.txt"), ["T/one.txt"]);
    let found = vault.ok("search_files", json!({ "pattern": "x", "file_pattern": "{{date}}*" }));
    assert_eq!(found["files"][0]["path"], "T/{{date}}.md");
    assert_eq!(found["total_files"], 1);
    let escaped = json!({ "pattern": "x", "file_pattern": r"\{\{date\}\}*" });
    assert_eq!(vault.ok("search_files", escaped)["files"][0]["path"], "T/{{date}}.md");
}
