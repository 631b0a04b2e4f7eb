//! The process dies, and dies again while it recovers: at every kill point (`src/chaos.rs`), in
//! every case.
//!
//! A first child dies at one point of the operation, a second one at one point of the recovery that
//! follows, for every pair of points; then, for triples spread evenly over all, a third one in the
//! recovery of that. In the end the recovery runs to completion and the whole vault is checked.

use std::os::unix::process::ExitStatusExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::cases::{Both, CASES, Must};
use crate::child;
use crate::place::{self, Place};
use crate::report::{self, Line, Tally};
use crate::tree;

const RUNS: u64 = 20_000;

/// Kill points of the operation, over all cases.
const PLACES: u64 = 300;

/// How a child ended.
pub enum End {
    /// It passed this many kill points.
    Passed(u64),
    Killed,
}

pub fn run() -> Vec<Line> {
    let places = Tally::new("places to crash at", PLACES);
    let runs = Tally::new("crashes with a crash in the recovery", RUNS);
    let states = undisturbed_cases(CASES.len(), &places, name, undisturbed);
    // The number of kill points in each recovery: one run each, which is checked too.
    let (before, after) = (AtomicU64::new(0), AtomicU64::new(0));
    let note =
        |is_after: bool| if is_after { &after } else { &before }.fetch_add(1, Ordering::Relaxed);
    let once = die_once(every_place(&states), &runs, name, |case, both, at| {
        let (is_after, end) = one(case, both, [at, 0, 0])?;
        note(is_after);
        Ok(end)
    });
    let first = once.len() as u64;
    let pairs: Vec<_> = once
        .into_iter()
        .flat_map(|(case, both, at, passed)| {
            (1..=passed).map(move |again| (case, both, [at, again, passed]))
        })
        .collect();
    // As many with a third death as are still missing.
    let all = pairs.len() as u64;
    let wanting = runs.wanted().saturating_sub(first + all);
    let thirds: Vec<_> = pairs
        .iter()
        .flat_map(|(case, both, [at, again, passed])| {
            (1..=*passed).map(move |third| (*case, *both, [*at, *again, third]))
        })
        .collect();
    let two = pairs.into_iter().map(|(case, both, [at, again, _])| (case, both, [at, again, 0]));
    let mut chosen = report::evenly(two.collect(), runs.wanted());
    chosen.extend(report::evenly(thirds, wanting));
    let died_thrice = AtomicU64::new(0);
    report::each(chosen.len() as u64, &runs, |number| {
        let (case, both, deaths) = chosen[number as usize];
        match one(case, both, deaths) {
            Ok((is_after, end)) => {
                note(is_after);
                runs.count(1);
                if deaths[2] > 0 && matches!(end, End::Killed) {
                    died_thrice.fetch_add(1, Ordering::Relaxed);
                }
            }
            Err(fault) => runs.bad(format!("{}, killed at {deaths:?}: {fault}", name(case))),
        }
    });
    let thrice = died_thrice.into_inner();
    let (before, after) = (before.into_inner(), after.into_inner());
    vec![
        places.line(format!("{} cases", CASES.len())),
        runs.line(format!("{before} as before, {after} as after; {all} pairs of places, {thrice} with a third crash")),
    ]
}

fn name(case: usize) -> &'static str {
    CASES[case].name
}

/// The result of each case without a crash, and its number of kill points, in the order of the cases.
pub fn undisturbed_cases<B: Send>(
    cases: usize,
    places: &Tally,
    name: fn(usize) -> &'static str,
    undisturbed: impl Fn(usize) -> Result<(B, u64), String> + Sync,
) -> Vec<(usize, B, u64)> {
    let states = Mutex::new(Vec::new());
    report::each(cases as u64, places, |number| match undisturbed(number as usize) {
        Ok((both, passed)) => {
            places.count(passed);
            states.lock().expect("no panic").push((number as usize, both, passed));
        }
        Err(fault) => places.bad(format!("{}: {fault}", name(number as usize))),
    });
    let mut states = states.into_inner().expect("no panic");
    states.sort_by_key(|(number, ..)| *number);
    states
}

/// Every kill point of every case.
pub fn every_place<B>(states: &[(usize, B, u64)]) -> Vec<(usize, &B, u64)> {
    let places = states
        .iter()
        .flat_map(|(case, both, passed)| (1..=*passed).map(move |at| (*case, both, at)));
    places.collect()
}

/// Kills `one` at each of these points and lets it resume; returns for each the number of kill points of the
/// resumption.
pub fn die_once<'b, B: Sync>(
    places: Vec<(usize, &'b B, u64)>,
    runs: &Tally,
    name: fn(usize) -> &'static str,
    one: impl Fn(usize, &B, u64) -> Result<End, String> + Sync,
) -> Vec<(usize, &'b B, u64, u64)> {
    let done = Mutex::new(Vec::new());
    report::each(places.len() as u64, runs, |number| {
        let (case, both, at) = places[number as usize];
        match one(case, both, at) {
            Ok(End::Passed(passed)) => {
                runs.count(1);
                done.lock().expect("no panic").push((case, both, at, passed));
            }
            Ok(End::Killed) => runs.bad("a recovery died without being told to"),
            Err(fault) => runs.bad(format!("{}, killed at {at}: {fault}", name(case))),
        }
    });
    let mut done = done.into_inner().expect("no panic");
    done.sort_by_key(|(case, _, at, _)| (*case, *at));
    done
}

/// The result of a case without a crash, and its number of kill points.
fn undisturbed(number: usize) -> Result<(Both, u64), String> {
    let folder = place::folder_in_memory();
    let case = &CASES[number];
    let place = case.prepare(folder.path());
    let before = tree::read(&place.vault);
    let End::Passed(passed) = run_child("act", &place, &[number as u64, 0])? else {
        return Err("it died without being told to".to_owned());
    };
    let both = Both::new(case, before, tree::read(&place.vault));
    both.settle(&place, Must::After)?;
    Ok((both, passed))
}

/// Dies at the first point, in the recovery at the second, in the recovery of that at the third (0:
/// not again). Returns whether the operation took effect, and how the last child ended.
fn one(case: usize, both: &Both, deaths: [u64; 3]) -> Result<(bool, End), String> {
    let folder = place::folder_in_memory();
    let place = CASES[case].prepare(folder.path());
    let [at, again, third] = deaths;
    if let End::Passed(passed) = run_child("act", &place, &[case as u64, at])? {
        return Err(format!("it passed {passed} places and did not die"));
    }
    let mut end = run_child("recover", &place, &[again])?;
    if third > 0 {
        end = run_child("recover", &place, &[third])?;
    }
    Ok((both.settle(&place, Must::Either)?, end))
}

/// Runs a task to its end.
pub fn run_child(errand: &str, place: &Place, arguments: &[u64]) -> Result<End, String> {
    let arguments = arguments.iter().map(u64::to_string);
    let output = child::start(errand, place).args(arguments).output().expect("it runs");
    let message = || {
        let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
        String::from_utf8_lossy(&text).trim().to_owned()
    };
    match (output.status.code(), output.status.signal()) {
        (Some(0), _) => match String::from_utf8_lossy(&output.stdout).trim().parse() {
            Ok(passed) => Ok(End::Passed(passed)),
            Err(_) => Err(message()),
        },
        (None, Some(9)) => Ok(End::Killed),
        _ => Err(message()),
    }
}
