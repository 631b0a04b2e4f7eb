//! The rules of the code as a test: rooms import downward only, no files of a room form an import
//! cycle, some crates and functions are used in one room only.
//!
//! The floors and the allowed imports of each room are read from `docs/architecture.md`, so that
//! the page cannot be wrong. When a rule and the code disagree, change one of them, without an
//! exception. A failure names the file and line.

mod circles;
mod docs;
mod page;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use circles::room;
use page::{Imports, Page};
use source::{Files, Reference, Resolved, Sources};

/// Crates that only these rooms may name. Any other crate may be used anywhere.
const HOMES: &[(&str, &[&str])] = &[
    ("any_ascii", &["note"]),
    ("anyhow", &["daemon", "cli", "main"]),
    ("axum", &["server", "cli"]),
    ("cap_std", &["vault"]),
    ("clap", &["config", "cli", "main"]),
    ("flate2", &["index"]),
    ("grep_matcher", &["index"]),
    ("grep_regex", &["index"]),
    ("grep_searcher", &["index"]),
    ("hyper", &["server", "cli"]),
    ("hyper_util", &["server", "cli"]),
    ("image", &["media"]),
    ("indicatif", &["cli"]),
    ("inotify", &["config", "vault"]),
    ("jsonc_parser", &["config"]),
    ("landlock", &["daemon"]),
    ("libc", &["daemon"]),
    ("lopdf", &["media"]),
    ("ndarray", &["index"]),
    ("notify", &["vault"]),
    ("pulldown_cmark", &["policy"]),
    ("qrcode", &["cli"]),
    ("regex_automata", &["index"]),
    ("rusqlite", &["store"]),
    ("reqwest", &["llm", "servers"]),
    ("rpassword", &["cli"]),
    ("rustls", &["llm"]),
    ("rustyline", &["cli"]),
    ("saphyr_parser", &["note"]),
    ("schemars", &["note", "tools"]),
    ("terminal_size", &["cli"]),
    ("toml_edit", &["config"]),
    ("tokio_tungstenite", &["server", "smarthole", "cli"]),
    ("trash", &["vault"]),
    ("ts_rs", &["protocol"]),
    ("unicode_width", &["bases", "cli"]),
    ("zstd", &["index", "store"]),
];

/// Items of a room that only these other rooms may name: there is only one way to the tools.
const ITEMS: &[(&[&str], &str, &[&str])] = &[(&["tools", "registry"], "call", &["calls"])];

