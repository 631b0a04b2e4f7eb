//! `steward call TOOL`: one tool, through the running daemon or directly, with the same answer.

use std::io::Read;
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches};
use serde_json::{Map, Value};

use super::flags::{self, Parameter};
use super::{CallOptions, Failure, Result, Session, completions, help, paint, words};
use crate::servers::settings as servers;
use crate::tools::{Definition, Names, Registry, Tier};

/// The largest JSON taken from stdin, in bytes: the limit of a message to the daemon.
const MAX_STDIN: u64 = 4 << 20;

/// The clap id of the arguments given without a flag.
const GIVEN: &str = "given";

const AFTER_HELP: &str = "\
Arguments are given in their order, as flags, as one JSON object, or as several of these; a flag wins over \
the same name in the JSON. `-` reads the JSON from stdin. What is needed every day has a command of its own: \
`steward search`, `read`, `list`, `edit` and others.

Examples:
  steward call read_file 'projects/my note'
  steward call search_files 'last frost' --path Garden --context-lines 0
  steward call search_files '{\"pattern\": \"budget\", \"ignore_case\": true}'
  echo '{\"path\": \"a.md\", \"content\": \"text\"}' | steward call write_file -";

/// The tool and its arguments. The subcommands are built at run time from the tools' definitions,
/// so that the flags, their help and their completions follow from the schemas.
pub struct CallArguments {
    tool: String,
    arguments: Result<Map<String, Value>, Box<Failure>>,
    direct: bool,
    confirmed: bool,
    dry_run: bool,
}

// The arguments can hold note text.
debug_only!(CallArguments, tool);

