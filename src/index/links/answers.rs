//! The link graph of a vault, and what can be asked of it once it is up to date.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::sync::{Arc, RwLockReadGuard};
use std::time::Duration;

use super::form::linkpaths;
use super::graph::{self, Graph, Summary, is_named};
use super::record::{Form, Gap, Kept, Record};
use super::resolver::{Files, Resolution, VisibleFiles, resolve_among};
use crate::index::changes::Feed;
use crate::index::fresh::{Keeper as _, Withdrawn};
use crate::index::lasting::Lasting;
use crate::note::path::{PathRef, VaultPath};
use crate::note::{fold, tag};
use crate::vault::{Cancel, Catalogue, LinkFormat, Vault, View};

/// How long a question waits for the first reading of all notes before it is answered from what was read.
const PATIENCE: Duration = Duration::from_secs(2);

/// Files whose links are resolved before the catalogue is let go for others.
const BATCH: usize = 256;

/// A link of a file, and where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lead {
    pub link: Kept,
    /// Where it leads.
    pub resolution: Resolution,
}

/// The links of one file that lead to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backlinks {
    /// The file they stand in.
    pub source: VaultPath,
    /// In the order of the text.
    pub links: Vec<Kept>,
}

/// A link that leads nowhere, or could lead elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubtful {
    /// The file it stands in.
    pub source: VaultPath,
    /// The link and where it leads.
    pub lead: Lead,
}

/// Which notes are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Notes that no other file links to.
    Orphans,
    /// Notes that link to nothing that exists beside themselves.
    DeadEnds,
}

/// A tag of the vault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagCount {
    /// As spelt where it comes first, without `#`.
    pub name: String,
    /// Notes that have it, or a tag nested in it.
    pub notes: usize,
    /// How often it stands there, nested tags included.
    pub uses: usize,
}

/// The link graph of a vault. A cheap clone over shared state.
#[derive(Clone)]
pub struct Links(pub(super) Arc<Lasting<Graph>>);

impl Links {
    /// The graph of `vault`; nothing is read yet.
    pub(in crate::index) fn new(vault: Vault, feed: &Feed) -> Self {
        Self(Arc::new(Lasting::new(vault, feed)))
    }

    /// Goes by what an earlier run saved in `state`, the steward's folder for the vault.
    pub fn remember(&self, state: &Path) {
        self.0.remember(state);
    }

    /// The same, and reads all notes on a thread of its own and saves what is in them: `at_once`, or as soon as
    /// somebody asks, where nothing was saved yet.
    pub fn start(&self, state: &Path, at_once: bool) {
        if !self.0.remember(state) || at_once {
            self.0.read_beside(at_once.then_some(Duration::ZERO));
        }
    }

    /// Ends what [`Self::start`] began, and saves what has changed.
    pub fn stop(&self) {
        self.0.stop();
    }

    /// Brings the graph up to date, which the first time reads every note. The other questions do
    /// not do it by themselves.
    ///
    /// # Errors
    /// [`Withdrawn`]; what was read by then stays.
    pub fn refresh(&self, cancel: &Cancel) -> Result<(), Withdrawn> {
        self.0.refresh(cancel)
    }

    /// The graph as [`Self::seen_through`] gives it, brought up to date; while all notes are read for the first
    /// time, as far as that has come.
    ///
    /// # Errors
    /// [`Withdrawn`]; what was read by then stays.
    pub fn look<'a>(&'a self, view: &'a View, cancel: &Cancel) -> Result<Seen<'a>, Withdrawn> {
        self.look_within(PATIENCE, view, cancel)
    }

