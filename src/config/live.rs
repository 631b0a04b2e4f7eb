//! The current settings, while the file may change at any moment.
//!
//! [`Live`] reads the file again when [`super::watch`] or a client triggers it, applies environment
//! and flags as at the start, holds back what needs a restart, and then passes the result to the
//! rooms. An invalid file changes nothing: the old settings stay in effect, and the error is
//! reported.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use arc_swap::ArcSwap;
use serde_json::Value;

use super::change::{self, ChangeError};
use super::file::{self, Config, ConfigError};
use super::layers::{self, Flags, Settings};
use super::vaults::Origin;
use super::{Environment, keys};
use crate::locks::lock;

/// Why the current file is not in effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub file: PathBuf,
    /// Line and column, from 1, if known.
    pub place: Option<(usize, usize)>,
    pub message: String,
    pub hint: Option<String>,
}

impl Problem {
    fn new(error: &ConfigError, file: &Path) -> Self {
        let (place, message) = match error {
            ConfigError::Fault { line, column, message, .. } => {
                (Some((*line, *column)), message.clone())
            }
            error => (None, error.to_string()),
        };
        Self { file: file.to_path_buf(), place, message, hint: error.hint() }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.place {
            Some((line, column)) => {
                write!(f, "{}:{line}:{column}: {}", self.file.display(), self.message)
            }
            None => f.write_str(&self.message),
        }
    }
}

/// The result of checking the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckResult {
    Nothing,
    /// New settings are in effect.
    Reloaded {
        changed: Vec<String>,
        needs_restart: Vec<String>,
    },
    /// The file is invalid; the old settings stay in effect.
    Rejected(Problem),
}

/// How to treat an invalid file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidFile {
    /// The file has been unchanged for a while, so an error in it is real.
    Reject,
    /// Someone asks right now: an invalid file may be half written, so ignore it for now.
    Ignore,
}

/// Receives the results, in order.
type Sink = Box<dyn Fn(&Settings, &CheckResult) + Send + Sync>;

pub struct Live {
    path: PathBuf,
    named: bool,
    flags: Flags,
    environment: Environment,
    current: ArcSwap<Settings>,
    sink: OnceLock<Sink>,
    state: Mutex<LiveState>,
    /// Held while the file is being changed, so that concurrent changes are not lost.
    changing: Mutex<()>,
}

struct LiveState {
    /// The bytes last checked; `None` inside if there was no file.
    last_bytes: Option<Option<Vec<u8>>>,
    problem: Option<Problem>,
    /// The settings in the file, including those that need a restart.
    configured: Config,
}

/// The state of the file, for `status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsStatus {
    /// The file's error, if any.
    pub problem: Option<Problem>,
    pub needs_restart: Vec<String>,
}

impl Live {
    /// Starts with `settings`, as [`layers::load`] built them from these flags and this
    /// environment. `named`: the file was named explicitly and must exist.
    pub fn new(settings: Settings, named: bool, flags: Flags, environment: Environment) -> Self {
        let path = match environment.working_folder() {
            Some(folder) => folder.join(&settings.file),
            None => settings.file.clone(),
        };
        let configured = settings.config.clone();
        Self {
            path,
            named,
            flags,
            environment,
            current: ArcSwap::from_pointee(settings),
            sink: OnceLock::new(),
            // Check the file again after the start: it may have changed since.
            state: Mutex::new(LiveState { last_bytes: None, problem: None, configured }),
            changing: Mutex::default(),
        }
    }

