//! Which file is meant by a name as people say it.
//!
//! A path that exists is what it says (`vault`). What does not exist as a path is taken as a name: it means
//! the one file whose name or alias sounds the same, wherever that lies, or the daily note of the day that it
//! says; and nothing as soon as there are two, or another note's name holds all the words that were said. A
//! score ranks what is suggested and never decides.
//!
//! Kept in memory from the first name that is asked for on, and kept true by the change feed: the words of all
//! names, aliases and first headings, found by how a name sounds and by each word (`table`). Saved from run to
//! run (`saved`), so that a start reads no note again that has not changed. The very first reading is done
//! beside what is asked ([`Names::start`]): a name waits for it a moment, and nothing is acted on before it ends,
//! since an alias that nobody has read may be another note's. Invariant: an answer is computed over what its
//! caller may see, how rare a word is included.
//!
//! In reading order: this page, `asked` (what was asked), `table`, `hearing` (how near that is to a name),
//! `likeness`, `saved`.

mod asked;
mod hearing;
mod likeness;
mod saved;
mod table;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, FixedOffset};
use rayon::prelude::*;

use super::changes::Feed;
use super::lasting::Lasting;
use crate::note::fold::fold_key;
use crate::note::path::{PathRef, VaultPath};
use crate::note::spoken;
use crate::note::spoken::day::{self, Day};
use crate::vault::protect::is_hidden;
use crate::vault::{Cancel, FileContent, Found, Kind, Vault, VaultError, Want, nonblocking};
use asked::Asked;
use hearing::{Hearing, Ranking};
use table::{Known, Table};

/// How many are suggested.
const SHOWN: usize = 5;

/// What scores less would only mislead.
const LEAST: f64 = 0.45;

/// What a file gains that lies in the folders said with a slash.
const THERE: f64 = 0.2;

/// The most files that a refusal names.
const MOST_CANDIDATES: usize = 10;

/// Files compared word by word for one list of suggestions: those that hold most of what was said. Far more
/// than are shown, since words alone do not tell which of them is nearest.
const MOST_COMPARED: usize = 2_000;

/// Files compared by their letters on one thread at a time: some hundred microseconds.
const AT_ONCE: usize = 4_096;

/// How long after the start all notes are read, where that was never done and no name is asked for: who
/// searches first would wait for the same disk.
const READ_AFTER: Duration = Duration::from_secs(10);

/// How long a name waits for that: some ten thousand notes are read by then.
const PATIENCE: Duration = Duration::from_secs(1);

/// What every file of a vault is called. A cheap clone over shared state.
#[derive(Clone)]
pub struct Names(Arc<Lasting<Table>>);

/// Who asks, and when.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    /// The vault as far as the caller may see it.
    pub vault: &'a Vault,
    /// For days such as "yesterday".
    pub now: DateTime<FixedOffset>,
    /// Ends the reading of notes, of which the answer then knows nothing.
    pub cancel: &'a Cancel,
}

/// What answers to a name.
#[derive(Default)]
struct Answer {
    /// What sounds the same, by path; the daily note that was said first.
    exact: Vec<(VaultPath, Kind)>,
    /// Other notes whose name or alias holds all the words that were said.
    holders: Vec<VaultPath>,
    /// The nearest, best first; where none is meant.
    near: Vec<VaultPath>,
}

impl std::fmt::Debug for Names {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Names").finish_non_exhaustive()
    }
}

impl Names {
    /// The names of `vault`; nothing is read yet.
    pub(super) fn new(vault: Vault, feed: &Feed) -> Self {
        Self(Arc::new(Lasting::new(vault, feed)))
    }

    /// Goes by what an earlier run saved in `state`, the steward's folder for the vault.
    pub fn remember(&self, state: &Path) {
        self.0.remember(state);
    }

    /// The same, and where nothing was saved yet, reads all notes on a thread of its own and saves: as soon as
    /// somebody asks for a name, else a while later.
    pub fn start(&self, state: &Path) {
        if !self.0.remember(state) {
            self.0.read_beside(Some(READ_AFTER));
        }
    }

