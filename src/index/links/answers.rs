//! The link graph of a vault and its queries.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, RwLockReadGuard};
use std::time::Duration;

use super::form::linkpaths;
use super::graph::{Graph, Linkpath, Summary, names_of};
use super::record::{Form, Gap, StoredLink};
use super::resolver::{Choices, Files, Resolution, VisibleFiles, file_at, resolve_among};
use crate::index::changes::Feed;
use crate::index::persistent::Persistent;
use crate::index::synced::{Cancelled, RecordTable as _};
use crate::note::path::{PathRef, VaultPath};
use crate::note::tag;
use crate::vault::catalogue::tree_order;
use crate::vault::{Cancel, Catalogue, LinkFormat, Vault, View};

/// The longest wait of a query for the first reading; then it is answered from the notes read so far.
const PATIENCE: Duration = Duration::from_secs(2);

/// A link with its target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedLink {
    pub link: StoredLink,
    pub resolution: Resolution,
}

/// The links of one file to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backlinks {
    /// The file that contains them.
    pub source: VaultPath,
    pub links: Vec<StoredLink>,
}

/// A broken or ambiguous link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubtful {
    /// The file that contains it.
    pub source: VaultPath,
    /// The link with its target.
    pub lead: ResolvedLink,
}

/// The kind of notes to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Orphans: notes without links from other files.
    Orphans,
    /// Dead ends: notes without links to other existing files.
    DeadEnds,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagCount {
    /// In its first spelling, without `#`.
    pub name: String,
    /// The number of notes with the tag or one nested in it.
    pub notes: usize,
    /// The number of occurrences, including nested tags.
    pub uses: usize,
}

/// The link graph of a vault. Clones share it.
#[derive(Clone)]
pub struct Links(pub(super) Arc<Persistent<Graph>>);

impl Links {
    /// Creates the graph of `vault` without reading anything.
    pub(in crate::index) fn new(vault: Vault, feed: &Feed) -> Self {
        Self(Arc::new(Persistent::new(vault, feed)))
    }

    /// Loads the graph that an earlier run saved in `state`, the steward's folder for the vault.
    pub fn load_saved(&self, state: &Path) {
        self.0.set_folder(state);
    }

    /// Loads the saved graph, or builds and saves one, on a background thread: `at_once` or at the first query.
    pub fn start(&self, state: &Path, at_once: bool) {
        self.0.set_folder(state);
        self.0.read_in_background(at_once.then_some(Duration::ZERO));
    }

    /// Stops the background thread of [`Self::start`] and saves changes.
    pub fn stop(&self) {
        self.0.stop();
    }

    /// Updates the graph; the first time this reads every note. Queries do not update it themselves.
    pub fn refresh(&self, cancel: &Cancel) -> Result<(), Cancelled> {
        self.0.refresh(cancel)
    }

    /// The updated graph as in [`Self::in_view`]; during the first reading of all notes, the
    /// part read so far.
    pub fn available<'a>(
        &'a self,
        view: &'a View,
        cancel: &Cancel,
    ) -> Result<VisibleLinks<'a>, Cancelled> {
        self.available_within(PATIENCE, view, cancel)
    }

    fn available_within<'a>(
        &'a self,
        patience: Duration,
        view: &'a View,
        cancel: &Cancel,
    ) -> Result<VisibleLinks<'a>, Cancelled> {
        let seen = self.in_view(view);
        if !self.0.is_first(patience) {
            self.refresh(cancel)?;
            return Ok(seen);
        }
        let graph = self.graph();
        let catalogue = self.0.synced.vault.catalogue();
        let files = catalogue.files().filter(|file| Graph::wants(*file) && view.shows(*file));
        let unread = files.filter(|file| graph.get(&file.to_path()).is_none()).count();
        Ok(VisibleLinks { unread, ..seen })
    }

    /// Statistics of the graph, computed on demand.
    pub fn summary(&self) -> Summary {
        self.graph().summary()
    }

    /// Files whose links are unknown or incomplete, by path.
    pub fn gaps(&self) -> Vec<(VaultPath, Gap)> {
        self.graph().gaps()
    }

    pub(super) fn graph(&self) -> RwLockReadGuard<'_, Graph> {
        self.0.synced.table()
    }

    /// The graph in a view of the vault: files outside it count as nonexistent, so no link leads to or comes from them.
    pub fn in_view<'a>(&'a self, view: &'a View) -> VisibleLinks<'a> {
        VisibleLinks { links: self, view, unread: 0 }
    }

    /// The graph with its linkpaths resolved.
    fn resolved(&self) -> RwLockReadGuard<'_, Graph> {
        let mut after = None;
        loop {
            let mut graph = self.0.synced.table_mut();
            after = graph.resolve(&self.0.synced.vault.catalogue(), after);
            if after.is_none() {
                break;
            }
        }
        self.graph()
    }
}

