//! `steward call TOOL`: one tool, through the running daemon or directly, with the same answer.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches};
use serde_json::{Map, Value};

use super::client::{self, Client, ClientError};
use super::failure::Failure;
use super::flags::{self, Parameter};
use super::output::Output;
use super::progress::Progress;
use super::session::Session;
use crate::config::folders;
use crate::config::running::Running;
use crate::daemon;
use crate::protocol::tools::{Content, ToolsCallParams};
use crate::server::token::Token;
use crate::tools::{self, Answer, Definition, Tier};

/// How long a direct change waits for another one to finish.
const PATIENCE: Duration = Duration::from_secs(5);

/// The largest JSON taken from stdin, in bytes; what a message to the daemon may hold.
const MAX_STDIN: u64 = 4 << 20;

const AFTER_HELP: &str = "\
Arguments are given as one JSON object, as flags, or both; a flag wins over the same name in the \
JSON. `-` reads the JSON from stdin.

Examples:
  steward call read_file --path 'projects/my note'
  steward call search_files '{\"pattern\": \"budget\", \"ignore_case\": true}'
  echo '{\"path\": \"a.md\", \"content\": \"text\"}' | steward call write_file -";

/// The tool and its arguments. The subcommands are made from the tools' definitions at run time,
/// so the flags, their help and their completions follow from the schemas.
pub struct CallArguments {
    tool: &'static Definition,
    arguments: Result<Map<String, Value>, Box<Failure>>,
    direct: bool,
}

impl std::fmt::Debug for CallArguments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The arguments hold what the user writes into notes.
        f.debug_struct("CallArguments").field("tool", &self.tool.name).finish_non_exhaustive()
    }
}

