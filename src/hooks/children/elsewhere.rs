//! Kills a command with all processes that it started, by `taskkill` (Windows).

use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How often a command's memory is measured: never.
pub const MEMORY_CHECK: Option<Duration> = None;

/// Nothing to do here.
pub fn prepare(_: &mut Command) {}

/// Not supported: `has_ended` is polled instead.
pub fn wait(_: u32) -> bool {
    false
}

pub fn has_ended(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

/// The memory of a command and everything that it started: not measured here.
#[derive(Debug)]
pub struct Memory;

impl Memory {
    /// Measures the command with this process id.
    pub fn of(_: u32, _: String) -> Self {
        Self
    }

    /// Always 0.
    pub fn bytes(&mut self, _: u64) -> u64 {
        0
    }
}

/// Ends it with its children; with a `mark` it is still running.
pub fn end(child: &Child, mark: Option<&str>) {
    // After a normal exit its process id, by which its children are found, is gone.
    if mark.is_none() {
        return;
    }
    let program = std::env::var_os("SystemRoot").map(std::path::PathBuf::from);
    let Some(program) = program.map(|root| root.join(r"System32\taskkill.exe")) else { return };
    let mut command = Command::new(program);
    command.args(["/T", "/F", "/PID", &child.id().to_string()]);
    let _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}
