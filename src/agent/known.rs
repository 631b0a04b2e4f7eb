//! Which text of each file a model knows: what it was shown in its conversation, and what it wrote
//! there itself.
//!
//! A change that rests on a text that is no more would take away what a person typed meanwhile, so the
//! [toolbox](super::toolbox) has it refused. What was learnt is kept with the result of each call, and
//! made again from it like the history itself. What is not known is only ever a reason to read again.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::turn::Called;
use crate::llm::{ToolArgs, ToolCall};
use crate::note::path::VaultPath;

/// What one call told a model of the text of a file. Paths are real ones; revisions are those that
/// tools give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "learnt", rename_all = "snake_case")]
pub enum Learnt {
    /// It was shown lines of it.
    Read {
        /// The file.
        path: String,
        /// The revision that they are of.
        revision: String,
        /// The first line, from 1.
        first: u64,
        /// The last line that it was shown, itself included; before the first where it was shown none.
        last: u64,
        /// Lines in the file.
        lines: u64,
    },
    /// It wrote all of it.
    Written {
        /// The file.
        path: String,
        /// The revision that it has now.
        revision: String,
    },
    /// It changed a part, and knows the rest as well as before.
    Edited {
        /// The file.
        path: String,
        /// The revision that it had.
        before: String,
        /// The revision that it has now.
        revision: String,
    },
    /// The file, or the folder with all that is in it, has another path.
    Moved {
        /// The one before.
        from: String,
        /// The one now.
        to: String,
    },
    /// There is nothing at this path any more.
    Gone {
        /// The path.
        path: String,
    },
}

/// What a model knows of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Text {
    revision: String,
    /// So many lines from the first on were shown to it, none left out; [`u64::MAX`] for all of them.
    shown: u64,
}

type Files = BTreeMap<String, Text>;

/// Which text of each file a model knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// What it knew when it gave its last answer, and what has come of that answer's own changes.
    now: Arc<Files>,
    /// With what the results of that answer's calls will have told it.
    next: Arc<Files>,
}

impl Known {
    /// Takes in what a call told. What was read counts from [`Self::told`] on: the calls that were
    /// asked for in the same answer know nothing of it.
    pub fn learn(&mut self, learnt: Learnt) {
        if !matches!(learnt, Learnt::Read { .. }) {
            take(Arc::make_mut(&mut self.now), learnt.clone());
        }
        take(Arc::make_mut(&mut self.next), learnt);
    }

    /// The model is told the results of all its calls.
    pub fn told(&mut self) {
        self.now = Arc::clone(&self.next);
    }

    /// The revision that it knows of a file, at least in parts.
    pub fn revision(&self, path: &str) -> Option<&str> {
        self.now.get(path).map(|text| text.revision.as_str())
    }

    /// The revision of which it knows all lines.
    pub fn whole(&self, path: &str) -> Option<&str> {
        let text = self.now.get(path).filter(|text| text.shown == u64::MAX);
        text.map(|text| text.revision.as_str())
    }
}

fn take(files: &mut Files, learnt: Learnt) {
    match learnt {
        Learnt::Read { path, revision, first, last, lines } => {
            let before = files.get(&path).filter(|text| text.revision == revision);
            let before = before.map_or(0, |text| text.shown);
            let shown = if first <= before.saturating_add(1) { before.max(last) } else { before };
            let shown = if shown >= lines { u64::MAX } else { shown };
            files.insert(path, Text { revision, shown });
        }
        Learnt::Written { path, revision } => {
            files.insert(path, Text { revision, shown: u64::MAX });
        }
        Learnt::Edited { path, before, revision } => {
            // Of what others wrote before it nothing was shown: that revision stays the one it knows.
            if let Some(text) = files.get_mut(&path)
                && text.revision == before
            {
                text.revision = revision;
                // Of pages the lines may have moved.
                text.shown = if text.shown == u64::MAX { u64::MAX } else { 0 };
            }
        }
        Learnt::Moved { from, to } => {
            let below = format!("{from}/");
            let is_moved = |path: &String| *path == from || path.starts_with(&below);
            let moved: Vec<String> = files.keys().filter(|path| is_moved(path)).cloned().collect();
            for path in moved {
                let text = files.remove(&path).expect("it was found just now");
                files.insert(format!("{to}{}", &path[from.len()..]), text);
            }
        }
        Learnt::Gone { path } => {
            let below = format!("{path}/");
            files.retain(|known, _| *known != path && !known.starts_with(&below));
        }
    }
}

