//! One system call fails, or is the last one: every call that changes a disk, in every case, and
//! every call that reads a disk in the operation itself.
//!
//! strace makes the call fail. It counts per thread, and a child changes the disk only in its first
//! thread; a first run without a fault shows which calls those are.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Mutex;

use crate::cases::{Both, CASES, Case, Must};
use crate::child;
use crate::place::{self, Place};
use crate::report::{self, Line, Tally};
use crate::tree;

/// One kind of calls, and how they fail.
struct Sweep {
    what: &'static str,
    /// The least number of points.
    points: u64,
    /// Beyond this number, points are omitted evenly.
    most: u64,
    calls: &'static [&'static str],
    /// Which of them count, by name and arguments as strace prints them.
    counts: fn(&str, &str) -> bool,
    faults: &'static [(&'static str, &'static str)],
    /// The required state of a vault after a change that was made despite the fault.
    made: Must,
}

const CHANGES: Sweep = Sweep {
    what: "system calls that fail, or are the last",
    points: 1_500,
    most: 2_500,
    calls: CHANGING,
    counts: |name, arguments| match name {
        "openat" | "openat2" => arguments.contains("O_CREAT"),
        // Output for the test.
        "write" => !arguments.starts_with("1<") && !arguments.starts_with("2<"),
        _ => true,
    },
    faults: FAULTS,
    made: Must::After,
};

/// A failed read says nothing about the disk: a program that takes it for "nothing there" or
/// "unchanged" reports a change that was not made.
const LOOKS: Sweep = Sweep {
    what: "looks at a disk that fail",
    points: 600,
    most: 2_500,
    calls: LOOKING,
    counts: |_, arguments| !arguments.contains("O_CREAT"),
    faults: &[("I/O error", "error=EIO")],
    made: Must::NotBefore,
};

/// The calls that change a disk. Calls that fail like another one are omitted.
const CHANGING: &[&str] = &[
    "write",
    "pwrite64",
    "writev",
    "pwritev",
    "fsync",
    "fdatasync",
    "sync_file_range",
    "syncfs",
    "rename",
    "renameat",
    "renameat2",
    "openat",
    "openat2",
    "unlink",
    "unlinkat",
    "mkdir",
    "mkdirat",
    "rmdir",
    "ftruncate",
    "fallocate",
    "copy_file_range",
    "sendfile",
    "link",
    "linkat",
    "symlinkat",
    "fchmod",
    "fchown",
    "fsetxattr",
];

/// The calls that read a disk.
const LOOKING: &[&str] = &["statx", "fstat", "newfstatat", "openat", "openat2", "getdents64"];

/// The faults injected at a call.
const FAULTS: &[(&str, &str)] = &[
    ("disk full", "error=ENOSPC"),
    ("quota used up", "error=EDQUOT"),
    ("I/O error", "error=EIO"),
    ("interrupted", "error=EINTR"),
    ("kill", "signal=KILL"),
];

/// One call of a case: the `ordinal`-th of its name in the first thread.
#[derive(Debug, Clone)]
struct Point {
    case: usize,
    call: String,
    ordinal: usize,
}

pub fn run() -> Vec<Line> {
    vec![one_sweep(&CHANGES)]
}

pub fn looks() -> Vec<Line> {
    vec![one_sweep(&LOOKS)]
}

fn one_sweep(sweep: &Sweep) -> Line {
    let tally = Tally::new(sweep.what, sweep.points);
    if let Err(why) = Command::new("strace").arg("-V").output() {
        return tally.not_run(format!("strace: {why}"));
    }
    let mut states = Vec::new();
    let mut points = Vec::new();
    for (number, case) in CASES.iter().enumerate() {
        match undisturbed(sweep, number, case) {
            Ok((both, calls)) => {
                states.push(both);
                points.extend(calls);
            }
            Err(fault) => {
                tally.bad(format!("{}: {fault}", case.name));
                return tally.line("");
            }
        }
    }
    let all: Vec<(&Point, &(&str, &str))> = points
        .iter()
        .flat_map(|point| sweep.faults.iter().map(move |fault| (point, fault)))
        .collect();
    let found = all.len();
    let all = report::evenly(all, sweep.most * tally.wanted() / sweep.points);
    let ended = Mutex::new(BTreeMap::<&str, u64>::new());
    report::each(all.len() as u64, &tally, |number| {
        let (point, (what, injected)) = all[number as usize];
        let case = &CASES[point.case];
        match one(point, injected, &states[point.case], sweep.made) {
            Ok(end) => {
                *ended.lock().expect("no panic").entry(end).or_default() += 1;
                tally.count(1);
            }
            Err(fault) => tally.bad(format!(
                "{}, {what} at {} number {}: {fault}",
                case.name, point.call, point.ordinal
            )),
        }
    });
    let ended = ended.into_inner().expect("no panic");
    let ended: Vec<_> = ended.iter().map(|(end, times)| format!("{times} {end}")).collect();
    tally.line(format!("{} cases; of {found}; {}", CASES.len(), ended.join(", ")))
}

