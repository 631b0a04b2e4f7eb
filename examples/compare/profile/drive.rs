//! The daemon's work while it is profiled.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::taken::{self, Taken, Watch};
use crate::client::Client;
use crate::daemon::{Daemon, Home};
use crate::rows::search::{PATTERNS, UNINDEXED};
use crate::rows::{Ground, kept, listing};

/// How long it is profiled.
const LONG: Duration = Duration::from_secs(3);

/// Samples per second of a start, which is short.
const OFTEN_AT_START: &str = "9999";

/// Clients of a crowd.
const CLIENTS: usize = 64;

/// Repeated work.
pub struct Scene {
    /// Its name on the page.
    pub name: &'static str,
    act: Act,
}

/// A method and its params.
type Question = (&'static str, Value);

enum Act {
    /// One client sends these requests in turn.
    Ask(fn(&mut Client) -> Result<Vec<Question>>),
    /// Many clients search.
    Crowd,
    /// A note changes, and is searched for.
    Change,
    /// A daemon starts, with saved state or for the first time.
    Start { first: bool },
    /// A thousand conversations are listed.
    Conversations,
    /// A message is appended, in this process.
    Append,
}

/// The scenes that show why a row is slow.
pub fn scenes(kind: &str) -> Vec<Scene> {
    let scene = |name, act| Scene { name, act };
    match kind {
        "search" => vec![
            scene("searching, the mix", Act::Ask(|_| Ok(searches(&PATTERNS)))),
            scene("searching, what no index helps", Act::Ask(|_| Ok(searches(&UNINDEXED)))),
        ],
        "plugin" => vec![scene(
            "searching for what is rare or nowhere",
            Act::Ask(|_| Ok(searches(&[("", "Zyxqua Needle"), ("", "Qwvxqzzt")]))),
        )],
        "matches" => vec![scene("counting matches", Act::Ask(|_| Ok(counts())))],
        "list" => vec![scene("listing, each glob", Act::Ask(|_| Ok(lists())))],
        "read" => vec![scene(
            "`read_file`",
            Act::Ask(|client| {
                let path = client.any_note()?;
                Ok(vec![("tools/call", call("read_file", &json!({"path": path})))])
            }),
        )],
        "wire" => {
            vec![scene("a ping", Act::Ask(|_| Ok(vec![("_vault/ping", json!({}))])))]
        }
        "crowd" => vec![scene("64 clients searching, the mix", Act::Crowd)],
        "change" => vec![scene("a note changes and is found", Act::Change)],
        "start" => vec![
            scene("start to ready, with kept state", Act::Start { first: false }),
            scene("the very first start, to a search", Act::Start { first: true }),
        ],
        "kept" => vec![
            scene("a message appended, with the bench around it", Act::Append),
            scene("1,000 conversations listed", Act::Conversations),
        ],
        _ => Vec::new(),
    }
}

fn call(tool: &str, arguments: &Value) -> Value {
    json!({"name": tool, "arguments": arguments})
}

fn searches(patterns: &[(&str, &str)]) -> Vec<Question> {
    let one = |(_, pattern): &(&str, &str)| {
        ("tools/call", call("search_files", &json!({"pattern": pattern})))
    };
    patterns.iter().map(one).collect()
}

fn counts() -> Vec<Question> {
    let one = |pattern: &str| {
        let asked = json!({"pattern": pattern, "output_mode": "count", "max_results": 1000});
        ("tools/call", call("search_files", &asked))
    };
    ["quarterly retrospective", "the"].map(one).into()
}

fn lists() -> Vec<Question> {
    let one = |glob: &str| ("tools/call", call("list_files", &json!({"pattern": glob})));
    listing::GLOBS.map(one).into()
}

impl Scene {
    /// Runs it while `perf` records; `None` if `perf` is not permitted.
    ///
    /// # Errors
    ///
    /// The daemon failed.
    pub fn taken(&self, perf: &Path, ground: &Ground<'_>) -> Result<Option<Taken>> {
        let files = TempDir::with_prefix_in("profile-", ground.scratch)?;
        match self.act {
            Act::Ask(questions) => {
                let daemon = ground.serve()?;
                let mut client = daemon.client()?;
                let questions = questions(&mut client)?;
                looked_at(perf, files.path(), daemon.process(), |deadline| {
                    ask(&mut client, &questions, deadline)
                })
            }
            Act::Conversations => {
                let (home, daemon) = kept::with_conversations(ground)?;
                let mut client = daemon.client()?;
                let questions = vec![("session/list", kept::whole_list())];
                let taken = looked_at(perf, files.path(), daemon.process(), |deadline| {
                    ask(&mut client, &questions, deadline)
                });
                drop((daemon, home));
                taken
            }
            Act::Append => {
                let mut append = kept::appending(files.path())?;
                looked_at(perf, files.path(), std::process::id(), |deadline| {
                    until(deadline, || append().map(|_| ()))
                })
            }
            Act::Change => {
                let daemon = ground.serve()?;
                let mut client = daemon.client()?;
                let note = ground.vault.join("Bench of a profile.md");
                let mut number = 0;
                let taken = looked_at(perf, files.path(), daemon.process(), |deadline| {
                    until(deadline, || {
                        number += 1;
                        change(&mut client, &note, number)
                    })
                });
                fs::remove_file(&note)?;
                taken
            }
            Act::Crowd => {
                let daemon = ground.serve()?;
                looked_at(perf, files.path(), daemon.process(), |deadline| crowd(&daemon, deadline))
            }
            Act::Start { first } => start(perf, files.path(), ground, first),
        }
    }
}

/// Runs it twice, sampled and then traced: tracing makes each call slower.
fn looked_at(
    perf: &Path,
    files: &Path,
    process: u32,
    mut work: impl FnMut(Instant) -> Result<usize>,
) -> Result<Option<Taken>> {
    let (samples, summary) = (files.join("samples"), files.join("summary"));
    let Some(watch) = Watch::begin(taken::record(perf, &samples, process))? else {
        return Ok(None);
    };
    let (processor, waits) = taken::spent(process);
    let begun = Instant::now();
    let times = work(begun + LONG)?;
    let took = begun.elapsed();
    let (processor_then, waits_then) = taken::spent(process);
    watch.end()?;
    let mut seen = Taken { times, took, hot: taken::hot(perf, &samples)?, ..Taken::default() };
    // The counts of threads that have ended are lost.
    seen.processor =
        processor_then.zip(processor).and_then(|(then, before)| then.checked_sub(before));
    seen.switches = waits_then.zip(waits).and_then(|(then, before)| then.checked_sub(before));
    if let Some(watch) = Watch::begin(taken::trace(perf, &summary, process))? {
        seen.traced = work(Instant::now() + LONG / 2)?;
        watch.end()?;
        seen.calls = taken::calls(&summary)?;
    }
    Ok(Some(seen))
}

/// Repeats it until then; returns the number of repetitions.
fn until(deadline: Instant, mut work: impl FnMut() -> Result<()>) -> Result<usize> {
    let mut times = 0;
    while Instant::now() < deadline {
        work()?;
        times += 1;
    }
    Ok(times)
}

fn ask(client: &mut Client, questions: &[Question], deadline: Instant) -> Result<usize> {
    let mut next = questions.iter().cycle();
    until(deadline, || {
        if let Some((method, params)) = next.next() {
            client.ask(method, params)?;
        }
        Ok(())
    })
}

fn change(client: &mut Client, note: &Path, number: usize) -> Result<()> {
    let mark = format!("zvqx{number}xqvz");
    fs::write(note, format!("{}{mark}\n", "A line that stands in the note.\n".repeat(90)))?;
    let asked = json!({"pattern": mark, "max_results": 1});
    let begun = Instant::now();
    loop {
        let found = client.tool("search_files", &asked)?;
        if found["files"].as_array().is_some_and(|files| !files.is_empty()) {
            return Ok(());
        }
        anyhow::ensure!(begun.elapsed() < Duration::from_secs(20), "a change was not found");
    }
}

fn crowd(daemon: &Daemon, deadline: Instant) -> Result<usize> {
    let mut clients = (0..CLIENTS).map(|_| daemon.client()).collect::<Result<Vec<_>>>()?;
    let (times, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for (number, client) in clients.iter_mut().enumerate() {
            let (times, failed) = (&times, &failed);
            scope.spawn(move || {
                let mut questions = searches(&PATTERNS);
                let turns = number % questions.len();
                questions.rotate_left(turns);
                match ask(client, &questions, deadline) {
                    Ok(asked) => drop(times.fetch_add(asked, Ordering::Relaxed)),
                    Err(_) => failed.store(true, Ordering::Relaxed),
                }
            });
        }
    });
    anyhow::ensure!(!failed.into_inner(), "a client of the crowd failed");
    Ok(times.into_inner())
}

