//! `steward vaults`: the known vaults, and the one used here.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use super::failure::Failure;
use super::output::Output;
use super::session::Session;
use crate::config::folders::same_folder;
use crate::config::running::Running;

/// Shown for a vault that Obsidian does not know.
fn name_of(vault: &Path) -> String {
    vault.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Prints Obsidian's vaults and the served ones, marked as open, missing, served or selected.
///
/// # Errors
/// stdout cannot be written. It is no error if no vault would be selected: the output says so.
pub fn run(session: &Session, output: &Output) -> Result<ExitCode, Failure> {
    let choice = session.choose();
    let chosen = choice.as_ref().ok();
    let is_chosen = |path: &Path| chosen.is_some_and(|c| same_folder(path, &c.root));
    let is_known =
        |path: &Path| session.known.vaults.iter().any(|one| same_folder(&one.path, path));
    let mut others: Vec<Running> =
        Running::all(&session.folders).into_iter().map(|one| one.0).collect();
    others.retain(|running| !is_known(Path::new(&running.vault)));
    if output.json() {
        let known = session.known.vaults.iter().map(|vault| {
            json!({
                "name": vault.name,
                "path": vault.path.to_string_lossy(),
                "open": vault.open,
                "exists": vault.exists,
                "lastOpened": vault.last_opened,
                "chosen": is_chosen(&vault.path),
                "daemon": session.running(&vault.path).map(|(running, _)| running),
            })
        });
        let others = others.iter().map(|running| {
            let path = Path::new(&running.vault);
            json!({
                "name": name_of(path),
                "path": running.vault,
                "open": false,
                "exists": true,
                "lastOpened": null,
                "chosen": is_chosen(path),
                "daemon": running,
            })
        });
        let vaults: Vec<_> = known.chain(others).collect();
        let chosen = chosen.map(
            |choice| json!({ "path": choice.root.to_string_lossy(), "because": choice.origin }),
        );
        output.json_value(&json!({ "vaults": vaults, "chosen": chosen }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if session.known.vaults.is_empty() {
        output.text("Obsidian knows no vaults")?;
    }
    if !session.known.vaults.is_empty() || !others.is_empty() {
        let mut rows = vec![["VAULT", "PATH", "STATE"].map(str::to_owned).to_vec()];
        for vault in &session.known.vaults {
            let mut state = Vec::new();
            if is_chosen(&vault.path) {
                state.push("chosen".to_owned());
            }
            if vault.open {
                state.push("open".to_owned());
            }
            if !vault.exists {
                state.push("missing".to_owned());
            }
            if let Some((running, _)) = session.running(&vault.path) {
                state.push(format!("served by pid {} on port {}", running.pid, running.port));
            }
            let path = vault.path.display().to_string();
            rows.push(vec![vault.name.clone(), path, state.join(", ")]);
        }
        for running in others {
            let path = Path::new(&running.vault);
            let mut state = Vec::new();
            if is_chosen(path) {
                state.push("chosen".to_owned());
            }
            state.push(format!("served by pid {} on port {}", running.pid, running.port));
            rows.push(vec![name_of(path), running.vault.clone(), state.join(", ")]);
        }
        output.text(&output.table(&rows))?;
    }
    output.text(&match &choice {
        Ok(choice) => {
            format!("used here: {}, {}", choice.root.display(), choice.origin.words())
        }
        Err(failure) => format!("no vault is used here: {}", failure.message),
    })?;
    Ok(ExitCode::SUCCESS)
}
