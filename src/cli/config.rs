//! `steward config`: the settings file. [`super::settings`] reads and writes its values.

use std::io::ErrorKind;

use clap::Subcommand;
use serde_json::json;

use super::settings::{self, SettingsSource};
use super::{Failure, Output, Result, completions};
use crate::config::layers::{self, Flags};
use crate::config::models::outside_chain;
use crate::config::{Environment, file, folders, init};
use crate::llm::setup;

#[derive(Debug, Clone, Subcommand)]
pub enum ConfigAction {
    /// Write a commented settings file that changes nothing yet
    Init,
    /// Print which settings file is read
    Path,
    /// Check the settings file and the environment
    Check,
    /// List every setting with its value and source (with --json: all about it)
    List,
    /// Print the value of one setting
    Get {
        /// Its section and its name, such as server.port
        #[arg(add = completions::settings())]
        key: String,
    },
    /// Set a value in the settings file
    Set {
        /// Its section and its name, such as server.port
        #[arg(add = completions::settings())]
        key: String,
        /// The value; a text needs no quotes, a list has commas: a, b
        #[arg(required_unless_present = "default", allow_hyphen_values = true)]
        value: Option<String>,
        /// Go back to the default
        #[arg(long, conflicts_with = "value")]
        default: bool,
    },
}

/// Writes, finds or checks the settings file. Works without a vault and with wrong settings.
pub fn run(flags: Flags, action: &ConfigAction, output: &Output) -> Result<()> {
    let environment = Environment::of_process();
    let folders = folders::folders(&environment)?;
    let (path, named) = layers::which_file(&flags, &environment, &folders);
    match action {
        ConfigAction::Init => {
            init::write(&path).map_err(|error| match error.kind() {
                ErrorKind::AlreadyExists => Failure::other(
                    "already_exists",
                    format!("`{}` already exists", path.display()),
                    "edit it, or name another file with `--config`",
                ),
                _ => Failure::other(
                    "io_error",
                    format!("could not write `{}`: {error}", path.display()),
                    "name another file with `--config`",
                ),
            })?;
            let text = "every line in it is a comment that shows a default";
            output.answer(
                &json!({ "file": path, "written": true }),
                format!("wrote {}; {text}", path.display()),
            )?;
        }
        ConfigAction::Path => {
            let exists = file::exists(&path);
            let found = json!({ "file": path, "exists": exists, "named": named });
            output.answer(&found, path.display().to_string())?;
        }
        ConfigAction::Check => {
            let settings = layers::load(&flags, &environment, &folders)?;
            settings.notices.iter().for_each(|notice| output.notice(notice));
            let mut all = settings.config.models.clone();
            let in_chain = all.chain.len();
            all.chain.extend(outside_chain(&settings.config));
            if let Some((model, fault)) = setup::faults(&all).into_iter().next() {
                let file = settings.file.display();
                let is_in_chain = all.chain[..in_chain].iter().any(|one| one == model);
                let part = if is_in_chain { "`models.chain`" } else { "`[agent]` or an agent" };
                let message = format!("{file}: {part} names `{model}`: {fault}");
                let code = "invalid_config".to_owned();
                return Err(Failure { code, ..Failure::usage(message, fault.hint()) });
            }
            if output.json() {
                let (file, exists) = (&settings.file, settings.file_exists);
                output.json_value(&json!({
                    "ok": true, "file": file, "exists": exists, "settings": settings.config,
                }))?;
            } else if settings.file_exists {
                output.text(&format!("ok: {}", settings.file.display()))?;
            } else {
                output.text(&format!("ok: no {}; using defaults", settings.file.display()))?;
            }
        }
        ConfigAction::List => {
            settings::list(&SettingsSource::new(environment, folders, flags), output)?
        }
        ConfigAction::Get { key } => {
            settings::get(&SettingsSource::new(environment, folders, flags), key, output)?;
        }
        ConfigAction::Set { key, value, .. } => {
            let place = SettingsSource::new(environment, folders, flags);
            settings::set(&place, key, value.as_deref(), output)?;
        }
    }
    Ok(())
}
