//! The catalogue against a plain model: a list of paths and naive filters.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::note::fold::fold_key;
use crate::note::glob::Glob;
use crate::vault::dir::Meta;
use crate::vault::view::View;

fn entry(path: &str, modified: i64, size: u64) -> NewEntry {
    let meta = Meta {
        kind: if path.to_lowercase().contains(".md") { Kind::File } else { Kind::Folder },
        size,
        modified,
        changed: modified,
        created: None,
        accessed: 0,
        names: 1,
        mode: None,
        id: FileId { device: size % 3, inode: size },
    };
    NewEntry::new(VaultPath::from_disk(path).expect("a sound path"), &meta)
}

fn all(catalogue: &Catalogue) -> (Vec<String>, Vec<String>) {
    let root = VaultPath::root();
    let ordered = catalogue.within(&root).map(|e| e.path().to_string()).collect();
    (ordered, catalogue.recent().map(|e| e.path().to_string()).collect())
}

#[test]
fn a_folder_is_followed_by_its_content() {
    let names = ["b.md", "a", "a b.md", "a/z.md", "a.md", "a/b", "a/b/c.md"];
    let catalogue = Catalogue::build(names.iter().map(|n| entry(n, 0, 1)).collect());
    let (ordered, _) = all(&catalogue);
    assert_eq!(ordered, ["a", "a/b", "a/b/c.md", "a/z.md", "a b.md", "a.md", "b.md"]);
    let folder = VaultPath::from_disk("a").expect("sound");
    let within: Vec<_> = catalogue.within(&folder).map(|e| e.path().as_str()).collect();
    assert_eq!(within, ["a/b", "a/b/c.md", "a/z.md"]);
    assert_eq!(catalogue.counts().notes, 5);
}

/// The memory target for a hundred thousand notes.
#[test]
fn a_file_takes_at_most_155_bytes() {
    let folders = ["Projects/Garden", "Daily/2025/03-March", "Areas/Health and Sport/Running"];
    let entries = (0..100_000_u64).map(|number| {
        let folder = folders[number as usize % folders.len()];
        entry(&format!("{folder}/Meeting notes {number}.md"), number as i64, number)
    });
    let catalogue = Catalogue::build(entries.collect());
    let each = catalogue.memory() / 100_000;
    assert!(each <= 155, "{each} bytes a file");
}

#[test]
fn many_gaps_cause_a_rebuild() {
    let mut catalogue = Catalogue::default();
    let then = catalogue.names_at();
    for round in 0..40 {
        let puts = (0..500).map(|n| Edit::Put(entry(&format!("{round}/N {n}.md"), n, 1)));
        catalogue.apply(puts.collect());
        let folder = VaultPath::from_disk(&format!("{round}")).expect("sound");
        let taken = catalogue.apply(vec![Edit::Remove(folder)]);
        assert_eq!(taken.len(), 500);
    }
    assert_eq!((catalogue.counts(), all_of(&catalogue).len()), (Counts::default(), 0));
    assert!(catalogue.names_since(then).is_none(), "the rows of then are others now");
    assert!(catalogue.rows.len() < 3_000, "{} rows for nothing", catalogue.rows.len());
}

