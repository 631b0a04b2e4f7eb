//! The settings that hold now, while the file may change at any moment.
//!
//! One place decides. [`Live`] reads the file anew when [`super::watch`] or a client asks for it,
//! lays environment and flags over it as at the start, holds back what needs a restart, and only
//! then hands the whole to the rooms, which each take their part at once. A file that is wrong
//! changes nothing: the old settings hold, and what is wrong is told.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use arc_swap::ArcSwap;
use serde_json::Value;

use super::change::{self, ChangeError};
use super::file::{self, Config, ConfigError};
use super::layers::{self, Flags, Settings};
use super::vaults::Origin;
use super::{Environment, keys};

/// Why the file as it is now does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub file: PathBuf,
    /// Line and column, from 1, where it has a place.
    pub place: Option<(usize, usize)>,
    /// What is wrong.
    pub message: String,
    /// What to do.
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

/// What a look at the file came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// Nothing that anybody needs to hear of.
    Nothing,
    /// New settings hold.
    Reloaded {
        /// What is another value now, by name.
        changed: Vec<String>,
        /// What the file says and only a restart brings.
        needs_restart: Vec<String>,
    },
    /// The file is wrong; the old settings hold.
    Rejected(Problem),
}

/// How hard to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// The file has been quiet for a while: what it says is meant.
    Settled,
    /// Somebody wants to know now: a file that is wrong may be half written, and is left for later.
    Early,
}

/// What hears of news, in the order in which it came about.
type Sink = Box<dyn Fn(&Settings, &News) + Send + Sync>;

/// The settings of a running daemon.
pub struct Live {
    path: PathBuf,
    named: bool,
    flags: Flags,
    environment: Environment,
    current: ArcSwap<Settings>,
    sink: OnceLock<Sink>,
    state: Mutex<State>,
    /// Held while the file is changed: of two changes at a time none is lost.
    changing: Mutex<()>,
}

struct State {
    /// The bytes that were looked at last; `None` where there was no file.
    seen: Option<Option<Vec<u8>>>,
    problem: Option<Problem>,
    /// What the file says, restart or not.
    wanted: Config,
}

/// What can be said of the file, for `status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// What is wrong with it.
    pub problem: Option<Problem>,
    /// What it says and only a restart brings.
    pub needs_restart: Vec<String>,
}

impl Live {
    /// What holds from the start: `settings`, as [`layers::load`] made them of these flags and this
    /// environment. `named` says that the file was named and must exist.
    pub fn new(settings: Settings, named: bool, flags: Flags, environment: Environment) -> Self {
        let path = match environment.working_folder() {
            Some(folder) => folder.join(&settings.file),
            None => settings.file.clone(),
        };
        let wanted = settings.config.clone();
        Self {
            path,
            named,
            flags,
            environment,
            current: ArcSwap::from_pointee(settings),
            sink: OnceLock::new(),
            // What was read at the start is looked at once more: it may have changed since.
            state: Mutex::new(State { seen: None, problem: None, wanted }),
            changing: Mutex::default(),
        }
    }

    /// The file, absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The settings that hold.
    pub fn current(&self) -> Arc<Settings> {
        self.current.load_full()
    }

    /// Says who hears of news from now on; the first one counts.
    pub fn tell(&self, sink: impl Fn(&Settings, &News) + Send + Sync + 'static) {
        let _ = self.sink.set(Box::new(sink));
    }

    /// How the file stands.
    pub fn standing(&self) -> Standing {
        let state = self.state();
        Standing {
            problem: state.problem.clone(),
            needs_restart: keys::differences(&state.wanted, &self.current().config),
        }
    }

    /// What the file says, those settings included that wait for a restart.
    pub fn wanted(&self) -> Config {
        self.state().wanted.clone()
    }

    /// Reads the file and takes what is new in it. The rooms have it when this returns.
    pub fn look(&self, how: Look) -> News {
        let mut state = self.state();
        let bytes = self.bytes();
        if let Ok(bytes) = &bytes
            && state.seen.as_ref() == Some(bytes)
        {
            return News::Nothing;
        }
        let taken = bytes.and_then(|bytes| Ok((self.settings(bytes.as_deref())?, bytes)));
        let news = match taken {
            Ok((settings, bytes)) => {
                state.seen = Some(bytes);
                self.take(&mut state, settings)
            }
            Err(_) if how == Look::Early => return News::Nothing,
            Err(error) => {
                state.seen = self.bytes().ok();
                let problem = Problem::new(&error, &self.path);
                if state.problem.as_ref() == Some(&problem) {
                    return News::Nothing;
                }
                tracing::error!("the settings are as before: {problem}");
                state.problem = Some(problem.clone());
                News::Rejected(problem)
            }
        };
        if let (false, Some(sink)) = (news == News::Nothing, self.sink.get()) {
            sink(&self.current(), &news);
        }
        news
    }

    /// Changes one setting in the file, as [`change::set`] does, and takes the file.
    ///
    /// # Errors
    /// [`ChangeError`], and the file is as it was.
    pub fn set(&self, name: &str, value: &Value) -> Result<News, ChangeError> {
        let _turn = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        // What others wrote meanwhile is told as theirs.
        self.look(Look::Early);
        change::set(&self.path, name, value)?;
        Ok(self.look(Look::Settled))
    }

