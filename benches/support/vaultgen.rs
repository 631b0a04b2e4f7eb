//! Vaults of any size for the benchmarks, the same on every machine.
//!
//! Text, names and modification times depend only on the number of notes and the seed: two runs
//! with the same pair give the same bytes everywhere. That is why this file has its own random
//! numbers and its own exponential function: those of a library or of the platform's `libm` may
//! differ in the last bit, and one bit gives another vault.
//!
//! The shape follows measured vaults: Zipf-distributed words, lognormal sizes (median 1.9 KB, 1 %
//! over 17 KB), frontmatter in 70 %, a few hubs that gather most links, about 2 % of names outside
//! ASCII, folders at most six deep. Ten notes contain `Zyxqua Needle` and 1 % contain `quarterly
//! retrospective`, so that a search has something rare and something uncommon to find.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// The written files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// Markdown notes.
    pub notes: usize,
    /// Folders, without `.obsidian`.
    pub folders: usize,
    /// Files that are not notes.
    pub attachments: usize,
    /// Bytes of all notes.
    pub note_bytes: u64,
}

/// The most frequent words of a text, in order of frequency.
const COMMON: &str = "the of and to in a is that for it as was with be by on not he this are or \
    his from at which but have an had they you were their one all we can her has there been if \
    more when will would who so no said what up its about into than them only other new some time \
    could these two may then do first any my now such like our over man me even most made after \
    also did many before must through years where much your way well down should because each \
    just those people how too little state good very make world still own see work long here get \
    both between life being under never day same another know while last might us great old year \
    off come since against go came right used take three states himself few house use during \
    without again place around however home small found thought went say part once general high \
    upon school every does got united left number course war until always away something fact \
    water though less public put thing almost hand enough far took head yet government system \
    better set told nothing night end why called did not find going look asked later knew point \
    next city week question note idea plan review meeting draft source code project table list \
    frost garden bench tree winter letter window paper river bridge engine station harbour";

/// The parts of rarer words.
const SYLLABLES: [&str; 40] = [
    "ba", "ce", "di", "fo", "gu", "har", "in", "jo", "kel", "la", "mer", "no", "os", "pra", "qui",
    "re", "sta", "tor", "un", "ver", "wil", "xen", "ya", "zo", "bre", "cle", "dro", "fla", "gri",
    "tha", "she", "cho", "plu", "ment", "tion", "ner", "sol", "tan", "vin", "mar",
];

/// Names beyond ASCII, in NFC as Obsidian keeps them.
const FOREIGN: [&str; 12] = [
    "Überlegung",
    "Größenwahn",
    "Café",
    "naïve Frage",
    "Σκέψη",
    "Ταξίδι",
    "考え事",
    "庭の手入れ",
    "Żółw",
    "Встреча",
    "🌱 Idee",
    "Señal",
];

const WORDS: usize = 6_000;
const TAGS: [&str; 16] = [
    "project",
    "area",
    "idea",
    "person",
    "book",
    "meeting",
    "daily",
    "todo",
    "garden/seeds",
    "garden",
    "work/review",
    "work",
    "reading",
    "health",
    "Größe",
    "archive/2024",
];
/// 2026-01-01T00:00:00Z: the newest modification time a generated note can have.
const NEWEST: u64 = 1_767_225_600;
const THREE_YEARS: u64 = 3 * 365 * 86_400;

