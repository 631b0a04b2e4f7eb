//! How the daemon and its vault are.

use super::{Services, memory, policy, settings};
use crate::protocol::policy::ModeParams;
use crate::protocol::status::{StatusResult, VaultState, Watching as Shown};
use crate::server::table::Context;
use crate::vault::{Abilities, Watching};

/// How the daemon is. Looks at the vault, so it may take a while.
pub fn status(services: &Services, context: &Context) -> StatusResult {
    let (server, calls) = (context.server(), &services.calls);
    StatusResult {
        version: server.version,
        pid: std::process::id(),
        uptime_seconds: server.uptime.as_secs(),
        connections: server.connections,
        epoch: context.events().epoch().to_owned(),
        seq: context.events().seq(),
        settings: settings::state(&services.live),
        confinement: services.confinement.clone(),
        smarthole: services.voice.state(),
        mode: policy::mode(calls, &ModeParams::default()).ok(),
        host: context.hosts().state(),
        memory: memory::of(calls.context(), &services.store().database),
        vault: vault(services),
    }
}

fn vault(services: &Services) -> VaultState {
    let vault = &services.calls.context().vault;
    let status = vault.status();
    let unreadable = status.unreadable.iter().map(|(folder, reason)| {
        format!("the folder `{}` could not be listed: {reason}", folder.as_str())
    });
    VaultState {
        name: vault.name().to_owned(),
        path: vault.root().to_string_lossy().into_owned(),
        notes: status.counts.notes as u64,
        files: status.counts.files as u64,
        folders: status.counts.folders as u64,
        links: status.counts.links as u64,
        conflicts: vault.catalogue().conflicts().count() as u64,
        scanned_ms: status.scan_milliseconds,
        watching: match status.watching {
            Watching::Events { .. } => Shown::Events,
            Watching::Polling { seconds, reason } => Shown::Polling { seconds, reason },
            Watching::Off => Shown::Off,
        },
        warnings: services
            .warnings
            .iter()
            .cloned()
            .chain(unreadable.take(20))
            .chain(status.warnings)
            .chain(services.calls.hooks().complaints())
            .chain(services.calls.context().journal.store().database.found_later())
            .collect(),
    }
}

/// What is lost on a file system that can do no more than this.
pub fn reduced(can: Abilities) -> Vec<String> {
    let said = if !can.writable {
        "no file can be made in the vault: reading works, changes do not"
    } else if !(can.exchange && can.rename_new) {
        "the file system cannot exchange files in one step: a save compares, keeps a copy and \
         renames over instead, so avoid editing one note from two programs at once"
    } else {
        return Vec::new();
    };
    vec![said.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_system_cannot_do_is_said() {
        let full = Abilities {
            writable: true,
            exchange: true,
            rename_new: true,
            ignores_case: true,
            ignores_form: true,
        };
        assert!(reduced(full).is_empty());
        assert!(reduced(Abilities { exchange: false, ..full })[0].contains("exchange"));
        assert!(reduced(Abilities { writable: false, ..full })[0].contains("reading works"));
    }
}
