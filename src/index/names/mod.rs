//! Resolves names as people say them to files.
//!
//! An existing path is resolved by `vault`. Any other text is a name: it means the one file whose name or alias has the
//! same key, in any folder, or the daily note of the day that it names. It is ambiguous if there are two, or if the
//! name of another note contains all its words. Scores only rank suggestions and never decide.
//!
//! The index holds the words of all names, aliases and first headings by key and by word (`table`). It is built at the
//! first request, updated by the change feed, and saved between runs (`saved`), so that a start reads only changed
//! notes. The first reading runs in the background ([`Names::start`]): a request waits for it briefly, and no name
//! resolves before it ends, since an unread alias could make it ambiguous. Invariant: answers, including the rarity of
//! words, depend only on files in the caller's view.
//!
//! In reading order: this file, `query` (the request), `table`, `ranking` (matching and scores), `likeness`, `saved`.

mod likeness;
mod query;
mod ranking;
mod saved;
mod table;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, FixedOffset};
use rayon::prelude::*;

use super::changes::Feed;
use super::persistent::Persistent;
use crate::note::fold::fold_key;
use crate::note::path::{PathRef, VaultPath};
use crate::note::spoken;
use crate::note::spoken::day::{self, Day};
use crate::vault::protect::is_hidden;
use crate::vault::{
    Cancel, FileContent, Kind, ResolvedEntry, Vault, VaultError, Want, nonblocking,
};
use likeness::Pairs;
use query::NameQuery;
use ranking::{FAR_OFF, Matcher, Ranking};
use table::{NameEntry, Table};

/// The most suggestions.
const SHOWN: usize = 5;

/// The lowest score of a suggestion.
const MIN_SCORE: f64 = 0.45;

/// The bonus of a file in the requested folders.
const THERE: f64 = 0.2;

/// The most files listed in an error.
const MAX_CANDIDATES: usize = 10;

/// The most files that are scored in full for one list of suggestions: those with most of the words. Far more than are
/// shown, since words alone do not decide the order.
const MAX_COMPARED: usize = 2_000;

/// Files compared by letters per task of a thread: some hundred microseconds.
const AT_ONCE: usize = 4_096;

/// The delay of the first reading after the start if no name is requested, so that it does not compete with the first
/// search for the disk.
const READ_AFTER: Duration = Duration::from_secs(10);

/// The most files that are read for a completion: some fifty milliseconds.
const READ_AT_ONCE: usize = 2_000;

/// The longest wait of a request for the first reading; enough for some ten thousand notes.
const PATIENCE: Duration = Duration::from_secs(1);

/// The name index of a vault. Clones share it.
#[derive(Clone)]
pub struct Names(Arc<Persistent<Table>>);

/// The caller of a request, and its time.
#[derive(Clone, Copy)]
pub struct NameContext<'a> {
    /// The vault in the caller's view.
    pub vault: &'a Vault,
    /// The local time, for days such as "yesterday".
    pub now: DateTime<FixedOffset>,
    /// Cancels the reading of notes.
    pub cancel: &'a Cancel,
}

#[derive(Default)]
struct Answer {
    /// Files with the same key, by path; the daily note of a named day first.
    exact: Vec<(VaultPath, Kind)>,
    /// Other notes whose name or alias contains all the words.
    holders: Vec<VaultPath>,
    /// Suggestions, best first, if nothing matches.
    near: Vec<VaultPath>,
}

debug_only!(Names);

impl Names {
    /// Creates the index of `vault` without reading anything.
    pub(super) fn new(vault: Vault, feed: &Feed) -> Self {
        Self(Arc::new(Persistent::new(vault, feed)))
    }

    /// Loads the index that an earlier run saved in `state`, the steward's folder for the vault.
    pub fn load_saved(&self, state: &Path) {
        self.0.set_folder(state);
    }

    /// Loads the saved index, or builds and saves one, on a background thread at the first request; without a saved
    /// one, after a while as well.
    pub fn start(&self, state: &Path) {
        self.0.start(state, Some(READ_AFTER));
    }

    /// Stops the background thread of [`Self::start`] and saves changes.
    pub fn stop(&self) {
        self.0.stop();
    }