    /// Ends what [`Self::start`] began, and saves what has changed.
    pub fn stop(&self) {
        self.0.stop();
    }

    /// Finds what `asked` names, a path or a name.
    ///
    /// # Errors
    /// As `resolve` of [`Reader`](crate::vault::Reader); [`VaultError::Ambiguous`] also where several
    /// files answer to a name, or one does and another's holds all the words. What is not found comes with
    /// the nearest.
    pub fn resolve(
        &self,
        asking: Asking<'_>,
        asked: &str,
        want: Want,
    ) -> Result<Found, VaultError> {
        match asking.vault.resolve(asked, want) {
            Err(VaultError::NotFound { path, near }) => self.resolve_name(asking, path, near, want),
            other => other,
        }
    }

    /// Finds the file that `asked` names, and reads it.
    ///
    /// # Errors
    /// As [`Self::resolve`], and [`Reader::read`](crate::vault::Reader::read).
    pub fn read(
        &self,
        asking: Asking<'_>,
        asked: &str,
    ) -> Result<(VaultPath, FileContent), VaultError> {
        match asking.vault.read_asked(asked) {
            Err(VaultError::NotFound { path, near }) => {
                let Found { path, .. } = self.resolve_name(asking, path, near, Want::File)?;
                let content = asking.vault.read(&path)?;
                Ok((path, content))
            }
            other => other,
        }
    }

    /// The files that answer to the name `path`, at which there is nothing, and the folders too where one is
    /// wanted; by path. Waits for the first reading of the notes.
    pub fn answering(&self, asking: Asking<'_>, path: &VaultPath, want: Want) -> Vec<VaultPath> {
        let found = self.ask(asking, path, want, |search, table| search.exact(table));
        found.unwrap_or_default().into_iter().map(|(path, _)| path).collect()
    }

    /// `near` is what took its name lately; then nothing else is meant.
    fn resolve_name(
        &self,
        asking: Asking<'_>,
        path: VaultPath,
        mut near: Vec<VaultPath>,
        want: Want,
    ) -> Result<Found, VaultError> {
        if nonblocking::would_block() {
            return Err(VaultError::NotFound { path, near });
        }
        if self.0.is_first(PATIENCE) {
            near.extend(called_so(asking.vault, &path));
            return Err(VaultError::NotFound { path, near: first(near) });
        }
        let is_sure = near.is_empty() && !is_hidden(&path);
        let answer = self.ask(asking, &path, want, |search, table| search.answer(table, is_sure));
        let answer = answer.unwrap_or_default();
        match &answer.exact[..] {
            [(one, _)] if is_sure && answer.is_one(want) => {
                return asking.vault.resolve(one.as_str(), want);
            }
            several
                if is_sure && several.len() + answer.holders.len() > 1 && !several.is_empty() =>
            {
                let several = several.iter().map(|(path, _)| path);
                let candidates = several.chain(&answer.holders).take(MOST_CANDIDATES).cloned();
                return Err(VaultError::Ambiguous { path, candidates: candidates.collect() });
            }
            _ => {}
        }
        near.extend(answer.exact.into_iter().map(|(path, _)| path));
        near.extend(answer.near);
        Err(VaultError::NotFound { path, near: first(near) })
    }

    /// Brings the table up to date; not for whoever withdraws meanwhile.
    fn refresh(&self, cancel: &Cancel) -> Option<()> {
        self.0.refresh(cancel).ok()?;
        let names = &self.0.fresh;
        // In the order in which everybody takes these two locks.
        let known = names.kept();
        let catalogue = names.vault.catalogue();
        let is_same = known
            .others()
            .map(|known| (known.path.borrowed(), known.kind))
            .eq(catalogue.others().map(|entry| (entry.path(), entry.kind)));
        if !is_same {
            drop(known);
            let others = catalogue.others().map(|entry| (entry.path().to_path(), entry.kind));
            let others = others.collect();
            drop(catalogue);
            names.kept_mut().set_others(others);
        }
        Some(())
    }

