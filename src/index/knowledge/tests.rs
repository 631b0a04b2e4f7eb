//! Results of searches, which depend only on the notes that the caller may see.

use std::collections::BTreeMap;
use std::sync::mpsc;

use proptest::prelude::*;

use super::content::Content;
use super::meaning::vectors::of as of_vectors;
use super::table::of;
use super::*;
use crate::index::Index;
use crate::index::synced::RecordTable as _;
use crate::note::search_query::parse;

/// A path, how often a word is in the note's names, and how often in each of its chunks.
type Place = (String, u8, Vec<(u16, u8)>);

/// The content of a table by word, independent of its numbers.
pub(super) fn seen(table: &Table) -> BTreeMap<String, Vec<Place>> {
    let mut seen: BTreeMap<String, Vec<Place>> = BTreeMap::new();
    for (word, text) in table.dictionary.words() {
        let mut places: BTreeMap<u32, Place> = BTreeMap::new();
        for (number, place, counts) in table.places(word) {
            let Some(note) = &table.notes[number as usize] else { continue };
            let new = || (note.path.to_string(), 0, Vec::new());
            let (_, called, chunks) = places.entry(number).or_insert_with(new);
            match (place - note.names).checked_sub(1) {
                None => *called = counts,
                Some(chunk) => chunks.push((chunk as u16, counts)),
            }
        }
        if !places.is_empty() {
            seen.insert(text.to_owned(), places.into_values().collect());
        }
    }
    seen.values_mut().for_each(|places| places.sort());
    seen
}

fn path(text: &str) -> VaultPath {
    VaultPath::from_disk(text).expect("a path")
}

fn put(table: &mut Table, name: &str, text: &str, modified: i64) {
    let path = path(name);
    let source = reading::Source { stamp: (1, modified), ..reading::Source::default() };
    table.put(path.clone(), of(&path, &Content::of(path.borrowed(), text)).from(source));
}

fn table(notes: &[(&str, &str)]) -> Table {
    let mut table = Table::default();
    notes.iter().for_each(|(name, text)| put(&mut table, name, text, 0));
    table
}

fn query(text: &str) -> Query {
    Query { words: vec![text.to_owned()], needs_word: true, ..Query::default() }
}

fn ask(table: &Table, query: &Query, view: &View) -> SearchResults {
    let none = |_: &VaultPath| 0;
    ask_linked(table, query, view, &none, &none, 0..50)
}

/// The same with the number of backlinks of each note, and what that is at most.
fn ask_linked(
    table: &Table,
    query: &Query,
    view: &View,
    links: &dyn Fn(&VaultPath) -> usize,
    links_at_most: &dyn Fn(&VaultPath) -> usize,
    page: std::ops::Range<usize>,
) -> SearchResults {
    let (cancel, wants) = (Cancel::default(), |_: &VaultPath, _: i64| true);
    let scope = SearchScope { view, cancel: &cancel, wants: &wants, links, links_at_most, page };
    let is_excluded = |path: &VaultPath| path.as_str().starts_with("Old");
    let means = Means { near: Vec::new(), weight: 0.0, is_excluded: &is_excluded };
    answer(table, query, &scope, &means, |path| !path.as_str().contains("Tea"))
}

fn found(table: &Table, query: &Query) -> Vec<String> {
    let view = View::default();
    ask(table, query, &view).notes.into_iter().map(|note| note.path.to_string()).collect()
}

