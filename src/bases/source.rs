//! The vault as expressions see it.

use super::value::{FileId, Link, Object, Text, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A property's name as a source knows it, looked up once for all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Column(pub u32);

/// What a filter says of every file for which it holds, so that a source with an index need not offer the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// It lies in a folder or below it; as `file.inFolder` takes it.
    InFolder(Text),
    /// It has a tag, or one nested below it; as `file.hasTag` takes it.
    HasTag(Text),
    /// Its extension is exactly this.
    Extension(Text),
    /// All of these hold.
    All(Vec<Hint>),
    /// One of these holds.
    Any(Vec<Hint>),
}

/// What expressions read: the files that a caller may see, and no others.
///
/// A source is one moment of the vault: it answers the same from the first question to the last. Files are those
/// of the catalogue, notes and attachments; folders are none.
pub trait Source {
    /// Every file, in no order.
    fn files(&self) -> Box<dyn Iterator<Item = FileId> + '_>;
    /// At least all files for which a hint holds, in no order; `None` where an index does not tell. The filter is
    /// asked about each of them all the same.
    fn narrow(&self, hint: &Hint) -> Option<Vec<FileId>> {
        let _ = hint;
        None
    }
    /// Whether whoever asks does not want the answer any more: nothing is evaluated from then on, and what comes of
    /// it is worth nothing.
    fn is_withdrawn(&self) -> bool {
        false
    }
    /// The path from the vault's root, with its extension, `/` between folders.
    fn path(&self, file: FileId) -> Text;
    /// Bytes.
    fn size(&self, file: FileId) -> u64;
    /// When it was made, in milliseconds since 1970; that of its last change where the system does not tell.
    fn created(&self, file: FileId) -> i64;
    /// When it was last changed, in milliseconds since 1970.
    fn modified(&self, file: FileId) -> i64;

    /// The column of the property `name`: exact, else ignoring case. `None` if no note has it.
    fn column(&self, name: &str) -> Option<Column>;
    /// The value of a property; null where the note does not have it. Attachments have no properties. A text that
    /// is one wikilink is a link, also in lists; a text is a date as [`typed`](super::typed) decides.
    fn property(&self, file: FileId, column: Column) -> Value;
    /// All properties of a note in their order; none of a file that is no note.
    fn properties(&self, file: FileId) -> Arc<Object>;
    /// How many notes have each property, the commonest first: what a checker suggests from.
    fn property_counts(&self) -> Vec<(Text, usize)>;

    /// Tags of text and frontmatter, without `#`, as first written, each once, in their order.
    fn tags(&self, file: FileId) -> Vec<Text>;
    /// The tags that any file has.
    fn tag_names(&self) -> BTreeSet<Text> {
        self.files().flat_map(|file| self.tags(file)).collect()
    }
    /// Whether the file has the tag, or one nested below it. `tag` may begin with `#`; case does not count.
    fn has_tag(&self, file: FileId, tag: &str) -> bool;
    /// Links of frontmatter and body in their order, embeds included, no web addresses.
    fn links(&self, file: FileId) -> Vec<Arc<Link>>;
    /// The embeds among them.
    fn embeds(&self, file: FileId) -> Vec<Arc<Link>>;
    /// Each file that links to this one, once, by path.
    fn backlinks(&self, file: FileId) -> Vec<FileId>;
    /// Whether a file links to another, embeds included.
    fn links_to(&self, file: FileId, to: FileId) -> bool {
        let leads = |link: &Arc<Link>| self.resolve(link.path(), link.from) == Some(to);
        self.links(file).iter().any(|link| !link.is_external && leads(link))
    }
    /// Where a linkpath leads from a file, by Obsidian's rules; heading and block do not count.
    fn resolve(&self, linkpath: &str, from: Option<FileId>) -> Option<FileId>;
    /// The file at this very path.
    fn at(&self, path: &str) -> Option<FileId>;

    /// The text of a note, behind its frontmatter: for the extensions `file.text`, `file.words` and
    /// `file.headings`. `None` if it cannot be read as text.
    fn text(&self, file: FileId) -> Option<Text>;
}
