//! `steward workflow`: checks, runs and resumes workflows, through the running daemon or in this process.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::output::Paint;
use super::{Failure, Output, Result, Session, client, consent, paint, words, workflow_files};
use crate::calls::Cancel;
use crate::config::models::ChosenModels;
use crate::daemon;
use crate::llm::tape::Tape;
use crate::methods::export::short;
use crate::methods::workflows::{self as methods, AskedModels};
use crate::note::path::visible;
use crate::organize::workflow::{self, Workflow};
use crate::policy::{Caller, Scope};
use crate::protocol::MethodParams;
use crate::protocol::workflows::{
    WorkflowInfo, WorkflowListParams, WorkflowResult, WorkflowResumeParams, WorkflowRunParams,
    WorkflowStep,
};
use crate::tools::Registry;
use crate::workflows::known::KnownTools;
use crate::workflows::report::{Report, key};
use crate::workflows::{RunEnvironment, Start, WorkflowError, Workflows, described};

/// The most lines shown of a step's output.
const SHOWN: usize = 10;

#[derive(Debug, Subcommand)]
pub enum WorkflowAction {
    /// Check workflow files without running anything
    Check {
        /// The files; `-` is stdin
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Run a workflow: a dry run, unless --apply is given
    Run(RunArguments),
    /// Go on with a run that waits, was cut short, or failed
    Resume {
        /// Its number, as `steward workflow list` shows it
        run: u64,
        #[command(flatten)]
        how: RunOptions,
    },
    /// List the last runs that made changes
    List {
        /// Runs shown at most
        #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
        limit: u32,
    },
}

#[derive(Debug, Args)]
pub struct RunArguments {
    /// The workflow; `-` is stdin
    pub file: PathBuf,
    /// A value for an input; repeat it for more
    #[arg(long = "input", short, value_name = "NAME=VALUE", value_parser = pair)]
    pub inputs: Vec<(String, String)>,
    /// Make the changes; without it they are only shown
    #[arg(long)]
    pub apply: bool,
    /// Run nothing: take what each step gave from a recording, and fail where it does not fit
    #[arg(long, value_name = "DIR", conflicts_with_all = ["apply", "record", "yes", "answers", "direct"])]
    pub replay: Option<PathBuf>,
    #[command(flatten)]
    pub how: RunOptions,
}

/// Options of a run.
#[derive(Debug, Args)]
pub struct RunOptions {
    /// An answer to a question of a step; repeat it for more
    #[arg(long = "answer", value_name = "STEP=TEXT", value_parser = pair)]
    pub answers: Vec<(String, String)>,
    /// Record what each step was given and gave, for --replay
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// Skip confirmation prompts
    #[arg(long, short)]
    pub yes: bool,
    /// Work on the files even when a daemon is running
    #[arg(long)]
    pub direct: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.to_owned()))
}

pub fn run(
    session: &dyn Fn() -> Result<Session>,
    action: &WorkflowAction,
    output: &Output,
) -> Result<ExitCode> {
    match action {
        WorkflowAction::Check { files } => check(files, output),
        WorkflowAction::Run(arguments) => start(session, arguments, output),
        WorkflowAction::Resume { run, how } => {
            how.record.as_deref().map_or(Ok(()), workflow_files::check_free)?;
            let session = session()?;
            let params =
                WorkflowResumeParams { run: *run, confirmed: how.yes, answers: answers(how) };
            let there = WorkflowRunner { session: &session, direct: how.direct };
            let result = there.resume(&params)?;
            finish(&there, result, how, output)
        }
        WorkflowAction::List { limit } => list(&session()?, *limit).map(|()| ExitCode::SUCCESS),
    }
}