    /// Has `look` answer from all that is known; not where the notes could not be read.
    fn ask<T>(
        &self,
        asking: Asking<'_>,
        path: &VaultPath,
        want: Want,
        look: impl FnOnce(&Search<'_>, &Table) -> T,
    ) -> Option<T> {
        self.refresh(asking.cancel)?;
        let asked = Asked::new(path, asking.now.date_naive());
        let days = daily_notes(asking, &asked, want);
        Some(look(&Search { asking, asked: &asked, want, days }, &self.0.fresh.kept()))
    }
}

impl Answer {
    /// Whether one file is meant, and no other could be.
    fn is_one(&self, want: Want) -> bool {
        match &self.exact[..] {
            // A whole folder is not deleted or moved by what it sounds like.
            [(_, kind)] => {
                self.holders.is_empty() && (want != Want::Entry || *kind != Kind::Folder)
            }
            _ => false,
        }
    }
}

/// The first to be shown, each once.
fn first(mut near: Vec<VaultPath>) -> Vec<VaultPath> {
    let mut seen = HashSet::new();
    near.retain(|path| seen.insert(path.clone()));
    near.truncate(SHOWN);
    near
}

/// What has just this name by the catalogue alone, wherever it lies.
fn called_so(vault: &Vault, path: &VaultPath) -> Vec<VaultPath> {
    let catalogue = vault.catalogue();
    let key = fold_key(path.name());
    let named = [format!("{key}.md"), key].map(|key| catalogue.named(&key)).into_iter().flatten();
    named.filter(|entry| !entry.unnameable).map(|entry| entry.path().to_path()).collect()
}
/// The daily notes that there are of the day that was said.
fn daily_notes(asking: Asking<'_>, asked: &Asked, want: Want) -> Vec<VaultPath> {
    let days = match asked.day.filter(|_| want != Want::Folder) {
        None => return Vec::new(),
        Some(Day::Sure(day)) => vec![day],
        Some(Day::Yearless { past, coming }) => vec![past, coming],
    };
    let Ok(settings) = asking.vault.daily_notes() else { return Vec::new() };
    let moments = days.into_iter().filter_map(|day| day::at_the_time_of(day, asking.now));
    let found = moments.filter_map(|moment| {
        asking.vault.resolve(&settings.path(&moment).text, Want::File).ok().map(|found| found.path)
    });
    found.collect()
}

/// One question.
struct Search<'a> {
    asking: Asking<'a>,
    asked: &'a Asked,
    want: Want,
    /// The daily notes of the day that was said.
    days: Vec<VaultPath>,
}