/// Writes a vault of `notes` notes into `out`, which must not exist or be empty.
///
/// # Errors
///
/// The file system's; [`io::ErrorKind::AlreadyExists`] if `out` contains anything, so that a typing
/// error cannot litter somebody's notes.
pub fn generate(out: &Path, notes: usize, seed: u64) -> io::Result<Summary> {
    fs::create_dir_all(out)?;
    if fs::read_dir(out)?.next().is_some() {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            format!("`{}` is not empty", out.display()),
        ));
    }
    let mut random = Random(seed ^ (notes as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let words = Words::new();
    let folders = folders(&mut random, &words, notes);
    for folder in &folders {
        fs::create_dir_all(out.join(folder))?;
    }
    let paths = note_paths(&mut random, &words, &folders, notes);
    let attachments: Vec<String> = (0..notes * 3 / 100)
        .map(|number| {
            let extension = if number % 5 == 0 { "pdf" } else { "png" };
            format!("Attachments/{} {number}.{extension}", words.title(&mut random, 1))
        })
        .collect();

    let mut note_bytes = 0;
    for (number, path) in paths.iter().enumerate() {
        let text = Note { number, notes, paths: &paths, attachments: &attachments, words: &words }
            .write(&mut random);
        note_bytes += text.len() as u64;
        write(out, path, text.as_bytes(), &mut random)?;
    }
    for path in &attachments {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0".to_vec();
        let length = 2_048 + random.below(30_720);
        bytes.resize_with(length, || (random.next() >> 56) as u8);
        write(out, path, &bytes, &mut random)?;
    }
    obsidian(out, &paths)?;
    let all: HashSet<&str> = folders.iter().flat_map(|folder| ancestors(folder)).collect();
    Ok(Summary { notes, folders: all.len(), attachments: attachments.len(), note_bytes })
}

/// SplitMix64: small, fast, and fixed for ever, unlike a library's generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to, not including, 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.unit() * limit as f64) as usize
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// A number below `limit` that is small far more often than large: the target of a link.
    fn hub(&mut self, limit: usize) -> usize {
        let unit = self.unit();
        ((unit * unit * unit) * limit as f64) as usize
    }

    /// Lognormal with a median of 1,900 and a tail like that of real vaults.
    fn size(&mut self) -> usize {
        let normal: f64 = (0..12).map(|_| self.unit()).sum::<f64>() - 6.0;
        (1_900.0 * exp(0.95 * normal)).min(65_536.0) as usize
    }
}

/// (1 + x/1024)^1024 by squaring: accurate enough for sizes, and equal to the last bit everywhere.
fn exp(x: f64) -> f64 {
    let mut power = 1.0 + x / 1_024.0;
    for _ in 0..10 {
        power *= power;
    }
    power
}

struct Words {
    all: Vec<String>,
    /// Running sum of the Zipf weights.
    cumulative: Vec<f64>,
    common: usize,
}

impl Words {
    fn new() -> Self {
        let mut all: Vec<String> = Vec::with_capacity(WORDS);
        let mut seen = HashSet::new();
        for word in COMMON.split_whitespace().filter(|word| seen.insert((*word).to_owned())) {
            all.push(word.to_owned());
        }
        let common = all.len();
        // The words are the same for every seed: a pattern has the same rank in every vault.
        let mut random = Random(27);
        while all.len() < WORDS {
            let parts = 2 + random.below(3);
            let word: String = (0..parts).map(|_| *random.pick(&SYLLABLES)).collect();
            if seen.insert(word.clone()) {
                all.push(word);
            }
        }
        let mut sum = 0.0;
        let cumulative = (0..all.len())
            .map(|rank| {
                sum += 1.0 / (rank + 2) as f64;
                sum
            })
            .collect();
        Self { all, cumulative, common }
    }

    fn next(&self, random: &mut Random) -> &str {
        let whole = self.cumulative.last().expect("the list of words is not empty");
        let aim = random.unit() * whole;
        let rank = self.cumulative.partition_point(|sum| *sum <= aim);
        &self.all[rank.min(self.all.len() - 1)]
    }

    /// A name of `count` of the rarer words, each with a capital.
    fn title(&self, random: &mut Random, count: usize) -> String {
        let mut title = String::new();
        for _ in 0..count {
            let word = random.pick(&self.all[self.common..]);
            let (first, rest) = word.split_at(1);
            let space = if title.is_empty() { "" } else { " " };
            let _ = write!(title, "{space}{}{rest}", first.to_ascii_uppercase());
        }
        title
    }

    fn sentence(&self, random: &mut Random, text: &mut String) {
        for place in 0..5 + random.below(14) {
            let word = self.next(random);
            if place == 0 {
                let (first, rest) = word.split_at(1);
                let _ = write!(text, "{}{rest}", first.to_ascii_uppercase());
            } else {
                let mark = if random.chance(0.06) { ", " } else { " " };
                let _ = write!(text, "{mark}{word}");
            }
        }
        text.push_str(". ");
    }
}

