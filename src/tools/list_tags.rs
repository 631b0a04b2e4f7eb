//! `list_tags`

use super::graph;
use super::paging;
use super::prelude::*;
use crate::note::counted::counted;

/// Tags in one answer.
const MAX_TAGS: usize = 1_000;

/// Lists the tags in the text and properties of notes, most frequent first, with the number of
/// notes of each. A nested tag such as `garden/soil` also counts for `garden`. Case does not
/// matter; the first spelling found is shown.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListTags {
    /// Only tags of this note or of notes below this folder. Default: the whole vault.
    path: Option<String>,
    /// The first tag to show, from 1, to continue a list that was cut off.
    #[serde(default = "paging::default::<1>")]
    first_result: usize,
}

/// The tags.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The commonest first; at most 1,000.
    tags: Vec<Tag>,
    /// The number of all.
    total: usize,
    /// Files of the vault whose tags are not, or only partly, known.
    unknown_files: usize,
}

/// A tag.
#[derive(Serialize, JsonSchema)]
pub struct Tag {
    /// Without `#`.
    name: String,
    /// Notes that have it, or a tag nested in it.
    notes: usize,
    /// The number of its occurrences in them.
    uses: usize,
}

impl Tool for ListTags {
    const NAME: &'static str = "list_tags";
    const TITLE: &'static str = "List tags";
    const TIER: Tier = Tier::Safe;
    const KIND: ToolKind = ToolKind::Search;
    const HEAVY: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: path);
    const EXAMPLE: &'static str = "{}";
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let place = graph::place(context, self.path.as_deref())?;
        let links = graph::so_far(context)?;
        let found = links.tags(&place);
        let total = found.len();
        let skipped = paging::skipped(self.first_result);
        let tags: Vec<Tag> = found
            .into_iter()
            .skip(skipped)
            .take(MAX_TAGS)
            .map(|tag| Tag { name: tag.name, notes: tag.notes, uses: tag.uses })
            .collect();
        let (unknown_files, unknown) = graph::unknown(&links);
        let mut lines: Vec<String> = tags
            .iter()
            .map(|tag| format!("#{}  {}", tag.name, counted(tag.notes, "note")))
            .collect();
        lines.push(match total {
            0 => "no tags".to_owned(),
            _ => paging::summary(skipped, tags.len(), total, "or narrow it with path"),
        });
        lines.extend(unknown);
        let data = Output { tags, total, unknown_files };
        Ok(Answer::new(lines.join("\n"), data))
    }
}
