//! `steward organize draft`: rules drafted by a model from a sentence.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, json};

use super::super::failure::Failure;
use super::super::output::Output;
use super::super::reach::{self, Way};
use super::super::session::Session;
use crate::protocol::organize::OrganizeDraftParams;
use crate::tools::{Tool as _, WriteFile};

/// The arguments of `organize draft`.
#[derive(Debug, Clone, Args)]
pub struct DraftArguments {
    /// The purpose of the rules: "old meeting notes into the archive, by year"
    pub text: String,
    /// A rule file that is to be changed so
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Write the rules into this new file of the vault
    #[arg(long, value_name = "FILE")]
    pub save: Option<String>,
}

/// Has a model draft rules, and shows them with their descriptions and the files that they select.
pub fn run(session: &Session, arguments: &DraftArguments, output: &Output) -> Result<(), Failure> {
    let root = session.vault(output)?;
    let rules = match &arguments.from {
        Some(file) => Some(super::rules::outside(file)?.ok_or_else(|| {
            let message = format!("there is no file `{}`", file.display());
            Failure::other("not_found", message, "name a rule file")
        })?),
        None => None,
    };
    let params = OrganizeDraftParams { text: arguments.text.clone(), rules };
    let Some(draft) = reach::ask(session, &root, &params)? else {
        let message = "no daemon runs for this vault, and it is what asks the model";
        return Err(Failure::other("no_daemon", message, "start one with `steward serve`"));
    };
    let mut text = format!("{}\n\n{}", draft.rules.trim_end(), draft.text.trim_end());
    if let Some(file) = &arguments.save {
        let mut new = Map::new();
        new.insert("path".to_owned(), json!(file));
        new.insert("content".to_owned(), json!(draft.rules));
        new.insert("if_exists".to_owned(), json!("fail"));
        reach::call(session, &root, WriteFile::NAME, new, Way::agreed(true))?;
        text.push_str(&format!("\n\nsaved as {file}"));
    }
    if let Some(plan) = draft.plan["plan"].as_u64() {
        text.push_str(&format!(
            "\n\nNothing is changed yet. `steward organize show {plan}` shows each note, \
             `steward organize apply {plan}` does it."
        ));
    }
    Ok(output.answer(&json!(draft), text)?)
}
