//! Answers about the whole graph equal those of links resolved one by one, for any vault and
//! history.

#![expect(clippy::disallowed_methods, reason = "tests make the vaults they look at")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use super::record::is_source;
use super::{ResolvedLink, Scope, VisibleLinks};
use crate::index::Index;
use crate::index::synced::RecordTable as _;
use crate::note::path::VaultPath;
use crate::vault::{self, Cancel, Vault, View};

#[derive(Debug, Clone)]
enum Step {
    Write(String, Vec<String>),
    Remove(String),
    Move(String, String),
}

fn file() -> impl Strategy<Value = String> {
    "(a/|b/|A/b/){0,2}((n|N|m|v1\\.2)\\.md|v1\\.2|p\\.png|c\\.canvas)"
}

fn step() -> impl Strategy<Value = Step> {
    let path = "(\\./|\\.\\./|/|\\.)?(a/|b/|B/){0,2}(n|m|x|v1\\.2|p\\.png)?(\\.md)?(#h)?";
    let links = prop::collection::vec(path, 0..5);
    let place = || prop_oneof![file(), "(a|b|A/b)(/a|/b)?"];
    prop_oneof![
        4 => (file(), links).prop_map(|(file, links)| Step::Write(file, links)),
        1 => place().prop_map(Step::Remove),
        1 => (place(), place()).prop_map(|(from, to)| Step::Move(from, to)),
    ]
}

/// Does step number `at`. Some are impossible, such as removing a missing file.
fn live(vault: &Path, step: &Step, at: usize) {
    let made = |path: &str| {
        let place = vault.join(path);
        let _ = std::fs::create_dir_all(place.parent().expect("a file lies in a folder"));
        place
    };
    let write = |path: &str, text: String| {
        let place = made(path);
        let written = std::fs::write(&place, text);
        // Windows tells two files of the same size apart by their times alone, which under wine may be equal.
        if cfg!(windows) && written.is_ok() {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(at as u64);
            let file = File::options().append(true).open(place).expect("opened");
            file.set_modified(time).expect("set");
        }
    };
    match step {
        Step::Write(path, links) if path.ends_with(".canvas") => {
            let file = |(id, path)| serde_json::json!({"id": id, "type": "file", "file": path});
            let card = |(id, path)| serde_json::json!({"id": id, "type": "text", "text": format!("[[{path}]]")});
            let numbered = || links.iter().enumerate();
            let nodes: Vec<_> = numbered().map(file).chain(numbered().map(card)).collect();
            let text = serde_json::json!({"nodes": nodes, "edges": []}).to_string();
            write(path, text);
        }
        Step::Write(path, links) => {
            let links = links.iter().enumerate().map(|(at, link)| match at % 3 {
                0 => format!("[[{link}]]\n"),
                1 => format!("[[{link}|shown]] [[{link}]]\n"),
                _ => format!("[shown]({link})\n"),
            });
            write(path, links.collect());
        }
        Step::Remove(path) => {
            let place = vault.join(path);
            let _ = std::fs::remove_file(&place).or_else(|_| std::fs::remove_dir_all(place));
        }
        Step::Move(from, to) => drop(std::fs::rename(vault.join(from), made(to))),
    }
}

