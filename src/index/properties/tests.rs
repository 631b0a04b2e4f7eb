//! Updated rows equal newly built rows, for any vault, history and caller.

#![expect(clippy::disallowed_methods, reason = "tests make the vaults they ask about")]

use std::fmt::Write as _;
use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::TempDir;

use super::VaultSnapshot;
use crate::bases::source::Source;
use crate::bases::value::{FileId, Link, Value};
use crate::index::Index;
use crate::note::path::VaultPath;
use crate::vault::{self, Cancel, Vault, View};

struct Bench {
    vault: Vault,
    index: Index,
    place: PathBuf,
    _folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (place, state) = (folder.path().join("vault"), folder.path().join("state"));
        std::fs::create_dir_all(place.join(".obsidian")).expect("made");
        let vault = Vault::open(&place, &state, vault::Settings::default(), &|_| ());
        let vault = vault.expect("the vault opens").0;
        let index = Index::new(vault.clone());
        Self { vault, index, place, _folder: folder }
    }

    fn put(&self, path: &str, text: &str) {
        let place = self.place.join(path);
        let _ = std::fs::create_dir_all(place.parent().expect("a file lies in a folder"));
        let _ = std::fs::write(place, text);
    }

    fn dump(&self, index: &Index, view: &View) -> String {
        let vault = self.vault.in_view(view.clone());
        let cancel = Cancel::default();
        let snapshot = index.properties.snapshot(&vault, &index.links, &cancel);
        dump(&snapshot.expect("nobody withdraws"))
    }

    #[track_caller]
    fn check(&self) {
        self.vault.rescan().expect("scanned");
        let f = VaultPath::from_disk("f").expect("a path");
        for view in [View::default(), View::of(vec![f])] {
            let kept = self.dump(&self.index, &view);
            assert_eq!(kept, self.dump(&Index::new(self.vault.clone()), &view), "{view:?}");
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.vault.stop();
    }
}

const NAMES: [&str; 4] = ["status", "STATUS", "due", "missing"];
const TAGS: [&str; 4] = ["#Tea", "tea/green", "te", "x"];
const LINKPATHS: [&str; 7] = ["a", "f/a", "b", "a.md", "/a", "f/g/b#H", "pic.png"];

/// Everything in a source, with paths instead of numbers.
fn dump(snapshot: &VaultSnapshot<'_>) -> String {
    let mut all: Vec<FileId> = snapshot.files().collect();
    all.sort_by_key(|file| snapshot.path(*file));
    let path = |file: FileId| snapshot.path(file).to_string();
    let paths = |files: Vec<FileId>| {
        let mut paths: Vec<String> = files.into_iter().map(path).collect();
        paths.sort();
        paths
    };
    let links = |links: Vec<std::sync::Arc<Link>>| -> Vec<String> {
        links.iter().map(|link| format!("{}|{:?}", link.target, link.display)).collect()
    };
    let mut text = format!("{:?}\n", snapshot.property_counts());
    for file in &all {
        let file = *file;
        let _ =
            writeln!(text, "{} {} {}", path(file), snapshot.size(file), snapshot.modified(file));
        let own = snapshot.properties(file);
        own.0.iter().for_each(|(name, value)| {
            text.push_str(&format!("  {name}: {}\n", shown(snapshot, value)))
        });
        for name in NAMES {
            let value = snapshot.column(name).map(|column| snapshot.property(file, column));
            let value = value.filter(|value| !matches!(value, Value::Null));
            value
                .iter()
                .for_each(|value| text.push_str(&format!("  {name}={}\n", shown(snapshot, value))));
        }
        let has: Vec<bool> = TAGS.iter().map(|tag| snapshot.has_tag(file, tag)).collect();
        let _ = writeln!(
            text,
            "  {:?} {has:?} {:?} {:?} {:?}",
            snapshot.tags(file),
            links(snapshot.links(file)),
            links(snapshot.embeds(file)),
            paths(snapshot.backlinks(file))
        );
        let leads = LINKPATHS.map(|it| snapshot.resolve(it, Some(file)).map(path));
        let _ = writeln!(text, "  {leads:?} {:?}", snapshot.text(file));
    }
    for tag in TAGS {
        let tagged = paths(snapshot.tagged(tag));
        let walked = all.iter().copied().filter(|file| snapshot.has_tag(*file, tag)).collect();
        assert_eq!(tagged, paths(walked), "{tag}");
        let _ = writeln!(text, "{tag} {tagged:?}");
    }
    for folder in ["", "/", "f", "f/g/", "nowhere"] {
        let within = paths(snapshot.within(folder));
        let wanted = folder.trim_matches('/');
        let is_in =
            |file: &FileId| wanted.is_empty() || path(*file).starts_with(&format!("{wanted}/"));
        assert_eq!(within, paths(all.iter().copied().filter(is_in).collect()), "{folder}");
    }
    text
}