#[test]
fn the_note_that_answers_comes_first() {
    let kettle = "# Tea\nBoil water in the kettle.\n# Care\nDescale the kettles every month.";
    let notes = [
        ("Kitchen/Kettle.md", kettle),
        (
            "Tea.md",
            "---\naliases: [infusion]\n---\nGreen or black, with water that has just boiled.",
        ),
        ("Garden/Watering.md", "# Summer\nWater the tomatoes in the morning.\n"),
        ("日本.md", "東京の天気"),
    ];
    let table = table(&notes);
    for (asked, expected) in [
        ("How do I descale my kettle?", "Kitchen/Kettle.md"),
        ("kettel descaling", "Kitchen/Kettle.md"),
        ("infusions", "Tea.md"),
        ("TOMATO", "Garden/Watering.md"),
        ("watering", "Garden/Watering.md"),
        ("京の", "日本.md"),
        ("天", "日本.md"),
    ] {
        assert_eq!(
            found(&table, &query(asked)).first().map(String::as_str),
            Some(expected),
            "{asked}"
        );
    }
    let view = View::default();
    let best = &ask(&table, &query("descale kettle"), &view).notes[0];
    assert_eq!((best.score, best.is_called, best.is_in_text), (1.0, true, true));
    for nothing in ["", "xylophone", "!?", "\"", "NEAR(", "/("] {
        assert_eq!(found(&table, &query(nothing)), [""; 0], "{nothing}");
    }
    let filtered = Query { filter: parse("-boiled").filter, ..query("water") };
    assert_eq!(found(&table, &filtered), ["Garden/Watering.md", "Kitchen/Kettle.md"]);
    let any = Query { needs_word: false, ..filtered };
    assert_eq!(found(&table, &any), ["Garden/Watering.md", "Kitchen/Kettle.md", "日本.md"]);
    let very_many: String = (0..100).map(|number| format!("word{number} ")).collect();
    assert_eq!(ask(&table, &query(&very_many), &view).words_left_out, 68);
}

