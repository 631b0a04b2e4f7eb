//! Kills a command with all processes that it started: by its process group, and on Linux those
//! that left the group by an inherited environment variable.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

/// How often a command's memory is measured.
pub const MEMORY_CHECK: Option<Duration> =
    Some(Duration::from_millis(if cfg!(target_os = "linux") { 250 } else { 2_000 }));

/// Starts it in a new process group.
pub fn prepare(command: &mut Command) {
    command.process_group(0);
}

/// Waits until it has exited, without reaping it: its process id stays reserved until its group is
/// killed.
pub fn wait(id: u32) -> bool {
    let Some(pid) = pid(id) else { return false };
    let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    loop {
        match rustix::process::waitid(WaitId::Pid(pid), how) {
            Err(rustix::io::Errno::INTR) => {}
            ended => return ended.is_ok(),
        }
    }
}

/// Not needed: [`wait`] reports the exit.
pub fn has_ended(_: &mut Child) -> bool {
    false
}

/// Kills its group, before it is reaped, and every process with `mark` (`NAME=value`) in its
/// environment.
pub fn end(child: &Child, mark: Option<&str>) {
    if let Some(pid) = pid(child.id()) {
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    }
    #[cfg(target_os = "linux")]
    if let Some(mark) = mark {
        marked::end(mark);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = mark;
}

fn pid(id: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(id).ok()?)
}

#[cfg(target_os = "linux")]
pub use marked::Memory;

/// The memory of a command and everything that it started: the processes of its group.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub struct Memory(u32);

#[cfg(not(target_os = "linux"))]
impl Memory {
    /// Measures the command with this process id.
    pub fn of(id: u32, _: String) -> Self {
        Self(id)
    }

    /// The resident memory of the process group.
    pub fn bytes(&mut self, _: u64) -> u64 {
        let listed = Command::new("/bin/ps").args(["-axo", "pgid=,rss="]).output();
        let listed = listed.map(|listed| listed.stdout).unwrap_or_default();
        let listed = String::from_utf8_lossy(&listed);
        let kilobytes = listed.lines().filter_map(|line| {
            let (group, resident) = line.trim().split_once(' ')?;
            (group.parse() == Ok(self.0)).then(|| resident.trim().parse::<u64>().ok())?
        });
        kilobytes.sum::<u64>() << 10
    }
}

#[cfg(target_os = "linux")]
mod marked {
    #![expect(clippy::disallowed_methods, reason = "the kernel's list of processes")]

    use std::collections::HashSet;
    use std::path::{Path, PathBuf};

    use rustix::process::{Pid, PidfdFlags, Signal};

    /// The memory of a command and everything that it started: the processes of its group, and
    /// those with its mark.
    #[derive(Debug)]
    pub struct Memory {
        group: u32,
        mark: String,
        /// The processes that belong to others, as of the last measurement.
        others: HashSet<u32>,
    }

    impl Memory {
        /// Measures the command with this process id and mark.
        pub fn of(id: u32, mark: String) -> Self {
            Self { group: id, mark, others: HashSet::new() }
        }

        /// The bytes, swapped or not. The exact number takes longer, so it is read only if the
        /// estimate exceeds `most`.
        pub fn bytes(&mut self, most: u64) -> u64 {
            let (mut others, mut own) = (HashSet::new(), Vec::new());
            for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
                let name = process.file_name();
                let Some(id) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
                let is_own = || {
                    group(&process.path()) == Some(self.group)
                        || is_marked(&process.path(), self.mark.as_bytes())
                };
                if !self.others.contains(&id) && is_own() {
                    own.push(process.path())
                } else {
                    others.insert(id);
                }
            }
            self.others = others;
            let rough: u64 = own.iter().map(|path| sum(&path.join("status"), &ROUGH)).sum();
            if rough <= most {
                return rough;
            }
            // Memory shared by forked processes is counted once.
            let exact = |path: &PathBuf| match sum(&path.join("smaps_rollup"), &EXACT) {
                // A process can refuse this (`PR_SET_DUMPABLE`).
                0 => sum(&path.join("status"), &ROUGH),
                exact => exact,
            };
            own.iter().map(exact).sum()
        }
    }

    /// The lines of `status` that add up to a process's memory, and those of `smaps_rollup`.
    const ROUGH: [&str; 3] = ["RssAnon:", "RssShmem:", "VmSwap:"];
    const EXACT: [&str; 3] = ["Pss_Anon:", "Pss_Shmem:", "SwapPss:"];

    /// Adds up lines such as `RssAnon:  12 kB`; in bytes.
    fn sum(file: &Path, names: &[&str]) -> u64 {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let kilobytes = text.lines().filter_map(|line| {
            let mut words = line.split_whitespace();
            words.next().filter(|name| names.contains(name))?;
            words.next()?.parse::<u64>().ok()
        });
        kilobytes.sum::<u64>() << 10
    }

    /// The group of a process; 0 for kernel threads.
    fn group(process: &Path) -> Option<u32> {
        let text = std::fs::read_to_string(process.join("stat")).ok()?;
        // Its name, which comes first, can contain anything.
        text.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()
    }

    fn is_marked(process: &Path, mark: &[u8]) -> bool {
        let environment = std::fs::read(process.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark)
    }

    /// Repetitions, since a process may start another one before it is killed.
    const ROUNDS: usize = 20;

    pub(super) fn end(mark: &str) {
        for _ in 0..ROUNDS {
            if !end_all(mark.as_bytes()) {
                return;
            }
        }
    }

    /// Kills all processes with the mark; returns whether there were any.
    fn end_all(mark: &[u8]) -> bool {
        let Ok(processes) = std::fs::read_dir("/proc") else { return false };
        let mut any = false;
        for process in processes.flatten() {
            let name = process.file_name();
            let Some(pid) =
                name.to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw)
            else {
                continue;
            };
            // Opened before its environment is read, so that the same process is killed.
            let Ok(held) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else { continue };
            if is_marked(&process.path(), mark) {
                any |= rustix::process::pidfd_send_signal(&held, Signal::KILL).is_ok();
            }
        }
        any
    }
}
