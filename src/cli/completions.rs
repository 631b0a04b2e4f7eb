//! `steward completions SHELL`, and the completion of a line: commands, tools and their flags, and
//! the current names and aliases of notes, settings, vaults, changes and trashed items.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, Command};
use clap_complete::Shell;
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use clap_complete::env::{CompleteEnv, Shells};
use serde_json::{Value, json};

use super::output::Color;
use super::session::WrongSettings;
use super::{Output, Result, Session};
use crate::config::keys::KEYS;
use crate::config::layers::Flags;
use crate::config::log::Level;
use crate::config::vaults::with_names;
use crate::methods::complete;
use crate::protocol::complete::CompleteParams;
use crate::tools::{ListChanges, ListTrash, Tool as _};

/// Set by the shell's script to the name of the shell.
const VARIABLE: &str = "STEWARD_COMPLETE";

/// Whether this is bash, which adds the slash after a folder itself.
static IS_BASH: AtomicBool = AtomicBool::new(false);

/// zsh autoloads the file from its function folder: the first completion runs this script, later
/// ones the function that it defines. So the script completes the first line itself.
const FIRST_IN_ZSH: &str = "\nif [[ $funcstack[1] == _steward ]]; then\n    \
                            _clap_dynamic_completer_steward \"$@\"\nfi\n";

/// A note is offered by its name while its path replaces the typed text, which zsh refuses without `-U`. zsh then
/// inserts the common beginning of all offers; if there is none, it inserts the first offer.
const NAMES_IN_ZSH: &str = "        [[ ${(L)other[1]} == ${(LQ)words[CURRENT]}* ]] || \
                            compstate[insert]=menu\n";

/// Names offered at once.
const OFFERED: u32 = 100;

/// Changes offered at once.
const CHANGES: u32 = 30;

#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell
    pub shell: Shell,
}

/// Prints the script that has a shell ask this program.
pub fn run(arguments: &CompletionsArguments, output: &Output) -> Result<()> {
    let mut script = Vec::new();
    let name = arguments.shell.to_string();
    if let Some(shell) = Shells::builtins().completer(&name) {
        shell.write_registration(VARIABLE, "steward", "steward", "steward", &mut script)?;
    }
    let mut script = String::from_utf8_lossy(&script).into_owned();
    match arguments.shell {
        Shell::Zsh => {
            let offer = "        [[ -n $other ]] && _describe -V 'values' other";
            script = script.replace(offer, &format!("{NAMES_IN_ZSH}{offer} -U"));
            script.push_str(FIRST_IN_ZSH);
        }
        // It then escapes names itself, depending on the quotes around them.
        Shell::Bash => script = script.replace("-o nospace ", "-o nospace -o filenames "),
        _ => {}
    }
    output.raw(script.as_bytes())
}

/// Completes a line of `command` where a shell's script asks for it; whether it did. Such a run does nothing
/// else.
pub fn complete_line(arguments: &[OsString], command: fn() -> Command) -> bool {
    let Some(shell) = std::env::var_os(VARIABLE) else { return false };
    IS_BASH.store(shell == "bash", Ordering::Relaxed);
    let folder = std::env::current_dir().ok();
    let done = CompleteEnv::with_factory(command).var(VARIABLE);
    done.try_complete(arguments, folder.as_deref()).unwrap_or(true)
}

/// Notes and folders by the beginning of their name, path or alias.
pub fn notes() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| names(typed).unwrap_or_default())
}

pub fn settings() -> ArgValueCandidates {
    ArgValueCandidates::new(|| KEYS.iter().map(|key| CompletionCandidate::new(key.name)).collect())
}