    fn look_within<'a>(
        &'a self,
        patience: Duration,
        view: &'a View,
        cancel: &Cancel,
    ) -> Result<Seen<'a>, Withdrawn> {
        let seen = self.seen_through(view);
        if !self.0.is_first(patience) {
            self.refresh(cancel)?;
            return Ok(seen);
        }
        let graph = self.graph();
        let catalogue = self.0.fresh.vault.catalogue();
        let files = catalogue.files().filter(|file| Graph::wants(*file) && view.shows(*file));
        let unread = files.filter(|file| graph.get(&file.to_path()).is_none()).count();
        Ok(Seen { unread, ..seen })
    }

    /// How much is kept, and what is not; counts it all.
    pub fn summary(&self) -> Summary {
        self.graph().summary()
    }

    /// The files whose links are not, or not all, known, by path.
    pub fn gaps(&self) -> Vec<(VaultPath, Gap)> {
        self.graph().gaps()
    }

    pub(super) fn graph(&self) -> RwLockReadGuard<'_, Graph> {
        self.0.fresh.kept()
    }

    /// The graph as somebody sees it who sees this much of the vault: a file beyond is as one that
    /// does not exist, so that no link leads there and none comes from there.
    pub fn seen_through<'a>(&'a self, view: &'a View) -> Seen<'a> {
        Seen { links: self, view, unread: 0 }
    }

    /// The files below `folder` of which links are kept, by path.
    pub(super) fn sources(&self, folder: &VaultPath) -> Vec<VaultPath> {
        let graph = self.graph();
        let mut sources: Vec<VaultPath> =
            graph.iter().map(|(path, _)| path).filter(|p| p.is_within(folder)).cloned().collect();
        sources.sort_by(|a, b| crate::vault::catalogue::tree_order(a.as_str(), b.as_str()));
        sources
    }
}

/// What of the graph somebody sees, and all that can be asked about it.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    pub(super) links: &'a Links,
    pub(super) view: &'a View,
    unread: usize,
}

