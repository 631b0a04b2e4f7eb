//! The repository can be checked out on Windows, too.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use regex::Regex;

/// What Git for Windows refuses in a name: characters, ends, and the names of devices.
const REFUSED: &str = r#"(?i)[<>:"\\|?*\x00-\x1f]|[. ]$|^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[1-9¹²³]) *(\.|$)"#;

#[test]
fn every_file_has_a_name_that_windows_takes() {
    let refused = Regex::new(REFUSED).expect("a pattern");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut folders, mut seen) = (vec![root.to_owned()], BTreeSet::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the repository can be listed") {
            let entry = entry.expect("the repository can be listed");
            let (name, path) = (entry.file_name(), entry.path());
            let name = name.to_string_lossy();
            // What is built or fetched is not checked out.
            if [".git", "target", "node_modules"].contains(&&*name) {
                continue;
            }
            let shown = path.strip_prefix(root).expect("below").to_string_lossy().into_owned();
            assert!(!refused.is_match(&name), "Windows refuses the name of `{shown}`");
            assert!(seen.insert(shown.to_lowercase()), "`{shown}` has a twin that differs in case");
            if entry.file_type().expect("a kind").is_dir() {
                folders.push(path);
            }
        }
    }
    assert!(seen.len() > 1_000, "{}", seen.len());
}

#[test]
fn names_that_windows_refuses_are_known() {
    let refused = Regex::new(REFUSED).expect("a pattern");
    for name in ["nul", "Aux.md", "com1.tar.gz", "LPT³", "a:b", "a?", "end.", "end ", "CONIN$"] {
        assert!(refused.is_match(name), "{name}");
    }
    for name in ["null", "com10", "console.rs", ".gitignore", "a.b", "$nul", "communes"] {
        assert!(!refused.is_match(name), "{name}");
    }
}
