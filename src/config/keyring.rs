//! The system's keyring, through its command-line program: `secret-tool` on Linux, `security` on
//! macOS.
//!
//! The program runs without a shell and with a time limit, and never gets a key as an argument,
//! which every user of the machine could read. We link no keyring library, because those bring the
//! desktop's message bus, and a call to a locked keyring would block a thread that cannot be ended.

#![expect(clippy::disallowed_methods, reason = "programs that are never in a vault")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::config::Environment;
use crate::hooks::program::{Finished, Program, ProgramError};
use crate::llm::key::{Key, MAX_BYTES, NoKey};

/// The timeout of the keyring. A locked one waits for a person who may be absent.
pub const LIMIT: Duration = Duration::from_secs(2);

/// The timeout if a person has just asked for it and can unlock it.
const INTERACTIVE_LIMIT: Duration = Duration::from_secs(60);

/// The service name of all our entries.
const SERVICE: &str = "vault-steward";

/// The exit status of `security` if there is no such entry.
const NOT_FOUND: i32 = 44;

/// The environment variables passed to the program: who the user is, and the desktop session.
const PASSED: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
];

/// Where to look for the program besides the user's `PATH`.
const USUAL: &str = "/usr/local/bin:/usr/bin:/bin";

/// Counts the requests of this process.
static ASKED: AtomicU64 = AtomicU64::new(0);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// The Secret Service of Linux desktops, through `secret-tool`.
    SecretService,
    /// The macOS keychain, through `security`.
    Keychain,
    /// None that we support.
    Unknown,
}

#[derive(Debug, Clone)]
pub struct Keyring {
    system: System,
    environment: Environment,
    /// Programs in this folder are never run.
    vault: Option<PathBuf>,
}

/// Why the keyring is not usable. Never shows a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyringError {
    /// There is no supported keyring.
    #[error("no keyring is supported on this system")]
    Unknown,
    #[error("`{program}`, which reads the keyring, is not installed")]
    Missing { program: &'static str },
    /// The program did not finish.
    #[error("the keyring did not answer: `{program}` {reason}")]
    Silent { program: &'static str, reason: String },
    /// The program reported an error.
    #[error("the keyring did not answer: `{program}` says `{message}`")]
    Failed {
        program: &'static str,
        /// The last line of its output.
        message: String,
    },
    /// The entry is not a valid key.
    #[error("the keyring's entry for `{provider}` is not a key: {reason}")]
    NoKey { provider: String, reason: NoKey },
    /// The program accepts a key only as an argument, where others could read it.
    #[error("`{program}` takes a key from its arguments only, where others could read it")]
    ByHand { program: &'static str, provider: String },
}

impl KeyringError {
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown => {
                "leave `keyring` out of `[models]`; `steward key set` stores a key in \
                              a file of yours alone"
                    .to_owned()
            }
            Self::Missing { .. } => "install it (Debian and Ubuntu: libsecret-tools; Fedora: \
                                     libsecret), or set `keyring = false` in `[models]`"
                .to_owned(),
            Self::Silent { .. } | Self::Failed { .. } => {
                "is the keyring locked, or nobody logged in? `steward key set` stores a key in a \
                 file of yours alone instead"
                    .to_owned()
            }
            Self::NoKey { provider, .. } => {
                format!("store it again: `steward key set {provider} --keyring`")
            }
            Self::ByHand { provider, .. } => format!(
                "run `security add-generic-password -U -s {SERVICE} -a {provider} -w`, which asks \
                 for it, or add it in Keychain Access"
            ),
        }
    }
}

impl Keyring {
    /// The keyring of this system. Never runs a program inside `vault`.
    pub fn new(environment: &Environment, vault: Option<&Path>) -> Self {
        let system = if cfg!(target_os = "macos") {
            System::Keychain
        } else if cfg!(unix) {
            System::SecretService
        } else {
            System::Unknown
        };
        Self::of(system, environment, vault)
    }

    /// A keyring of the given kind.
    pub fn of(system: System, environment: &Environment, vault: Option<&Path>) -> Self {
        let vault =
            vault.map(|vault| dunce::canonicalize(vault).unwrap_or_else(|_| vault.to_owned()));
        Self { system, environment: environment.clone(), vault }
    }

    /// Looks up a provider's key; takes at most [`LIMIT`]. Blocks.
    ///
    /// # Errors
    /// [`KeyringError`]. A missing key is not an error.
    pub fn get(&self, provider: &str) -> Result<Option<Key>, KeyringError> {
        let arguments: &[&str] = match self.system {
            System::SecretService => &["lookup", "service", SERVICE, "account", provider],
            System::Keychain => &["find-generic-password", "-s", SERVICE, "-a", provider, "-w"],
            System::Unknown => return Err(KeyringError::Unknown),
        };
        let finished = self.run(arguments, None, LIMIT)?;
        if !finished.status.success() {
            let is_none = match self.system {
                // No output means no entry.
                System::SecretService => {
                    finished.status.code() == Some(1) && finished.error_line.is_empty()
                }
                _ => finished.status.code() == Some(NOT_FOUND),
            };
            return if is_none { Ok(None) } else { Err(self.failed(&finished)) };
        }
        let text = String::from_utf8_lossy(&finished.output);
        if text.trim().is_empty() {
            return Ok(None);
        }
        let no_key = |reason| KeyringError::NoKey { provider: provider.to_owned(), reason };
        Key::new(&text).map(Some).map_err(no_key)
    }