/// The graph in a caller's view, with its queries.
#[derive(Clone, Copy)]
pub struct VisibleLinks<'a> {
    pub(super) links: &'a Links,
    pub(super) view: &'a View,
    unread: usize,
}

impl VisibleLinks<'_> {
    /// The links of the file at `source` with their targets; `None` if the file has no record.
    pub fn outgoing(&self, source: &VaultPath) -> Option<Vec<ResolvedLink>> {
        if self.unread > 0 && self.links.graph().get(source).is_none() {
            self.links.0.synced.read(source);
        }
        self.links.0.synced.check(std::iter::once(source));
        let graph = self.links.graph();
        let record = graph.get(source).filter(|_| self.view.shows(source))?;
        let catalogue = self.links.0.synced.vault.catalogue();
        let files = self.files(&catalogue);
        let leads = record.links.iter().map(|link| lead(&files, source, link));
        Some(leads.collect())
    }

    /// The possible targets of links.
    fn files<'f>(&'f self, catalogue: &'f Catalogue) -> VisibleFiles<'f> {
        VisibleFiles { catalogue, view: self.view }
    }

    /// Files whose links are unknown or incomplete, by path.
    pub fn gaps(&self) -> Vec<(VaultPath, Gap)> {
        let mut gaps = self.links.gaps();
        gaps.retain(|(path, _)| self.view.shows(path));
        gaps
    }

    /// The number of files that have not been read yet.
    pub fn unread(&self) -> usize {
        self.unread
    }

    /// The number of files in the graph.
    pub fn count(&self) -> usize {
        let graph = self.links.graph();
        if self.view.is_all() {
            graph.len()
        } else {
            graph.iter().filter(|(path, _)| self.view.shows(*path)).count()
        }
    }

    /// The wanted links of the file at `source`, in order, as last read.
    pub(in crate::index) fn kept_of(
        &self,
        source: &VaultPath,
        wanted: impl Fn(&StoredLink) -> bool,
    ) -> Vec<StoredLink> {
        let graph = self.links.graph();
        let links = graph.get(source).map(|record| &record.links[..]).unwrap_or_default();
        links.iter().filter(|link| wanted(link)).cloned().collect()
    }

    /// The files with a link to `target`, by path, as last read.
    pub(in crate::index) fn sources_of(&self, target: &VaultPath) -> Vec<VaultPath> {
        self.leading(target).into_iter().map(|found| found.source).collect()
    }

    pub fn resolve(&self, source: &VaultPath, link: &str) -> Resolution {
        let catalogue = self.links.0.synced.vault.catalogue();
        resolve_among(&self.files(&catalogue), source, link)
    }

    /// Every link to `target`, by the path of its file. Includes links in `target` itself that name it.
    pub fn backlinks(&self, target: &VaultPath) -> Vec<Backlinks> {
        let mut sources = self.links.graph().sources(&names_of(target.name()));
        sources.retain(|source| self.view.shows(source));
        self.links.0.synced.check(sources.iter());
        self.leading(target)
    }

    /// The number of other files that link to `target`, as last read.
    pub fn backlinks_as_read(&self, target: &VaultPath) -> usize {
        self.sources_of(target).iter().filter(|source| *source != target).count()
    }

    /// An upper bound of it: the number of files with a link that has one of the names of `target`.
    pub fn backlinks_at_most(&self, target: &VaultPath) -> usize {
        self.links.graph().count(&names_of(target.name()))
    }

    /// The linkpath to `target` that works from any file: its name if that is unique as far as known, else its path.
    pub fn linkpath_to(&self, target: &VaultPath) -> String {
        let format = if self.view.is_all() { LinkFormat::Shortest } else { LinkFormat::Absolute };
        let catalogue = self.links.0.synced.vault.catalogue();
        let paths = linkpaths(&self.files(&catalogue), format, &VaultPath::root(), target, false);
        paths.into_iter().next().unwrap_or_else(|| target.as_str().to_owned())
    }

    /// The links to `target`, by the path of their file, as last read.
    fn leading(&self, target: &VaultPath) -> Vec<Backlinks> {
        let graph = self.links.graph();
        let mut found: BTreeMap<&VaultPath, Vec<usize>> = BTreeMap::new();
        for linkpath in graph.named(&names_of(target.name())) {
            let mut choices = None;
            for (source, links) in self.sources_with(&graph, linkpath) {
                let choices = choices.get_or_insert_with(|| self.choices(linkpath, source));
                if choices.target(source) == Some(target) {
                    found.entry(source).or_default().extend(links);
                }
            }
        }
        let found = found.into_iter().filter_map(|(source, mut links)| {
            links.sort_unstable();
            let all = &graph.get(source)?.links;
            let links = links.into_iter().map(|at| all[at].clone()).collect();
            Some(Backlinks { source: source.clone(), links })
        });
        found.collect()
    }

    /// The visible files that contain a linkpath, each with the places of these links.
    fn sources_with<'g>(
        &'g self,
        graph: &'g Graph,
        linkpath: &'g Linkpath,
    ) -> impl Iterator<Item = (&'g VaultPath, impl Iterator<Item = usize> + 'g)> + 'g {
        let sources = linkpath.sources.iter().filter_map(|number| graph.file(*number));
        sources.filter(|(path, _)| self.view.shows(path)).map(|(path, record)| {
            let links = record.links.iter().enumerate().filter(|(_, link)| linkpath.is_of(link));
            (path, links.map(|(at, _)| at))
        })
    }

    /// The visible files from which a linkpath leads to another file, with that file if it has a record, by their
    /// numbers.
    fn leads_to_others<'g>(
        &'g self,
        graph: &'g Graph,
        linkpath: &'g Linkpath,
        choices: &'g Choices,
    ) -> impl Iterator<Item = (u32, Option<u32>)> + 'g {
        let targets: Vec<Option<u32>> =
            choices.all().iter().map(|target| graph.number(target.as_str())).collect();
        // A name can have thousands of files and of links.
        let is_sole = targets.len() < 2;
        let by_folder = if is_sole { HashMap::new() } else { choices.by_folder() };
        linkpath.sources.iter().filter_map(move |source| {
            let mut place = 0;
            if !is_sole || !self.view.is_all() {
                let (path, _) = graph.file(*source).filter(|(path, _)| self.view.shows(path))?;
                let folder = path.borrowed().parent()?;
                place = by_folder.get(folder.as_str()).copied().unwrap_or_default();
            }
            let target = *targets.get(place)?;
            (target != Some(*source)).then_some((*source, target))
        })
    }

    /// What a linkpath of `source` leads to in this view.
    fn choices(&self, linkpath: &Linkpath, source: &VaultPath) -> Choices {
        linkpath.resolve(&self.files(&self.links.0.synced.vault.catalogue()), source)
    }

    /// Calls `each` with every linkpath of a visible file, and where it leads.
    fn each_linkpath<'g>(&self, graph: &'g Graph, mut each: impl FnMut(&'g Linkpath, &Choices)) {
        let is_resolved =
            self.view.is_all() && graph.is_resolved_for(&self.links.0.synced.vault.catalogue());
        for linkpath in graph.linkpaths() {
            if let Some(choices) = linkpath.choices.as_ref().filter(|_| is_resolved) {
                each(linkpath, choices);
            } else if let Some((source, _)) = self.sources_with(graph, linkpath).next() {
                each(linkpath, &self.choices(linkpath, source));
            }
        }
    }

    /// Broken links in files below `folder` (or in the file itself), and with `ambiguous` also ambiguous
    /// ones; by path and position.
    pub fn doubtful(&self, folder: &VaultPath, ambiguous: bool) -> Vec<Doubtful> {
        let graph = self.links.resolved();
        let mut found: Vec<(&VaultPath, usize, Resolution)> = Vec::new();
        self.each_linkpath(&graph, |linkpath, choices| {
            if choices.all().is_empty() || (ambiguous && choices.all().len() > 1) {
                let sources = self.sources_with(&graph, linkpath);
                for (source, links) in sources.filter(|(source, _)| source.is_within(folder)) {
                    found.extend(links.map(|at| (source, at, choices.resolution(source))));
                }
            }
        });
        found.sort_unstable_by(|(a, at, _), (b, other, _)| in_order(a, b).then(at.cmp(other)));
        let found = found.into_iter().filter_map(|(source, at, resolution)| {
            let link = graph.get(source)?.links[at].clone();
            Some(Doubtful { source: source.clone(), lead: ResolvedLink { link, resolution } })
        });
        found.collect()
    }

    /// The notes below `folder` of this kind, by path.
    pub fn notes(&self, folder: &VaultPath, scope: Scope) -> Vec<VaultPath> {
        let graph = self.links.resolved();
        let mut linked = vec![false; graph.numbers()];
        self.each_linkpath(&graph, |linkpath, choices| {
            for (source, target) in self.leads_to_others(&graph, linkpath, choices) {
                match (scope, target) {
                    (Scope::DeadEnds, _) => linked[source as usize] = true,
                    (Scope::Orphans, Some(target)) => linked[target as usize] = true,
                    (Scope::Orphans, None) => {}
                }
                // From the other folders it leads to the same file.
                if scope == Scope::Orphans && choices.all().len() < 2 {
                    break;
                }
            }
        });
        let is_wanted =
            |path: &VaultPath| path.is_note() && path.is_within(folder) && self.view.shows(path);
        let alone = (0..).zip(linked).filter(|(_, is_linked)| !is_linked);
        let alone = alone.filter_map(|(number, _)| Some(&graph.file(number)?.0));
        let mut notes: Vec<VaultPath> = alone.filter(|path| is_wanted(path)).cloned().collect();
        notes.sort_unstable_by(in_order);
        notes
    }

    /// For each note or canvas that other files link to, the number of those files.
    pub fn backlink_counts(&self) -> HashMap<VaultPath, usize> {
        let graph = self.links.resolved();
        let mut sources_of: Vec<Vec<u32>> = vec![Vec::new(); graph.numbers()];
        self.each_linkpath(&graph, |linkpath, choices| {
            for (source, target) in self.leads_to_others(&graph, linkpath, choices) {
                if let Some(target) = target {
                    sources_of[target as usize].push(source);
                }
            }
        });
        let linked = (0..).zip(sources_of).filter(|(_, sources)| !sources.is_empty());
        let counts = linked.filter_map(|(number, mut sources)| {
            sources.sort_unstable();
            sources.dedup();
            Some((graph.file(number)?.0.clone(), sources.len()))
        });
        counts.collect()
    }

    /// The tags of each note below `folder`, each tag once, with its key and its name as written there.
    pub fn tags_by_note(&self, folder: &VaultPath) -> HashMap<VaultPath, Vec<(String, String)>> {
        let sources = self.sources(folder);
        let graph = self.links.graph();
        let tags_of = |path: &VaultPath| {
            let tags = graph.get(path).map(|record| &record.tags[..]).unwrap_or_default();
            let mut keys = BTreeSet::new();
            let tags = tags.iter().map(|tag| (tag::key(&tag.name), tag.name.to_string()));
            tags.filter(|(key, _)| keys.insert(key.clone())).collect::<Vec<_>>()
        };
        let tagged = sources.into_iter().map(|path| (tags_of(&path), path));
        tagged.filter(|(tags, _)| !tags.is_empty()).map(|(tags, path)| (path, tags)).collect()
    }

    /// The tags of the notes below `folder`, most frequent first. A nested tag also counts for its
    /// parents.
    pub fn tags(&self, folder: &VaultPath) -> Vec<TagCount> {
        let mut counts: BTreeMap<String, TagCount> = BTreeMap::new();
        // Before the graph's lock is taken: taking it twice would deadlock with a waiting writer.
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

    /// The notes below `folder` with the tag `name` or one nested in it, by path.
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

    /// The files below `folder` with recorded links, by path.
    pub(super) fn sources(&self, folder: &VaultPath) -> Vec<VaultPath> {
        let graph = self.links.graph();
        let paths = graph.iter().map(|(path, _)| path);
        let paths = paths.filter(|path| path.is_within(folder) && self.view.shows(*path));
        let mut sources: Vec<VaultPath> = paths.cloned().collect();
        sources.sort_unstable_by(in_order);
        sources
    }
}

