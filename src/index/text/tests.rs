//! The index gives the same answers as a search that reads every file, for any vault, history and
//! pattern.

#![expect(clippy::disallowed_methods, reason = "tests make the vaults they search")]

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use tempfile::TempDir;

use super::Text;
use crate::index::changes::Feed;
use crate::index::search::file::Search;
use crate::index::search::{self, FileMatches, Limit, Mode, More, Query, Settings};
use crate::note::glob::Glob;
use crate::note::path::VaultPath;
use crate::vault::{self, Cancel, Vault};

struct Bench {
    vault: Vault,
    text: Text,
    place: PathBuf,
    /// The number of edits so far that kept size and time.
    hidden: u64,
    _folder: TempDir,
}

impl Bench {
    fn new(files: &[(String, Vec<u8>, u32)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (place, state) = (folder.path().join("vault"), folder.path().join("state"));
        std::fs::create_dir_all(place.join(".obsidian")).expect("made");
        std::fs::create_dir_all(&state).expect("made");
        for (path, bytes, age) in files {
            put(&place, path, bytes, *age);
        }
        let opened = Vault::open(&place, &state, vault::Settings::default(), &|_| ());
        let (vault, _) = opened.expect("the vault opens");
        let text = Text::new(vault.clone(), &Feed::new(vault.clone()));
        Self { vault, text, place, hidden: 0, _folder: folder }
    }

    fn state(&self) -> PathBuf {
        self._folder.path().join("state")
    }

    /// The index's answer is that of reading every file.
    #[track_caller]
    fn check(&self, query: &Query) {
        let settings = Settings { deadline_milliseconds: 60_000, ..Settings::default() };
        let cancel = Cancel::default();
        let mut ours = self.text.search(&self.vault, query, &settings, &cancel);
        let pattern = self.text.0.inner.patterns.get(&query.pattern, query.ignore_case);
        let limit = Limit::new(&settings, &cancel);
        let read = |query| {
            let pattern = pattern.as_ref().map_err(Clone::clone)?;
            Ok(search::read_all(&self.vault, &Search { pattern, query, limit: &limit }))
        };
        let mut theirs = read(query);
        // The two may count the rest at different thresholds.
        let counted = [&mut ours, &mut theirs]
            .map(|results| results.as_mut().ok().and_then(|results| results.more.take()));
        assert_eq!(ours, theirs, "{query:?}");
        if let (true, Ok(shown)) = (counted != [None, None], ours) {
            let all = Query { max_files: usize::MAX, max_matches: usize::MAX, ..query.clone() };
            let all = read(&all).expect("the pattern is sound").files;
            let sum = |files: &[FileMatches]| files.iter().map(|file| file.matches).sum::<u64>();
            let left = More {
                files: all.len() - shown.files.len(),
                matches: sum(&all) - sum(&shown.files),
            };
            for more in counted.into_iter().flatten() {
                assert_eq!(more, left, "{query:?}");
            }
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.vault.stop();
    }
}

/// Writes a file that was last changed so many seconds after 1970; 0: now.
fn put(place: &Path, path: &str, bytes: &[u8], age: u32) {
    let place = place.join(path);
    let folder = place.parent().expect("a file lies in a folder");
    let _ = std::fs::create_dir_all(folder);
    let Ok(()) = std::fs::write(&place, bytes) else { return };
    if age > 0 {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::from(age));
        let file = File::options().append(true).open(&place).expect("opened");
        file.set_modified(time).expect("set");
    }
}

/// A change of a vault between two searches.
#[derive(Debug, Clone)]
enum Edit {
    Write(String, Vec<u8>, u32),
    Append(String, Vec<u8>),
    Remove(String),
    Rename(String, String),
    /// The index reads the missing notes.
    Refresh,
    /// The daemon ends and starts again.
    Restart,
    /// The memory limit for texts changes.
    Resident(u64),
}

fn path() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "a.md", "b.md", "c.md", "Ä.md", "f/a.md", "f/b.MD", "f/g/c.md", "g/a.md", "d.txt",
        "e.canvas",
    ])
    .prop_map(str::to_owned)
}

