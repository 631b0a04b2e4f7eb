//! `get_links`

use std::collections::BTreeMap;

use super::base_lines::bases;
use super::graph;
use super::paging;
use super::prelude::*;
use crate::index::links::{Backlinks, ResolvedLink};
use crate::note::counted::counted;
use crate::note::path::VaultPath;
use crate::note::text::Text;
use crate::note::{base, markdown};
use crate::vault::Want;

/// Outgoing links in one answer.
const MAX_OUTGOING: usize = 500;

/// Files with backlinks in one answer.
const MAX_SOURCES: usize = 100;

/// Lines shown of each of them.
const MAX_LINES: usize = 5;

/// Other candidates named per link.
const MAX_OTHERS: usize = 3;

/// Characters shown of a line.
const MAX_CHARACTERS: usize = 240;

/// Lists the links of a note or other file with their targets, as Obsidian resolves them, including
/// broken ones, and the notes and canvases that link to it, with the lines of those links.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetLinks {
    /// The file, from the vault's root: `Projects/Garden.md`, or just `projects/garden`; or a
    /// note's name or alias.
    path: String,
    /// The first link and the first linking file to show, from 1, to continue a list that was cut
    /// off.
    #[serde(default = "paging::default::<1>")]
    first_result: usize,
}

/// The links of the file.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The real path.
    path: String,
    /// The links in it, in the order of the text; at most 500.
    outgoing: Vec<Outgoing>,
    /// The number of all.
    total_outgoing: usize,
    /// The missing targets of its links, each once.
    unresolved: Vec<String>,
    /// The files that link to it, by path; at most 100.
    backlinks: Vec<Source>,
    /// The number of linking files.
    total_backlinks: usize,
    /// Lines of bases that mention it by name.
    mentions: Vec<Mention>,
    /// Files of the vault whose links are not, or only partly, known.
    unknown_files: usize,
}

/// A link in the file.
#[derive(Serialize, JsonSchema)]
pub struct Outgoing {
    /// `wikilink`, `embed`, `Markdown link`, `Markdown image`, `canvas file` or `canvas card`.
    kind: &'static str,
    /// The linkpath, decoded; empty: the file itself.
    link: String,
    /// The heading or block in it, with its `#`; empty: none.
    subpath: String,
    /// Its line, from 1; in a canvas the number of the node, from 0.
    line: u32,
    /// The file it leads to; none if there is no such file.
    target: Option<String>,
    /// Other files it could mean: it is ambiguous.
    others: Vec<String>,
}

/// A file that links to it.
#[derive(Serialize, JsonSchema)]
pub struct Source {
    /// Its path.
    path: String,
    /// The number of its links.
    links: usize,
    /// The first five lines with such links.
    lines: Vec<SourceLine>,
}

/// A line with a link.
#[derive(Serialize, JsonSchema)]
pub struct SourceLine {
    /// Its number, from 1; in a canvas the number of the node, from 0.
    line: u32,
    /// Its text, cut where it is long; empty for canvases.
    text: String,
}

/// A line of a base.
#[derive(Serialize, JsonSchema)]
pub struct Mention {
    /// The base.
    path: String,
    /// The line, from 1.
    line: usize,
    /// Its text.
    text: String,
}

impl Tool for GetLinks {
    const NAME: &'static str = "get_links";
    const TITLE: &'static str = "Get a note's links and backlinks";
    const TIER: Tier = Tier::Safe;
    const HEAVY: bool = true;
    const TOUCHES: &'static [Touch] = touches!(Path: path);
    const EXAMPLE: &'static str = r#"{"path": "a.md"}"#;
    type Output = Output;

    fn run(self, context: &Context) -> Result<Answer<Output>, ToolError> {
        let path = context.find(&self.path, Want::File)?.path;
        let links = graph::so_far(context)?;
        let leads = links.outgoing(&path).unwrap_or_default();
        let found = links.backlinks(&path);
        let mut unresolved: Vec<String> = leads
            .iter()
            .filter(|lead| lead.resolution.target.is_none())
            .map(|lead| lead.link.path().to_string())
            .collect();
        unresolved.sort();
        unresolved.dedup();
        let subpaths = subpaths(context, &path);
        let total_outgoing = leads.len();
        let skipped = paging::skipped(self.first_result);
        let shown = leads.into_iter().skip(skipped).take(MAX_OUTGOING);
        let (unknown_files, unknown) = graph::unknown(&links);
        let data = Output {
            outgoing: shown.map(|lead| outgoing(lead, &subpaths)).collect(),
            total_outgoing,
            unresolved,
            total_backlinks: found.len(),
            backlinks: found
                .into_iter()
                .skip(skipped)
                .take(MAX_SOURCES)
                .map(|b| source(context, b))
                .collect(),
            mentions: mentions(context, &path),
            unknown_files,
            path: path.as_str().to_owned(),
        };
        let mut text = text(&data, skipped);
        text.extend(unknown.map(|more| format!("\n{more}")));
        Ok(Answer::new(text, data))
    }
}

