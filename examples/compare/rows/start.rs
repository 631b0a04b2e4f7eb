//! From starting the process to the first answer, compared with what reading the same metadata
//! costs others.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::json;

use super::Ground;
use super::search;
use crate::daemon::{Daemon, Home};
use crate::peers;
use crate::report::{Page, Row};
use crate::timing::{Contender, side_by_side};

/// The first search: rare, with a match.
const FIRST: &str = "Zyxqua Needle";

/// Starts with and without saved state.
///
/// # Errors
/// The daemon does not start, or `rg` failed.
pub fn measure(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    // The saved state that later starts find.
    warm(&ground.serve()?)?;
    let files = || {
        let mut command = Command::new(&ground.peers.rg);
        peers::run(command.args(["--no-config", "--files"]).arg(&ground.vault))
    };
    let times = side_by_side(
        vec![
            Contender::new("ready", 1, || Ok(ground.start()?.ready)),
            Contender::new("search", 1, || searched(&ground.start()?)),
            Contender::new("rg --files", 1, files),
        ],
        ground.rounds,
    )?;
    let [ready, search, files] = [0, 1, 2].map(|at| times[at].1.median());
    let notes = ground.notes;
    let what = "start to ready (list, resolve, read)";
    page.add(Row::new(what, notes).within(ready, files, "`rg --files`", 1.3));
    let what = "start to the first search answered, with kept state";
    page.add(Row::new(what, notes).within(search, files, "`rg --files`", 1.3));

    let times = side_by_side(
        vec![
            Contender::new("first", 1, || {
                let home = Home::new(ground.scratch)?;
                searched(&Daemon::start(ground.steward, &ground.vault, &home)?)
            }),
            Contender::new("rg", 1, || peers::run(&mut search::rg(ground, "Qwvxqzzt"))),
        ],
        ground.rounds.min(5),
    )?;
    let [first, rg] = [0, 1].map(|at| times[at].1.median());
    let what = "the very first start to the first search answered";
    page.add(Row::new(what, notes).within(first, rg, "`rg`, no hit", 4.0));
    Ok(())
}

/// From the start of its process to the answer to a search.
fn searched(daemon: &Daemon) -> Result<Duration> {
    let mut client = daemon.client()?;
    client.call("search_files", &json!({"pattern": FIRST}))?;
    Ok(daemon.begun.elapsed())
}

/// Makes the daemon do its one-time work.
fn warm(daemon: &Daemon) -> Result<()> {
    let mut client = daemon.client()?;
    client.call("search_files", &json!({"pattern": FIRST}))?;
    client.call("list_links", &json!({"kind": "unresolved"}))?;
    Ok(())
}

/// Many files changed at once by git: the time until a search is right.
///
/// # Errors
///
/// The daemon or git failed.
pub fn checkout(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    /// Files that change, of ten kinds, so that an answer can name all of one kind.
    const CHANGED: usize = 10_000;
    let Some(git) = &ground.peers.git else {
        page.say("git is not installed, so no checkout was measured");
        return Ok(());
    };
    if ground.notes < CHANGED {
        return Ok(());
    }
    let vault = &ground.vault;
    let git = |arguments: &[&str]| -> Result<()> {
        let mut command = Command::new(git);
        command.args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"]);
        command.args(["-c", "core.autocrlf=false", "-c", "gc.auto=0", "-C"]).arg(vault);
        command.args(arguments);
        let output = command.output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "git {}: {said}", arguments.join(" "));
        Ok(())
    };
    let names: Vec<String> = {
        let daemon = ground.serve()?;
        let mut client = daemon.client()?;
        let mut names = Vec::new();
        // A thousand per answer, folder by folder, until there are enough.
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            let asked = json!({"pattern": "*", "path": folder, "max_results": 1000});
            let listed = client.tool("list_files", &asked)?;
            for entry in listed["entries"].as_array().context("`list_files` answers entries")? {
                let path = entry["path"].as_str().unwrap_or_default().to_owned();
                match entry["type"].as_str() {
                    Some("folder") => folders.push(path),
                    _ if path.ends_with(".md") => names.push(path),
                    _ => {}
                }
            }
        }
        names.truncate(CHANGED);
        names
    };
    anyhow::ensure!(names.len() == CHANGED, "only {} notes were listed", names.len());
    git(&["init", "--quiet"])?;
    git(&["add", "--all"])?;
    git(&["commit", "--quiet", "--message", "before"])?;
    git(&["checkout", "--quiet", "-b", "changed"])?;
    for (number, name) in names.iter().enumerate() {
        let path = vault.join(name);
        let mut text = fs::read(&path)?;
        text.extend_from_slice(format!("\nzvrqk kind{}kind\n", number % 10).as_bytes());
        fs::write(&path, text)?;
    }
    git(&["commit", "--quiet", "--all", "--message", "after"])?;
    git(&["checkout", "--quiet", "-"])?;

    let daemon = ground.serve()?;
    let mut client = daemon.client()?;
    client.call("search_files", &json!({"pattern": FIRST}))?;
    git(&["checkout", "--quiet", "changed"])?;
    let begun = std::time::Instant::now();
    let mut kind = 0;
    while kind < 10 {
        let pattern = format!("zvrqk kind{kind}kind");
        let asked = json!({
            "pattern": pattern, "output_mode": "files_with_matches", "max_results": 1000
        });
        let found = client.tool("search_files", &asked)?;
        let found = found["files"].as_array().map_or(0, Vec::len);
        anyhow::ensure!(begun.elapsed().as_secs() < 60, "a minute later {found} of 1000 are found");
        if found == CHANGED / 10 {
            kind += 1;
        }
    }
    let took = begun.elapsed().as_secs_f64() * 1e3;
    let what = "10,000 files checked out by git: from its end until ten searches find all";
    page.add(Row::new(what, ground.notes).alone(took, "ms", 500.0));
    Ok(())
}
