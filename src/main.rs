//! `steward`: reads arguments and hands over to `cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    vault_steward::cli::run(std::env::args_os())
}
