//! The sample vault checks out the same everywhere, and contains what its README promises.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use vault_steward::note::fold::{fold_key, normal};
use vault_steward::note::frontmatter::edit::{self, PropertyChange};
use vault_steward::note::tag::rename;

/// Windows limits a path to 260 characters; a deep clone needs room above the vault.
const LONGEST_PATH: usize = 150;

fn vault() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/vault"))
}

/// Every file and folder of the vault, relative, with `/`.
fn entries() -> Vec<String> {
    let (mut found, mut folders) = (Vec::new(), vec![vault().to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the sample vault can be listed") {
            let path = entry.expect("the sample vault can be listed").path();
            let inside = path.strip_prefix(vault()).expect("the walk stays inside");
            found.push(inside.to_str().expect("names are UTF-8").replace('\\', "/"));
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    found.sort();
    found
}

fn bytes(path: &str) -> Vec<u8> {
    fs::read(vault().join(path)).unwrap_or_else(|error| panic!("`{path}`: {error}"))
}

#[test]
fn every_desktop_system_can_hold_it() {
    let mut keys: HashMap<String, String> = HashMap::new();
    for path in entries() {
        assert_eq!(normal(&path), path, "names are NFC, with plain spaces");
        assert!(path.len() <= LONGEST_PATH, "`{path}` has {} bytes", path.len());
        let name = path.rsplit('/').next().expect("a path has a last component");
        assert!(!name.contains(['*', '"', '\\', '<', '>', ':', '|', '?']), "`{path}`: Windows");
        assert!(!name.ends_with(['.', ' ']), "`{path}`: Windows drops the end of the name");
        if let Some(twin) = keys.insert(fold_key(&path), path.clone()) {
            panic!("`{twin}` and `{path}` are one file on macOS and Windows");
        }
    }
}

#[test]
fn the_oddities_survived_the_checkout() {
    let crlf = bytes("Workshop/Sharpening.md");
    let ends = crlf.iter().filter(|byte| **byte == b'\n').count();
    let pairs = crlf.windows(2).filter(|pair| pair == b"\r\n").count();
    assert!(pairs > 10 && pairs == ends, "CRLF throughout: {pairs} of {ends}");
    assert!(bytes("Workshop/Finishes.md").starts_with(b"\xef\xbb\xbf---\n"), "a BOM");
    assert!(!bytes("Seed swap 🌱.md").ends_with(b"\n"), "no final newline");
    assert!(bytes("Untitled.md").is_empty(), "an empty note");
    assert!(bytes("Attachments/plot-27.png").starts_with(b"\x89PNG\r\n\x1a\n"), "a picture");
    assert!(bytes("Attachments/seed-catalogue.pdf").starts_with(b"%PDF-1.4\n"), "a PDF");
}

#[test]
fn its_guide_counts_right() {
    let notes = entries().iter().filter(|path| path.ends_with(".md")).count();
    let guide = include_str!("../../fixtures/README.md");
    assert!(guide.contains(&format!("{notes} notes")), "fixtures/README.md: {notes} notes");
    for part in guide.split('`').skip(1).step_by(2).filter(|part| part.ends_with(".md")) {
        if part.contains(['/', ' ']) && !part.contains('…') && !part.contains('{') {
            let is_there = entries().iter().any(|path| path.ends_with(part));
            assert!(is_there, "fixtures/README.md names `{part}`");
        }
    }
}

#[test]
fn its_links_lead_where_they_should() {
    use vault_steward::index::Index;
    use vault_steward::index::links::{Resolution, Scope};
    use vault_steward::note::path::VaultPath;
    use vault_steward::vault::{Cancel, Settings, Vault};

    let state = tempfile::tempdir().expect("a temporary folder");
    let opened = Vault::open(vault(), state.path(), Settings::default(), &|_| ());
    let links = Index::new(opened.expect("the sample vault opens").0).links;
    links.refresh(&Cancel::default()).expect("nobody withdraws");
    let root = VaultPath::root();
    let all = vault_steward::vault::View::default();
    let links = links.in_view(&all);
    let broken: Vec<String> = links
        .doubtful(&root, false)
        .into_iter()
        .map(|found| {
            format!("{}:{} {}", found.source, found.lead.link.line, found.lead.link.path())
        })
        .collect();
    assert_eq!(
        broken,
        [
            "Garden/Beds/Bed 3 – Beans & peas.md:5 Runner bean",
            "Garden/Plants/Kürbis.md:13 Kürbissuppe",
            "Inbox.md:12 Greenhouse heating",
            "Reading/Reading list.md:16 Pomona's index",
            "Templates/Daily note.md:10 {{date:YYYY-MM-DD}}",
        ]
    );
    let orphans = links.notes(&root, Scope::Orphans);
    assert!(orphans.iter().any(|path| path.as_str() == "Old poem.md"), "{orphans:?}");
    let target = |source: &str, link: &str| -> Resolution {
        let path = VaultPath::from_disk(source).expect("sound");
        let leads = links.outgoing(&path).unwrap_or_default();
        let found = leads.into_iter().find(|lead| lead.link.path() == link);
        found.unwrap_or_else(|| panic!("`{link}` in `{source}`")).resolution
    };
    for (source, link, leads) in [
        ("Garden/Plot 27.md", "seed-catalogue.pdf", "Attachments/seed-catalogue.pdf"),
        ("Garden/Plot 27.md", "Garden/Plants/大根", "Garden/Plants/大根.md"),
        ("Garden/Planting calendar.md", "100% comfrey tea.md", "Garden/100% comfrey tea.md"),
        ("Garden/Planting calendar.md", "Frost  dates.md", "Garden/Frost  dates.md"),
        ("Inbox.md", "Workshop/Shed [old plan].md", "Workshop/Shed [old plan].md"),
        ("Home.md", "v1.2", "Workshop/Projects/Cold frame/v1.2.md"),
        ("Garden/Plot map.canvas", "Attachments/plot-27.png", "Attachments/plot-27.png"),
        ("Workshop/Sharpening.md", "鉋 (kanna)", "Workshop/Tools/鉋 (kanna).md"),
    ] {
        let found = target(source, link).target;
        assert_eq!(found.as_ref().map(VaultPath::as_str), Some(leads), "`{link}` in `{source}`");
    }
}

#[test]
fn a_property_and_a_tag_that_come_and_go_leave_every_byte() {
    let (mut notes, mut tags) = (0, 0);
    for path in entries().iter().filter(|path| path.ends_with(".md")) {
        let bytes = bytes(path);
        let Ok(text) = std::str::from_utf8(&bytes) else { continue };
        let name = "a name of no note".to_owned();
        let change = |value| [PropertyChange { name: name.clone(), value }];
        let Ok(set) = edit::apply(text, &change(Some(serde_json::json!(["[[x]]", "a: b"])))) else {
            continue;
        };
        notes += 1;
        assert_ne!(set.text, text);
        let removed = edit::apply(&set.text, &change(None)).expect("what was set can go");
        assert_eq!(removed.text, text, "`{path}`");
        let there = rename::rename(text, "garden", "no-such-tag/yet").expect("it can be renamed");
        tags += there.inline + there.properties;
        let back = rename::rename(&there.text, "no-such-tag/yet", "garden").expect("and back");
        assert_eq!(back.text, text, "`{path}`");
    }
    assert!(notes > 40 && tags > 0, "{notes} notes, {tags} tags");
}