    /// Resolves a path or name.
    ///
    /// # Errors
    /// As `resolve` of [`Reader`](crate::vault::Reader); [`VaultError::Ambiguous`] also where
    /// several files answer to a name, or one does and another's holds all the words. A not-found
    /// error includes the nearest names.
    pub fn resolve(
        &self,
        context: NameContext<'_>,
        asked: &str,
        want: Want,
    ) -> Result<ResolvedEntry, VaultError> {
        match context.vault.resolve(asked, want) {
            Err(VaultError::NotFound { path, near }) => {
                self.resolve_name(context, path, near, want)
            }
            other => other,
        }
    }

    /// Resolves a path or name to a file, and reads it.
    pub fn read(
        &self,
        context: NameContext<'_>,
        asked: &str,
    ) -> Result<(VaultPath, FileContent), VaultError> {
        match context.vault.read_asked(asked) {
            Err(VaultError::NotFound { path, near }) => {
                let ResolvedEntry { path, .. } =
                    self.resolve_name(context, path, near, Want::File)?;
                let content = context.vault.read(&path)?;
                Ok((path, content))
            }
            other => other,
        }
    }

    /// The files with the name `path`, which does not exist as a path, and the folders if `want` includes them; by path. Waits for the first reading of the notes.
    pub fn answering(
        &self,
        context: NameContext<'_>,
        path: &VaultPath,
        want: Want,
    ) -> Vec<VaultPath> {
        let found = self.ask(context, path, want, |search, table| search.exact(table));
        found.unwrap_or_default().into_iter().map(|(path, _)| path).collect()
    }

    /// The notes with an alias that may begin with the typed text, by path. Empty until a large
    /// vault has been read once: a completion does not wait for it.
    pub fn aliases_with_prefix(&self, context: NameContext<'_>, typed: &str) -> Vec<VaultPath> {
        let words = spoken::words(typed);
        let is_small = || context.vault.catalogue().files().nth(READ_AT_ONCE).is_none();
        let is_quick = self.0.is_read() || is_small();
        if !is_quick || words.is_empty() || self.refresh(context.cancel).is_none() {
            return Vec::new();
        }
        let known = self.0.synced.table();
        let found = known.with_alias_prefix(&words).into_iter().map(|known| &known.path);
        let mut found: Vec<_> =
            found.filter(|path| context.vault.view().shows(*path)).cloned().collect();
        found.sort();
        found
    }

    /// `near` is a file that recently took its name; then nothing else is meant.
    fn resolve_name(
        &self,
        context: NameContext<'_>,
        path: VaultPath,
        mut near: Vec<VaultPath>,
        want: Want,
    ) -> Result<ResolvedEntry, VaultError> {
        if nonblocking::would_block() {
            return Err(VaultError::NotFound { path, near });
        }
        // A saved index takes a second for a hundred thousand notes, which beats a name that is not found.
        if !self.0.is_saved() && self.0.is_first(PATIENCE) {
            near.extend(called_so(context.vault, &path));
            return Err(VaultError::NotFound { path, near: first(near) });
        }
        let is_sure = near.is_empty() && !is_hidden(&path);
        let answer = self.ask(context, &path, want, |search, table| search.answer(table, is_sure));
        let answer = answer.unwrap_or_default();
        match &answer.exact[..] {
            [(one, _)] if is_sure && answer.is_one(want) => {
                return context.vault.resolve(one.as_str(), want);
            }
            several
                if is_sure && several.len() + answer.holders.len() > 1 && !several.is_empty() =>
            {
                let several = several.iter().map(|(path, _)| path);
                let candidates = several.chain(&answer.holders).take(MAX_CANDIDATES).cloned();
                return Err(VaultError::Ambiguous { path, candidates: candidates.collect() });
            }
            _ => {}
        }
        near.extend(answer.exact.into_iter().map(|(path, _)| path));
        near.extend(answer.near);
        Err(VaultError::NotFound { path, near: first(near) })
    }

