//! Properties of any vault: resolution, listing and search compared with simple implementations.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;
use vault_steward::note::fold::fold_key;
use vault_steward::note::glob::Glob;

use crate::machine;
use crate::vault::vault;

/// Names that differ in case, Unicode form and white space only as this test makes them.
fn name() -> impl Strategy<Value = String> {
    "[A-Ca-c][A-Ca-cäÄéß Σσ-]{0,4}[a-c1-3]".prop_map(|name| name.replace("  ", " "))
}

fn files() -> impl Strategy<Value = Vec<String>> {
    let path =
        prop::collection::vec(name(), 1..4).prop_map(|names| format!("{}.md", names.join("/")));
    prop::collection::vec(path, 1..12).prop_map(|paths| {
        // One spelling per name: ambiguous ones are tested elsewhere.
        let mut seen = BTreeSet::new();
        let folded = |path: &str| fold_key(path);
        let mut sound = Vec::new();
        for path in paths {
            let mut folders = path.match_indices('/').map(|(at, _)| path[..at].to_owned());
            let clash = folders.any(|folder| {
                seen.iter().any(|(key, spelt): &(String, String)| {
                    *key == folded(&folder) && *spelt != folder
                })
            });
            if clash || seen.iter().any(|(key, _)| *key == folded(&path)) {
                continue;
            }
            for (at, _) in path.match_indices('/') {
                seen.insert((folded(&path[..at]), path[..at].to_owned()));
            }
            seen.insert((folded(&path), path.clone()));
            sound.push(path);
        }
        sound
    })
}

/// A path as someone might say it.
fn respelt(path: &str, how: u32) -> String {
    let mut text = path.to_owned();
    if how & 1 != 0 {
        text = text.chars().flat_map(char::to_lowercase).collect();
    }
    if how & 2 != 0 {
        use unicode_normalization::UnicodeNormalization;
        text = text.nfd().collect();
    }
    if how & 4 != 0 {
        text = text.replace(' ', "\u{a0}");
    }
    if how & 8 != 0 {
        text = text.trim_end_matches(".md").trim_end_matches(".MD").to_owned();
    }
    if how & 16 != 0 {
        text = text.replace('/', "\\");
    }
    if how & 32 != 0 {
        text = format!(" \"/{text}\" ");
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_spelling_finds_the_file_and_nothing_else(paths in files(), hows in prop::collection::vec(0_u32..64, 8)) {
        let contents: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), path.as_str())).collect();
        let vault = vault(&contents);
        for path in &paths {
            for how in &hows {
                let asked = respelt(path, *how);
                let read = vault.ok("read_file", json!({ "path": asked }));
                prop_assert_eq!(&read["path"], path, "{}", asked);
                prop_assert_eq!(read["content"].as_str().map(str::trim_end), Some(path.as_str()));
            }
        }
        // A name that no file has finds nothing.
        let absent = format!("{}x.md", paths[0].trim_end_matches(".md"));
        if !paths.iter().any(|path| fold_key(path) == fold_key(&absent)) {
            let found = vault.call("read_file", &json!({ "path": absent })).is_ok();
            prop_assert!(!found);
        }
    }

    #[test]
    fn a_listing_is_that_of_a_plain_walk(paths in files(), pattern in "(\\*\\*/)?[abc*?]{1,3}(/[abc*?]{1,3})?(\\.md)?") {
        let contents: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "x")).collect();
        let vault = vault(&contents);
        let Ok(glob) = Glob::parse(&pattern) else { return Ok(()) };
        let expected: BTreeSet<String> = vault
            .snapshot()
            .into_iter()
            .map(|(name, _)| name.trim_end_matches('/').to_owned())
            .filter(|name| !name.starts_with('.') && glob.matches(&fold_key(name)))
            .collect();
        let answer = vault.ok("list_files", json!({ "pattern": pattern, "max_results": 1000 }));
        let listed: BTreeSet<String> = answer["entries"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|entry| entry["path"].as_str().expect("a path").to_owned())
            .collect();
        prop_assert_eq!(listed, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_search_finds_ripgreps_lines(
        texts in prop::collection::vec("([abkKsſS\u{212a}é .1-3]{0,12}(\n|\r\n)?){0,6}", 1..5),
        patterns in prop::collection::vec("[abksKé.]{1,2}[*+?]?(\\||\\\\b|\\\\d|\\\\w|\\$)?[ab1]?", 6),
    ) {
        if !machine::has_program("rg", "properties::any_search_finds_ripgreps_lines") {
            return Ok(());
        }
        let names: Vec<String> = (0..texts.len()).map(|n| format!("{n}.md")).collect();
        let files: Vec<(&str, &str)> =
            names.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
        let vault = vault(&files);
        for pattern in patterns.iter().filter(|pattern| !pattern.ends_with('|')) {
            crate::search::compare(&vault, pattern);
        }
    }
}
