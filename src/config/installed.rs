//! How this program was installed, and so what updates and removes it.
//!
//! The path shows it, or a file next to the program: our packages contain
//! `share/vault-steward/package` with the name of their kind, and `cargo install` keeps a list.
//! Finding out runs no program and downloads nothing.

#![expect(clippy::disallowed_methods, reason = "files next to the program, outside every vault")]

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::config::Environment;

/// Names the kind of the package; its path from the folder above the program's.
const MARKER: &str = "share/vault-steward/package";

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Installation {
    /// A word for programs, such as `homebrew`.
    pub kind: &'static str,
    pub program: PathBuf,
    /// The installation method in words: `by Homebrew`.
    pub by: String,
    /// The command that updates it.
    pub update: String,
    pub remove: String,
}

impl Installation {
    pub fn of_process(environment: &Environment) -> Self {
        let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("steward"));
        Self::of(&without_deleted_mark(program), environment)
    }

    pub fn of(program: &Path, environment: &Environment) -> Self {
        let place = ProgramLocation { program, environment };
        place
            .packaged()
            .or_else(|| place.by_path())
            .or_else(|| place.by_cargo())
            .or_else(|| place.built())
            .unwrap_or_else(|| {
                let path = program.display();
                place.found(
                    "file",
                    "from an archive, or by hand",
                    format!("put the newer program at `{path}`"),
                    format!("delete `{path}`"),
                )
            })
    }
}

/// The path by which the program can be started after its next update too: some package managers
/// have a folder for each version, and a link to the current one.
pub fn stable_path(program: &Path) -> PathBuf {
    let program = without_deleted_mark(program.to_owned());
    let name = program.file_name().unwrap_or_default();
    let folders: Vec<&Path> = program.ancestors().collect();
    let is = |at: usize, name: &str| {
        folders.get(at).and_then(|folder| folder.file_name()).is_some_and(|it| it == name)
    };
    // PREFIX/Cellar/vault-steward/VERSION/bin/steward, …/scoop/apps/vault-steward/VERSION/steward.exe, and
    // …/WinGet/Packages/ID/vault-steward-VERSION-TARGET/steward.exe
    let stable = match () {
        () if is(4, "Cellar") => folders.get(5).map(|prefix| prefix.join("bin").join(name)),
        () if is(3, "apps") && is(2, "vault-steward") => {
            Some(folders[2].join("current").join(name))
        }
        () => {
            let packages = folders.iter().find(|folder| folder.ends_with("WinGet/Packages"));
            packages.map(|packages| packages.with_file_name("Links").join(name))
        }
    };
    stable.filter(|path| path.is_file()).unwrap_or(program)
}

/// If a running program was replaced, Linux appends this mark to its path.
fn without_deleted_mark(program: PathBuf) -> PathBuf {
    match program.to_str().and_then(|path| path.strip_suffix(" (deleted)")) {
        Some(path) => PathBuf::from(path),
        None => program,
    }
}

struct ProgramLocation<'a> {
    program: &'a Path,
    environment: &'a Environment,
}

