//! A terminal for a program under test: reads its output as it comes, and types keys.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// The longest wait for a text.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program on its own terminal.
pub struct Terminal {
    child: Child,
    keys: File,
    shown: Arc<Mutex<Vec<u8>>>,
    /// The part that was examined so far.
    seen: usize,
}

impl Terminal {
    /// Starts `command` on a terminal of this many columns. Nothing else has that terminal, so
    /// Ctrl-C on it reaches only the program.
    pub fn start(command: &Command, columns: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let end = || Stdio::from(File::options().read(true).write(true).open(&name).unwrap());
        // A session with this terminal: Ctrl-C comes from there.
        let mut session = Command::new("/usr/bin/setsid");
        session.arg("--ctty").arg(command.get_program()).args(command.get_args()).env_clear();
        session.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        session.env("TERM", "xterm-256color");
        if let Some(folder) = command.get_current_dir() {
            session.current_dir(folder);
        }
        let child = session.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let keys = File::from(master);
        let mut reader = keys.try_clone().unwrap();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let screen = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // The other end is closed when the program has ended.
            while let Ok(length @ 1..) = reader.read(&mut buffer) {
                screen.lock().unwrap().extend_from_slice(&buffer[..length]);
            }
        });
        Self { child, keys, shown, seen: 0 }
    }

    /// Types keys: text, `\r` for Enter, `\x03` for Ctrl-C, `\x04` for Ctrl-D, `\t` for Tab.
    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until `text` is shown after everything expected before; returns the text shown up to
    /// it, without styles.
    pub fn expect(&mut self, text: &str) -> String {
        let begun = Instant::now();
        let mut looks_after_its_end = 0;
        loop {
            let all = plain(&self.shown.lock().unwrap());
            if let Some(at) = all[self.seen..].find(text) {
                let from = self.seen;
                self.seen += at + text.len();
                return all[from..self.seen].to_owned();
            }
            let rest = &all[self.seen..];
            // Its last output may still be on its way.
            let ended = self.child.try_wait().unwrap();
            looks_after_its_end += u32::from(ended.is_some());
            let over = looks_after_its_end > 100;
            assert!(!over, "{text:?} is not shown, it ended: {ended:?}; {rest:?}");
            assert!(begun.elapsed() < PATIENCE, "{text:?} is not shown; {rest:?} after {all:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Everything that was shown, with styles.
    pub fn all(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    /// Waits for the program's end; returns its exit code.
    pub fn end(mut self) -> i32 {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap_or_else(|| -status.signal().unwrap_or(0));
            }
            let all = self.all();
            assert!(begun.elapsed() < PATIENCE, "it does not end; {all:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The visible text: without sequences that move the cursor or change styles.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::new();
    let mut rest = text.as_ref();
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(sequence) = rest.strip_prefix('[') {
            // A sequence that is not complete yet may still arrive.
            let Some(end) = sequence.find(|c: char| ('@'..='~').contains(&c)) else { return out };
            rest = &sequence[end + 1..];
        }
    }
    out.push_str(rest);
    out.replace('\r', "")
}
