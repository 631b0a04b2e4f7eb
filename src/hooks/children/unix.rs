//! Kills a command with all processes that it started: by its process group, and on Linux those
//! that left the group by an inherited environment variable.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

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
mod marked {
    #![expect(clippy::disallowed_methods, reason = "the kernel's list of processes")]

    use rustix::process::{Pid, PidfdFlags, Signal};

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
            let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
            if environment.split(|byte| *byte == 0).any(|variable| variable == mark) {
                any |= rustix::process::pidfd_send_signal(&held, Signal::KILL).is_ok();
            }
        }
        any
    }
}
