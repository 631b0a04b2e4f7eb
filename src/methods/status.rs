//! The state of the daemon and its vault.

use super::{Services, memory, policy, settings};
use crate::config::{Config, folders, outside};
use crate::index::knowledge::Summary;
use crate::index::knowledge::minilm::ModelState;
use crate::note::path::VaultPath;
use crate::protocol::policy::ModeParams;
use crate::protocol::status::{
    BetterModel, BetterState, Confinement, ConfinementState, KnowledgeState, MemoryState, Pause,
    StatusResult, VaultState, Watching as Shown,
};
use crate::server::table::Context;
use crate::store::is_full;
use crate::vault::{Abilities, View, Watching};

/// The state of the daemon. Reads the disk, so it can take a while.
pub fn status(services: &Services, context: &Context) -> StatusResult {
    let (server, calls) = (context.server(), &services.calls);
    let view = calls.view(context.scope());
    let mut host = context.hosts().state();
    if let Some(host) = &mut host {
        // The host reports this path, which may lead anywhere.
        let is_seen =
            |path: &String| VaultPath::from_disk(path).is_some_and(|path| view.holds(&path));
        host.active_note = host.active_note.take().filter(|path| view.is_all() || is_seen(path));
    }
    StatusResult {
        version: server.version,
        pid: std::process::id(),
        uptime_seconds: server.uptime.as_secs(),
        connections: server.connections,
        epoch: context.events().epoch().to_owned(),
        seq: context.events().seq(),
        settings: settings::state(&services.live, &view),
        confinement: services.confinement.clone(),
        smarthole: services.voice.state(),
        mode: policy::mode(calls, &ModeParams::default()).ok(),
        host,
        // The size of the index reveals the size of the vault.
        memory: if view.is_all() {
            memory::state(calls.context(), &services.store().database)
        } else {
            MemoryState::default()
        },
        knowledge: view.is_all().then(|| knowledge(calls.context().index.knowledge.summary())),
        vault: vault(services, view),
    }
}

fn knowledge(summary: Summary) -> KnowledgeState {
    KnowledgeState {
        notes: summary.notes as u64,
        model: summary.model.map(str::to_owned),
        meaning_pending: summary.is_pending,
        chunks: summary.vectors as u64,
        better: summary.better.map(|better| BetterState {
            model: better.model.to_owned(),
            state: match better.state {
                ModelState::Ready => BetterModel::Ready,
                ModelState::Missing => BetterModel::Missing,
                ModelState::Damaged => BetterModel::Damaged,
            },
            read: better.read as u64,
            all: better.all as u64,
            paused: better.is_on_battery.then_some(Pause::Battery),
        }),
        pdfs: summary.pdfs.map(|pdfs| pdfs as u64),
    }
}

fn vault(services: &Services, view: View) -> VaultState {
    let sees_all = view.is_all();
    let vault = services.calls.context().vault.in_view(view);
    let database = &services.calls.context().journal.store().database;
    let status = vault.status();
    let full = folders::probe(database.folder()).is_err_and(|error| is_full(&error)).then(|| {
        format!(
            "the disk of the state folder `{}` is full: nothing can be recorded, so changes are \
             refused. Reading goes on; free some space",
            database.folder().display()
        )
    });
    let unreadable = status.unreadable.iter().map(|(folder, reason)| {
        format!("the folder `{}` could not be listed: {reason}", folder.as_str())
    });
    // These name folders, commands and disks.
    let warnings = services
        .warnings
        .iter()
        .cloned()
        .chain(unreadable.take(20))
        .chain(status.warnings)
        .chain(services.calls.hooks().failures())
        .chain(super::rules::complaints(&services.calls))
        .chain(services.talk.conversations().pending_deletions().ok().flatten())
        .chain(database.check_warnings())
        .chain(full)
        .chain(unconfined(&services.confines, &services.live.current().config))
        .filter(|_| sees_all)
        .collect();
    let catalogue = vault.catalogue();
    let counts = catalogue.counts();
    VaultState {
        name: vault.name().to_owned(),
        path: vault.root().to_string_lossy().into_owned(),
        notes: counts.notes as u64,
        files: counts.files as u64,
        folders: counts.folders as u64,
        links: counts.links as u64,
        conflicts: catalogue.conflicts().count() as u64,
        scanned_ms: status.scan_milliseconds,
        watching: match status.watching {
            Watching::Events { .. } => Shown::Events,
            Watching::Polling { seconds, reason } => Shown::Polling { seconds, reason },
            Watching::Off => Shown::Off,
        },
        warnings,
    }
}

/// The servers and guests in the settings that are not fully confined.
fn unconfined(confines: &Confinement, config: &Config) -> Vec<String> {
    let how = match confines.state {
        ConfinementState::NotPossible => "is not confined and can do what you can",
        _ if confines.lacks.is_empty() => return Vec::new(),
        _ => "is confined in part",
    };
    let lacks = confines.lacks.join("; ");
    let held = outside::programs(config).into_iter().filter(|program| program.is_held_in);
    held.map(|program| format!("{} {how}: {lacks}", program.part)).collect()
}

/// The features missing on a file system with these abilities.
pub fn reduced(can: Abilities) -> Vec<String> {
    let reason = if !can.writable {
        "no file can be made in the vault: reading works, changes do not"
    } else if !(can.exchange && can.rename_new) {
        "the file system cannot exchange files in one step: a save compares, keeps a copy and \
         renames over instead, so avoid editing one note from two programs at once"
    } else {
        return Vec::new();
    };
    vec![reason.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_others_that_nothing_confines_are_named() {
        let mut config = Config::default();
        let server = crate::servers::ServerEntry::new("/bin/cat", Vec::new());
        config.servers.entries.insert("cat".to_owned(), server);
        let far = crate::servers::ServerEntry::remote("https://example.com/mcp");
        config.servers.entries.insert("far".to_owned(), far);
        let with = |state, lacks: &[&str]| {
            let lacks = lacks.iter().map(|&lack| lack.to_owned()).collect();
            unconfined(&Confinement { state, lacks }, &config)
        };
        assert!(with(ConfinementState::Full, &[]).is_empty());
        let none = with(ConfinementState::NotPossible, &["no Landlock"]);
        assert_eq!(none, ["the server `cat` is not confined and can do what you can: no Landlock"]);
        let partly = with(ConfinementState::Partial, &["no signals", "no ports"]);
        assert_eq!(partly, ["the server `cat` is confined in part: no signals; no ports"]);
    }

    #[test]
    fn missing_abilities_of_a_file_system_are_reported() {
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
