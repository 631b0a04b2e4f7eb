//! The vault as it will be after the planned items, for expressions to read.
//!
//! Files, links and backlinks are those of the vault, since links follow moves. Path, properties, tags and text of each
//! file with an item are replaced by their new values.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::content;
use super::plan::Item;
use crate::bases::Scope;
use crate::bases::date::Times;
use crate::bases::source::{Column, Hint, Source};
use crate::bases::typed::{Assigned, Typed};
use crate::bases::value::{FileId, Link, Object, Text, Value};
use crate::index::knowledge;
use crate::note::fold::fold_key;
use crate::note::path::VaultPath;
use crate::note::{markdown, tag};
use crate::vault::PropertyTypes;

#[derive(Debug, Clone, Default)]
struct NewValues {
    path: Option<Text>,
    properties: Option<Vec<(Text, Value)>>,
    tags: Option<Vec<Text>>,
    text: Option<Text>,
}

/// A requested property name, and its column in the vault below.
struct OverlayColumn {
    name: Text,
    key: String,
    below: Option<Column>,
}

/// The vault as it will be.
pub struct Overlay<'a> {
    below: &'a dyn Source,
    types: Arc<PropertyTypes>,
    times: Times<'a>,
    by_file: RefCell<HashMap<FileId, Arc<NewValues>>>,
    /// The only file shown in its future state; `None`: all are.
    only: Cell<Option<FileId>>,
    columns: RefCell<Vec<OverlayColumn>>,
    numbers: RefCell<HashMap<Text, Column>>,
}

impl<'a> Overlay<'a> {
    /// An overlay without any changes over the source of `scope`.
    pub fn new(scope: Scope<'a>, types: Arc<PropertyTypes>) -> Self {
        Self {
            below: scope.source,
            types,
            times: Times::new(scope.zone),
            by_file: RefCell::default(),
            only: Cell::new(None),
            columns: RefCell::default(),
            numbers: RefCell::default(),
        }
    }

    pub fn show_only(&self, file: Option<FileId>) {
        self.only.set(file);
    }

    /// Shows a file in its current state.
    pub fn forget(&self, file: FileId) {
        self.by_file.borrow_mut().remove(&file);
    }

    /// Shows a file as it will be after this item, at this path.
    pub fn set_item(&self, file: FileId, item: &Item, path: &VaultPath) {
        self.forget(file);
        let mut values = NewValues::default();
        if *path.as_str() != *self.below.path(file) {
            values.path = Some(path.shared());
        }
        if !item.prepend.is_empty() || !item.append.is_empty() {
            let with = Item {
                prepend: item.prepend.clone(),
                append: item.append.clone(),
                ..Item::default()
            };
            let old = self.below.text(file).unwrap_or_else(|| "".into());
            let new = content::changed(&with, path.name(), old.as_bytes(), u64::MAX).ok();
            values.text = new.and_then(|bytes| String::from_utf8(bytes).ok()).map(Text::from);
        }
        let tags = self.tags_after(file, item);
        if !item.set.is_empty() || !item.remove.is_empty() || tags.is_some() {
            values.properties = Some(self.properties_after(file, item));
        }
        values.tags = tags;
        self.by_file.borrow_mut().insert(file, Arc::new(values));
    }

    fn properties_after(&self, file: FileId, item: &Item) -> Vec<(Text, Value)> {
        let mut properties = self.below.properties(file).0.clone();
        let removed = |name: &str| item.remove.iter().any(|gone| fold_key(gone) == fold_key(name));
        properties.retain(|(name, _)| !removed(name));
        let mut put = |name: &str, value: Value| {
            let exact = properties.iter().position(|(own, _)| **own == *name);
            let alike = || properties.iter().position(|(own, _)| fold_key(own) == fold_key(name));
            match exact.or_else(alike) {
                Some(at) => properties[at].1 = value,
                None => properties.push((name.into(), value)),
            }
        };
        for (name, json) in &item.set {
            put(name, self.value(file, name, json));
        }
        if !item.tag.is_empty() || !item.untag.is_empty() {
            let own: Vec<String> = self.frontmatter_tags(file, item);
            let list: Vec<Value> = own.into_iter().map(Value::text).collect();
            put("tags", Value::List(list.into()));
        }
        properties
    }

