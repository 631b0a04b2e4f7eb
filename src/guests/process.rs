//! The process of a guest: its output, and ending it with everything that it started.

#![expect(clippy::disallowed_methods, reason = "programs and folders that are never in a vault")]

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc as std_mpsc};

use tokio::sync::mpsc;

use super::sandbox::GuestSandbox;
use super::settings::Guest;
use crate::hooks::children;
use crate::hooks::program_path::at_home;
use crate::locks::lock;

/// The longest line of output, in bytes.
const MAX_LINE: u64 = 8 << 20;

/// The most lines that wait until it reads them.
const UNREAD: usize = 256;

/// The environment variable that marks its processes.
const MARK: &str = "STEWARD_GUEST_RUN";

/// The environment variables that it inherits.
#[cfg(not(windows))]
const PASSED: &[&str] = &["HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "PATH"];
#[cfg(windows)]
const PASSED: &[&str] =
    &["USERPROFILE", "USERNAME", "APPDATA", "LOCALAPPDATA", "SystemRoot", "ComSpec", "PATH"];

/// The `PATH` if the daemon has none.
#[cfg(not(windows))]
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin";

static RUNS: AtomicU64 = AtomicU64::new(0);

/// A line of its standard output.
pub(super) enum Line {
    Text(String),
    /// Its line exceeded the limit; nothing follows.
    TooLong,
}

/// A running guest. Dropping it ends the process.
pub(super) struct Process {
    child: Arc<Mutex<Option<Child>>>,
    mark: String,
    input: std_mpsc::SyncSender<String>,
    /// The last line of its standard error.
    error_line: Arc<Mutex<String>>,
    /// Why it was ended.
    fault: Arc<OnceLock<String>>,
}

impl Process {
    /// Starts a guest in its folder, confined where the system supports it, and with one more
    /// environment variable.
    ///
    /// # Errors
    /// The guest's folders cannot be made, or the system cannot start the guest.
    pub fn start(
        guest: &Guest,
        sandbox: &GuestSandbox,
        variable: Option<(&str, &str)>,
    ) -> io::Result<(Self, mpsc::Receiver<Line>)> {
        let folder = sandbox.scratch(&guest.name);
        std::fs::create_dir_all(sandbox.work(&guest.name))?;
        std::fs::create_dir_all(&folder)?;
        let (program, arguments) = sandbox.command(guest);
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(environment(guest)).current_dir(&folder);
        command.env(if cfg!(windows) { "TEMP" } else { "TMPDIR" }, &folder);
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        let now = chrono::Utc::now().timestamp_micros();
        let mark = format!("{}-{now}-{number}", std::process::id());
        command.env(MARK, &mark).envs(variable);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        children::prepare(&mut command);
        let mut child = command.spawn()?;
        let (input, unread) = std_mpsc::sync_channel::<String>(UNREAD);
        if let Some(mut pipe) = child.stdin.take() {
            std::thread::spawn(move || {
                while let Ok(line) = unread.recv() {
                    if pipe.write_all(line.as_bytes()).and_then(|()| pipe.flush()).is_err() {
                        break;
                    }
                }
            });
        }
        let (sender, lines) = mpsc::channel(UNREAD);
        if let Some(pipe) = child.stdout.take() {
            std::thread::spawn(move || read_lines(pipe, &sender));
        }
        let error_line = Arc::<Mutex<String>>::default();
        if let Some(pipe) = child.stderr.take() {
            let last = Arc::clone(&error_line);
            std::thread::spawn(move || drain(pipe, &last));
        }
        let mark = format!("{MARK}={mark}");
        let id = child.id();
        let process = Self {
            child: Arc::new(Mutex::new(Some(child))),
            mark,
            input,
            error_line,
            fault: Arc::default(),
        };
        process.watch(id, guest.memory_mb);
        Ok((process, lines))
    }

    /// Sends a message; `false` if the guest does not read.
    pub fn send(&self, message: &serde_json::Value) -> bool {
        self.input.try_send(format!("{message}\n")).is_ok()
    }

    /// The last line of its standard error.
    pub fn error_line(&self) -> String {
        lock(&self.error_line).clone()
    }

    /// Ends it, with everything that it started, once it exceeds its memory limit.
    fn watch(&self, id: u32, memory_mb: u32) {
        let Some(look) = children::MEMORY_CHECK else { return };
        let (child, fault) = (Arc::clone(&self.child), Arc::clone(&self.fault));
        let mark = self.mark.clone();
        let mut memory = children::Memory::of(id, mark.clone());
        let most = u64::from(memory_mb) << 20;
        std::thread::spawn(move || {
            let running = || lock(&child);
            while running().is_some() {
                if memory.bytes(most) > most {
                    let _ = fault.set(format!(
                        "it used more than {memory_mb} MB of memory, its `memory_mb`, and was ended"
                    ));
                    let child = running().take();
                    return end(child, &mark);
                }
                std::thread::sleep(look);
            }
        });
    }

    /// Why it was ended for exceeding its limits.
    pub fn fault(&self) -> Option<String> {
        self.fault.get().cloned()
    }

    /// Kills it with everything that it started. Blocks briefly.
    pub fn end(&self) {
        let child = lock(&self.child).take();
        end(child, &self.mark);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let child = lock(&self.child).take();
        let mark = std::mem::take(&mut self.mark);
        if child.is_some() {
            // On its own thread, since it blocks.
            std::thread::spawn(move || end(child, &mark));
        }
    }
}

fn end(child: Option<Child>, mark: &str) {
    let Some(mut child) = child else { return };
    children::end(&child, Some(mark));
    let _ = child.kill();
    let _ = child.wait();
}

fn environment(guest: &Guest) -> Vec<(OsString, OsString)> {
    let passed = PASSED.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
    let mut environment: Vec<(OsString, OsString)> = passed.collect();
    #[cfg(not(windows))]
    if std::env::var_os("PATH").is_none() {
        environment.push(("PATH".into(), PATH.into()));
    }
    let expanded = |value: &String| {
        if value.starts_with("~/") { at_home(value).into_os_string() } else { value.into() }
    };
    environment.extend(guest.env.0.iter().map(|(name, value)| (name.into(), expanded(value))));
    environment
}

fn read_lines(pipe: impl Read, sender: &mpsc::Sender<Line>) {
    let mut input = BufReader::new(pipe);
    loop {
        let mut bytes = Vec::new();
        let read = input.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes);
        let line = match read {
            Ok(0) | Err(_) => return,
            Ok(_) if bytes.len() as u64 >= MAX_LINE && !bytes.ends_with(b"\n") => Line::TooLong,
            Ok(_) => Line::Text(String::from_utf8_lossy(&bytes).into_owned()),
        };
        let is_last = matches!(line, Line::TooLong);
        if sender.blocking_send(line).is_err() || is_last {
            // Dropping the pipe makes its next write fail.
            return;
        }
    }
}

/// Drains standard error, so that the guest never blocks on it, and remembers the last line.
fn drain(pipe: impl Read, last: &Mutex<String>) {
    let mut input = BufReader::new(pipe);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        match input.by_ref().take(4 << 10).read_until(b'\n', &mut bytes) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&bytes);
        let line: String = text.trim().chars().filter(|c| !c.is_control()).take(200).collect();
        if !line.is_empty() {
            *lock(last) = line;
        }
    }
}