impl Args for CallArguments {
    fn augment_args(command: clap::Command) -> clap::Command {
        let direct = Arg::new("direct")
            .long("direct")
            .global(true)
            .action(ArgAction::SetTrue)
            .help("Work on the files even when a daemon is running");
        let yes = Arg::new("yes")
            .long("yes")
            .global(true)
            .action(ArgAction::SetTrue)
            .help("Skip confirmation prompts");
        // Loads the tools only if needed: building all schemas takes longer than the rest of the
        // command line, and would delay every other command.
        command
            .arg(direct)
            .arg(yes)
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommand_value_name("TOOL")
            .subcommand_help_heading("Tools")
            .disable_help_subcommand(true)
            .after_help(AFTER_HELP)
            .defer(|command| command.subcommands(Registry::built_in().iter().map(subcommand)))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for CallArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (name, given) = matches.subcommand().ok_or_else(missing)?;
        let arguments = match Registry::built_in().get(name) {
            Some(tool) => arguments(tool, given),
            None if is_foreign(name) => foreign_arguments(given),
            None => return Err(missing()),
        };
        Ok(Self {
            tool: name.to_owned(),
            arguments: arguments.map_err(Box::new),
            direct: given.get_flag("direct"),
            confirmed: given.get_flag("yes"),
            dry_run: matches!(given.try_get_one("dry-run"), Ok(Some(true))),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Whether a tool of a server can have this name. Only the daemon knows which there are.
pub fn is_foreign(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_of_server = name.split_once("__").is_some_and(|(server, _)| servers::is_name(server));
    (is_of_server && name.chars().all(plain)) || name == "read_answer"
}

/// The subcommand of a server's tool: its arguments are JSON.
pub fn foreign(name: &str) -> clap::Command {
    let help = "The arguments as a JSON object; `-` reads it from stdin";
    let given = Arg::new(GIVEN).num_args(0..=1).value_name("JSON").help(help);
    let about = "A tool of a server; `steward servers show` says what it takes";
    help::global_options_are_elsewhere(clap::Command::new(name.to_owned()).about(about).arg(given))
}

fn foreign_arguments(given: &ArgMatches) -> Result<Map<String, Value>> {
    match given.get_one::<String>(GIVEN).map(String::as_str) {
        None => Ok(Map::new()),
        Some("-") => object(&from_stdin()?),
        Some(text) => object(text),
    }
}

fn from_stdin() -> Result<String> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(MAX_STDIN + 1).read_to_string(&mut text);
    read.map_err(|error| {
        Failure::usage(
            format!("could not read stdin: {error}"),
            "pipe a JSON object into it, or leave `-` out",
        )
    })?;
    if text.len() as u64 > MAX_STDIN {
        return Err(Failure::usage("stdin has more than 4 MiB", "give less at once"));
    }
    Ok(text)
}

fn subcommand(tool: &Definition) -> clap::Command {
    let parameters = flags::parameters(&tool.input_schema);
    let positional = positional_parameters(tool, &parameters);
    let names: Vec<_> = positional.iter().map(|one| one.name.to_uppercase()).collect();
    let mut given = Arg::new(GIVEN).num_args(0..=positional.len().max(1));
    given = if names.is_empty() {
        given.value_name("JSON").help("The arguments as a JSON object; `-` reads it from stdin")
    } else {
        given.value_name(names.join(" ")).help(format!(
            "{}, or all arguments as a JSON object; `-` reads that from stdin",
            names.join(" and ")
        ))
    };
    let names_a_path = |one: &Parameter| {
        tool.touches.iter().any(|touch| *touch == (one.name.as_str().into(), Names::Path))
    };
    if positional.first().is_some_and(|one| names_a_path(one)) {
        given = given.add(completions::notes());
    }
    let mut command = clap::Command::new(&tool.name)
        .about(&tool.title)
        .long_about(tool.description.clone())
        .arg(given)
        .args(parameters.iter().map(|parameter| {
            let own = tool.aliases.iter().filter(|(name, _)| *name == parameter.name);
            let mut arg = parameter.arg();
            if names_a_path(parameter) {
                arg = arg.add(completions::notes());
            }
            own.fold(arg, |arg, (_, other)| arg.alias(other.replace('_', "-")).alias(*other))
        }));
    // A tool with its own dry run reports more in it.
    if tool.tier != Tier::Safe && !parameters.iter().any(|one| one.name == "dry_run") {
        let dry_run = Arg::new("dry-run").long("dry-run").action(ArgAction::SetTrue);
        command = command.arg(dry_run.help("Only say what would be done"));
    }
    let spoken = tool.name.replace('_', "-");
    if spoken != tool.name {
        command = command.alias(spoken);
    }
    help::global_options_are_elsewhere(command)
}

/// The parameters that need no flag: the required texts, or else the subject of the call.
fn positional_parameters<'a>(tool: &Definition, parameters: &'a [Parameter]) -> Vec<&'a Parameter> {
    // The tool's own order puts the subject first; the schema is sorted alphabetically.
    let place = |one: &Parameter| tool.touches.iter().position(|(name, _)| *name == one.name);
    let mut found: Vec<_> = parameters.iter().filter(|one| one.required && one.is_text()).collect();
    if found.is_empty() {
        found = parameters.iter().filter(|one| place(one) == Some(0)).collect();
    }
    found.sort_by_key(|one| place(one).unwrap_or(usize::MAX));
    found
}

fn arguments(tool: &Definition, given: &ArgMatches) -> Result<Map<String, Value>> {
    let parameters = flags::parameters(&tool.input_schema);
    let positional = positional_parameters(tool, &parameters);
    let words: Vec<&String> = given.get_many(GIVEN).into_iter().flatten().collect();
    let base = match &words[..] {
        [only] if only.starts_with('{') || positional.is_empty() && *only != "-" => object(only)?,
        [only] if *only == "-" => object(&from_stdin()?)?,
        words => {
            let names = positional.iter().map(|one| one.name.clone());
            names.zip(words.iter().map(|word| Value::from(word.as_str()))).collect()
        }
    };
    let arguments = flags::arguments(&parameters, given, base)?;
    let missing = |one: &&Parameter| one.required && !arguments.contains_key(&one.name);
    match parameters.iter().find(missing) {
        None => Ok(arguments),
        // Worded as the tool words it for programs.
        Some(missing) => Err(Failure::other(
            "invalid_input",
            format!("{} needs `--{}`", tool.name, missing.flag()),
            format!("see `steward call {} --help`", tool.name),
        )),
    }
}

fn object(text: &str) -> Result<Map<String, Value>> {
    serde_json::from_str(text).map_err(|error| {
        let hint = "quote it for the shell, as in '{\"path\": \"a.md\"}', or use flags";
        Failure::usage(format!("the arguments are not a JSON object: {error}"), hint)
    })
}

pub fn run(session: &Session, call: &CallArguments) -> Result<ExitCode> {
    // Parsed earlier, where no error could be returned.
    let arguments = match &call.arguments {
        Ok(arguments) => arguments.clone(),
        Err(failure) => return Ok(session.output.report(failure)),
    };
    let options = CallOptions {
        direct: call.direct,
        confirmed: call.confirmed,
        dry_run: call.dry_run,
        ..CallOptions::default()
    };
    let answer = session.call_as_given(&call.tool, arguments, options)?;
    let text = paint::differences(&session.output, &words::without_revision(&answer.text));
    session.output.answer(&answer.data, text)?;
    Ok(ExitCode::SUCCESS)
}
