//! Landlock: irrevocable rules for a thread and everything it starts.

#![expect(clippy::disallowed_methods, reason = "what may be written is named before it is")]

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, NetPort, PathBeneath,
    PathFd, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};

use super::{Bounds, Rights};
use crate::protocol::status::{Confinement, ConfinementState};

/// The newest ABI used, that of Linux 6.12; an older kernel applies the rules that it knows.
const KNOWN: ABI = ABI::V6;

pub(super) fn real(path: &Path) -> Option<PathBuf> {
    dunce::canonicalize(path).ok()
}

pub(super) fn possible() -> Confinement {
    // Without this right moves between folders of the vault would fail.
    if !kernel_supports(|ruleset| ruleset.handle_access(AccessFs::Refer)) {
        return not_possible(
            "this kernel has no Landlock, or one older than Linux 5.19".to_owned(),
        );
    }
    let lacks = [
        (
            kernel_supports(|ruleset| ruleset.handle_access(AccessFs::Truncate)),
            "files elsewhere could be emptied, though not written (Linux 6.2 prevents it)",
        ),
        (
            kernel_supports(|ruleset| ruleset.handle_access(AccessNet::ConnectTcp)),
            "connections are not restricted (Linux 6.7 can)",
        ),
        (
            kernel_supports(|ruleset| ruleset.scope(Scope::Signal)),
            "signals to other programs are not restricted (Linux 6.12 can)",
        ),
    ];
    let lacks: Vec<String> =
        lacks.into_iter().filter(|(known, _)| !known).map(|(_, lack)| lack.to_owned()).collect();
    Confinement { state: degree(&lacks), lacks }
}

pub(super) fn confine(bounds: &Bounds) -> Confinement {
    let Confinement { state, mut lacks } = possible();
    if state == ConfinementState::NotPossible {
        return Confinement { state, lacks };
    }
    match lay(bounds, &mut lacks) {
        Ok(RulesetStatus::NotEnforced) => not_possible("the kernel accepted no rules".to_owned()),
        Ok(_) => {
            if threads() > 1 {
                lacks.push("threads that already ran are not confined".to_owned());
            }
            Confinement { state: degree(&lacks), lacks }
        }
        Err(error) => not_possible(format!("the kernel refused the rules: {error}")),
    }
}

fn lay(bounds: &Bounds, lacks: &mut Vec<String>) -> Result<RulesetStatus, RulesetError> {
    let writes = AccessFs::from_write(KNOWN);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(writes)?
        .handle_access(AccessNet::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?
        .create()?
        .add_rule(NetPort::new(bounds.listen, AccessNet::BindTcp))?;
    for port in &bounds.connect {
        rules = rules.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
    }
    for place in &bounds.writable {
        let may = if place.is_dir() { writes } else { writes & AccessFs::from_file(KNOWN) };
        match PathFd::new(place) {
            Ok(folder) => rules = rules.add_rule(PathBeneath::new(folder, may))?,
            // A missing path cannot be written until the next start.
            Err(error) => lacks.push(format!("`{}` cannot be written: {error}", place.display())),
        }
    }
    Ok(rules.restrict_self()?.ruleset)
}

pub(super) fn drop_privileges(rights: &Rights) -> Result<(), String> {
    if let Confinement { state: ConfinementState::NotPossible, lacks } = possible() {
        return Err(lacks.join("; "));
    }
    let status =
        narrow(rights).map_err(|error| format!("the kernel refused the rules: {error}"))?;
    match status {
        RulesetStatus::NotEnforced => Err("the kernel accepted no rules".to_owned()),
        _ => Ok(()),
    }
}

fn narrow(rights: &Rights) -> Result<RulesetStatus, RulesetError> {
    let (reads, writes) = (AccessFs::from_read(KNOWN), AccessFs::from_write(KNOWN));
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(reads | writes)?
        .scope(Scope::from_all(KNOWN))?;
    if rights.connect.is_some() {
        rules = rules.handle_access(AccessNet::from_all(KNOWN))?;
    }
    let mut rules = rules.create()?;
    for port in rights.connect.iter().flatten() {
        rules = rules.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
    }
    let hidden: Vec<PathBuf> = rights.hidden.iter().filter_map(|path| real(path)).collect();
    let mut readable = rights.readable.clone();
    allow_around(Path::new("/"), &hidden, &mut readable);
    // Most programs write to these.
    let devices = ["/dev/null", "/dev/zero", "/dev/full"].map(PathBuf::from);
    let readable = readable.iter().map(|path| (path, reads));
    let writable = rights.writable.iter().chain(&devices).map(|path| (path, reads | writes));
    for (path, may) in readable.chain(writable) {
        let may = if path.is_dir() { may } else { may & AccessFs::from_file(KNOWN) };
        // A path that is missing or that we cannot open needs no rule.
        if let Ok(folder) = PathFd::new(path) {
            rules = rules.add_rule(PathBeneath::new(folder, may))?;
        }
    }
    Ok(rules.restrict_self()?.ruleset)
}

/// Adds everything in `folder` except what is hidden, in as few paths as possible: rules can only
/// allow. Skips links, since a rule would apply to their targets.
fn allow_around(folder: &Path, hidden: &[PathBuf], readable: &mut Vec<PathBuf>) {
    if hidden.iter().any(|path| folder.starts_with(path)) {
        return;
    }
    if !hidden.iter().any(|path| path.starts_with(folder)) {
        readable.push(folder.to_path_buf());
        return;
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            allow_around(&entry.path(), hidden, readable);
        }
    }
}

fn kernel_supports(rule: impl FnOnce(Ruleset) -> Result<Ruleset, RulesetError>) -> bool {
    rule(Ruleset::default().set_compatibility(CompatLevel::HardRequirement)).is_ok()
}

fn degree(lacks: &[String]) -> ConfinementState {
    if lacks.is_empty() { ConfinementState::Full } else { ConfinementState::Partial }
}

fn not_possible(why: String) -> Confinement {
    Confinement { state: ConfinementState::NotPossible, lacks: vec![why] }
}

/// The number of threads of this process.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(1, |threads| threads.count())
}
