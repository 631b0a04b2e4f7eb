//! `steward config list|get|set`: the values in the settings file, and those that the running
//! daemon uses.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::failure::USAGE;
use super::{Failure, Output, Result, Session, session};
use crate::config::change::{self, ChangeError};
use crate::config::folders::Folders;
use crate::config::layers::{self, Flags};
use crate::config::live::Live;
use crate::config::running::Running;
use crate::config::{Config, Environment, obsidian, vaults};
use crate::methods;
use crate::policy::Scope;
use crate::protocol::settings::{
    Setting, SettingSource, SettingsGetParams, SettingsGetResult, TakesEffect,
};
use crate::vault::View;

#[derive(Debug)]
pub struct SettingsSource {
    environment: Environment,
    folders: Folders,
    flags: Flags,
    file: PathBuf,
    named: bool,
}

impl SettingsSource {
    /// The location that flags and environment name.
    pub fn new(environment: Environment, folders: Folders, flags: Flags) -> Self {
        let (file, named) = layers::which_file(&flags, &environment, &folders);
        let file = environment.working_folder().map_or(file.clone(), |folder| folder.join(file));
        Self { environment, folders, flags, file, named }
    }

    /// The location that the command's flags and environment name.
    pub fn of(session: &Session) -> Self {
        let Session { environment, folders, flags, .. } = session;
        Self::new(environment.clone(), folders.clone(), flags.clone())
    }

    /// Every effective setting: of the daemon that uses this file, if one is running, or of a
    /// daemon started like this command.
    fn settings(&self) -> Result<(SettingsGetResult, bool)> {
        if let Some(daemon_settings) = self.daemon()? {
            return Ok((daemon_settings, true));
        }
        let settings = layers::load(&self.flags, &self.environment, &self.folders)?;
        let live = Live::new(settings, self.named, self.flags.clone(), self.environment.clone());
        Ok((methods::settings::get(&live, Scope::Person, &View::default()), false))
    }

    /// The settings of the selected vault's daemon, if it uses this file.
    fn daemon(&self) -> Result<Option<SettingsGetResult>> {
        let known = obsidian::known_vaults(&self.environment);
        let (flags, environment, folders) = (&self.flags, &self.environment, &self.folders);
        let loaded = layers::load(flags, environment, folders).ok();
        let loaded = loaded.or_else(|| layers::fallback(flags, environment, folders));
        let Some(settings) = loaded else { return Ok(None) };
        let named = settings.vault;
        let Ok(choice) = vaults::choose(named, &self.environment, &self.folders, &known) else {
            return Ok(None);
        };
        let Some((running, state)) = Running::find(&self.folders, &choice.root) else {
            return Ok(None);
        };
        let asked = session::ask_running(&running, &state, &SettingsGetParams {}, false)?;
        Ok(asked.filter(|settings| self.file.as_path() == Path::new(&settings.file)))
    }
}

pub fn list(settings_source: &SettingsSource, output: &Output) -> Result<()> {
    let (settings, _) = settings_source.settings()?;
    if output.json() {
        output.json_value(&settings)?;
        return Ok(());
    }
    if let Some(problem) = &settings.problem {
        output.notice(&format!(
            "the daemon keeps the previous settings: {}",
            super::status::settings_problem(problem)
        ));
    }
    let mut rows = vec![["SETTING", "VALUE", "FROM"].map(str::to_owned).to_vec()];
    rows.extend(settings.settings.iter().map(|setting| {
        let from = match &setting.after_restart {
            Some(later) => format!("{}; {later} after a restart", source(setting)),
            None => source(setting),
        };
        vec![setting.key.clone(), setting.value.to_string(), from]
    }));
    output.text(&output.table(&rows))
}

/// Prints the value of one setting: text as it is, anything else as JSON.
pub fn get(settings_source: &SettingsSource, key: &str, output: &Output) -> Result<()> {
    let (settings, _) = settings_source.settings()?;
    let setting = find(&settings, key)?;
    output.answer(
        setting,
        &match &setting.value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        },
    )
}