fn folder() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["f", "g", "f/g", "h"]).prop_map(str::to_owned)
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        12 => "([abkKsSſ\u{212a}é .1-3]{0,12}|[вВςΣé会議🎉’ a]{0,8}|task|needle|Needle|STRASSE|straße|- \\[ \\] ask)",
        1 => Just("длинно ".repeat(700)),
        1 => Just("long ".repeat(900)),
    ];
    let end = prop::sample::select(vec!["\n", "\n", "\n", "\r\n", "\n\n", ""]);
    let lines = prop::collection::vec((line, end), 0..10).prop_map(|lines| {
        lines.iter().flat_map(|(line, end)| [line.as_str(), end]).collect::<String>()
    });
    let odd = prop::sample::select(vec![
        &b""[..],
        b"\xff",
        b"\0",
        b"a\n\0",
        b"\xef\xbb\xbf",
        b"\xff\xfea\0s\0k\0\n\0",
    ]);
    prop_oneof![
        10 => lines.clone().prop_map(String::into_bytes),
        2 => (odd.clone(), lines.clone()).prop_map(|(odd, text)| [odd, text.as_bytes()].concat()),
        1 => (lines.clone(), odd.clone()).prop_map(|(text, odd)| [text.as_bytes(), odd].concat()),
        1 => (lines, odd, 8_500_usize..9_500).prop_map(|(text, odd, times)| {
            [text.as_bytes(), &b"a line\n".repeat(times), odd, text.as_bytes()].concat()
        }),
    ]
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        6 => (path(), content(), 0_u32..40).prop_map(|(path, text, age)| Edit::Write(path, text, age / 2)),
        2 => (path(), content()).prop_map(|(path, text)| Edit::Append(path, text)),
        2 => path().prop_map(Edit::Remove),
        2 => (path(), path()).prop_map(|(from, to)| Edit::Rename(from, to)),
        1 => (folder(), folder()).prop_map(|(from, to)| Edit::Rename(from, to)),
        4 => Just(Edit::Refresh),
        1 => Just(Edit::Restart),
        1 => (0_u64..2).prop_map(Edit::Resident),
    ]
}

fn pattern() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "task",
        "Task",
        "ask",
        "needle",
        "Needle",
        "k",
        "K",
        "s+",
        "stra(ß|ss)e",
        "^- \\[ \\]",
        "long long",
        "(?i)NEEDLE",
        "(?-i)needle",
        "a line",
        "\\bask\\b",
        "^$",
        "x*",
        "a.*k",
        "ſ",
        "(task|needle)",
        "no such text",
        "[kK]",
        "\\w+",
        "\u{fffd}",
        "(?-u)\\xff",
        "\\Aa",
        "k\\z",
        "as[kK]?",
        "(",
        "(as){2}",
        "need|zzz",
        "é1",
        "\\r",
        "line$",
        "as",
        "kb",
        "[1-3]{3}",
        "[A-Z][1-3]{2}",
        "\\d{2} ?[kK]",
        "\\bsk?",
        "вВ",
        "ВвВ",
        "(?i)σ",
        "会議",
        "議",
        "[会議]a",
        "🎉",
        "’.é",
        "длинно длинно",
    ]);
    let made = "[abksKé.1вς会🎉]{1,3}[*+?]?(\\||\\\\b|\\\\d|\\\\w|\\$|\\.)?[abks1]{0,3}";
    prop_oneof![3 => known.prop_map(str::to_owned), 1 => made]
}

/// Patterns of one case.
const PATTERNS: usize = 6;

