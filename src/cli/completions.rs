//! `steward completions SHELL`: the script that completes commands, tools and their flags.

use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

use super::failure::Failure;
use super::output::Output;

/// Of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell
    pub shell: Shell,
}

/// Prints the script that completes `command` for a shell.
///
/// # Errors
/// stdout cannot be written.
pub fn run(
    arguments: &CompletionsArguments,
    mut command: Command,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "steward", &mut script);
    output.raw(&script)?;
    Ok(ExitCode::SUCCESS)
}
