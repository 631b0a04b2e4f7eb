//! Notes as resources: the newest ones.

use super::super::list_files::{Listed, listed, parse_glob};
use super::super::prelude::*;
use crate::vault::{EntryQuery, Kind, Order, Want};

/// The most listed notes: clients show them as a menu, and search finds the others.
const MAX_LISTED: usize = 200;

/// Notes in one answer.
const PAGE: usize = 50;

/// Lists the newest notes, fifty at a time.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListResources {
    /// The cursor of the previous answer.
    cursor: Option<String>,
}

/// Some of the newest notes.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The newest first.
    notes: Vec<Listed>,
    /// The cursor of the next page, if there are more.
    next: Option<String>,
}

impl Tool for ListResources {
    const NAME: &'static str = "resources/list";
    const TITLE: &'static str = "List resources";
    const TIER: Tier = Tier::Safe;
    const QUICK: bool = true;
    const EXAMPLE: &'static str = "{}";
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let skipped = match self.cursor.as_deref() {
            None => 0,
            Some(cursor) => place(cursor)?,
        };
        // Processes pending changes first.
        let root = context.find("", Want::Folder)?.path;
        let glob = parse_glob("**/*.md")?;
        let query = EntryQuery { folder: &root, glob: &glob, kind: Some(Kind::File) };
        let upto = skipped + PAGE;
        let (mut notes, total) = listed(context, &query, Order::Modified, upto);
        let next = (upto < total.min(MAX_LISTED)).then(|| upto.to_string());
        notes.drain(..skipped.min(notes.len()));
        notes.retain(Listed::is_file);
        Ok(Answer::new(String::new(), Output { notes, next }))
    }
}

/// The number of notes before the page at this cursor.
fn place(cursor: &str) -> Result<usize, ToolError> {
    let place = cursor.parse().ok().filter(|at| at % PAGE == 0 && *at < MAX_LISTED);
    place.ok_or_else(|| {
        let hint = "leave out `cursor` to start over";
        ToolError::invalid("there is no such cursor", hint)
    })
}
