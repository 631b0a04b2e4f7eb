//! The arguments of the program.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use super::output::Color;
use super::session::WrongSettings;
use super::{
    Failure, Output, call, chat, completions, config, confined, conversations, edit, find, help,
    history, inbox, key, links, maintenance, man, mcp, model_install, names, open, organize, pair,
    plugin, policy, prompts, query, serve, servers, service, setup, status, token, uninstall,
    update, verbs, words, workflow,
};
use crate::config::layers::Flags;
use crate::config::log::Level;
use crate::tools::Registry;

/// Search, read and change the notes of an Obsidian vault, by hand or with a language model
#[derive(Debug, Parser)]
#[command(name = "steward", bin_name = "steward", version, max_term_width = 100)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Folder or name of the vault [default: the one you are in, or have open]
    #[arg(long, global = true, value_name = "VAULT", add = completions::vaults())]
    pub vault: Option<PathBuf>,
    /// The settings file [default: STEWARD_CONFIG, the usual place]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print JSON, errors included
    #[arg(long, global = true)]
    pub json: bool,
    /// Minimum log level, to stderr: off, error, warn, info, debug, trace
    #[arg(long, global = true, value_name = "LEVEL", hide_possible_values = true)]
    pub log_level: Option<Level>,
    /// Log more: -v what happens, -vv details
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "log_level")]
    pub verbose: u8,
    /// When to colour: auto, always, never
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    #[arg(hide_possible_values = true)]
    pub color: Color,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find words in notes
    Search(verbs::SearchArguments),
    /// Find the notes that answer a question, the best first
    Find(find::FindArguments),
    /// Find notes by properties, tags, links and dates
    Query(query::QueryArguments),
    /// Print a note, as it is or as it was
    #[command(visible_alias = "show")]
    Read(verbs::ReadArguments),
    /// List a folder, or what fits a pattern
    List(verbs::ListArguments),
    /// List the tags
    Tags(verbs::TagsArguments),
    /// List open tasks that are due, by `📅 2026-11-21` or `[due:: 2026-11-21]`
    Today,
    /// Print today's daily note, or add to it
    Daily(verbs::DailyArguments),
    /// Make a note
    New(verbs::NewArguments),
    /// Change a note in your editor
    Edit(edit::EditArguments),
    /// Copy a note or file
    Copy(verbs::CopyArguments),
    /// Move or rename a note or folder; links to it follow
    Move(verbs::MoveArguments),
    /// Delete a note or folder; it goes to the trash
    Delete(verbs::DeleteArguments),
    /// Sort, rename and tag many notes by rules: plan, look, apply, undo
    #[command(alias = "organise")]
    #[command(subcommand)]
    Organize(organize::OrganizeAction),
    /// Run the daemon for a vault, until Ctrl-C or SIGTERM
    Serve(serve::ServeArguments),
    /// List the tools (with --json their schemas)
    Tools,
    /// Call any tool, with flags or JSON
    Call(call::CallArguments),
    /// Check, run and resume workflows: steps that call tools
    #[command(subcommand)]
    Workflow(workflow::WorkflowAction),
    /// Chat with a model about your notes, or ask one thing
    Chat(chat::ChatArguments),
    /// Show changes, newest first
    Log(history::LogArguments),
    /// Undo a change (the last one by default)
    Undo(history::UndoArguments),
    /// List, restore from or empty the trash
    #[command(subcommand)]
    Trash(maintenance::TrashAction),
    /// Restore something from the trash
    Restore(history::RestoreArguments),
    /// Check or clean up the record of changes
    #[command(subcommand)]
    Journal(maintenance::JournalAction),
    /// Show or set the approval mode: ask, auto, plan or read-only
    Mode(policy::ModeArguments),
    /// Answer questions; list or revoke "always allow" answers
    #[command(subcommand)]
    Approvals(policy::ApprovalsAction),
    /// List tool calls with their decisions
    Audit(policy::AuditArguments),
    /// List, search, export, rename, fork and delete conversations
    Conversations(conversations::ConversationsArguments),
    /// List your own prompts, and add examples
    Prompts(prompts::PromptsArguments),
    /// Voice messages: list, retry or discard
    Inbox(inbox::InboxArguments),
    /// Show used tokens and their cost
    Usage(conversations::UsageArguments),
    /// List a note's links and backlinks, or check all links
    Links(links::LinksArguments),
    /// Show how files are named, check names, or suggest better ones
    #[command(subcommand)]
    Names(names::NamesAction),
    /// Show whether the daemon is running
    Status(status::StatusArguments),
    /// Print the token that programs connect with
    Token(token::TokenArguments),
    /// Serve an MCP client on stdin and stdout
    Mcp(mcp::McpArguments),
    /// Serve an ACP client, such as an editor, on stdin and stdout
    Acp,
    /// Open the chat in the browser
    Open(open::OpenArguments),
    /// Show the link and QR code that pair the Obsidian plugin
    Pair(pair::PairArguments),
    /// Install, update or remove the Obsidian plugin
    #[command(subcommand)]
    Plugin(plugin::PluginAction),
    /// List known vaults, and the one that is used here
    Vaults,
    /// Check the setup, and say what to fix
    Doctor,
    /// Find a model for the agent, or take a key for one, and try it
    Setup(setup::SetupArguments),
    /// List language models, or install a model that finds notes by their meaning
    Models(model_install::ModelsArguments),
    /// Store or remove a provider's API key
    #[command(subcommand)]
    Key(key::KeyAction),
    /// Use the tools of other MCP servers: add, show, allow
    Servers(servers::ServersArguments),
    /// List, read, change and check the settings
    #[command(subcommand)]
    Config(config::ConfigAction),
    /// Run the daemon at every log-in (systemd, launchd, Task Scheduler)
    #[command(subcommand)]
    Service(service::ServiceAction),
    /// Show how this program is updated; with --check, whether there is a newer version
    Update(update::UpdateArguments),
    /// Remove service, plugin and completions; show what stays where
    Uninstall(uninstall::UninstallArguments),
    /// Print the completion script for a shell
    Completions(completions::CompletionsArguments),
    /// Become another program, with fewer rights
    #[command(hide = true)]
    Confined(confined::ConfinedArguments),
    /// Write man pages
    Man(man::ManArguments),
}