fn queries() -> impl Strategy<Value = (usize, Query)> {
    let globs = prop::sample::select(vec![
        None,
        None,
        None,
        None,
        None,
        None,
        Some("*"),
        Some("*.md"),
        Some("f/**"),
        Some("*.txt"),
        Some("[a]*"),
    ]);
    let folders = prop::sample::select(vec!["", "", "", "f", "f/g", "none"]);
    let modes = prop::sample::select(vec![Mode::Content, Mode::FilesWithMatches, Mode::Count]);
    let case = prop::sample::select(vec![None, None, None, None, None, Some(true), Some(false)]);
    let few = prop::sample::select(vec![1, 2, usize::MAX, usize::MAX]);
    // The index of one of the case's few patterns: compiling patterns is most of a case's time.
    let of = (0..PATTERNS, globs, folders, modes, case, few.clone(), few, 0_usize..3);
    of.prop_map(|(pattern, glob, folder, mode, ignore_case, max_files, max_matches, around)| {
        let query = Query {
            pattern: String::new(),
            ignore_case,
            files: glob.and_then(|glob| Glob::parse(glob).ok()),
            folder: VaultPath::parse(folder, None).expect("a path"),
            before: around,
            after: around / 2,
            mode,
            max_files,
            max_matches,
        };
        (pattern, query)
    })
}

/// A vault, its edits and the searches: about five edits, each followed by ten searches.
#[derive(Debug, Clone)]
struct Life {
    files: Vec<(String, Vec<u8>, u32)>,
    edits: Vec<(Edit, Vec<(usize, Query)>)>,
    patterns: Vec<String>,
}

fn life() -> impl Strategy<Value = Life> {
    let parts = (
        prop::collection::vec((path(), content(), 1_u32..20), 0..8),
        prop::collection::vec((edit(), prop::collection::vec(queries(), 10)), 1..10),
        prop::collection::vec(pattern(), PATTERNS),
    );
    parts.prop_map(|(files, edits, patterns)| Life { files, edits, patterns })
}

impl Life {
    /// Runs it in a vault with or without change events; every answer must equal that of reading
    /// every file.
    fn check(self, watched: bool) {
        let mut bench = Bench::new(&self.files);
        if watched {
            bench.vault.watch();
        }
        bench.text.refresh();
        for (edit, queries) in self.edits {
            let target = match &edit {
                Edit::Write(path, ..) | Edit::Append(path, _) | Edit::Rename(_, path) => {
                    path.clone()
                }
                _ => String::new(),
            };
            let before = bench.size_and_time(&target);
            bench.live(edit);
            // Without change events, only the next full scan finds an edit that keeps size and time; on Windows nothing
            // does (docs/platforms.md).
            let is_hidden = before.is_some() && before == bench.size_and_time(&target);
            if is_hidden && cfg!(windows) {
                bench.let_time_show(&target);
            } else if is_hidden && !watched {
                bench.vault.rescan().expect("scanned");
            }
            for (pattern, query) in queries {
                bench.check(&Query { pattern: self.patterns[pattern].clone(), ..query });
            }
        }
    }
}

impl Bench {
    fn size_and_time(&self, path: &str) -> Option<(u64, SystemTime)> {
        let meta = std::fs::metadata(self.place.join(path)).ok().filter(|meta| meta.is_file())?;
        Some((meta.len(), meta.modified().ok()?))
    }

    /// Sets the file's time to one that no other file has.
    fn let_time_show(&mut self, path: &str) {
        self.hidden += 1;
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000 + self.hidden);
        let file = File::options().append(true).open(self.place.join(path)).expect("opened");
        file.set_modified(time).expect("set");
    }

    fn live(&mut self, edit: Edit) {
        let at = |path: &str| self.place.join(path);
        match edit {
            Edit::Write(path, bytes, age) => put(&self.place, &path, &bytes, age),
            Edit::Append(path, bytes) => {
                if let Ok(mut file) = File::options().append(true).open(at(&path)) {
                    file.write_all(&bytes).expect("written");
                }
            }
            Edit::Remove(path) => drop(std::fs::remove_file(at(&path))),
            Edit::Rename(from, to) => drop(std::fs::rename(at(&from), at(&to))),
            Edit::Refresh => self.text.refresh(),
            Edit::Restart => {
                let state = self.state();
                self.text.save(&state);
                let patterns = std::mem::take(&mut *self.text.0.inner.patterns.lock());
                self.text = Text::new(self.vault.clone(), &Feed::new(self.vault.clone()));
                *self.text.0.inner.patterns.lock() = patterns;
                self.text.begin(&state);
            }
            Edit::Resident(megabytes) => self.text.set_resident(megabytes),
        }
    }
}

