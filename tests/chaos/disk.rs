//! A small temporary file system of any kind, in memory.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::place;

/// A file system on a loop device, mounted until this is dropped.
pub struct Disk {
    folder: TempDir,
    /// Its name for `mount`.
    kind: &'static str,
}

/// How a file system is made.
pub struct Make {
    /// Its name for `mount`.
    pub kind: &'static str,
    /// The program that creates it, with its arguments.
    pub program: &'static [&'static str],
    /// Its size, in the notation of `truncate`.
    pub size: &'static str,
}

impl Disk {
    /// Creates one and mounts it.
    ///
    /// # Errors
    ///
    /// What this machine lacks.
    pub fn new(make: &Make) -> Result<Self, String> {
        let folder = place::folder_in_memory();
        let image = folder.path().join("image");
        command("truncate", &["-s", make.size], &[&image])?;
        command(make.program[0], &make.program[1..], &[&image])?;
        std::fs::create_dir(folder.path().join("mounted")).expect("made");
        let disk = Self { folder, kind: make.kind };
        disk.mount()?;
        Ok(disk)
    }

    /// The folder it is mounted on.
    pub fn mounted(&self) -> PathBuf {
        self.folder.path().join("mounted")
    }

    /// Mounts it again.
    ///
    /// # Errors
    ///
    /// The error of `mount`.
    pub fn mount(&self) -> Result<(), String> {
        let image = self.folder.path().join("image");
        command("mount", &["-t", self.kind, "-o", "loop"], &[&image, &self.mounted()])
    }

    /// Unmounts it, as after a power cut.
    ///
    /// # Errors
    ///
    /// The error of `umount`.
    pub fn unmount(&self) -> Result<(), String> {
        command("umount", &[], &[&self.mounted()])
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = self.unmount();
    }
}

/// Runs a program to its end.
///
/// # Errors
///
/// Its error output.
pub fn command(program: &str, arguments: &[&str], paths: &[&Path]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).args(paths).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}
