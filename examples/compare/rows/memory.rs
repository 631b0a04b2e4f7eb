//! The daemon's memory.

use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use super::Ground;
use super::search::{PATTERNS, UNINDEXED};
use crate::daemon::{Daemon, Home, Memory};
use crate::report::{Page, Row, short, thousands};

/// A megabyte, in bytes.
pub const MEGABYTE: f64 = 1_048_576.0;

/// The number of requests of each kind to the daemons whose difference is the cost of notes.
const TIMES: usize = 50;

/// The memory of an almost empty vault's daemon, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Base {
    /// After a start and one request of each kind.
    fresh: u64,
    /// After the requests that the daemon of a larger vault gets.
    asked: u64,
}

/// The memory of an almost empty vault's daemon.
///
/// # Errors
/// The daemon failed.
pub fn base(ground: &Ground<'_>, page: &mut Page) -> Result<Option<Base>> {
    let vault = tempfile::TempDir::with_prefix_in("empty-", ground.scratch)?;
    std::fs::write(vault.path().join("Note.md"), "The only one.\n")?;
    let home = Home::new(ground.scratch)?;
    let daemon = Daemon::start(ground.steward, vault.path(), &home)?;
    use_it(&daemon)?;
    let Some(memory) = daemon.memory() else {
        page.say("This system does not tell how much memory a process holds");
        return Ok(None);
    };
    let row = Row::new("memory with one note", 0);
    page.add(row.alone(memory.resident as f64 / MEGABYTE, "MB", 15.0).told());
    let row = Row::new("of it no part of the program or another file", 0);
    page.add(row.alone(memory.own as f64 / MEGABYTE, "MB", 5.0));
    drop(daemon);
    let Some((asked, _)) = asked(ground, vault.path())? else { return Ok(None) };
    let row = Row::new("memory with one note, asked as much as the larger vaults below", 0);
    page.add(row.alone(asked.resident as f64 / MEGABYTE, "MB", 15.0).told());
    Ok(Some(Base { fresh: memory.resident, asked: asked.resident }))
}

/// The memory that each note adds.
///
/// # Errors
/// The daemon failed.
pub fn measure(ground: &Ground<'_>, page: &mut Page, base: Option<Base>) -> Result<()> {
    let Some(base) = base else { return Ok(()) };
    let Some((memory, status)) = asked(ground, &ground.vault)? else { return Ok(()) };
    let text = resident_text(&status);
    for (part, bytes) in parts(&status["memory"]) {
        page.detail(
            "Memory by part, as `steward status` tells",
            &["part", "notes", "MB"],
            vec![part, thousands(ground.notes), short(bytes as f64 / MEGABYTE)],
        );
    }
    page.detail(
        "Memory as the system tells",
        &["notes", "MB in all", "no part of a file, MB", "of that texts kept, MB"],
        vec![
            thousands(ground.notes),
            short(memory.resident as f64 / MEGABYTE),
            short(memory.own as f64 / MEGABYTE),
            short(text as f64 / MEGABYTE),
        ],
    );
    let each = |memory: Memory, base: u64, text: u64| {
        let more = memory.resident.saturating_sub(base).saturating_sub(text) as f64;
        more / 1_024.0 / ground.notes as f64
    };
    let row = Row::new("memory a note, without the texts kept", ground.notes);
    page.add(row.alone(each(memory, base.asked, text), "KB", 1.0));
    // By the former measure: with all state of this run's requests to the vault, compared with a
    // daemon without any.
    let daemon = ground.serve()?;
    let text = resident_text(&use_it(&daemon)?);
    let Some(memory) = daemon.memory() else { return Ok(()) };
    let row = Row::new("the same, with what a daemon keeps of having been asked", ground.notes);
    page.add(row.alone(each(memory, base.fresh, text), "KB", 1.0).told());
    Ok(())
}

/// The memory of this vault's daemon, measured and as it reports it, after its second start in its
/// own folders and many requests of each kind. `None` if the system does not report it.
fn asked(ground: &Ground<'_>, vault: &Path) -> Result<Option<(Memory, Value)>> {
    let home = Home::new(ground.scratch)?;
    // The first one builds and saves the index.
    Daemon::start(ground.steward, vault, &home)?.rest();
    let daemon = Daemon::start(ground.steward, vault, &home)?;
    daemon.rest();
    for _ in 1..TIMES {
        ask_everything(&daemon)?;
    }
    let status = use_it(&daemon)?;
    Ok(daemon.memory().map(|memory| (memory, status)))
}

/// The bytes of texts that a daemon with this status caches.
fn resident_text(status: &Value) -> u64 {
    let is_text = |name: &str| name.contains("text") && name.contains("resident");
    let parts = parts(&status["memory"]);
    parts.iter().find(|(part, _)| is_text(&part.to_lowercase())).map_or(0, |(_, bytes)| *bytes)
}

/// Sends a few requests of each kind, so that everything built at first use exists.
fn ask_everything(daemon: &Daemon) -> Result<()> {
    let mut client = daemon.client()?;
    for (_, pattern) in PATTERNS.into_iter().chain(UNINDEXED) {
        client.call("search_files", &json!({"pattern": pattern}))?;
    }
    client.call("list_files", &json!({"pattern": "**/*.md"}))?;
    Ok(())
}

/// Sends some requests of each kind and, once the daemon is idle, requests its status.
fn use_it(daemon: &Daemon) -> Result<Value> {
    ask_everything(daemon)?;
    daemon.rest();
    let mut client = daemon.client()?;
    client.ask("_vault/status", &json!({}))?.result()
}

/// All numbers of bytes in a status, with their names.
fn parts(memory: &Value) -> Vec<(String, u64)> {
    match memory {
        Value::Object(members) => {
            let number = |(name, value): (&String, &Value)| Some((name.clone(), value.as_u64()?));
            members.iter().filter_map(number).collect()
        }
        Value::Array(parts) => {
            let named = |part: &Value| {
                let name = part["name"].as_str().or(part["part"].as_str())?;
                Some((name.to_owned(), part["bytes"].as_u64()?))
            };
            parts.iter().filter_map(named).collect()
        }
        _ => Vec::new(),
    }
}
