//! `steward completions SHELL`: the script that completes commands, tools and their flags.

use std::process::ExitCode;

use clap::CommandFactory;

use super::arguments::{Cli, CompletionsArguments};
use super::failure::Failure;
use super::output::Output;

/// Prints the script for a shell.
///
/// # Errors
/// stdout cannot be written.
pub fn run(arguments: &CompletionsArguments, output: &Output) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "steward", &mut script);
    output.raw(&script)?;
    Ok(ExitCode::SUCCESS)
}
