//! Link updates in an answer.

use schemars::JsonSchema;
use serde::Serialize;

use crate::edits::Followed;
use crate::index::links::rewrite::{Rewrite, Stuck};
use crate::index::links::{Gap, Unknown};
use crate::note::counted::counted;
use crate::note::path::VaultPath;
use crate::vault::View;

/// Files and links named in an answer.
const MAX_NAMED: usize = 20;

/// Link updates in other files.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Relinked {
    /// Links rewritten so that they keep their targets.
    pub links: usize,
    /// The number of files with these links.
    pub files: usize,
    /// The first 20 of these files.
    pub rewritten: Vec<RelinkedFile>,
    /// The first 20 links that now lead elsewhere and could not be rewritten.
    pub not_rewritten: Vec<LeftLink>,
    /// The number of all of those.
    pub total_not_rewritten: usize,
    /// Files with unknown links, which may now lead elsewhere.
    pub unknown_files: usize,
    /// The first 20 of them.
    pub unknown: Vec<LeftLink>,
}

/// A file whose links were rewritten.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RelinkedFile {
    /// Its path, afterwards.
    pub path: String,
    /// The number of these links.
    pub links: usize,
    /// The first changed lines.
    pub lines: Vec<RelinkedLine>,
}

/// A line with rewritten links.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RelinkedLine {
    /// Its number, from 1.
    pub line: usize,
    /// Its text before, cut where it is long.
    pub before: String,
    /// Its text afterwards.
    pub after: String,
}

/// A link that could not be rewritten.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LeftLink {
    /// The file with the link.
    pub path: String,
    /// Its line, from 1, in a canvas the node's number, from 0; none if the file cannot be edited, or is
    /// not known.
    pub line: Option<usize>,
    /// The linkpath; empty if the file cannot be edited.
    pub link: String,
    /// Why.
    pub reason: String,
}

/// Why the links of a file are not known, as a sentence.
fn gap_reason(gap: Gap) -> &'static str {
    match gap {
        Gap::TooLarge => "it is too large to be read for links",
        Gap::NotText => "it is not text",
        Gap::NotCanvas => "it is not a canvas that can be read",
        Gap::Unreadable => "it cannot be read",
        Gap::Unlisted => "this folder cannot be listed, so its content is not known",
        Gap::TooMany => "it has more links than are kept",
    }
}

impl Relinked {
    /// The changed links in files that `view` shows.
    pub(super) fn of(view: &View, followed: &Followed) -> Self {
        let plan = &followed.plan;
        let now = |path: &VaultPath| followed.names.after(path).unwrap_or(path).as_str().to_owned();
        let file = |rewrite: &Rewrite| RelinkedFile {
            path: now(&rewrite.path),
            links: rewrite.links,
            lines: rewrite
                .lines
                .iter()
                .map(|line| RelinkedLine {
                    line: line.line,
                    before: line.before.clone(),
                    after: line.after.clone(),
                })
                .collect(),
        };
        let left = |stuck: &Stuck| LeftLink {
            path: now(&stuck.path),
            line: stuck.place,
            link: stuck.link.clone(),
            reason: stuck.reason.clone(),
        };
        let unknown = |unknown: &&Unknown| view.shows(&unknown.path);
        let unknown: Vec<&Unknown> = plan.unknown.iter().filter(unknown).collect();
        let may_hold = |unknown: &&Unknown| LeftLink {
            path: now(&unknown.path),
            line: None,
            link: unknown.link.clone(),
            reason: gap_reason(unknown.gap).to_owned(),
        };
        Self {
            links: plan.rewrites.iter().map(|rewrite| rewrite.links).sum(),
            files: plan.rewrites.len(),
            rewritten: plan.rewrites.iter().take(MAX_NAMED).map(file).collect(),
            not_rewritten: plan.stuck.iter().take(MAX_NAMED).map(left).collect(),
            total_not_rewritten: plan.stuck.len(),
            unknown_files: unknown.len(),
            unknown: unknown.iter().take(MAX_NAMED).map(may_hold).collect(),
        }
    }

    /// The lines about links for the answer; with changed lines if `shows`.
    pub fn text(&self, shows: bool) -> Vec<String> {
        let mut lines = Vec::new();
        if self.links > 0 {
            let verb = if shows { "would be rewritten" } else { "rewritten" };
            let (links, files) = (counted(self.links, "link"), counted(self.files, "file"));
            lines.push(format!("{links} in {files} {verb}:"));
        }
        for file in &self.rewritten {
            lines.push(format!("  {} ({})", file.path, counted(file.links, "link")));
            for line in file.lines.iter().filter(|_| shows) {
                lines.push(format!("    {}: - {}", line.line, line.before));
                lines.push(format!("    {}: + {}", line.line, line.after));
            }
        }
        if self.files > self.rewritten.len() {
            lines.push(format!("  [{} more]", self.files - self.rewritten.len()));
        }
        if self.total_not_rewritten > 0 {
            let what = if self.total_not_rewritten == 1 { "this" } else { "these" };
            lines.push(format!("[{what} could not be rewritten: {}]", self.total_not_rewritten));
        }
        lines.extend(self.not_rewritten.iter().map(LeftLink::text));
        if self.unknown_files > 0 {
            let verb = if self.unknown_files == 1 { "names" } else { "name" };
            let files = counted(self.unknown_files, "file");
            let may = "what moves, comes or goes, and cannot be searched for links";
            lines.push(format!("[{files} perhaps {verb} {may}; look there yourself:]"));
        }
        lines.extend(self.unknown.iter().map(LeftLink::text));
        lines
    }
}

impl LeftLink {
    fn text(&self) -> String {
        let line = self.line.map_or(String::new(), |line| format!(":{line}"));
        let link = if self.link.is_empty() { String::new() } else { format!(" `{}`", self.link) };
        format!("  {}{line}{link}: {}", self.path, self.reason)
    }
}