impl Cli {
    /// Reads the arguments, the program's name first.
    ///
    /// # Errors
    /// clap's error, for [`explain`]; `--help` and `--version` are errors too.
    pub fn read(arguments: &[OsString]) -> Result<Self, clap::Error> {
        let mut command = help::arranged(Self::command());
        // The tools of servers are not known here, so any name is assumed to be one.
        let called = arguments.iter().skip_while(|one| *one != "call").skip(1);
        let mut called = called.filter_map(|one| one.to_str());
        if let Some(tool) = called.find(|one| call::is_foreign(one)) {
            command = command.mut_subcommand("call", |call| call.subcommand(call::foreign(tool)));
        }
        let matches = command.try_get_matches_from(join_bool_values(arguments))?;
        Self::from_arg_matches(&matches)
    }

    pub fn flags(&self) -> Flags {
        let verbose = match self.global.verbose {
            0 => None,
            1 => Some(Level::Debug),
            _ => Some(Level::Trace),
        };
        let port = match &self.command {
            Command::Serve(serve) => serve.port,
            Command::Service(service::ServiceAction::Install { port, .. }) => *port,
            _ => None,
        };
        Flags {
            config: self.global.config.clone(),
            vault: self.global.vault.clone(),
            port,
            level: self.global.log_level.or(verbose),
        }
    }
}

