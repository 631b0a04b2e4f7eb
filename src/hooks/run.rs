//! One command, run once.

#![expect(clippy::disallowed_methods, reason = "programs and a folder that are never in a vault")]

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::children;
use super::settings::Hook;

/// The longest answer taken, in bytes; as much as the largest message of a client.
const MAX_ANSWER: u64 = 4 << 20;

/// Bytes of what it says on standard error that are kept.
const MAX_SAID: u64 = 4 << 10;

/// Characters of that which are told.
const SHOWN: usize = 200;

/// How often it is looked whether it is still wanted.
const LOOK: Duration = Duration::from_millis(20);

/// How long the pipes of a command that has ended may stay open: something that got away holds them.
const LAST_BYTES: Duration = Duration::from_millis(500);

/// The variable that tells every process of one run from all others.
pub(super) const MARK: &str = "STEWARD_HOOK_RUN";

/// The variables of the steward's own environment that every hook gets.
#[cfg(not(windows))]
const PASSED: &[&str] = &["HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ"];
#[cfg(windows)]
const PASSED: &[&str] =
    &["USERPROFILE", "USERNAME", "APPDATA", "LOCALAPPDATA", "SystemRoot", "ComSpec"];

/// Where programs that a hook starts by their bare names are looked for.
#[cfg(not(windows))]
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin";

/// Why a hook did not do well.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("`{}` lies in the vault, where others write; put it elsewhere", .0.display())]
    InVault(PathBuf),
    #[error("its folder `{}` could not be made: {source}", .place.display())]
    Place { place: PathBuf, source: io::Error },
    #[error("`{}` could not be started: {source}", .program.display())]
    Start { program: PathBuf, source: io::Error },
    #[error("it took longer than {0} s and was ended")]
    Late(u32),
    #[error("it said more than {} bytes and was ended", MAX_ANSWER)]
    TooMuch,
    #[error("it ended with {status}{}", after_colon(.said))]
    Failed { status: ExitStatus, said: String },
    #[error("{0}")]
    Answer(String),
    #[error("what it was asked about was withdrawn")]
    Withdrawn,
}

fn after_colon(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

/// A command that is to be run.
pub(super) struct Run<'a> {
    pub name: &'a str,
    pub hook: &'a Hook,
    pub vault: &'a Path,
    pub place: &'a Path,
    /// What it reads.
    pub input: Vec<u8>,
    /// The value of [`MARK`].
    pub mark: String,
}

enum Heard {
    Ended,
    Said { bytes: Vec<u8>, all: bool },
    Complained(Vec<u8>),
}

