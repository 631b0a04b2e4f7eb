//! Which parts run, and the table at the end.
//!
//! A part that finds a failure, or does less than it promises, fails the run. A part that cannot
//! run on this machine says so; with `CI=true` that is also a failure.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::random;

/// One way of injecting faults.
pub struct Part {
    /// Its name on the command line.
    pub name: &'static str,
    /// Runs it.
    pub run: fn() -> Vec<Line>,
}

/// One line of the table.
pub struct Line {
    /// The operations and faults.
    what: String,
    /// How often.
    done: u64,
    /// How often it must be done in one run.
    wanted: u64,
    /// The failures, one text each.
    bad: Vec<String>,
    /// Further figures.
    remark: String,
    /// Why it could not run here.
    missing: Option<String>,
    took: Duration,
}

/// Counters of a part, for any thread.
pub struct Tally {
    what: String,
    wanted: u64,
    done: AtomicU64,
    bad: Mutex<Vec<String>>,
    begun: Instant,
}

/// A part stops after this many failures.
const ENOUGH: usize = 20;

impl Tally {
    pub fn new(what: impl Into<String>, wanted: u64) -> Self {
        Self {
            what: what.into(),
            wanted: scaled(wanted),
            done: AtomicU64::new(0),
            bad: Mutex::default(),
            begun: Instant::now(),
        }
    }

    /// For a part that either completes or fails.
    pub fn all(what: impl Into<String>, wanted: u64) -> Self {
        Self { wanted, ..Self::new(what, wanted) }
    }

    /// How often it must be done.
    pub fn wanted(&self) -> u64 {
        self.wanted
    }

    pub fn count(&self, times: u64) {
        self.done.fetch_add(times, Ordering::Relaxed);
    }

    pub fn bad(&self, what: impl Into<String>) {
        let what = what.into();
        eprintln!("BAD: {what}");
        self.bad.lock().expect("no other part panics with it").push(what);
    }

    /// Whether further runs would show nothing new.
    pub fn given_up(&self) -> bool {
        self.bad.lock().expect("no other part panics with it").len() >= ENOUGH
    }

    pub fn line(self, remark: impl Into<String>) -> Line {
        Line {
            what: self.what,
            done: self.done.into_inner(),
            wanted: self.wanted,
            bad: self.bad.into_inner().expect("no other part panics with it"),
            remark: remark.into(),
            missing: None,
            took: self.begun.elapsed(),
        }
    }

    /// For a machine that lacks what this needs.
    pub fn not_run(self, needs: impl Into<String>) -> Line {
        Line { missing: Some(needs.into()), ..self.line("") }
    }
}

/// How much of everything is done, in percent of one CI run: `STEWARD_CHAOS_PERCENT`.
fn percent() -> u64 {
    let asked = std::env::var("STEWARD_CHAOS_PERCENT").ok();
    asked.map_or(100, |text| text.parse().expect("STEWARD_CHAOS_PERCENT is a number"))
}

fn scaled(times: u64) -> u64 {
    (times * percent()).div_ceil(100)
}

/// Cores to work on.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Runs `work` for each number below `end`, on all cores, until it is done or has failed often
/// enough.
pub fn each(end: u64, tally: &Tally, work: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..cores() {
            scope.spawn(|| {
                while !tally.given_up() {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= end {
                        break;
                    }
                    work(number);
                }
            });
        }
    });
}

/// At most `most` of `all`, evenly spread; the seed decides which.
pub fn evenly<T>(all: Vec<T>, most: u64) -> Vec<T> {
    let every = (all.len() as f64 / most.max(1) as f64).max(1.0);
    let mut next = (random::seed() % 1_000) as f64 / 1_000.0 * every;
    let mut at = -1.0;
    all.into_iter()
        .filter(|_| {
            at += 1.0;
            let chosen = at >= next.floor();
            if chosen {
                next += every;
            }
            chosen
        })
        .collect()
}

/// Runs the requested parts, or all.
pub fn run(parts: &[Part], asked: &[String]) -> ExitCode {
    for name in asked.iter().filter(|name| !name.starts_with('-')) {
        if parts.iter().all(|part| part.name != name) {
            let names: Vec<_> = parts.iter().map(|part| part.name).collect();
            eprintln!("there is no part `{name}`; there are {}", names.join(", "));
            return ExitCode::from(2);
        }
    }
    let named = |part: &Part| asked.iter().any(|name| name == part.name);
    let all = asked.iter().all(|name| name.starts_with('-'));
    let begun = Instant::now();
    let mut lines = Vec::new();
    for part in parts.iter().filter(|part| all || named(part)) {
        eprintln!("== {}", part.name);
        lines.extend((part.run)());
    }
    table(&lines, begun.elapsed())
}

fn table(lines: &[Line], took: Duration) -> ExitCode {
    let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    let mut failed = false;
    let width = lines.iter().map(|line| line.what.len()).max().unwrap_or(0);
    println!("\n{:width$}  {:>9}  {:>9}  {:>4}  {:>7}", "what", "done", "wanted", "bad", "seconds");
    for line in lines {
        let short = line.done < line.wanted && line.missing.is_none();
        failed |= short || !line.bad.is_empty() || (in_ci && line.missing.is_some());
        let remark = match &line.missing {
            Some(needs) => format!("NOT RUN: needs {needs}"),
            None if short => format!("TOO FEW; {}", line.remark),
            None => line.remark.clone(),
        };
        println!(
            "{:width$}  {:>9}  {:>9}  {:>4}  {:>7.1}  {remark}",
            line.what,
            line.done,
            line.wanted,
            line.bad.len(),
            line.took.as_secs_f64()
        );
    }
    println!("{:width$}  {:>9}  {:>9}  {:>4}  {:>7.1}", "all", "", "", "", took.as_secs_f64());
    for line in lines.iter().filter(|line| !line.bad.is_empty()) {
        println!("\n{}:", line.what);
        for bad in line.bad.iter().take(ENOUGH) {
            println!("- {bad}");
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
