//! A vault in memory.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::super::date::Times;
use super::super::source::{Column, Hint, Source};
use super::super::value::{FileId, Link, Object, Text, Value, linkpath};

/// A note's content. A path that does not end in `.md` is an attachment.
#[derive(Debug, Clone)]
pub struct Note<'a> {
    pub path: &'a str,
    pub properties: Json,
    pub tags: &'a [&'a str],
    /// Linkpaths, with `|display`; embeds among them.
    pub links: &'a [&'a str],
    pub embeds: &'a [&'a str],
    pub text: &'a str,
    pub size: u64,
    pub created: i64,
    pub modified: i64,
}

impl<'a> Note<'a> {
    /// An empty note at this path, created and modified in 1970.
    pub fn at(path: &'a str) -> Self {
        Self {
            path,
            properties: Json::Null,
            tags: &[],
            links: &[],
            embeds: &[],
            text: "",
            size: 0,
            created: 0,
            modified: 0,
        }
    }
}

#[derive(Debug)]
struct Stored {
    path: Text,
    properties: Arc<Object>,
    tags: Vec<Text>,
    links: Vec<Arc<Link>>,
    embeds: Vec<Arc<Link>>,
    text: Text,
    size: u64,
    created: i64,
    modified: i64,
}

/// A source without an index.
#[derive(Debug, Default)]
pub struct Memory {
    files: Vec<Stored>,
    names: Vec<Text>,
    /// Predefined targets of linkpaths.
    pub resolutions: HashMap<String, Option<FileId>>,
    /// Whether it narrows files by hints.
    pub narrows: bool,
}

impl Memory {
    /// Adds a note. Its links are resolved on request.
    pub fn add(&mut self, note: Note<'_>) -> FileId {
        let id = FileId(self.files.len() as u32);
        let link = |text: &&str| {
            let mut link = Link::of_text(&format!("[[{text}]]"), Some(id));
            link.display = link.display.filter(|display| !display.is_empty());
            Arc::new(link)
        };
        let properties = match value_of(&note.properties, id) {
            Value::Object(object) => object,
            _ => Arc::default(),
        };
        for (name, _) in &properties.0 {
            if !self.names.contains(name) {
                self.names.push(name.clone());
            }
        }
        self.files.push(Stored {
            path: note.path.into(),
            properties,
            tags: note.tags.iter().map(|tag| (*tag).into()).collect(),
            links: note.links.iter().map(link).collect(),
            embeds: note.embeds.iter().map(link).collect(),
            text: note.text.into(),
            size: note.size,
            created: note.created,
            modified: note.modified,
        });
        id
    }

    fn file(&self, file: FileId) -> Option<&Stored> {
        self.files.get(file.0 as usize)
    }

    fn matches(&self, file: FileId, hint: &Hint) -> bool {
        let path = self.path(file);
        match hint {
            Hint::InFolder(folder) => super::super::functions::file::lies_in(&path, folder),
            Hint::HasTag(tag) => self.has_tag(file, tag),
            Hint::Extension(ext) => path.rsplit_once('.').is_some_and(|(_, own)| *own == **ext),
            Hint::All(hints) => hints.iter().all(|hint| self.matches(file, hint)),
            Hint::Any(hints) => hints.iter().any(|hint| self.matches(file, hint)),
        }
    }
}

/// A property's value: texts that are a date or one wikilink are converted.
pub fn value_of(json: &Json, from: FileId) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
        Json::String(text) if text.starts_with("[[") && text.ends_with("]]") => {
            Value::Link(Arc::new(Link::of_text(text, Some(from))))
        }
        Json::String(text) => {
            let is_date = matches!(text.len(), 10 | 16 | 19) && !text.contains(' ');
            let date = is_date.then(|| Times::new(&chrono::Utc).parse(text)).flatten();
            date.map_or_else(|| Value::text(text.as_str()), Value::Date)
        }
        Json::Array(list) => Value::List(list.iter().map(|json| value_of(json, from)).collect()),
        Json::Object(object) => {
            let entries =
                object.iter().map(|(key, json)| (key.as_str().into(), value_of(json, from)));
            Value::Object(Arc::new(Object(entries.collect())))
        }
    }
}

