//! Runs `perf` on a process, and parses its output.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Result;

/// The longest that `perf` may take to start.
const PATIENCE: Duration = Duration::from_secs(5);

/// Samples per second; an odd number, so that nothing periodic is always hit or always missed.
pub const OFTEN: &str = "1999";

/// The number of functions and calls shown.
const SHOWN: usize = 15;
const CALLS: usize = 8;

/// The share below which a function is not shown, in percent.
const LEAST: &str = "0.7";

/// The samples.
#[derive(Default)]
pub struct Taken {
    /// The number of repetitions during the samples, their duration, and the processor time in it.
    pub times: usize,
    /// See [`Self::times`].
    pub took: Duration,
    /// See [`Self::times`]; `None` if unknown.
    pub processor: Option<Duration>,
    /// How often the process waited for something in that time.
    pub switches: Option<u64>,
    /// The functions that took most time, in descending order.
    pub hot: Vec<Hot>,
    /// The system calls that took most time.
    pub calls: Vec<Call>,
    /// The number of repetitions while those were counted.
    pub traced: usize,
}

/// A function that takes time.
#[derive(Debug, PartialEq)]
pub struct Hot {
    /// The share of the process's time, in percent.
    pub share: f64,
    /// Its name.
    pub name: String,
    /// Its owner: the program, a library, the kernel.
    pub place: String,
}

/// A system call.
#[derive(Debug, PartialEq)]
pub struct Call {
    /// Its name.
    pub name: String,
    /// The number of calls.
    pub count: u64,
    /// The share of the time in all system calls, waits included, in percent.
    pub share: f64,
}

/// A `perf` that records a process until it is stopped.
pub struct Watch(Child);

