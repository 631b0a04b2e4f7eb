//! `steward links`: a note's links and backlinks. `steward links check`: links that are unresolved,
//! ambiguous, or name a missing heading or block.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;

use super::failure::OTHER;
use super::output::Paint;
use super::progress::Progress;
use super::{Failure, Output, Result, Session, completions};
use crate::daemon;
use crate::index::links::{Doubtful, Form, MissingPart, missing_parts};
use crate::note::counted::counted;
use crate::note::path::{VaultPath, show};
use crate::tools::{GetLinks, Tool as _};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
#[command(override_usage = "steward links <NAME>\n       steward links check")]
pub struct LinksArguments {
    /// The note whose links to list, with what links to it
    #[arg(add = completions::notes())]
    pub name: Option<String>,
    /// What to do with all of them.
    #[command(subcommand)]
    pub action: Option<LinksAction>,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub enum LinksAction {
    /// Report links that lead nowhere, could lead elsewhere, or name a heading or block that is not
    /// there; exit code 1 if there are any
    Check,
}

pub fn run(session: &Session, arguments: &LinksArguments) -> Result<ExitCode> {
    match &arguments.name {
        Some(name) => {
            let arguments = json!({ "path": name });
            session.print(GetLinks::NAME, arguments)?;
            Ok(ExitCode::SUCCESS)
        }
        None => check(session),
    }
}

/// Checks every link of the vault in this process, even if a daemon is running.
///
/// # Errors
/// The vault cannot be opened, or stdout cannot be written. Broken links are part of the answer, with
/// exit code 1.
fn check(session: &Session) -> Result<ExitCode> {
    let root = session.vault()?;
    let state = session.folders.prepare(root)?;
    let progress = Progress::new();
    let context = daemon::open(root, &state, &session.settings.config, &|n| progress.report(n))?;
    drop(progress);
    let links = &context.index.links;
    let withdrawn = |error| Failure::other("cancelled", format!("{error}"), "");
    links.refresh(&context.cancel).map_err(withdrawn)?;
    let all = crate::vault::View::default();
    let found = links.in_view(&all).doubtful(&VaultPath::root(), true);
    let missing = missing_parts(links, &VaultPath::root());
    let summary = links.summary();
    context.vault.stop();
    let (broken, ambiguous): (Vec<_>, Vec<_>) =
        found.iter().partition(|found| found.lead.resolution.target.is_none());
    if session.output.json() {
        let gaps = summary.gaps.iter().map(|(path, _)| path.as_str());
        session.output.json_value(&json!({
            "files": summary.files,
            "links": summary.links,
            "broken": broken.iter().map(|found| value(found)).collect::<Vec<_>>(),
            "ambiguous": ambiguous.iter().map(|found| value(found)).collect::<Vec<_>>(),
            "missingParts": missing.iter().map(missing_value).collect::<Vec<_>>(),
            "notRead": gaps.collect::<Vec<_>>(),
        }))?;
    } else {
        let mut lines: Vec<String> =
            found.iter().map(|found| line(&session.output, found)).collect();
        lines.extend(missing.iter().map(|found| missing_line(&session.output, found)));
        lines.push(format!(
            "{} in {}: {} broken, {} ambiguous, {} to missing parts",
            counted(summary.links, "link"),
            counted(summary.files, "file"),
            broken.len(),
            ambiguous.len(),
            missing.len()
        ));
        session.output.text(&lines.join("\n"))?;
        for (path, _) in summary.gaps.iter().take(20) {
            session.output.notice(&format!("not all links of `{path}` are known"));
        }
    }
    let sound = found.is_empty() && missing.is_empty();
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::from(OTHER) })
}

fn value(found: &Doubtful) -> serde_json::Value {
    let resolution = &found.lead.resolution;
    let is_canvas = !matches!(found.lead.link.form, Form::Link(_));
    let mut value = json!({ "path": found.source.as_str(), "link": found.lead.link.path() });
    value[if is_canvas { "node" } else { "line" }] = found.lead.link.line.into();
    if let Some(target) = &resolution.target {
        value["target"] = target.as_str().into();
        value["others"] = resolution.others.iter().map(VaultPath::as_str).collect();
    }
    value
}

fn missing_value(found: &MissingPart) -> serde_json::Value {
    let mut value = json!({
        "path": found.source.as_str(),
        "link": found.link,
        "part": found.part,
        "target": found.target.as_str(),
    });
    value[if found.source.is_note() { "line" } else { "node" }] = found.place.into();
    value
}

fn missing_line(output: &Output, found: &MissingPart) -> String {
    let place = if found.source.is_note() {
        found.place.to_string()
    } else {
        format!("node {}", found.place)
    };
    let part: String = found.part.chars().flat_map(show).collect();
    let mark = output.paint(Paint::Yellow, "missing part");
    format!("{}:{place}: {mark}: `{}` has no `{part}`", found.source, found.target)
}

fn line(output: &Output, found: &Doubtful) -> String {
    let link = &found.lead.link;
    let place = match link.form {
        Form::Link(_) => link.line.to_string(),
        Form::CanvasFile | Form::CanvasCard => format!("node {}", link.line),
    };
    let name: String = link.path().chars().flat_map(show).collect();
    let says = match &found.lead.resolution.target {
        None => format!("{}: `{name}` leads to nothing", output.paint(Paint::Red, "broken")),
        Some(target) => {
            let others: Vec<_> =
                found.lead.resolution.others.iter().map(|other| format!("`{other}`")).collect();
            let mark = output.paint(Paint::Yellow, "ambiguous");
            format!("{mark}: `{name}` leads to `{target}`, could be {}", others.join(", "))
        }
    };
    format!("{}:{place}: {says}", found.source)
}
