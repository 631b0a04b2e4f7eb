//! A home folder for one test, and the program run in it.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
#[cfg(unix)]
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// The discard port: nothing listens on it.
const NOBODY: u16 = 9;

/// An empty home folder, and a folder for vaults next to it.
pub struct Home {
    place: TempDir,
    /// The port on which the program looks for SmartHole; only a test's stand-in listens there.
    pub smarthole: AtomicU16,
    /// Environment variables of each run.
    pub variables: Vec<(&'static str, &'static str)>,
}

/// The result of a run of the program.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// stdout as the one JSON value it must be.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is not JSON ({error}): {self:?}"))
    }

    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }
}

impl Home {
    pub fn new() -> Self {
        Self::within(tempfile::tempdir().expect("a temporary folder can be made"))
    }

    /// The same in a given folder.
    pub fn within(place: TempDir) -> Self {
        let home = Self { place, smarthole: AtomicU16::new(NOBODY), variables: Vec::new() };
        for folder in ["home", "vaults", "elsewhere"] {
            std::fs::create_dir(home.path(folder)).unwrap();
        }
        home
    }

    /// A canonical path in this test's folder.
    pub fn path(&self, below: &str) -> PathBuf {
        // Without Windows' prefix `\\?\`, which nobody types.
        dunce::canonicalize(self.place.path()).unwrap().join(below)
    }

    /// A vault called `name` with one note.
    pub fn vault(&self, name: &str) -> PathBuf {
        let vault = self.path("vaults").join(name);
        std::fs::create_dir_all(vault.join(".obsidian")).unwrap();
        std::fs::create_dir_all(vault.join("Projects")).unwrap();
        std::fs::write(vault.join("Projects/My Note.md"), "# Mine\nbudget 12\n").unwrap();
        vault
    }

    /// The path of the settings file.
    pub fn config_file(&self) -> PathBuf {
        if cfg!(target_os = "macos") {
            self.path("home/Library/Application Support/vault-steward/config.toml")
        } else if cfg!(windows) {
            self.path(r"home\AppData\Roaming\vault-steward\config.toml")
        } else {
            self.path("home/.config/vault-steward/config.toml")
        }
    }

    pub fn write_config(&self, text: &str) {
        let file = self.config_file();
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    /// The path of Obsidian's list of vaults, and its content.
    pub fn write_obsidian_list(&self, vaults: &[(&Path, bool)]) {
        let folder = if cfg!(target_os = "macos") {
            self.path("home/Library/Application Support/obsidian")
        } else if cfg!(windows) {
            self.path(r"home\AppData\Roaming\obsidian")
        } else {
            self.path("home/.config/obsidian")
        };
        self.write_list_in(&folder, vaults);
    }

    pub fn write_list_in(&self, folder: &Path, vaults: &[(&Path, bool)]) {
        let mut list = serde_json::Map::new();
        for (index, (path, open)) in vaults.iter().enumerate() {
            let mut entry =
                serde_json::json!({"path": path, "ts": 1_700_000_000_000_i64 + index as i64});
            if *open {
                entry["open"] = true.into();
            }
            list.insert(format!("{index:016x}"), entry);
        }
        std::fs::create_dir_all(folder).unwrap();
        let text = serde_json::json!({ "vaults": list }).to_string();
        std::fs::write(folder.join("obsidian.json"), text).unwrap();
    }

    /// The program, isolated from the machine's own settings.
    pub fn steward(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_steward"));
        command.args(arguments).current_dir(self.path("elsewhere")).env_clear();
        command.env("HOME", self.path("home")).env("USERPROFILE", self.path("home"));
        command.env("APPDATA", self.path("home").join("AppData").join("Roaming"));
        command.env("LOCALAPPDATA", self.path("home").join("AppData").join("Local"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // The SmartHole or Ollama of the user who runs the tests must not be used.
        let smarthole = self.smarthole.load(Ordering::Relaxed);
        command.env("STEWARD_SMARTHOLE_PORT", smarthole.to_string());
        command.env("OLLAMA_HOST", format!("127.0.0.1:{NOBODY}"));
        command.envs(self.variables.iter().copied());
        // Windows needs it to open sockets.
        if let Some(root) = std::env::var_os("SystemRoot") {
            command.env("SystemRoot", root);
        }
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: &[impl AsRef<OsStr>]) -> Run {
        finish(self.steward(arguments))
    }

    /// Runs the program in `folder`.
    pub fn run_in(&self, folder: &Path, arguments: &[&str]) -> Run {
        let mut command = self.steward(arguments);
        command.current_dir(folder);
        finish(command)
    }

    /// Starts a daemon on a free port and waits for its ready line.
    pub fn serve(&self, vault: &Path) -> Daemon {
        let vault = vault.to_str().unwrap();
        Daemon::start(self.steward(&["serve", "--json", "--port", "0", "--vault", vault]))
    }

    /// The same, started by this piece of shell script, which is followed by the program and its
    /// arguments.
    #[cfg(unix)]
    pub fn serve_by(&self, shell: &str, vault: &Path) -> Daemon {
        let plain = self.steward(&["serve", "--json", "--port", "0", "--vault"]);
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{shell} \"$0\" \"$@\"")]);
        command.arg(plain.get_program()).args(plain.get_args()).arg(vault);
        command.current_dir(self.path("elsewhere")).env_clear();
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Daemon::start(command)
    }