fn folders(random: &mut Random, words: &Words, notes: usize) -> Vec<String> {
    let mut folders: Vec<String> =
        ["Projects", "Areas", "Resources", "Archive", "People", "Journal", "Attachments"]
            .map(str::to_owned)
            .into();
    let mut seen: HashSet<String> = folders.iter().map(|name| name.to_lowercase()).collect();
    while folders.len() < 7 + notes / 23 {
        // Four in ten are directly in one of the big folders; the others anywhere.
        let parent = if random.chance(0.4) { random.below(5) } else { random.below(folders.len()) };
        let parent = &folders[parent];
        let depth = parent.matches('/').count() + 1;
        if depth >= 6 || parent.starts_with("Journal") || parent == "Attachments" {
            continue;
        }
        let words_in_name = 1 + random.below(2);
        let folder = format!("{parent}/{}", words.title(random, words_in_name));
        if seen.insert(folder.to_lowercase()) {
            folders.push(folder);
        }
    }
    folders
}

fn note_paths(random: &mut Random, words: &Words, folders: &[String], notes: usize) -> Vec<String> {
    let daily = (notes * 15 / 100).min(3_650);
    let mut seen = HashSet::new();
    let mut paths = Vec::with_capacity(notes);
    while paths.len() < notes {
        let number = paths.len();
        let path = if number % 7 == 3 && number / 7 < daily {
            let (year, month, day) = date(number / 7);
            format!("Journal/{year}/{year}-{month:02}-{day:02}.md")
        } else {
            let folder = random.pick(folders);
            let count = 1 + random.below(4);
            let mut name = words.title(random, count);
            if random.chance(0.02) {
                let foreign = random.pick(&FOREIGN);
                name = format!("{foreign} {number}");
            }
            match folder.as_str() {
                "Attachments" | "Journal" => format!("{name}.md"),
                folder => format!("{folder}/{name}.md"),
            }
        };
        if seen.insert(path.to_lowercase()) {
            paths.push(path);
        }
    }
    paths
}

/// The `number`th day before 2026, in a calendar of months of 28 days: valid dates, none twice.
fn date(number: usize) -> (usize, usize, usize) {
    (2025 - number / 336, 12 - number % 336 / 28, 28 - number % 28)
}

struct Note<'a> {
    number: usize,
    notes: usize,
    paths: &'a [String],
    attachments: &'a [String],
    words: &'a Words,
}

