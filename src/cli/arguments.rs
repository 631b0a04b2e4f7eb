//! What can be typed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use super::call::CallArguments;
use super::chat::ChatArguments;
use super::completions::CompletionsArguments;
use super::config::ConfigArguments;
use super::conversations::{ConversationsArguments, UsageArguments};
use super::failure::Failure;
use super::history::{LogArguments, RestoreArguments, UndoArguments};
use super::inbox::InboxArguments;
use super::keeping::{JournalArguments, TrashArguments};
use super::key::KeyArguments;
use super::links::LinksArguments;
use super::open::OpenArguments;
use super::output::{Color, Output};
use super::pair::PairArguments;
use super::plugin::PluginArguments;
use super::policy::{ApprovalsArguments, AuditArguments, ModeArguments};
use super::serve::ServeArguments;
use super::service::{ServiceAction, ServiceArguments};
use super::session::WrongSettings;
use super::token::TokenArguments;
use crate::config::layers::Flags;
use crate::config::log::Level;

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 the tool or the command failed, 2 wrong arguments or settings, 3 another \
daemon serves the vault, 4 no vault was found.";

/// A companion daemon for Obsidian vaults: file tools for language models, over a local protocol
#[derive(Debug, Parser)]
#[command(name = "steward", bin_name = "steward", version, after_help = EXIT_CODES, max_term_width = 100)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct Cli {
    /// What holds for every command.
    #[command(flatten)]
    pub global: Global,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// What holds for every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Everywhere")]
pub struct Global {
    /// The vault's folder [else STEWARD_VAULT, the settings, the nearest folder upward with
    /// .obsidian, the one vault open in Obsidian]
    #[arg(long, global = true, value_name = "PATH")]
    pub vault: Option<PathBuf>,
    /// The settings file [else STEWARD_CONFIG, the usual place]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print JSON, errors included
    #[arg(long, global = true)]
    pub json: bool,
    /// The least serious log messages to write, to stderr: off, error, warn, info, debug, trace
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
    /// Serve a vault in the foreground until Ctrl-C or SIGTERM
    Serve(ServeArguments),
    /// List the tools (with --json: their schemas)
    Tools,
    /// Call a tool, through the running daemon or directly
    Call(CallArguments),
    /// Talk to the agent: a chat on the terminal, or one message and its answer
    Chat(ChatArguments),
    /// Show what the steward changed, newest first
    Log(LogArguments),
    /// Take a change set back, or one change of it; without a number the last one
    Undo(UndoArguments),
    /// The trash: list it, restore from it, empty it
    Trash(TrashArguments),
    /// Bring something back from the trash
    Restore(RestoreArguments),
    /// The record of changes: check it, clear what is too old out of it
    Journal(JournalArguments),
    /// How far callers are trusted with changes: ask, auto or read-only
    Mode(ModeArguments),
    /// What you agreed to for good: list it, take it back
    Approvals(ApprovalsArguments),
    /// Every call of a tool and what was decided on it
    Audit(AuditArguments),
    /// What was said: list, show, search, export, end and delete conversations
    Conversations(ConversationsArguments),
    /// What was spoken: list messages that wait or were set aside, have them tried again
    Inbox(InboxArguments),
    /// What models were used for, and what that cost
    Usage(UsageArguments),
    /// The vault's links: find broken and ambiguous ones
    Links(LinksArguments),
    /// Say whether a daemon serves the vault, and how it is
    Status,
    /// Print the token that clients need
    Token(TokenArguments),
    /// Open the chat in the browser
    Open(OpenArguments),
    /// Show the link and the QR code that pair the Obsidian plugin with this vault's daemon
    Pair(PairArguments),
    /// The Obsidian plugin: put it into the vault, update it, take it out again
    Plugin(PluginArguments),
    /// List the vaults Obsidian knows, and which one would be taken
    Vaults,
    /// Check everything the daemon depends on, and say what to do
    Doctor,
    /// Say which language models are asked, and what their vendors offer
    Models,
    /// A vendor's key: store it, remove it, say where it comes from
    Key(KeyArguments),
    /// The settings: write the file, find it, check it; list, read and change what is in it
    Config(ConfigArguments),
    /// The daemon as a service of the system: systemd on Linux, launchd on macOS
    Service(ServiceArguments),
    /// Print a completion script for a shell
    Completions(CompletionsArguments),
}

impl Cli {
    /// Reads the arguments, the program's name first.
    ///
    /// # Errors
    /// clap's own, for [`explain`]; `--help` and `--version` come this way too.
    pub fn read(arguments: &[OsString]) -> Result<Self, clap::Error> {
        let matches = Self::command().try_get_matches_from(arguments)?;
        Self::from_arg_matches(&matches)
    }

    /// As the layer of settings that flags are.
    pub fn flags(&self) -> Flags {
        let verbose = match self.global.verbose {
            0 => None,
            1 => Some(Level::Debug),
            _ => Some(Level::Trace),
        };
        let port = match &self.command {
            Command::Serve(serve) => serve.port,
            Command::Service(ServiceArguments { action: ServiceAction::Install { port, .. } }) => {
                *port
            }
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
    /// What it can do while the settings file is wrong.
    pub fn with_wrong_settings(&self) -> WrongSettings {
        match self {
            Self::Status | Self::Token(_) => WrongSettings::Work,
            Self::Call(_)
            | Self::Chat(_)
            | Self::Log(_)
            | Self::Undo(_)
            | Self::Restore(_)
            | Self::Open(_) => WrongSettings::AskDaemon,
            _ => WrongSettings::Fail,
        }
    }

    /// The least serious log messages that it writes, unless told otherwise.
    pub fn log_level(&self) -> Level {
        match self {
            Self::Serve(_) => Level::Info,
            _ => Level::Warn,
        }
    }
}

/// Prints what clap has to say: help as it is, a mistake as one line with a hint.
pub fn explain(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    let asked_for_help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if asked_for_help {
        // A closed pipe (`steward --help | head -1`) is no failure.
        let _ = error.print();
        let failed = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
        return if failed { ExitCode::from(2) } else { ExitCode::SUCCESS };
    }
    // The arguments could not be read, so whether JSON was asked for is seen in the raw ones.
    let json = arguments.iter().take_while(|a| *a != "--").any(|a| a == "--json");
    let rendered = error.render().to_string();
    let message = rendered.split("\n\n").next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let hint = suggestion(error).unwrap_or_else(|| "`--help` says what can be given".to_owned());
    Failure::usage(message, hint).report(&Output::new(json, Color::Auto))
}

/// The nearest right word, where clap knows one.
fn suggestion(error: &clap::Error) -> Option<String> {
    let kinds =
        [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    // Of several, clap puts the nearest last.
    let word = kinds.into_iter().find_map(|kind| match error.get(kind)? {
        ContextValue::String(word) => Some(word.clone()),
        ContextValue::Strings(words) => words.last().cloned(),
        _ => None,
    })?;
    // A tool is found by its spoken name (`read-file`) too, but it is called by its real one.
    let name = word.replace('-', "_");
    let tool = crate::tools::Registry::built_in().get(&name);
    Some(format!("did you mean `{}`?", tool.map_or(&word, |tool| &tool.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also: no parameter of a tool has the name of a flag that holds everywhere.
    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn flags_that_hold_everywhere_may_stand_anywhere() {
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