    /// The state folder of the only vault that was served.
    pub fn state(&self) -> PathBuf {
        let all = if cfg!(target_os = "macos") {
            self.path("home/Library/Application Support/vault-steward")
        } else if cfg!(windows) {
            self.path(r"home\AppData\Local\vault-steward")
        } else {
            self.path("home/.local/state/vault-steward")
        };
        let mut folders = std::fs::read_dir(&all).unwrap().map(|entry| entry.unwrap().path());
        folders.find(|path| path.is_dir() && !path.ends_with("models")).expect("a vault was served")
    }
}

pub fn finish(mut command: Command) -> Run {
    let output = command.output().expect("the program can be started");
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).expect("stdout is text"),
        stderr: String::from_utf8(output.stderr).expect("stderr is text"),
    }
}

/// Writes an executable shell script. A shell writes it: a file that this process had open for
/// writing could not be executed while another test's child has inherited the handle.
#[cfg(unix)]
pub fn write_program(path: &Path, text: &str) {
    let write = r#"printf %s "$1" >"$2" && chmod 755 "$2""#;
    let shell = Command::new("sh").args(["-c", write, "sh", text]).arg(path).status().unwrap();
    assert!(shell.success());
}

/// As [`finish`], with `input` on stdin.
pub fn finish_with(mut command: Command, input: &[u8]) -> Run {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // A program that fails before it reads all input is judged by its output.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A daemon that runs until dropped.
pub struct Daemon {
    child: Child,
    pub ready: Value,
}

impl Daemon {
    pub fn port(&self) -> u16 {
        u16::try_from(self.ready["port"].as_u64().unwrap()).unwrap()
    }

    /// Starts one and waits for its ready line.
    pub fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        if line.is_empty() || !line.contains("\"ready\"") {
            let mut stderr = String::new();
            child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
            panic!("no ready line but {line:?}; {stderr}");
        }
        Daemon { child, ready: serde_json::from_str(&line).unwrap() }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    #[cfg(unix)]
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for it to end, for `patience` at most; returns its exit code.
    #[cfg(unix)]
    pub fn wait(&mut self, patience: Duration) -> Option<i32> {
        let until = Instant::now() + patience;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Some(status.code().unwrap_or(-1));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        None
    }

    /// Its output on stderr, after it has ended.
    pub fn stderr(&mut self) -> String {
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }

    /// Stops reading its output.
    #[cfg(unix)]
    pub fn close_stderr(&mut self) {
        drop(self.child.stderr.take());
    }

    /// Kills it without a chance to clean up.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
