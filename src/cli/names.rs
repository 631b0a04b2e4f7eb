//! `steward names`: how files are named, which names are wrong, and better ones.

use std::collections::{BTreeMap, HashMap};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::failure::OTHER;
use super::output::Paint;
use super::{CallOptions, Failure, Output, Result, Session, completions};
use crate::bases::date::Times;
use crate::bases::source::Source as _;
use crate::note::counted::counted;
use crate::note::path::{VaultPath, visible};
use crate::organize::names_check::{self, Finding};
use crate::protocol::names::{NamesSuggestParams, NamesSuggestResult};
use crate::tools::{
    Answer, ApplyPlan, DescribeVault, PlanChanges, ShowPlan, SuggestNames, Tool as _, ToolError,
};
use crate::vault::Want;

#[derive(Debug, Clone, Subcommand)]
pub enum NamesAction {
    /// Show how files are named, in the vault or a folder
    Conventions {
        /// The folder [default: the vault]
        #[arg(add = completions::notes())]
        folder: Option<String>,
    },
    /// Report names that break somewhere, mislead or do not fit their folder; exit code 1 if there are any
    Check {
        /// Only this folder [default: the vault]
        #[arg(add = completions::notes())]
        folder: Option<String>,
    },
    /// Suggest names for files; nothing is renamed
    Suggest(SuggestArguments),
    /// Plan the first suggestion for each file; links follow
    Rename {
        /// Which files, and how.
        #[command(flatten)]
        which: SuggestArguments,
        /// Apply the plan at once, without asking
        #[arg(long, short)]
        yes: bool,
    },
}

/// Which files, and how they are to be named.
#[derive(Debug, Clone, Args)]
pub struct SuggestArguments {
    /// The files, or a folder for the files directly in it
    #[arg(required = true, value_name = "PATH", add = completions::notes())]
    pub paths: Vec<String>,
    /// A pattern such as '{YYYY-MM-DD} {Title Words}', or a style such as kebab-case [default: as the folder does]
    #[arg(long, short, value_name = "PATTERN")]
    pub convention: Option<String>,
    /// Send the first words of these files to the configured model, which says what is in them; of a folder, those whose
    /// names do not fit or say nothing
    #[arg(long)]
    pub model: bool,
}

pub fn run(session: &Session, action: &NamesAction) -> Result<ExitCode> {
    match action {
        NamesAction::Conventions { folder } => conventions(session, folder.as_deref())?,
        NamesAction::Check { folder } => return check(session, folder.as_deref()),
        NamesAction::Suggest(which) if which.model => {
            let found = by_model(session, which)?;
            session.output.paged().answer(&json!(found), &found.text)?;
        }
        NamesAction::Suggest(which) => {
            session.print(SuggestNames::NAME, which.input())?;
        }
        NamesAction::Rename { which, yes } => rename(session, which, *yes)?,
    }
    Ok(ExitCode::SUCCESS)
}

impl SuggestArguments {
    fn input(&self) -> Value {
        json!({ "paths": self.paths, "convention": self.convention })
    }
}

/// Names in the words of the configured model.
fn by_model(session: &Session, which: &SuggestArguments) -> Result<NamesSuggestResult> {
    let SuggestArguments { paths, convention, .. } = which.clone();
    let found = session.ask_for_long(&NamesSuggestParams { paths, convention })?;
    let found = found.ok_or_else(|| {
        let message = "no daemon runs for this vault, and only the daemon asks the model";
        session.needs_daemon("no_daemon", message)
    })?;
    if let Some(model) = &found.model {
        let files = counted(found.sent.len(), "file");
        session.output.notice(&format!("sent the beginning of {files} to {model}"));
    }
    Ok(found)
}