fn shown(snapshot: &VaultSnapshot<'_>, value: &Value) -> String {
    match value {
        Value::Link(link) => {
            format!("[[{}]] in {:?}", link.target, link.from.map(|file| snapshot.path(file)))
        }
        Value::List(items) => items.iter().map(|item| shown(snapshot, item) + ",").collect(),
        other => format!("{other:?}"),
    }
}

#[derive(Debug, Clone)]
enum Edit {
    Write(String, String),
    Remove(String),
    Rename(String, String),
    Types(&'static str),
    Ask,
}

fn path() -> impl Strategy<Value = String> {
    let folder = prop::sample::select(vec!["", "f/", "f/g/", "h/"]);
    let name = prop::sample::select(vec!["a.md", "b.md", "C.md", "pic.png", "Map.canvas"]);
    (folder, name).prop_map(|(folder, name)| format!("{folder}{name}"))
}

fn text() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "status: open",
        "Status: done",
        "due: 2026-11-21",
        "due: 2026-11-21 10:00",
        "due: soon",
        "people: [\"[[a]]\", Bo, 3]",
        "people: {name: x, at: [1, true, null]}",
        "tags: [Tea, tea/green]",
        "tags: te",
        "broken: [",
        "up: \"[[f/a#H|there]]\"",
        "empty:",
    ]);
    let body = prop::sample::select(vec![
        "",
        "#TEA and #x",
        "[[a]] ![[pic.png]] [[f/g/b#H]]",
        "[[b|c]] `[[a]]`",
        "[m](a.md)",
    ]);
    (prop::collection::vec(line, 0..4), prop::collection::vec(body, 0..3)).prop_map(
        |(lines, bodies)| format!("---\n{}\n---\n{}\n", lines.join("\n"), bodies.join("\n")),
    )
}

fn edit() -> impl Strategy<Value = Edit> {
    let types = prop::sample::select(vec![
        r#"{"types":{"due":"date"}}"#,
        r#"{"types":{"Due":"text"}}"#,
        r#"{"types":{}}"#,
    ]);
    let folder = prop::sample::select(vec!["f", "f/g", "h"]).prop_map(str::to_owned);
    prop_oneof![
        6 => (path(), text()).prop_map(|(path, text)| Edit::Write(path, text)),
        2 => path().prop_map(Edit::Remove),
        2 => (path(), path()).prop_map(|(from, to)| Edit::Rename(from, to)),
        1 => (folder.clone(), folder).prop_map(|(from, to)| Edit::Rename(from, to)),
        1 => types.prop_map(Edit::Types),
        3 => Just(Edit::Ask),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn rows_updated_equal_rows_created_again(edits in prop::collection::vec(edit(), 1..24)) {
        let bench = Bench::new();
        for edit in edits {
            let at = |path: &str| bench.place.join(path);
            match edit {
                Edit::Write(path, text) => bench.put(&path, &text),
                Edit::Remove(path) => drop(std::fs::remove_file(at(&path))),
                Edit::Rename(from, to) => drop(std::fs::rename(at(&from), at(&to))),
                Edit::Types(types) => bench.put(".obsidian/types.json", types),
                Edit::Ask => bench.check(),
            }
        }
        bench.check();
    }
}

#[test]
fn a_name_that_no_note_spells_this_way_is_the_first_spelling_of_each_note() {
    let bench = Bench::new();
    bench.put("a.md", "---\nStatus: done\n---\n");
    bench.check();
    bench.put("C.md", "---\nstatus: open\nStatus: done\n---\n");
    bench.check();
}

#[test]
fn a_moment_stays_as_it_is_while_the_vault_changes() {
    let bench = Bench::new();
    bench.put("a.md", "---\nstatus: open\n---\n");
    bench.vault.rescan().expect("scanned");
    let cancel = Cancel::default();
    let snapshot = || {
        let snapshot = bench.index.properties.snapshot(&bench.vault, &bench.index.links, &cancel);
        snapshot.expect("nobody withdraws")
    };
    let status = |snapshot: &VaultSnapshot<'_>| {
        let files = snapshot.files().map(|file| snapshot.properties(file).0.len());
        files.collect::<Vec<_>>()
    };
    let before = snapshot();
    bench.put("a.md", "---\nstatus: open\ndue: soon\n---\n");
    bench.put("b.md", "");
    bench.vault.rescan().expect("scanned");
    let after = snapshot();
    assert_eq!(status(&before), [1]);
    assert_eq!(status(&after), [2, 0]);
}

