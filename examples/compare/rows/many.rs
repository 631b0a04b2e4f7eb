//! Ten vaults, each with its own daemon, compared with what one process for all of them would use.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::Ground;
use super::memory::MEGABYTE;
use crate::daemon::{Daemon, Home};
use crate::report::{Page, Row, short, thousands};
use crate::vaultgen;

/// Vaults, and daemons.
const VAULTS: usize = 10;

/// The time in which wake-ups are counted.
const LONG: Duration = Duration::from_secs(30);

/// The time after a start in which a daemon finishes its background work.
const SETTLED: Duration = Duration::from_secs(15);

/// Serves ten vaults of this size.
///
/// # Errors
/// A daemon failed.
pub fn measure(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let folder = tempfile::TempDir::with_prefix_in("many-", ground.scratch)?;
    let mut vaults = Vec::new();
    for number in 0..=VAULTS {
        let vault = folder.path().join(format!("{number}"));
        // The last one has a single note: its memory is the cost of a process.
        let notes = if number < VAULTS { ground.notes } else { 1 };
        vaultgen::generate(&vault, notes, 100 + number as u64)?;
        vaults.push((vault, Home::new(ground.scratch)?));
    }
    let start = |(vault, home): &(PathBuf, Home)| Daemon::start(ground.steward, vault, home);
    let start = &start;
    // The first start creates the state that later ones use.
    for vault in &vaults {
        start(vault)?.rest();
    }
    let alone = start(&vaults[0])?.ready;
    let begun = Instant::now();
    let daemons = std::thread::scope(|scope| {
        let starting: Vec<_> =
            vaults.iter().map(|vault| scope.spawn(move || start(vault))).collect();
        let joined = starting.into_iter().map(|one| one.join().expect("starting does not panic"));
        joined.collect::<Result<Vec<_>>>()
    })?;
    let together = begun.elapsed();
    std::thread::sleep(SETTLED);
    daemons.iter().for_each(Daemon::rest);
    let (of_vaults, empty) = daemons.split_at(VAULTS);
    let sum = |of: &dyn Fn(&Daemon) -> Option<u64>| of_vaults.iter().map(of).sum::<Option<u64>>();
    let waits = sum(&Daemon::waits);
    std::thread::sleep(LONG);
    let woken = sum(&Daemon::waits).zip(waits).map(|(after, before)| after - before);
    let own = |daemon: &Daemon| daemon.memory().map(|memory| memory.own);
    let told = (sum(&Daemon::share_of_memory), sum(&own), own(&empty[0]), woken);
    let (Some(shares), Some(owns), Some(base), Some(woken)) = told else {
        page.say("This system does not tell what processes share, so `many` was left out");
        return Ok(());
    };
    // One process would have only once what nine have in addition to their vaults, and the
    // program's pages only once.
    let one = shares.saturating_sub(base * (VAULTS as u64 - 1));
    let megabytes = |bytes: u64| short(bytes as f64 / MEGABYTE);
    page.detail(
        &format!("{VAULTS} vaults at once, each with a daemon of its own"),
        &[
            "notes each",
            "MB in all",
            "of it their own, MB",
            "a daemon with one note, its own, MB",
            "one process for all would hold, MB",
            "start alone, ms",
            "all started at once, ms",
            "woken a second, all together",
        ],
        vec![
            thousands(ground.notes),
            megabytes(shares),
            megabytes(owns),
            megabytes(base),
            megabytes(one),
            short(alone.as_secs_f64() * 1e3),
            short(together.as_secs_f64() * 1e3),
            short(woken as f64 / LONG.as_secs_f64()),
        ],
    );
    let what = format!("{VAULTS} daemons vs one process for {VAULTS} vaults, memory");
    page.add(Row::new(what, ground.notes).no_larger(shares, one, "estimated", 1.2).told());
    Ok(())
}
