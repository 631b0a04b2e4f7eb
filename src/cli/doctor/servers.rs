//! What the servers of the settings need, and lack.

#![expect(
    clippy::disallowed_methods,
    reason = "programs and a service's file, outside every vault"
)]

use std::path::Path;

use super::checks::Checks;
use crate::config::folders::{self, Folders};
use crate::config::{Config, Environment};
use crate::daemon::tool_servers;
use crate::hooks::places::at_home;
use crate::servers::pin::Pin;

pub(super) fn look(
    config: &Config,
    environment: &Environment,
    folders: &Folders,
    root: &Path,
    checks: &mut Checks,
) {
    let place = folders::servers_folder(&folders.of_vault(root));
    let mut enabled = config.servers.entries.iter().filter(|(_, entry)| entry.enabled).peekable();
    if enabled.peek().is_some() && !tool_servers::is_possible() {
        let said = "servers are not confined on this system: they can read and write what you can";
        checks.warn("servers", said, "add only servers that you trust with that");
    }
    for (name, entry) in enabled {
        let pin = Pin::load(&place, name).filter(|pin| pin.is_of(entry));
        match pin {
            _ if !at_home(&entry.command).is_file() => {
                let said = format!("the program of `{name}` is missing: `{}`", entry.command);
                checks.warn("servers", said, "install it, or correct its path in the settings");
            }
            None => {
                let said = format!("nobody has allowed the tools of `{name}`");
                checks.warn("servers", said, format!("run `steward servers allow {name}`"));
            }
            Some(pin) => {
                checks.ok("servers", format!("`{name}`: {} tools allowed", pin.tools.len()))
            }
        }
    }
    let settings = environment.absolute("XDG_CONFIG_HOME");
    let settings = settings.or_else(|| Some(environment.home()?.join(".config")));
    let unit = format!("systemd/user/vault-steward-{}.service", folders::vault_id(root));
    let unit = settings.and_then(|folder| std::fs::read_to_string(folder.join(unit)).ok());
    if config.starts_programs()
        && unit.is_some_and(|text| text.contains("MemoryDenyWriteExecute=yes"))
    {
        let said = "the service forbids what Node and others need, so that servers and hooks in them end at once";
        checks.warn("service", said, "run `steward service install` again");
    }
}