    /// The future tags of the frontmatter.
    pub fn frontmatter_tags(&self, file: FileId, item: &Item) -> Vec<String> {
        let set = item.set.iter().find(|(name, _)| fold_key(name) == "tags").map(|(_, json)| json);
        let mut own: Vec<String> = match set {
            Some(json) => tag::of_property(json).into_iter().map(str::to_owned).collect(),
            None if item.remove.iter().any(|name| fold_key(name) == "tags") => Vec::new(),
            None => {
                let properties = self.below.properties(file);
                let tags = properties.0.iter().find(|(name, _)| name.eq_ignore_ascii_case("tags"));
                match tags.map(|(_, value)| value) {
                    Some(Value::Text(text)) => {
                        let json = serde_json::Value::String(text.to_string());
                        tag::of_property(&json).into_iter().map(str::to_owned).collect()
                    }
                    Some(Value::List(list)) => list
                        .iter()
                        .filter_map(|value| match value {
                            Value::Text(text) => Some(content::bare(text).to_owned()),
                            _ => None,
                        })
                        .collect(),
                    _ => Vec::new(),
                }
            }
        };
        let is = |a: &str, b: &str| tag::key(content::bare(a)) == tag::key(content::bare(b));
        own.retain(|tag| !item.untag.iter().any(|gone| is(gone, tag)));
        for new in &item.tag {
            if !own.iter().any(|tag| is(tag, new)) {
                own.push(content::bare(new).to_owned());
            }
        }
        own
    }

    fn tags_after(&self, file: FileId, item: &Item) -> Option<Vec<Text>> {
        let is_tags = |name: &String| fold_key(name) == "tags";
        let is_changed = !item.tag.is_empty()
            || !item.untag.is_empty()
            || item.set.keys().any(is_tags)
            || item.remove.iter().any(is_tags);
        if !is_changed {
            return None;
        }
        let mut tags: Vec<Text> =
            self.frontmatter_tags(file, item).into_iter().map(Text::from).collect();
        let text = self.below.text(file).unwrap_or_else(|| "".into());
        for found in markdown::read(&text).tags {
            let name = &text[found.name];
            if !tags.iter().any(|tag| tag::key(tag) == tag::key(name)) {
                tags.push(name.into());
            }
        }
        Some(tags)
    }

    fn value(&self, file: FileId, name: &str, json: &serde_json::Value) -> Value {
        let assigned = self.types.get(name).map(Assigned::named);
        let instant = |millis: i64| {
            let local = chrono::DateTime::from_timestamp_millis(millis).unwrap_or_default();
            self.times.millis(local.naive_utc())
        };
        Typed::of(json, assigned).value(file, &instant)
    }

    fn new_values(&self, file: FileId) -> Option<Arc<NewValues>> {
        if self.only.get().is_some_and(|only| only != file) {
            return None;
        }
        self.by_file.borrow().get(&file).cloned()
    }

    /// These files of the vault, plus those that the plan will create.
    fn with_created(&self, mut files: Vec<FileId>) -> Vec<FileId> {
        let by_file = self.by_file.borrow();
        if by_file.is_empty() {
            return files;
        }
        let known: HashSet<FileId> = files.iter().copied().collect();
        files.extend(by_file.keys().filter(|file| !known.contains(file)));
        files
    }
}

