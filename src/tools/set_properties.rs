//! `set_properties`

use serde_json::{Map, Value};

use super::ReadUpdate;
use super::prelude::*;
use super::text_file::{self, TextFile, fits};
use crate::journal::Change;
use crate::note::frontmatter::edit::{self, PropertyChange, PropertyError};
use crate::note::{diff, markdown};
use crate::vault::Precondition;

/// Properties changed in one call.
const MAX_CHANGES: usize = 100;

/// Existing properties that an error about a missing one lists.
const MAX_NAMED: usize = 20;

/// Sets or removes properties of a note (YAML frontmatter), one or several at once. Finds an
/// existing property in any case, and keeps its place and spelling; appends a new one; creates the
/// frontmatter if there is none, and removes it with its last property. Every other byte of the
/// note stays, including comments, order and quotes. If a value is already set, nothing changes and
/// the answer says so. The answer shows a diff.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SetProperties {
    /// The note, from the vault's root: `Projects/Garden.md`, or just `projects/garden`.
    path: String,
    /// Names and their new values: a text, a number, `true` or `false` for a checkbox, `null` for
    /// an empty property, or a list of these. Dates are texts: `2026-11-21` or
    /// `2026-11-21T10:30:00`. A list replaces the whole list: read it first to add to it. `tags`,
    /// `aliases` and `cssclasses` are always lists; write tags without `#`, and a link as
    /// `[[Note]]`.
    #[serde(default)]
    set: Map<String, Value>,
    /// Names of properties to remove.
    #[serde(default)]
    remove: Vec<String>,
    /// The revision that was read; the change is refused if the note has changed since.
    expected_revision: Option<String>,
}

/// The result.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The real path.
    path: String,
    /// Properties that have a new value, as spelt in the note.
    set: Vec<String>,
    /// Properties that were removed.
    removed: Vec<String>,
    /// Properties that already had the value, or did not exist.
    unchanged: Vec<String>,
    /// The change as a unified diff; empty if nothing changed.
    diff: String,
    /// Identity of the new content.
    revision: String,
    /// Identity of the old content.
    previous_revision: String,
    /// The change set, for `undo`; none if nothing changed.
    change_set: Option<u64>,
}

impl Tool for SetProperties {
    const NAME: &'static str = "set_properties";
    const TITLE: &'static str = "Set a note's properties";
    const TIER: Tier = Tier::Cautious;
    const IDEMPOTENT: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: path);
    const EXAMPLE: &'static str = r#"{"path": "a.md", "set": {"x": 1}}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let changes = changes(&self)?;
        let file = text_file::read(context, &self.path)?;
        file.expect(self.expected_revision.as_deref())?;
        if !file.path.is_note() {
            let message = format!("`{}` is not a note: only notes have properties", file.path);
            return Err(ToolError::invalid(message, "give the path of a file that ends in `.md`"));
        }
        let text = file.editable()?;
        let edited =
            edit::apply(text.body(), &changes).map_err(|error| property_failure(&file, &error))?;
        let old = &file.content;
        let new = [text.lead(), edited.text.as_bytes()].concat();
        fits(&context.vault, &file.path, new.len())?;
        let mut data = Output {
            path: file.path.as_str().to_owned(),
            diff: diff::unified(&old.bytes, &new, file.path.as_str()),
            set: edited.set,
            removed: edited.removed,
            unchanged: edited.unchanged,
            revision: old.revision.to_string(),
            previous_revision: old.revision.to_string(),
            change_set: None,
        };
        if new != old.bytes {
            let applied = context.editor().apply(
                format!("set properties of `{}`", file.path),
                vec![Change::Write {
                    path: file.path.clone(),
                    content: new,
                    before: Precondition::Revision(old.revision),
                }],
            )?;
            let saved = applied.written();
            data.revision = saved.revision.to_string();
            data.change_set = Some(applied.change_set.0);
        }
        Ok(Answer::new(words(&data, &self.remove, text.body()), data))
    }

    fn read_updates(edited: &Output) -> Vec<ReadUpdate> {
        vec![ReadUpdate::Edited {
            path: edited.path.clone(),
            before: edited.previous_revision.clone(),
            revision: edited.revision.clone(),
        }]
    }
}

fn changes(input: &SetProperties) -> Result<Vec<PropertyChange>, ToolError> {
    let wrong = |message: String, hint: &str| Err(ToolError::invalid(message, hint));
    let number = input.set.len() + input.remove.len();
    if number == 0 {
        return wrong(
            "no property was given".to_owned(),
            "give `set` with names and values, or `remove` with names",
        );
    }
    if number > MAX_CHANGES {
        let message = format!("{number} properties are too many");
        return wrong(message, "change at most 100 in one call");
    }
    let key = crate::note::fold::fold_key;
    if let Some(name) = input.remove.iter().find(|n| input.set.keys().any(|s| key(s) == key(n))) {
        let message = format!("`{name}` is to be set and to be removed");
        return wrong(message, "name it in one of `set` and `remove`");
    }
    let removed =
        input.remove.iter().map(|name| PropertyChange { name: name.clone(), value: None });
    let set = input
        .set
        .iter()
        .map(|(name, value)| PropertyChange { name: name.clone(), value: Some(value.clone()) });
    // Additions precede removals: a block that loses all its old properties keeps its position.
    Ok(set.chain(removed).collect())
}

fn property_failure(file: &TextFile, error: &PropertyError) -> ToolError {
    let message = format!("the properties of `{}` stay as they are: {error}", file.path);
    ToolError::invalid(message, error.hint())
}

/// Describes the change of a note whose text was `body`; `remove` are the properties to be removed.
fn words(data: &Output, remove: &[String], body: &str) -> String {
    let list = |names: &[String]| names.join("`, `");
    let key = crate::note::fold::fold_key;
    let was_asked =
        |name: &String| remove.iter().any(|requested| key(requested.trim()) == key(name));
    let (absent, same): (Vec<String>, Vec<String>) =
        data.unchanged.iter().cloned().partition(was_asked);
    if data.change_set.is_none() {
        let mut why = Vec::new();
        if !same.is_empty() {
            why.push(format!("it already has `{}`", list(&same)));
        }
        if !absent.is_empty() {
            why.push(format!("it has no property `{}` to remove", list(&absent)));
            why.push(present_properties(body));
        }
        return format!("nothing to change in `{}`: {}", data.path, why.join("; "));
    }
    let mut done = Vec::new();
    for (what, names) in [
        ("set", &data.set),
        ("removed", &data.removed),
        ("unchanged", &same),
        ("not there to be removed:", &absent),
    ] {
        if !names.is_empty() {
            done.push(format!("{what} `{}`", list(names)));
        }
    }
    format!("`{}`: {}; revision {}\n{}", data.path, done.join(", "), data.revision, data.diff)
}

/// The properties of a note, for an error about a missing one.
fn present_properties(body: &str) -> String {
    let frontmatter = markdown::read(body).frontmatter;
    let properties = frontmatter.and_then(|found| found.properties.ok()).unwrap_or_default();
    let names: Vec<&str> = properties.iter().map(|property| property.name.as_str()).collect();
    match names.len() {
        0 => "it has none".to_owned(),
        all if all > MAX_NAMED => {
            format!("it has `{}` and {} more", names[..MAX_NAMED].join("`, `"), all - MAX_NAMED)
        }
        _ => format!("it has `{}`", names.join("`, `")),
    }
}