#[test]
fn equal_notes_are_in_the_order_of_time_and_path() {
    let mut notes = table(&[("b.md", "same"), ("c.md", "same"), ("a.md", "same")]);
    put(&mut notes, "d.md", "same", 9);
    assert_eq!(found(&notes, &query("same")), ["d.md", "a.md", "b.md", "c.md"]);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests make the vaults they look at")]
fn vectors_are_made_after_the_words_even_if_nobody_searches_again() {
    let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let [place, state] = folders.each_ref().map(tempfile::TempDir::path);
    std::fs::write(place.join("Kettle.md"), "water boils").expect("written");
    let vault = Vault::open(place, state, Default::default(), &|_| ()).expect("opened").0;
    let knowledge = Index::new(vault).knowledge;
    let shared = Arc::clone(&knowledge.0);
    let (read, was_read) = mpsc::channel();
    let words = Arc::clone(&shared.words);
    shared.vectors.set_after(move |_| _ = read.send(words.is_over()));
    shared.words.set_first(true);
    shared.vectors.read_in_background(None);
    let (view, cancel, none) = (View::default(), Cancel::default(), |_: &VaultPath| 0);
    let scope = SearchScope {
        view: &view,
        cancel: &cancel,
        wants: &|_, _| true,
        links: &none,
        links_at_most: &none,
        page: 0..10,
    };
    let (meaning_use, ..) =
        knowledge.near(&query("kettle"), &scope, false).expect("nobody withdraws");
    assert_eq!(meaning_use, MeaningUse::NotReady);
    shared.words.set_first(false);
    assert_eq!(was_read.recv_timeout(Duration::from_secs(60)), Ok(true), "made after the words");
    knowledge.stop();
}

proptest! {
    /// Links are not counted for notes that cannot reach the page.
    #[test]
    fn the_links_that_are_counted_are_enough_for_the_page(
        notes in prop::collection::vec((1..9usize, 0..60usize, 0..9usize, any::<bool>()), 1..300),
        start in 0..220usize, length in 1..20usize,
    ) {
        let name = |at: usize, is_old: bool| format!("{}/{at}.md", if is_old { "Old" } else { "New" });
        let mut table = Table::default();
        let mut links = HashMap::new();
        for (at, (times, linked, beyond, is_old)) in notes.iter().enumerate() {
            let name = name(at, *is_old);
            put(&mut table, &name, &format!("{} rest", "water ".repeat(*times)), 0);
            links.insert(path(&name), (*linked, linked + beyond));
        }
        let (view, query) = (View::default(), query("water"));
        let counted = std::cell::Cell::new(0);
        let exact = |path: &VaultPath| {
            counted.set(counted.get() + 1);
            links[path].0
        };
        let page = start..start + length;
        let all = ask_linked(&table, &query, &view, &exact, &|_| usize::MAX, page.clone());
        let counted_all = counted.take();
        let few = ask_linked(&table, &query, &view, &exact, &|path| links[path].1, page);
        prop_assert_eq!(few, all);
        prop_assert!(counted.get() <= counted_all);
    }
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(
        "(# )?(garden|gardens|gardn|water|the|a|東京|kettle|京都| |\n){1,6}",
        0..4,
    )
    .prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn what_was_changed_answers_as_what_was_built_anew(
        history in prop::collection::vec((0..6u8, prop::option::of(text())), 1..20), asked in text(),
        (needs_word, hidden) in (any::<bool>(), any::<bool>()),
    ) {
        let name = |number: u8| format!("{}/{number} water.md", if number < 3 { "A" } else { "B" });
        let mut kept = Table::default();
        let mut now = BTreeMap::new();
        for (number, text) in history {
            match &text {
                Some(text) => put(&mut kept, &name(number), text, i64::from(number)),
                None => kept.remove(&path(&name(number))),
            }
            now.insert(number, text);
        }
        let rebuilt = |least: u8, most: u8| {
            let mut table = Table::default();
            for (number, text) in now.range(least..most) {
                if let Some(text) = text {
                    put(&mut table, &name(*number), text, i64::from(*number));
                }
            }
            table
        };
        let query = Query { needs_word, ..query(&asked) };
        let view = View::default();
        let answered = ask(&kept, &query, &view);
        prop_assert_eq!(&answered, &ask(&rebuilt(0, 6), &query, &view));
        let closed_up = kept.closed_up(|_| true);
        prop_assert!(closed_up.is_sound());
        prop_assert_eq!(&answered, &ask(&closed_up, &query, &view));
        prop_assert_eq!(seen(&closed_up), seen(&rebuilt(0, 6)));
        let notes = kept.iter().filter(|(path, _)| path.is_note()).count();
        prop_assert_eq!(kept.count_of_notes, notes);
        // The answer to a limited caller depends only on visible notes.
        let limited = View::of(vec![path(if hidden { "A" } else { "B" })]);
        let alone = if hidden { rebuilt(0, 3) } else { rebuilt(3, 6) };
        prop_assert_eq!(ask(&kept, &query, &limited), ask(&alone, &query, &view));
    }
}

/// The notes nearest to a text, as path, chunk and similarity.
fn near(vectors: &Vectors, to: &str, view: &View) -> Vec<(String, usize, f64)> {
    let Some(to) = meaning::of(to) else { return Vec::new() };
    let near = vectors.nearest(&to, |path, _| view.shows(path)).into_iter();
    let mut near: Vec<_> = near.map(|it| (it.path.to_string(), it.chunk, it.share)).collect();
    near.sort_by(|a, b| a.0.cmp(&b.0));
    near
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_near_depends_on_nothing_but_the_notes_that_are_seen(
        history in prop::collection::vec((0..6u8, prop::option::of(text())), 1..12), asked in text(),
    ) {
        let name = |number: u8| format!("{}/{number} water.md", if number < 3 { "A" } else { "B" });
        let vectors = |notes: &mut dyn Iterator<Item = (u8, &Option<String>)>| {
            let mut vectors = Vectors::default();
            for (number, text) in notes {
                let path = path(&name(number));
                match text {
                    Some(text) => {
                        let chunks = of_vectors(&path, &Content::of(path.borrowed(), text));
                        vectors.put(path, (reading::Source::default(), chunks));
                    }
                    None => vectors.remove(&path),
                }
            }
            vectors
        };
        let kept = vectors(&mut history.iter().map(|(number, text)| (*number, text)));
        let now: BTreeMap<u8, &Option<String>> =
            history.iter().map(|(number, text)| (*number, text)).collect();
        let view = View::default();
        let rebuilt = vectors(&mut now.iter().map(|(number, text)| (*number, *text)));
        prop_assert_eq!(near(&kept, &asked, &view), near(&rebuilt, &asked, &view));
        prop_assert_eq!(kept.count, rebuilt.count);
        let alone = vectors(&mut now.range(..3).map(|(number, text)| (*number, *text)));
        let limited = View::of(vec![path("A")]);
        prop_assert_eq!(near(&kept, &asked, &limited), near(&alone, &asked, &view));
    }
}
