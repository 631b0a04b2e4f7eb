//! Checks of the third-party programs that the daemon runs: each is there, and works as a service.

#![expect(
    clippy::disallowed_methods,
    reason = "programs and the service's file, outside every vault"
)]

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::checks::Doctor;
use crate::cli::service;
use crate::config::keyring::Keyring;
use crate::config::outside::{OutsideProgram, programs};
use crate::config::{Environment, vendor_keys};
use crate::daemon::confine;
use crate::hooks::program_path;
use crate::protocol::status::ConfinementState;
use crate::servers::Reference;

/// The oldest Node for which the usual servers and agents are written.
const NODE: u32 = 18;

/// The longest first line of a script, in bytes.
const FIRST_LINE: u64 = 256;

/// Names of programs that Node runs.
const OF_NODE: [&str; 4] = ["node", "npx", "npm", "tsx"];

/// Checks each program, and that an installed service of the vault can run them.
pub(super) fn check(doctor: &Doctor<'_>, root: &Path) {
    values(doctor, root);
    let programs = programs(&doctor.config);
    let mut needs_node = None;
    for program in &programs {
        let name = &program.command[0];
        let Some(found) = find(name, doctor.environment) else {
            let says = format!("{}: there is no program `{name}`", program.part);
            doctor.warn("programs", says, "install it, or give its full path");
            continue;
        };
        if is_of_node(&found) {
            needs_node.get_or_insert(program);
        }
    }
    if let Some(program) = needs_node {
        node(doctor, program);
    }
    let confined: Vec<&str> =
        programs.iter().filter(|it| it.is_held_in).map(|it| it.part.as_str()).collect();
    if !confined.is_empty() {
        let possible = confine::possible();
        if possible.state == ConfinementState::NotPossible {
            doctor.warn(
                "programs",
                format!(
                    "nothing here confines {}: {}",
                    confined.join(", "),
                    possible.lacks.join("; ")
                ),
                "they can do what you can; use those that you trust",
            );
        }
    }
    let says_no = service::unit_file(doctor.environment, root)
        .and_then(|unit| std::fs::read_to_string(unit).ok())
        .is_some_and(|unit| unit.lines().any(|line| line.trim() == service::NO_NEW_CODE));
    if says_no && let Some(program) = needs_node.or(programs.first()) {
        doctor.warn(
            "service",
            format!(
                "its unit ends programs that generate code at run time, as Node does; {} may need that",
                program.part
            ),
            "`steward service install` writes the unit again without this limit",
        );
    }
}

/// Checks that the values are there which the servers' settings refer to.
fn values(doctor: &Doctor<'_>, root: &Path) {
    let keyring =
        doctor.config.models.keyring.then(|| Keyring::new(doctor.environment, Some(root)));
    for (name, entry) in doctor.config.servers.entries.iter().filter(|(_, entry)| entry.enabled) {
        for reference in entry.references() {
            let found = match reference {
                Reference::Environment(name) => Ok(doctor.environment.get(name).is_some()),
                Reference::Key(name) => {
                    vendor_keys::named(name, doctor.environment, doctor.folders, keyring.as_ref())
                        .map(|key| key.is_some())
                }
            };
            let (says, hint) = match found {
                Ok(true) => continue,
                Ok(false) => (
                    format!("the server `{name}` names `${{{reference}}}`, which does not exist"),
                    "`key:X` is the file `keys/X` next to the settings".to_owned(),
                ),
                Err(error) => (format!("the server `{name}`: {error}"), error.hint()),
            };
            doctor.warn("servers", says, hint);
        }
    }
}

/// The program's file, as the daemon would find it with this environment.
fn find(name: &str, environment: &Environment) -> Option<PathBuf> {
    let path = environment.expand(Path::new(name));
    if path.components().count() > 1 {
        return path.is_file().then_some(path);
    }
    program_path::find(name, environment.get("PATH")?)
}

/// Whether it is Node, or a script for it.
fn is_of_node(file: &Path) -> bool {
    if OF_NODE.iter().any(|name| file.file_stem().is_some_and(|stem| stem == *name)) {
        return true;
    }
    let first_line = || {
        let mut line = Vec::new();
        let start = std::fs::File::open(file)?.take(FIRST_LINE);
        BufReader::new(start).read_until(b'\n', &mut line)?;
        std::io::Result::Ok(line)
    };
    let line = first_line().unwrap_or_default();
    line.starts_with(b"#!") && String::from_utf8_lossy(&line).contains("node")
}

fn node(doctor: &Doctor<'_>, program: &OutsideProgram) {
    let part = &program.part;
    let Some(node) = find("node", doctor.environment) else {
        let says = format!("{part} needs Node, which is not in `PATH`");
        return doctor.warn("programs", says, "install Node");
    };
    let ran = Command::new(&node).arg("--version").stdin(Stdio::null()).output();
    let version = ran.map(|ran| String::from_utf8_lossy(&ran.stdout).trim().to_owned());
    let version = version.unwrap_or_default();
    match major(&version) {
        Some(number) if number >= NODE => {
            doctor.ok("programs", format!("Node {version} for {part}"));
        }
        Some(_) => doctor.warn(
            "programs",
            format!("{part} needs Node, and `{}` is {version}", node.display()),
            format!("most servers and agents need {NODE} or newer"),
        ),
        None => doctor.warn(
            "programs",
            format!("{part} needs Node, and `{}` does not say its version", node.display()),
            "check that it runs",
        ),
    }
}

/// The first number of a version such as `v22.12.0`.
fn major(version: &str) -> Option<u32> {
    version.strip_prefix('v')?.split('.').next()?.parse().ok()
}