impl Command {
    /// How the command runs if the settings file has errors.
    pub fn with_wrong_settings(&self) -> WrongSettings {
        match self {
            Self::Status(_) | Self::Token(_) | Self::Uninstall(_) => WrongSettings::Work,
            Self::Call(_)
            | Self::Search(_)
            | Self::Find(_)
            | Self::Query(_)
            | Self::Read(_)
            | Self::List(_)
            | Self::Tags(_)
            | Self::Today
            | Self::Daily(_)
            | Self::New(_)
            | Self::Edit(_)
            | Self::Copy(_)
            | Self::Move(_)
            | Self::Delete(_)
            | Self::Organize(_)
            | Self::Chat(_)
            | Self::Log(_)
            | Self::Undo(_)
            | Self::Restore(_)
            | Self::Mcp(_)
            | Self::Acp
            | Self::Open(_) => WrongSettings::AskDaemon,
            _ => WrongSettings::Fail,
        }
    }

    pub fn log_level(&self) -> Level {
        match self {
            Self::Serve(_) => Level::Info,
            _ => Level::Warn,
        }
    }
}

/// Joins `true` and `false` after a flag of `call` to that flag, since a switch may have no value:
/// `--create false` becomes `--create=false`. For a flag that takes text both mean the same.
fn join_bool_values(arguments: &[OsString]) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    let mut in_call = false;
    let mut flag = false;
    for argument in arguments {
        let text = argument.to_str().unwrap_or_default();
        match joined.last_mut() {
            Some(before) if in_call && flag && ["true", "false"].contains(&text) => {
                before.push("=");
                before.push(argument);
                flag = false;
            }
            _ => {
                flag = text.starts_with("--") && text.len() > 2 && !text.contains('=');
                flag &= !["--json", "--direct", "--yes", "--verbose"].contains(&text);
                joined.push(argument.clone());
            }
        }
        in_call |= text == "call";
        in_call &= text != "--";
    }
    joined
}

/// Prints clap's output: help as it is, a mistake as one line with a hint.
pub fn explain(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    let asked_for_help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if asked_for_help {
        // A closed pipe (`steward --help | head -1`) is not a failure.
        let _ = error.print();
        let failed = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
        return if failed { ExitCode::from(2) } else { ExitCode::SUCCESS };
    }
    // The arguments could not be parsed, so `--json` is looked for in the raw ones.
    let json = arguments.iter().take_while(|a| *a != "--").any(|a| a == "--json");
    let rendered = error.render().to_string();
    let message = rendered.split("\n\n").next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let (message, hint) = match missing_argument(error) {
        Some((command, what)) => {
            (format!("`{command}` needs {what}"), format!("see `{command} --help`"))
        }
        None => {
            let hint = suggestion(error, arguments).unwrap_or_else(|| {
                let command = command_in_usage(error).unwrap_or_else(|| command_in(arguments));
                format!("see `{command} --help`")
            });
            (message, hint)
        }
    };
    Output::new(json, Color::Auto).report(&Failure::usage(message, hint))
}

fn missing_argument(error: &clap::Error) -> Option<(String, String)> {
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return None;
    }
    let what = match error.get(ContextKind::InvalidArg)? {
        ContextValue::Strings(arguments) => arguments.join(" and "),
        _ => return None,
    };
    Some((command_in_usage(error)?, what))
}

/// The command in which the mistake was made, as clap's usage names it.
fn command_in_usage(error: &clap::Error) -> Option<String> {
    let usage = error.get(ContextKind::Usage)?.to_string();
    let command: Vec<&str> = usage
        .strip_prefix("Usage: ")?
        .split(' ')
        .take_while(|word| word.starts_with(|first: char| first.is_ascii_lowercase()))
        .collect();
    (!command.is_empty()).then(|| command.join(" "))
}

/// The command that the arguments name; clap's error about a value does not name it.
fn command_in(arguments: &[OsString]) -> String {
    let cli = Cli::command();
    let (mut command, mut name) = (&cli, cli.get_name().to_owned());
    for argument in arguments {
        if let Some(inner) = command.find_subcommand(argument) {
            name = format!("{name} {}", inner.get_name());
            command = inner;
        }
    }
    // The tools are subcommands of `call` only where it reads their flags.
    let tool = |one: &OsString| Registry::built_in().get(&one.to_str()?.replace('-', "_"));
    match arguments.iter().find_map(tool).filter(|_| command.get_name() == "call") {
        Some(tool) => format!("{name} {}", tool.name),
        None => name,
    }
}

