//! Counts over all notes at once: the links to each file, and the tags of each note.

use std::collections::{BTreeSet, HashMap};

use super::answers::Seen;
use crate::index::fresh::Keeper as _;
use crate::note::path::VaultPath;
use crate::note::tag;

impl Seen<'_> {
    /// For each file that other files link to, the number of those files.
    pub fn backlink_counts(&self) -> HashMap<VaultPath, usize> {
        let mut counts: HashMap<VaultPath, usize> = HashMap::new();
        let mut source_of: HashMap<VaultPath, VaultPath> = HashMap::new();
        self.resolved(&VaultPath::root(), |source, lead| {
            let Some(target) = lead.resolution.target.filter(|target| target != source) else {
                return;
            };
            // The links of a file come one after another, so a target was counted for it if it was the last.
            if source_of.get(&target) != Some(source) {
                *counts.entry(target.clone()).or_default() += 1;
                source_of.insert(target, source.clone());
            }
        });
        counts
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
}
