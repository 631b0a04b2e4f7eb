//! `steward query`, with a daemon and without.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::Home;

/// A vault with three books and a base.
fn shelf(home: &Home) -> PathBuf {
    let vault = home.vault("Shelf");
    let write = |name: &str, text: &str| std::fs::write(vault.join(name), text).unwrap();
    write("Walden.md", "---\nyear: 1854\nby: \"[[Thoreau]]\"\ntags: [book, read]\n---\n");
    write("Emma.md", "---\nyear: 1815\nby: Jane, \"the\" Austen\ntags: book\n---\n");
    write("Ulysses.md", "---\nyear: 1922\ntags: book\n---\n");
    write(
        "Books.base",
        "filters: file.hasTag(\"book\")\nformulas:\n  old: year < 1900\nviews:\n  - type: table\n    name: Old\n    \
         filters: formula.old\n    order: [file.name, year]\n    sort:\n      - property: year\n        direction: DESC\n  \
         - type: table\n    name: By age\n    order: [file.name]\n    groupBy:\n      property: formula.old\n      \
         direction: DESC\n",
    );
    vault
}

fn run(home: &Home, vault: &Path, arguments: &[&str]) -> String {
    home.run_in(vault, &[&["query"], arguments].concat()).expect(0).stdout
}

#[test]
fn every_format_prints_the_same_rows() {
    let home = Home::new();
    let vault = shelf(&home);
    let books =
        ["file.hasTag(\"book\")", "-s", "file.name", "-s", "year", "-s", "by", "--sort", "-year"];
    for _daemon in [None, Some(home.serve(&vault))] {
        let query =
            |format: &str| run(&home, &vault, &[&books[..], &["--format", format]].concat());
        let table = query("table");
        let lines: Vec<Vec<&str>> =
            table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["Ulysses", "1922"]);
        assert_eq!(lines[2][..3], ["Walden", "1854", "[[Thoreau]]"]);
        assert!(table.ends_with("[3 notes]\n"), "{table}");
        let csv = query("csv");
        let (_, rows) = csv.split_once('\n').unwrap();
        assert_eq!(
            rows,
            "Ulysses,1922,\nWalden,1854,[[Thoreau]]\nEmma,1815,\"Jane, \"\"the\"\" Austen\"\n"
        );
        assert!(query("tsv").contains("Ulysses\t1922\t\n"));
        let markdown = query("md");
        assert_eq!(markdown.lines().nth(1), Some("| --- | --- | --- |"));
        assert_eq!(markdown.lines().nth(3), Some("| Walden | 1854 | [[Thoreau]] |"));
        assert_eq!(query("paths"), "Ulysses.md\nWalden.md\nEmma.md\n");
        let rows: Vec<serde_json::Value> =
            query("jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((rows.len(), &rows[0]["path"]), (3, &json!("Ulysses.md")));
        assert!(
            rows[1].as_object().unwrap().values().any(|value| *value == json!(1854)),
            "{rows:?}"
        );
        let whole: serde_json::Value = serde_json::from_str(&query("json")).unwrap();
        assert_eq!(whole["total"], 3);
    }
}

#[test]
fn a_value_of_several_lines_stays_in_its_row_and_rows_count_from_one() {
    let home = Home::new();
    let vault = shelf(&home);
    let emma = "---\nyear: 1815\nby: \"Jane\\nAusten\"\n---\n";
    std::fs::write(vault.join("Emma.md"), emma).unwrap();
    let asked = ["year == 1815", "-s", "by", "-s", "year"];
    let table = run(&home, &vault, &asked);
    assert_eq!(table.lines().nth(1), Some("Jane Austen  1815"), "{table}");
    home.run_in(&vault, &["query", "year > 0", "--first-result", "0"]).expect(2);
}