/// Some ways of listing are used only with many rows; all of them must agree.
#[test]
fn every_way_of_listing_agrees_with_a_naive_filter() {
    let mut model = Model::new();
    for number in 0..4_000_i64 {
        // Half at the top and old, the rest deeper, with scattered times.
        let path = match number % 4 {
            0 | 1 => format!("Note {number}.md"),
            2 => format!("Projects/P {}/Note {number}.md", number % 60),
            _ => format!(
                "Archive/{}/{}/Paper {number}.{}",
                number % 7,
                number % 11,
                ["md", "png"][(number / 4 % 2) as usize]
            ),
        };
        model.extend(parents(&path).map(|folder| (folder, (0, 0))));
        let size = u64::try_from(number * 31 % 997).expect("not negative");
        model.insert(path, (number * 7_919 % 4_001, size));
    }
    model.insert("Projects/a folder.md".to_owned(), (3, 1));
    let entries = model.iter().map(|(path, (modified, size))| entry(path, *modified, *size));
    let catalogue = Catalogue::build(entries.collect());
    let view = View::default();
    for (pattern, folder) in [
        ("*", ""),
        ("*/*", ""),
        ("**", ""),
        ("**", "Projects"),
        ("projects/**", ""),
        ("Archive/3/**", ""),
        ("archive/*/*", ""),
        ("**/*.md", ""),
        ("**/*.md", "Archive"),
        ("**/*.png", ""),
        ("**/*paper 1*", ""),
        ("**/note 3?2*.md", ""),
        ("*99*", ""),
        ("p ?/*", "Projects"),
        ("**/paper 1*", ""),
        ("**/note 3?2*", "Projects"),
        ("**/note*.md", ""),
        ("**/{note 12,note 3}*", ""),
        ("**/P*/note 8*.md", ""),
        ("archive/**/pap*7.png", ""),
        ("**/NOTE 2.md", ""),
        ("**/note 2.md", "Projects"),
        ("**/p 7", ""),
        ("{archive,projects}/**/note 2.md", ""),
    ] {
        let glob = Glob::parse(pattern).expect("a glob");
        let at = VaultPath::from_disk(folder).expect("sound");
        for kind in [None, Some(Kind::File), Some(Kind::Folder)] {
            for order in [Order::Modified, Order::Name, Order::Size] {
                let expected = listed(&model, folder, &glob, order, kind, &view);
                for limit in [0, 1, 40, 5_000] {
                    let query = EntryQuery { folder: &at, glob: &glob, kind };
                    let listing = catalogue.list(&query, order, limit, &view);
                    let found: Vec<&str> =
                        listing.first.iter().map(|entry| entry.path().as_str()).collect();
                    let about = format!("{order:?} {kind:?} {limit} of {pattern} in {folder}");
                    assert_eq!(listing.total, expected.len(), "{about}");
                    assert_eq!(found, expected[..limit.min(expected.len())], "{about}");
                }
            }
        }
    }
}

/// The prefixes recomputed from the keys.
fn name_prefixes(catalogue: &Catalogue) -> Vec<u32> {
    (0..catalogue.rows.len() as u32).map(|row| name_prefix(catalogue.key(row))).collect()
}

#[test]
fn a_prefix_allows_matching_names_alone() {
    use super::name_prefix::NamePrefix;
    let names = ["", "a", "ab", "abc", "abcd", "abcde", "b", "ba", "é", "éa", "日"];
    for text in names.into_iter().skip(1) {
        let query = NamePrefix::new(text).expect("not empty");
        for name in names {
            let first = |text: &str| text.bytes().take(4).collect::<Vec<_>>();
            let expected = first(name).starts_with(&first(text));
            let key = format!("Folder/abcd/{name}");
            assert_eq!(query.allows(name_prefix(&key)), expected, "{name} for {text}");
            assert_eq!(name_prefix(&key), name_prefix(name));
        }
    }
    assert!(NamePrefix::new("").is_none());
}

#[derive(Debug, Clone)]
enum Step {
    Put(String, i64, u64),
    Remove(String),
}

fn path() -> impl Strategy<Value = String> {
    // Suffixes that are prefixes of others: adjacent keys contain texts that neither has.
    "[aAbBé]{1,2}(/[cCé]{1,2}){0,2}(\\.md|\\.MD)?|Daily/[ab]/[ab]{1,3}\\.md|[ab]{2,5}(/[ab]{2,4}){0,2}(\\.md)?"
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (path(), 0_i64..5, 0_u64..4).prop_map(|(path, at, size)| Step::Put(path, at, size)),
        1 => path().prop_map(Step::Remove),
    ]
}

type Model = BTreeMap<String, (i64, u64)>;

