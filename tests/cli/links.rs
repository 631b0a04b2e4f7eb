//! `steward links check`.

use serde_json::json;

use crate::support::Home;

#[test]
fn broken_and_ambiguous_links_are_reported_with_file_and_line() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let run = home.run_in(&vault, &["links", "check"]).expect(0);
    assert_eq!(run.stdout, "0 links in 1 file: 0 broken, 0 ambiguous, 0 to missing parts\n");
    std::fs::write(
        vault.join("a.md"),
        "[[My Note]]\n[[no]] and [[b]]\n# A\nx ^id\n\n[[#a]] [[a#^ID]] [[a#^no]] [x](a.md#B%20c)\n",
    )
    .unwrap();
    for folder in ["x", "y"] {
        std::fs::create_dir(vault.join(folder)).unwrap();
        std::fs::write(vault.join(folder).join("b.md"), "").unwrap();
    }
    let run = home.run_in(&vault, &["links", "check"]).expect(1);
    assert_eq!(
        run.stdout,
        "a.md:2: broken: `no` leads to nothing\n\
         a.md:2: ambiguous: `b` leads to `x/b.md`, could be `y/b.md`\n\
         a.md:6: missing part: `a.md` has no `#^no`\n\
         a.md:6: missing part: `a.md` has no `#B c`\n\
         7 links in 4 files: 1 broken, 1 ambiguous, 2 to missing parts\n"
    );
    let run = home.run_in(&vault, &["links", "check", "--json"]).expect(1);
    assert_eq!(
        run.json(),
        json!({
            "files": 4,
            "links": 7,
            "broken": [{"path": "a.md", "line": 2, "link": "no"}],
            "ambiguous": [{
                "path": "a.md", "line": 2, "link": "b", "target": "x/b.md", "others": ["y/b.md"]
            }],
            "missingParts": [
                {"path": "a.md", "line": 6, "link": "a", "part": "#^no", "target": "a.md"},
                {"path": "a.md", "line": 6, "link": "a.md", "part": "#B c", "target": "a.md"},
            ],
            "notRead": [],
        })
    );
}

#[test]
fn of_a_note_that_cannot_be_read_no_heading_is_missing() {
    let home = Home::new();
    let vault = home.vault("Notes");
    std::fs::write(vault.join("a.md"), "[[binary#Heading]] [[a#Heading]]\n").unwrap();
    std::fs::write(vault.join("binary.md"), b"# Heading\n\xff\xfe\x00\n").unwrap();
    let run = home.run_in(&vault, &["links", "check"]).expect(1);
    assert!(run.stdout.contains("`a.md` has no `#Heading`"), "{}", run.stdout);
    assert!(!run.stdout.contains("`binary.md` has no"), "{}", run.stdout);
}