fn is_as_one_by_one(seen: &VisibleLinks<'_>, files: &[VaultPath]) {
    let root = VaultPath::root();
    let leads: Vec<(&VaultPath, Vec<ResolvedLink>)> =
        files.iter().filter_map(|file| Some((file, seen.outgoing(file)?))).collect();
    let is_doubtful = |lead: &&ResolvedLink| {
        lead.resolution.target.is_none() || !lead.resolution.others.is_empty()
    };
    let each = leads.iter().flat_map(|(file, leads)| leads.iter().map(move |lead| (*file, lead)));
    let doubtful: Vec<_> = each.clone().filter(|(_, lead)| is_doubtful(lead)).collect();
    let found = seen.doubtful(&root, true);
    let found: Vec<_> = found.iter().map(|found| (&found.source, &found.lead)).collect();
    assert_eq!(found, doubtful);
    let broken = doubtful.iter().filter(|(_, lead)| lead.resolution.target.is_none()).count();
    assert_eq!(seen.doubtful(&root, false).len(), broken);
    let to_others = each.filter_map(|(source, lead)| {
        let target = lead.resolution.target.as_ref().filter(|target| *target != source);
        Some((source, target?, lead))
    });
    let mut sources_of: BTreeMap<&VaultPath, BTreeSet<&VaultPath>> = BTreeMap::new();
    for (source, target, _) in to_others.clone() {
        sources_of.entry(target).or_default().insert(source);
    }
    let linked = sources_of.iter().filter(|(target, _)| is_source(target.borrowed()));
    let counts = linked.map(|(target, sources)| ((*target).clone(), sources.len()));
    assert_eq!(seen.backlink_counts(), counts.collect());
    let sources: BTreeSet<&VaultPath> = to_others.map(|(source, ..)| source).collect();
    let notes = || leads.iter().map(|(file, _)| *file).filter(|file| file.is_note());
    let orphans = notes().filter(|note| !sources_of.contains_key(note));
    assert!(
        seen.notes(&root, Scope::Orphans).iter().eq(orphans),
        "{:?}",
        seen.notes(&root, Scope::Orphans)
    );
    let dead_ends = notes().filter(|note| !sources.contains(note));
    assert!(
        seen.notes(&root, Scope::DeadEnds).iter().eq(dead_ends),
        "{:?}",
        seen.notes(&root, Scope::DeadEnds)
    );
    for file in files {
        let mut expected: BTreeMap<&VaultPath, Vec<_>> = BTreeMap::new();
        for (source, leads) in &leads {
            let leads = leads.iter().filter(|lead| {
                !lead.link.path().is_empty() && lead.resolution.target.as_ref() == Some(file)
            });
            let links: Vec<_> = leads.map(|lead| lead.link.clone()).collect();
            if !links.is_empty() {
                expected.insert(source, links);
            }
        }
        let found = seen.backlinks(file);
        assert!(
            found
                .iter()
                .map(|found| (&found.source, &found.links))
                .eq(expected.iter().map(|(s, l)| (*s, l))),
            "{file}: {found:?} {expected:?}"
        );
    }
}

#[test]
fn a_note_whose_name_a_folder_takes_has_no_links_any_more() {
    let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let [place, state] = folders.each_ref().map(tempfile::TempDir::path);
    let note = place.join("n.md");
    std::fs::write(&note, "[[nowhere]]\n").expect("written");
    let vault = Vault::open(place, state, vault::Settings::default(), &|_| ()).expect("opened").0;
    let index = Index::new(vault.clone());
    let (whole, root) = (View::default(), VaultPath::root());
    let broken = || {
        let seen = index.links.available(&whole, &Cancel::default()).expect("nobody withdraws");
        seen.doubtful(&root, false).len()
    };
    assert_eq!(broken(), 1);
    std::fs::remove_file(&note).expect("removed");
    std::fs::create_dir(&note).expect("made");
    vault.rescan().expect("scanned");
    assert_eq!(broken(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn what_is_kept_of_resolved_links_is_what_they_resolve_to(
        steps in prop::collection::vec((step(), any::<bool>()), 1..24),
    ) {
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let [place, state] = folders.each_ref().map(tempfile::TempDir::path);
        let vault = Vault::open(place, state, vault::Settings::default(), &|_| ()).expect("opened").0;
        let index = Index::new(vault.clone());
        let last = steps.len() - 1;
        for (at, (step, is_asked)) in steps.iter().enumerate() {
            live(place, step, at);
            vault.rescan().expect("scanned");
            if !is_asked && at < last {
                continue;
            }
            let a = VaultPath::from_disk("a").expect("a path");
            for view in [View::default(), View::of(vec![a])] {
                let seen = index.links.available(&view, &Cancel::default()).expect("nobody withdraws");
                let files: Vec<VaultPath> = vault.catalogue().files().map(|file| file.to_path()).collect();
                is_as_one_by_one(&seen, &files);
            }
        }
        let mut graph = index.links.0.synced.table_mut();
        let paths: Vec<VaultPath> = graph.iter().map(|(path, _)| path.clone()).collect();
        let links: usize = graph.iter().map(|(_, record)| record.links.len()).sum();
        prop_assert_eq!(graph.links, links);
        paths.iter().for_each(|path| graph.remove(path));
        prop_assert_eq!((graph.links, graph.bytes), (0, 0));
    }
}
