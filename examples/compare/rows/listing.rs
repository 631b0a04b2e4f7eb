//! Listing files by glob, compared with `fd` and `rg`.

use std::process::Command;

use anyhow::Result;
use serde_json::json;

use super::Ground;
use crate::peers;
use crate::report::{Page, Row, short, thousands, time};
use crate::timing::{Contender, side_by_side};

/// From everything to nothing; `benches/engine.rs` lists the same.
pub const GLOBS: [&str; 5] = ["*", "**/*.md", "Projects/**", "**/*needle*", "**/2025-0?-1*.md"];

/// Requests to the daemon for each process that is started.
const EACH: usize = 10;

/// Each glob, and the worst of them.
///
/// # Errors
/// The daemon or a peer failed.
pub fn measure(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let daemon = ground.serve()?;
    let mut client = daemon.client()?;
    let mut worst: Option<(f64, f64)> = None;
    for glob in GLOBS {
        let arguments = json!({"pattern": glob});
        let mut contenders = vec![
            Contender::new("steward", EACH, || Ok(client.call("list_files", &arguments)?.took)),
            Contender::new("rg", 1, || {
                let mut command = Command::new(&ground.peers.rg);
                command.args(["--no-config", "--files", "--sortr", "modified", "--iglob", glob]);
                peers::run(command.arg(&ground.vault))
            }),
        ];
        if let Some(fd) = &ground.peers.fd {
            contenders.push(Contender::new("fd", 1, move || {
                let mut command = Command::new(fd);
                // A glob without a slash means this folder for the steward, the whole path for fd.
                let path = ground.vault.join(glob);
                command.args(["--glob", "--full-path", "--ignore-case"]).arg(path);
                peers::run(command.arg(&ground.vault))
            }));
        }
        let times = side_by_side(contenders, ground.rounds)?;
        let own = times[0].1.median();
        let cell = |name: &str| {
            let found = times.iter().find(|(one, _)| *one == name)?;
            Some((found.1.median(), found.1.median() / own))
        };
        let shown = |name| match cell(name) {
            Some((took, ratio)) => (time(took), format!("{}x", short(ratio))),
            None => (String::new(), String::new()),
        };
        let (rg, fd) = (shown("rg"), shown("fd"));
        page.detail(
            "Each glob",
            &["glob", "notes", "steward", "fd", "ratio", "rg --sortr modified", "ratio"],
            vec![format!("`{glob}`"), thousands(ground.notes), time(own), fd.0, fd.1, rg.0, rg.1],
        );
        if let Some((took, ratio)) = cell("fd")
            && worst.is_none_or(|(own, fd)| ratio < fd / own)
        {
            worst = Some((own, took));
        }
    }
    if let Some((own, fd)) = worst {
        page.add(Row::new("list, the worst of 5 globs", ground.notes).quicker(
            own,
            fd,
            "fd",
            ground.target([30.0, 100.0, 500.0]),
        ));
    }
    Ok(())
}