    /// Updates the table, unless the caller cancels.
    fn refresh(&self, cancel: &Cancel) -> Option<()> {
        self.0.refresh(cancel).ok()?;
        let names = &self.0.synced;
        // The lock order of these two.
        let known = names.table();
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
            names.table_mut().set_others(others);
        }
        Some(())
    }

    /// Runs `look` on the complete table; not if the notes could not be read.
    fn ask<T>(
        &self,
        context: NameContext<'_>,
        path: &VaultPath,
        want: Want,
        look: impl FnOnce(&Search<'_>, &Table) -> T,
    ) -> Option<T> {
        self.refresh(context.cancel)?;
        let asked = NameQuery::new(path, context.now.date_naive());
        let days = daily_notes(context, &asked, want);
        Some(look(&Search { context, asked: &asked, want, days }, &self.0.synced.table()))
    }
}

impl Answer {
    /// Whether exactly one file matches.
    fn is_one(&self, want: Want) -> bool {
        match &self.exact[..] {
            // A folder is never deleted or moved by a similar name.
            [(_, kind)] => {
                self.holders.is_empty() && (want != Want::Entry || *kind != Kind::Folder)
            }
            _ => false,
        }
    }
}

fn first(mut near: Vec<VaultPath>) -> Vec<VaultPath> {
    let mut seen = HashSet::new();
    near.retain(|path| seen.insert(path.clone()));
    near.truncate(SHOWN);
    near
}

/// Files with exactly this name in any folder, by the catalogue alone.
fn called_so(vault: &Vault, path: &VaultPath) -> Vec<VaultPath> {
    let catalogue = vault.catalogue();
    let key = fold_key(path.name());
    let named = [format!("{key}.md"), key].map(|key| catalogue.named(&key)).into_iter().flatten();
    named.filter(|entry| !entry.unnameable).map(|entry| entry.path().to_path()).collect()
}
/// Existing daily notes of the named day.
fn daily_notes(context: NameContext<'_>, asked: &NameQuery, want: Want) -> Vec<VaultPath> {
    let days = match asked.day.filter(|_| want != Want::Folder) {
        None => return Vec::new(),
        Some(Day::Sure(day)) => vec![day],
        Some(Day::Yearless { past, coming }) => vec![past, coming],
    };
    let Ok(settings) = context.vault.daily_notes() else { return Vec::new() };
    let moments = days.into_iter().filter_map(|day| day::at_the_time_of(day, context.now));
    let found = moments.filter_map(|moment| {
        context.vault.resolve(&settings.path(&moment).text, Want::File).ok().map(|found| found.path)
    });
    found.collect()
}

struct Search<'a> {
    context: NameContext<'a>,
    asked: &'a NameQuery,
    want: Want,
    /// The daily notes of the named day.
    days: Vec<VaultPath>,
}

