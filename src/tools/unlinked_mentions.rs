//! `unlinked_mentions`

use super::mentions::{self, Direction};
use super::prelude::*;
use super::text_file::shown;
use super::{graph, paging};
use crate::note::counted::counted;
use crate::note::path::VaultPath;

const MAX_MENTIONS: usize = 200;

/// Lists places where the text of a note contains the name or an alias of another note without
/// linking to it: the names of this note in others, or names of others in this one. Whole words in
/// any case; not in code, properties, headings, links and addresses. `link_mentions` turns them
/// into links.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UnlinkedMentions {
    /// The note, from the vault's root, or its name.
    path: String,
    /// `to`: where other notes name this one; `from`: where this one names others.
    #[serde(default)]
    direction: Direction,
    /// Also places in notes that already link to the named note.
    #[serde(default)]
    also_linked: bool,
    /// Maximum number of places, up to 200.
    #[serde(default = "paging::default::<50>")]
    limit: usize,
    /// The first place to show, from 1, to continue a list.
    #[serde(default = "paging::default::<1>")]
    first_result: usize,
}

/// The places.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The note asked about.
    path: String,
    /// By the path of the note they are in, in the order of its text.
    mentions: Vec<MentionData>,
    /// The number of all places.
    total: usize,
    /// The number of notes that they are in.
    notes: usize,
    /// Files whose links are not, or only partly, known.
    unknown_files: usize,
}

/// A place.
#[derive(Serialize, JsonSchema)]
pub struct MentionData {
    /// The note it is in.
    path: String,
    /// Its line, from 1.
    line: usize,
    /// The name as written in the text.
    text: String,
    /// The note that is named.
    target: String,
    /// The text around it.
    snippet: String,
    /// The link that would replace it.
    link: String,
}

impl Tool for UnlinkedMentions {
    const NAME: &'static str = "unlinked_mentions";
    const TITLE: &'static str = "Find unlinked mentions";
    const TIER: Tier = Tier::Safe;
    const KIND: ToolKind = ToolKind::Search;
    const SELDOM: bool = true;
    const HEAVY: bool = true;
    const LONG_ANSWER: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: path);
    const EXAMPLE: &'static str = r#"{"path": "a.md"}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let limit = paging::within(1..=MAX_MENTIONS, "limit", self.limit)?;
        let skipped = paging::skipped(self.first_result);
        let note = mentions::note(context, &self.path)?;
        let links = graph::so_far(context)?;
        let (direction, linked) = (self.direction, self.also_linked);
        let everywhere = VaultPath::root();
        let found = mentions::gather(context, &links, &note, direction, &everywhere, &[], linked)?;
        let notes = found.len();
        let all = found.into_iter().flat_map(|(file, mentions)| {
            let path = file.path.as_str().to_owned();
            mentions.into_iter().map(move |mention| MentionData {
                path: path.clone(),
                line: mention.line,
                text: mention.phrase,
                target: mention.target.as_str().to_owned(),
                snippet: mention.snippet,
                link: mention.link,
            })
        });
        let mut mentions: Vec<MentionData> = all.collect();
        let total = mentions.len();
        mentions.drain(..skipped.min(total));
        mentions.truncate(limit);
        let (unknown_files, unknown) = graph::unknown(&links);
        let mut lines: Vec<String> = mentions.iter().map(line).collect();
        lines.push(match total {
            0 => "no unlinked mentions".to_owned(),
            _ => paging::summary(skipped, mentions.len(), total, "or raise limit"),
        });
        if total > 0 {
            lines.push(format!("[in {}; link_mentions links them]", counted(notes, "note")));
        }
        lines.extend(unknown);
        let path = note.as_str().to_owned();
        Ok(Answer::new(lines.join("\n"), Output { path, mentions, total, notes, unknown_files }))
    }
}

fn line(mention: &MentionData) -> String {
    let (path, target) = (shown(&mention.path), shown(&mention.target));
    format!("{path}:{} names {target}: {}", mention.line, mention.snippet)
}
