//! `steward confined`: becomes another program with fewer rights. The daemon uses it to start
//! third-party programs; it is not for people, so the help does not list it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;

use super::{Failure, Result};
use crate::daemon::confine::{self, Rights};

#[derive(Debug, Args)]
pub struct ConfinedArguments {
    /// A folder that the command can neither read nor search; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub hide: Vec<PathBuf>,
    /// A file or folder that it can read, even within a hidden one; may be repeated
    #[arg(long, value_name = "PATH")]
    pub read: Vec<PathBuf>,
    /// A file or folder that it can read and write; may be repeated
    #[arg(long, value_name = "PATH")]
    pub write: Vec<PathBuf>,
    /// A TCP port that it may connect to; may be repeated
    #[arg(long, value_name = "PORT", conflicts_with = "network")]
    pub connect: Vec<u16>,
    /// Let it connect to every TCP port
    #[arg(long)]
    pub network: bool,
    /// The most files that it may have open
    #[arg(long, value_name = "NUMBER")]
    pub max_files: Option<u64>,
    /// The most processes and threads that this user may have beyond those of now
    #[arg(long, value_name = "NUMBER")]
    pub max_processes: Option<u64>,
    /// Start the command even where the system cannot confine it
    #[arg(long)]
    pub best_effort: bool,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Gives up rights and becomes the command.
pub fn run(arguments: &ConfinedArguments) -> Result<()> {
    let rights = Rights {
        hidden: arguments.hide.clone(),
        readable: arguments.read.clone(),
        writable: arguments.write.clone(),
        connect: (!arguments.network).then(|| arguments.connect.clone()),
    };
    limit(arguments);
    match confine::drop_privileges(&rights) {
        Err(reason) if !arguments.best_effort => {
            let hint = "`--best-effort` starts it without confinement";
            return Err(Failure::other("not_confined", reason, hint));
        }
        _ => {}
    }
    let (program, rest) = arguments.command.split_first().ok_or_else(|| {
        Failure::usage("there is no command", "give it after `--`: `steward confined -- COMMAND`")
    })?;
    let mut command = Command::new(program);
    command.args(rest);
    let error = become_it(&mut command);
    let message = format!("`{}` could not be started: {error}", program.to_string_lossy());
    Err(Failure::other("not_started", message, "is it installed, and executable?"))
}

#[cfg(unix)]
fn become_it(command: &mut Command) -> std::io::Error {
    use std::os::unix::process::CommandExt as _;
    command.exec()
}

#[cfg(not(unix))]
fn become_it(_: &mut Command) -> std::io::Error {
    std::io::Error::other("a program cannot be confined on this system")
}

#[cfg(unix)]
fn limit(arguments: &ConfinedArguments) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    // A limit can be lowered by anybody and raised by few.
    let lower = |resource, most: u64| {
        let most = getrlimit(resource).maximum.map_or(most, |now| now.min(most));
        let _ = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    };
    lower(Resource::Core, 0);
    if let Some(files) = arguments.max_files {
        lower(Resource::Nofile, files);
    }
    if let Some(more) = arguments.max_processes {
        // The system counts all processes and threads of the user.
        lower(Resource::Nproc, tasks().saturating_add(more));
    }
}

#[cfg(not(unix))]
fn limit(_: &ConfinedArguments) {}

/// The number of processes and threads of this machine; at least that of this user's.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "the kernel's list of processes")]
fn tasks() -> u64 {
    let entries = |path: PathBuf| std::fs::read_dir(path).into_iter().flatten().flatten();
    let is_process = |name: &OsString| {
        name.to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let processes = entries(PathBuf::from("/proc")).filter(|entry| is_process(&entry.file_name()));
    processes.map(|process| entries(process.path().join("task")).count().max(1) as u64).sum()
}
