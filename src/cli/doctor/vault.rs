//! Checks of the vault: reading and writing, the file system, and noticing changes.

use std::path::Path;

use super::checks::Doctor;
use crate::cli::Failure;
use crate::daemon;
use crate::note::counted::counted;
use crate::protocol::status::{StatusResult, Watching as Served};
use crate::vault::{Abilities, TrashOption, Vault, Watching};

pub(super) fn check(doctor: &Doctor<'_>, root: &Path, state: &Path, served: Option<StatusResult>) {
    let vault = match Vault::open(root, state, doctor.config.vault.clone(), &|_| {}) {
        Ok((vault, _)) => vault,
        Err(error) => {
            let hint =
                error.hint().unwrap_or_else(|| "give yourself permission to read it".to_owned());
            return doctor.fail("reading", error.to_string(), hint);
        }
    };
    if let Err(error) = daemon::check_mounted(&vault, state) {
        let failure = Failure::from(error);
        doctor.fail("reading", failure.message, failure.hint.unwrap_or_default());
        return vault.stop();
    }
    let status = vault.status();
    let counts = &status.counts;
    doctor.ok(
        "reading",
        format!(
            "{}, {}, {} in {} ms",
            counted(counts.notes, "note"),
            counted(counts.files, "file"),
            counted(counts.folders, "folder"),
            status.scan_milliseconds
        ),
    );
    for (folder, reason) in status.unreadable.iter().take(5) {
        doctor.warn(
            "reading",
            format!("could not list `{}`: {reason}", folder.as_str()),
            "its files cannot be found; give yourself permission to read it",
        );
    }
    conflicts(doctor, &vault);
    abilities(doctor, vault.abilities());
    watching(doctor, &vault, served);
    #[cfg(target_os = "linux")]
    super::limits::check(doctor, counts.folders);
    obsidian(doctor, &vault);
    vault.stop();
}

fn conflicts(doctor: &Doctor<'_>, vault: &Vault) {
    const SHOWN: usize = 20;
    let found = vault.conflicts();
    let hint = "compare the two; if they are versions of one note, keep what counts in one; the steward \
                leaves both as they are";
    for (copy, original) in found.iter().take(SHOWN) {
        doctor.warn(
            "conflicts",
            format!("`{copy}` looks like a sync program's copy of `{original}`"),
            hint,
        );
    }
    if found.len() > SHOWN {
        doctor.warn("conflicts", format!("and {} more", found.len() - SHOWN), hint);
    }
}

fn abilities(doctor: &Doctor<'_>, can: Abilities) {
    if can.writable {
        doctor.ok("writing", "files can be made in the vault");
    } else {
        doctor.fail(
            "writing",
            "no file can be made in the vault",
            "reading works; to change notes, give yourself permission to write there",
        );
        return;
    }
    if can.exchange && can.rename_new {
        doctor.ok("saving", "the file system exchanges files in one step");
    } else {
        doctor.warn(
            "saving",
            "the file system cannot exchange files in one step",
            "saves compare and keep a copy instead; avoid editing one note from two programs",
        );
    }
    match (can.ignores_case, can.ignores_form) {
        (false, false) => {
            doctor.ok("names", "distinct if they differ in case or in the composition of accents")
        }
        (true, _) => doctor.ok("names", "`A` and `a` are one file here"),
        (false, true) => doctor.ok("names", "composed and decomposed accents are one name here"),
    }
}

fn watching(doctor: &Doctor<'_>, vault: &Vault, served: Option<StatusResult>) {
    let watching = match served {
        Some(status) => match status.vault.watching {
            Served::Events => Watching::Events { folders: 0 },
            Served::Polling { seconds, reason } => Watching::Polling { seconds, reason },
            Served::Off => Watching::Off,
        },
        None => {
            vault.watch();
            vault.status().watching
        }
    };
    match watching {
        Watching::Events { .. } => doctor.ok("watching", "the system reports changes"),
        Watching::Polling { seconds, reason } => doctor.warn(
            "watching",
            format!("changes are polled every {seconds} s: {reason}"),
            "`[vault] poll_seconds` sets how often",
        ),
        Watching::Off => doctor.warn(
            "watching",
            "changes by other programs are not noticed",
            "restart the daemon",
        ),
    }
}

fn obsidian(doctor: &Doctor<'_>, vault: &Vault) {
    let settings = vault.obsidian();
    let trash = match settings.trash {
        TrashOption::System => "the system's trash",
        TrashOption::Local => "`.trash` in the vault",
        TrashOption::None => "no trash (the steward keeps a copy of its own)",
    };
    match settings.config_folder {
        Some(folder) => {
            doctor.ok("obsidian", format!("settings in `{folder}`; deletes go to {trash}"))
        }
        None => {
            doctor.ok("obsidian", format!("no settings, so its defaults; deletes go to {trash}"))
        }
    }
}
