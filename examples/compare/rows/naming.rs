//! Names as people say them, over the socket.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::Ground;
use crate::client::Client;
use crate::daemon::{Daemon, Home};
use crate::report::{Page, Row};
use crate::timing::Times;

/// Requests per name, and new notes.
const TIMES: usize = 20;

/// The time limit of the very first name, for which all notes are read.
const LONGEST: Duration = Duration::from_secs(300);

/// The longest time for a name once all are known, in milliseconds.
const MOST: f64 = 20.0;

/// The very first name, the first one of a later run, and those after; then notes that are new.
///
/// # Errors
/// The daemon failed, or no name is found.
pub fn measure(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let home = Home::new(ground.scratch)?;
    let start = || -> Result<Daemon> {
        let daemon = Daemon::start(ground.steward, &ground.vault, &home)?;
        daemon.rest();
        Ok(daemon)
    };
    let daemon = start()?;
    let mut client = daemon.client()?;
    let unique = unique(&mut client)?;
    let begun = Instant::now();
    while !read(&mut client, &unique)?.1 {
        ensure!(begun.elapsed() < LONGEST, "the note `{unique}` is not found");
    }
    let very_first = begun.elapsed();
    drop((client, daemon));

    let mut first = Times::default();
    for _ in 0..ground.rounds.min(3) {
        let (took, found) = read(&mut start()?.client()?, &unique)?;
        ensure!(found, "the note `{unique}` is not found in a later run");
        first.add(took);
    }
    let daemon = start()?;
    let mut client = daemon.client()?;
    read(&mut client, &unique)?;
    let (mut known, mut nowhere, mut new, mut after) =
        (Times::default(), Times::default(), Times::default(), Times::default());
    for number in 0..TIMES {
        known.add(read(&mut client, &unique)?.0);
        nowhere.add(read(&mut client, &format!("{unique} elsewhere"))?.0);
        let name = format!("Compared zvqx {number}");
        let written = client.call("write_file", &json!({"path": name, "content": "New.\n"}))?;
        let (took, found) = read(&mut client, &format!("the {name}"))?;
        fs::remove_file(ground.vault.join(format!("{name}.md")))?;
        new.add(written.took);
        ensure!(found, "a new note is not found by its name");
        after.add(took);
    }
    let row = |what: &str| Row::new(what, ground.notes);
    let very_first = very_first.as_secs_f64() * 1e3;
    page.add(row("the very first name said, all notes read").alone(very_first, "ms", 0.0).told());
    let what = "the first name said after a start";
    page.add(row(what).alone(first.median(), "ms", 0.0).told());
    for (what, times) in [
        ("a name said", &known),
        ("a name said that is nowhere, with what is near", &nowhere),
        ("`write_file` of a new note", &new),
        ("a name said after a new note", &after),
    ] {
        page.add(row(what).alone(times.median(), "ms", MOST));
    }
    Ok(())
}

/// Reads by name; returns the time, and whether a note was found.
fn read(client: &mut Client, said: &str) -> Result<(Duration, bool)> {
    let asked = json!({"name": "read_file", "arguments": {"path": said}});
    let answer = client.ask("tools/call", &asked)?;
    Ok((answer.took, answer.text.ends_with(r#""isError":false}}"#)))
}

/// A name that one note has, in a form that is not a path.
fn unique(client: &mut Client) -> Result<String> {
    let listed = client.tool("list_files", &json!({"pattern": "*/**/*.md", "max_results": 200}))?;
    let entries = listed["entries"].as_array().context("`list_files` answers entries")?;
    let paths = entries.iter().filter_map(|entry| entry["path"].as_str());
    let names: Vec<&str> = paths.filter_map(|path| path.rsplit('/').next()).collect();
    for name in names {
        let stem = name.trim_end_matches(".md");
        let asked = json!({"pattern": format!("**/*{stem}*"), "max_results": 2});
        let is_plain = stem.len() > 8 && stem.chars().all(|c| c.is_ascii_alphabetic() || c == ' ');
        if is_plain
            && client.tool("list_files", &asked)?["entries"]
                .as_array()
                .is_some_and(|it| it.len() == 1)
        {
            return Ok(format!("the {}", stem.to_lowercase()));
        }
    }
    anyhow::bail!("no name is unique")
}
