//! The settings, as clients read and change them.

use std::io;

use serde_json::Value;

use crate::config::change::{self, ChangeError};
use crate::config::keys::{self, Setter, Takes};
use crate::config::layers::Source;
use crate::config::live::{CheckResult, InvalidFile, Live, Problem};
use crate::config::{Config, file};
use crate::policy::Scope;
use crate::protocol::error::{ErrorObject, Kind, Result};
use crate::protocol::settings::{
    ConfigProblem, Setting, SettingSource, SettingsGetResult, SettingsSetResult, TakesEffect,
};
use crate::protocol::status::SettingsState;
use crate::server::events::Event;
use crate::vault::View;

/// Every setting, after a check of the file, for a program with this scope and view. A program that
/// does not see the whole vault gets only numbers and switches: texts and lists may contain hidden
/// names.
pub fn get(live: &Live, scope: Scope, view: &View) -> SettingsGetResult {
    live.check(InvalidFile::Ignore);
    let current = live.current();
    let (now, default) = (keys::values(&current.config), keys::values(&Config::default()));
    let later = keys::values(&live.configured());
    let docs = keys::docs();
    let is_writable = scope.is_person() && change::is_writable(live.path());
    let setting = |(key, value): (String, Value)| {
        let decided = keys::find(&key);
        let (source, from) = match current.sources.get(&key) {
            None => (SettingSource::Default, None),
            Some(Source::File) => (SettingSource::File, None),
            Some(Source::Environment(name)) => (SettingSource::Environment, Some(*name)),
            Some(Source::Flag(name)) => (SettingSource::Flag, Some(*name)),
        };
        let after_restart = later.get(&key).filter(|later| **later != value).cloned();
        let default = default.get(&key).cloned().unwrap_or_default();
        let names_nothing = |value: &Value| {
            view.is_all() || value.is_number() || value.is_boolean() || *value == default
        };
        let after_restart = after_restart.filter(names_nothing);
        // If a flag names the vault, the path in the file does not count.
        let value = match (key.as_str(), &current.vault) {
            ("vault.path", Some((path, _))) => path.to_string_lossy().into(),
            _ => value,
        };
        let value = match (key.starts_with("servers."), scope.is_person()) {
            (true, true) => without_secrets(value),
            (false, _) if names_nothing(&value) => value,
            _ => Value::Null,
        };
        Setting {
            default,
            source,
            from: from.map(str::to_owned),
            takes_effect: match keys::takes(&key) {
                Takes::Call => TakesEffect::NextCall,
                Takes::Connection => TakesEffect::NextConnection,
                Takes::Restart => TakesEffect::Restart,
            },
            after_restart,
            settable: is_writable && decided.is_some_and(|key| may_set(key.setter, scope)),
            doc: docs.get(&key).cloned().unwrap_or_default(),
            key,
            value,
        }
    };
    SettingsGetResult {
        file: live.path().to_string_lossy().into_owned(),
        exists: file::exists(live.path()),
        problem: live.status().problem.as_ref().map(|found| problem(found, view)),
        settings: now
            .into_iter()
            .filter(|(key, _)| view.is_all() || !keys::is_named(key))
            .map(setting)
            .collect(),
    }
}

/// A server's entry without the values of its environment and its headers, which may be keys.
fn without_secrets(mut entry: Value) -> Value {
    let is_reference = |text: &str| text.strip_prefix("Bearer ").unwrap_or(text).starts_with("${");
    for part in ["env", "headers"] {
        let values = entry.get_mut(part).and_then(Value::as_object_mut);
        for value in values.into_iter().flat_map(|values| values.values_mut()) {
            if !value.as_str().is_some_and(is_reference) {
                *value = "(hidden)".into();
            }
        }
    }
    entry
}

/// Changes a setting in the file and applies the file.
///
/// # Errors
/// Kinds `invalid_setting`, `not_permitted` and `failed`; the file is unchanged.
pub fn set(live: &Live, scope: Scope, name: &str, value: &Value) -> Result<SettingsSetResult> {
    if keys::find(name).is_some_and(|key| !may_set(key.setter, scope)) {
        return Err(ErrorObject::new(
            Kind::NotPermitted,
            format!("`{name}` cannot be changed by a client"),
        )
        .hint("change it in the settings file, or with `steward config set`"));
    }
    let news = live.set(name, value).map_err(|error| refused(&error, Kind::InvalidSetting))?;
    tracing::info!(setting = name, "a client changed the settings file");
    let changed = match news {
        CheckResult::Reloaded { changed, .. } => changed,
        _ => Vec::new(),
    };
    let overridden_by = match live.current().sources.get(name) {
        Some(Source::Environment(by) | Source::Flag(by)) => Some((*by).to_owned()),
        _ => None,
    };
    let needs_restart = live.status().needs_restart;
    Ok(SettingsSetResult { changed, needs_restart, overridden_by })
}

/// The error of a file that was not changed; `invalid` is the kind for an invalid value.
pub(super) fn refused(error: &ChangeError, invalid: Kind) -> ErrorObject {
    let kind = match error {
        ChangeError::Unknown { .. } | ChangeError::Invalid { .. } => invalid,
        _ => Kind::Failed,
    };
    let refused = ErrorObject::new(kind, error.to_string());
    let hint = match error {
        ChangeError::Unwritable { source, .. }
            if source.kind() == io::ErrorKind::PermissionDenied =>
        {
            let words = "a confined daemon changes settings in the steward's own folder alone: \
                         `steward config set` in a terminal changes these, or an editor";
            Some(words.to_owned())
        }
        error => error.hint(),
    };
    refused.maybe_hint(hint)
}

fn may_set(setter: Setter, scope: Scope) -> bool {
    match setter {
        Setter::Person => scope.is_person(),
        Setter::File => false,
    }
}

/// The state of the file, for the `status` of a program with this view.
pub fn state(live: &Live, view: &View) -> SettingsState {
    let status = live.status();
    SettingsState {
        file: live.path().to_string_lossy().into_owned(),
        problem: status.problem.as_ref().map(|found| problem(found, view)),
        needs_restart: status.needs_restart,
    }
}

/// The event of settings news, if there is one.
pub fn event(news: &CheckResult) -> Option<Event> {
    match news.clone() {
        CheckResult::Nothing => None,
        CheckResult::Reloaded { changed, needs_restart } => {
            Some(Event::ConfigReloaded { changed, needs_restart })
        }
        CheckResult::Rejected(rejected) => {
            Some(Event::ConfigRejected(problem(&rejected, &View::default())))
        }
    }
}

/// A problem with the file. Its text may quote the file, so only programs that see the whole vault
/// get it.
fn problem(problem: &Problem, view: &View) -> ConfigProblem {
    if !view.is_all() {
        return ConfigProblem {
            file: problem.file.to_string_lossy().into_owned(),
            line: None,
            column: None,
            message: "the settings file has an error; the previous settings stay in effect"
                .to_owned(),
            hint: None,
        };
    }
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    ConfigProblem {
        file: problem.file.to_string_lossy().into_owned(),
        line: problem.place.map(|(line, _)| number(line)),
        column: problem.place.map(|(_, column)| number(column)),
        message: problem.message.clone(),
        hint: problem.hint.clone(),
    }
}
