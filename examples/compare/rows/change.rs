//! One changed note: from the end of the write until a search finds the new text.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::json;

use super::Ground;
use crate::report::{Page, Row};
use crate::timing::Times;

/// The number of changes, and the time limit.
const CHANGES: usize = 300;
const LONGEST: Duration = Duration::from_secs(30);

/// Writes a note again and again as an editor does, and searches until it is found.
///
/// # Errors
///
/// The daemon failed, or never found it.
pub fn measure(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let daemon = ground.serve()?;
    let mut client = daemon.client()?;
    let note = ground.vault.join("Bench of changes.md");
    let filling = "A line that stands in the note next to what changes.\n".repeat(60);
    let (mut times, mut asked) = (Times::default(), 0_usize);
    let begun = Instant::now();
    for number in 0..CHANGES {
        if begun.elapsed() > LONGEST {
            break;
        }
        let mark = format!("zvqx{number}xqvz");
        let arguments = json!({"pattern": mark, "max_results": 1});
        fs::write(&note, format!("{filling}{mark}\n"))?;
        let written = Instant::now();
        loop {
            asked += 1;
            let found = client.call("search_files", &arguments)?;
            let took = written.elapsed();
            if found.result()?["structuredContent"]["files"]
                .as_array()
                .is_some_and(|f| !f.is_empty())
            {
                times.add(took);
                break;
            }
            ensure!(took < Duration::from_secs(20), "a change was not found for 20 seconds");
        }
        // With a pause, so that the watcher sees each as a separate change.
        std::thread::sleep(Duration::from_millis(5));
    }
    fs::remove_file(&note)?;
    let notes = ground.notes;
    page.add(Row::new("one note written until a search finds it, p50", notes).alone(
        times.median(),
        "ms",
        1.0,
    ));
    page.add(Row::new("one note written until a search finds it, p99", notes).alone(
        times.at(0.99),
        "ms",
        5.0,
    ));
    let searches = asked as f64 / times.count().max(1) as f64;
    if searches > 1.5 {
        page.say(format!("A change took {searches:.1} searches in the middle until it was found"));
    }
    Ok(())
}
