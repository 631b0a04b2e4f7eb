//! The measured daemon: its own folders, its start, its end.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use tempfile::TempDir;

use crate::client::Client;

/// One program sends requests in place of many clients, faster than any would, so the rate limits
/// are raised. It waits for the other programs, for minutes in a vault of a million notes, and
/// answers no ping in the meantime.
const SETTINGS: &str = "[server]\nport = 0\nmessages_per_second = 1000000\nmessage_burst = 1000000\n\
    ping_seconds = 3600\n";

/// How long it must use no processor time to count as idle.
const REST: Duration = Duration::from_millis(300);

/// The longest background work: the first index of a million notes.
const LONGEST_WORK: Duration = Duration::from_secs(120);

/// Folders for a daemon, separate from the user's.
pub struct Home {
    folder: TempDir,
}

impl Home {
    /// Empty ones, below `scratch`.
    ///
    /// # Errors
    ///
    /// The file system's.
    pub fn new(scratch: &Path) -> Result<Self> {
        Self::with(scratch, "")
    }

    /// The same with further settings.
    ///
    /// # Errors
    ///
    /// The file system's.
    pub fn with(scratch: &Path, more: &str) -> Result<Self> {
        let folder = TempDir::with_prefix_in("home-", scratch)?;
        let settings = folder.path().join("config/vault-steward");
        fs::create_dir_all(&settings)?;
        fs::write(settings.join("config.toml"), format!("{SETTINGS}{more}"))?;
        Ok(Self { folder })
    }