/// What a call told of texts; `is_cut` where the model was not given all of the answer.
pub fn learnt(call: &ToolCall, called: &Called, is_cut: bool) -> Vec<Learnt> {
    match called.is_error {
        true => refused(call, &called.data).into_iter().collect(),
        false => done(&call.name, &called.data, is_cut).unwrap_or_default(),
    }
}

/// What tools of these names answer, as far as it is about texts.
fn done(tool: &str, data: &Value, is_cut: bool) -> Option<Vec<Learnt>> {
    let text = |key: &str| data[key].as_str().map(str::to_owned);
    let one = match tool {
        "read_file" => {
            let lines = data["total_lines"].as_u64()?;
            // Of a line that is cut the rest is not known.
            let cut = data["cut_lines"].as_array().and_then(|cut| cut.first()?.as_u64());
            let last = data["end_line"].as_u64()?;
            let last = cut.map_or(last, |cut| last.min(cut.saturating_sub(1)));
            let last = if is_cut { 0 } else { last };
            let first = data["start_line"].as_u64()?;
            Learnt::Read { path: text("path")?, revision: text("revision")?, first, last, lines }
        }
        "daily_note" => {
            let is_whole = data["truncated"] == false && data["content"].is_string() && !is_cut;
            let last = u64::from(is_whole);
            let (path, revision) = (text("path")?, text("revision")?);
            Learnt::Read { path, revision, first: 1, last, lines: 1 }
        }
        "write_file" => Learnt::Written { path: text("path")?, revision: text("revision")? },
        "edit_file" | "set_properties" => Learnt::Edited {
            path: text("path")?,
            before: text("previous_revision")?,
            revision: text("revision")?,
        },
        "move" if data["dry_run"] == false => {
            Learnt::Moved { from: text("source")?, to: text("destination")? }
        }
        "delete" => Learnt::Gone { path: text("path")? },
        "apply_patch" => {
            let files = data["files"].as_array()?.iter();
            return Some(files.filter_map(patched).collect());
        }
        _ => return None,
    };
    Some(vec![one])
}

/// What a patch did to a file. Of one that it changed the model knows no more than before: what it
/// knew is another revision, and has to be read again.
fn patched(file: &Value) -> Option<Learnt> {
    let path = file["path"].as_str()?.to_owned();
    match file["action"].as_str()? {
        "created" => {
            Some(Learnt::Written { path, revision: file["revision"].as_str()?.to_owned() })
        }
        "deleted" => Some(Learnt::Gone { path }),
        _ => None,
    }
}