impl ProgramLocation<'_> {
    fn found(
        &self,
        kind: &'static str,
        by: impl Into<String>,
        update: impl Into<String>,
        remove: impl Into<String>,
    ) -> Installation {
        let (by, update, remove) = (by.into(), update.into(), remove.into());
        Installation { kind, program: self.program.to_owned(), by, update, remove }
    }

    /// Whether these consecutive folders are in the program's path.
    fn is_below(&self, names: &[&str]) -> bool {
        let parts: Vec<String> = self
            .program
            .components()
            .map(|part| part.as_os_str().to_string_lossy().to_lowercase())
            .collect();
        let names: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
        parts.windows(names.len()).any(|some| some == names)
    }

    /// The folder above the program's.
    fn prefix(&self) -> Option<&Path> {
        self.program.parent()?.parent()
    }

    fn packaged(&self) -> Option<Installation> {
        let kind = std::fs::read_to_string(self.prefix()?.join(MARKER)).ok()?;
        Some(match kind.trim() {
            "deb" => self.found(
                "deb",
                "by the .deb package",
                "download the newer .deb, then `sudo apt install ./FILE.deb`",
                "`sudo apt remove vault-steward`",
            ),
            "rpm" => self.found(
                "rpm",
                "by the .rpm package",
                "download the newer .rpm, then `sudo rpm --upgrade FILE.rpm`",
                "`sudo rpm --erase vault-steward`",
            ),
            "apk" => self.found(
                "apk",
                "by the .apk package",
                "download the newer .apk, then `sudo apk add --allow-untrusted ./FILE.apk`",
                "`sudo apk del vault-steward`",
            ),
            "archlinux" => self.found(
                "archlinux",
                "by the Arch package",
                "download the newer package, then `sudo pacman -U FILE.pkg.tar.zst`",
                "`sudo pacman -R vault-steward`",
            ),
            "aur" => self.found(
                "aur",
                "from the AUR",
                "`yay -S vault-steward-bin`, or as your AUR helper does it",
                "`sudo pacman -R vault-steward-bin`",
            ),
            "mcpb" => self.found(
                "mcpb",
                "as an extension of Claude Desktop",
                "install the newer .mcpb bundle in Claude Desktop",
                "remove the extension in Claude Desktop",
            ),
            "pypi" => self.pypi_installation(),
            _ => return None,
        })
    }

    fn pypi_installation(&self) -> Installation {
        let (by, update, remove) = if self.is_below(&["uv", "tools", "vault-steward"]) {
            (
                "uv",
                "uv tool upgrade vault-steward".to_owned(),
                "uv tool uninstall vault-steward".to_owned(),
            )
        } else if self.is_below(&["pipx", "venvs", "vault-steward"]) {
            (
                "pipx",
                "pipx upgrade vault-steward".to_owned(),
                "pipx uninstall vault-steward".to_owned(),
            )
        } else {
            // The one of the same environment, if any.
            let pip = self.program.with_file_name(if cfg!(windows) { "pip.exe" } else { "pip" });
            let pip = if pip.is_file() { pip.display().to_string() } else { "pip".to_owned() };
            (
                "pip",
                format!("{pip} install --upgrade vault-steward"),
                format!("{pip} uninstall vault-steward"),
            )
        };
        let message = format!("by {by}, from PyPI");
        self.found("pypi", message, format!("`{update}`"), format!("`{remove}`"))
    }

    fn by_path(&self) -> Option<Installation> {
        let commands = |kind, by: &str, update: &str, remove: &str| {
            Some(self.found(kind, by, format!("`{update}`"), format!("`{remove}`")))
        };
        if self.is_below(&["Cellar", "vault-steward"]) {
            let (update, remove) = ("brew upgrade vault-steward", "brew uninstall vault-steward");
            return commands("homebrew", "by Homebrew", update, remove);
        }
        if self.is_below(&["scoop", "apps", "vault-steward"]) {
            let (update, remove) = ("scoop update vault-steward", "scoop uninstall vault-steward");
            return commands("scoop", "by Scoop", update, remove);
        }
        // Windows reports the link that started a program.
        if ["Packages", "Links"].iter().any(|it| self.is_below(&["Microsoft", "WinGet", it])) {
            let id = "VaultSteward.VaultSteward";
            let (update, remove) =
                (format!("winget upgrade {id}"), format!("winget uninstall {id}"));
            return commands("winget", "by winget", &update, &remove);
        }
        if self.is_below(&["_npx"]) {
            let by = "by npx, for one run";
            return commands("npx", by, "npx vault-steward@latest", "npm cache clean --force");
        }
        if self.is_below(&["node_modules"]) {
            let update = "npm install --global vault-steward@latest";
            return commands("npm", "by npm", update, "npm uninstall --global vault-steward");
        }
        None
    }

    /// By the list that `cargo install` keeps next to the folder of its programs.
    fn by_cargo(&self) -> Option<Installation> {
        let prefix = self.prefix()?;
        let list = std::fs::read_to_string(prefix.join(".crates.toml")).ok()?;
        let line =
            list.lines().find_map(|line| line.trim_start().strip_prefix("\"vault-steward "))?;
        let (_, source) = line.split_once('(')?;
        let (source, _) = source.split_once(')')?;
        let home = self.environment.absolute("CARGO_HOME");
        let home = home.or_else(|| Some(self.environment.home()?.join(".cargo")));
        let root = if home.is_some_and(|home| home == prefix) {
            String::new()
        } else {
            format!(" --root '{}'", prefix.display())
        };
        let install = format!("cargo install --locked{root}");
        let update = if let Some(path) = source.strip_prefix("path+file://") {
            let path = path.split('#').next().unwrap_or(path);
            format!("`git pull` in `{path}`, then `{install} --path '{path}'`")
        } else if let Some(url) = source.strip_prefix("git+") {
            let url = url.split(['?', '#']).next().unwrap_or(url);
            format!("`{install} --git {url}`")
        } else {
            format!("`{install} vault-steward`")
        };
        let remove = format!("`cargo uninstall{root} vault-steward`");
        Some(self.found("cargo", "by `cargo install`", update, remove))
    }

    /// In the `target` folder of the sources.
    fn built(&self) -> Option<Installation> {
        let is_ours = |folder: &&Path| {
            let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
            manifest.contains("\nname = \"vault-steward\"")
        };
        let sources = self.program.ancestors().skip(1).find(is_ours)?.display();
        let release = if self.is_below(&["release"]) { " --release" } else { "" };
        let update = format!("`git pull` and `cargo build{release}` in `{sources}`");
        Some(self.found("source", "from its sources", update, format!("delete `{sources}`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Disk(tempfile::TempDir);

    impl Disk {
        fn put(&self, path: &str, text: &str) -> PathBuf {
            let path = self.0.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path
        }

        fn installation(&self, path: &str) -> Installation {
            let program = self.put(path, "");
            Installation::of(&program, &Environment::new([], Some(self.0.path().into()), None))
        }
    }

    #[test]
    fn the_path_tells_of_package_managers() {
        let disk = Disk(tempfile::tempdir().unwrap());
        for (path, kind, command) in [
            ("homebrew/Cellar/vault-steward/0.1.0/bin/steward", "homebrew", "brew upgrade"),
            ("Users/me/Scoop/apps/vault-steward/0.1.0/steward.exe", "scoop", "scoop update"),
            (
                "AppData/Local/Microsoft/WinGet/Packages/VaultSteward.VaultSteward_x/steward.exe",
                "winget",
                "winget upgrade",
            ),
            ("AppData/Local/Microsoft/WinGet/Links/steward.exe", "winget", "winget upgrade"),
            ("lib/node_modules/vault-steward-linux-x64/steward", "npm", "npm install --global"),
            (".npm/_npx/1a2b/node_modules/vault-steward-linux-x64/steward", "npx", "@latest"),
            ("opt/steward", "file", "put the newer program at"),
        ] {
            let found = disk.installation(path);
            assert!(found.kind == kind && found.update.contains(command), "{path}: {found:?}");
        }
    }

    #[test]
    fn a_file_in_the_package_names_it() {
        for (kind, command) in [
            ("deb", "apt install ./FILE.deb"),
            ("rpm", "rpm --upgrade"),
            ("apk", "apk add"),
            ("archlinux", "pacman -U"),
            ("aur", "vault-steward-bin"),
            ("mcpb", "Claude Desktop"),
            ("pypi", "`pip install --upgrade vault-steward`"),
        ] {
            let disk = Disk(tempfile::tempdir().unwrap());
            disk.put("usr/share/vault-steward/package", &format!("{kind}\n"));
            let found = disk.installation("usr/bin/steward");
            assert!(found.kind == kind && found.update.contains(command), "{found:?}");
            // Not another package manager's program next to it.
            assert_eq!(disk.installation("usr/local/bin/steward").kind, "file");
        }
        let disk = Disk(tempfile::tempdir().unwrap());
        for (tool, folder) in [("uv", "uv/tools"), ("pipx", "pipx/venvs")] {
            disk.put(&format!("{folder}/vault-steward/share/vault-steward/package"), "pypi");
            let found = disk.installation(&format!("{folder}/vault-steward/bin/steward"));
            assert!(found.update.starts_with(&format!("`{tool} ")), "{found:?}");
        }
    }

    #[test]
    fn cargo_is_asked_as_it_installed() {
        let source = |from: &str| {
            let disk = Disk(tempfile::tempdir().unwrap());
            let line = format!(
                "[v1]\n\"other 1.0.0 (path+file:///x)\" = [\"x\"]\n\"vault-steward 0.1.0 ({from})\" = [\"steward\"]\n"
            );
            disk.put(".cargo/.crates.toml", &line);
            disk.put("tools/.crates.toml", &line);
            let elsewhere = disk.installation("tools/bin/steward").update;
            assert!(elsewhere.contains("--root '"), "{elsewhere}");
            disk.installation(".cargo/bin/steward").update
        };
        let registry = source("registry+https://example.org/index");
        assert_eq!(registry, "`cargo install --locked vault-steward`");
        let git = source("git+https://example.org/it?branch=main#0a1b");
        assert_eq!(git, "`cargo install --locked --git https://example.org/it`");
        let path = source("path+file:///src/it");
        assert_eq!(path, "`git pull` in `/src/it`, then `cargo install --locked --path '/src/it'`");
        let disk = Disk(tempfile::tempdir().unwrap());
        disk.put("it/Cargo.toml", "[package]\nname = \"vault-steward\"\n");
        let built = disk.installation("it/target/release/steward");
        assert!(
            built.kind == "source" && built.update.contains("cargo build --release"),
            "{built:?}"
        );
        assert!(!disk.installation("it/target/debug/steward").update.contains("--release"));
    }

    #[test]
    fn a_path_holds_over_an_update() {
        let disk = Disk(tempfile::tempdir().unwrap());
        let brewed = disk.put("brew/Cellar/vault-steward/0.1.0/bin/steward", "");
        assert_eq!(stable_path(&brewed), brewed, "nothing links to it");
        let linked = disk.put("brew/bin/steward", "");
        assert_eq!(stable_path(&brewed), linked);
        let scooped = disk.put("scoop/apps/vault-steward/0.1.0/steward.exe", "");
        let current = disk.put("scoop/apps/vault-steward/current/steward.exe", "");
        assert_eq!(stable_path(&scooped), current);
        let from_winget = disk.put("WinGet/Packages/ID/vault-steward-0.1.0-x/steward.exe", "");
        assert_eq!(stable_path(&from_winget), from_winget, "nothing links to it");
        let linked = disk.put("WinGet/Links/steward.exe", "");
        assert_eq!(stable_path(&from_winget), linked);
        assert_eq!(
            stable_path(Path::new("/usr/bin/steward (deleted)")),
            Path::new("/usr/bin/steward")
        );
    }
}
