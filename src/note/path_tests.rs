use proptest::prelude::*;

use super::*;

const ROOT: &str = "/home/me/Vault";

#[track_caller]
fn parsed(input: &str) -> String {
    VaultPath::parse(input, Some(ROOT)).unwrap().as_str().to_owned()
}

/// Reliability cases 4, 27 and 29, and spellings from dictation.
#[test]
fn spellings_of_one_path() {
    for input in [
        "Projects/Café.md",
        "/Projects/Café.md",
        "./Projects/Café.md",
        "Projects//Café.md/",
        "Projects/./Café.md",
        r"Projects\Café.md",
        "/home/me/Vault/Projects/Café.md",
        "Projects/Cafe\u{301}.md",
        " \"Projects/Café.md\" ",
        "“Projects/Café.md”",
        "'`Projects/Café.md`'",
    ] {
        assert_eq!(parsed(input), "Projects/Café.md", "{input}");
    }
    assert_eq!(parsed("a\u{a0}b\u{202f}c"), "a b c");
    assert_eq!(parsed("it's \"quoted\""), "it's \"quoted\"");
    assert_eq!(parsed("2026: a plan"), "2026: a plan");
    for root in ["", ".", "/", " ", "./", "/home/me/Vault", "/home/me/Vault/"] {
        assert_eq!(parsed(root), "", "{root:?}");
    }
}

/// Reliability cases 1 to 4.
#[test]
fn what_leads_outside() {
    for input in [
        "..",
        "../x",
        "a/../../x",
        r"..\x",
        "/etc/passwd",
        r"C:\x",
        "c:/x",
        "C:",
        r"\\srv\x",
        "//srv/x",
        "~",
        "~/x",
        "file:///x",
        "file:/x",
        "https://x/y",
        "/home/me/Vault-evil/x",
        "/home/me/Vault/../x",
        "../Vault-evil/x",
        "\"../x\"",
    ] {
        let error = VaultPath::parse(input, Some(ROOT)).unwrap_err();
        assert!(matches!(error, PathError::Outside { .. }), "{input}: {error}");
    }
}

/// Reliability cases 18 to 20 and 27.
#[test]
fn invalid_paths() {
    let long = format!("a/{}", "語".repeat(86));
    let deep = "a/".repeat(2100);
    for (input, reason) in [
        ("a\0b", "it holds the control character U+0000"),
        ("a\nb", "it holds the control character U+000A"),
        (&*long, "has 258 bytes; the limit is 255"),
        (&*deep, "it is longer than 4,096 bytes"),
        ("a/../b", "it climbs with `..`; say `b` instead"),
    ] {
        let error = VaultPath::parse(input, Some(ROOT)).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn parts() {
    let path = VaultPath::from_disk("a/b.c.md").unwrap();
    assert_eq!((path.name(), path.stem(), path.extension()), ("b.c.md", "b.c", Some("md")));
    assert_eq!(path.parent().unwrap().as_str(), "a");
    assert_eq!(path.parent().unwrap().parent(), Some(VaultPath::root()));
    assert_eq!(VaultPath::root().parent(), None);
    assert_eq!(path.relative_to(&VaultPath::from_disk("a").unwrap()), Some("b.c.md"));
    assert_eq!(path.relative_to(&VaultPath::from_disk("a/b").unwrap()), None);
    assert_eq!(VaultPath::from_disk(".a").unwrap().extension(), None);
    for name in ["", ".", "..", "a/b"] {
        assert_eq!(path.join(name), None, "{name:?}");
    }
    assert_eq!(VaultPath::root().join("a").unwrap().as_str(), "a");
    for path in ["/a", "a/", "a//b", "a/../b", "a\0"] {
        assert_eq!(VaultPath::from_disk(path), None, "{path:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn a_plain_path_is_its_own_spelling(path in "[a-zé0-9][a-z .é0-9-]{0,8}[a-z](/[a-zé][a-z .é-]{0,8}[a-z]){0,4}") {
        prop_assume!(!path.contains("://"));
        prop_assert_eq!(parsed(&path), path);
    }

    /// Simple folding and composition can undo each other; the key must be where they agree.
    #[test]
    fn the_key_of_a_key_is_itself(text in "\\PC{0,20}|[\u{345}\u{3b1}\u{391}\u{1fb3}\u{1fbc}\u{301}\u{308}\u{399}ßẞǅİıſK\u{212b}å\u{30a}]{0,10}") {
        let key = fold::fold_key(&text);
        prop_assert_eq!(fold::fold_key(&key), key);
    }
}