/// The vaults that have a name, and folders.
pub fn vaults() -> ArgValueCompleter {
    let named = |typed: &str| {
        let session = session()?;
        let vaults = with_names(&session.folders, &session.known).into_iter();
        let names = vaults.map(|vault| vault.name).filter(|name| begins_with(name, typed));
        Some(names.map(CompletionCandidate::new).collect::<Vec<_>>())
    };
    ArgValueCompleter::new(move |typed: &OsStr| {
        let mut found = typed.to_str().and_then(named).unwrap_or_default();
        let folders = PathCompleter::dir().complete(typed).into_iter();
        found.extend(folders.map(|folder| match folder.get_value().to_str() {
            Some(path) if IS_BASH.load(Ordering::Relaxed) => {
                CompletionCandidate::new(path.trim_end_matches(std::path::is_separator))
            }
            _ => folder,
        }));
        found
    })
}

fn begins_with(text: &str, typed: &str) -> bool {
    text.to_lowercase().starts_with(&typed.to_lowercase())
}

/// The last change sets, by their numbers.
pub fn changes() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let found = tool_data(ListChanges::NAME, json!({ "limit": CHANGES })).unwrap_or_default();
        let sets = found["change_sets"].as_array().map(Vec::as_slice).unwrap_or_default();
        let shown = sets.iter().map(|set| {
            let title = set["title"].as_str().unwrap_or_default().to_owned();
            CompletionCandidate::new(set["id"].to_string()).help(Some(title.into()))
        });
        shown.collect()
    })
}

/// The files in the trash, by their former path, or by their name if the path is unknown.
pub fn trashed() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let found = tool_data(ListTrash::NAME, json!({ "limit": OFFERED })).unwrap_or_default();
        let items = found["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        let name = |item: &Value| {
            let name = item["was"].as_str().or(item["item"].as_str())?.to_owned();
            Some(name.strip_prefix(".trash/").map(str::to_owned).unwrap_or(name))
        };
        let names = items.iter().filter_map(name);
        names.map(CompletionCandidate::new).collect()
    })
}

fn names(typed: &OsStr) -> Option<Vec<CompletionCandidate>> {
    // In the shell's quoting of blanks: an open quotation mark, or a backslash before each.
    let input = typed.to_str()?;
    let typed = input.strip_prefix(['\'', '"']).unwrap_or(input).replace('\\', "");
    let session = session()?;
    let params = CompleteParams { text: typed.clone(), limit: Some(OFFERED) };
    let found =
        session.ask_or(&params, false, |calls| Ok(complete::complete(calls.context(), &params)));
    let found = found.ok()?;
    let fits = |text: &str| begins_with(text, &typed);
    let offered = found.found.into_iter().flat_map(|one| {
        let path = one.path.strip_suffix(".md").unwrap_or(&one.path).to_owned();
        let called = fits(&one.path) || fits(&one.name);
        let own = called.then(|| CompletionCandidate::new(&path));
        let aliases = one
            .aliases
            .into_iter()
            .map(move |alias| CompletionCandidate::new(alias).help(Some(path.clone().into())));
        own.into_iter().chain(aliases)
    });
    Some(offered.collect())
}

/// The answer of a tool that only reads.
fn tool_data(tool: &str, arguments: Value) -> Option<Value> {
    Some(session()?.call(tool, arguments).ok()?.data)
}

/// The settings and the vault of the line so far; errors in them are ignored.
fn session() -> Option<Session> {
    let line: Vec<OsString> = std::env::args_os().skip_while(|one| one != "--").collect();
    let flag = |name: &str| -> Option<PathBuf> {
        let apart = line.iter().position(|one| one == name).and_then(|at| line.get(at + 1));
        let joined = || line.iter().find_map(|one| one.to_str()?.strip_prefix(&format!("{name}=")));
        apart.map(PathBuf::from).or_else(|| joined().map(PathBuf::from))
    };
    let flags = Flags { vault: flag("--vault"), config: flag("--config"), ..Flags::default() };
    let output = Output::new(false, Color::Never).quiet();
    Session::start(flags, Level::Off, WrongSettings::AskDaemon, output).ok()
}
