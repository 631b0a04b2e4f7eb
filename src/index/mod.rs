//! The index: full-text search, links, names and properties, derived from the vault. It can be
//! deleted at any time.
//!
//! Floor 3. [`search`] reads the files each time; [`text`] gives the same results by
//! signatures and cached texts; [`links`] has the links and tags of every note, [`names`] the names of every file,
//! [`properties`] the frontmatter of every note, [`knowledge`] the words and the meaning of every note for ranking, all
//! built at first use and updated before each answer (`synced`). `persistent` saves them between runs. All listen to one
//! change feed, `changes`.
//! Clones of an [`Index`] share it.

mod changes;
mod checksummed_file;
pub mod knowledge;
pub mod links;
pub mod names;
mod persistent;
pub mod properties;
pub mod search;
mod synced;
pub mod text;

use std::path::Path;

use crate::vault::Vault;
use changes::Feed;
use knowledge::Knowledge;
use links::Links;
use names::Names;
use properties::Properties;
use text::Text;

/// All indexes of a vault. Clones share them.
#[derive(Debug, Clone)]
pub struct Index {
    /// The words and the meaning of every note, for ranking.
    pub knowledge: Knowledge,
    pub links: Links,
    pub names: Names,
    pub properties: Properties,
    pub text: Text,
}

impl Index {
    /// The indexes of `vault`. Nothing is read before the first query.
    pub fn new(vault: Vault) -> Self {
        let feed = Feed::new(vault.clone());
        let knowledge = Knowledge::new(vault.clone(), &feed);
        Self {
            knowledge: knowledge.clone(),
            links: Links::new(vault.clone(), &feed),
            names: Names::new(vault.clone(), &feed),
            properties: Properties::new(vault.clone(), &feed, knowledge),
            text: Text::new(vault, &feed),
        }
    }

    /// Starts the threads that build what an earlier run did not save in `state`, the steward's folder for the vault;
    /// that of the links at once if `read_links` says so.
    pub fn start(&self, state: &Path, read_links: bool) {
        self.text.start(state);
        self.names.start(state);
        self.links.start(state, read_links);
        self.knowledge.start(state);
    }

    /// Stops the threads and saves changes.
    pub fn stop(&self) {
        self.text.stop();
        self.names.stop();
        self.links.stop();
        self.knowledge.stop();
    }

    /// Loads what an earlier run saved in `state`, for a process that ends soon.
    pub fn load_saved(&self, state: &Path) {
        self.names.load_saved(state);
        self.links.load_saved(state);
        self.knowledge.load_saved(state);
    }
}
