//! The model that a user can install, in addition to the one in the program. Its vectors are
//! computed in the background: first for notes that a search has found, then for the newest. Until
//! then a note keeps the vectors of the other model.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::meaning::minilm::{self, ModelState};
use super::meaning::vectors::{InstalledVectors, Maker as _, Near, Vectors};
use super::{FoundNote, power};
use crate::index::changes::Feed;
use crate::index::persistent::Persistent;
use crate::index::synced::{RecordTable as _, Synced};
use crate::note::path::VaultPath;
use crate::vault::Vault;

/// The name of the folder with models, next to the folders of the vaults.
const FOLDER: &str = "models";

/// The progress of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BetterSummary {
    pub model: &'static str,
    /// Whether the model is installed and valid.
    pub state: ModelState,
    /// The number of notes and canvases that it has read, and of all.
    pub read: usize,
    pub all: usize,
    /// Whether it pauses because the computer runs on battery.
    pub is_on_battery: bool,
    /// Memory of its vectors in bytes.
    pub bytes: usize,
}

pub(super) struct InstalledModel {
    vectors: Arc<Persistent<InstalledVectors>>,
    /// Whether the settings name it.
    is_wanted: AtomicBool,
    /// Where it is installed.
    folder: OnceLock<PathBuf>,
}

impl InstalledModel {
    pub fn new(vault: Vault, feed: &Feed) -> Self {
        let vectors = Arc::new(Persistent::new(vault, feed));
        vectors.set_waits(|| power::is_on_battery(Path::new(power::SUPPLIES)));
        Self { vectors, is_wanted: AtomicBool::default(), folder: OnceLock::new() }
    }

    pub fn set_folder(&self, state: &Path) {
        let _ = self.folder.set(state.parent().unwrap_or(state).join(FOLDER));
        self.vectors.set_folder(state);
    }

    /// Removes the data of an earlier run if the model is not wanted.
    pub fn start(&self) {
        if !self.is_wanted.load(Ordering::Relaxed) {
            self.vectors.forget();
        }
    }

    /// Sets whether it is wanted. If not, its data is not stored.
    pub fn want(&self, is_wanted: bool) {
        if self.is_wanted.swap(is_wanted, Ordering::Relaxed) && !is_wanted {
            self.vectors.forget();
            minilm::unload();
        }
    }

    pub fn stop(&self) {
        self.vectors.stop();
    }

    /// Replaces the similarity of the notes that the model has read by its own. Also returns the
    /// share of such notes. In a daemon, missing vectors are computed in the background.
    pub fn improved(
        &self,
        near: Vec<Near>,
        built_in: &Synced<Vectors>,
        text: &str,
        is_wanted: impl Fn(&VaultPath, i64) -> bool + Sync,
        is_lasting: bool,
    ) -> (Vec<Near>, f64) {
        if self.state() != Some(ModelState::Ready) {
            return (near, 0.0);
        }
        self.vectors.load();
        // A search does not read notes itself.
        if is_lasting && !self.vectors.synced.is_current() {
            self.vectors.read_in_background(Some(Duration::ZERO));
        }
        if self.vectors.synced.table().count == 0 {
            return (near, 0.0);
        }
        let Some(meaning) = minilm::loaded().and_then(|model| model.meaning(text)) else {
            return (near, 0.0);
        };
        let (built_in, table) = (built_in.table(), self.vectors.synced.table());
        // A note may have changed since it was read.
        let is_read = |it: &Near| {
            let now = built_in.get(&it.path).map(|note| Vectors::stamp(note).0);
            table.get(&it.path).is_some_and(|note| Some(InstalledVectors::stamp(note).0) == now)
        };
        let mut improved = table.nearest(&meaning, is_wanted);
        improved.retain(is_read);
        let all = near.len();
        let unread: Vec<Near> = near.into_iter().filter(|it| !is_read(it)).collect();
        let share = if all == 0 { 1.0 } else { (all - unread.len()) as f64 / all as f64 };
        improved.extend(unread);
        (improved, share)
    }

    /// Gives notes that a search found priority.
    pub fn prioritise(&self, found: &[FoundNote]) {
        if self.is_wanted.load(Ordering::Relaxed) {
            self.vectors.synced.prioritise(found.iter().map(|note| note.path.clone()));
        }
    }

    fn state(&self) -> Option<ModelState> {
        let folder = self.folder.get().filter(|_| self.is_wanted.load(Ordering::Relaxed))?;
        Some(minilm::load(folder))
    }