impl Search<'_> {
    /// The matches, and suggestions unless exactly one file matches.
    fn answer(&self, table: &Table, is_sure: bool) -> Answer {
        let mut answer = Answer { exact: self.exact(table), ..Answer::default() };
        let matcher = Matcher::new(self.asked, table);
        if !answer.exact.is_empty() {
            answer.holders = self.holders(table, &matcher);
            answer.holders.retain(|path| answer.exact.iter().all(|(exact, _)| exact != path));
        }
        let is_answered = answer.exact.len() + answer.holders.len() > 1 || answer.is_one(self.want);
        if !(is_sure && is_answered) {
            answer.near = self.near(table, &Ranking::new(matcher, self.context.vault.view()));
        }
        answer
    }

    fn is_seen(&self, known: &NameEntry) -> bool {
        let may_be_meant = self.want != Want::Folder || known.kind == Kind::Folder;
        may_be_meant && self.context.vault.view().shows(&known.path)
    }

    /// Files with the same key in the requested folders, by path; the daily note of a named day first.
    fn exact(&self, table: &Table) -> Vec<(VaultPath, Kind)> {
        if self.asked.is_inexact {
            return Vec::new();
        }
        let mut found = table.with_key(&self.asked.name);
        found.retain(|known| {
            let name = known.path.name();
            self.is_seen(known)
                && (self.want != Want::File || known.kind != Kind::Folder)
                && self.asked.signs.iter().all(|sign| name.contains(*sign))
                && self.is_in_folders(known.path.borrowed())
                && !self.days.contains(&known.path)
        });
        found.sort_by(|a, b| a.path.cmp(&b.path));
        let days = self.days.iter().map(|path| (path.clone(), Kind::File));
        days.chain(found.iter().map(|known| (known.path.clone(), known.kind))).collect()
    }

    /// Notes whose names contain all the words, by path.
    fn holders(&self, table: &Table, matcher: &Matcher<'_>) -> Vec<VaultPath> {
        let files = matcher.candidates_for_all();
        let known = files.into_iter().filter_map(|file| table.known(file));
        let holders = known.filter(|known| {
            (known.path.is_note() || self.want == Want::Folder)
                && known.labels.names().any(|label| matcher.holds_all(label))
                && self.is_seen(known)
        });
        let mut holders: Vec<VaultPath> = holders.map(|known| known.path.clone()).collect();
        holders.sort();
        holders
    }

    /// The suggestions, best first.
    fn near(&self, table: &Table, ranking: &Ranking<'_>) -> Vec<VaultPath> {
        let folders = shares_of_folders(table, ranking);
        let inside = self.inside(table, &folders);
        let (mut best, mut key) = (Best::default(), String::new());
        let mut compared = vec![false; table.len()];
        for file in ranking.foremost(MAX_COMPARED, &inside) {
            compared[file as usize] = true;
            let Some(known) = table.known(file).filter(|known| self.is_seen(known)) else {
                continue;
            };
            let parent = known.path.borrowed().parent().map_or("", PathRef::as_str);
            let folder = folders.get(parent).map(|alike| &**alike).unwrap_or_default();
            let bonus = if self.is_below_folders(known.path.borrowed()) { THERE } else { 0.0 };
            let score = ranking.score(known, folder, &mut key) * self.of_kind(known) + bonus;
            best.insert(score, known.path.borrowed());
        }
        let files = ranking.alike_by_letters(best.least());
        let by_letters = files.par_chunks(AT_ONCE).map(|files| {
            let (mut best, mut key) = (best.clone(), String::new());
            for file in files.iter().filter(|file| !compared[**file as usize]) {
                let Some(known) = table.known(*file) else { continue };
                let score = ranking.score_by_letters(known, best.least(), &mut key);
                // The wanted kind does not change the score.
                if score >= best.least() && self.is_seen(known) {
                    best.insert(score * self.of_kind(known), known.path.borrowed());
                }
            }
            best
        });
        let mut best = by_letters.reduce(|| best.clone(), Best::joined);
        if best.0.is_empty() {
            best = self.far_off(table, ranking);
        }
        best.0.into_iter().map(|(_, path)| path.to_path()).collect()
    }

    /// Names with similar letters in any place: half a word, two words written as one, letters in another order.
    fn far_off<'t>(&self, table: &'t Table, ranking: &Ranking<'_>) -> Best<'t> {
        let files: Vec<&NameEntry> = table.all().map(|(_, known)| known).collect();
        let best = files.par_chunks(AT_ONCE).map(|files| {
            let (mut best, mut key, mut pairs) = (Best::default(), String::new(), Pairs::of(""));
            for known in files.iter().filter(|known| self.is_seen(known)) {
                let score = ranking.score_far_off(known, &mut key, &mut pairs);
                if score >= FAR_OFF {
                    best.insert(score * self.of_kind(known), known.path.borrowed());
                }
            }
            best
        });
        best.reduce(Best::default, Best::joined)
    }

    /// Files in requested folders, with the folders' share of the words.
    fn inside<'f>(
        &self,
        table: &Table,
        folders: &'f HashMap<&str, Box<[f64]>>,
    ) -> Vec<(u32, &'f [f64])> {
        let catalogue = self.context.vault.catalogue();
        let matches = table.others().filter_map(|folder| {
            let matched_folder = |path: &str| {
                folders.get(path).filter(|alike| Ranking::has_matches(alike)).map(|alike| &**alike)
            };
            let above =
                folder.path.borrowed().parent().and_then(|above| matched_folder(above.as_str()));
            // Included with its parent.
            matched_folder(folder.path.as_str())
                .filter(|_| above.is_none())
                .map(|it| (&folder.path, it))
        });
        let mut inside = Vec::new();
        for (folder, alike) in matches {
            let entries = catalogue.within(folder).take(MAX_COMPARED);
            let files = entries.filter_map(|entry| table.number(entry.path()));
            inside.extend(files.map(|file| (file, alike)));
        }
        inside
    }

    /// The preference for a kind: notes first.
    fn of_kind(&self, known: &NameEntry) -> f64 {
        match (self.want, known.kind) {
            (Want::Folder, _) => 1.0,
            (Want::File, Kind::Folder) => 0.6,
            (_, Kind::Folder) => 0.9,
            _ if known.path.is_note() => 1.0,
            _ => 0.88,
        }
    }

    /// Whether a path is in the requested folders, from the root; true without folders.
    fn is_in_folders(&self, path: PathRef<'_>) -> bool {
        let Some((_, folders)) = self.asked.path.split_last() else { return false };
        folders.is_empty() || keys_of_folders(path) == folders
    }

    /// Whether folders were requested and a path is in them at any depth.
    fn is_below_folders(&self, path: PathRef<'_>) -> bool {
        match self.asked.path.split_last() {
            Some((_, folders)) if !folders.is_empty() => keys_of_folders(path).ends_with(folders),
            _ => false,
        }
    }
}