    /// The absolute path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn current(&self) -> Arc<Settings> {
        self.current.load_full()
    }

    /// Sets the receiver of results. Only the first call has an effect.
    pub fn set_sink(&self, sink: impl Fn(&Settings, &CheckResult) + Send + Sync + 'static) {
        let _ = self.sink.set(Box::new(sink));
    }

    /// The state of the file.
    pub fn status(&self) -> SettingsStatus {
        let state = lock(&self.state);
        SettingsStatus {
            problem: state.problem.clone(),
            needs_restart: keys::differences(&state.configured, &self.current().config),
        }
    }

    /// The settings in the file, including those that need a restart.
    pub fn configured(&self) -> Config {
        lock(&self.state).configured.clone()
    }

    /// Checks the file and applies changed settings. The rooms have the new settings when this returns.
    pub fn check(&self, how: InvalidFile) -> CheckResult {
        let mut state = lock(&self.state);
        let bytes = self.bytes();
        if let Ok(bytes) = &bytes
            && state.last_bytes.as_ref() == Some(bytes)
        {
            return CheckResult::Nothing;
        }
        let taken = bytes.and_then(|bytes| Ok((self.settings(bytes.as_deref())?, bytes)));
        let news = match taken {
            Ok((settings, bytes)) => {
                state.last_bytes = Some(bytes);
                self.adopt(&mut state, settings)
            }
            Err(_) if how == InvalidFile::Ignore => return CheckResult::Nothing,
            Err(error) => {
                state.last_bytes = self.bytes().ok();
                let problem = Problem::new(&error, &self.path);
                if state.problem.as_ref() == Some(&problem) {
                    return CheckResult::Nothing;
                }
                tracing::error!("the settings are unchanged: {problem}");
                state.problem = Some(problem.clone());
                CheckResult::Rejected(problem)
            }
        };
        if let (false, Some(sink)) = (news == CheckResult::Nothing, self.sink.get()) {
            sink(&self.current(), &news);
        }
        news
    }

    /// Changes one setting in the file with [`change::set`] and applies the file.
    pub fn set(&self, name: &str, value: &Value) -> Result<CheckResult, ChangeError> {
        let _turn = lock(&self.changing);
        // Report earlier changes by others separately.
        self.check(InvalidFile::Ignore);
        change::set(&self.path, name, value)?;
        Ok(self.check(InvalidFile::Reject))
    }

    fn adopt(&self, state: &mut LiveState, mut settings: Settings) -> CheckResult {
        let running = self.current();
        // If a flag or the environment chose the vault, the file cannot change it, even with a
        // restart.
        if matches!(settings.vault, Some((_, Origin::Flag | Origin::Environment))) {
            settings.config.path.clone_from(&running.config.path);
        }
        let mended = state.problem.take().is_some();
        let waited = keys::differences(&state.configured, &running.config);
        state.configured = settings.config.clone();
        let effective = keys::hold_back(&settings.config, &running.config);
        let changed = keys::differences(&effective, &running.config);
        let needs_restart = keys::differences(&settings.config, &effective);
        // The daemon keeps serving the chosen vault.
        let vault = running.vault.clone();
        self.current.store(Arc::new(Settings { config: effective, vault, ..settings }));
        if changed.is_empty() && needs_restart == waited && !mended {
            return CheckResult::Nothing;
        }
        let (now, later) = (changed.join(", "), needs_restart.join(", "));
        tracing::info!(changed = now, needs_restart = later, "took new settings");
        CheckResult::Reloaded { changed, needs_restart }
    }

    /// The file's bytes; `None` if it is missing and may be missing.
    fn bytes(&self) -> Result<Option<Vec<u8>>, ConfigError> {
        match file::bytes(&self.path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(ConfigError::Unreadable { source, .. })
                if !self.named && source.kind() == std::io::ErrorKind::NotFound =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn settings(&self, bytes: Option<&[u8]>) -> Result<Settings, ConfigError> {
        let loaded = match bytes {
            // At the start, the defaults are a safe fallback for an empty file. Here they would
            // replace the current settings because of an interrupted save.
            Some([]) => {
                return Err(ConfigError::Fault {
                    path: self.path.clone(),
                    line: 1,
                    column: 1,
                    message: "the file is empty".to_owned(),
                    hint: Some("for the defaults, delete it or leave a comment in it".to_owned()),
                });
            }
            Some(bytes) => Some(file::parse(bytes, &self.path)?),
            None => None,
        };
        layers::merge(loaded, self.path.clone(), &self.flags, &self.environment)
    }
}

debug_only!(Live, path);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::folders::Folders;

    struct TestSettings {
        folder: tempfile::TempDir,
        live: Live,
        reported: Arc<Mutex<Vec<CheckResult>>>,
    }

    impl TestSettings {
        fn new(vars: &[(&'static str, &str)], flags: Flags) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let vars = vars.iter().map(|(name, value)| (*name, (*value).into()));
            let environment = Environment::new(vars, None, None);
            let folders = Folders { config: folder.path().into(), state: folder.path().into() };
            let settings = layers::load(&flags, &environment, &folders).unwrap();
            let live = Live::new(settings, false, flags, environment);
            let reported = Arc::<Mutex<Vec<CheckResult>>>::default();
            let sink = Arc::clone(&reported);
            live.set_sink(move |_, news| sink.lock().unwrap().push(news.clone()));
            Self { folder, live, reported }
        }

        fn write(&self, bytes: impl AsRef<[u8]>) -> CheckResult {
            std::fs::write(self.folder.path().join("config.toml"), bytes).unwrap();
            self.live.check(InvalidFile::Reject)
        }
    }

    fn reloaded(changed: &[&str], needs_restart: &[&str]) -> CheckResult {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        CheckResult::Reloaded { changed: owned(changed), needs_restart: owned(needs_restart) }
    }

    #[test]
    fn new_values_hold_at_once_and_those_for_a_restart_are_named() {
        let place = TestSettings::new(&[], Flags::default());
        let text = "[server]\nport = 5\nmax_in_flight = 3\n[search]\ndeadline_milliseconds = 7\n";
        let news = place.write(text);
        let changed = ["search.deadline_milliseconds", "server.max_in_flight"];
        assert_eq!(news, reloaded(&changed, &["server.port"]));
        let now = place.live.current();
        assert_eq!(now.config.search.deadline_milliseconds, 7);
        assert_eq!((now.config.server.max_in_flight, now.config.server.port), (3, 27180));
        assert_eq!(place.live.configured().server.port, 5);
        assert_eq!(place.live.status().needs_restart, ["server.port"]);
        assert_eq!(place.write(format!("# a comment\n{text}")), CheckResult::Nothing);
        std::fs::remove_file(place.live.path()).unwrap();
        assert_eq!(place.live.check(InvalidFile::Reject), reloaded(&changed, &[]));
        assert_eq!(place.live.current().config, Config::default());
        assert_eq!(place.reported.lock().unwrap().len(), 2, "nothing is told when nothing is new");
    }

    #[test]
    fn a_file_that_is_wrong_in_any_way_keeps_the_old_settings() {
        let place = TestSettings::new(&[], Flags::default());
        place.write("[server]\nmax_in_flight = 3\n");
        let before = place.live.current();
        let cases: [(&[u8], (usize, usize), &str); 7] = [
            (b"", (1, 1), "empty"),
            (b"[server]\nmax_in_fl", (2, 10), "not TOML"),
            (b"[server]\nprot = 1\n", (2, 1), "unknown key `prot`"),
            (b"[server]\nport = true\n", (2, 8), "invalid type"),
            (b"[server]\nmax_in_flight = 0\n", (2, 17), "at least 1"),
            (b"\xFF\xFE[\0s\0", (1, 1), "not UTF-8"),
            (b"[server]\nmax_in_flight = 9\n[log]\nlevel = 'x'\n", (4, 9), "unknown variant"),
        ];
        for (bytes, at, message) in cases {
            assert_eq!(place.live.check(InvalidFile::Ignore), CheckResult::Nothing);
            let CheckResult::Rejected(problem) = place.write(bytes) else { panic!("{message}") };
            assert_eq!(problem.place, Some(at), "{problem}");
            assert!(problem.message.contains(message), "{problem}");
            assert_eq!(place.live.current().config, before.config);
            assert_eq!(place.live.status().problem, Some(problem));
            assert_eq!(place.live.check(InvalidFile::Reject), CheckResult::Nothing, "told once");
        }
        let marked = b"\xEF\xBB\xBF[server]\nmax_in_flight = 3\n";
        assert_eq!(place.write(marked), reloaded(&[], &[]), "that it is right again is told");
        assert_eq!(place.live.status().problem, None);
    }

    #[test]
    fn an_early_check_applies_a_valid_file_and_waits_otherwise() {
        let place = TestSettings::new(&[], Flags::default());
        let file = place.live.path().to_path_buf();
        std::fs::write(&file, "[server]\nmax_in_fl").unwrap();
        assert_eq!(place.live.check(InvalidFile::Ignore), CheckResult::Nothing);
        assert_eq!(place.live.status().problem, None);
        std::fs::write(&file, "[server]\nmax_in_flight = 3\n").unwrap();
        assert_eq!(place.live.check(InvalidFile::Ignore), reloaded(&["server.max_in_flight"], &[]));
        assert_eq!(place.reported.lock().unwrap().len(), 1);
    }

    #[test]
    fn environment_and_flags_stay_above_the_file() {
        let flags = Flags { level: Some(crate::config::log::Level::Debug), ..Flags::default() };
        let place =
            TestSettings::new(&[("STEWARD_PORT", "9"), ("OLLAMA_HOST", "127.0.0.1:4")], flags);
        let news = place.write("[server]\nport = 5\n[log]\nlevel = \"error\"\n");
        assert_eq!(news, CheckResult::Nothing);
        let now = place.live.current();
        assert_eq!(now.config.server.port, 9);
        assert_eq!(now.config.models.ollama.as_deref(), Some("127.0.0.1:4"));
        assert_eq!(now.config.log.level, Some(crate::config::log::Level::Debug));
        assert_eq!(now.sources["server.port"], layers::Source::Environment("STEWARD_PORT"));
        assert_eq!(now.sources["log.level"], layers::Source::Flag("--log-level"));
    }

    #[test]
    fn of_many_changes_at_a_time_none_is_lost() {
        let place = TestSettings::new(&[], Flags::default());
        let names = [
            "server.max_in_flight",
            "server.ping_seconds",
            "search.deadline_milliseconds",
            "vault.poll_seconds",
        ];
        std::thread::scope(|scope| {
            for name in names {
                let live = &place.live;
                scope.spawn(move || {
                    for value in 1..=20 {
                        live.set(name, &value.into()).unwrap();
                    }
                });
            }
        });
        let values = keys::values(&place.live.current().config);
        assert!(names.iter().all(|name| values[*name] == 20), "{values:?}");
        assert_eq!(place.reported.lock().unwrap().len(), 80);
    }
}