/// A run without a fault: the resulting vault, and the calls made.
fn undisturbed(sweep: &Sweep, number: usize, case: &Case) -> Result<(Both, Vec<Point>), String> {
    let folder = place::folder_in_memory();
    let place = case.prepare(folder.path());
    let before = tree::read(&place.vault);
    let log = folder.path().join("log");
    let output = under_strace(&place, number, &log, &[format!("trace={}", sweep.calls.join(","))]);
    if !output.status.success() {
        return Err(output_text(&output));
    }
    let after = tree::read(&place.vault);
    let log = std::fs::read_to_string(log).expect("strace wrote it");
    let first = log.split_whitespace().next().unwrap_or_default().to_owned();
    let ours = format!("{}", folder.path().display());
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    let mut points = Vec::new();
    for line in log.lines() {
        let Some((process, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        let Some((name, arguments)) = call.split_once('(') else { continue };
        if process != first || !sweep.calls.contains(&name) {
            continue;
        }
        let ordinal = counted.entry(name.to_owned()).or_default();
        *ordinal += 1;
        if arguments.contains(child::BEGINS) {
            // Opening is the same in every case, and tested by the cases that begin with it.
            points.clear();
            continue;
        }
        // The libraries it loads are not under test.
        if arguments.contains(&ours) && (sweep.counts)(name, arguments) {
            points.push(Point { case: number, call: name.to_owned(), ordinal: *ordinal });
        }
    }
    let both = Both::new(case, before, after);
    both.settle(&place, Must::After)?;
    Ok((both, points))
}

/// Injects one fault; returns how the run ended.
fn one(point: &Point, injected: &str, both: &Both, made: Must) -> Result<&'static str, String> {
    let folder = place::folder_in_memory();
    let place = CASES[point.case].prepare(folder.path());
    let log = folder.path().join("log");
    let (call, ordinal) = (&point.call, point.ordinal);
    let expressions = [format!("trace={call}"), format!("inject={call}:{injected}:when={ordinal}")];
    let output = under_strace(&place, point.case, &log, &expressions);
    let (must, end) = match (output.status.code(), output.status.signal()) {
        (Some(0), _) => (made, "made all the same"),
        (Some(code), _) if code == i32::from(child::REFUSED) => (Must::Before, "refused"),
        (None, Some(9)) => (Must::Either, "killed"),
        _ => return Err(output_text(&output)),
    };
    let log = std::fs::read_to_string(log).expect("strace wrote it");
    if !log.contains("(INJECTED)") && end != "killed" {
        return Err("the call was not made this time".to_owned());
    }
    let found = both.settle(&place, must);
    found.map(|_| end).map_err(|fault| format!("{end}: {fault}; {}", output_text(&output)))
}

fn under_strace(place: &Place, case: usize, log: &Path, expressions: &[String]) -> Output {
    let act = child::start("act", place);
    let mut strace = Command::new("strace");
    // With the path of each handle.
    strace.args(["-f", "-qq", "-y", "-o"]).arg(log);
    for expression in expressions {
        strace.args(["-e", expression]);
    }
    strace.arg("--").arg(act.get_program()).args(act.get_args()).args([&case.to_string(), "0"]);
    strace.env_clear().env("RUST_BACKTRACE", "0").env("HOME", place.home());
    strace.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    strace.output().expect("strace was found before")
}

fn output_text(output: &Output) -> String {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    let text = String::from_utf8_lossy(&text);
    let mut short: String = text.trim().chars().take(400).collect();
    if short.is_empty() {
        short = format!("it ended with {}", output.status);
    }
    short
}