impl Source for Memory {
    fn files(&self) -> Box<dyn Iterator<Item = FileId> + '_> {
        Box::new((0..self.files.len() as u32).map(FileId))
    }

    fn narrow(&self, hint: &Hint) -> Option<Vec<FileId>> {
        self.narrows.then(|| self.files().filter(|file| self.matches(*file, hint)).collect())
    }

    fn path(&self, file: FileId) -> Text {
        self.file(file).map_or_else(|| "".into(), |file| file.path.clone())
    }

    fn size(&self, file: FileId) -> u64 {
        self.file(file).map_or(0, |file| file.size)
    }

    fn created(&self, file: FileId) -> i64 {
        self.file(file).map_or(0, |file| file.created)
    }

    fn modified(&self, file: FileId) -> i64 {
        self.file(file).map_or(0, |file| file.modified)
    }

    fn column(&self, name: &str) -> Option<Column> {
        let exact = self.names.iter().position(|known| **known == *name);
        let any_case = || self.names.iter().position(|known| known.eq_ignore_ascii_case(name));
        exact.or_else(any_case).map(|at| Column(at as u32))
    }

    fn property(&self, file: FileId, column: Column) -> Value {
        let name = self.names.get(column.0 as usize);
        let value = name.and_then(|name| self.file(file)?.properties.get(name).cloned());
        value.unwrap_or_default()
    }

    fn properties(&self, file: FileId) -> Arc<Object> {
        self.file(file).map(|file| file.properties.clone()).unwrap_or_default()
    }

    fn property_counts(&self) -> Vec<(Text, usize)> {
        self.names.iter().map(|name| (name.clone(), 1)).collect()
    }

    fn tags(&self, file: FileId) -> Vec<Text> {
        self.file(file).map(|file| file.tags.clone()).unwrap_or_default()
    }

    fn has_tag(&self, file: FileId, tag: &str) -> bool {
        let tag = tag.trim_start_matches('#').to_lowercase();
        let is_it = |own: &Text| {
            let own = own.to_lowercase();
            own.strip_prefix(&tag).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.tags(file).iter().any(is_it)
    }

    fn links(&self, file: FileId) -> Vec<Arc<Link>> {
        self.file(file).map(|file| file.links.clone()).unwrap_or_default()
    }

    fn embeds(&self, file: FileId) -> Vec<Arc<Link>> {
        self.file(file).map(|file| file.embeds.clone()).unwrap_or_default()
    }

    fn backlinks(&self, file: FileId) -> Vec<FileId> {
        let mut from: Vec<_> = self.files().filter(|other| self.links_to(*other, file)).collect();
        from.sort_by_key(|other| (self.created(*other), self.path(*other)));
        from
    }

    /// By path or name, ignoring case; the first match.
    fn resolve(&self, path: &str, _: Option<FileId>) -> Option<FileId> {
        if let Some(known) = self.resolutions.get(path) {
            return *known;
        }
        let wanted = linkpath(path).to_lowercase();
        let fits = |file: &FileId| {
            let own = self.path(*file).to_lowercase();
            let bare = own.strip_suffix(".md").unwrap_or(&own);
            [own.as_str(), bare].into_iter().any(|own| {
                own.strip_suffix(&wanted).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
            })
        };
        (!wanted.is_empty()).then(|| self.files().find(fits)).flatten()
    }

    fn at(&self, path: &str) -> Option<FileId> {
        self.files().find(|file| *self.path(*file) == *path)
    }

    fn text(&self, file: FileId) -> Option<Text> {
        self.file(file).map(|file| file.text.clone())
    }
}