/// Applies a step to the model; a removal includes everything below.
fn live(model: &mut Model, step: &Step) {
    match step {
        Step::Put(path, modified, size) => {
            model.extend(parents(path).map(|folder| (folder, (0, 0))));
            model.insert(path.clone(), (*modified, *size));
        }
        Step::Remove(folder) => {
            let below = format!("{folder}/");
            model.retain(|path, _| path != folder && !path.starts_with(&below));
        }
    }
}

/// The parents of a path, which have entries too.
fn parents(path: &str) -> impl Iterator<Item = String> + use<'_> {
    path.match_indices('/').map(|(at, _)| path[..at].to_owned())
}

fn edits(step: &Step) -> Vec<Edit> {
    match step {
        Step::Put(path, modified, size) => {
            let folders = parents(path).map(|folder| Edit::Put(entry(&folder, 0, 0)));
            folders.chain([Edit::Put(entry(path, *modified, *size))]).collect()
        }
        Step::Remove(path) => vec![Edit::Remove(VaultPath::from_disk(path).expect("sound"))],
    }
}

/// The expected listing, by matching the glob with each path of the model.
fn listed(
    model: &Model,
    folder: &str,
    glob: &Glob,
    order: Order,
    kind: Option<Kind>,
    view: &View,
) -> Vec<String> {
    let base = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let kind_of =
        |path: &str| if path.to_lowercase().contains(".md") { Kind::File } else { Kind::Folder };
    let fits = |path: &&String| {
        path.strip_prefix(&base).is_some_and(|below| glob.matches(&fold_key(below)))
            && kind.is_none_or(|kind| kind == kind_of(path))
            && view.shows(&VaultPath::from_disk(path).expect("sound"))
    };
    let mut paths: Vec<String> = model.keys().filter(fits).cloned().collect();
    let state = |path: &String| {
        let (modified, size) = model[path];
        let is_file = path.to_lowercase().contains(".md");
        (modified, if is_file { size } else { 0 })
    };
    paths.sort_by(|a, b| tree_order(a, b));
    match order {
        Order::Name => {}
        Order::Size => paths.sort_by_key(|path| Reverse(state(path).1)),
        Order::Modified => {
            paths.sort();
            paths.sort_by_key(|path| Reverse(state(path).0));
        }
    }
    paths
}