impl Source for Overlay<'_> {
    fn files(&self) -> Box<dyn Iterator<Item = FileId> + '_> {
        self.below.files()
    }

    fn narrow(&self, hint: &Hint) -> Option<Vec<FileId>> {
        self.below.narrow(hint).map(|files| self.with_created(files))
    }

    fn is_cancelled(&self) -> bool {
        self.below.is_cancelled()
    }

    fn path(&self, file: FileId) -> Text {
        let new_values = self.new_values(file).and_then(|new_values| new_values.path.clone());
        new_values.unwrap_or_else(|| self.below.path(file))
    }

    fn size(&self, file: FileId) -> u64 {
        self.below.size(file)
    }

    fn created(&self, file: FileId) -> i64 {
        self.below.created(file)
    }

    fn modified(&self, file: FileId) -> i64 {
        self.below.modified(file)
    }

    /// Every name has a column, since an item may add the property later.
    fn column(&self, name: &str) -> Option<Column> {
        if let Some(known) = self.numbers.borrow().get(name) {
            return Some(*known);
        }
        let mut columns = self.columns.borrow_mut();
        let column = Column(u32::try_from(columns.len()).ok()?);
        let name: Text = name.into();
        let below = self.below.column(&name);
        columns.push(OverlayColumn { key: fold_key(&name), name: Arc::clone(&name), below });
        self.numbers.borrow_mut().insert(name, column);
        Some(column)
    }

    fn property(&self, file: FileId, column: Column) -> Value {
        let columns = self.columns.borrow();
        let Some(columns) = columns.get(column.0 as usize) else { return Value::Null };
        let Some(new_values) = self.new_values(file) else {
            return columns.below.map_or(Value::Null, |column| self.below.property(file, column));
        };
        let Some(properties) = &new_values.properties else {
            return columns.below.map_or(Value::Null, |column| self.below.property(file, column));
        };
        let exact = properties.iter().find(|(name, _)| **name == *columns.name);
        let alike = || properties.iter().find(|(name, _)| fold_key(name) == columns.key);
        exact.or_else(alike).map_or(Value::Null, |(_, value)| value.clone())
    }

    fn properties(&self, file: FileId) -> Arc<Object> {
        match self.new_values(file).and_then(|new_values| new_values.properties.clone()) {
            Some(properties) => Arc::new(Object(properties)),
            None => self.below.properties(file),
        }
    }

    fn property_counts(&self) -> Vec<(Text, usize)> {
        self.below.property_counts()
    }

    fn tags(&self, file: FileId) -> Vec<Text> {
        let new_values = self.new_values(file).and_then(|new_values| new_values.tags.clone());
        new_values.unwrap_or_else(|| self.below.tags(file))
    }

    fn tag_names(&self) -> BTreeSet<Text> {
        self.below.tag_names()
    }

    fn has_tag(&self, file: FileId, wanted: &str) -> bool {
        let Some(tags) = self.new_values(file).and_then(|new_values| new_values.tags.clone())
        else {
            return self.below.has_tag(file, wanted);
        };
        let wanted = tag::key(wanted.strip_prefix('#').unwrap_or(wanted));
        let is_like = |own: &Text| {
            let own = tag::key(own);
            let below = own.strip_prefix(&*wanted);
            below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        !wanted.is_empty() && tags.iter().any(is_like)
    }

    fn links(&self, file: FileId) -> Vec<Arc<Link>> {
        self.below.links(file)
    }

    fn embeds(&self, file: FileId) -> Vec<Arc<Link>> {
        self.below.embeds(file)
    }

    fn backlinks(&self, file: FileId) -> Vec<FileId> {
        self.below.backlinks(file)
    }

    fn links_to(&self, file: FileId, to: FileId) -> bool {
        self.below.links_to(file, to)
    }

    fn resolve(&self, linkpath: &str, from: Option<FileId>) -> Option<FileId> {
        self.below.resolve(linkpath, from)
    }

    fn at(&self, path: &str) -> Option<FileId> {
        self.below.at(path)
    }

    fn text(&self, file: FileId) -> Option<Text> {
        let new_values = self.new_values(file).and_then(|new_values| new_values.text.clone());
        new_values.or_else(|| self.below.text(file))
    }

    fn similarity(&self, file: FileId, text: &str) -> Result<f64, String> {
        let as_it_is = self.below.similarity(file, text)?;
        let is_changed =
            |new_values: &Arc<NewValues>| new_values.path.is_some() || new_values.text.is_some();
        if !self.new_values(file).as_ref().is_some_and(is_changed) {
            return Ok(as_it_is);
        }
        let path = VaultPath::from_disk(&self.path(file)).filter(VaultPath::is_note);
        let own = path.and_then(|path| Some(knowledge::likeness(&path, &self.text(file)?, text)));
        Ok(own.unwrap_or(0.0))
    }
}
