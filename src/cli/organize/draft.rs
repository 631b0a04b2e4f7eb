//! `steward organize draft`: rules drafted by a model from a sentence.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::cli::{CallOptions, Failure, Result, Session};
use crate::protocol::organize::OrganizeDraftParams;
use crate::tools::{Tool as _, WriteFile};

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

/// Drafts rules with a model, and shows them with their descriptions and the files that they
/// select.
pub fn run(session: &Session, arguments: &DraftArguments) -> Result<()> {
    let rules = match &arguments.from {
        Some(file) => Some(super::rules::outside(file)?.ok_or_else(|| {
            let message = format!("there is no file `{}`", file.display());
            Failure::other("not_found", message, "name a rule file")
        })?),
        None => None,
    };
    let params = OrganizeDraftParams { text: arguments.text.clone(), rules };
    let Some(draft) = session.ask(&params)? else {
        let message = "no daemon runs for this vault, and only the daemon asks the model";
        return Err(session.needs_daemon("no_daemon", message));
    };
    let mut text = format!("{}\n\n{}", draft.rules.trim_end(), draft.text.trim_end());
    if let Some(file) = &arguments.save {
        let new = json!({ "path": file, "content": draft.rules, "if_exists": "fail" });
        session.call_with(WriteFile::NAME, new, CallOptions::agreed(true))?;
        text.push_str(&format!("\n\nsaved as {file}"));
    }
    if let Some(plan) = draft.plan["plan"].as_u64() {
        text.push_str(&format!(
            "\n\nNothing is changed yet. `steward organize show {plan}` shows each note, \
             `steward organize apply {plan}` does it."
        ));
    }
    session.output.answer(&json!(draft), text)
}