    /// Stores a provider's key and replaces an existing one. A person may have to unlock the
    /// keyring. Blocks.
    pub fn store(&self, provider: &str, key: &Key) -> Result<(), KeyringError> {
        let label = format!("--label=Vault Steward: {provider}");
        match self.system {
            System::SecretService => {
                let arguments = ["store", &label, "service", SERVICE, "account", provider];
                let finished = self.run(&arguments, Some(key), INTERACTIVE_LIMIT)?;
                if finished.status.success() { Ok(()) } else { Err(self.failed(&finished)) }
            }
            System::Keychain => Err(KeyringError::ByHand {
                program: self.program_name(),
                provider: provider.to_owned(),
            }),
            System::Unknown => Err(KeyringError::Unknown),
        }
    }

    /// Removes a provider's key; `false` if there was none. Blocks.
    pub fn remove(&self, provider: &str) -> Result<bool, KeyringError> {
        match self.get(provider) {
            Ok(None) => return Ok(false),
            // An invalid entry can be removed too.
            Ok(Some(_)) | Err(KeyringError::NoKey { .. }) => {}
            Err(error) => return Err(error),
        }
        let arguments: &[&str] = match self.system {
            System::SecretService => &["clear", "service", SERVICE, "account", provider],
            System::Keychain => &["delete-generic-password", "-s", SERVICE, "-a", provider],
            System::Unknown => return Err(KeyringError::Unknown),
        };
        let finished = self.run(arguments, None, INTERACTIVE_LIMIT)?;
        if finished.status.success() { Ok(true) } else { Err(self.failed(&finished)) }
    }

    pub fn program(&self) -> Result<PathBuf, KeyringError> {
        if self.system == System::Unknown {
            return Err(KeyringError::Unknown);
        }
        let program = self.program_name();
        let own = self.environment.get("PATH").map(OsString::from).unwrap_or_default();
        let usual = OsString::from(USUAL);
        let folders = std::env::split_paths(&own).chain(std::env::split_paths(&usual));
        // Never run a program from a relative `PATH` entry.
        let mut candidates =
            folders.filter(|folder| folder.is_absolute()).map(|folder| folder.join(program));
        let is_ours = |path: &PathBuf| {
            let Ok(real) = dunce::canonicalize(path) else { return false };
            let inside = |vault: &PathBuf| real.starts_with(vault) || path.starts_with(vault);
            real.is_file() && !self.vault.as_ref().is_some_and(inside)
        };
        candidates.find(is_ours).ok_or(KeyringError::Missing { program })
    }