/// Prints the conventions of the place and of each folder below it that has one.
fn conventions(session: &Session, folder: Option<&str>) -> Result<()> {
    let input = json!({ "path": folder.unwrap_or_default(), "bytes": 200_000 });
    let found = session.call(DescribeVault::NAME, input)?;
    let titles = ["folder", "pattern", "files", "sure", "example"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    let place = match text(&found.data["path"]) {
        "" => "(all notes)".to_owned(),
        path => format!("{path}/ and below"),
    };
    rows.extend(rows_of(&place, &found.data["conventions"], true));
    for folder in found.data["folders"].as_array().into_iter().flatten() {
        let name = match text(&folder["path"]) {
            "" => "(top folder)".to_owned(),
            path => format!("{path}/"),
        };
        let name = match folder["alike"].as_array().map_or(0, Vec::len) {
            0 => name,
            others => format!("{name} and {others} like it"),
        };
        rows.extend(rows_of(&name, &folder["conventions"], false));
    }
    let table = session.output.table(&rows);
    session.output.paged().answer(&found.data, table)
}

/// The rows of one place; of a folder only what its files are named by.
fn rows_of(place: &str, conventions: &Value, with_unused: bool) -> Vec<Vec<String>> {
    let mut place = visible(place);
    let conventions = conventions.as_array().into_iter().flatten();
    let listed = conventions.filter(|found| with_unused || found["matching_files"] != 0);
    listed
        .map(|found| {
            let sure = (found["confidence"].as_f64().unwrap_or_default() * 100.0).round();
            let cells = vec![
                std::mem::take(&mut place),
                visible(text(&found["pattern"])),
                found["matching_files"].to_string(),
                format!("{sure} %"),
                visible(text(&found["example"])),
            ];
            cells
        })
        .collect()
}

/// Checks all names at and below a folder, reading the files themselves, whether a daemon runs or not.
fn check(session: &Session, folder: Option<&str>) -> Result<ExitCode> {
    let (found, files) = session.here(false, |context| {
        let within = context.find(folder.unwrap_or_default(), Want::Folder);
        let within = within.map_err(ToolError::from)?.path;
        let zone = context.clock.zone();
        let times = Times::new(&*zone);
        let withdrawn = || Failure::other("cancelled", "the check was stopped", "");
        let snapshot = context.index.properties.snapshot(
            &context.vault,
            &context.index.links,
            &context.cancel,
        );
        let snapshot = snapshot.map_err(|_| withdrawn())?.in_zone(&times);
        let conflicts: HashMap<VaultPath, VaultPath> =
            context.vault.conflicts().into_iter().collect();
        let files = names_check::read(&snapshot, &times, &conflicts);
        if snapshot.is_cancelled() {
            return Err(withdrawn());
        }
        let count = files.iter().filter(|file| file.path.is_within(&within)).count();
        Ok((names_check::check(&files, &within), count))
    })?;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    found.iter().for_each(|one| *counts.entry(one.kind.word()).or_default() += 1);
    if session.output.json() {
        session.output.json_value(&json!({
            "files": files,
            "findings": found.iter().map(value).collect::<Vec<_>>(),
        }))?;
    } else {
        let mut lines: Vec<String> = found.iter().map(|one| line(&session.output, one)).collect();
        let counts: Vec<String> =
            counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let counts =
            if counts.is_empty() { "all names are fine".to_owned() } else { counts.join(", ") };
        lines.push(format!("{}: {counts}", counted(files, "file")));
        session.output.paged().text(&lines.join("\n"))?;
    }
    Ok(if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(OTHER) })
}

fn value(found: &Finding) -> Value {
    json!({
        "path": found.path.as_str(),
        "kind": found.kind,
        "message": found.message,
        "suggestion": found.suggestion,
        "others": found.others.iter().map(VaultPath::as_str).collect::<Vec<_>>(),
    })
}

fn line(output: &Output, found: &Finding) -> String {
    let suggestion = match &found.suggestion {
        Some(name) => format!(" → {}", visible(name)),
        None => String::new(),
    };
    let kind = output.paint(Paint::Yellow, found.kind.word());
    format!("{}: {kind}: {}{suggestion}", visible(found.path.as_str()), visible(&found.message))
}

/// Plans the first free suggestion of each file.
fn rename(session: &Session, which: &SuggestArguments, yes: bool) -> Result<()> {
    let (names, text) = if which.model {
        let found = by_model(session, which)?;
        (found.names, found.text)
    } else {
        let found = session.call(SuggestNames::NAME, which.input())?;
        (found.data, found.text)
    };
    let files = names["files"].as_array().into_iter().flatten();
    let items: Vec<Value> = files
        .filter_map(|file| {
            let free = |one: &&Value| one["taken_by"].is_null();
            let first = file["suggestions"].as_array()?.iter().find(free)?;
            Some(json!({ "path": file["path"], "to": first["to"] }))
        })
        .collect();
    if items.is_empty() {
        return session.print_answer(&session.output, &Answer::new(text, names));
    }
    let made = session.call(PlanChanges::NAME, json!({ "items": items }))?;
    let plan = &made.data["plan"];
    if yes {
        let input = json!({ "plan": plan, "identity": made.data["identity"] });
        return session.print_with(ApplyPlan::NAME, input, CallOptions::agreed(true));
    }
    let found = session.call(ShowPlan::NAME, json!({ "plan": plan }))?;
    session.print_answer(&session.output, &found)?;
    session
        .output
        .notice(&format!("nothing is renamed yet; `steward organize apply {plan}` does it"));
    Ok(())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