fn all(pattern: &str) -> Query {
    Query {
        pattern: pattern.to_owned(),
        ignore_case: None,
        files: None,
        folder: VaultPath::root(),
        before: 0,
        after: 0,
        mode: Mode::Content,
        max_files: usize::MAX,
        max_matches: usize::MAX,
    }
}

/// A program may write a text and set the time back; only the ctime, which no program can set, shows it.
#[cfg(unix)]
#[test]
fn a_text_of_the_same_size_and_time_is_found_by_the_next_full_look() {
    use std::os::unix::fs::MetadataExt as _;
    let bench = Bench::new(&[("a.md".to_owned(), b"- [ ] beans".to_vec(), 7)]);
    bench.text.refresh();
    assert_eq!(bench.text.known(), (1, 0));
    let changed = || {
        let meta = std::fs::metadata(bench.place.join("a.md")).expect("there");
        (meta.ctime(), meta.ctime_nsec())
    };
    let before = changed();
    // Until the disk's clock ticks.
    while changed() == before {
        put(&bench.place, "a.md", b"- [x] beans", 7);
    }
    bench.vault.rescan().expect("scanned");
    ["\\[x\\]", "\\[ \\]"].into_iter().for_each(|pattern| bench.check(&all(pattern)));
}

/// The saved files are overwritten, truncated or replaced: they are used only at a start, block by
/// block, and only with a valid checksum.
#[test]
fn whatever_becomes_of_the_saved_files_no_search_fails_or_is_misled() {
    let kind = |n: u32| ["needle", "hay", "straw"][n as usize % 3];
    let note = |n: u32| (format!("{n}.md"), format!("{} {n}\n", kind(n)).into_bytes(), n + 1);
    let mut bench = Bench::new(&(0..40).map(note).collect::<Vec<_>>());
    let (state, other) = (bench.state(), bench.place.join("0.md"));
    let check = |bench: &Bench| {
        ["needle 3", "hay", "[a-z]w 2"].into_iter().for_each(|pattern| bench.check(&all(pattern)));
    };
    for round in 0..100 {
        bench.text.refresh();
        bench.live(Edit::Restart);
        assert_eq!(bench.text.known(), (40, 0), "round {round}: what was saved is sound again");
        let name = if round % 20 < 15 { "signatures" } else { "table" };
        let place = super::folder(&state).join(name);
        let bytes = std::fs::read(&place).expect("read");
        let quarter = bytes.len() / 4;
        let zeroed = |range: std::ops::Range<usize>| {
            let mut bytes = bytes.clone();
            bytes[range].fill(0);
            bytes
        };
        let mut file = File::options().write(true).open(&place).expect("opened");
        match round % 5 {
            0 => file.set_len(0).expect("cut"),
            1 => file.set_len(2 * quarter as u64).expect("cut"),
            2 => file.write_all(&zeroed(0..bytes.len())).expect("written"),
            3 => file.write_all(&zeroed(quarter..2 * quarter)).expect("written"),
            _ => drop(std::fs::copy(&other, &place).expect("copied")),
        }
        check(&bench);
        bench.live(Edit::Restart);
        check(&bench);
    }
}

/// The number of vaults: 600 are about thirty thousand searches. `TEXT_CASES` sets another number.
fn cases() -> u32 {
    std::env::var("TEXT_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(600)
}

// Three, to use several cores.
proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases().div_ceil(3)))]
    #[test]
    fn whatever_happened_the_answer_is_that_of_reading_every_file(life in life()) {
        life.check(true);
    }

    #[test]
    fn whatever_else_happened_the_answer_is_that_of_reading_every_file(life in life()) {
        life.check(true);
    }

    #[test]
    fn whatever_nobody_told_of_the_answer_is_that_of_reading_every_file(life in life()) {
        life.check(false);
    }
}
