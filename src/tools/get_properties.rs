//! `get_properties`

use serde_json::Value;

use super::prelude::*;
use super::text_file;
use crate::note::markdown;

/// Reads the properties (YAML frontmatter) of a note, in their order, with values as JSON. Invalid
/// YAML is reported.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetProperties {
    /// The note, from the vault's root: `Projects/Garden.md`, or just `projects/garden`.
    path: String,
}

/// Its properties.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The real path.
    path: String,
    /// The properties, in their order.
    properties: Vec<Named>,
    /// Whether the note has frontmatter.
    has_frontmatter: bool,
    /// Why the frontmatter cannot be read.
    fault: Option<String>,
    /// All tags of the note, including those in its text, each once.
    tags: Vec<String>,
    /// Identity of the file's bytes, for `expected_revision`.
    revision: String,
}

/// One property.
#[derive(Serialize, JsonSchema)]
pub struct Named {
    /// Its name.
    name: String,
    /// Its value; dates are texts.
    value: Value,
    /// Its line, from 1.
    line: usize,
}

impl Tool for GetProperties {
    const NAME: &'static str = "get_properties";
    const TITLE: &'static str = "Get a note's properties";
    const TIER: Tier = Tier::Safe;
    const SELDOM: bool = true;
    const QUICK: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: path);
    const EXAMPLE: &'static str = r#"{"path": "a.md"}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let file = text_file::read(context, &self.path)?;
        let text = file.text()?;
        let body = text.body();
        let document = markdown::read(body);
        let frontmatter = document.frontmatter.as_ref();
        let found = frontmatter.map(|found| &found.properties);
        let properties = found.and_then(|found| found.as_ref().ok());
        let line = |at: usize| body[..at].matches('\n').count() + 1;
        let mut tags: Vec<String> = Vec::new();
        let inline = document.tags.iter().map(|tag| &body[tag.name.clone()]);
        for tag in frontmatter.iter().flat_map(|found| found.tags()).chain(inline) {
            let key = crate::note::tag::key(tag);
            if !tags.iter().any(|known| crate::note::tag::key(known) == key) {
                tags.push(tag.to_owned());
            }
        }
        let data = Output {
            path: file.path.as_str().to_owned(),
            properties: properties
                .into_iter()
                .flatten()
                .map(|property| Named {
                    name: property.name.clone(),
                    value: property.value.clone(),
                    line: line(property.key.start),
                })
                .collect(),
            has_frontmatter: frontmatter.is_some(),
            fault: found.and_then(|found| found.as_ref().err()).map(ToString::to_string),
            tags,
            revision: file.content.revision.to_string(),
        };
        Ok(Answer::new(words(&data), data))
    }
}

fn words(found: &Output) -> String {
    let mut lines = vec![found.path.clone()];
    if let Some(fault) = &found.fault {
        lines.push(format!("its properties cannot be read: {fault}"));
    } else if found.properties.is_empty() {
        lines.push("it has no properties".to_owned());
    }
    lines.extend(found.properties.iter().map(|p| format!("{}: {}", p.name, p.value)));
    if !found.tags.is_empty() {
        lines.push(format!("tags: #{}", found.tags.join(" #")));
    }
    lines.join("\n")
}