/// Starts a daemon under `perf`, and kills it when it is ready, so that its shutdown is not
/// profiled.
fn start(perf: &Path, files: &Path, ground: &Ground<'_>, first: bool) -> Result<Option<Taken>> {
    let (samples, summary) = (files.join("samples"), files.join("summary"));
    let record = |command: &mut Command| {
        command.args(["record", "--freq", OFTEN_AT_START, "--output"]).arg(&samples);
    };
    let trace = |command: &mut Command| {
        command.args(["trace", "--summary", "--output"]).arg(&summary);
    };
    let fresh = Home::new(ground.scratch)?;
    let home = if first { &fresh } else { &ground.home };
    if !first {
        // A clean shutdown creates the saved state.
        drop(ground.serve()?);
    }
    let took = killed(perf, &record, ground, home, first)?;
    let hot = taken::hot(perf, &samples)?;
    if hot.is_empty() {
        return Ok(None);
    }
    let fresh = Home::new(ground.scratch)?;
    let home = if first { &fresh } else { &ground.home };
    if !first {
        drop(ground.serve()?);
    }
    killed(perf, &trace, ground, home, first)?;
    let calls = taken::calls(&summary)?;
    Ok(Some(Taken { times: 1, took, hot, calls, traced: 1, ..Taken::default() }))
}

fn killed(
    perf: &Path,
    below: &dyn Fn(&mut Command),
    ground: &Ground<'_>,
    home: &Home,
    searches: bool,
) -> Result<Duration> {
    let mut command = Command::new(perf);
    below(&mut command);
    command.arg("--").arg(ground.steward);
    let daemon = Daemon::start_as(command, &ground.vault, home)?;
    let took = if searches {
        daemon.client()?.call("search_files", &json!({"pattern": PATTERNS[0].1}))?;
        daemon.begun.elapsed()
    } else {
        daemon.ready
    };
    daemon.kill_below()?;
    Ok(took)
}