fn check(files: &[PathBuf], output: &Output) -> Result<ExitCode> {
    let mut checked = Vec::new();
    let mut lines = Vec::new();
    let mut is_wrong = false;
    for file in files {
        let name = file.display().to_string();
        let text = workflow_files::definition(file)?;
        match workflow::read(&text, &KnownTools(Registry::built_in())) {
            Ok(workflow) => {
                let count = workflow.steps.len();
                let steps = crate::note::counted::counted(count, "step");
                lines.push(format!("{name}: {steps}, nothing wrong"));
                lines.extend(workflow.warnings.iter().map(|warning| warning.render(&name)));
                checked
                    .push(json!({ "file": name, "id": workflow.id, "steps": count, "errors": [] }));
            }
            Err(found) => {
                is_wrong = true;
                lines.extend(found.iter().map(|diagnostic| diagnostic.render(&name)));
                let errors = found.iter().map(|one| {
                    json!({
                        "code": one.kind.as_str(), "message": one.message, "hint": one.hint,
                        "line": one.line, "column": one.column,
                    })
                });
                checked.push(json!({ "file": name, "errors": errors.collect::<Vec<_>>() }));
            }
        }
    }
    output.answer(&json!({ "files": checked }), lines.join("\n"))?;
    Ok(if is_wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The tools, with those of servers that a person has allowed.
fn with_servers(session: &Session) -> Result<Registry> {
    let mut all = Registry::built_in().clone();
    session.servers()?.definitions().into_iter().for_each(|tool| all.insert(tool));
    Ok(all)
}

fn start(
    session: &dyn Fn() -> Result<Session>,
    arguments: &RunArguments,
    output: &Output,
) -> Result<ExitCode> {
    let RunArguments { file, inputs, apply, replay, how } = arguments;
    let source = file.display().to_string();
    let text = workflow_files::definition(file)?;
    // Parsed here, so that its errors are reported without a vault.
    let mut opened = None;
    let known = if text.contains("__") {
        with_servers(opened.insert(session()?))?
    } else {
        Registry::built_in().clone()
    };
    let workflow = workflow::read(&text, &KnownTools(&known));
    let workflow = workflow.map_err(|found| invalid_workflow(&source, &found))?;
    let given_inputs = inputs_of(&workflow, inputs);
    if let Some(folder) = replay {
        let recording = workflow_files::read(folder)?;
        let given_inputs = if given_inputs.is_empty() {
            None
        } else {
            Some(workflow.inputs(&given_inputs).map_err(WorkflowError::Inputs)?)
        };
        let result = methods::workflow_result(recording.replay(&workflow, given_inputs), u64::MAX);
        show(&result, output)?;
        return Ok(exit(&result));
    }
    workflow.inputs(&given_inputs).map_err(WorkflowError::Inputs)?;
    how.record.as_deref().map_or(Ok(()), workflow_files::check_free)?;
    let session = match opened {
        Some(session) => session,
        None => session()?,
    };
    let there = WorkflowRunner { session: &session, direct: how.direct };
    let params = WorkflowRunParams {
        text,
        source,
        inputs: given_inputs,
        apply: *apply,
        confirmed: how.yes,
        answers: answers(how),
    };
    let result = there.run(&params)?;
    finish(&there, result, how, output)
}

/// Asks the person at the terminal the run's questions until it ends; shows and records the run.
fn finish(
    there: &WorkflowRunner<'_>,
    mut result: WorkflowResult,
    how: &RunOptions,
    output: &Output,
) -> Result<ExitCode> {
    let is_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    while let (true, "waiting", Some(run)) = (is_terminal, &*result.state, result.run) {
        let Some(answers) = ask_questions(&result)? else { break };
        result = there.resume(&WorkflowResumeParams { run, confirmed: how.yes, answers })?;
    }
    show(&result, output)?;
    if let Some(folder) = &how.record {
        workflow_files::write(folder, &result)?;
    }
    Ok(exit(&result))
}

/// The person's answers to all questions; `None` if one stays unanswered.
fn ask_questions(result: &WorkflowResult) -> Result<Option<BTreeMap<String, String>>> {
    let mut answers = BTreeMap::new();
    for step in &result.steps {
        let Some(waits) = &step.waits else { continue };
        let name = name(step);
        if !waits.approval.is_null() {
            let data = Some(waits.approval.clone());
            let agreed =
                consent::ask(&Failure { data, ..Failure::other("approval_needed", "", "") })?;
            answers.insert(name, if agreed { "yes" } else { "no" }.to_owned());
            continue;
        }
        let mut terminal = std::io::stderr().lock();
        let choices = if waits.choices.is_empty() {
            String::new()
        } else {
            format!(" [{}]", waits.choices.join("/"))
        };
        write!(terminal, "{name}: {}{} ", visible(&waits.question), visible(&choices))?;
        terminal.flush()?;
        let mut line = String::new();
        std::io::stdin().read_line(&mut line)?;
        let answer = line.trim();
        if answer.is_empty()
            || !(waits.choices.is_empty() || waits.choices.iter().any(|one| one == answer))
        {
            return Ok(None);
        }
        answers.insert(name, answer.to_owned());
    }
    Ok((!answers.is_empty()).then_some(answers))
}

fn list(session: &Session, limit: u32) -> Result<()> {
    let params = WorkflowListParams { limit: Some(limit) };
    let listed = session
        .ask_or_store(&params, false, |store| methods::list_of(&store.workflows, &params))?;
    let row = |run: &WorkflowInfo| {
        let waits = if run.waiting.is_empty() {
            String::new()
        } else {
            format!("waits for {}", run.waiting.join(", "))
        };
        vec![run.run.to_string(), short(&run.began), run.workflow.clone(), run.state.clone(), waits]
    };
    let rows: Vec<Vec<String>> = listed.runs.iter().map(row).collect();
    let text = if rows.is_empty() {
        "no workflow was applied yet".to_owned()
    } else {
        session.output.table(&rows)
    };
    session.output.answer(&listed, text)
}

/// Runs workflows in the daemon, or in this process without one.
struct WorkflowRunner<'a> {
    session: &'a Session,
    direct: bool,
}

impl WorkflowRunner<'_> {
    fn run(&self, params: &WorkflowRunParams) -> Result<WorkflowResult> {
        self.reach(params, params.apply, |workflows, caller, around| {
            let WorkflowRunParams { text, source, inputs, apply, confirmed, answers } =
                params.clone();
            workflows.run(Start { text, source, inputs, apply, confirmed, answers }, caller, around)
        })
    }

    fn resume(&self, params: &WorkflowResumeParams) -> Result<WorkflowResult> {
        self.reach(params, true, |workflows, caller, around| {
            workflows.resume(methods::resumed(params.clone()), caller, around)
        })
    }

    fn reach<P: MethodParams<Result = WorkflowResult>>(
        &self,
        params: &P,
        changes: bool,
        work: impl FnOnce(&Workflows, Caller, RunEnvironment<'_>) -> Result<Report, WorkflowError>,
    ) -> Result<WorkflowResult> {
        if !self.direct
            && let Some(result) = self.session.ask_for_long(params)?
        {
            return Ok(result);
        }
        let session = self.session;
        session.with_calls(changes, |calls| {
            daemon::tool_servers::offer(&session.servers()?, calls);
            let context = calls.context();
            let workflows = Workflows::new(calls.clone(), context.journal.store(), context.clock);
            let (environment, folders) = (session.environment.clone(), session.folders.clone());
            let models = ChosenModels::new(
                session.config()?,
                environment,
                folders,
                session.vault()?,
                Tape::Off,
            );
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .enable_all()
                .build()?;
            let models = AskedModels::new(
                models,
                runtime.handle().clone(),
                context.journal.store().usage.clone(),
            );
            let cancel = Cancel::default();
            let around = RunEnvironment { models: Some(&models), tell: &|_| {}, cancel: &cancel };
            let caller = Caller { scope: Scope::Person, name: client::name() };
            Ok(methods::workflow_result(work(&workflows, caller, around)?, u64::MAX))
        })
    }
}

fn answers(how: &RunOptions) -> BTreeMap<String, String> {
    how.answers.iter().cloned().collect()
}

/// Parses the inputs given on the command line: as JSON if valid, unless the input's default is text.
fn inputs_of(workflow: &Workflow, given_inputs: &[(String, String)]) -> Map<String, Value> {
    let value = |(name, text): &(String, String)| {
        let input = workflow.inputs.iter().find(|input| input.name == *name);
        let is_text = input.is_some_and(|input| matches!(input.default, Some(Value::String(_))));
        let json = (!is_text).then(|| serde_json::from_str(text).ok()).flatten();
        (name.clone(), json.unwrap_or_else(|| Value::from(text.as_str())))
    };
    given_inputs.iter().map(value).collect()
}

fn show(result: &WorkflowResult, output: &Output) -> Result<()> {
    let mut lines = Vec::new();
    for step in &result.steps {
        let state = match &*step.state {
            "done" | "shown" => output.paint(Paint::Green, format!("{:<8}", step.state)),
            "failed" => output.paint(Paint::Red, format!("{:<8}", step.state)),
            "not_run" => "not run ".to_owned(),
            other => output.paint(Paint::Yellow, format!("{other:<8}")),
        };
        lines.push(format!("{state} {}  {}", name(step), step.does));
        if let Some(error) = &step.error {
            lines.push(format!("    {}", visible(&error.message)));
            lines.extend(error.hint.iter().map(|hint| format!("    hint: {}", visible(hint))));
        } else if let Some(waits) = &step.waits {
            lines.push(format!("    {}", visible(&waits.question)));
        } else if step.state == "shown" {
            let shown = paint::differences(output, &step.text);
            lines.extend(shown.lines().map(|line| format!("    {line}")));
        } else {
            let text = words::answer(&step.text);
            let shown = text.lines().take(SHOWN).map(|line| format!("    {}", visible(line)));
            lines.extend(shown);
            let more = text.lines().count().saturating_sub(SHOWN);
            lines.extend((more > 0).then(|| format!("    … {more} more lines; `--json` has them")));
        }
    }
    lines.push(last_line(result));
    output.answer(result, lines.join("\n"))
}

fn last_line(result: &WorkflowResult) -> String {
    let run = result.run.map_or_else(|| "the replay".to_owned(), |run| format!("run {run}"));
    match (&*result.state, result.run) {
        ("shown", _) => "nothing was changed; run it again with `--apply` to do it".to_owned(),
        ("done", Some(_)) => format!("{run} is done; `steward log` shows what it changed"),
        ("waiting", Some(number)) => {
            let first = result.steps.iter().find(|step| step.waits.is_some());
            let (name, answer) =
                match first.and_then(|step| Some((name(step), step.waits.as_ref()?))) {
                    Some((name, waits)) if !waits.choices.is_empty() => {
                        (name, waits.choices[0].clone())
                    }
                    Some((name, _)) => (name, "TEXT".to_owned()),
                    None => ("STEP".to_owned(), "TEXT".to_owned()),
                };
            format!(
                "{run} waits; answer with `steward workflow resume {number} --answer '{name}={answer}'`"
            )
        }
        ("failed" | "interrupted", Some(number)) => {
            format!(
                "{run} {}; `steward workflow resume {number}` continues it",
                outcome_phrase(&result.state)
            )
        }
        (state, _) => format!("{run} {}", outcome_phrase(state)),
    }
}

fn outcome_phrase(state: &str) -> &str {
    match state {
        "failed" => "failed",
        "interrupted" => "was cut short",
        "waiting" => "waits for a person",
        _ => "is done",
    }
}

fn name(step: &WorkflowStep) -> String {
    key(&step.step, step.item.and_then(|item| usize::try_from(item).ok()))
}

fn exit(result: &WorkflowResult) -> ExitCode {
    match &*result.state {
        "done" | "shown" => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn invalid_workflow(source: &str, found: &[crate::bases::diagnostic::Diagnostic]) -> Failure {
    let first = found.first();
    let places = found.iter().map(|one| {
        json!({ "code": one.kind.as_str(), "message": one.message, "hint": one.hint, "line": one.line, "column": one.column })
    });
    Failure {
        hint: first.and_then(|first| first.hint.clone()),
        data: Some(json!({ "errors": places.collect::<Vec<_>>() })),
        ..Failure::other("invalid_workflow", described(source, found), "")
    }
}

impl From<WorkflowError> for Failure {
    fn from(error: WorkflowError) -> Self {
        let code = match &error {
            WorkflowError::Invalid { source_name, found } => {
                return invalid_workflow(source_name, found);
            }
            WorkflowError::Inputs(_) | WorkflowError::Answer(_) => "invalid_input",
            WorkflowError::WrongState { .. }
            | WorkflowError::AtWork(_)
            | WorkflowError::TooMany => "wrong_state",
            WorkflowError::Store(crate::store::StoreError::Unknown { .. }) => "not_found",
            WorkflowError::Store(_) => "store",
        };
        Self { hint: error.hint(), ..Self::other(code, error.to_string(), "") }
    }
}