#[test]
fn a_view_of_a_base_is_printed_as_the_app_would() {
    let home = Home::new();
    let vault = shelf(&home);
    let paths = |arguments: &[&str]| {
        run(&home, &vault, &[&["--base", "Books.base", "--format", "paths"], arguments].concat())
    };
    assert_eq!(paths(&[]), "Walden.md\nEmma.md\n", "the first view");
    assert_eq!(paths(&["--view", "By age"]), "Emma.md\nWalden.md\nUlysses.md\n");
    let table = run(&home, &vault, &["--base", "books", "--view", "By age"]);
    assert!(
        table.starts_with("true   ██████████████████████████████ 2\nfalse  ███████████████ 1\n"),
        "{table}"
    );
    let failed = home.run_in(&vault, &["query", "--base", "Books.base", "--view", "Odl"]).expect(1);
    assert!(failed.stderr.contains("Old") && failed.stderr.contains("By age"), "{failed:?}");
}

#[test]
fn more_rows_than_one_answer_holds_are_all_printed() {
    let home = Home::new();
    let vault = home.vault("Many");
    for at in 0..1_205 {
        std::fs::write(vault.join(format!("n{at:04}.md")), "").unwrap();
    }
    let all = ["file.name.startsWith(\"n\")", "--format", "paths"];
    let paths = run(&home, &vault, &all);
    let names: Vec<_> = paths.lines().collect();
    assert_eq!((names.len(), names[0], names[1_204]), (1_205, "n0000.md", "n1204.md"));
    assert_eq!(run(&home, &vault, &[&all[..], &["-n", "1100"]].concat()).lines().count(), 1_100);
    let table = run(&home, &vault, &all[..1]);
    assert!(
        table.ends_with("[rows 1-100 of 1205; --limit N for more, --first-result 101 continues]\n"),
        "{table}"
    );
}

#[test]
fn a_mistake_is_shown_where_it_is() {
    let home = Home::new();
    let vault = shelf(&home);
    let failed = home.run_in(&vault, &["query", "year = 1854"]).expect(1);
    let lines: Vec<_> = failed.stderr.lines().collect();
    assert!(lines[0].starts_with("error: "), "{failed:?}");
    let at = lines.iter().position(|line| line.contains("year = 1854")).expect("the line");
    assert_eq!(lines[at + 1].find('^'), lines[at].find('='), "{failed:?}");
    assert!(
        lines.last().is_some_and(|line| line.starts_with("hint: ") && line.contains("==")),
        "{failed:?}"
    );
    let json = home.run_in(&vault, &["--json", "query", "year = 1854"]).expect(1).json();
    assert_eq!(json["code"], "invalid_expression", "{json}");
    let warned = home.run_in(&vault, &["query", "yeer == 1854"]).expect(0);
    assert!(warned.stderr.contains("`yeer`") && warned.stderr.contains("`year`"), "{warned:?}");
}

#[test]
fn why_a_note_is_a_row_is_explained() {
    let home = Home::new();
    let vault = shelf(&home);
    let condition = "file.hasTag(\"read\") && year < 1900";
    let why = |note: &str| run(&home, &vault, &[condition, "--explain", note]);
    let (walden, emma) = (why("walden"), why("emma"));
    assert!(walden.contains("year < 1900") && walden.contains("1854"), "{walden}");
    assert!(
        emma.starts_with("Emma.md is not a row\n") && emma.contains("no  file.hasTag(\"read\")"),
        "{emma}"
    );
    assert!(emma.contains("not asked  year < 1900"), "{emma}");
}

/// The words of a shell command with single quotes.
#[cfg(unix)]
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    for c in line.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(unix)]
#[test]
fn the_manuals_examples_run_on_the_sample_vault() {
    let home = Home::new();
    let vault = home.path("Sample");
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/vault");
    let copied = std::process::Command::new("cp").arg("-a").args([&sample, &vault]).status();
    assert!(copied.unwrap().success());
    let page = include_str!("../../docs/query.md");
    let examples: Vec<_> =
        page.lines().filter_map(|line| line.strip_prefix("$ steward ")).collect();
    assert!(examples.len() >= 5, "{examples:?}");
    for example in examples {
        let words = words(example);
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let run = home.run_in(&vault, &words).expect(0);
        // Two notes of the sample vault have no valid properties.
        let unread = "note: notes whose properties could not be read: 2\n";
        assert!(run.stderr == unread || run.stderr.is_empty(), "`{example}` warns: {run:?}");
        assert!(
            run.stdout.lines().count() > 1 || example.contains("paths"),
            "`{example}` finds nothing: {run:?}"
        );
    }
}