#[test]
fn links_keep_their_part_and_their_text() {
    let bench = Bench::new();
    bench.put(
        "a.md",
        "---\nup: \"[[b|Bee]]\"\nmd: \"[See](b.md)\"\n---\n[[b]] [[b#One]] [[b#^x|X]] [m](b.md#One) ![[p.png|9]] [[#Own]] ![[#^x]]\n",
    );
    bench.put(
        "m.canvas",
        r##"{"nodes":[{"id":"a","type":"file","file":"b.md","subpath":"#One"}],"edges":[]}"##,
    );
    bench.vault.rescan().expect("scanned");
    let cancel = Cancel::default();
    let snapshot = bench.index.properties.snapshot(&bench.vault, &bench.index.links, &cancel);
    let snapshot = snapshot.expect("nobody withdraws");
    let of = |links: Vec<std::sync::Arc<Link>>| -> Vec<String> {
        let text = |link: &Link| link.display.as_deref().unwrap_or("-").to_owned();
        links.iter().map(|link| format!("{}|{}", link.target, text(link))).collect()
    };
    let at = |path: &str| snapshot.at(path).expect("a file");
    assert_eq!(
        of(snapshot.links(at("a.md"))),
        [
            "b|Bee",
            "b.md|See",
            "b|-",
            "b#One|-",
            "b#^x|X",
            "b.md#One|m",
            "p.png|9",
            "#Own|-",
            "#^x|-"
        ]
    );
    assert_eq!(of(snapshot.embeds(at("a.md"))), ["p.png|9", "#^x|-"]);
    assert!(!snapshot.backlinks(at("a.md")).contains(&at("a.md")), "it does not link to itself");
    assert_eq!(of(snapshot.links(at("m.canvas"))), ["b.md#One|-"]);
}

#[test]
fn what_a_caller_may_not_see_is_no_property_and_no_tag() {
    let bench = Bench::new();
    bench.put("f/a.md", "---\nStatus: open\n---\n[[secret]]\n");
    bench.put("secret.md", "---\nstatus: x\nhidden: 1\nbad: [\n---\n");
    bench.put("other.md", "---\nhidden: 1\n---\n#canary [[a]]\n");
    bench.vault.rescan().expect("scanned");
    let view = View::of(vec![VaultPath::from_disk("f").expect("a path")]);
    let vault = bench.vault.in_view(view);
    let cancel = Cancel::default();
    let snapshot = bench.index.properties.snapshot(&vault, &bench.index.links, &cancel);
    let snapshot = snapshot.expect("nobody withdraws");
    assert_eq!(snapshot.property_counts(), [("Status".into(), 1)]);
    assert!(snapshot.column("hidden").is_none());
    let a = snapshot.at("f/a.md").expect("it may be seen");
    let status = snapshot.column("status").expect("a spelling of it may be seen");
    assert!(matches!(snapshot.property(a, status), Value::Text(text) if &*text == "open"));
    assert_eq!(snapshot.gaps(), None);
    assert!(snapshot.tagged("canary").is_empty() && snapshot.backlinks(a).is_empty());
    assert_eq!((snapshot.at("secret.md"), snapshot.resolve("secret", Some(a))), (None, None));
    let cancel = Cancel::default();
    let all = bench.index.properties.snapshot(&bench.vault, &bench.index.links, &cancel);
    let gaps = all.expect("nobody withdraws").gaps().expect("one has no valid YAML");
    assert_eq!((gaps.count, gaps.first.0.as_str()), (1, "secret.md"));
}

#[test]
fn a_note_of_six_properties_takes_less_than_300_bytes() {
    const NOTES: usize = 2_000;
    let bench = Bench::new();
    for n in 0..NOTES {
        let text = format!(
            "---\ntitle: A title of note {n}\nstatus: {}\npriority: {}\ndue: 2026-{:02}-{:02}\nproject: \"[[Project {}]]\"\ntags: [a{}, b]\n---\nText.\n",
            ["open", "done", "waiting"][n % 3],
            n % 5,
            n % 12 + 1,
            n % 28 + 1,
            n % 40,
            n % 20
        );
        bench.put(&format!("Projects/Area {}/A note about something {n}.md", n % 30), &text);
    }
    bench.vault.rescan().expect("scanned");
    assert!(bench.index.properties.is_empty(), "nothing is read before it is asked for");
    let cancel = Cancel::default();
    let snapshot = bench.index.properties.snapshot(&bench.vault, &bench.index.links, &cancel);
    assert_eq!(snapshot.expect("nobody withdraws").files().count(), NOTES);
    let each = bench.index.properties.memory() / NOTES;
    assert!(each <= 300, "{each} bytes a note");
}
