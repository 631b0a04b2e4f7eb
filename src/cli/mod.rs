//! The command line: one file per subcommand.
//!
//! Floor 8. It turns arguments into calls of the rooms below and prints their answers as text or
//! JSON; it makes no decisions about notes.
//!
//! Invariants: answers go to stdout, everything else to stderr; an error is one line with a hint,
//! never a backtrace; `--json` prints one JSON value, errors included (`chat` and `audit --follow`: one a line); a closed pipe ends
//! the program quietly.
//!
//! Reading order: [`output`], [`failure`] (exit codes), [`session`] (settings and vault of one run), the
//! commands, each with its arguments, and [`arguments`] (the whole command line).

mod acp;
mod arguments;
mod as_of;
mod call;
mod chat;
mod client;
mod completions;
mod config;
mod confined;
mod consent;
mod conversations;
mod doctor;
mod edit;
mod export;
mod failure;
mod find;
mod flags;
mod help;
mod history;
mod http_post;
mod inbox;
mod key;
mod links;
mod logging;
mod maintenance;
mod man;
mod mcp;
mod model_install;
mod models;
mod names;
mod open;
mod organize;
mod output;
mod pager;
mod paint;
mod pair;
mod plugin;
mod policy;
mod progress;
mod prompts;
mod query;
mod relay;
mod serve;
mod server_questions;
mod servers;
mod service;
mod session;
mod settings;
mod setup;
mod status;
mod today;
mod token;
mod tools;
mod uninstall;
mod update;
mod vaults;
mod verbs;
mod whole_note;
#[cfg(windows)]
mod windows_handles;
mod words;
mod workflow;
mod workflow_files;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::CommandFactory as _;

use arguments::{Cli, Command};
use failure::{Failure, Result};
use output::Output;
use session::{CallOptions, Session};

/// Runs the command line `arguments` (the program's name first); `docs/cli.md` and `--help` list the
/// exit codes.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    logging::set_panic_hook();
    #[cfg(windows)]
    windows_handles::make_uninheritable();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if completions::complete_line(&arguments, Cli::command) {
        return ExitCode::SUCCESS;
    }
    let cli = match Cli::read(&arguments) {
        Ok(cli) => cli,
        Err(error) => return arguments::explain(&error, &arguments),
    };
    let output = Output::new(cli.global.json, cli.global.color);
    // A program that calls tools reads of tools.
    let speaks_of_tools = output.json() && matches!(cli.command, Command::Call(_));
    match dispatch(&cli, output) {
        Ok(code) => code,
        Err(failure) if speaks_of_tools => output.report(&failure),
        Err(failure) => output.report(&failure.in_commands()),
    }
}

fn dispatch(cli: &Cli, output: Output) -> Result<ExitCode> {
    let (usual, wrong) = (cli.command.log_level(), cli.command.with_wrong_settings());
    let session = || Session::start(cli.flags(), usual, wrong, output);
    match &cli.command {
        Command::Serve(arguments) => serve::run(&session()?, arguments)?,
        Command::Search(arguments) => verbs::search(&session()?, arguments)?,
        Command::Find(arguments) => find::run(&session()?, arguments)?,
        Command::Query(arguments) => query::run(&session()?, arguments)?,
        Command::Read(arguments) => verbs::read(&session()?, arguments)?,
        Command::List(arguments) => verbs::list(&session()?, arguments)?,
        Command::Tags(arguments) => verbs::tags(&session()?, arguments)?,
        Command::Today => today::run(&session()?)?,
        Command::Daily(arguments) => verbs::daily(&session()?, arguments)?,
        Command::New(arguments) => verbs::new(&session()?, arguments)?,
        Command::Edit(arguments) => edit::run(&session()?, arguments)?,
        Command::Copy(arguments) => verbs::copy(&session()?, arguments)?,
        Command::Organize(action) => return organize::run(&session()?, action),
        Command::Move(arguments) => verbs::move_to(&session()?, arguments)?,
        Command::Delete(arguments) => verbs::delete(&session()?, arguments)?,
        Command::Tools => tools::run(&output)?,
        Command::Workflow(action) => return workflow::run(&session, action, &output),
        Command::Call(arguments) => return call::run(&session()?, arguments),
        Command::Chat(arguments) => return chat::run(&session()?, arguments),
        Command::Log(arguments) => history::log(&session()?, arguments)?,
        Command::Undo(arguments) => history::undo(&session()?, arguments)?,
        Command::Restore(arguments) => history::restore(&session()?, arguments)?,
        Command::Trash(action) => maintenance::trash(&session()?, action)?,
        Command::Journal(action) => return maintenance::journal(&session()?, action),
        Command::Mode(arguments) => policy::mode(&session()?, arguments)?,
        Command::Approvals(action) => policy::approvals(&session()?, action)?,
        Command::Audit(arguments) => policy::audit(&session()?, arguments)?,
        Command::Conversations(arguments) => conversations::run(&session()?, arguments)?,
        Command::Inbox(arguments) => inbox::run(&session()?, arguments)?,
        Command::Usage(arguments) => conversations::usage(&session()?, arguments)?,
        Command::Prompts(arguments) => prompts::run(&session()?, arguments)?,
        Command::Names(action) => return names::run(&session()?, action),
        Command::Links(arguments) => return links::run(&session()?, arguments),
        Command::Status(arguments) => status::run(&session()?, arguments)?,
        Command::Token(arguments) => token::run(&session()?, arguments)?,
        Command::Acp => return acp::run(&session()?),
        Command::Mcp(arguments) => match mcp::run_for_guest() {
            Some(served) => served?,
            None => mcp::run(&session()?, arguments)?,
        },
        Command::Open(arguments) => open::run(&session()?, arguments)?,
        Command::Pair(arguments) => pair::run(&session()?, arguments)?,
        Command::Plugin(action) => plugin::run(&session()?, *action)?,
        Command::Vaults => vaults::run(&session()?)?,
        Command::Doctor => return doctor::run(&cli.flags(), &output),
        Command::Models(arguments) => model_install::run(&session()?, arguments)?,
        Command::Setup(arguments) => setup::run(&session()?, arguments)?,
        Command::Key(action) => key::run(&session()?, action)?,
        Command::Servers(arguments) => return servers::run(&session()?, arguments),
        Command::Config(action) => config::run(cli.flags(), action, &output)?,
        Command::Service(action) => service::run(&session()?, action)?,
        Command::Update(arguments) => update::run(&session()?, arguments)?,
        Command::Uninstall(arguments) => uninstall::run(&session()?, arguments)?,
        Command::Completions(arguments) => completions::run(arguments, &output)?,
        Command::Confined(arguments) => confined::run(arguments)?,
        Command::Man(arguments) => man::run(arguments, Cli::command(), &output)?,
    }
    Ok(ExitCode::SUCCESS)
}
