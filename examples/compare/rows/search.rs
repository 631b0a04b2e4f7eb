//! Searching text, beside `rg`.

use std::process::Command;

use anyhow::Result;
use serde_json::json;

use super::Ground;
use crate::peers;
use crate::report::{Page, Row, short, thousands, time};
use crate::timing::{Contender, Times, side_by_side};

/// What people and models look for, from the rarest word to patterns without any literal;
/// `benches/engine.rs` asks the same.
pub const PATTERNS: [(&str, &str); 15] = [
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
    ("two letters, no hit", "zq"),
    (NO_LITERAL, "[A-Z]{9}[0-9]{9}"),
];

/// The pattern that no index helps with.
const NO_LITERAL: &str = "no literal, no hit";

/// Asked of the daemon for each time that a process is started.
const EACH: usize = 5;

/// As a client without a daemon would ask for `pattern`.
pub fn rg(ground: &Ground<'_>, pattern: &str) -> Command {
    let mut command = Command::new(&ground.peers.rg);
    command.args(["--no-config", "-n", "-C2", "-S", "-g", "*.md", "-e", pattern]);
    command.arg(&ground.vault);
    command
}

/// The mix of patterns, and each of them.
///
/// # Errors
/// The daemon or `rg` failed.
pub fn measure(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let daemon = ground.serve()?;
    let mut client = daemon.client()?;
    let (mut own, mut peer) = (Times::default(), Times::default());
    let mut without_literal = None;
    for (what, pattern) in PATTERNS {
        let arguments = json!({"pattern": pattern});
        let whole = client.tool("search_files", &arguments)?;
        if whole["timed_out"] == true {
            page.say(format!(
                "`{pattern}` ran into the steward's own time limit at {} notes, so its time is that \
                 limit",
                thousands(ground.notes)
            ));
        }
        let times = side_by_side(
            vec![
                Contender::new("steward", EACH, || {
                    Ok(client.call("search_files", &arguments)?.took)
                }),
                Contender::new("rg", 1, || peers::run(&mut rg(ground, pattern))),
            ],
            ground.rounds,
        )?;
        let (steward, beside) = (&times[0].1, &times[1].1);
        page.detail(
            "Each pattern",
            &["pattern", "", "notes", "steward p50", "steward p99", "rg p50", "ratio"],
            vec![
                what.to_owned(),
                format!("`{pattern}`"),
                thousands(ground.notes),
                time(steward.median()),
                time(steward.at(0.99)),
                time(beside.median()),
                format!("{}x", short(beside.median() / steward.median())),
            ],
        );
        if what == NO_LITERAL {
            without_literal = Some((steward.median(), beside.median()));
        }
        own.join(steward);
        peer.join(beside);
    }
    let notes = ground.notes;
    let rg = "`rg -n -C2`";
    page.add(Row::new("search, mix of 15 patterns, p50", notes).quicker(
        own.median(),
        peer.median(),
        rg,
        ground.target([25.0, 100.0, 300.0]),
    ));
    let most = 1.0 / ground.target([8.0, 15.0, 20.0]);
    let what = "search, the same mix, p99 beside rg's p50";
    page.add(Row::new(what, notes).within(own.at(0.99), peer.median(), rg, most));
    if let Some((steward, beside)) = without_literal {
        let what = "search, a pattern without a literal that matches nothing";
        page.add(Row::new(what, notes).quicker(steward, beside, rg, 1.0));
    }
    Ok(())
}

/// Every match there is, as far as one answer goes: a thousand files.
///
/// # Errors
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
        let (steward, beside) = (times[0].1.median(), times[1].1.median());
        let row = Row::new(format!("count all matches of {what}"), ground.notes);
        page.add(row.quicker(steward, beside, "`rg -c`", least));
    }
    Ok(())
}