    fn program_name(&self) -> &'static str {
        match self.system {
            System::Keychain => "security",
            System::SecretService | System::Unknown => "secret-tool",
        }
    }

    fn run(
        &self,
        arguments: &[&str],
        input: Option<&Key>,
        time: Duration,
    ) -> Result<Finished, KeyringError> {
        let mut command = Command::new(self.program()?);
        let passed =
            PASSED.iter().filter_map(|name| Some((name, self.environment.get(name)?.to_owned())));
        command
            .args(arguments)
            .env_clear()
            .envs(passed)
            .env("PATH", USUAL)
            .current_dir(std::env::temp_dir());
        let number = ASKED.fetch_add(1, Ordering::Relaxed);
        let program = Program {
            command,
            input: input.map(|key| key.reveal().as_bytes().to_vec()).unwrap_or_default(),
            time,
            most: MAX_BYTES as u64 + 64,
            mark: Some(format!("keyring-{}-{number}", std::process::id())),
        };
        program.run(&|| false).map_err(|error| KeyringError::Silent {
            program: self.program_name(),
            reason: match error {
                ProgramError::Late => {
                    format!("took longer than {} s and was ended", time.as_secs())
                }
                other => other.to_string(),
            },
        })
    }

    fn failed(&self, finished: &Finished) -> KeyringError {
        let message = match &*finished.error_line {
            "" => finished.status.to_string(),
            message => message.to_owned(),
        };
        KeyringError::Failed { program: self.program_name(), message }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::time::Instant;

    use super::*;

    /// A keyring whose program is this shell script.
    fn keyring(system: System, script: &str) -> (tempfile::TempDir, Keyring) {
        let place = tempfile::tempdir().expect("there is room");
        let name = if system == System::Keychain { "security" } else { "secret-tool" };
        let program = place.path().join(name);
        // A shell writes it: a file that this process had open for writing could not be run while the child of
        // another test has inherited the handle.
        let write = r#"printf '#!/bin/sh\n%s\n' "$1" >"$2" && chmod 700 "$2""#;
        let shell = Command::new("sh").args(["-c", write, "sh", script]).arg(program).status();
        assert!(shell.expect("there is a shell").success());
        let home = place.path().to_owned();
        let variables = [("PATH", home.clone().into_os_string()), ("HOME", home.into_os_string())];
        let environment = Environment::new(variables, None, None);
        let keyring = Keyring::of(system, &environment, None);
        (place, keyring)
    }

    #[test]
    fn a_key_is_found_under_our_name_and_its_account() {
        let script = r#"[ "$*" = "lookup service vault-steward account work" ] && printf sk-1"#;
        let (_place, linux) = keyring(System::SecretService, script);
        assert_eq!(linux.get("work").unwrap().unwrap().reveal(), "sk-1");
        // It ends with a failure and says nothing.
        assert_eq!(linux.get("other").unwrap(), None);

        let script = r#"[ "$*" = "find-generic-password -s vault-steward -a work -w" ] && echo sk-2 \
            && exit; echo "SecKeychainSearchCopyNext: The specified item could not be found" >&2
            exit 44"#;
        let (_place, mac) = keyring(System::Keychain, script);
        assert_eq!(mac.get("work").unwrap().unwrap().reveal(), "sk-2");
        assert_eq!(mac.get("other").unwrap(), None);
        let by_hand = mac.store("work", &Key::new("sk-canary").unwrap()).unwrap_err();
        assert!(by_hand.hint().contains("-a work -w`"), "{by_hand:?}");
    }

    #[test]
    fn a_key_is_read_only_from_input_and_removed() {
        let script = r#"echo "$*" >> "$HOME/arguments"
            case $1 in
              store) cat > "$HOME/kept" ;;
              lookup) [ -e "$HOME/kept" ] && cat "$HOME/kept" ;;
              clear) rm "$HOME/kept" ;;
            esac"#;
        let (place, keyring) = keyring(System::SecretService, script);
        assert!(!keyring.remove("work").unwrap());
        keyring.store("work", &Key::new("sk-canary").unwrap()).unwrap();
        assert_eq!(keyring.get("work").unwrap().unwrap().reveal(), "sk-canary");
        assert!(keyring.remove("work").unwrap());
        assert_eq!(keyring.get("work").unwrap(), None);
        let arguments = std::fs::read_to_string(place.path().join("arguments")).unwrap();
        assert!(arguments.contains("store --label=Vault Steward: work service"), "{arguments}");
        assert!(!arguments.contains("canary"), "{arguments}");
    }

    #[test]
    fn one_that_hangs_is_ended_with_all_that_it_started() {
        let script = r#"sleep 600 & echo $! > "$HOME/started"; wait"#;
        let (place, keyring) = keyring(System::SecretService, script);
        let start = Instant::now();
        let error = keyring.get("work").unwrap_err();
        assert!(start.elapsed() >= LIMIT, "its time was its own");
        assert_eq!(
            error.to_string(),
            "the keyring did not answer: `secret-tool` took longer than 2 s and was ended"
        );
        let started = std::fs::read_to_string(place.path().join("started")).unwrap();
        let process = rustix::process::Pid::from_raw(started.trim().parse().unwrap()).unwrap();
        // The process has ended, even if its new parent has not waited for it yet.
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", started.trim()));
        let until = Instant::now() + Duration::from_secs(60);
        while rustix::process::test_kill_process(process).is_ok()
            && !state().is_ok_and(|state| state.contains(") Z "))
        {
            assert!(Instant::now() < until, "{:?}", state());
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_failing_program_is_reported_without_a_key() {
        let error_text = |script: &str| {
            let error = keyring(System::SecretService, script).1.get("work").unwrap_err();
            let error_text = format!("{error} {error:?} {}", error.hint());
            assert!(!error_text.contains("canary"), "{error_text}");
            error.to_string()
        };
        assert_eq!(
            error_text("echo 'secret-tool: Cannot autolaunch D-Bus' >&2; exit 1"),
            "the keyring did not answer: `secret-tool` says `secret-tool: Cannot autolaunch D-Bus`"
        );
        assert!(error_text("echo sk-canary two words").contains("is not a key"));
        assert!(error_text("printf 'sk-canary\\001\\377'").contains("is not a key"));
        assert!(error_text("while :; do echo sk-canary; done").contains("wrote too much"));
    }

    #[test]
    fn nothing_in_the_vault_is_run_and_a_missing_program_is_named() {
        let (place, _) = keyring(System::SecretService, "printf sk-1");
        let path = place.path().as_os_str().to_owned();
        let environment = Environment::new([("PATH", path)], None, None);
        let there = Keyring::of(System::SecretService, &environment, None).program().unwrap();
        let elsewhere =
            Keyring::of(System::SecretService, &environment, Some(place.path())).program();
        assert!(elsewhere != Ok(there), "{elsewhere:?}");
        // A program that exists on no system.
        let missing = KeyringError::Missing { program: "secret-tool" };
        assert_eq!(missing.to_string(), "`secret-tool`, which reads the keyring, is not installed");
        let unknown = Keyring::of(System::Unknown, &environment, None);
        assert_eq!(unknown.get("work"), Err(KeyringError::Unknown));
    }
}
