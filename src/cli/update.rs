//! `steward update`: how to update this program and, on request, whether there is a newer version.

use clap::Args;
use serde_json::{Value, json};

use super::{Failure, Result, Session, client};
use crate::config::installed::Installation;
use crate::llm::endpoint::{Address, Connections};
use crate::protocol::version::Version;

/// The parts that stay at the old version until they are updated, too.
const AFTER: &str =
    "then `steward service restart`, and `steward plugin update` in each vault with the plugin";

#[derive(Debug, Args)]
pub struct UpdateArguments {
    /// Ask the project's address for the newest version; nothing else ever does
    #[arg(long)]
    pub check: bool,
}

/// Shows how the program was installed and is updated. Asks the network only with `--check`.
pub fn run(session: &Session, arguments: &UpdateArguments) -> Result<()> {
    let installed = Installation::of_process(&session.environment);
    let own = Version::own();
    let newest = if arguments.check { Some(newest(session, &installed)?) } else { None };
    let (by, how) = (&installed.by, &installed.update);
    let text = match newest {
        None => format!("version {own}, installed {by}\nto update: {how}; {AFTER}"),
        Some(newest) if newest > own => {
            format!(
                "version {newest} is available; this is {own}, installed {by}\nto update: {how}; {AFTER}"
            )
        }
        Some(_) => format!("version {own} is the newest"),
    };
    let value = json!({
        "version": own.to_string(),
        "newest": newest.map(|newest| newest.to_string()),
        "isCurrent": newest.map(|newest| newest <= own),
        "installed": installed,
    });
    session.output.answer(&value, text)
}

fn newest(session: &Session, installed: &Installation) -> Result<Version> {
    let config = session.config()?;
    let Some(address) = config.update.address() else {
        let hint =
            format!("`[update] url` in the settings names one; to update: {}", installed.update);
        let message = "this build has no address to check for newer versions";
        return Err(Failure::other("no_address", message, hint));
    };
    let failed = |why: String| {
        let message = format!("could not learn the newest version from `{address}`: {why}");
        Failure::other("update_check", message, format!("to update anyway: {}", installed.update))
    };
    let place = Address::new(&address).map_err(|error| failed(format!("it {error}")))?;
    let connections = Connections::new(&config.models.limits());
    let answer = client::runtime()?.block_on(connections.document(&place));
    let answer = answer.map_err(|error| failed(error.to_string()))?;
    let named = answer["version"].as_str().or_else(|| answer["tag_name"].as_str());
    let version = named.and_then(Version::parse);
    version.ok_or_else(|| failed(format!("it names no version: {}", shorten_answer(&answer))))
}

fn shorten_answer(answer: &Value) -> String {
    answer.to_string().chars().take(80).collect()
}
