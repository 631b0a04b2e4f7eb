//! Finding things by what is in them. Derived from the vault and safe to lose.
//!
//! May import `note`, `bases` and `vault`. [`search`] reads the files each time; [`text`] answers the same from
//! signatures and texts that it keeps; [`links`] keeps what every note links to and its tags, [`names`] what
//! every file is called, [`properties`] what the frontmatter of every note says, [`knowledge`] the words of every
//! note to rank notes by, all built at first use and kept true
//! from then on (`fresh`). What lives from run to run is
//! `sealed`. All listen to one feed
//! of the vault's changes, `changes`. An [`Index`] is the handle to what is kept; clones share it.

mod changes;
mod fresh;
pub mod knowledge;
mod lasting;
pub mod links;
pub mod names;
pub mod properties;
mod sealed;
pub mod search;
pub mod text;

use crate::vault::Vault;
use changes::Feed;
use knowledge::Knowledge;
use links::Links;
use names::Names;
use properties::Properties;
use text::Text;

/// Everything that is kept about a vault beside its catalogue. A cheap clone.
#[derive(Debug, Clone)]
pub struct Index {
    /// The words of every note, to be ranked by.
    pub knowledge: Knowledge,
    /// The link graph.
    pub links: Links,
    /// What every file is called.
    pub names: Names,
    /// The properties of every note.
    pub properties: Properties,
    /// What finds text.
    pub text: Text,
}

impl Index {
    /// An index of `vault`. Nothing is read before something is asked.
    pub fn new(vault: Vault) -> Self {
        let feed = Feed::new(vault.clone());
        Self {
            knowledge: Knowledge::new(vault.clone(), &feed),
            links: Links::new(vault.clone(), &feed),
            names: Names::new(vault.clone(), &feed),
            properties: Properties::new(vault.clone(), &feed),
            text: Text::new(vault, &feed),
        }
    }
}