    /// A command that uses these folders.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        self.keep_to(&mut command);
        command
    }

    /// Stops a daemon that a command started by itself, and waits until it is gone.
    ///
    /// # Errors
    ///
    /// None is running.
    pub fn end_started(&self) -> Result<()> {
        let running = self.state()?.join("daemon.json");
        let told: Value = serde_json::from_str(&fs::read_to_string(&running)?)?;
        let process = told["pid"].as_i64().context("no daemon runs")?;
        #[cfg(not(unix))]
        let _ = process;
        #[cfg(unix)]
        if let Some(process) = rustix::process::Pid::from_raw(i32::try_from(process)?) {
            rustix::process::kill_process(process, rustix::process::Signal::TERM)?;
            while rustix::process::test_kill_process(process).is_ok() {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Ok(())
    }

    /// Makes `command` use these folders.
    fn keep_to(&self, command: &mut Command) {
        command
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .env("XDG_CONFIG_HOME", self.folder.path().join("config"))
            .env("XDG_RUNTIME_DIR", self.folder.path())
            // Nothing listens on the discard port.
            .env("STEWARD_SMARTHOLE_PORT", "9")
            .stdin(Stdio::null());
    }

    /// The state folder of the only vault that was served from here.
    ///
    /// # Errors
    ///
    /// No daemon has run.
    pub fn state(&self) -> Result<PathBuf> {
        let all = fs::read_dir(self.folder.path().join("state/vault-steward"))?;
        let mut folders = all.filter_map(|entry| Some(entry.ok()?.path()));
        folders.find(|folder| folder.join("token").is_file()).context("no daemon has run here")
    }
}

/// A daemon that runs until it is dropped.
pub struct Daemon {
    child: Child,
    port: u16,
    token: String,
    /// When its process was started.
    pub begun: Instant,
    /// From then to its ready line.
    pub ready: Duration,
}

impl Daemon {
    /// Serves `vault` and waits until it is ready.
    ///
    /// # Errors
    ///
    /// It did not start; the message has its output.
    pub fn start(steward: &Path, vault: &Path, home: &Home) -> Result<Self> {
        Self::start_as(Command::new(steward), vault, home)
    }

    /// The same with a command that ends with the program: another program may run first and start
    /// it.
    ///
    /// # Errors
    ///
    /// As [`Self::start`].
    pub fn start_as(mut command: Command, vault: &Path, home: &Home) -> Result<Self> {
        let log = home.folder.path().join("log");
        home.keep_to(&mut command);
        command.args(["--json", "serve", "--port", "0", "--vault"]).arg(vault);
        command.stdout(Stdio::piped()).stderr(fs::File::create(&log)?);
        let begun = Instant::now();
        let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
        let mut said = BufReader::new(child.stdout.take().context("its output is piped")?);
        let (mut line, mut heard) = (String::new(), String::new());
        let (port, ready) = loop {
            line.clear();
            if said.read_line(&mut line)? == 0 {
                let log = fs::read_to_string(&log).unwrap_or_default();
                bail!("the daemon did not start: {heard}{log}");
            }
            let ready = begun.elapsed();
            let event: Value = serde_json::from_str(&line).unwrap_or_default();
            if let ("ready", Some(port)) =
                (event["event"].as_str().unwrap_or_default(), event["port"].as_u64())
            {
                break (u16::try_from(port)?, ready);
            }
            heard.push_str(&line);
        };
        let token = fs::read_to_string(home.state()?.join("token"))?.trim().to_owned();
        Ok(Self { child, port, token, begun, ready })
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its process id.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Kills the daemon that another program started, without a clean shutdown, and waits for that
    /// program.
    ///
    /// # Errors
    ///
    /// It started none.
    pub fn kill_below(mut self) -> Result<()> {
        let own = self.child.id();
        let told = fs::read_to_string(format!("/proc/{own}/task/{own}/children"))?;
        let below = told.split_whitespace().next().context("nothing was started below it")?;
        #[cfg(not(unix))]
        let _ = below;
        #[cfg(unix)]
        if let Some(process) = rustix::process::Pid::from_raw(below.parse()?) {
            rustix::process::kill_process(process, rustix::process::Signal::KILL)?;
        }
        self.child.wait()?;
        Ok(())
    }

    /// Connects a client to it.
    ///
    /// # Errors
    ///
    /// It refuses the connection.
    pub fn client(&self) -> Result<Client> {
        Client::connect(self.port, &self.token)
    }

    /// Waits until its background work after a start is done: until it has used no processor time
    /// for a while.
    pub fn rest(&self) {
        let begun = Instant::now();
        let mut before = self.processor_ticks();
        while begun.elapsed() < LONGEST_WORK {
            std::thread::sleep(REST);
            let now = self.processor_ticks();
            if now == before {
                return;
            }
            before = now;
        }
    }

    /// The processor time it has used, in the system's ticks of some milliseconds; `None` if the
    /// system does not report it.
    fn processor_ticks(&self) -> Option<u64> {
        let told = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        // The name, in brackets, may contain anything.
        let mut fields = told.rsplit_once(')')?.1.split_whitespace().skip(11);
        Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
    }

    /// How often all its threads together have waited for something; `None` if the system does not
    /// report it.
    pub fn waits(&self) -> Option<u64> {
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id())).ok()?;
        let waits = |thread: fs::DirEntry| {
            let status = fs::read_to_string(thread.path().join("status")).ok()?;
            let line = status.lines().find_map(|it| it.strip_prefix("voluntary_ctxt_switches:"))?;
            line.trim().parse::<u64>().ok()
        };
        Some(threads.flatten().filter_map(waits).sum())
    }

    /// The memory that its end would free: its own pages, and its share of those that other
    /// processes share. In bytes; `None` if the system does not report it.
    pub fn share_of_memory(&self) -> Option<u64> {
        kilobytes(&self.child, "smaps_rollup", "Pss:")
    }

    /// The memory it uses; `None` if the system does not report it.
    pub fn memory(&self) -> Option<Memory> {
        let bytes = |name| kilobytes(&self.child, "status", name);
        Some(Memory { resident: bytes("VmRSS:")?, own: bytes("RssAnon:")? })
    }
}

/// The value of a line in a file about the process, in bytes.
fn kilobytes(child: &Child, file: &str, name: &str) -> Option<u64> {
    let told = fs::read_to_string(format!("/proc/{}/{file}", child.id())).ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

/// The memory of a process, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// All of its resident memory.
    pub resident: u64,
    /// The part that does not belong to files: without the program itself and mapped files.
    pub own: u64,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Stopped cleanly, so that it saves its state for the next start.
        #[cfg(unix)]
        if let Some(process) =
            i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw)
        {
            let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
        }
        #[cfg(not(unix))]
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
