//! Sixty-four clients that search all the time, and one that pings.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;

use super::Ground;
use super::search::{PATTERNS, Pattern, UNINDEXED, other_mix, rg};
use crate::daemon::Daemon;
use crate::peers;
use crate::report::{Page, Row};
use crate::timing::Times;

/// Clients that search.
pub const CLIENTS: usize = 64;

/// Simultaneous processes of `rg` in a vault of a million notes, where each takes many seconds.
const FEW: usize = 4;

/// The duration of a turn.
const LONG: Duration = Duration::from_secs(4);

/// Turns of each.
const TURNS: usize = 2;

/// The pause of the client that pings.
const PAUSE: Duration = Duration::from_millis(2);

/// All clients at once, compared with as many processes of `rg` at once.
///
/// # Errors
///
/// The daemon or `rg` failed.
pub fn measure(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let daemon = ground.serve()?;
    warmed(&daemon, 0)?;
    daemon.rest();
    let before = daemon.memory();
    let (mut searches, mut pings) = (Times::default(), Times::default());
    let (mut ours, mut theirs) = (0.0, 0.0);
    // A turn of so many processes takes most of a minute in the largest vault.
    let turns = if ground.notes < 100_000 { TURNS } else { 1 };
    for _ in 0..turns {
        let (rate, searched, pinged) = clients(&daemon, &PATTERNS)?;
        ours += rate / turns as f64;
        searches.join(&searched);
        pings.join(&pinged);
        theirs += processes(ground)? / turns as f64;
    }
    let (other, other_searches, other_pings) = clients(&daemon, &other_mix())?;
    daemon.rest();
    let after = daemon.memory();
    let notes = ground.notes;
    let what = format!("{CLIENTS} clients searching at once");
    let least = ground.target([25.0, 100.0, 250.0]);
    page.add(Row::new(what, notes).more(ours, theirs, "`rg` processes", least));
    let what = format!("search p99 vs p50 with {CLIENTS} clients searching");
    let row = Row::new(what, notes);
    page.add(row.within(searches.at(0.99), searches.median(), "its p50", 2.0));
    let what = format!("ping p99 with {CLIENTS} clients searching");
    page.add(Row::new(what, notes).alone(pings.at(0.99), "ms", 5.0));
    let rg = "`rg` processes, the mix above";
    let what = format!("{CLIENTS} clients searching, the mix with two that no index helps");
    page.add(Row::new(what, notes).more(other, theirs, rg, least).told());
    let what = format!("search p99 vs p50 with {CLIENTS} clients, that mix");
    let (p99, p50) = (other_searches.at(0.99), other_searches.median());
    page.add(Row::new(what, notes).within(p99, p50, "its p50", 2.0).told());
    let what = format!("ping p99 with {CLIENTS} clients, that mix");
    page.add(Row::new(what, notes).alone(other_pings.at(0.99), "ms", 5.0).told());
    if let (Some(before), Some(after)) = (before, after) {
        let what = format!("memory at rest after {CLIENTS} clients");
        page.add(Row::new(what, notes).no_larger(after.resident, before.resident, "before", 1.2));
    }
    Ok(())
}

/// Requests every pattern once, and then `more` of the mix by one client; returns the time of each.
///
/// # Errors
///
/// The daemon failed.
pub fn warmed(daemon: &Daemon, more: usize) -> Result<Times> {
    let mut client = daemon.client()?;
    let mut ask = |pattern: &str| client.call("search_files", &json!({"pattern": pattern}));
    for (_, pattern) in PATTERNS.into_iter().chain(UNINDEXED) {
        ask(pattern)?;
    }
    let mut times = Times::default();
    for (_, pattern) in PATTERNS.into_iter().cycle().take(more) {
        times.add(ask(pattern)?.took);
    }
    Ok(times)
}

/// The number of searches of the mix per second, the time of each, and of pings in the meantime.
///
/// # Errors
///
/// The daemon failed.
pub fn clients(daemon: &Daemon, mix: &[Pattern]) -> Result<(f64, Times, Times)> {
    let mut clients = (0..CLIENTS).map(|_| daemon.client()).collect::<Result<Vec<_>>>()?;
    let mut pinging = daemon.client()?;
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let search = |(number, client): (usize, &mut crate::client::Client)| -> Result<Times> {
            let mut times = Times::default();
            let mut next = number;
            while begun.elapsed() < LONG {
                let (_, pattern) = mix[next % mix.len()];
                next += 1;
                times.add(client.call("search_files", &json!({"pattern": pattern}))?.took);
            }
            Ok(times)
        };
        let searching: Vec<_> =
            clients.iter_mut().enumerate().map(|one| scope.spawn(move || search(one))).collect();
        let mut pings = Times::default();
        while begun.elapsed() < LONG {
            pings.add(pinging.ping()?);
            std::thread::sleep(PAUSE);
        }
        let mut searches = Times::default();
        for one in searching {
            searches.join(&one.join().expect("asking does not panic")?);
        }
        // Until the end of the last one: searches that started in time are done by then.
        let rate = searches.count() as f64 / begun.elapsed().as_secs_f64();
        Ok((rate, searches, pings))
    })
}

/// As many processes at once, each restarted when it ends, for as long or until each had its turn:
/// how many per second. From a million notes on there are [`FEW`] at once, which keep the cores as
/// busy.
///
/// # Errors
///
/// `rg` failed.
pub fn processes(ground: &Ground<'_>) -> Result<f64> {
    let done = AtomicUsize::new(0);
    let begun = Instant::now();
    let at_once = if ground.notes < 1_000_000 { CLIENTS } else { FEW };
    std::thread::scope(|scope| {
        let run = |number: usize| {
            let done = &done;
            move || -> Result<()> {
                let mut next = number;
                loop {
                    let (_, pattern) = PATTERNS[next % PATTERNS.len()];
                    next += 1;
                    peers::run(&mut rg(ground, pattern))?;
                    done.fetch_add(1, Ordering::Relaxed);
                    if begun.elapsed() > LONG {
                        return Ok(());
                    }
                }
            }
        };
        let running: Vec<_> = (0..at_once).map(|number| scope.spawn(run(number))).collect();
        running.into_iter().try_for_each(|one| one.join().expect("starting does not panic"))
    })?;
    Ok(done.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64())
}