/// The suggested word: our name for another program's command, a tool or command of that name, or
/// clap's nearest match.
fn suggestion(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    if let Some(command) = intended_command(error, arguments) {
        return Some(format!("did you mean `{command}`?"));
    }
    // A task, or another item of a list.
    let is_item = |one: &OsString| one.to_str().is_some_and(|one| one.starts_with("- "));
    if error.kind() == ErrorKind::UnknownArgument && arguments.iter().any(is_item) {
        return Some("put `--` before a text that begins with `-`".to_owned());
    }
    let wrong = [ContextKind::InvalidArg, ContextKind::InvalidSubcommand];
    if let Some(suggestion) = wrong.into_iter().find_map(|kind| match error.get(kind)? {
        ContextValue::String(word) => words::not_here(word.split([' ', '=']).next()?),
        _ => None,
    }) {
        return Some(suggestion.to_owned());
    }
    let kinds =
        [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    // clap puts the best suggestion last.
    let word = kinds.into_iter().find_map(|kind| match error.get(kind)? {
        ContextValue::String(word) => Some(word.clone()),
        ContextValue::Strings(words) => words.last().cloned(),
        _ => None,
    })?;
    // By similarity alone, `quit` would suggest `audit`, and `copy` would suggest `acp`.
    let first = |word: &str| word.chars().next();
    if let Some(ContextValue::String(suggestion)) = error.get(ContextKind::InvalidSubcommand)
        && first(suggestion) != first(&word)
    {
        return None;
    }
    // A tool can be found by a similar name (`read-file`), but is called by its real one.
    let name = word.replace('-', "_");
    let tool = Registry::built_in().get(&name);
    Some(format!("did you mean `{}`?", tool.map_or(&word, |tool| &tool.name)))
}

/// The command that an unknown word probably means.
fn intended_command(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    let wrong = |kind| match error.get(kind)? {
        ContextValue::String(word) => Some(word.as_str()),
        _ => None,
    };
    let argument = wrong(ContextKind::InvalidArg);
    if let Some(flag) = argument.filter(|one| one.starts_with('-')) {
        let flag = flag.split([' ', '=']).next().unwrap_or_default();
        return words::known_elsewhere(flag).map(str::to_owned);
    }
    let word = argument.or_else(|| wrong(ContextKind::InvalidSubcommand))?;
    let tools = Registry::built_in();
    let name = word.replace('-', "_");
    // What precedes the word: nothing, `call`, or another command.
    match command_in(arguments).split_once(' ') {
        Some(("steward", "call")) => {
            let is_command = names().iter().any(|name| name == word);
            let command = is_command.then(|| format!("steward {word}"));
            command.or_else(|| tools.known_elsewhere_as(&name).map(str::to_owned))
        }
        Some((_, command)) => words::known_below(command, word).map(str::to_owned),
        None => match tools.get(&name) {
            Some(tool) => Some(words::command_of(&tool.name)),
            None => words::known_elsewhere(word)
                .map(str::to_owned)
                .or_else(|| tools.known_elsewhere_as(&name).map(words::command_of)),
        },
    }
}

pub fn command() -> clap::Command {
    Cli::command()
}

/// The names of the commands that the help lists.
pub fn names() -> Vec<String> {
    let command = command();
    let listed = command.get_subcommands().filter(|command| !command.is_hide_set());
    listed.map(|command| command.get_name().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also checks that no tool parameter has the name of a global flag.
    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn global_flags_may_be_anywhere() {
        let read = |line: &str| {
            let arguments: Vec<OsString> = line.split(' ').map(Into::into).collect();
            Cli::read(&arguments).unwrap().global
        };
        assert!(read("steward --json status").json);
        assert!(read("steward status --json").json);
        assert!(read("steward call read_file --json --path x").json);
        assert_eq!(read("steward status --vault v").vault, Some("v".into()));
        assert_eq!(read("steward -vv status").verbose, 2);
    }
}