#[test]
fn the_house_is_as_its_page_says() {
    let faults = faults(&files());
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// The page's table keeps `vault`, `journal`, `edits` and `index` out of the room; this keeps out
/// what `calls` works on.
#[test]
fn a_workflow_reaches_the_vault_through_calls_alone() {
    let files = files();
    let rooms = ["vault", "journal", "edits", "index"];
    let page = Page::read(&root().join("docs"));
    let row = page.rows.iter().find(|row| row.room == "workflows").expect("a row for workflows");
    let Imports::Only(said) = &row.imports else { panic!("the row says what it imports") };
    assert!(rooms.iter().all(|room| !said.contains(*room)), "{said:?}");
    for file in files.keys().filter(|file| room(file) == "workflows") {
        let text = fs::read_to_string(root().join(file)).expect("a source file can be read");
        assert!(!text.contains(".context()"), "{file} asks `calls` for what tools work on");
    }
}

#[test]
fn documentation_says_more_than_names_do() {
    let faults = docs::faults(&files());
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Ways around a rule that once existed: the file, the code added to it, the expected finding.
const WAYS_ROUND: &[(&str, &str, &str)] = &[
    ("vault/tracker/scan.rs", "use crate::agent::Agent as _;", "`vault` (floor 2) imports `agent`"),
    ("note/fold.rs", "use crate as root; use root::server::Server as _;", "imports `server`"),
    ("note/code.rs", "fn f() { println!(\"{}\", crate::cli::run()) }", "imports `cli`"),
    ("note/text.rs", "mod m { use super::super::super::index::Index as _; }", "imports `index`"),
    ("note/link.rs", "fn f(x: super::super::vault::Vault) {}", "imports `vault`"),
    ("agent/clock.rs", "use crate::server as s; fn f(x: s::Server) {}", "imports `server`"),
    ("agent/load.rs", "use crate::cli::*; fn f() { run(); }", "imports `cli`"),
    ("policy/mod.rs", "use crate::vault::Vault as _;", "`policy` imports `vault`, which"),
    ("tools/time_text.rs", "use rusqlite as db;", "`rusqlite` is at home in"),
    ("calls/call.rs", "fn f() { vec![rusqlite::Connection::open()]; }", "`rusqlite` is at home in"),
    ("agent/view.rs", "use crate::tools as t; fn f() { t::call(); }", "`tools::registry::call`"),
    ("agent/wrap.rs", "use crate::tools::*; fn f() { call(); }", "`tools::registry::call`"),
    (
        "agent/coalesce.rs",
        "macro_rules! m { () => { $crate::tools::call() } }",
        "`tools::registry::call`",
    ),
    ("agent/prompt.rs", "fn f() { let it = crate::tools::call; }", "`tools::registry::call`"),
    ("conversation/title.rs", "use super::extract as e; fn f(x: e::Digest) {}", "circle of files"),
    ("conversation/boundary.rs", "impl super::record::End { fn f() {} }", "circle of files"),
];

#[test]
fn no_way_round_a_rule_is_open() {
    let mut files = files();
    for (file, added, _) in WAYS_ROUND {
        let added = syn::parse_file(added).expect("what is added is Rust");
        let file = files.get_mut(&format!("src/{file}")).expect("each way is tried in a real file");
        file.items.extend(added.items);
    }
    let faults = faults(&files);
    let is_open = |(file, _, expected): &&(&str, &str, &str)| {
        !faults.iter().any(|fault| fault.contains(file) && fault.contains(expected))
    };
    let open: Vec<_> = WAYS_ROUND.iter().filter(is_open).collect();
    assert!(open.is_empty(), "no fault is reported for {open:#?}");
}

fn faults(files: &Files) -> Vec<String> {
    let sources = Sources::read(files);
    let page = Page::read(&root().join("docs"));
    let named: Vec<(&Reference, Resolved)> =
        sources.references.iter().map(|one| (one, sources.resolve(one))).collect();
    let mut faults = Vec::new();
    let mut imported = Imported::new();
    for (reference, resolved) in &named {
        let own = room(&reference.file);
        for other in rooms(resolved).filter(|other| other != own && own != "lib") {
            faults.extend(runs_upward(&page, reference, &other));
            if !reference.is_test {
                let at = || format!("{}:{}", reference.file, reference.line);
                imported.entry(own).or_default().entry(other).or_insert_with(at);
            }
        }
        faults.extend(is_away_from_home(reference, resolved));
    }
    faults.extend(differs_from_the_page(&page, &imported, files));
    faults.extend(page.paths.iter().filter_map(|path| is_gone(path, files)));
    for circle in circles::circles(&circles::arrows(&named)) {
        faults.push(format!("a circle of files: {}", circle.join(", ")));
    }
    faults.sort();
    faults.dedup();
    faults
}

/// The imports of each room, with a place of each.
type Imported<'a> = BTreeMap<&'a str, BTreeMap<String, String>>;

/// The rooms that a path goes through, aliases and re-exports included.
fn rooms(resolved: &Resolved) -> impl Iterator<Item = String> {
    let modules = resolved.through.iter().chain(resolved.item.iter().map(|item| &item.module));
    modules.filter_map(|module| module.first().cloned()).collect::<BTreeSet<_>>().into_iter()
}

fn runs_upward(page: &Page, reference: &Reference, other: &str) -> Option<String> {
    let own = room(&reference.file);
    let at = format!("{}:{}", reference.file, reference.line);
    let Some(floor) = page.floor(own) else {
        return Some(format!("{at}: docs/architecture.md has no row for the room `{own}`"));
    };
    match page.floor(other) {
        Some(below) if below < floor => None,
        // The composition root; its parts know each other.
        Some(page::TOP) if floor == page::TOP => None,
        Some(above) => {
            Some(format!("{at}: `{own}` (floor {floor}) imports `{other}` (floor {above})"))
        }
        None => Some(format!("{at}: `{own}` imports `{other}`, which has no row in the page")),
    }
}

fn is_away_from_home(reference: &Reference, resolved: &Resolved) -> Option<String> {
    let own = room(&reference.file);
    let at = format!("{}:{}", reference.file, reference.line);
    if let Some(name) = &resolved.external
        && (reference.is_import || reference.path.len() > 1)
        && let Some((_, homes)) = HOMES.iter().find(|(home, _)| home == name)
        && !homes.contains(&own)
    {
        return Some(format!("{at}: `{name}` is at home in {homes:?} only"));
    }
    let item = resolved.item.as_ref()?;
    let (of, name, callers) =
        ITEMS.iter().find(|(of, name, _)| item.module == *of && item.name == *name)?;
    let is_allowed = own == of[0] || callers.contains(&own);
    (!is_allowed).then(|| format!("{at}: names `{}::{name}`", of.join("::")))
}

fn differs_from_the_page(page: &Page, imported: &Imported<'_>, files: &Files) -> Vec<String> {
    let rooms: BTreeSet<&str> = files.keys().map(|file| room(file)).collect();
    let mut faults = Vec::new();
    for row in &page.rows {
        if !rooms.contains(row.room.as_str()) {
            faults
                .push(format!("docs/architecture.md has a row for `{}`, which is gone", row.room));
        }
        let Imports::Only(said) = &row.imports else { continue };
        let none = BTreeMap::new();
        let real = imported.get(row.room.as_str()).unwrap_or(&none);
        for (other, at) in real.iter().filter(|(other, _)| !said.contains(*other)) {
            let fault = "which docs/architecture.md does not say";
            faults.push(format!("{at}: `{}` imports `{other}`, {fault}", row.room));
        }
        for other in said.iter().filter(|other| !real.contains_key(*other)) {
            faults.push(format!("docs/architecture.md: `{}` imports no `{other}`", row.room));
        }
    }
    faults
}

/// A file or folder of a room that the page names and that does not exist.
fn is_gone(path: &str, files: &Files) -> Option<String> {
    let is_room = files.keys().any(|file| room(file) == room(path));
    let stem = format!("src/{}", path.trim_end_matches('/').trim_end_matches(".rs"));
    let is_there = |file: &String| {
        file.strip_prefix(&stem).is_some_and(|rest| rest.starts_with('/') || rest == ".rs")
    };
    let is_named = is_room && path.contains('/') && !files.keys().any(is_there);
    is_named
        .then(|| format!("docs/architecture.md or docs/internals.md names `{path}`, which is gone"))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every source file.
fn files() -> Files {
    let mut files = Files::new();
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the sources can be listed") {
            let path = entry.expect("the sources can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root()).expect("the walk stays inside");
                let name = name.to_string_lossy().replace('\\', "/");
                let text = fs::read_to_string(&path).expect("a source file is UTF-8");
                let file =
                    syn::parse_file(&text).unwrap_or_else(|fault| panic!("`{name}`: {fault}"));
                files.insert(name, file);
            }
        }
    }
    files
}