impl Search<'_> {
    /// What answers, or where that is not one file, what is near.
    fn answer(&self, table: &Table, is_sure: bool) -> Answer {
        let mut answer = Answer { exact: self.exact(table), ..Answer::default() };
        let hearing = Hearing::new(self.asked, table);
        if !answer.exact.is_empty() {
            answer.holders = self.holders(table, &hearing);
            answer.holders.retain(|path| answer.exact.iter().all(|(exact, _)| exact != path));
        }
        let is_told = answer.exact.len() + answer.holders.len() > 1 || answer.is_one(self.want);
        if !(is_sure && is_told) {
            answer.near = self.near(table, &Ranking::new(hearing, self.asking.vault.view()));
        }
        answer
    }

    fn is_seen(&self, known: &Known) -> bool {
        let may_be_meant = self.want != Want::Folder || known.kind == Kind::Folder;
        may_be_meant && self.asking.vault.view().shows(&known.path)
    }

    /// What sounds just like what was asked, where that was said to be; by path, a day's own note first.
    fn exact(&self, table: &Table) -> Vec<(VaultPath, Kind)> {
        if self.asked.is_inexact {
            return Vec::new();
        }
        let mut found = table.sounding(&self.asked.name);
        found.retain(|known| {
            let name = known.path.name();
            self.is_seen(known)
                && (self.want != Want::File || known.kind != Kind::Folder)
                && self.asked.signs.iter().all(|sign| name.contains(*sign))
                && self.lies_there(known.path.borrowed())
                && !self.days.contains(&known.path)
        });
        found.sort_by(|a, b| a.path.cmp(&b.path));
        let days = self.days.iter().map(|path| (path.clone(), Kind::File));
        days.chain(found.iter().map(|known| (known.path.clone(), known.kind))).collect()
    }

    /// The notes whose names hold all that was said, by path.
    fn holders(&self, table: &Table, hearing: &Hearing<'_>) -> Vec<VaultPath> {
        let files = hearing.may_hold_all();
        let known = files.into_iter().filter_map(|file| table.known(file));
        let holders = known.filter(|known| {
            (known.path.is_note() || self.want == Want::Folder)
                && known.labels.names().any(|label| hearing.holds_all(label))
                && self.is_seen(known)
        });
        let mut holders: Vec<VaultPath> = holders.map(|known| known.path.clone()).collect();
        holders.sort();
        holders
    }

    /// What is nearest, best first.
    fn near(&self, table: &Table, ranking: &Ranking<'_>) -> Vec<VaultPath> {
        let folders = above(table, ranking);
        let inside = self.inside(table, &folders);
        let (mut best, mut key) = (Best::default(), String::new());
        let mut compared = vec![false; table.len()];
        for file in ranking.foremost(MOST_COMPARED, &inside) {
            compared[file as usize] = true;
            let Some(known) = table.known(file).filter(|known| self.is_seen(known)) else {
                continue;
            };
            let parent = known.path.borrowed().parent().map_or("", PathRef::as_str);
            let folder = folders.get(parent).map(|alike| &**alike).unwrap_or_default();
            let lies_there = if self.lies_below_there(known.path.borrowed()) { THERE } else { 0.0 };
            let score = ranking.score(known, folder, &mut key) * self.of_kind(known) + lies_there;
            best.insert(score, known.path.borrowed());
        }
        let files = ranking.alike_by_letters(best.least());
        let by_letters = files.par_chunks(AT_ONCE).map(|files| {
            let (mut best, mut key) = (best.clone(), String::new());
            for file in files.iter().filter(|file| !compared[**file as usize]) {
                let Some(known) = table.known(*file) else { continue };
                let score = ranking.score_by_letters(known, best.least(), &mut key);
                // No kind makes it nearer.
                if score >= best.least() && self.is_seen(known) {
                    best.insert(score * self.of_kind(known), known.path.borrowed());
                }
            }
            best
        });
        let best = by_letters.reduce(|| best.clone(), Best::joined);
        best.0.into_iter().map(|(_, path)| path.to_path()).collect()
    }

    /// The files in folders that were said, with what these have of it.
    fn inside<'f>(
        &self,
        table: &Table,
        folders: &'f HashMap<&str, Box<[f64]>>,
    ) -> Vec<(u32, &'f [f64])> {
        let catalogue = self.asking.vault.catalogue();
        let said = table.others().filter_map(|folder| {
            let is_said = |path: &str| {
                folders.get(path).filter(|alike| Ranking::is_said(alike)).map(|alike| &**alike)
            };
            let above = folder.path.borrowed().parent().and_then(|above| is_said(above.as_str()));
            // What is in the one above has been taken with it.
            is_said(folder.path.as_str()).filter(|_| above.is_none()).map(|it| (&folder.path, it))
        });
        let mut inside = Vec::new();
        for (folder, alike) in said {
            let entries = catalogue.within(folder).take(MOST_COMPARED);
            let files = entries.filter_map(|entry| table.number(entry.path()));
            inside.extend(files.map(|file| (file, alike)));
        }
        inside
    }

    /// Whether something of this kind is wanted: a note before all else.
    fn of_kind(&self, known: &Known) -> f64 {
        match (self.want, known.kind) {
            (Want::Folder, _) => 1.0,
            (Want::File, Kind::Folder) => 0.6,
            (_, Kind::Folder) => 0.9,
            _ if known.path.is_note() => 1.0,
            _ => 0.88,
        }
    }

    /// Whether a path lies in the folders that were said, if any were: from the root, as in any path.
    fn lies_there(&self, path: PathRef<'_>) -> bool {
        let Some((_, folders)) = self.asked.path.split_last() else { return false };
        folders.is_empty() || keys_of_folders(path) == folders
    }

    /// Whether folders were said and a path lies in them, wherever they are.
    fn lies_below_there(&self, path: PathRef<'_>) -> bool {
        match self.asked.path.split_last() {
            Some((_, folders)) if !folders.is_empty() => keys_of_folders(path).ends_with(folders),
            _ => false,
        }
    }
}

