//! Access to the vault for expressions.

use super::value::{FileId, Link, Object, Text, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A property's name as a source knows it, looked up once for all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Column(pub u32);

/// A condition that every match of a filter meets, so that a source with an index can leave out other files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// The file is in this folder, at any depth, as in `file.inFolder`.
    InFolder(Text),
    /// The file has this tag or one nested below it, as in `file.hasTag`.
    HasTag(Text),
    /// The file has exactly this extension.
    Extension(Text),
    All(Vec<Hint>),
    Any(Vec<Hint>),
}

/// The data that expressions read: the files that a caller may see, and no others.
///
/// A source is a snapshot of the vault: its answers never change. Files are the notes and attachments of the
/// catalogue, without folders. The default methods are those of a source whose files have no content.
pub trait Source {
    /// Every file, in no order.
    fn files(&self) -> Box<dyn Iterator<Item = FileId> + '_>;
    /// A superset of the files that meet a hint, in no order; `None` if no index covers it. The caller still applies
    /// the filter to each.
    fn narrow(&self, hint: &Hint) -> Option<Vec<FileId>> {
        let _ = hint;
        None
    }
    /// Whether the caller cancelled the query. Nothing is evaluated from then on, and the result is invalid.
    fn is_cancelled(&self) -> bool {
        false
    }
    /// The path from the vault's root, with its extension, `/` between folders.
    fn path(&self, file: FileId) -> Text;
    /// Whether the file is directly in `folder`.
    fn is_directly_in(&self, file: FileId, folder: &str) -> bool {
        is_directly_in(&self.path(file), folder)
    }
    /// Bytes.
    fn size(&self, _file: FileId) -> u64 {
        0
    }
    /// Creation time in milliseconds since 1970; the modification time where the system does not store one.
    fn created(&self, _file: FileId) -> i64 {
        0
    }
    /// Modification time in milliseconds since 1970.
    fn modified(&self, _file: FileId) -> i64 {
        0
    }

    /// The column of the property `name`: exact, else ignoring case. `None` if no note has it.
    fn column(&self, _name: &str) -> Option<Column> {
        None
    }
    /// The value of a property; null where the note does not have it. Attachments have no properties. A text that
    /// is one wikilink is a link, also in lists; a text is a date as [`typed`](super::typed) decides.
    fn property(&self, _file: FileId, _column: Column) -> Value {
        Value::Null
    }
    /// All properties of a note in their order; none for other files.
    fn properties(&self, _file: FileId) -> Arc<Object> {
        Arc::default()
    }
    /// The number of notes with each property, most frequent first; the checker suggests names from it.
    fn property_counts(&self) -> Vec<(Text, usize)> {
        Vec::new()
    }

    /// Tags of text and frontmatter, without `#`, as first written, each once, in their order.
    fn tags(&self, _file: FileId) -> Vec<Text> {
        Vec::new()
    }
    fn tag_names(&self) -> BTreeSet<Text> {
        self.files().flat_map(|file| self.tags(file)).collect()
    }
    /// Whether the file has the tag, or one nested below it. `tag` may begin with `#`; case does not count.
    fn has_tag(&self, _file: FileId, _tag: &str) -> bool {
        false
    }
    /// Links of frontmatter and body in their order, including embeds, without web addresses.
    fn links(&self, _file: FileId) -> Vec<Arc<Link>> {
        Vec::new()
    }
    /// The embeds among them.
    fn embeds(&self, _file: FileId) -> Vec<Arc<Link>> {
        Vec::new()
    }
    /// Each file that links to this one, once, by path.
    fn backlinks(&self, _file: FileId) -> Vec<FileId> {
        Vec::new()
    }
    /// Whether a file links to another, embeds included.
    fn links_to(&self, file: FileId, to: FileId) -> bool {
        let leads = |link: &Arc<Link>| self.resolve(link.path(), link.from) == Some(to);
        self.links(file).iter().any(|link| !link.is_external && leads(link))
    }
    /// Resolves a linkpath from a file by Obsidian's rules, ignoring heading and block.
    fn resolve(&self, _linkpath: &str, _from: Option<FileId>) -> Option<FileId> {
        None
    }
    /// The file at exactly this path.
    fn at(&self, _path: &str) -> Option<FileId> {
        None
    }

    /// The text of a note after its frontmatter, for the extensions `file.text`, `file.words` and
    /// `file.headings`. `None` if it cannot be read as text.
    fn text(&self, _file: FileId) -> Option<Text> {
        None
    }

    /// The similarity in meaning of a note and a text, from 0 to 1; 0 for other files. For the
    /// extension `file.similarity`.
    ///
    /// # Errors
    /// Why similarity is not available, for the user.
    fn similarity(&self, _file: FileId, _text: &str) -> Result<f64, String> {
        Err("file.similarity() cannot be used here".to_owned())
    }
}

/// Whether the file at `path` is directly in `folder`.
pub fn is_directly_in(path: &str, folder: &str) -> bool {
    let name = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
    name.is_some_and(|name| !name.contains('/'))
}
