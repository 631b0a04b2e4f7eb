//! `steward vaults`: the known vaults, and the one used here.

use std::path::Path;

use serde_json::json;

use super::{Result, Session};
use crate::config::folders::same_folder;
use crate::config::vaults::all_known;

/// Prints the vaults of Obsidian's list and those that were served, marked as open, missing, served or chosen.
pub fn run(session: &Session) -> Result<()> {
    let choice = session.choose();
    let chosen = choice.as_ref().ok();
    let is_chosen = |path: &Path| chosen.is_some_and(|c| same_folder(path, &c.root));
    let vaults = all_known(&session.folders, &session.known);
    if session.output.json() {
        let vaults = vaults.iter().map(|vault| {
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
        let vaults: Vec<_> = vaults.collect();
        let chosen = chosen.map(
            |choice| json!({ "path": choice.root.to_string_lossy(), "because": choice.origin }),
        );
        return session.output.json_value(&json!({ "vaults": vaults, "chosen": chosen }));
    }
    if vaults.is_empty() {
        session
            .output
            .text("no vaults are known: none in Obsidian's list, and none was served before")?;
    } else {
        let mut rows = vec![["VAULT", "PATH", "STATE"].map(str::to_owned).to_vec()];
        for vault in vaults {
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
            rows.push(vec![vault.name, vault.path.display().to_string(), state.join(", ")]);
        }
        session.output.text(&session.output.table(&rows))?;
    }
    session.output.text(&match &choice {
        Ok(choice) => {
            format!("used here: {}, {}", choice.root.display(), choice.origin.words())
        }
        Err(failure) => format!("no vault is used here: {}", failure.message),
    })?;
    Ok(())
}