/// What each folder above a path sounds like, from the root.
fn keys_of_folders(path: PathRef<'_>) -> Vec<String> {
    let folders = path.parent().into_iter().flat_map(|parent| parent.components());
    folders.map(|name| spoken::key(&spoken::words(name))).collect()
}

/// By folder: how much of what was said it and those above it have; without those that have nothing of it.
fn above<'t>(table: &'t Table, ranking: &Ranking<'_>) -> HashMap<&'t str, Box<[f64]>> {
    let mut folders: HashMap<&str, Box<[f64]>> = HashMap::new();
    for folder in table.others().filter(|other| other.kind == Kind::Folder) {
        let parent = folder.path.borrowed().parent().map_or("", PathRef::as_str);
        let above = folders.get(parent).map(|alike| &**alike);
        if let Some(alike) = ranking.folder(folder, above) {
            folders.insert(folder.path.as_str(), alike);
        }
    }
    folders
}

/// The nearest that were met so far, best first; equal ones by path.
#[derive(Default, Clone)]
struct Best<'p>(Vec<(f64, PathRef<'p>)>);

impl<'p> Best<'p> {
    /// What has less is not among them.
    fn least(&self) -> f64 {
        self.0.get(SHOWN - 1).map_or(LEAST, |(score, _)| score.max(LEAST))
    }

    /// Takes a path in if it is among the nearest.
    fn insert(&mut self, score: f64, path: PathRef<'p>) {
        let is_before = |other: &(f64, PathRef<'_>)| {
            other.0 > score || (other.0 == score && other.1.as_str() < path.as_str())
        };
        let at = self.0.partition_point(is_before);
        let is_new = self.0.get(at).is_none_or(|(_, other)| *other != path);
        if score >= LEAST && at < SHOWN && is_new {
            self.0.truncate(SHOWN - 1);
            self.0.insert(at, (score, path));
        }
    }

    fn joined(mut self, other: Self) -> Self {
        other.0.into_iter().for_each(|(score, path)| self.insert(score, path));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::Settings;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "tests make the vaults they look at")]
    fn while_the_notes_are_read_for_the_first_time_names_are_offered_and_none_is_acted_on() {
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let [place, state] = folders.each_ref().map(tempfile::TempDir::path);
        std::fs::create_dir(place.join("a")).expect("made");
        std::fs::write(place.join("a/Kettle.md"), "one\n").expect("written");
        let vault = Vault::open(place, state, Settings::default(), &|_| ()).expect("opened").0;
        let names = Names::new(vault.clone(), &Feed::new(vault.clone()));
        let cancel = Cancel::default();
        let now = chrono::Utc::now().fixed_offset();
        let resolve_in = |names: &Names, said: &str| {
            let asking = Asking { vault: &vault, now, cancel: &cancel };
            match names.resolve(asking, said, Want::File) {
                Ok(found) => found.path.to_string(),
                Err(VaultError::NotFound { near, .. }) => format!("near {near:?}"),
                Err(other) => other.to_string(),
            }
        };
        let resolve = |said: &str| resolve_in(&names, said);
        names.0.set_first(true);
        assert_eq!(resolve("kettle"), r#"near [VaultPath("a/Kettle.md")]"#);
        assert_eq!(resolve("the kettle"), "near []");
        names.0.set_first(false);
        assert_eq!(resolve("the kettle"), "a/Kettle.md");
        // The reading beside ends by itself, and is not done twice.
        let names = Names::new(vault.clone(), &Feed::new(vault.clone()));
        names.start(state);
        assert_eq!(resolve_in(&names, "the kettle"), "a/Kettle.md", "soon read, and waited for");
        names.stop();
        let again = Names::new(vault.clone(), &Feed::new(vault.clone()));
        assert!(again.0.remember(state), "it was saved");
        again.start(state);
        assert!(!again.0.is_first(Duration::ZERO), "nothing is to be read beside");
    }
}