impl Note<'_> {
    fn write(&self, random: &mut Random) -> String {
        let goal = random.size();
        let mut text = String::with_capacity(goal + 512);
        if random.chance(0.7) {
            self.frontmatter(random, &mut text);
        }
        let _ = writeln!(text, "# {}\n", stem(&self.paths[self.number]));
        if self.notes < 10 || self.number % (self.notes / 10) == self.notes / 20 {
            text.push_str("Here lies the Zyxqua Needle of the haystack.\n\n");
        }
        if self.number % 100 == 37 {
            text.push_str("Agenda for the quarterly retrospective, with open questions.\n\n");
        }
        while text.len() < goal {
            match random.below(20) {
                0 => self.heading(random, &mut text),
                1 | 2 => self.tasks(random, &mut text),
                3 => self.list(random, &mut text),
                4 => self.table(random, &mut text),
                5 => self.code(random, &mut text),
                6 => self.callout(random, &mut text),
                _ => self.paragraph(random, &mut text),
            }
        }
        text
    }

    fn frontmatter(&self, random: &mut Random, text: &mut String) {
        text.push_str("---\ntags:\n");
        for _ in 0..1 + random.below(3) {
            let _ = writeln!(text, "  - {}", TAGS[random.hub(TAGS.len())]);
        }
        let (year, month, day) = date(random.below(1_000));
        let _ = writeln!(text, "created: {year}-{month:02}-{day:02}");
        if random.chance(0.3) {
            let _ = writeln!(text, "aliases: [{}]", self.words.title(random, 2));
        }
        if random.chance(0.2) {
            let _ = writeln!(text, "up: \"[[{}]]\"", self.target(random));
        }
        if random.chance(0.3) {
            let _ = writeln!(text, "status: {}", random.pick(&["open", "active", "done"]));
        }
        text.push_str("---\n\n");
    }

    fn target(&self, random: &mut Random) -> &str {
        stem(&self.paths[random.hub(self.paths.len())])
    }

    fn link(&self, random: &mut Random, text: &mut String) {
        let target = self.target(random);
        let _ = match random.below(10) {
            0 => write!(text, "[[{target}|{}]] ", self.words.next(random)),
            1 => write!(text, "[[{target}#{}]] ", self.words.title(random, 1)),
            2 => write!(text, "[{target}](<{}>) ", self.paths[random.hub(self.paths.len())]),
            3 if !self.attachments.is_empty() => {
                write!(text, "![[{}]] ", random.pick(self.attachments))
            }
            _ => write!(text, "[[{target}]] "),
        };
    }

    fn paragraph(&self, random: &mut Random, text: &mut String) {
        for _ in 0..2 + random.below(5) {
            self.words.sentence(random, text);
            if random.chance(0.25) {
                self.link(random, text);
            }
            if random.chance(0.05) {
                let _ = write!(text, "#{} ", TAGS[random.hub(TAGS.len())]);
            }
        }
        text.truncate(text.trim_end().len());
        text.push_str("\n\n");
    }

    fn heading(&self, random: &mut Random, text: &mut String) {
        let level = 2 + random.below(3);
        let _ = writeln!(text, "{} {}\n", "#".repeat(level), self.words.title(random, 2));
    }

    fn tasks(&self, random: &mut Random, text: &mut String) {
        for _ in 0..2 + random.below(4) {
            let done = if random.chance(0.6) { 'x' } else { ' ' };
            let _ = write!(text, "- [{done}] ");
            self.words.sentence(random, text);
            let (year, month, day) = date(random.below(700));
            let _ = writeln!(text, "📅 {year}-{month:02}-{day:02}");
        }
        text.push('\n');
    }

    fn list(&self, random: &mut Random, text: &mut String) {
        for _ in 0..3 + random.below(5) {
            let _ = write!(text, "- {} ", self.words.next(random));
            self.link(random, text);
            text.push('\n');
        }
        text.push('\n');
    }

    fn table(&self, random: &mut Random, text: &mut String) {
        text.push_str("| name | count | note |\n|---|---|---|\n");
        for _ in 0..2 + random.below(6) {
            let count = random.below(10_000);
            let (name, note) = (self.words.title(random, 1), self.words.next(random));
            let _ = writeln!(text, "| [[{}\\|{name}]] | {count} | {note} |", self.target(random));
        }
        text.push('\n');
    }

    fn code(&self, random: &mut Random, text: &mut String) {
        let (name, value) = (self.words.next(random), random.below(4_096));
        let _ =
            writeln!(text, "```rust\nfn {name}() -> u32 {{\n    {value} // [[no link]]\n}}\n```\n");
    }

    fn callout(&self, random: &mut Random, text: &mut String) {
        let _ = write!(text, "> [!note] {}\n> ", self.words.title(random, 2));
        self.words.sentence(random, text);
        text.push_str("\n\n");
    }
}

fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".md").unwrap_or(name)
}

fn ancestors(folder: &str) -> impl Iterator<Item = &str> {
    folder.match_indices('/').map(|(at, _)| &folder[..at]).chain([folder])
}

fn write(out: &Path, path: &str, bytes: &[u8], random: &mut Random) -> io::Result<()> {
    let file = out.join(path);
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(&file, bytes)?;
    let age = (random.unit() * THREE_YEARS as f64) as u64;
    let modified = UNIX_EPOCH + Duration::from_secs(NEWEST - age);
    fs::File::options().write(true).open(&file)?.set_modified(modified)
}

fn obsidian(out: &Path, paths: &[String]) -> io::Result<()> {
    let folder = out.join(".obsidian");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("app.json"), "{\n  \"trashOption\": \"local\"\n}")?;
    fs::write(folder.join("appearance.json"), "{}")?;
    fs::write(folder.join("core-plugins.json"), "{\n  \"daily-notes\": true\n}")?;
    let Some(first) = paths.first() else { return Ok(()) };
    fs::write(
        folder.join("workspace.json"),
        format!(
            "{{\"main\":{{\"id\":\"m\",\"type\":\"split\",\"children\":[{{\"id\":\"a\",\"type\":\
             \"leaf\",\"state\":{{\"type\":\"markdown\",\"state\":{{\"file\":\"{first}\"}}}}}}]}},\
             \"active\":\"a\",\"lastOpenFiles\":[\"{first}\"]}}"
        ),
    )
}