/// The subpaths of the links in a note, by where each link begins.
fn subpaths(context: &Context, path: &VaultPath) -> BTreeMap<usize, String> {
    let content = context.vault.read(path).ok().filter(|_| path.is_note());
    let text = content.as_ref().and_then(|c| Text::decode(&c.bytes, path.name()).ok());
    let Some(text) = text else { return BTreeMap::new() };
    let document = markdown::read(text.body());
    let links = document.links.iter().filter(|link| link.subpath.is_some());
    links.map(|link| (link.range.start, link.subpath(text.body()).into_owned())).collect()
}

fn outgoing(lead: ResolvedLink, subpaths: &BTreeMap<usize, String>) -> Outgoing {
    let subpath = subpaths.get(&(lead.link.start as usize));
    Outgoing {
        kind: graph::word(&lead.link),
        subpath: subpath.cloned().unwrap_or_default(),
        line: lead.link.line,
        target: lead.resolution.target.map(|target| target.as_str().to_owned()),
        others: lead.resolution.others.iter().map(|o| o.as_str().to_owned()).collect(),
        link: lead.link.path().into(),
    }
}

fn source(context: &Context, found: Backlinks) -> Source {
    let content = context.vault.read(&found.source).ok().filter(|_| found.source.is_note());
    let text = content.as_ref().and_then(|c| Text::decode(&c.bytes, found.source.name()).ok());
    let mut lines: Vec<SourceLine> = Vec::new();
    for link in &found.links {
        if lines.len() == MAX_LINES {
            break;
        }
        if lines.last().is_some_and(|last| last.line == link.line) {
            continue;
        }
        let line = text.as_ref().and_then(|text| {
            let number = (link.line as usize).checked_sub(1)?;
            text.lines().nth(number).map(|line| cut_line(line.text.trim()))
        });
        // A canvas has nodes and no lines.
        let line = line.or_else(|| {
            let node = || cut_line(&format!("{} `{}`", graph::word(link), link.path()));
            (!found.source.is_note()).then(node)
        });
        lines.push(SourceLine { line: link.line, text: line.unwrap_or_default() });
    }
    Source { path: found.source.as_str().to_owned(), links: found.links.len(), lines }
}

fn cut_line(line: &str) -> String {
    match line.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// Lines of bases that name the file.
fn mentions(context: &Context, path: &VaultPath) -> Vec<Mention> {
    let mut mentions = Vec::new();
    for (file, content) in bases(&context.vault) {
        let Ok(text) = Text::decode(&content.bytes, file.name()) else { continue };
        mentions.extend(base::mentions(text.body(), path.as_str()).into_iter().take(20).map(
            |found| Mention {
                path: file.as_str().to_owned(),
                line: found.line,
                text: cut_line(&found.text),
            },
        ));
    }
    mentions
}

fn text(links: &Output, skipped: usize) -> String {
    let mut lines = vec![links.path.clone()];
    lines.push(format!("{} in it", counted(links.total_outgoing, "link")));
    for link in &links.outgoing {
        let leads = match (&link.target, link.others.len()) {
            (None, _) => "nothing: there is no such file".to_owned(),
            (Some(target), 0) => format!("{target}{}", link.subpath),
            (Some(target), others) => {
                let mut or = link.others[..others.min(MAX_OTHERS)].join(", ");
                if others > MAX_OTHERS {
                    or.push_str(&format!(" and {} more", others - MAX_OTHERS));
                }
                format!("{target}{} (or {or})", link.subpath)
            }
        };
        lines.push(format!("  {}: {} `{}` → {leads}", link.line, link.kind, link.link));
    }
    lines.extend(more(skipped, links.outgoing.len(), links.total_outgoing));
    lines.push(match links.total_backlinks {
        0 => "no file links to it".to_owned(),
        files => format!("linked from {}", counted(files, "file")),
    });
    for source in &links.backlinks {
        lines.push(format!("  {} ({})", source.path, counted(source.links, "link")));
        let node = if source.path.to_lowercase().ends_with(".canvas") { "node " } else { "" };
        for line in &source.lines {
            lines.push(format!("    {node}{}: {}", line.line, line.text));
        }
    }
    lines.extend(more(skipped, links.backlinks.len(), links.total_backlinks));
    for mention in &links.mentions {
        lines.push(format!("mentioned in {}:{}: {}", mention.path, mention.line, mention.text));
    }
    lines.join("\n")
}

/// How to see the entries not shown.
fn more(skipped: usize, shown: usize, total: usize) -> Option<String> {
    let to = skipped.saturating_add(shown);
    let rest = total.checked_sub(to).filter(|rest| *rest > 0)?;
    Some(format!("  [{rest} more; go on with first_result: {}]", to + 1))
}
