//! `steward prompts`: the notes that a person uses as prompts, and examples to begin with.

use std::io::Write as _;

use clap::{Args, Subcommand};
use serde_json::json;

use super::output::Paint;
use super::whole_note::WholeNote;
use super::{CallOptions, Failure, Output, Result, Session, client, consent};
use crate::methods::prompts;
use crate::note::path::{visible, visible_lines};
use crate::policy::{Caller, Scope};
use crate::protocol::prompts::{PromptExample, PromptInfo, PromptsParams, PromptsResult};
use crate::tools::{Tool as _, WriteFile};
use crate::vault::Cancel;

#[derive(Debug, Args)]
pub struct PromptsArguments {
    #[command(subcommand)]
    pub action: Option<PromptsAction>,
}

#[derive(Debug, Subcommand)]
pub enum PromptsAction {
    /// List your prompts, and examples that you can add
    List,
    /// Print the text of a prompt or an example
    Show {
        /// Its name, without the slash
        name: String,
    },
    /// Write examples into the folder of prompts
    Add {
        /// Their names [default: all]
        names: Vec<String>,
        /// Skip the question
        #[arg(long, short)]
        yes: bool,
    },
}

pub fn run(session: &Session, arguments: &PromptsArguments) -> Result<()> {
    let found = list_prompts(session)?;
    match &arguments.action {
        None | Some(PromptsAction::List) => list(&found, &session.output)?,
        Some(PromptsAction::Show { name }) => show(session, &found, name)?,
        Some(PromptsAction::Add { names, yes }) => add(session, &found, names, *yes)?,
    }
    Ok(())
}

fn list_prompts(session: &Session) -> Result<PromptsResult> {
    session.ask_or(&PromptsParams {}, false, |calls| {
        let caller = Caller { scope: Scope::Person, name: client::name() };
        prompts::list(calls, &caller, &Cancel::default())
    })
}

fn list(found: &PromptsResult, output: &Output) -> Result<()> {
    let value = json!(found);
    if found.folder.is_empty() {
        return output.answer(
            &value,
            "no folder of prompts is set; `steward config set agent.prompts_folder Prompts` sets one",
        );
    }
    let row = |name: &str, hint: Option<&str>, description: &str| {
        let hint = hint.map(|hint| format!(" {hint}")).unwrap_or_default();
        vec![visible(&format!("/{name}{hint}")), visible(description)]
    };
    let own = found.prompts.iter();
    let own = own.map(|it: &PromptInfo| row(&it.name, it.hint.as_deref(), &it.description));
    let mut lines = Vec::new();
    if found.prompts.is_empty() {
        lines.push(format!(
            "no prompts yet: each note in `{}` is one, by its name",
            visible(&found.folder)
        ))
    } else {
        lines.push(output.table(&own.collect::<Vec<_>>()).trim_end().to_owned())
    }
    if !found.examples.is_empty() {
        let examples = found.examples.iter();
        let rows = examples.map(|it: &PromptExample| row(&it.name, None, &it.description));
        let head = "Examples; `steward prompts add` writes them into the folder";
        lines.push(format!("\n{}", output.paint(Paint::Bold, head)));
        lines.push(output.table(&rows.collect::<Vec<_>>()).trim_end().to_owned());
    }
    output.answer(&value, lines.join("\n"))
}

fn show(session: &Session, found: &PromptsResult, name: &str) -> Result<()> {
    let name = name.trim_start_matches('/');
    let own = found.prompts.iter().find(|prompt| prompt.name == name);
    let example = found.examples.iter().find(|example| example.name == name);
    let text = match (own, example) {
        (Some(prompt), _) => WholeNote::read(session, &prompt.path)?.text,
        (None, Some(example)) => example.text.clone(),
        (None, None) => return Err(no_prompt(name)),
    };
    if session.output.json() {
        session.output.json_value(&json!({ "name": name, "text": text }))
    } else {
        session.output.text(visible_lines(&text).trim_end())
    }
}

/// Shows the examples, asks, and writes each as a note, through the journal.
fn add(session: &Session, found: &PromptsResult, names: &[String], yes: bool) -> Result<()> {
    let wanted = |example: &&PromptExample| {
        names.is_empty() || names.iter().any(|name| name.trim_start_matches('/') == example.name)
    };
    let unknown = names
        .iter()
        .map(|name| name.trim_start_matches('/'))
        .find(|name| found.examples.iter().all(|example| example.name != *name));
    if let Some(name) = unknown {
        return Err(if found.prompts.iter().any(|prompt| prompt.name == name) {
            Failure::usage(format!("`/{name}` already exists"), "edit its note")
        } else {
            no_prompt(name)
        });
    }
    let examples: Vec<&PromptExample> = found.examples.iter().filter(wanted).collect();
    if examples.is_empty() && !session.output.json() {
        return session.output.text("every example already exists");
    }
    if !yes && !examples.is_empty() {
        if !consent::has_terminal() {
            let hint = "`--yes` adds them; `steward prompts show NAME` prints one";
            return Err(Failure::usage("nobody can be asked here", hint));
        }
        let mut terminal = std::io::stderr().lock();
        for example in &examples {
            let (path, text) = (visible(&example.path), visible_lines(&example.text));
            writeln!(terminal, "{path}\n{}\n", text.trim_end())?;
        }
        let question = format!("Write {} into the vault?", notes(examples.len()));
        if !consent::says_yes(&question)? {
            return Err(Failure::other("denied", "nothing was done", ""));
        }
    }
    let mut written = Vec::new();
    for example in examples {
        let arguments = json!({ "path": example.path, "content": example.text, "if_exists": "fail", "create": true });
        let options = CallOptions::agreed(true);
        let answer = session.call_with(WriteFile::NAME, arguments, options)?;
        let (path, change_set) = (&answer.data["path"], &answer.data["change_set"]);
        written.push(json!({ "name": example.name, "path": path, "changeSet": change_set }));
    }
    let value = json!({ "added": written });
    let names = written.iter().filter_map(|one| one["name"].as_str());
    let names: Vec<String> = names.map(|name| format!("/{name}")).collect();
    session
        .output
        .answer(&value, format!("added {}; `steward undo` undoes the last one", names.join(", ")))
}

fn notes(number: usize) -> String {
    if number == 1 { "this note".to_owned() } else { format!("these {number} notes") }
}

fn no_prompt(name: &str) -> Failure {
    let message = format!("there is no prompt `{}`", visible(name));
    Failure::usage(message, "`steward prompts` lists them")
}