impl Run<'_> {
    /// Runs it to its end, or to the end of its time; what it said.
    pub fn go(self, withdrawn: &dyn Fn() -> bool) -> Result<Vec<u8>, Fault> {
        let until = Instant::now() + Duration::from_secs(u64::from(self.hook.seconds));
        let mut child = self.start()?;
        let (tell, hear) = mpsc::channel();
        self.listen(&mut child, &tell);
        let (mut output, mut complaint) = (None, None);
        let ended = loop {
            let now = Instant::now();
            if now >= until {
                break Err(Fault::Late(self.hook.seconds));
            }
            if withdrawn() {
                break Err(Fault::Withdrawn);
            }
            match hear.recv_timeout(LOOK.min(until - now)) {
                Ok(Heard::Ended) => break Ok(()),
                Ok(Heard::Said { all: false, .. }) => break Err(Fault::TooMuch),
                Ok(Heard::Said { bytes, all: true }) => output = Some(bytes),
                Ok(Heard::Complained(bytes)) => complaint = Some(bytes),
                Err(RecvTimeoutError::Timeout) if children::has_ended(&mut child) => break Ok(()),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break Ok(()),
            }
        };
        // What it left running goes with it: nobody would end it later.
        children::end(&child, ended.is_err().then_some(self.mark.as_str()));
        let status = child.wait();
        ended?;
        let status = status.map_err(|source| Fault::Start { program: self.program(), source })?;
        let closed = Instant::now() + LAST_BYTES;
        while output.is_none() || complaint.is_none() {
            match hear.recv_timeout(closed.saturating_duration_since(Instant::now())) {
                Ok(Heard::Said { all: false, .. }) => return Err(Fault::TooMuch),
                Ok(Heard::Said { bytes, all: true }) => output = Some(bytes),
                Ok(Heard::Complained(bytes)) => complaint = Some(bytes),
                Ok(Heard::Ended) => {}
                Err(_) => break,
            }
        }
        if !status.success() {
            let said = String::from_utf8_lossy(&complaint.unwrap_or_default()).into_owned();
            let line = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
            let said = line.chars().filter(|c| !c.is_control()).take(SHOWN).collect();
            return Err(Fault::Failed { status, said });
        }
        // One that closed its output and goes on elsewhere has said nothing.
        Ok(output.unwrap_or_default())
    }

    fn program(&self) -> PathBuf {
        at_home(self.hook.command.first().map_or("", String::as_str))
    }

    fn start(&self) -> Result<Child, Fault> {
        self.check_places()?;
        std::fs::create_dir_all(self.place)
            .map_err(|source| Fault::Place { place: self.place.to_path_buf(), source })?;
        let program = self.program();
        let mut command = Command::new(&program);
        command
            .args(self.hook.command.iter().skip(1).map(|part| at_home(part)))
            .env_clear()
            .envs(self.environment())
            .current_dir(self.place)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        children::prepare(&mut command);
        command.spawn().map_err(|source| Fault::Start { program, source })
    }

    /// Refuses what lies in the vault: the program, whatever links lead to it, and every file that
    /// is named to it, which may be a script.
    fn check_places(&self) -> Result<(), Fault> {
        for (number, part) in self.hook.command.iter().enumerate() {
            // Of `--file=/some/where` what stands behind the sign.
            let named = if at_home(part).is_absolute() { Some(&**part) } else { behind_sign(part) };
            let Some(path) = named.map(at_home).filter(|path| path.is_absolute()) else { continue };
            let Ok(real) = std::fs::canonicalize(&path) else { continue };
            let inside = |path: &Path| path.starts_with(self.vault);
            if (inside(&real) || inside(&path)) && (number == 0 || !real.is_dir()) {
                return Err(Fault::InVault(path));
            }
        }
        Ok(())
    }

    fn environment(&self) -> Vec<(OsString, OsString)> {
        let named = PASSED.iter().copied().chain(self.hook.environment.iter().map(String::as_str));
        let mut environment: Vec<(OsString, OsString)> =
            named.filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect();
        #[cfg(not(windows))]
        let path = Some(OsString::from(PATH));
        #[cfg(windows)]
        let path = std::env::var_os("PATH");
        if !self.hook.environment.iter().any(|name| name == "PATH") {
            environment.extend(path.map(|path| ("PATH".into(), path)));
        }
        let temporary = if cfg!(windows) { "TEMP" } else { "TMPDIR" };
        environment.extend([
            (temporary.into(), self.place.into()),
            ("STEWARD_VAULT".into(), self.vault.into()),
            (super::VARIABLE.into(), self.name.into()),
            (MARK.into(), self.mark.clone().into()),
        ]);
        environment
    }

    /// Feeds it, and hears what it says and when it ends, each on a thread that ends with it.
    fn listen(&self, child: &mut Child, tell: &mpsc::Sender<Heard>) {
        let input = self.input.clone();
        if let Some(mut pipe) = child.stdin.take() {
            // Who does not read what it is told need not.
            std::thread::spawn(move || drop(pipe.write_all(&input)));
        }
        if let Some(pipe) = child.stdout.take() {
            let tell = tell.clone();
            std::thread::spawn(move || {
                let bytes = taken(pipe, MAX_ANSWER + 1);
                let all = bytes.len() as u64 <= MAX_ANSWER;
                let _ = tell.send(Heard::Said { bytes, all });
            });
        }
        if let Some(mut pipe) = child.stderr.take() {
            let tell = tell.clone();
            std::thread::spawn(move || {
                let bytes = taken(&mut pipe, MAX_SAID);
                // Read on, so that it is not held up.
                let _ = io::copy(&mut pipe, &mut io::sink());
                let _ = tell.send(Heard::Complained(bytes));
            });
        }
        let (id, tell) = (child.id(), tell.clone());
        std::thread::spawn(move || {
            if children::wait(id) {
                let _ = tell.send(Heard::Ended);
            }
        });
    }
}

fn taken(pipe: impl Read, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = pipe.take(most).read_to_end(&mut bytes);
    bytes
}

/// `~/x` as in the user's home folder, everything else as it stands.
fn at_home(text: &str) -> PathBuf {
    match (text.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(text),
    }
}

fn behind_sign(argument: &str) -> Option<&str> {
    argument.split_once('=').map(|(_, value)| value)
}
