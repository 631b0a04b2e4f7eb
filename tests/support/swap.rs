//! Names that are replaced again and again, by a separate thread (case 7).

use std::sync::atomic::{AtomicBool, Ordering};

/// Runs `disturb` again and again on a separate thread while `work` runs.
pub fn meanwhile<T>(disturb: impl Fn() + Sync, work: impl FnOnce() -> T) -> T {
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::SeqCst) {
                disturb();
            }
        });
        // A failing assertion must end the other thread too.
        let _stop = Stop(&stop);
        work()
    })
}

#[cfg(target_os = "linux")]
pub use links::Swap;

#[cfg(target_os = "linux")]
mod links {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use serde_json::json;
    use vault_steward::note::path::VaultPath;
    use vault_steward::vault::nonblocking::attempt;

    use super::meanwhile;
    use crate::vault::{TestVault, vault};

    /// `name` in the vault, and the entry it is swapped with: a link to the same name outside.
    pub struct Swap {
        vault: TestVault,
        outside: tempfile::TempDir,
        name: PathBuf,
        other: PathBuf,
    }

    impl Swap {
        /// `name` is the note `file`, or a folder above it.
        pub fn new(name: &str, file: &str) -> Self {
            let outside = tempfile::tempdir().expect("a temporary folder");
            fs::write(outside.path().join("note.md"), "secret").expect("written");
            let vault = vault(&[(file, "inside")]);
            let target = if name == file { "note.md" } else { "" };
            let other = vault.place.join(".other");
            symlink(outside.path().join(target), &other).expect("linked");
            Self { name: vault.place.join(name), vault, outside, other }
        }

        /// A single step, the fastest possible swap.
        fn swap(&self) {
            // A tool may have moved the name away for a moment.
            let _ = renameat_with(CWD, &self.name, CWD, &self.other, RenameFlags::EXCHANGE);
        }

        /// Opens `file` `rounds` times; returns how often it was opened, and how often refused.
        ///
        /// # Errors
        ///
        /// The text that was read, if it was not the one inside the vault.
        pub fn read(&self, file: &str, rounds: usize) -> Result<(usize, usize), String> {
            let path = VaultPath::from_disk(file).expect("sound");
            let (mut opened, mut refused) = (0, 0);
            meanwhile(
                || self.swap(),
                || {
                    for round in 0..rounds {
                        let open = || self.vault.context.vault.open_file(&path);
                        let found = match round % 2 {
                            0 => open(),
                            _ => attempt(open).unwrap_or_else(open),
                        };
                        match found {
                            Ok((mut file, _)) => {
                                let mut text = [0; 16];
                                let length = file.read(&mut text).expect("read");
                                if &text[..length] != b"inside" {
                                    return Err(format!("round {round} read from outside"));
                                }
                                opened += 1;
                            }
                            Err(_) => refused += 1,
                        }
                    }
                    // Otherwise there was no race.
                    if opened > rounds / 100 && refused > rounds / 100 {
                        Ok((opened, refused))
                    } else {
                        Err(format!("{opened} opened, {refused} refused"))
                    }
                },
            )
        }

        /// Reads and writes through the tools; nothing outside changes or is copied in.
        pub fn use_tools(&self, file: &str, rounds: usize) {
            meanwhile(
                || self.swap(),
                || {
                    for round in 0..rounds {
                        let read = || self.vault.call("read_file", &json!({ "path": file }));
                        for read in [Some(read()), attempt(read)].into_iter().flatten().flatten() {
                            assert_ne!(read.data["content"], "secret\n");
                        }
                        let change = match round % 4 {
                            0 => json!({ "path": file, "content": "inside" }),
                            1 => json!({ "path": file, "insert_after_line": 0, "content": "x" }),
                            2 => {
                                json!({ "path": format!("{file}.new/{round}.md"), "content": "x" })
                            }
                            _ => json!({ "path": file, "content": "inside", "if_exists": "fail" }),
                        };
                        let tool = if round % 4 == 1 { "edit_file" } else { "write_file" };
                        let _ = self.vault.call(tool, &change);
                    }
                },
            );
            self.vault.context.vault.stop();
            let outside: Vec<_> = fs::read_dir(self.outside.path())
                .expect("listed")
                .map(|entry| entry.expect("listed").file_name())
                .collect();
            assert_eq!(outside, ["note.md"], "nothing was made outside");
            let secret = fs::read(self.outside.path().join("note.md")).expect("read");
            assert_eq!(secret, b"secret", "nothing was written outside");
            assert!(!self.vault.rescued().iter().any(|text| text.contains("secret")));
            let kinds = [&self.name, &self.other]
                .map(|at| at.symlink_metadata().expect("both are there").file_type().is_symlink());
            assert!(kinds[0] != kinds[1], "one is the link still: {kinds:?}");
        }
    }
}
