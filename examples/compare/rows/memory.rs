//! How much memory it takes.

use anyhow::Result;
use serde_json::{Value, json};

use super::Ground;
use super::search::{PATTERNS, UNINDEXED};
use crate::daemon::{Daemon, Home};
use crate::report::{Page, Row, short, thousands};

/// Bytes of a megabyte, as people count them here.
const MEGABYTE: f64 = 1_048_576.0;

/// What the daemon of an almost empty vault holds, in bytes.
///
/// # Errors
/// The daemon failed.
pub fn base(ground: &Ground<'_>, page: &mut Page) -> Result<Option<u64>> {
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
    page.add(row.alone(memory.resident as f64 / MEGABYTE, "MB", 15.0));
    let row = Row::new("of it no part of the program or another file", 0);
    page.add(row.alone(memory.own as f64 / MEGABYTE, "MB", 15.0).told());
    Ok(Some(memory.resident))
}

/// What each note adds.
///
/// # Errors
/// The daemon failed.
pub fn measure(ground: &Ground<'_>, page: &mut Page, base: Option<u64>) -> Result<()> {
    let Some(base) = base else { return Ok(()) };
    let daemon = ground.serve()?;
    let status = use_it(&daemon)?;
    let Some(memory) = daemon.memory() else { return Ok(()) };
    let mut text = 0;
    for (part, bytes) in parts(&status["memory"]) {
        if part.to_lowercase().contains("text") && part.to_lowercase().contains("resident") {
            text = bytes;
        }
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
    let more = memory.resident.saturating_sub(base).saturating_sub(text) as f64;
    let row = Row::new("memory a note, without the texts kept", ground.notes);
    page.add(row.alone(more / 1_024.0 / ground.notes as f64, "KB", 1.0));
    Ok(())
}

/// Asks a little of everything, so that whatever is built at first use is there; then how it is.
fn use_it(daemon: &Daemon) -> Result<Value> {
    let mut client = daemon.client()?;
    for (_, pattern) in PATTERNS.into_iter().chain(UNINDEXED) {
        client.call("search_files", &json!({"pattern": pattern}))?;
    }
    client.call("list_files", &json!({"pattern": "**/*.md"}))?;
    daemon.rest();
    client.ask("_vault/status", &json!({}))?.result()
}

/// Whatever numbers of bytes a status names, with their names.
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