impl Watch {
    /// Starts recording; `None` if `perf` is not permitted.
    ///
    /// # Errors
    ///
    /// `perf` cannot be started.
    pub fn begin(mut perf: Command) -> Result<Option<Self>> {
        perf.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut watch = Self(perf.spawn()?);
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE && watch.0.try_wait()?.is_none() {
            if watch.watches() {
                return Ok(Some(watch));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(None)
    }

    /// Whether it has opened its source of samples.
    fn watches(&self) -> bool {
        let open = fs::read_dir(format!("/proc/{}/fd", self.0.id()));
        open.into_iter().flatten().flatten().any(|entry| {
            fs::read_link(entry.path())
                .is_ok_and(|what| what.to_string_lossy().contains("perf_event"))
        })
    }

    /// Stops it as Ctrl-C does, so that it writes its samples.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn end(mut self) -> Result<()> {
        #[cfg(unix)]
        if let Some(process) =
            i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw)
        {
            rustix::process::kill_process(process, rustix::process::Signal::INT)?;
        }
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `perf record` of a running process, into `file`.
pub fn record(perf: &Path, file: &Path, process: u32) -> Command {
    let mut command = Command::new(perf);
    command.args(["record", "--freq", OFTEN, "--output"]).arg(file);
    command.args(["--pid", &process.to_string()]);
    command
}

/// `perf trace` that counts the calls of a running process, into `file`.
pub fn trace(perf: &Path, file: &Path, process: u32) -> Command {
    let mut command = Command::new(perf);
    command.args(["trace", "--summary", "--output"]).arg(file);
    command.args(["--pid", &process.to_string()]);
    command
}

/// The functions with the most recorded time.
///
/// # Errors
/// `perf` cannot be started.
pub fn hot(perf: &Path, file: &Path) -> Result<Vec<Hot>> {
    let mut command = Command::new(perf);
    command.args(["report", "--stdio", "--no-children", "--no-inline", "--call-graph", "none"]);
    command.args(["--fields", "overhead,sym,dso", "--field-separator", "|"]);
    command.args(["--percent-limit", LEAST, "--input"]).arg(file);
    let output = command.stdin(Stdio::null()).output()?;
    Ok(read_hot(&String::from_utf8_lossy(&output.stdout)))
}

fn read_hot(report: &str) -> Vec<Hot> {
    let line = |line: &str| {
        let (share, rest) = line.trim().split_once('|')?;
        // A name may contain the separator.
        let (name, place) = rest.rsplit_once('|')?;
        let share = share.trim().trim_end_matches('%').parse().ok()?;
        let name = name.trim();
        let is_kernel = name.starts_with("[k]");
        let name = name.trim_start_matches("[k]").trim_start_matches("[.]").trim();
        let place = if is_kernel { "the kernel" } else { place.trim() };
        Some(Hot { share, name: name.to_owned(), place: place.to_owned() })
    };
    let told = report.lines().filter(|line| !line.starts_with('#'));
    told.filter_map(line).take(SHOWN).collect()
}

/// The calls with the most traced time.
///
/// # Errors
/// The file cannot be read.
pub fn calls(file: &Path) -> Result<Vec<Call>> {
    Ok(read_calls(&fs::read_to_string(file)?))
}

fn read_calls(summary: &str) -> Vec<Call> {
    // One table per thread: name, calls, errors, total milliseconds, and more.
    let mut all = BTreeMap::<String, (u64, f64)>::new();
    for line in summary.lines() {
        let mut fields = line.split_whitespace();
        let (Some(name), Some(Ok(count)), Some(_), Some(Ok(took))) = (
            fields.next(),
            fields.next().map(str::parse::<u64>),
            fields.next(),
            fields.next().map(str::parse::<f64>),
        ) else {
            continue;
        };
        let one = all.entry(name.to_owned()).or_default();
        (one.0, one.1) = (one.0 + count, one.1 + took);
    }
    let whole: f64 = all.values().map(|(_, took)| took).sum();
    let call = |(name, (count, took)): (String, (u64, f64))| Call {
        name,
        count,
        share: 100.0 * took / whole.max(f64::MIN_POSITIVE),
    };
    let mut calls: Vec<Call> = all.into_iter().map(call).collect();
    calls.sort_by_key(|call| std::cmp::Reverse(call.count));
    calls.truncate(CALLS);
    calls
}

/// A process's figures so far: time on processors, and number of waits.
pub fn spent(process: u32) -> (Option<Duration>, Option<u64>) {
    let tasks = fs::read_dir(format!("/proc/{process}/task"));
    let (mut nanoseconds, mut waits) = (None::<u64>, None::<u64>);
    for task in tasks.into_iter().flatten().flatten() {
        let read = |name: &str| fs::read_to_string(task.path().join(name)).unwrap_or_default();
        if let Some(Ok(spent)) = read("schedstat").split(' ').next().map(str::parse::<u64>) {
            nanoseconds = Some(nanoseconds.unwrap_or(0) + spent);
        }
        let status = read("status");
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        if let Some(Ok(told)) = line.map(|line| line.trim().parse::<u64>()) {
            waits = Some(waits.unwrap_or(0) + told);
        }
    }
    (nanoseconds.map(Duration::from_nanos), waits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_perf_says_is_read() {
        let report = "# Overhead|Symbol |Shared Object\n\
             19.30% |[k] finish_task_switch.isra.0 |[kernel.kallsyms]\n \
             2.00%  |[.] <a::B as c::D>::e |steward \n\n# (Tip)\n";
        let hot = read_hot(report);
        assert_eq!(hot.len(), 2);
        assert_eq!((hot[0].share, &*hot[0].place), (19.3, "the kernel"));
        assert_eq!((&*hot[1].name, &*hot[1].place), ("<a::B as c::D>::e", "steward"));
    }

    #[test]
    fn calls_of_all_threads_are_put_together() {
        let table = |read: u64| {
            format!(
                " steward (7), 58 events, 90.6%\n\n   syscall  calls  errors  total  min\n   \
                 --- --- --- --- ---\n   read  {read}  0  1.500  0.015  0.024\n   \
                 futex  1  1  1.000  0.01  0.02\n"
            )
        };
        let calls = read_calls(&format!("{}{}", table(3), table(5)));
        let read = Call { name: "read".into(), count: 8, share: 60.0 };
        let futex = Call { name: "futex".into(), count: 2, share: 40.0 };
        assert_eq!(calls, [read, futex]);
    }
}