    fn take(&self, state: &mut State, mut settings: Settings) -> News {
        let running = self.current();
        // A vault that flag or environment name is not the file's to change, restart or not.
        if matches!(settings.vault, Some((_, Origin::Flag | Origin::Environment))) {
            settings.config.path.clone_from(&running.config.path);
        }
        let mended = state.problem.take().is_some();
        let waited = keys::differences(&state.wanted, &running.config);
        state.wanted = settings.config.clone();
        let held = keys::hold_back(&settings.config, &running.config);
        let changed = keys::differences(&held, &running.config);
        let needs_restart = keys::differences(&settings.config, &held);
        // The vault that is served stays the one that was chosen.
        let vault = running.vault.clone();
        self.current.store(Arc::new(Settings { config: held, vault, ..settings }));
        if changed.is_empty() && needs_restart == waited && !mended {
            return News::Nothing;
        }
        let (now, later) = (changed.join(", "), needs_restart.join(", "));
        tracing::info!(changed = now, needs_restart = later, "took new settings");
        News::Reloaded { changed, needs_restart }
    }

    /// The file's bytes; `None` where it is missing and need not be there.
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
            // At a start the defaults are safe; here they would replace what holds by the remains
            // of a save that went wrong.
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
        layers::lay(loaded, self.path.clone(), &self.flags, &self.environment)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Whole between two statements, so a panic elsewhere changes nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").field("path", &self.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::folders::Folders;

    struct Place {
        folder: tempfile::TempDir,
        live: Live,
        told: Arc<Mutex<Vec<News>>>,
    }

    impl Place {
        fn new(vars: &[(&'static str, &str)], flags: Flags) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let vars = vars.iter().map(|(name, value)| (*name, (*value).into()));
            let environment = Environment::new(vars, None, None);
            let folders = Folders { config: folder.path().into(), state: folder.path().into() };
            let settings = layers::load(&flags, &environment, &folders).unwrap();
            let live = Live::new(settings, false, flags, environment);
            let told = Arc::<Mutex<Vec<News>>>::default();
            let sink = Arc::clone(&told);
            live.tell(move |_, news| sink.lock().unwrap().push(news.clone()));
            Self { folder, live, told }
        }

        fn write(&self, bytes: impl AsRef<[u8]>) -> News {
            std::fs::write(self.folder.path().join("config.toml"), bytes).unwrap();
            self.live.look(Look::Settled)
        }
    }

    fn reloaded(changed: &[&str], needs_restart: &[&str]) -> News {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        News::Reloaded { changed: owned(changed), needs_restart: owned(needs_restart) }
    }

    #[test]
    fn new_values_hold_at_once_and_those_for_a_restart_are_named() {
        let place = Place::new(&[], Flags::default());
        let text = "[server]\nport = 5\nmax_in_flight = 3\n[search]\ndeadline_milliseconds = 7\n";
        let news = place.write(text);
        let changed = ["search.deadline_milliseconds", "server.max_in_flight"];
        assert_eq!(news, reloaded(&changed, &["server.port"]));
        let now = place.live.current();
        assert_eq!(now.config.search.deadline_milliseconds, 7);
        assert_eq!((now.config.server.max_in_flight, now.config.server.port), (3, 27180));
        assert_eq!(place.live.wanted().server.port, 5);
        assert_eq!(place.live.standing().needs_restart, ["server.port"]);
        assert_eq!(place.write(format!("# a comment\n{text}")), News::Nothing);
        std::fs::remove_file(place.live.path()).unwrap();
        assert_eq!(place.live.look(Look::Settled), reloaded(&changed, &[]));
        assert_eq!(place.live.current().config, Config::default());
        assert_eq!(place.told.lock().unwrap().len(), 2, "nothing is told when nothing is new");
    }

    #[test]
    fn a_file_that_is_wrong_in_any_way_keeps_the_old_settings() {
        let place = Place::new(&[], Flags::default());
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
            assert_eq!(place.live.look(Look::Early), News::Nothing);
            let News::Rejected(problem) = place.write(bytes) else { panic!("{message}") };
            assert_eq!(problem.place, Some(at), "{problem}");
            assert!(problem.message.contains(message), "{problem}");
            assert_eq!(place.live.current().config, before.config);
            assert_eq!(place.live.standing().problem, Some(problem));
            assert_eq!(place.live.look(Look::Settled), News::Nothing, "told once");
        }
        let marked = b"\xEF\xBB\xBF[server]\nmax_in_flight = 3\n";
        assert_eq!(place.write(marked), reloaded(&[], &[]), "that it is right again is told");
        assert_eq!(place.live.standing().problem, None);
    }

    #[test]
    fn an_early_look_takes_what_is_right_and_waits_with_the_rest() {
        let place = Place::new(&[], Flags::default());
        let file = place.live.path().to_path_buf();
        std::fs::write(&file, "[server]\nmax_in_fl").unwrap();
        assert_eq!(place.live.look(Look::Early), News::Nothing);
        assert_eq!(place.live.standing().problem, None);
        std::fs::write(&file, "[server]\nmax_in_flight = 3\n").unwrap();
        assert_eq!(place.live.look(Look::Early), reloaded(&["server.max_in_flight"], &[]));
        assert_eq!(place.told.lock().unwrap().len(), 1);
    }

    #[test]
    fn environment_and_flags_stay_above_the_file() {
        let flags = Flags { level: Some(crate::config::log::Level::Debug), ..Flags::default() };
        let place = Place::new(&[("STEWARD_PORT", "9")], flags);
        let news = place.write("[server]\nport = 5\n[log]\nlevel = \"error\"\n");
        assert_eq!(news, News::Nothing);
        let now = place.live.current();
        assert_eq!(now.config.server.port, 9);
        assert_eq!(now.config.log.level, Some(crate::config::log::Level::Debug));
        assert_eq!(now.sources["server.port"], layers::Source::Environment("STEWARD_PORT"));
        assert_eq!(now.sources["log.level"], layers::Source::Flag("--log-level"));
    }

    #[test]
    fn of_many_changes_at_a_time_none_is_lost() {
        let place = Place::new(&[], Flags::default());
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
        assert_eq!(place.told.lock().unwrap().len(), 80);
    }
}
