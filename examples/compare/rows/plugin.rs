//! A plugin inside Obsidian that has every note in memory, the strongest competitor for small
//! vaults: `benches/peers/plugin.mjs` in Node.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use super::Ground;
use crate::peers::on_path;
use crate::report::{Page, Row};
use crate::timing::{Contender, side_by_side};

/// Patterns that no program can stop at early, with hardly a match, or none.
const PATTERNS: [&str; 2] = ["Zyxqua Needle", "Qwvxqzzt"];

/// Its program, in the sources from which this one was built.
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/plugin.mjs");

/// The largest vault it gets: a larger one fills Node's default memory.
const MOST: usize = 100_000;

struct Plugin {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Plugin {
    fn start(node: &Path, vault: &Path) -> Result<Self> {
        let mut command = Command::new(node);
        command.arg(PROGRAM).arg(vault).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let input = child.stdin.take().context("its input is piped")?;
        let output = BufReader::new(child.stdout.take().context("its output is piped")?);
        let mut plugin = Self { child, input, output };
        let said = plugin.line()?;
        anyhow::ensure!(said == "ready", "the plugin said `{said}`");
        Ok(plugin)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            bail!("the plugin ended");
        }
        Ok(line.trim().to_owned())
    }

    fn search(&mut self, pattern: &str) -> Result<Duration> {
        writeln!(self.input, "{pattern}")?;
        let line = self.line()?;
        let (milliseconds, _) = line.split_once(' ').context("it says a time and a number")?;
        Ok(Duration::from_secs_f64(milliseconds.parse::<f64>()? / 1e3))
    }
}

impl Drop for Plugin {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Searches that have to read everything, over the socket, compared with the plugin's own memory.
///
/// # Errors
///
/// The daemon or the plugin failed.
pub fn measure(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let Some(node) = on_path("node") else {
        page.say("Node is not installed, so no plugin in memory was measured");
        return Ok(());
    };
    if ground.notes > MOST {
        return Ok(());
    }
    let daemon = ground.serve()?;
    let mut client = daemon.client()?;
    let mut plugin = Plugin::start(&node, &ground.vault)?;
    let least = ground.target([10.0, 100.0, 100.0]);
    let mut worst: Option<(f64, f64)> = None;
    for pattern in PATTERNS {
        let arguments = json!({"pattern": pattern});
        let times = side_by_side(
            vec![
                Contender::new("steward", 10, || Ok(client.call("search_files", &arguments)?.took)),
                Contender::new("plugin", 3, || plugin.search(pattern)),
            ],
            ground.rounds,
        )?;
        let (own, theirs) = (times[0].1.median(), times[1].1.median());
        if worst.is_none_or(|(own_before, before)| theirs / own < before / own_before) {
            worst = Some((own, theirs));
        }
    }
    if let Some((own, theirs)) = worst {
        let row = Row::new("search for what is rare or nowhere", ground.notes);
        page.add(row.quicker(own, theirs, "a plugin with all notes in memory", least));
    }
    Ok(())
}