fn glob() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("*".to_owned()),
        Just("**".to_owned()),
        Just("**/*.md".to_owned()),
        Just("*.md".to_owned()),
        Just("**/*É.md".to_owned()),
        Just("daily/**/*b*.md".to_owned()),
        Just("DAILY/a/aba.md".to_owned()),
        Just("**/*ab.md".to_owned()),
        Just("**/ab*".to_owned()),
        Just("**/É*.md".to_owned()),
        Just("**/aba?md".to_owned()),
        Just("**/{ab,aba}*".to_owned()),
        Just("**/A.md".to_owned()),
        Just("d*/**/a*.md".to_owned()),
        Just("{a,b}/**".to_owned()),
        Just("daily/**".to_owned()),
        Just("a/**".to_owned()),
        Just("*/*".to_owned()),
        "[ab*?]{1,2}(/[c*?é]{1,2}){0,2}(\\.md)?",
        "\\*\\*/[abcé?*]{1,4}(\\.md)?",
        "\\*\\*/\\*[ab]{3,4}\\*",
        "\\*\\*/[ab]{2}/\\*\\*",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn any_history_agrees_with_the_model(
        history in prop::collection::vec(prop::collection::vec(step(), 1..40), 0..6),
        globs in prop::collection::vec((glob(), prop::sample::select(vec!["", "a", "A", "Daily", "é"])), 1..4),
        limit in 0_usize..12,
    ) {
        let mut catalogue = Catalogue::default();
        let mut model = Model::new();
        for steps in &history {
            let (then, before) = (catalogue.names_at(), model.clone());
            steps.iter().for_each(|step| live(&mut model, step));
            catalogue.apply(steps.iter().flat_map(edits).collect());
            let names: BTreeSet<&str> = catalogue.names_since(then).expect("they are few").collect();
            let gone = before.keys().filter(|path| !model.contains_key(*path));
            let came = model.keys().filter(|path| !before.contains_key(*path));
            prop_assert!(gone.chain(came).all(|path| names.contains(last(path))));
        }
        let entries: Vec<NewEntry> = model.iter().map(|(p, (m, s))| entry(p, *m, *s)).collect();
        let fresh = Catalogue::build(entries);
        prop_assert_eq!(all(&catalogue), all(&fresh));
        prop_assert_eq!(catalogue.counts(), fresh.counts());
        prop_assert_eq!(&catalogue.name_prefixes, &name_prefixes(&catalogue));
        for (path, (modified, _)) in &model {
            prop_assert_eq!(catalogue.get(path).map(|e| e.modified), Some(*modified));
            let key = fold_key(path);
            let alike: Vec<&String> = model.keys().filter(|other| fold_key(other) == key).collect();
            let found = catalogue.folded(&key);
            prop_assert_eq!(found.iter().map(|e| e.path().as_str()).collect::<Vec<_>>(), alike);
            let named = catalogue.named(last(&key)).len();
            let expected = model.keys().filter(|other| last(&fold_key(other)) == last(&key)).count();
            prop_assert_eq!(named, expected);
        }
        for (pattern, folder) in &globs {
            let Ok(glob) = Glob::parse(pattern) else { continue };
            let at = VaultPath::from_disk(folder).expect("sound");
            let is_child = |entry: &Entry<'_>| entry.path().parent() == Some(at.borrowed());
            let children = |it: &mut dyn Iterator<Item = Entry<'_>>| it.filter(is_child).map(|e| e.path().to_path()).collect::<Vec<_>>();
            prop_assert_eq!(children(&mut catalogue.directly_in(&at)), children(&mut catalogue.within(&at)));
            let some = View::of(vec![VaultPath::from_disk("Daily/a").expect("sound"), VaultPath::from_disk("b").expect("sound")]);
            let asked = [(None, View::default()), (Some(Kind::File), View::default()), (Some(Kind::Folder), some.clone()), (None, some)];
            for (order, (kind, view)) in [Order::Modified, Order::Name, Order::Size].into_iter().flat_map(|order| asked.iter().map(move |one| (order, one))) {
                let expected = listed(&model, folder, &glob, order, *kind, view);
                let query = EntryQuery { folder: &at, glob: &glob, kind: *kind };
                let listing = catalogue.list(&query, order, limit, view);
                let found: Vec<&str> = listing.first.iter().map(|e| e.path().as_str()).collect();
                prop_assert_eq!(listing.total, expected.len(), "{} in {}", pattern, folder);
                prop_assert_eq!(&found[..], &expected[..limit.min(expected.len())], "{:?} {} in {}", order, pattern, folder);
            }
        }
    }

    #[test]
    fn a_snapshot_restores_the_catalogue(
        before in prop::collection::vec(step(), 0..40),
        after in prop::collection::vec(step(), 0..40),
        damage in (any::<prop::sample::Index>(), 1_u8..),
    ) {
        let mut model = Model::new();
        let mut catalogue = Catalogue::default();
        before.iter().for_each(|step| live(&mut model, step));
        catalogue.apply(before.iter().flat_map(edits).collect());
        let mut bytes = catalogue.to_bytes();
        let mut loaded = Catalogue::from_bytes(&bytes).expect("whole");
        prop_assert_eq!(all(&loaded), all(&catalogue));
        prop_assert_eq!(&loaded.name_prefixes, &name_prefixes(&loaded));
        prop_assert_eq!(loaded.counts(), catalogue.counts());
        // Changes while not running are found by the scan of the next start.
        after.iter().for_each(|step| live(&mut model, step));
        let found: Vec<NewEntry> = model.iter().map(|(p, (m, s))| entry(p, *m, *s)).collect();
        let fresh = Catalogue::build(found.clone());
        // As a walk returns it: unchanged rows, and the other entries.
        let meta = |entry: &NewEntry| Meta {
            kind: entry.kind,
            size: entry.size,
            modified: entry.modified,
            changed: entry.modified,
            id: entry.id,
            ..Meta::unknown()
        };
        let (same, other): (Vec<_>, Vec<_>) = found.iter().cloned().partition(|entry| {
            loaded.unchanged_row((entry.path.as_str(), entry.key()), &meta(entry)).is_some()
        });
        let met: Vec<u32> = same
            .iter()
            .filter_map(|entry| loaded.unchanged_row((entry.path.as_str(), entry.key()), &meta(entry)))
            .collect();
        let difference = loaded.difference(&met, other);
        let whole = loaded.difference(&[], found.clone());
        prop_assert_eq!(&difference.put, &whole.put);
        prop_assert_eq!(&difference.gone, &whole.gone);
        loaded.apply(difference.edits());
        prop_assert_eq!(all(&loaded), all(&fresh));
        prop_assert_eq!(loaded.counts(), fresh.counts());
        for path in model.keys() {
            prop_assert_eq!(loaded.get(path).map(Entry::to_new), fresh.get(path).map(Entry::to_new));
        }
        let none = loaded.difference(&[], found);
        prop_assert!(none.put.is_empty() && none.gone.is_empty());
        // One wrong byte, or truncated.
        let at = damage.0.index(bytes.len());
        prop_assert!(Catalogue::from_bytes(&bytes[..at]).is_none());
        bytes[at] ^= damage.1;
        prop_assert!(Catalogue::from_bytes(&bytes).is_none());
    }

    /// A path folded component by component has the same key as folded at once.
    #[test]
    fn a_key_is_made_of_the_keys_of_its_components(path in "([aÉé\u{301}\u{338}ßΣςK\u{212a}\u{a0}İ=<]{1,3}/){0,3}[a\u{301}\u{338}Σ]{1,3}") {
        let pieces: Vec<String> = path.split('/').map(fold_key).collect();
        prop_assert_eq!(fold_key(&path), pieces.join("/"));
    }

    /// The fast ways of listing agree with ripgrep's glob crate.
    #[test]
    fn globs_agree_with_globset(
        paths in prop::collection::btree_set("[ab]{1,2}(/[ab]{1,2}){0,2}(\\.md)?", 1..40),
        pattern in "\\*\\*/\\*[ab]{1,3}(\\.md)?|[ab]/\\*\\*/[ab*]{1,3}|[ab?]{1,2}/[ab]{0,1}\\*|\\*\\*/[ab]{1,3}[?*]?[ab]?(\\.md)?",
    ) {
        prop_assume!(!pattern.contains("***") && !pattern.ends_with("**") && !pattern.contains("/**b") && !pattern.contains("/**a") && !pattern.contains("a**") && !pattern.contains("b**"));
        let folders: Vec<String> = paths.iter().flat_map(|path| parents(path)).collect();
        let paths: std::collections::BTreeSet<String> = paths.into_iter().chain(folders).collect();
        let reference = globset::GlobBuilder::new(&pattern).literal_separator(true).build()
            .expect("a glob").compile_matcher();
        let expected: std::collections::BTreeSet<&str> =
            paths.iter().filter(|path| reference.is_match(path)).map(String::as_str).collect();
        let catalogue = Catalogue::build(paths.iter().map(|path| entry(path, 0, 1)).collect());
        let glob = Glob::parse(&pattern).expect("a glob");
        let root = VaultPath::root();
        let query = EntryQuery { folder: &root, glob: &glob, kind: None };
        let listing = catalogue.list(&query, Order::Modified, 100, &View::default());
        let found: std::collections::BTreeSet<&str> =
            listing.first.iter().map(|e| e.path().as_str()).collect();
        prop_assert_eq!(found, expected, "{}", pattern);
    }
}
