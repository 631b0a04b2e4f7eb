//! Ends a command with all that it started, by the system's own program for that (Windows).

use std::process::{Child, Command, Stdio};

pub(in super::super) fn prepare(_: &mut Command) {}

/// Nobody waits here: `has_ended` is asked now and then.
pub(in super::super) fn wait(_: u32) -> bool {
    false
}

pub(in super::super) fn has_ended(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

pub(in super::super) fn end(child: &Child, mark: Option<&str>) {
    // One that has ended by itself has no number any more by which its own could be found.
    if mark.is_none() {
        return;
    }
    let program = std::env::var_os("SystemRoot").map(std::path::PathBuf::from);
    let Some(program) = program.map(|root| root.join(r"System32\taskkill.exe")) else { return };
    let mut command = Command::new(program);
    command.args(["/T", "/F", "/PID", &child.id().to_string()]);
    let _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}