fn in_order(a: &VaultPath, b: &VaultPath) -> Ordering {
    tree_order(a.as_str(), b.as_str())
}
debug_only!(Links);

fn lead(files: &dyn Files, source: &VaultPath, link: &StoredLink) -> ResolvedLink {
    ResolvedLink { resolution: target_of(files, source, link), link: link.clone() }
}

/// Resolves a recorded link. A canvas names files by their whole path.
pub(super) fn target_of(files: &dyn Files, source: &VaultPath, link: &StoredLink) -> Resolution {
    match link.form {
        Form::CanvasFile => Resolution {
            target: file_at(files, link.path()).map(PathRef::to_path),
            others: Vec::new(),
        },
        _ => resolve_among(files, source, link.path()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::Settings;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "tests make the vaults they look at")]
    fn queries_during_the_first_reading_use_what_was_read() {
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
        let look =
            || links.available_within(Duration::ZERO, &all, &cancel).expect("nobody withdraws");
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

        // The background reading ends by itself and is not repeated.
        links.start(state, true);
        assert_eq!(links.available(&all, &cancel).expect("nobody withdraws").unread(), 0);
        links.stop();
        assert!(links.0.set_folder(state), "it was saved");

        // A saved graph that cannot be used, as after an update, is no reason to keep a query waiting.
        std::fs::write(state.join("links/table"), "of another version").expect("written");
        let vault = links.0.synced.vault.clone();
        let links = Links::new(vault.clone(), &Feed::new(vault));
        let (go, waits) = std::sync::mpsc::channel();
        let waits = std::sync::Mutex::new(waits);
        links.0.set_before(move |_| waits.lock().expect("unlocked").recv().expect("sent"));
        links.start(state, false);
        let seen = links.available_within(Duration::ZERO, &all, &cancel).expect("nobody withdraws");
        assert_eq!((seen.unread(), seen.backlinks(&b).len()), (3, 0));
        go.send(()).expect("received");
        assert_eq!(links.available(&all, &cancel).expect("nobody withdraws").unread(), 0);
        links.stop();
    }
}
