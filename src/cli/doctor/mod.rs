//! `steward doctor`: checks everything that the daemon depends on, one line each, with the next step.

mod checks;
mod outside;
mod places;
mod vault;

#[cfg(target_os = "linux")]
mod limits;

use std::cell::RefCell;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use super::plugin;
use crate::cli::output::Paint;
use crate::cli::{Output, Result};
use crate::config::layers::{self, Flags, Settings};
use crate::config::{Config, Environment, folders, obsidian, vaults};
use crate::note::counted::counted;
use checks::{Check, CheckResult, Doctor};

/// Runs all checks, even if some fail, and prints one line each. The exit code is 1 if any fails.
pub fn run(flags: &Flags, output: &Output) -> Result<ExitCode> {
    let environment = &Environment::of_process();
    let folders = &folders::folders(environment)?;
    let checks = RefCell::default();
    let mut doctor = Doctor { config: Config::default(), environment, folders, checks };
    let settings = settings(&doctor, flags);
    // Even with invalid settings, a flag, the environment or the file may name a vault.
    let named = match settings {
        Some(settings) => {
            doctor.config = settings.config;
            settings.vault
        }
        None => layers::fallback(flags, environment, folders).and_then(|settings| settings.vault),
    };
    check_all(&doctor, named);
    let checks = doctor.checks.into_inner();
    let failed = checks.iter().any(|check| check.result == CheckResult::Fail);
    output.answer(&json!({ "ok": !failed, "checks": checks }), text(&checks, output))?;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Checks everything but the settings.
fn check_all(doctor: &Doctor<'_>, named: Option<(PathBuf, vaults::Origin)>) {
    places::program(doctor);
    places::models(doctor);
    places::keyring(doctor);
    let known = obsidian::known_vaults(doctor.environment);
    for (list, reason) in &known.faults {
        doctor.warn(
            "vault list",
            format!("could not use `{}`: {reason}", list.display()),
            "Obsidian writes it again when a vault is opened; until then name vaults by path",
        );
    }
    if known.faults.is_empty() {
        let text = match known.read.first() {
            Some(list) => {
                format!("{} in `{}`", counted(known.vaults.len(), "vault"), list.display())
            }
            None => "Obsidian keeps no list of vaults here".to_owned(),
        };
        doctor.ok("vault list", text);
    }
    let choice = match vaults::choose(named, doctor.environment, doctor.folders, &known) {
        Ok(choice) => choice,
        Err(error) => {
            doctor.fail("vault", error.to_string(), error.hint());
            return places::port(doctor, None);
        }
    };
    let root = choice.root;
    doctor.ok("vault", format!("`{}`, {}", root.display(), choice.origin.words()));
    for notice in choice.notices {
        doctor.warn("vault", notice, "open the folder in Obsidian once if it is to be one");
    }
    match plugin::described(&root) {
        Some((text, true)) => doctor.warn("plugin", text, "run that in this vault"),
        Some((text, false)) => doctor.ok("plugin", text),
        None => {}
    }
    let state = places::state(doctor, &root);
    let served = places::daemon(doctor, &root);
    places::confinement(doctor, served.as_ref());
    places::meaning(doctor, served.as_ref());
    outside::check(doctor, &root);
    if let Some(served) = &served {
        places::settings(doctor, served);
    }
    if let Some(state) = state {
        vault::check(doctor, &root, &state, served);
    }
}

fn settings(doctor: &Doctor<'_>, flags: &Flags) -> Option<Settings> {
    match layers::load(flags, doctor.environment, doctor.folders) {
        Ok(settings) => {
            let file = settings.file.display();
            doctor.ok(
                "settings",
                if settings.file_exists {
                    format!("`{file}` is right")
                } else {
                    format!("no `{file}`; using defaults")
                },
            );
            for notice in &settings.notices {
                doctor.warn("settings", notice, "`steward config init` writes a commented file");
            }
            Some(settings)
        }
        Err(error) => {
            let hint = error.hint().unwrap_or_else(|| "correct it".to_owned());
            doctor.fail("settings", error.to_string(), hint);
            None
        }
    }
}

fn text(checks: &[Check], output: &Output) -> String {
    let mut text = String::new();
    let width = checks.iter().map(|check| check.what.len()).max().unwrap_or(0);
    for check in checks {
        let mark = match check.result {
            CheckResult::Ok => output.paint(Paint::Green, "ok  "),
            CheckResult::Warn => output.paint(Paint::Yellow, "warn"),
            CheckResult::Fail => output.paint(Paint::Red, "fail"),
        };
        text.push_str(&format!("{mark}  {:<width$}  {}", check.what, check.says));
        if let Some(hint) = &check.hint {
            text.push_str(&format!("; {hint}"));
        }
        text.push('\n');
    }
    text
}