impl Seen<'_> {
    /// The links of the file at `source` and where each leads; `None` if none are kept of it.
    pub fn outgoing(&self, source: &VaultPath) -> Option<Vec<Lead>> {
        if self.unread > 0 && self.links.graph().get(source).is_none() {
            self.links.0.fresh.read(source);
        }
        self.links.0.fresh.check(std::iter::once(source));
        let graph = self.links.graph();
        let record = graph.get(source).filter(|_| self.view.shows(source))?;
        let catalogue = self.links.0.fresh.vault.catalogue();
        let files = self.files(&catalogue);
        let leads = record.links.iter().map(|link| lead(&files, source, link));
        Some(leads.collect())
    }

    /// The files that links may lead to.
    fn files<'f>(&'f self, catalogue: &'f Catalogue) -> VisibleFiles<'f> {
        VisibleFiles { catalogue, view: self.view }
    }

    /// The files whose links are not, or not all, known, by path.
    pub fn gaps(&self) -> Vec<(VaultPath, Gap)> {
        let mut gaps = self.links.gaps();
        gaps.retain(|(path, _)| self.view.shows(path));
        gaps
    }

    /// How many files were not read yet, so that nothing is known of their links.
    pub fn unread(&self) -> usize {
        self.unread
    }

    /// How many files are looked at.
    pub fn count(&self) -> usize {
        self.links.graph().iter().filter(|(path, _)| self.view.shows(*path)).count()
    }

    /// The links of the file at `source` that are wanted, in their order, as they were read last.
    pub(in crate::index) fn kept_of(
        &self,
        source: &VaultPath,
        wanted: impl Fn(&Kept) -> bool,
    ) -> Vec<Kept> {
        let graph = self.links.graph();
        let links = graph.get(source).map(|record| &record.links[..]).unwrap_or_default();
        links.iter().filter(|link| wanted(link)).cloned().collect()
    }

    /// The files with a link that leads to `target`, by path, as they were read last.
    pub(in crate::index) fn sources_of(&self, target: &VaultPath) -> Vec<VaultPath> {
        let names = graph::names_of(target);
        let found = self.leading(target, &names, self.named(&names));
        found.into_iter().map(|found| found.source).collect()
    }

    /// Where a linkpath leads from the file at `source`.
    pub fn resolve(&self, source: &VaultPath, link: &str) -> Resolution {
        let catalogue = self.links.0.fresh.vault.catalogue();
        resolve_among(&self.files(&catalogue), source, link)
    }

    /// Every link that leads to `target`, by the path of the file it stands in. Those in `target`
    /// itself are among them where they name it.
    pub fn backlinks(&self, target: &VaultPath) -> Vec<Backlinks> {
        let names = graph::names_of(target);
        let sources = self.named(&names);
        self.links.0.fresh.check(sources.iter());
        self.leading(target, &names, sources)
    }

    /// How many other files link to `target`, as they were read last.
    pub fn backlinks_as_read(&self, target: &VaultPath) -> usize {
        self.sources_of(target).iter().filter(|source| *source != target).count()
    }

    /// What a wikilink from anywhere has to name to lead to `target`: its name where no other file has that, as
    /// far as it can be known, else its path.
    pub fn linkpath_to(&self, target: &VaultPath) -> String {
        let format = if self.view.is_all() { LinkFormat::Shortest } else { LinkFormat::Absolute };
        let catalogue = self.links.0.fresh.vault.catalogue();
        let paths = linkpaths(&self.files(&catalogue), format, &VaultPath::root(), target, false);
        paths.into_iter().next().unwrap_or_else(|| target.as_str().to_owned())
    }

    /// The files with a link of one of these names.
    fn named(&self, names: &[String]) -> BTreeSet<VaultPath> {
        let mut sources = self.links.graph().sources(names);
        sources.retain(|source| self.view.shows(source));
        sources
    }

    /// Those of the `sources` that have links to `target`, with these links.
    fn leading(
        &self,
        target: &VaultPath,
        names: &[String],
        sources: BTreeSet<VaultPath>,
    ) -> Vec<Backlinks> {
        let graph = self.links.graph();
        let catalogue = self.links.0.fresh.vault.catalogue();
        let files = self.files(&catalogue);
        let found = sources.into_iter().filter_map(|source| {
            let leads_there = |link: &&Kept| {
                is_named(link, names)
                    && !link.path().is_empty()
                    && target_of(&files, &source, link).target.as_ref() == Some(target)
            };
            let links: Vec<Kept> =
                graph.get(&source)?.links.iter().filter(leads_there).cloned().collect();
            (!links.is_empty()).then_some(Backlinks { source, links })
        });
        found.collect()
    }

    /// Links in files below `folder` (or in the file itself) that lead nowhere, and if `ambiguous`
    /// also those to which several files answer; by path and place.
    pub fn doubtful(&self, folder: &VaultPath, ambiguous: bool) -> Vec<Doubtful> {
        let mut found = Vec::new();
        self.resolved(folder, |source, lead| {
            let resolution = &lead.resolution;
            if resolution.target.is_none() || (ambiguous && !resolution.others.is_empty()) {
                found.push(Doubtful { source: source.clone(), lead });
            }
        });
        found
    }

    /// The notes below `folder` of this kind, by path.
    pub fn notes(&self, folder: &VaultPath, scope: Scope) -> Vec<VaultPath> {
        let mut linked: HashSet<VaultPath> = HashSet::new();
        let everywhere = VaultPath::root();
        let below = if scope == Scope::Orphans { &everywhere } else { folder };
        self.resolved(below, |source, lead| {
            if let Some(target) = lead.resolution.target.filter(|target| target != source) {
                linked.insert(if scope == Scope::Orphans { target } else { source.clone() });
            }
        });
        let notes = self.sources(folder).into_iter();
        notes.filter(|path| path.is_note() && !linked.contains(path)).collect()
    }

    /// The tags of the notes below `folder`, the commonest first. A nested tag counts for its
    /// parents too.
    pub fn tags(&self, folder: &VaultPath) -> Vec<TagCount> {
        let mut counts: BTreeMap<String, TagCount> = BTreeMap::new();
        // Before the graph is held: nobody may hold it twice, or a writer between would block both.
        let sources = self.sources(folder);
        let graph = self.links.graph();
        for path in sources {
            let Some(record) = graph.get(&path) else { continue };
            let mut here: HashSet<String> = HashSet::new();
            for used in &record.tags {
                for name in tag::with_parents(&used.name) {
                    let key = tag::key(name);
                    let count = counts.entry(key.clone()).or_insert_with(|| TagCount {
                        name: name.to_owned(),
                        notes: 0,
                        uses: 0,
                    });
                    count.uses += used.uses as usize;
                    count.notes += usize::from(here.insert(key));
                }
            }
        }
        let mut tags: Vec<TagCount> = counts.into_values().collect();
        tags.sort_by_key(|tag| std::cmp::Reverse(tag.notes));
        tags
    }

    /// The notes below `folder` that have the tag `name` or one nested in it, by path.
    pub fn tagged(&self, folder: &VaultPath, name: &str) -> Vec<VaultPath> {
        let wanted = tag::key(name);
        let sources = self.sources(folder);
        let graph = self.links.graph();
        let has = |path: &VaultPath| {
            let tags = graph.get(path).map(|record| &record.tags[..]).unwrap_or_default();
            tags.iter().flat_map(|tag| tag::with_parents(&tag.name)).any(|n| tag::key(n) == wanted)
        };
        sources.into_iter().filter(|path| has(path)).collect()
    }

    /// The files below `folder` of which links are kept, by path.
    fn sources(&self, folder: &VaultPath) -> Vec<VaultPath> {
        let mut sources = self.links.sources(folder);
        sources.retain(|path| self.view.shows(path));
        sources
    }

    fn resolved(&self, folder: &VaultPath, mut each: impl FnMut(&VaultPath, Lead)) {
        for batch in self.sources(folder).chunks(BATCH) {
            let graph = self.links.graph();
            let catalogue = self.links.0.fresh.vault.catalogue();
            let files = self.files(&catalogue);
            for source in batch {
                let links = graph.get(source).map(|record: &Record| &record.links);
                for link in links.into_iter().flatten() {
                    each(source, lead(&files, source, link));
                }
            }
        }
    }
}
impl std::fmt::Debug for Links {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Links").finish_non_exhaustive()
    }
}

