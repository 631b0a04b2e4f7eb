//! What can be typed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use super::call::CallArguments;
use super::chat::ChatArguments;
use super::conversations::{ConversationsArguments, UsageArguments};
use super::failure::Failure;
use super::inbox::InboxArguments;
use super::output::Output;
use super::plugin::PluginArguments;
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

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Also into files and pipes
    Always,
    /// Not at all
    Never,
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

/// Of `serve`.
#[derive(Debug, Args)]
pub struct ServeArguments {
    /// The port on 127.0.0.1; 0 takes any free one [default: 27180]
    #[arg(long, value_name = "N")]
    pub port: Option<u16>,

    /// Record what models are asked and what they answer into this folder, to report a fault with.
    /// It holds what was said and read, and no keys
    #[arg(long, value_name = "FOLDER")]
    pub record: Option<PathBuf>,

    /// Ask no model, but answer as was recorded in this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "record")]
    pub replay: Option<PathBuf>,
}

/// Of `token`.
#[derive(Debug, Args)]
pub struct TokenArguments {
    /// Make a new token; clients that know the old one must be given it
    #[arg(long)]
    pub rotate: bool,
    /// Print the token for programs that do not speak for you: client, mcp or voice
    #[arg(long, value_name = "KIND", value_parser = ["person", "client", "mcp", "voice"])]
    pub scope: Option<String>,
}

/// Of `open`.
#[derive(Debug, Args)]
pub struct OpenArguments {
    /// Only print the address; it holds once, for a minute
    #[arg(long)]
    pub print: bool,
}

/// Of `pair`.
#[derive(Debug, Args)]
pub struct PairArguments {
    /// Draw the QR code, also where the output is no terminal
    #[arg(long, conflicts_with = "no_qr")]
    pub qr: bool,
    /// Draw no QR code, only print the link
    #[arg(long)]
    pub no_qr: bool,
}

/// Of `mode`.
#[derive(Debug, Args)]
pub struct ModeArguments {
    /// The mode from now on; `settings` goes back to what the settings say [default: only say it]
    #[arg(value_parser = ["ask", "auto", "read-only", "settings"])]
    pub mode: Option<String>,
}

/// Of `approvals`.
#[derive(Debug, Args)]
pub struct ApprovalsArguments {
    /// What to do with them.
    #[command(subcommand)]
    pub action: ApprovalsAction,
}

/// What can be done with what was agreed to for good.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum ApprovalsAction {
    /// List it
    List,
    /// Take one back; from the next call on it is asked about again
    Revoke {
        /// Its number
        id: i64,
    },
}

/// Of `audit`.
#[derive(Debug, Args)]
pub struct AuditArguments {
    /// Only calls of this tool
    #[arg(long, value_name = "TOOL")]
    pub tool: Option<String>,
    /// Only calls of this caller
    #[arg(long, value_name = "NAME")]
    pub caller: Option<String>,
    /// Only those that were allowed, refused, a dry_run, or are being asked about
    #[arg(long, value_parser = ["allowed", "refused", "dry_run", "asked"])]
    pub decision: Option<String>,
    /// Only calls since then: a date, a date and time, or an age such as 2h, 3d, 1w
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Calls shown at most, the newest
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
    pub limit: u32,
    /// Go on showing calls as they come, until Ctrl-C
    #[arg(long, short)]
    pub follow: bool,
}

/// Of `log`.
#[derive(Debug, Args)]
pub struct LogArguments {
    /// Only what touched this file, or something in this folder
    pub path: Option<String>,
    /// Show what changed in each text
    #[arg(long, short)]
    pub diff: bool,
    /// Only changes since then: a date, a date and time, or an age such as 2h, 3d, 1w
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Change sets shown at most, up to 200
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=200))]
    pub limit: u32,
    /// Only change sets with a smaller number than this: what is older
    #[arg(long, value_name = "N")]
    pub before: Option<u64>,
    /// Only this change set, with all its changes, a hundred at once
    #[arg(long, value_name = "N", conflicts_with_all = ["path", "since", "before", "limit"])]
    pub change_set: Option<u64>,
    /// The first change shown of that set, from 1
    #[arg(long, value_name = "N", default_value_t = 1, requires = "change_set")]
    pub first_change: u64,
}

/// Of `undo`.
#[derive(Debug, Args)]
pub struct UndoArguments {
    /// A change set (17) or one change of it (17.2) [default: the last change set]
    pub id: Option<String>,
    /// Also where a file has changed since in the same lines, or is gone; its newer text is kept in
    /// the journal
    #[arg(long)]
    pub force: bool,
    /// Agree to what needs a person's agreement
    #[arg(long, short)]
    pub yes: bool,
}

/// Of `restore`.
#[derive(Debug, Args)]
pub struct RestoreArguments {
    /// What to restore: its name in the trash, or the path it had
    pub item: String,
    /// Where to put it [default: where it was]
    #[arg(long, value_name = "PATH")]
    pub to: Option<String>,
    /// Agree to what needs a person's agreement
    #[arg(long, short)]
    pub yes: bool,
}