/// What the refusal of a change says of the file: it is gone, or has another name.
fn refused(call: &ToolCall, error: &Value) -> Option<Learnt> {
    let ToolArgs::Object(arguments) = &call.args else { return None };
    if error["code"] != "stale_revision" {
        return None;
    }
    let path = VaultPath::parse(arguments.get("path")?.as_str()?, None).ok()?.as_str().to_owned();
    match (error["data"]["now"].as_str(), error["data"].get("revision")) {
        (Some(now), _) => Some(Learnt::Moved { from: path, to: now.to_owned() }),
        (None, Some(Value::Null)) => Some(Learnt::Gone { path }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(revision: &str, first: u64, last: u64, lines: u64) -> Learnt {
        let (path, revision) = ("a/n.md".to_owned(), revision.to_owned());
        Learnt::Read { path, revision, first, last, lines }
    }

    fn known(all: impl IntoIterator<Item = Learnt>) -> Known {
        let mut known = Known::default();
        for learnt in all {
            known.learn(learnt);
            known.told();
        }
        known
    }

    #[test]
    fn what_is_read_is_known_once_the_model_is_told() {
        let mut known = Known::default();
        known.learn(read("1", 1, 5, 5));
        assert_eq!(
            known.revision("a/n.md"),
            None,
            "the answer that asked for it knows nothing of it"
        );
        known.told();
        assert_eq!(known.whole("a/n.md"), Some("1"));
        let (path, before) = ("a/n.md".to_owned(), "1".to_owned());
        known.learn(Learnt::Edited { path, before, revision: "2".to_owned() });
        assert_eq!(known.whole("a/n.md"), Some("2"), "its own change is known at once");
    }

    #[test]
    fn a_file_is_known_whole_once_all_its_pages_were_shown_of_one_revision() {
        assert_eq!(known([read("1", 1, 5, 9)]).whole("a/n.md"), None);
        assert_eq!(known([read("1", 1, 5, 9)]).revision("a/n.md"), Some("1"));
        assert_eq!(known([read("1", 1, 5, 9), read("1", 6, 9, 9)]).whole("a/n.md"), Some("1"));
        assert_eq!(known([read("1", 1, 5, 9), read("1", 7, 9, 9)]).whole("a/n.md"), None, "a gap");
        assert_eq!(
            known([read("1", 1, 5, 9), read("2", 6, 9, 9)]).whole("a/n.md"),
            None,
            "changed"
        );
        assert_eq!(known([read("1", 0, 0, 0)]).whole("a/n.md"), Some("1"), "empty");
    }

    #[test]
    fn what_others_wrote_before_an_edit_stays_unknown() {
        let path = "a/n.md".to_owned();
        let edited = Learnt::Edited { path, before: "2".into(), revision: "3".into() };
        assert_eq!(known([read("1", 1, 5, 5), edited.clone()]).revision("a/n.md"), Some("1"));
        assert_eq!(known([edited]).revision("a/n.md"), None);
    }

    #[test]
    fn what_moves_is_known_under_its_new_path_and_what_goes_no_more() {
        let moved = Learnt::Moved { from: "a".into(), to: "b/c".into() };
        let there = known([read("1", 1, 5, 5), moved]);
        assert_eq!((there.revision("a/n.md"), there.revision("b/c/n.md")), (None, Some("1")));
        let other = Learnt::Moved { from: "a/n".into(), to: "b".into() };
        assert_eq!(known([read("1", 1, 5, 5), other]).revision("a/n.md"), Some("1"));
        let gone = Learnt::Gone { path: "a".into() };
        assert_eq!(known([read("1", 1, 5, 5), gone]).revision("a/n.md"), None);
    }

    #[test]
    fn a_refusal_tells_of_what_is_gone_or_has_another_name() {
        let args = ToolArgs::parse(&json!({"path": "./a//n.md"}).to_string());
        let call = ToolCall { id: "1".into(), name: "write_file".into(), args };
        let refused = |data: Value| {
            let data = json!({"code": "stale_revision", "data": data});
            learnt(&call, &Called { text: String::new(), data, is_error: true }, false)
        };
        assert_eq!(refused(json!({"revision": null})), [Learnt::Gone { path: "a/n.md".into() }]);
        let moved = Learnt::Moved { from: "a/n.md".into(), to: "b.md".into() };
        assert_eq!(refused(json!({"now": "b.md"})), [moved]);
        assert_eq!(refused(json!({"revision": "2"})), [], "it has to be read again");
    }

    #[test]
    fn a_line_that_is_cut_is_not_known() {
        let call =
            ToolCall { id: "1".into(), name: "read_file".into(), args: ToolArgs::parse("{}") };
        let data = json!({"path": "a/n.md", "revision": "1", "start_line": 1, "end_line": 3,
            "total_lines": 3, "cut_lines": [2]});
        let called = Called { text: String::new(), data, is_error: false };
        assert_eq!(learnt(&call, &called, false), [read("1", 1, 1, 3)]);
        assert_eq!(learnt(&call, &called, true), [read("1", 1, 0, 3)]);
    }
}