    pub fn summary(&self) -> Option<BetterSummary> {
        let state = self.state()?;
        let table = self.vectors.synced.table();
        let (read, bytes) = (table.iter().count(), table.memory());
        drop(table);
        let catalogue = self.vectors.synced.vault.catalogue();
        let all = catalogue.files().filter(|it| InstalledVectors::wants(*it)).count();
        let is_on_battery = state == ModelState::Ready && read < all && self.vectors.has_to_wait();
        Some(BetterSummary { model: minilm::MODEL, state, read, all, is_on_battery, bytes })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make the vaults they look at")]

    use std::sync::atomic::AtomicUsize;
    use std::sync::mpsc;
    use std::time::UNIX_EPOCH;

    use super::*;
    use crate::index::Index;
    use crate::index::changes::Stamp;
    use crate::index::knowledge::power::tests::show;
    use crate::index::knowledge::{self, Model, Query, SearchScope};
    use crate::index::persistent::{SameAs, SavedTable};
    use crate::index::synced::RecordTable;
    use crate::note::path::PathRef;
    use crate::vault::{Cancel, Settings, View};

    /// Files in the order in which they were read, as if that took long.
    #[derive(Default)]
    struct Order(Vec<(VaultPath, Stamp)>);

    impl RecordTable for Order {
        const IS_SLOWEST: bool = true;
        type Record = Stamp;
        type Read = Stamp;

        fn wants(path: PathRef<'_>) -> bool {
            InstalledVectors::wants(path)
        }

        fn read(_: &Vault, _: &VaultPath, seen: Stamp) -> Option<Stamp> {
            Some(seen)
        }

        fn stamp(record: &Stamp) -> (Stamp, bool) {
            (*record, false)
        }

        fn get(&self, path: &VaultPath) -> Option<&Stamp> {
            self.iter().find(|(known, _)| *known == path).map(|(_, stamp)| stamp)
        }

        fn iter(&self) -> impl Iterator<Item = (&VaultPath, &Stamp)> {
            self.0.iter().map(|(path, stamp)| (path, stamp))
        }

        fn put(&mut self, path: VaultPath, read: Stamp) {
            self.remove(&path);
            self.0.push((path, read));
        }

        fn remove(&mut self, path: &VaultPath) {
            self.0.retain(|(known, _)| known != path);
        }

        fn unsure(&self) -> impl Iterator<Item = &VaultPath> {
            std::iter::empty()
        }
    }

    impl SavedTable for Order {
        const NAME: &'static str = "order";
        const HEADER: &'static [u8] = b"order";
        const IS_SLOW: bool = true;

        fn load(&mut self, _: &[u8], _: &SameAs<'_>) -> Option<()> {
            Some(())
        }

        fn save(&self) -> Vec<u8> {
            Vec::new()
        }
    }

    /// A vault of twenty notes, from the oldest, `00.md`, to the newest, `19.md`, and a folder.
    fn vault() -> ([tempfile::TempDir; 3], Vault) {
        let folders = [(); 3].map(|()| tempfile::tempdir().expect("a folder"));
        let [place, state, _] = folders.each_ref().map(tempfile::TempDir::path);
        for age in 0..20 {
            let path = place.join(format!("{age:02}.md"));
            std::fs::write(&path, "text").expect("written");
            let file = std::fs::File::options().append(true).open(path).expect("opened");
            file.set_modified(UNIX_EPOCH + Duration::from_secs(age)).expect("set");
        }
        let vault = Vault::open(place, state, Settings::default(), &|_| ()).expect("opened").0;
        (folders, vault)
    }

    fn path(name: &str) -> VaultPath {
        VaultPath::from_disk(name).expect("a path")
    }

    fn names(table: &Order) -> String {
        let names = table.0.iter().map(|(path, _)| path.as_str().trim_end_matches(".md"));
        names.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_searches_found_is_read_first_then_what_changed_last() {
        let (folders, vault) = vault();
        let synced = Synced::<Order>::new(vault.clone(), &Feed::new(vault.clone()));
        let few = AtomicUsize::default();
        let goes_on = || {
            match few.fetch_add(1, Ordering::Relaxed) {
                0 => {
                    // The later search is more urgent; notes already read are not read again.
                    synced.prioritise(["04.md", "05.md"].map(path).into_iter());
                    synced.prioritise(["02.md", "19.md", "Gone.md", "05.md"].map(path).into_iter());
                }
                1 => {
                    for name in ["New.md", "19.md"] {
                        std::fs::write(folders[0].path().join(name), "changed").expect("written");
                        vault.recheck(&path(name));
                    }
                }
                _ => {}
            }
            true
        };
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
        synced.prioritise([path("00.md")].into_iter());
        alone.install(|| synced.refresh_while(&Cancel::default(), &goes_on)).expect("it goes on");
        let read = names(&synced.table());
        assert!(read.starts_with("00 18 17 16 15 14 13 02 05 04 12 11 10 09 08 "), "{read}");
        // Both were changed within one tick of the clock.
        assert!(
            read.ends_with("19 New 07 06 03 01") || read.ends_with("New 19 07 06 03 01"),
            "{read}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn files_that_a_reading_left_are_read_by_the_next_even_if_their_stamps_are_the_same() {
        use std::os::unix::fs::MetadataExt as _;

        let (folders, vault) = vault();
        let synced = Synced::<Order>::new(vault.clone(), &Feed::new(vault.clone()));
        synced.refresh(&Cancel::default()).expect("read");
        for age in 0..10 {
            let place = folders[0].path().join(format!("{age:02}.md"));
            let file = std::fs::File::options().append(true).open(&place).expect("opened");
            let changed =
                || file.metadata().map(|meta| (meta.ctime(), meta.ctime_nsec())).expect("there");
            let before = changed();
            // The file system's clock may take some milliseconds to its next tick.
            while changed() == before {
                std::fs::write(&place, "TEXT").expect("written");
                file.set_modified(UNIX_EPOCH + Duration::from_secs(age)).expect("set");
            }
        }
        vault.rescan().expect("scanned");
        synced.refresh_while(&Cancel::default(), &|| false).expect_err("two notes are left");
        synced.refresh(&Cancel::default()).expect("read");
        let read = names(&synced.table());
        assert!(read.starts_with("19 18 17 16 15 14 13 12 11 10 "), "{read}");
    }

    #[test]
    fn reading_pauses_while_the_battery_is_in_use() {
        let (folders, vault) = vault();
        let supplies = folders[2].path().to_owned();
        let battery =
            |status| show(folders[2].path(), "BAT0", &[("type", "Battery"), ("status", status)]);
        let reader = Arc::new(Persistent::<Order>::new(vault.clone(), &Feed::new(vault.clone())));
        let (asked, was_asked) = mpsc::channel();
        let (answered, answer) = mpsc::channel::<()>();
        let answer = std::sync::Mutex::new(answer);
        reader.set_waits(move || {
            let _ = asked.send(());
            let _ = answer.lock().map(|answer| answer.recv());
            power::is_on_battery(&supplies)
        });
        let read = || reader.synced.table().0.len();
        let is_asked = || was_asked.recv().expect("it asks");
        let answer = |status| {
            battery(status);
            let _ = answered.send(());
        };
        // A search wakes it to check again.
        let is_woken = || {
            while was_asked.try_recv().is_err() {
                assert!(reader.is_first(Duration::from_millis(5)), "it is not over");
            }
        };
        reader.read_in_background(Some(Duration::ZERO));
        is_asked();
        answer("Discharging");
        is_woken();
        answer("Charging");
        is_asked();
        assert_eq!(read(), 8, "after a few notes");
        answer("Discharging");
        is_asked();
        answer("Discharging");
        is_woken();
        assert_eq!(read(), 8, "it has paused");
        battery("Full");
        // The receiver is gone.
        drop(answered);
        assert!(!reader.is_first(Duration::from_secs(60)), "it goes on");
        assert_eq!(read(), 20);
    }

    #[test]
    fn a_reading_that_pauses_can_be_stopped() {
        let (folders, vault) = vault();
        let supplies = folders[2].path().to_owned();
        show(&supplies, "BAT0", &[("type", "Battery"), ("status", "Discharging")]);
        let reader = Arc::new(Persistent::<Order>::new(vault.clone(), &Feed::new(vault)));
        reader.set_waits(move || power::is_on_battery(&supplies));
        reader.read_in_background(Some(Duration::ZERO));
        reader.stop();
        assert!(reader.synced.table().0.is_empty());
    }

    #[test]
    fn a_search_makes_what_it_found_urgent() {
        let (folders, vault) = vault();
        std::fs::write(folders[0].path().join("03.md"), "The kettle boils.").expect("written");
        let kettle = path("03.md");
        vault.recheck(&kettle);
        let knowledge = Index::new(vault).knowledge;
        knowledge.set_settings(knowledge::Settings { meaning: Model::Minilm, pdf: false });
        let words = vec!["kettle".to_owned()];
        let query = Query { words, needs_word: true, ..Query::default() };
        let (view, cancel) = (View::default(), Cancel::default());
        let (wants, links) = (|_: &VaultPath, _: i64| true, |_: &VaultPath| 0);
        let scope = SearchScope {
            view: &view,
            cancel: &cancel,
            wants: &wants,
            links: &links,
            links_at_most: &links,
            page: 0..10,
        };
        let found = knowledge.search(&query, &scope).expect("nobody withdraws");
        assert_eq!(found.total, 1);
        assert_eq!(knowledge.0.installed.vectors.synced.urgent(), [kettle]);
    }
}
