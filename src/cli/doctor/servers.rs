//! Checks that a person has allowed the tools of each server.

use std::path::Path;

use super::checks::Checks;
use crate::config::Config;
use crate::config::folders::{self, Folders};
use crate::servers::pin::Pin;

pub(super) fn look(config: &Config, folders: &Folders, root: &Path, checks: &mut Checks) {
    let place = folders::servers_folder(&folders.of_vault(root));
    for (name, entry) in config.servers.entries.iter().filter(|(_, entry)| entry.enabled) {
        let pin = Pin::load(&place, name).filter(|pin| pin.is_of(entry));
        match pin {
            None => {
                let said = format!("nobody has allowed the tools of `{name}`");
                checks.warn("servers", said, format!("run `steward servers allow {name}`"));
            }
            Some(pin) => {
                checks.ok("servers", format!("`{name}`: {} tools allowed", pin.tools.len()))
            }
        }
    }
}
