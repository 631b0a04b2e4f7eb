//! A few hundred patterns in a small vault: the daemon finds the files and the matches that `rg`
//! finds, before and after notes change. It checks equality, not time.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use crate::client::Client;
use crate::daemon::{Daemon, Home};

/// Notes of the vault: few enough for a build without optimisation.
pub const NOTES: usize = 200;

/// A note changes after this many patterns.
const EDIT_EVERY: usize = 20;

/// Words outside ASCII: letters with and without case, ideographs, syllables, signs.
const OTHER_SCRIPTS: [&str; 16] = [
    "весна",
    "Ветер",
    "Ёжик",
    "σίσυφος",
    "Λόγος",
    "café",
    "naïve",
    "Straße",
    "会议",
    "会议记录",
    "東京",
    "ねこ",
    "한국어",
    "🎉",
    "done✅",
    "don’t",
];

/// The count of matching lines by file.
type Counts = BTreeMap<String, u64>;

/// Compares `patterns` patterns, made from `seed` and from the vault's own text; returns how many
/// of them matched something.
///
/// # Errors
///
/// The two differ; the message has the pattern, and what each found.
pub fn check(
    steward: &Path,
    rg: &Path,
    vault: &Path,
    scratch: &Path,
    patterns: usize,
    seed: u64,
) -> Result<usize> {
    let home = Home::new(scratch)?;
    let daemon = Daemon::start(steward, vault, &home)?;
    let mut client = daemon.client()?;
    let mut random = Random(seed);
    let note = client.any_note()?;
    let mut words = words(&fs::read_to_string(vault.join(&note))?);
    ensure!(words.len() > 20, "`{note}` has too few words to search for");
    // A third of them in other scripts, which also occur in the notes that change.
    let others = (0..words.len() / 2).map(|at| OTHER_SCRIPTS[at % OTHER_SCRIPTS.len()].to_owned());
    words.extend(others.collect::<Vec<_>>());
    let mut hits = 0;
    for number in 0..patterns {
        if number % EDIT_EVERY == 0 {
            edit(&mut client, vault, &mut random, &words, number)?;
        }
        let pattern = pattern(&mut random, &words);
        let ours = our_counts(&mut client, &pattern)?;
        let theirs = their_counts(rg, vault, &pattern)?;
        ensure!(ours == theirs, "`{pattern}`: the steward finds {ours:?}, rg {theirs:?}");
        hits += usize::from(!ours.is_empty());
    }
    Ok(hits)
}

/// Changes a note, alternately through the daemon and directly; a direct change may reach the
/// daemon a moment later, so it is asked to check the note.
fn edit(
    client: &mut Client,
    vault: &Path,
    random: &mut Random,
    words: &[String],
    number: usize,
) -> Result<()> {
    let path = format!("Smoke/{}.md", random.below(4));
    let mut text = String::new();
    for _ in 0..30 {
        let end = if random.below(6) == 0 { '\n' } else { ' ' };
        let _ = write!(text, "{}{end}", random.word(words));
    }
    if number % (2 * EDIT_EVERY) < EDIT_EVERY {
        client.call("write_file", &json!({"path": path, "content": text}))?;
    } else {
        fs::create_dir_all(vault.join("Smoke"))?;
        fs::write(vault.join(&path), text)?;
        client.call("get_file_info", &json!({"path": path}))?;
    }
    Ok(())
}

fn our_counts(client: &mut Client, pattern: &str) -> Result<Counts> {
    let asked = json!({"pattern": pattern, "output_mode": "count", "max_results": 1000});
    let found = client.tool("search_files", &asked)?;
    ensure!(found["timed_out"] == false, "`{pattern}` took longer than the steward gives a search");
    let files = found["files"].as_array().context("a search answers files")?;
    let count = |file: &serde_json::Value| {
        Some((file["path"].as_str()?.to_owned(), file["matches"].as_u64()?))
    };
    files.iter().map(|file| count(file).context("a file has a path and a count")).collect()
}

fn their_counts(rg: &Path, vault: &Path, pattern: &str) -> Result<Counts> {
    let mut command = Command::new(rg);
    command.args(["--no-config", "--no-ignore", "--smart-case", "--count", "--glob", "*.md"]);
    let output = command.args(["--regexp", pattern, "."]).current_dir(vault).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.stderr.is_empty(), "rg says of `{pattern}`: {said}");
    let text = String::from_utf8(output.stdout)?;
    let line = |line: &str| {
        let (path, count) = line.strip_prefix("./").unwrap_or(line).rsplit_once(':')?;
        Some((path.replace('\\', "/"), count.parse().ok()?))
    };
    text.lines().map(|text| line(text).context("rg prints a path and a count")).collect()
}

/// The words of a text, unchanged.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 2);
    words.map(str::to_owned).collect()
}

/// A pattern of one of many shapes.
fn pattern(random: &mut Random, words: &[String]) -> String {
    let word = random.word(words).to_owned();
    let other = random.word(words).to_owned();
    let letters: Vec<char> = word.chars().collect();
    let cut = 1 + random.below(letters.len() - 1);
    let head: String = letters[..cut].iter().collect();
    let tail: String = letters[cut..].iter().collect();
    match random.below(18) {
        0 => word,
        1 => head,
        2 => tail,
        3 => format!("{word} {other}"),
        4 => format!("{word}|{other}|{head}zzq"),
        5 => format!("(?i){}", word.to_uppercase()),
        6 => format!(r"\b{word}\b"),
        7 => format!(r"{word}\W+\w+"),
        8 => format!(r"\w+\s{head}\w*"),
        9 => format!("{head}[a-m]"),
        10 => format!("[{head}]{{3,}}"),
        11 => format!("^{word}"),
        12 => format!("{word}[.]?$"),
        13 => format!("{head}.{{0,8}}{other}"),
        14 => format!("({head}|{other})+{tail}"),
        15 => format!("{head}(?:{tail})?x*{}", random.pick(&["", "e", " "])),
        16 => random
            .pick(&[
                r"\d{4}-\d{2}-\d{2}",
                r"^- \[[ x]\]",
                r"\[\[[^\]|]+\|",
                "#[a-z/]+",
                r"^#{2,3} ",
                r"\p{Lu}\p{Ll}+ \p{Lu}",
                "(?i)straSSe|K",
                r"[^\x00-\x7f]{2}",
            ])
            .to_string(),
        _ => format!("{}zq{}", head, random.below(100)),
    }
}

/// SplitMix64: the same patterns for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 16) as usize % limit.max(1)
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn word<'a>(&mut self, of: &'a [String]) -> &'a str {
        &of[self.below(of.len())]
    }
}
