//! Where guests run: their folders, and the command that drops privileges before it executes the
//! guest.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::settings::Guest;
use crate::hooks::program_path::at_home;
use crate::hooks::program_path::find;

/// Where guests run, and what they cannot access.
#[derive(Debug)]
pub struct GuestSandbox {
    /// The folder for guests in the vault's state folder.
    pub folder: PathBuf,
    /// This program, which serves a guest's MCP client and confines the guest.
    pub steward: PathBuf,
    /// Folders that a guest can neither read nor search: the vault, our state and our keys.
    pub hidden: Vec<PathBuf>,
    /// Why this system cannot confine a guest; `None` if it can.
    pub unconfined: Option<String>,
    /// The daemon's port, once it listens.
    pub port: OnceLock<u16>,
}

impl GuestSandbox {
    /// The guest's own folder, which it may write.
    pub(super) fn scratch(&self, name: &str) -> PathBuf {
        self.folder.join(name).join("own")
    }

    /// The guest's working folder, which stays empty: agents read settings from there.
    pub(super) fn work(&self, name: &str) -> PathBuf {
        self.folder.join(name).join("empty")
    }

    /// The program to start for a guest, with its arguments.
    pub(super) fn command(&self, guest: &Guest) -> (OsString, Vec<OsString>) {
        let program =
            guest.command.first().map(|program| find_program(program)).unwrap_or_default();
        let arguments = guest.command.iter().skip(1);
        let command = std::iter::once(program.into_os_string())
            .chain(arguments.map(|argument| at_home(argument).into_os_string()));
        let mut command: Vec<OsString> = command.collect();
        if self.unconfined.is_some() {
            let program = command.remove(0);
            return (program, command);
        }
        let mut all: Vec<OsString> = vec!["confined".into()];
        let mut add = |option: &str, value: OsString| all.extend([option.into(), value]);
        let path = |path: &Path| path.as_os_str().to_owned();
        self.hidden.iter().for_each(|folder| add("--hide", path(folder)));
        // It is empty, but a guest must be able to enter it.
        add("--read", path(&self.work(&guest.name)));
        add("--write", path(&self.scratch(&guest.name)));
        guest.config_folders.iter().for_each(|folder| add("--write", path(folder)));
        let ports = [443].into_iter().chain(self.port.get().copied()).chain(guest.ports.clone());
        ports.for_each(|port| add("--connect", port.to_string().into()));
        all.push("--".into());
        all.append(&mut command);
        (path(&self.steward), all)
    }
}

/// A guest's program. On Windows a bare name is looked up here, since the system finds only an
/// `.exe`.
fn find_program(name: &str) -> PathBuf {
    let is_bare = cfg!(windows) && Path::new(name).components().count() == 1;
    let file = std::env::var_os("PATH").filter(|_| is_bare).and_then(|path| find(name, &path));
    file.unwrap_or_else(|| at_home(name))
}