/// Of `trash`.
#[derive(Debug, Args)]
pub struct TrashArguments {
    /// What to do with it.
    #[command(subcommand)]
    pub action: TrashAction,
}

/// What can be done with the trash.
#[derive(Debug, Subcommand)]
pub enum TrashAction {
    /// List what lies in the trash, newest first
    List {
        /// Things shown at most
        #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
        limit: u32,
        /// The first thing shown, from 1: what is older than those of an earlier list
        #[arg(long, value_name = "N", default_value_t = 1)]
        first_result: u64,
    },
    /// Bring something back
    Restore(RestoreArguments),
    /// Remove things from the trash for good: those named, or what has lain there for long
    Empty {
        /// What to remove, as `trash list` names it
        items: Vec<String>,
        /// Without names: what was deleted more than so many days ago, 30 at least
        #[arg(long, value_name = "DAYS", default_value_t = 30, conflicts_with = "items")]
        older_than: u32,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

/// Of `journal`.
#[derive(Debug, Args)]
pub struct JournalArguments {
    /// What to do with it.
    #[command(subcommand)]
    pub action: JournalAction,
}

/// What can be done with the journal.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum JournalAction {
    /// Check every kept text against its hash; exit code 1 if something is damaged or missing
    Verify,
    /// Free what is older than the settings keep; shows first what that is, and asks
    Gc {
        /// Only show what would be freed
        #[arg(long, conflicts_with = "yes")]
        dry_run: bool,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

/// Of `links`.
#[derive(Debug, Args)]
pub struct LinksArguments {
    /// What to do with them.
    #[command(subcommand)]
    pub action: LinksAction,
}

/// What can be done with links.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum LinksAction {
    /// Report links that lead nowhere, could lead elsewhere, or name a heading or block that is not
    /// there; exit code 1 if there are any
    Check,
}

/// Of `key`.
#[derive(Debug, Args)]
pub struct KeyArguments {
    /// What to do with it.
    #[command(subcommand)]
    pub action: KeyAction,
}

/// What can be done with a key.
#[derive(Debug, Subcommand)]
pub enum KeyAction {
    /// Store a key, read from a prompt or from stdin, after a test call with it
    Set {
        /// The provider: anthropic, openai, gemini, or one of the settings
        provider: String,
        /// Store it without the test call
        #[arg(long)]
        no_check: bool,
        /// Store it in the system's keyring instead of a file
        #[arg(long)]
        keyring: bool,
    },
    /// Remove the stored key
    Remove {
        /// The provider
        provider: String,
        /// Remove it from the system's keyring instead of the file
        #[arg(long)]
        keyring: bool,
    },
    /// Say whether there is a key, and where it comes from
    Status {
        /// The provider
        provider: String,
    },
}

/// Of `config`.
#[derive(Debug, Args)]
pub struct ConfigArguments {
    /// What to do with it.
    #[command(subcommand)]
    pub action: ConfigAction,
}

/// What can be done with the settings file.
#[derive(Debug, Clone, Subcommand)]
pub enum ConfigAction {
    /// Write a commented settings file that changes nothing yet
    Init,
    /// Print which settings file is read
    Path,
    /// Check the settings file and the environment
    Check,
    /// List every setting: its value and where that comes from (with --json: all about it)
    List,
    /// Print the value of one setting
    Get {
        /// Its section and its name, such as server.port
        key: String,
    },
    /// Give a setting a value in the settings file, which keeps its comments
    Set {
        /// Its section and its name, such as server.port
        key: String,
        /// The value, as in the file; a text needs no quotes
        #[arg(required_unless_present = "default", allow_hyphen_values = true)]
        value: Option<String>,
        /// Take the setting out of the file
        #[arg(long, conflicts_with = "value")]
        default: bool,
    },
}

/// Of `service`.
#[derive(Debug, Args)]
pub struct ServiceArguments {
    /// What to do with it.
    #[command(subcommand)]
    pub action: ServiceAction,
}

/// What can be done with the service.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum ServiceAction {
    /// Serve the vault from now on and after every log-in
    Install {
        /// The port on 127.0.0.1: each vault's service needs its own [default: as in the settings]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
        port: Option<u16>,
        /// Print what would be written and run, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Stop serving the vault, and forget the service
    Uninstall {
        /// Print what would be removed and run, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Say whether the service is installed, and whether it runs
    Status,
}

/// Of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell
    pub shell: Shell,
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
}

impl Global {
    /// As the layer of settings that flags are.
    pub fn flags(&self, command: &Command) -> Flags {
        let verbose = match self.verbose {
            0 => None,
            1 => Some(Level::Debug),
            _ => Some(Level::Trace),
        };
        let port = match command {
            Command::Serve(serve) => serve.port,
            Command::Service(ServiceArguments { action: ServiceAction::Install { port, .. } }) => {
                *port
            }
            _ => None,
        };
        Flags {
            config: self.config.clone(),
            vault: self.vault.clone(),
            port,
            level: self.log_level.or(verbose),
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