fn keys_of_folders(path: PathRef<'_>) -> Vec<String> {
    let folders = path.parent().into_iter().flat_map(|parent| parent.components());
    folders.map(|name| spoken::key(&spoken::words(name))).collect()
}

/// The share of the words that a folder and its parents have, by folder; without folders that have none.
fn shares_of_folders<'t>(table: &'t Table, ranking: &Ranking<'_>) -> HashMap<&'t str, Box<[f64]>> {
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

/// The best candidates so far, best first; equal ones by path.
#[derive(Default, Clone)]
struct Best<'p>(Vec<(f64, PathRef<'p>)>);

impl<'p> Best<'p> {
    /// The lowest score that enters the list.
    fn least(&self) -> f64 {
        self.0.get(SHOWN - 1).map_or(MIN_SCORE, |(score, _)| score.max(MIN_SCORE))
    }

    /// Adds a candidate if it is among the best.
    fn insert(&mut self, score: f64, path: PathRef<'p>) {
        let is_before = |other: &(f64, PathRef<'_>)| {
            other.0 > score || (other.0 == score && other.1.as_str() < path.as_str())
        };
        let at = self.0.partition_point(is_before);
        let is_new = self.0.get(at).is_none_or(|(_, other)| *other != path);
        if score >= MIN_SCORE && at < SHOWN && is_new {
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
    fn names_during_the_first_reading_are_only_suggested() {
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let [place, state] = folders.each_ref().map(tempfile::TempDir::path);
        std::fs::create_dir(place.join("a")).expect("made");
        std::fs::write(place.join("a/Kettle.md"), "one\n").expect("written");
        let vault = Vault::open(place, state, Settings::default(), &|_| ()).expect("opened").0;
        let names = Names::new(vault.clone(), &Feed::new(vault.clone()));
        let cancel = Cancel::default();
        let now = chrono::Utc::now().fixed_offset();
        let resolve_in = |names: &Names, name: &str| {
            let context = NameContext { vault: &vault, now, cancel: &cancel };
            match names.resolve(context, name, Want::File) {
                Ok(found) => found.path.to_string(),
                Err(VaultError::NotFound { near, .. }) => format!("near {near:?}"),
                Err(other) => other.to_string(),
            }
        };
        let resolve = |name: &str| resolve_in(&names, name);
        names.0.set_first(true);
        assert_eq!(resolve("kettle"), r#"near [VaultPath("a/Kettle.md")]"#);
        assert_eq!(resolve("the kettle"), "near []");
        names.0.set_first(false);
        assert_eq!(resolve("the kettle"), "a/Kettle.md");
        // The background reading ends by itself and is not repeated.
        let names = Names::new(vault.clone(), &Feed::new(vault.clone()));
        names.start(state);
        assert_eq!(resolve_in(&names, "the kettle"), "a/Kettle.md", "soon read, and waited for");
        names.stop();
        let again = Names::new(vault.clone(), &Feed::new(vault.clone()));
        assert!(again.0.set_folder(state), "it was saved");
        again.start(state);
        assert_eq!(resolve_in(&again, "the kettle"), "a/Kettle.md", "loaded");
        again.stop();
    }
}
