//! Finding notes by a question: by words, by meaning, the first build of both, and the memory that they take.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::Ground;
use super::query::{called, opened};
use crate::daemon::{Daemon, Home};
use crate::report::{Page, Row};
use crate::timing::Times;

/// Questions that are asked.
const QUESTIONS: usize = 12;

/// Words of a question.
const WORDS: usize = 3;

/// The time limit of the first build, which takes half an hour with a million notes.
const LONGEST: Duration = Duration::from_secs(3_600);

/// How often the daemon is asked whether the first build is over.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Questions in the process, then the first build and the memory of a daemon.
///
/// # Errors
/// The vault cannot be opened, or the daemon failed.
pub fn measure(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let state = TempDir::with_prefix_in("state-", ground.scratch)?;
    let context = opened(&ground.vault, state.path())?;
    let listed = json!({"pattern": "**/*.md", "max_results": QUESTIONS});
    let listed = called(&context, "list_files", &listed)?;
    let entries = listed["entries"].as_array().context("`list_files` answers entries")?;
    let paths = entries.iter().filter_map(|entry| entry["path"].as_str());
    let questions: Vec<String> = paths
        .map(|path| Ok(question(&fs::read_to_string(ground.vault.join(path))?)))
        .collect::<Result<_>>()?;
    let ask = |question: &str, meaning: &str| {
        let arguments = json!({"query": question, "meaning": meaning});
        let begun = Instant::now();
        let answer = called(&context, "search_notes", &arguments)?;
        anyhow::Ok((begun.elapsed(), answer))
    };
    // A process without a daemon makes vectors for some seconds of each search.
    let begun = Instant::now();
    while ask(&questions[0], "auto")?.1["meaning"] == "not_ready" {
        ensure!(begun.elapsed() < LONGEST, "the vectors are not made");
    }
    for (what, meaning, most) in [
        ("`search_notes` by words, in the process", "off", [0.5, 1.0, 4.0]),
        ("`search_notes` by words and meaning, in the process", "auto", [0.6, 1.1, 4.1]),
    ] {
        let mut times = Times::default();
        for _ in 0..ground.rounds.min(5) {
            for question in &questions {
                let (took, answer) = ask(question, meaning)?;
                ensure!(answer["total"].as_u64() > Some(0), "`{question}` finds nothing");
                times.add(took);
            }
        }
        page.add(Row::new(what, ground.notes).alone(times.median(), "ms", ground.target(most)));
    }
    context.vault.stop();
    drop(context);
    build(ground, &questions[0], page)
}

/// Some words of a note.
fn question(text: &str) -> String {
    let words = text
        .split_whitespace()
        .filter(|word| word.len() > 4 && word.chars().all(|letter| letter.is_alphabetic()));
    let words: Vec<&str> = words.collect();
    let middle = words.len().saturating_sub(WORDS) / 2;
    words.into_iter().skip(middle).take(WORDS).collect::<Vec<_>>().join(" ")
}

/// The first build in a daemon, and its memory.
fn build(ground: &Ground<'_>, question: &str, page: &mut Page) -> Result<()> {
    let home = Home::new(ground.scratch)?;
    let daemon = Daemon::start(ground.steward, &ground.vault, &home)?;
    daemon.rest();
    let mut client = daemon.client()?;
    let begun = Instant::now();
    client.call("search_notes", &json!({"query": question}))?;
    let status = loop {
        let status = client.ask("_vault/status", &json!({}))?.result()?;
        if is_built(&status["knowledge"], ground.notes) {
            break status;
        }
        ensure!(begun.elapsed() < LONGEST, "the first build does not end: {status}");
        std::thread::sleep(LOOK_EVERY);
    };
    let row = Row::new("first build of words and meaning", ground.notes);
    let took = begun.elapsed().as_secs_f64();
    page.add(row.alone(took, "s", ground.target([1.5, 15.0, 150.0])));
    let bytes = |part: &str| status["memory"][part].as_u64().unwrap_or_default() as f64;
    let chunks = status["knowledge"]["chunks"].as_u64().unwrap_or_default() as f64;
    for (what, part, count, most) in [
        ("memory of the words of a note", "words", ground.notes as f64, 1.1),
        ("memory of the meaning of a passage", "meaning", chunks, 0.3),
    ] {
        let row = Row::new(what, ground.notes);
        page.add(row.alone(bytes(part) / 1_024.0 / count, "KB", most));
    }
    Ok(())
}

fn is_built(knowledge: &Value, notes: usize) -> bool {
    let read = knowledge["notes"].as_u64().unwrap_or_default();
    read >= notes as u64 && knowledge["meaningPending"] == false && knowledge["chunks"] != 0
}
