//! `steward doctor`: checks everything that the daemon depends on, one line each, with the next step.

mod checks;
mod outside;
mod places;
mod vault;

#[cfg(target_os = "linux")]
mod limits;

use std::process::ExitCode;

use serde_json::json;

use super::failure::Failure;
use super::output::{Output, Paint};
use super::plugin;
use crate::config::folders::{self, Folders};
use crate::config::layers::{self, Flags, Settings};
use crate::config::obsidian;
use crate::config::{Environment, vaults};
use checks::{Checks, Outcome};

/// Runs all checks, even if some fail, and prints one line each. The exit code is 1 if any fails.
pub fn run(flags: &Flags, output: &Output) -> Result<ExitCode, Failure> {
    let environment = Environment::of_process();
    let folders = folders::folders(&environment)?;
    let mut checks = Checks::default();
    look(flags, &environment, &folders, &mut checks);

    let failed = checks.0.iter().any(|check| check.outcome == Outcome::Fail);
    output.answer(&json!({ "ok": !failed, "checks": checks.0 }), text(&checks, output))?;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn look(flags: &Flags, environment: &Environment, folders: &Folders, checks: &mut Checks) {
    let settings = settings(flags, environment, folders, checks);
    let config = settings.as_ref().map(|s| s.config.clone()).unwrap_or_default();
    // Even with invalid settings, a flag, the environment or the file may name a vault.
    let remains = || layers::remains(flags, environment, folders);
    let named = match &settings {
        Some(settings) => settings.vault.clone(),
        None => remains().and_then(|settings| settings.vault),
    };

    places::program(environment, checks);
    places::models(&config, environment, folders, checks);
    places::keyring(&config, environment, checks);
    let known = obsidian::known_vaults(environment);
    for (list, reason) in &known.faults {
        checks.warn(
            "vault list",
            format!("could not use `{}`: {reason}", list.display()),
            "Obsidian writes it anew when a vault is opened; until then name vaults by path",
        );
    }
    if known.faults.is_empty() {
        let said = match known.read.first() {
            Some(list) => format!("{} vaults in `{}`", known.vaults.len(), list.display()),
            None => "Obsidian keeps no list of vaults here".to_owned(),
        };
        checks.ok("vault list", said);
    }

    match vaults::choose(named, environment, folders, &known) {
        Ok(choice) => {
            let root = choice.root;
            checks.ok("vault", format!("`{}`, {}", root.display(), choice.origin.words()));
            for notice in choice.notices {
                checks.warn("vault", notice, "open the folder in Obsidian once if it is to be one");
            }
            if let Some((text, is_older)) = plugin::described(&root) {
                match is_older {
                    true => checks.warn("plugin", text, "run that in this vault"),
                    false => checks.ok("plugin", text),
                }
            }
            let state = places::state(folders, &root, checks);
            let served = places::daemon(folders, &root, &config, checks);
            places::confinement(&config, served.as_ref(), checks);
            places::meaning(&config, folders, served.as_ref(), checks);
            outside::look(&config, environment, folders, &root, checks);
            if let Some(served) = &served {
                places::settings(served, checks);
            }
            if let Some(state) = state {
                vault::look(&root, &state, &config, served, checks);
            }
        }
        Err(error) => {
            let hint = error.hint();
            checks.fail("vault", error.to_string(), hint);
            places::port(&config, None, checks);
        }
    }
}

fn settings(
    flags: &Flags,
    environment: &Environment,
    folders: &Folders,
    checks: &mut Checks,
) -> Option<Settings> {
    match layers::load(flags, environment, folders) {
        Ok(settings) => {
            let file = settings.file.display();
            checks.ok(
                "settings",
                match settings.file_exists {
                    true => format!("`{file}` is right"),
                    false => format!("no `{file}`; using defaults"),
                },
            );
            for notice in &settings.notices {
                checks.warn("settings", notice, "`steward config init` writes a commented file");
            }
            Some(settings)
        }
        Err(error) => {
            let hint = error.hint().unwrap_or_else(|| "correct it".to_owned());
            checks.fail("settings", error.to_string(), hint);
            None
        }
    }
}

fn text(checks: &Checks, output: &Output) -> String {
    let mut text = String::new();
    let width = checks.0.iter().map(|check| check.what.len()).max().unwrap_or(0);
    for check in &checks.0 {
        let mark = match check.outcome {
            Outcome::Ok => output.paint(Paint::Green, "ok  "),
            Outcome::Warn => output.paint(Paint::Yellow, "warn"),
            Outcome::Fail => output.paint(Paint::Red, "fail"),
        };
        text.push_str(&format!("{mark}  {:<width$}  {}", check.what, check.says));
        if let Some(hint) = &check.hint {
            text.push_str(&format!("; {hint}"));
        }
        text.push('\n');
    }
    text
}
