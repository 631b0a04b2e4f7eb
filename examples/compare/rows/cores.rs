//! The same crowd on one core, on two, and so on: what more cores are worth.

use std::thread::available_parallelism;

use anyhow::Result;

use super::Ground;
use super::crowd::{CLIENTS, clients, processes, warmed};
use super::search::PATTERNS;
use crate::report::{Page, Row, short, thousands, time};
use crate::timing::Times;

/// From this many cores on, each must be worth [`MIN_EFFICIENCY`].
const EFFICIENT_FROM: usize = 8;

/// The least efficiency of a core among several, compared with one alone.
const MIN_EFFICIENCY: f64 = 0.7;

/// Requests of the client that is alone.
const ALONE: usize = 300;

/// Measures with the daemon, its clients and `rg` on as many cores as each of `counts` says.
///
/// # Errors
///
/// The daemon or `rg` failed, or the system does not support choosing cores.
pub fn measure(ground: &Ground<'_>, page: &mut Page, counts: &[usize]) -> Result<()> {
    let all = available_parallelism()?.get();
    let wanted = match counts {
        [] => powers_of_two(all),
        counts => counts.to_vec(),
    };
    if let Some(more) = wanted.iter().find(|&&count| count > all) {
        page.say(format!("{more} cores were asked for; this machine has {all}."));
    }
    if all < EFFICIENT_FROM {
        page.say(format!(
            "This machine has {all} cores: whether {EFFICIENT_FROM} and more are worth \
             {MIN_EFFICIENCY} of themselves takes a larger one."
        ));
    }
    let mut first = None;
    for cores in wanted.into_iter().filter(|&count| count <= all) {
        let Some(one) = on(cores, || measured(ground))? else {
            page.say("Cores cannot be chosen on this system, so `cores` was left out.");
            return Ok(());
        };
        let heading = format!("{CLIENTS} clients searching, by cores");
        let columns = [
            "cores",
            "notes",
            "a second",
            "of linear",
            "p50",
            "p99",
            "alone p50",
            "ping p99",
            "`rg` a second",
        ];
        let (least, base) = *first.get_or_insert((cores, one.rate));
        let efficiency = one.rate / base * least as f64 / cores as f64;
        page.detail(
            &heading,
            &columns,
            vec![
                cores.to_string(),
                thousands(ground.notes),
                short(one.rate),
                format!("{efficiency:.2}"),
                time(one.searches.median()),
                time(one.searches.at(0.99)),
                time(one.alone.median()),
                time(one.pings.at(0.99)),
                short(one.processes),
            ],
        );
        if cores >= EFFICIENT_FROM && least == 1 {
            let what = format!("{CLIENTS} clients searching on {cores} cores, of linear");
            page.add(Row::new(what, ground.notes).at_least(efficiency, MIN_EFFICIENCY));
        }
    }
    Ok(())
}

/// The results on some number of cores.
struct Measured {
    rate: f64,
    searches: Times,
    alone: Times,
    pings: Times,
    processes: f64,
}

fn measured(ground: &Ground<'_>) -> Result<Measured> {
    let daemon = ground.serve()?;
    let alone = warmed(&daemon, ALONE)?;
    let (rate, searches, pings) = clients(&daemon, &PATTERNS)?;
    Ok(Measured { rate, searches, alone, pings, processes: processes(ground)? })
}

/// 1, 2, 4 and so on, and `all`.
fn powers_of_two(all: usize) -> Vec<usize> {
    let mut counts: Vec<usize> = std::iter::successors(Some(1), |count| Some(count * 2))
        .take_while(|&count| count < all)
        .collect();
    counts.push(all);
    counts
}

/// Runs `work` on the first `cores` of this process's cores: threads and processes started in it
/// use no others. `None` if the system does not support that.
#[cfg(target_os = "linux")]
fn on<T>(cores: usize, work: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    let before = sched_getaffinity(None)?;
    let mut few = CpuSet::new();
    (0..CpuSet::MAX_CPU).filter(|&cpu| before.is_set(cpu)).take(cores).for_each(|cpu| few.set(cpu));
    sched_setaffinity(None, &few)?;
    let done = work();
    sched_setaffinity(None, &before)?;
    done.map(Some)
}

#[cfg(not(target_os = "linux"))]
fn on<T>(_cores: usize, _work: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
    Ok(None)
}