/// Sets a setting in the file; without a value, removes it. A person at the shell may edit the
/// file, so every setting can be set.
///
/// # Errors
/// The value is invalid, or the file cannot be changed; it is unchanged then.
pub fn set(
    settings_source: &SettingsSource,
    key: &str,
    value: Option<&str>,
    output: &Output,
) -> Result<()> {
    let (written, value) = write(settings_source, key, value)?;
    // The request makes the daemon reread the file, so that the answer is current.
    let daemon_settings = settings_source.daemon()?;
    let found = daemon_settings.as_ref().map(|settings| find(settings, key)).transpose()?;
    let answer = json!({
        "key": key, "value": value, "file": settings_source.file, "written": written, "daemon": found,
    });
    let file = settings_source.file.display();
    let mut text = match (written, value.is_null()) {
        (false, _) => format!("{file} has this already"),
        (true, false) => format!("wrote {key} = {value} to {file}"),
        (true, true) => format!("removed {key} from {file}"),
    };
    if let (Some(settings), Some(setting)) = (&daemon_settings, found) {
        text.push_str(&match (&setting.from, &setting.after_restart, setting.takes_effect) {
            _ if settings.problem.is_some() => "; the file has another error".to_owned(),
            (Some(from), ..) => format!("; `{from}` overrides it, so the daemon keeps its value"),
            (None, Some(_), _) => "; it takes effect when the daemon restarts".to_owned(),
            (None, None, TakesEffect::NextConnection) => {
                "; it takes effect for new connections".to_owned()
            }
            (None, None, _) => "; it is in effect now".to_owned(),
        });
    }
    output.answer(&answer, &text)
}

/// Writes the typed value: as TOML if it is valid TOML, otherwise as text.
fn write(
    settings_source: &SettingsSource,
    key: &str,
    value: Option<&str>,
) -> Result<(bool, Value)> {
    let Some(typed) = value else {
        return Ok((change::set(&settings_source.file, key, &Value::Null)?, Value::Null));
    };
    let toml: Option<toml::Table> = format!("value = {typed}").parse().ok();
    let read = toml.filter(|table| table.len() == 1);
    let read = read.and_then(|mut table| serde_json::to_value(table.remove("value")?).ok());
    let text = Value::from(typed);
    if is_list(key) && !read.as_ref().is_some_and(Value::is_array) {
        let list = typed.trim().trim_start_matches('[').trim_end_matches(']').split(',');
        let items = list.map(|item| item.trim().trim_matches('"')).filter(|item| !item.is_empty());
        let value = items.collect::<Value>();
        return Ok((change::set(&settings_source.file, key, &value)?, value));
    }
    match read {
        Some(value) => match change::set(&settings_source.file, key, &value) {
            Err(ChangeError::Invalid { .. }) if value != text => {
                // `~/Notes 2` is not TOML, and for a text `2` is not a number.
                change::set(&settings_source.file, key, &text)
                    .map(|written| (written, text))
                    .or_else(|_| Ok((change::set(&settings_source.file, key, &value)?, value)))
            }
            written => Ok((written?, value)),
        },
        None => Ok((change::set(&settings_source.file, key, &text)?, text)),
    }
}

/// Whether a setting is a list, judged by its default.
fn is_list(key: &str) -> bool {
    let defaults = serde_json::to_value(Config::default()).unwrap_or_default();
    key.split_once('.').is_some_and(|(section, name)| defaults[section][name].is_array())
}

fn find<'a>(settings: &'a SettingsGetResult, key: &str) -> Result<&'a Setting> {
    settings.settings.iter().find(|setting| setting.key == key).ok_or_else(|| {
        let names: Vec<&str> = settings.settings.iter().map(|s| s.key.as_str()).collect();
        let hint = match change::near(key, &names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`steward config list` names them all".to_owned(),
        };
        Failure::usage(format!("there is no setting `{key}`"), hint)
    })
}

fn source(setting: &Setting) -> String {
    match (setting.source, &setting.from) {
        (_, Some(from)) => from.clone(),
        (SettingSource::Default, None) => "default".to_owned(),
        (_, None) => "file".to_owned(),
    }
}

impl From<ChangeError> for Failure {
    fn from(error: ChangeError) -> Self {
        let (exit, code) = match error {
            ChangeError::Unknown { .. } | ChangeError::Invalid { .. } => (USAGE, "invalid_setting"),
            _ => (super::failure::OTHER, "setting_not_saved"),
        };
        let hint = error.hint();
        Self { exit, hint, ..Self::other(code, error.to_string(), "") }
    }
}
