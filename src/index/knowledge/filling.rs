//! Adds extracted texts of PDFs to words and vectors, and removes them when they are no longer
//! wanted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::content::{Content, Kind};
use super::meaning::vectors;
use super::pdfs::Pdfs;
use super::reading::Source;
use super::table::{self, Table};
use super::{Knowledge, MAKING_ALONE, SharedKnowledge};
use crate::index::synced::{Cancelled, RecordTable};
use crate::note::path::VaultPath;
use crate::note::search_query::{Filter, SearchedFile};
use crate::note::text::Text;
use crate::vault::{Cancel, View};

/// The longest time in which a search adds extracted texts itself.
const FILLING: Duration = Duration::from_millis(50);

impl SharedKnowledge {
    pub(super) fn read_or_forget_pdfs(&self) {
        if !self.has_pdfs.load(Ordering::Relaxed) {
            self.pdfs.forget();
        } else if self.is_lasting.load(Ordering::Relaxed) {
            self.pdfs.read_in_background(None);
        }
    }

    /// Adds the PDF texts extracted so far. Returns whether that is all; in a daemon the rest
    /// continues in the background.
    pub(super) fn update_pdfs(&self, cancel: &Cancel) -> Result<bool, Cancelled> {
        if !self.has_pdfs.load(Ordering::Relaxed) {
            return Ok(self.fill_or_strip(cancel));
        }
        let start = Instant::now();
        let is_lasting = self.is_lasting.load(Ordering::Relaxed);
        // In a daemon, a search extracts nothing itself; it only checks whether something is left
        // to extract.
        let most = if is_lasting { Duration::ZERO } else { MAKING_ALONE };
        let is_read = !self.pdfs.is_first(Duration::ZERO)
            && self.pdfs.refresh(&cancel.until(start + most)).is_ok();
        let is_whole = self.fill_or_strip(cancel) && is_read;
        if cancel.is_cancelled() {
            return Err(Cancelled);
        }
        if !is_whole && is_lasting {
            self.pdfs.read_in_background(Some(Duration::ZERO));
        }
        Ok(is_whole)
    }

    /// Adds texts within a search's time limit, or removes all if they are not wanted. Returns
    /// whether nothing is left to do.
    pub(super) fn fill_or_strip(&self, cancel: &Cancel) -> bool {
        if !self.has_pdfs.load(Ordering::Relaxed) {
            self.strip();
            return true;
        }
        let is_lasting = self.is_lasting.load(Ordering::Relaxed);
        let end = Instant::now() + if is_lasting { FILLING } else { MAKING_ALONE };
        self.fill(&|| cancel.is_cancelled() || Instant::now() > end)
    }

    /// Adds texts until it is over. Returns whether no extracted text is left.
    pub(super) fn fill(&self, is_over: &dyn Fn() -> bool) -> bool {
        let bare = |(path, is_filled): (&VaultPath, &bool)| (!is_filled).then(|| path.clone());
        let mut paths: BTreeSet<VaultPath> =
            self.words.synced.table().pdfs.iter().filter_map(bare).collect();
        paths.extend(self.vectors.synced.table().pdfs.iter().filter_map(bare));
        for path in paths {
            let extracted = self.pdfs.synced.table().text(&path);
            let Some((source, text)) = extracted else { continue };
            if is_over() {
                return false;
            }
            let content = Content::of_pdf(&text);
            if is_bare(&*self.words.synced.table(), |it| &it.pdfs, &path, source) {
                let read = table::of(&path, &content).from(source);
                self.words.synced.put(path.clone(), Some(read));
            }
            if is_bare(&*self.vectors.synced.table(), |it| &it.pdfs, &path, source) {
                let made = vectors::of(&path, &content);
                self.vectors.synced.put(path, Some((source, made)));
            }
        }
        true
    }

    /// Removes the texts that an earlier run added.
    fn strip(&self) {
        let filled = |(path, is_filled): (&VaultPath, &bool)| is_filled.then(|| path.clone());
        let words: Vec<VaultPath> =
            self.words.synced.table().pdfs.iter().filter_map(filled).collect();
        words.iter().for_each(|path| self.words.synced.read(path));
        let vectors: Vec<VaultPath> =
            self.vectors.synced.table().pdfs.iter().filter_map(filled).collect();
        vectors.iter().for_each(|path| self.vectors.synced.read(path));
    }

    /// Visible PDFs with text that is not extracted yet, or not yet added to `words`.
    pub(super) fn unread_pdfs(&self, words: &Table, view: &View) -> usize {
        let pdfs = self.pdfs.synced.table();
        let catalogue = self.words.synced.vault.catalogue();
        let files = catalogue.files().filter(|it| Pdfs::wants(*it) && view.shows(*it));
        let is_unread = |path: &VaultPath| {
            let is_bare = words.pdfs.get(path) == Some(&false);
            pdfs.get(path).is_none_or(|pdf| is_bare && pdf.has_text())
        };
        files.filter(|it| is_unread(&it.to_path())).count()
    }
}

/// Whether the record of exactly this file lacks its text.
fn is_bare<K: RecordTable>(
    table: &K,
    pdfs: impl Fn(&K) -> &BTreeMap<VaultPath, bool>,
    path: &VaultPath,
    source: Source,
) -> bool {
    pdfs(table).get(path) == Some(&false)
        && table.get(path).is_some_and(|record| K::stamp(record).0 == source.stamp)
}

impl Knowledge {
    /// Calls `with` with the current text of a file; `None` if it cannot be read.
    pub fn with_content<T>(
        &self,
        path: &VaultPath,
        with: impl FnOnce(&Content<'_>) -> T,
    ) -> Option<T> {
        Some(match Kind::of(path.borrowed()) {
            Some(Kind::Pdf) => {
                let pdf = self.0.pdfs.synced.table().text(path);
                match pdf {
                    Some((_, text)) => with(&Content::of_pdf(&text)),
                    None => with(&Content::of(path.borrowed(), "")),
                }
            }
            Some(Kind::Media) => with(&Content::of(path.borrowed(), "")),
            Some(Kind::Note | Kind::Canvas) | None => {
                let content = self.0.words.synced.vault.read(path).ok()?;
                let text = Text::decode(&content.bytes, path.name());
                with(&Content::of(path.borrowed(), text.as_ref().map_or("", |text| text.body())))
            }
        })
    }

    /// Whether a file matches a filter in its present state. One that cannot be read does not.
    pub(super) fn holds(&self, path: &VaultPath, filter: &Filter) -> bool {
        let holds = |content: &Content<'_>| filter.holds(&SearchedFile::new(path, &content.text));
        self.with_content(path, holds).unwrap_or(false)
    }
}
