//! Searching text, compared with `rg`.

use std::process::Command;

use anyhow::Result;
use serde_json::json;

use super::Ground;
use crate::client::Client;
use crate::peers;
use crate::report::{Page, Row, short, thousands, time};
use crate::timing::{Contender, Times, side_by_side};

/// A pattern, with its description first.
pub type Pattern = (&'static str, &'static str);

/// The number of patterns in a mix.
pub const MIX: usize = 15;

/// Patterns of people and models, from the rarest word to a heading. Each contains three letters in
/// a row that every match contains, which an index of texts needs.
pub const PATTERNS: [Pattern; MIX] = [
    ("literal, rare", "Zyxqua Needle"),
    ("literal, rare, (?i)", "(?i)zyxqua needle"),
    ("phrase in 1 %", "quarterly retrospective"),
    ("no hit", "Qwvxqzzt"),
    ("no hit, common letters", "theratione station"),
    ("a word", r"\bgarden\b"),
    ("the commonest word", "the"),
    ("the commonest word, (?i)", "(?i)THE"),
    ("alternation", "frost|harbour|Needle"),
    ("words around a word", r"\w+ Needle \w+"),
    ("an open task", r"^- \[ \] .*winter"),
    ("a date", r"\d{4}-\d{2}-\d{2}"),
    ("a link with an alias", r"\[\[[^\]|]+\|[^\]]+\]\]"),
    ("a phrase with a comma", "time, the"),
    ("a heading", r"^#{2,4} Har\w+"),
];

/// Patterns that no index of three letters can narrow: every note has to be read. They have their
/// own targets, and replace the last two of [`PATTERNS`] in the other mix, which is shown next to
/// the judged one.
pub const UNINDEXED: [Pattern; 2] =
    [("two letters, no hit", "zq"), ("no literal, no hit", "[A-Z]{9}[0-9]{9}")];

/// The mix with the two patterns that no index helps with.
pub fn other_mix() -> [Pattern; MIX] {
    let mut mix = PATTERNS;
    mix[MIX - UNINDEXED.len()..].copy_from_slice(&UNINDEXED);
    mix
}

/// Requests to the daemon for each process that is started.
const EACH: usize = 5;

/// The search for `pattern` by a client without a daemon.
pub fn rg(ground: &Ground<'_>, pattern: &str) -> Command {
    let mut command = Command::new(&ground.peers.rg);
    command.args(["--no-config", "-n", "-C2", "-S", "-g", "*.md", "-e", pattern]);
    command.arg(&ground.vault);
    command
}

/// The times of one pattern, requested in turn from the daemon and from `rg`.
struct Asked {
    pattern: Pattern,
    steward: Times,
    rg: Times,
}

/// Some of these times combined.
fn together(asked: &[Asked], mix: &[Pattern]) -> (Times, Times) {
    let (mut own, mut peer) = (Times::default(), Times::default());
    for one in asked.iter().filter(|one| mix.contains(&one.pattern)) {
        own.join(&one.steward);
        peer.join(&one.rg);
    }
    (own, peer)
}

/// The mix of patterns, the other mix, and each of them.
///
/// # Errors
/// The daemon or `rg` failed.
pub fn measure(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let daemon = ground.serve()?;
    let mut client = daemon.client()?;
    let mut asked = Vec::new();
    for pattern in PATTERNS.into_iter().chain(UNINDEXED) {
        let one = ask(ground, &mut client, pattern, page)?;
        let (steward, compared) = (one.steward.median(), one.rg.median());
        page.detail(
            "Each pattern",
            &["pattern", "", "notes", "steward p50", "steward p99", "rg p50", "ratio"],
            vec![
                pattern.0.to_owned(),
                format!("`{}`", pattern.1),
                thousands(ground.notes),
                time(steward),
                time(one.steward.at(0.99)),
                time(compared),
                format!("{}x", short(compared / steward)),
            ],
        );
        asked.push(one);
    }
    let (notes, rg) = (ground.notes, "`rg -n -C2`");
    let least = ground.target([25.0, 100.0, 300.0]);
    let most = 1.0 / ground.target([8.0, 15.0, 20.0]);
    let (own, peer) = together(&asked, &PATTERNS);
    let row = Row::new("search, mix of 15 patterns, p50", notes);
    page.add(row.quicker(own.median(), peer.median(), rg, least));
    let row = Row::new("search, the same mix, p99 vs rg's p50", notes);
    page.add(row.within(own.at(0.99), peer.median(), rg, most));
    let (own, peer) = together(&asked, &other_mix());
    let row = Row::new("search, the mix with two that no index helps, p50", notes);
    page.add(row.quicker(own.median(), peer.median(), rg, least).told());
    let row = Row::new("search, that mix, p99 vs rg's p50", notes);
    page.add(row.within(own.at(0.99), peer.median(), rg, most).told());
    for (pattern, what) in UNINDEXED.into_iter().zip([
        "search, two letters that match nothing",
        "search, a pattern without a literal that matches nothing",
    ]) {
        let (own, peer) = together(&asked, &[pattern]);
        // Beyond ten thousand notes their texts exceed the cache.
        let least = ground.target([1.5, 1.5, 1.0]);
        page.add(Row::new(what, notes).quicker(own.median(), peer.median(), rg, least));
    }
    Ok(())
}

/// Searches for one pattern.
fn ask(
    ground: &Ground<'_>,
    client: &mut Client,
    pattern: Pattern,
    page: &mut Page,
) -> Result<Asked> {
    let arguments = json!({"pattern": pattern.1});
    let whole = client.tool("search_files", &arguments)?;
    if whole["timed_out"] == true {
        page.say(format!(
            "`{}` ran into the steward's own time limit at {} notes, so its time is that limit",
            pattern.1,
            thousands(ground.notes)
        ));
    }
    let contenders = vec![
        Contender::new("steward", EACH, || Ok(client.call("search_files", &arguments)?.took)),
        Contender::new("rg", 1, || peers::run(&mut rg(ground, pattern.1))),
    ];
    let mut times = side_by_side(contenders, ground.rounds)?.into_iter().map(|(_, times)| times);
    let (steward, rg) = (times.next().unwrap_or_default(), times.next().unwrap_or_default());
    Ok(Asked { pattern, steward, rg })
}

/// All matches, up to the limit of one answer: a thousand files.
///
/// # Errors
///
/// As for [`measure`].
pub fn all_matches(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let daemon = ground.serve()?;
    let mut client = daemon.client()?;
    let mut kinds = vec![("a selective phrase", "quarterly retrospective", 50.0)];
    if ground.notes <= 1_000 {
        kinds.push(("the commonest word", "the", 8.0));
    } else {
        page.say(
            "All matches of the commonest word are counted in the smallest vault alone: an \
                  answer names a thousand files at most",
        );
    }
    for (what, pattern, least) in kinds {
        let arguments = json!({"pattern": pattern, "output_mode": "count", "max_results": 1000});
        let times = side_by_side(
            vec![
                Contender::new("steward", EACH, || {
                    Ok(client.call("search_files", &arguments)?.took)
                }),
                Contender::new("rg", 1, || {
                    let mut command = Command::new(&ground.peers.rg);
                    command.args(["--no-config", "-c", "-S", "-g", "*.md", "-e", pattern]);
                    peers::run(command.arg(&ground.vault))
                }),
            ],
            ground.rounds,
        )?;
        let (steward, compared) = (times[0].1.median(), times[1].1.median());
        let row = Row::new(format!("count all matches of {what}"), ground.notes);
        page.add(row.quicker(steward, compared, "`rg -c`", least));
    }
    Ok(())
}