fn lead(files: &dyn Files, source: &VaultPath, link: &Kept) -> Lead {
    Lead { resolution: target_of(files, source, link), link: link.clone() }
}

/// Where a kept link leads. A file that a canvas shows is named by its whole path.
pub(super) fn target_of(files: &dyn Files, source: &VaultPath, link: &Kept) -> Resolution {
    match link.form {
        Form::CanvasFile => Resolution {
            target: file_at(files, link.path()).map(PathRef::to_path),
            others: Vec::new(),
        },
        _ => resolve_among(files, source, link.path()),
    }
}

/// The file that a canvas means by this path.
pub(super) fn file_at<'f>(files: &'f dyn Files, path: &str) -> Option<PathRef<'f>> {
    files.at(&fold::normal(path)).or_else(|| files.at(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::Settings;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "tests make the vaults they look at")]
    fn while_the_notes_are_read_for_the_first_time_questions_are_answered_from_what_was_read() {
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let [place, state] = folders.each_ref().map(tempfile::TempDir::path);
        for (name, text) in [("a.md", "[[b]]\n"), ("b.md", "\n"), ("hidden.md", "[[b]]\n")] {
            std::fs::write(place.join(name), text).expect("written");
        }
        let vault = Vault::open(place, state, Settings::default(), &|_| ()).expect("opened").0;
        let [a, b] = ["a.md", "b.md"].map(|path| VaultPath::from_disk(path).expect("a path"));
        let links = Links::new(vault.clone(), &Feed::new(vault));
        links.0.set_first(true);
        let (all, cancel) = (View::default(), Cancel::default());
        let look = || links.look_within(Duration::ZERO, &all, &cancel).expect("nobody withdraws");
        assert_eq!((look().unread(), look().count()), (3, 0));
        assert!(look().backlinks(&b).is_empty());
        let found = look().outgoing(&a).expect("it is read on its own");
        assert_eq!(found[0].resolution.target.as_ref(), Some(&b));
        assert_eq!((look().unread(), look().backlinks(&b).len()), (2, 1));
        let withdrawn = Cancel::default();
        withdrawn.cancel();
        assert!(links.refresh(&withdrawn).is_err(), "a change waits for all");
        links.0.set_first(false);
        assert_eq!((look().unread(), look().backlinks(&b).len()), (0, 2));

        // The reading beside ends by itself, and is not done twice.
        links.start(state, true);
        assert_eq!(links.look(&all, &cancel).expect("nobody withdraws").unread(), 0);
        links.stop();
        assert!(links.0.remember(state), "it was saved");
    }
}