impl Args for CallArguments {
    fn augment_args(command: clap::Command) -> clap::Command {
        let direct = Arg::new("direct")
            .long("direct")
            .global(true)
            .action(ArgAction::SetTrue)
            .help("Work on the files even when a daemon is running");
        tools::definitions().iter().map(subcommand).fold(
            command
                .arg(direct)
                .subcommand_required(true)
                .arg_required_else_help(true)
                .subcommand_value_name("TOOL")
                .subcommand_help_heading("Tools")
                .disable_help_subcommand(true)
                .after_help(AFTER_HELP),
            |command, tool| command.subcommand(tool),
        )
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for CallArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (name, given) = matches.subcommand().ok_or_else(missing)?;
        let tool = tools::definitions().iter().find(|tool| tool.name == name);
        let tool = tool.ok_or_else(missing)?;
        Ok(Self {
            tool,
            arguments: arguments(tool, given).map_err(Box::new),
            direct: given.get_flag("direct"),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn subcommand(tool: &Definition) -> clap::Command {
    let json = Arg::new("json-arguments")
        .value_name("JSON")
        .help("The arguments as a JSON object; `-` reads it from stdin");
    let parameters = flags::parameters(&tool.input_schema);
    let mut command = clap::Command::new(tool.name)
        .about(tool.title)
        .long_about(tool.description.clone())
        .arg(json)
        .args(parameters.iter().map(Parameter::arg));
    let spoken = tool.name.replace('_', "-");
    if spoken != tool.name {
        command = command.alias(spoken);
    }
    command
}

fn arguments(tool: &Definition, given: &ArgMatches) -> Result<Map<String, Value>, Failure> {
    let base = match given.get_one::<String>("json-arguments").map(String::as_str) {
        None => Map::new(),
        Some("-") => {
            let mut text = String::new();
            let read = std::io::stdin().lock().take(MAX_STDIN + 1).read_to_string(&mut text);
            read.map_err(|error| {
                Failure::usage(format!("could not read stdin: {error}"), "`-` reads JSON from it")
            })?;
            if text.len() as u64 > MAX_STDIN {
                return Err(Failure::usage("stdin holds over 4 MiB", "give less at once"));
            }
            object(&text)?
        }
        Some(text) => object(text)?,
    };
    flags::arguments(&flags::parameters(&tool.input_schema), given, base)
}

fn object(text: &str) -> Result<Map<String, Value>, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::usage(
            format!("the arguments are not a JSON object: {error}"),
            "quote it for the shell, as in '{\"path\": \"a.md\"}', or use flags",
        )
    })
}

/// Calls the tool and prints its answer.
///
/// # Errors
/// What the tool says, or why it could not be reached.
pub fn run(session: &Session, call: &CallArguments, output: &Output) -> Result<ExitCode, Failure> {
    // Read before there was a place to fail in.
    let arguments = match &call.arguments {
        Ok(arguments) => arguments.clone(),
        Err(failure) => {
            return Ok(failure.report(output));
        }
    };
    let root = session.vault(output)?;
    let answer = match session.running(&root) {
        Some((running, state)) if !call.direct => {
            match through_daemon(&running, &state, call.tool, &arguments) {
                // Left behind by a daemon whose number another process has now.
                Err(ThroughError::NobodyThere) => directly(session, &root, call.tool, arguments)?,
                Err(ThroughError::Failure(failure)) => return Err(*failure),
                Ok(answer) => answer,
            }
        }
        _ => directly(session, &root, call.tool, arguments)?,
    };
    if output.json() {
        output.json_value(&answer.data)?;
    } else {
        output.text(&answer.text)?;
    }
    Ok(ExitCode::SUCCESS)
}

enum ThroughError {
    NobodyThere,
    Failure(Box<Failure>),
}

impl<T: Into<Failure>> From<T> for ThroughError {
    fn from(failure: T) -> Self {
        Self::Failure(Box::new(failure.into()))
    }
}

fn through_daemon(
    running: &Running,
    state: &Path,
    tool: &Definition,
    arguments: &Map<String, Value>,
) -> Result<Answer<Value>, ThroughError> {
    let token = Token::load_or_create(&folders::token_file(state))?;
    let params = ToolsCallParams { name: tool.name.to_owned(), arguments: arguments.clone() };
    let answer = client::runtime()?.block_on(async {
        let mut client = Client::connect(running, &token).await?;
        let answer = client.call(&params).await;
        client.close().await;
        answer
    });
    let answer = match answer {
        Err(ClientError::NobodyThere { .. }) => return Err(ThroughError::NobodyThere),
        other => other?,
    };
    if answer.is_error {
        return Err(tool_failure(answer.structured_content).into());
    }
    let text = answer.content.into_iter().map(|Content::Text { text }| text);
    Ok(Answer { text: text.collect::<Vec<_>>().join("\n"), data: answer.structured_content })
}

fn tool_failure(mut error: Value) -> Failure {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Failure {
        exit: super::failure::OTHER,
        code: text(&error["code"]).unwrap_or_else(|| "io_error".to_owned()),
        message: text(&error["message"]).unwrap_or_else(|| "the tool failed".to_owned()),
        hint: text(&error["hint"]),
        data: Some(error["data"].take()).filter(|data| !data.is_null()),
    }
}

fn directly(
    session: &Session,
    root: &Path,
    tool: &Definition,
    arguments: Map<String, Value>,
) -> Result<Answer<Value>, Failure> {
    let state = session.folders.prepare(root)?;
    // Reading needs no lock; two writers would each work on a catalogue that the other changes.
    let lock = match tool.tier {
        Tier::Safe => None,
        _ => Some(daemon::lock(&session.folders, root, &state, PATIENCE)?),
    };
    let progress = Progress::new();
    let context = daemon::open(root, &state, &session.settings.config, &|n| progress.seen(n))?;
    drop(progress);
    if lock.is_some() {
        context.vault.sweep();
    }
    let answer = tools::call(&context, tool.name, Value::Object(arguments));
    // What a change left to do in the background is done before the lock goes.
    context.vault.stop();
    Ok(answer.map_err(daemon::backend::as_tool_error)?)
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let message = error.to_string();
        let (code, hint) = match error {
            ClientError::NobodyThere { .. } => {
                ("not_running", "start it with `steward serve`".to_owned())
            }
            ClientError::Refused { status: 401, .. } => {
                ("refused", "it knows another token; restart it, or use `--direct`".to_owned())
            }
            ClientError::Refused { .. } => ("refused", "`steward doctor` may say more".to_owned()),
            ClientError::NotTheDaemon { .. } => (
                "not_the_daemon",
                "nothing was sent to it; stop what uses the port, or use `--direct`".to_owned(),
            ),
            ClientError::Answer(error) => {
                let code = serde_json::to_value(error.data.kind).ok();
                let code = code.as_ref().and_then(Value::as_str).unwrap_or("internal").to_owned();
                let hint = error.data.hint;
                return Self { hint, ..Self::other(&code, message, "") };
            }
            ClientError::Broken(_) => (
                "connection_broken",
                "a change may still have been made; look before trying again".to_owned(),
            ),
        };
        Self::other(code, message, hint)
    }
}
