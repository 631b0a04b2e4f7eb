//! The operations that are interrupted: each kind of change once, on a small vault.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use vault_steward::edits::{Editor, ReadOnly};
use vault_steward::journal::{Change, Journal, Query, Settings, Target};
use vault_steward::note::path::VaultPath;
use vault_steward::store::Store;
use vault_steward::tools::Context;
use vault_steward::vault::{self, Vault, hidden_name};

use crate::operation::{Operation, Patched, perform};
use crate::place::Place;
use crate::tree::{self, Entry, Tree};
use crate::vault::{JournalAlone as _, TrashAlone as _, is_sound};

/// One kind of change.
pub struct Case {
    pub name: &'static str,
    /// Obsidian's setting for deletions.
    pub trash: &'static str,
    /// Whether it starts with the very first start, which creates the journal.
    pub first: bool,
    /// The undisturbed steps before.
    pub earlier: fn() -> Vec<Step>,
    /// The interrupted steps.
    pub act: fn() -> Vec<Step>,
    /// Texts of further notes afterwards: the path, and a part of the text.
    pub also: &'static [(&'static str, &'static str)],
}

/// One step of a case.
pub enum Step {
    Do(Operation),
    /// Moves in one change set, with the links that follow: from, to.
    Together(Vec<(&'static str, &'static str)>),
    /// The same for two notes that exchange paths.
    Swap(&'static str, &'static str),
    /// Undoes the last change set.
    Undo,
    /// Restores the last deletion.
    Restore,
    /// Deletes everything beyond the limits, with limits of zero.
    Gc,
}

/// The vault of all cases: links between the notes, tags, one note with two names.
const NOTES: &[(&str, &str)] = &[
    ("Home.md", "# Home\n[[Garden]] and [[Plans/Trip|a trip]]\n"),
    ("Garden.md", "# Garden\nroses\ntulips #plants\n![[Plans/Map.canvas]]\n"),
    ("Plans/Trip.md", "# Trip\n[there](../Garden.md)\n[[Budget#Total]]\n"),
    ("Plans/Budget.md", "# Total\n12 #plants/costs\n[[Trip]]\n"),
    ("Plans/Map.canvas", "{\"nodes\":[{\"id\":\"1\",\"type\":\"file\",\"file\":\"Garden.md\"}]}\n"),
    ("Log.md", "one\ntwo\nthree\n"),
    ("Twin.md", "one text\nof two names\n"),
];

/// Every case.
pub const CASES: &[Case] = &[
    case("write a new note", nothing, || vec![write("New.md", "new\n")]),
    case("write a new note in new folders", nothing, || vec![write("A/B/New.md", "new\n")]),
    case("write over a note", nothing, || vec![write("Log.md", "another text\n")]),
    case("write over a note with two names", nothing, || vec![write("Twin.md", "another text\n")]),
    case("edit a note", nothing, || vec![edit("Garden.md", "roses", "lilies")]),
    case("patch five files", nothing, || vec![patch()]),
    Case {
        also: &[("Home.md", "Yard"), ("Plans/Trip.md", "Yard"), ("Plans/Map.canvas", "Yard")],
        ..case("move a note that others link to", nothing, || {
            vec![relocate("Garden.md", "Places/Yard.md")]
        })
    },
    Case {
        also: &[("Home.md", "[[Trip|a trip]]"), ("Garden.md", "[[Map.canvas]]")],
        ..case("move a folder that others link to", nothing, || {
            vec![relocate("Plans", "Old/Ideas")]
        })
    },
    Case {
        also: &[("Places/Own.md", "(Plans/Near.md)")],
        ..case(
            "move a note with a link of its own",
            || {
                let own = write("Plans/Own.md", "[n](./Near.md)\n");
                vec![write("Near.md", "far\n"), write("Plans/Near.md", "near\n"), own]
            },
            || vec![relocate("Plans/Own.md", "Places/Own.md")],
        )
    },
    Case {
        also: &[("Plans/Trip.md", "# Garden"), ("Garden.md", "# Trip"), ("Home.md", "a trip")],
        ..case("two notes change places", nothing, || vec![swap()])
    },
    Case {
        also: &[("Plans/Trip.md", "# Total"), ("Garden.md", "# Trip"), ("Old/Yard.md", "# Garden")],
        ..case("a chain of notes moves up", nothing, || vec![chain()])
    },
    case("undo that two notes changed places", || vec![swap()], || vec![Step::Undo]),
    case("undo a chain of moves", || vec![chain()], || vec![Step::Undo]),
    case("change the case of a name", nothing, || vec![relocate("Home.md", "home.md")]),
    case("delete a note", nothing, || vec![delete("Log.md")]),
    case("delete a folder", nothing, || vec![delete("Plans")]),
    case(
        "delete a note whose name is in the trash",
        || vec![delete("Log.md"), write("Log.md", "2\n")],
        || vec![delete("Log.md")],
    ),
    Case { trash: "none", ..case("delete a note, kept", nothing, || vec![delete("Log.md")]) },
    Case { trash: "none", ..case("delete a folder, kept", nothing, || vec![delete("Plans")]) },
    Case {
        trash: "system",
        ..case("delete a note, system's trash", nothing, || vec![delete("Log.md")])
    },
    Case {
        trash: "system",
        ..case("delete a folder, system's trash", nothing, || vec![delete("Plans")])
    },
    Case {
        also: &[("Plans/Trip.md", "[[Plans/Budget#Total")],
        ..case("write a new note whose name is taken", nothing, || {
            vec![write("Budget.md", "other\n")]
        })
    },
    Case {
        also: &[("Garden.md", "status: done")],
        ..case("set properties", nothing, || vec![properties()])
    },
    Case {
        also: &[("Garden.md", "#garden"), ("Plans/Budget.md", "#garden/costs")],
        ..case("rename a tag in several notes", nothing, || vec![tag()])
    },
    Case {
        also: &[("2026-11-21.md", "watered")],
        ..case("make a daily note", nothing, || vec![daily()])
    },
    Case {
        also: &[("2026-11-21.md", "roses\nwatered")],
        ..case("add to a daily note", || vec![daily()], || vec![daily()])
    },
    Case {
        first: true,
        ..case("write over a note at the first start", nothing, || vec![write("Log.md", "2\n")])
    },
    case("create a folder", nothing, || vec![folder("New")]),
    case("create folders", nothing, || vec![folder("New/Deep/Deeper")]),
    case("undo a new note", || vec![write("A/B/New.md", "new\n")], || vec![Step::Undo]),
    case("undo an edit", || vec![edit("Garden.md", "roses", "lilies")], || vec![Step::Undo]),
    case("undo a write in place", || vec![write("Twin.md", "other\n")], || vec![Step::Undo]),
    case("undo a patch", || vec![patch()], || vec![Step::Undo]),
    case(
        "undo the move of a note",
        || vec![relocate("Garden.md", "Places/Yard.md")],
        || vec![Step::Undo],
    ),
    case("undo the move of a folder", || vec![relocate("Plans", "Old/Ideas")], || vec![Step::Undo]),
    case(
        "undo a new note whose name was taken",
        || vec![write("Budget.md", "other\n")],
        || vec![Step::Undo],
    ),
    case("undo new properties", || vec![properties()], || vec![Step::Undo]),
    case("undo the new name of a tag", || vec![tag()], || vec![Step::Undo]),
    case("undo a deletion", || vec![delete("Log.md")], || vec![Step::Undo]),
    case("undo the deletion of a folder", || vec![delete("Plans")], || vec![Step::Undo]),
    Case {
        trash: "none",
        ..case("undo a deletion, kept", || vec![delete("Plans")], || vec![Step::Undo])
    },
    case("undo new folders", || vec![folder("New/Deep")], || vec![Step::Undo]),
    case("undo the undo of a patch", || vec![patch(), Step::Undo], || vec![Step::Undo]),
    case("restore a folder", || vec![delete("Plans")], || vec![Step::Restore]),
    case(
        "restore with its name taken",
        || vec![delete("Log.md"), write("Log.md", "2\n")],
        || vec![Step::Restore],
    ),
    case(
        "let go of old versions",
        || vec![patch(), edit("Log.md", "four", "4"), delete("Log.md")],
        || vec![Step::Gc],
    ),
];

const fn case(name: &'static str, earlier: fn() -> Vec<Step>, act: fn() -> Vec<Step>) -> Case {
    Case { name, trash: "local", first: false, earlier, act, also: &[] }
}

fn nothing() -> Vec<Step> {
    Vec::new()
}

fn write(path: &str, text: &str) -> Step {
    Step::Do(Operation::Write { path: path.into(), text: text.into() })
}

fn edit(path: &str, old: &str, new: &str) -> Step {
    Step::Do(Operation::Edit { path: path.into(), old: old.into(), new: new.into() })
}

fn relocate(from: &str, to: &str) -> Step {
    Step::Do(Operation::Move { from: from.into(), to: to.into() })
}

fn swap() -> Step {
    Step::Swap("Garden.md", "Plans/Trip.md")
}

fn chain() -> Step {
    Step::Together(vec![
        ("Garden.md", "Old/Yard.md"),
        ("Plans/Trip.md", "Garden.md"),
        ("Plans/Budget.md", "Plans/Trip.md"),
    ])
}

fn delete(path: &str) -> Step {
    Step::Do(Operation::Delete { path: path.into() })
}

fn folder(path: &str) -> Step {
    Step::Do(Operation::CreateFolder { path: path.into() })
}

fn tool(name: &'static str, arguments: Value) -> Step {
    Step::Do(Operation::Tool { name, arguments })
}

fn properties() -> Step {
    let set = json!({ "status": "done", "tags": ["plants", "home"] });
    tool("set_properties", json!({ "path": "Garden.md", "set": set }))
}

fn tag() -> Step {
    tool("rename_tag", json!({ "from": "plants", "to": "garden" }))
}

fn daily() -> Step {
    tool("daily_note", json!({ "date": "2026-11-21", "append": "watered the roses\n" }))
}

fn patch() -> Step {
    let there = |path: &str| {
        let note = NOTES.iter().find(|(name, _)| *name == path);
        note.map(|(_, text)| (*text).to_owned())
    };
    let patched = |path: &str, after: Option<&str>| Patched {
        path: path.into(),
        before: there(path),
        after: after.map(str::to_owned),
    };
    Step::Do(Operation::Patch(vec![
        patched("Log.md", Some("one\ntwo\nfour\n")),
        patched("Added/First.md", Some("first\n")),
        patched("Plans/Budget.md", None),
        patched("Garden.md", Some("# Garden\nnothing left\n")),
        patched("Twin.md", Some("both\n")),
    ]))
}

impl Case {
    /// Creates the vault below `folder` and runs the preparatory steps.
    pub fn prepare(&self, folder: &Path) -> Place {
        let place = if self.first { Place::below(folder) } else { Place::begun_below(folder) };
        let settings = format!(r#"{{"trashOption":"{}","alwaysUpdateLinks":true}}"#, self.trash);
        fs::write(place.vault.join(".obsidian/app.json"), settings).expect("written");
        for (path, text) in NOTES {
            let file = place.vault.join(path);
            fs::create_dir_all(file.parent().expect("below the vault")).expect("made");
            fs::write(file, text).expect("written");
        }
        fs::create_dir(place.home()).expect("made");
        fs::hard_link(place.vault.join("Twin.md"), place.home().join("Twin.md")).expect("linked");
        let earlier = (self.earlier)();
        if !earlier.is_empty() {
            let context = place.open().expect("a sound vault opens");
            earlier.iter().for_each(|step| step.run(&context).expect("nothing disturbs it"));
            context.vault.stop();
        }
        place
    }
}

impl Step {
    /// Runs the step.
    ///
    /// # Errors
    ///
    /// The product's error.
    pub fn run(&self, context: &Context) -> Result<(), String> {
        match self {
            Self::Do(operation) => {
                perform(context, operation).map(drop).map_err(|error| error.text())
            }
            Self::Together(moves) => {
                let path = |text: &str| VaultPath::from_disk(text).expect("a path");
                let change = |(from, to): &(&str, &str)| (path(from), path(to));
                together(context, moves.iter().map(change).collect())
            }
            Self::Swap(one, other) => {
                let [one, other] =
                    [one, other].map(|text| VaultPath::from_disk(text).expect("a path"));
                let hidden = hidden_name(&one);
                let first = (one.clone(), hidden.clone());
                together(context, vec![first, (other.clone(), one), (hidden, other)])
            }
            Self::Undo => undo_last(context),
            Self::Restore => {
                let items = context.journal.trash().list().map_err(|error| error.to_string())?;
                let last = items.iter().max_by_key(|item| item.deleted).ok_or("no trash")?;
                let restored = context.journal.trash().restore(&last.id, None, &context.origin);
                restored.map(drop).map_err(|error| error.to_string())
            }
            Self::Gc => {
                let state = context.vault.recovery_folder();
                let state = state.parent().expect("it lies in the state folder");
                let nothing = Settings { versions: 0, days: 0, ..Settings::default() };
                let place = context.vault.root();
                let opened = Vault::open(place, state, vault::Settings::default(), &|_| ());
                let (_, writer) = opened.map_err(|error| error.to_string())?;
                let journal = Journal::open(writer, Store::at(state), nothing);
                journal.texts().gc(false).map(drop).map_err(|error| error.to_string())
            }
        }
    }
}

/// Moves these in one change set, with the links that follow.
fn together(context: &Context, moves: Vec<(VaultPath, VaultPath)>) -> Result<(), String> {
    let editor = Editor {
        vault: &context.vault,
        journal: &context.journal,
        index: &context.index,
        gate: None,
        origin: &context.origin,
        cancel: &context.cancel,
        whole: None,
        progress: &(),
    };
    let changes = moves.into_iter().map(|(from, to)| Change::Move { from, to }).collect();
    let applied = editor.apply_with_links("moves".to_owned(), changes, ReadOnly::Refuse);
    applied.map(drop).map_err(|error| error.to_string())
}

/// Undoes the newest change set.
///
/// # Errors
///
/// The product's error, or that there is none.
pub fn undo_last(context: &Context) -> Result<(), String> {
    let newest = Query { limit: 1, ..Query::default() };
    let sets = context.journal.history().change_sets(&newest).map_err(|error| error.to_string())?;
    let newest = Target::Set(sets.first().ok_or("nothing was recorded")?.id);
    let undone = context.journal.undo(newest, false, &context.origin);
    undone.map(drop).map_err(|error| error.to_string())
}

/// The state that a vault must be in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Must {
    Before,
    After,
    Either,
    /// A part of it is done: files that cannot be examined are omitted, and the answer says so.
    NotBefore,
}

/// The trees of a vault before and after an uninterrupted run.
pub struct Both {
    before: Tree,
    after: Tree,
    /// Whether files that the system's trash refuses may be in the vault's own.
    either_trash: bool,
    /// Whether the operation is a change set, which can be undone.
    undoable: bool,
}

impl Both {
    pub fn new(case: &Case, before: Tree, after: Tree) -> Self {
        for (path, part) in case.also {
            let Some(Entry::File(bytes)) = after.get(*path) else {
                panic!("{}: `{path}` is not there", case.name);
            };
            let text = String::from_utf8_lossy(bytes);
            assert!(text.contains(part), "{}: `{path}` holds {text:?}", case.name);
        }
        let undoable = (case.act)().iter().any(|step| !matches!(step, Step::Gc));
        Self { before, after, either_trash: case.trash == "system", undoable }
    }

    /// Recovers the vault at `place` and checks everything; returns whether the operation took
    /// effect.
    ///
    /// # Errors
    ///
    /// The violated expectation.
    pub fn settle(&self, place: &Place, must: Must) -> Result<bool, String> {
        let context = place.open().map_err(|error| format!("recovery: {error}"))?;
        let found = tree::read(&place.vault);
        let settled = self.look(place, &context, &found, must);
        context.vault.stop();
        settled
    }

    fn look(
        &self,
        place: &Place,
        context: &Context,
        found: &Tree,
        must: Must,
    ) -> Result<bool, String> {
        let (is_before, is_after) = (self.same(&self.before, found), self.same(&self.after, found));
        let fits = match must {
            Must::Before => is_before,
            Must::After => is_after,
            Must::Either => is_before || is_after,
            Must::NotBefore => is_after || !is_before,
        };
        if !fits {
            return Err(format!(
                "the vault has to be as {must:?}; what differs from before: {}; from after: {}",
                tree::difference(&self.before, found),
                tree::difference(&self.after, found)
            ));
        }
        self.texts_kept(place, found)?;
        let verified =
            context.journal.texts().verify().map_err(|error| format!("verify: {error}"))?;
        if !is_sound(&verified) {
            return Err(format!("the journal is not sound: {verified:?}"));
        }
        if !is_before && self.undoable {
            undo_last(context).map_err(|error| format!("undo afterwards: {error}"))?;
            let undone = tree::read(&place.vault);
            if tree::outside_trash(&undone) != tree::outside_trash(&self.before) {
                let difference = tree::difference(&self.before, &undone);
                return Err(format!("undone, it is not as before: {difference}"));
            }
        }
        Ok(is_after)
    }

    fn same(&self, one: &Tree, other: &Tree) -> bool {
        if self.either_trash {
            tree::outside_trash(one) == tree::outside_trash(other)
        } else {
            tree::without_empty_trash(one) == tree::without_empty_trash(other)
        }
    }

    /// Every earlier text still exists somewhere.
    fn texts_kept(&self, place: &Place, found: &Tree) -> Result<(), String> {
        let mut kept: Vec<Vec<u8>> = texts(found).cloned().collect();
        for folder in [place.state.join("recovery"), place.state.join("kept"), place.home()] {
            if folder.is_dir() {
                kept.extend(texts(&tree::read(&folder)).cloned());
            }
        }
        for (path, entry) in &self.before {
            if let Entry::File(text) = entry
                && !kept.contains(text)
                && !place.is_in_journal(text)
            {
                return Err(format!("the text of `{path}` is nowhere any more"));
            }
        }
        Ok(())
    }
}

fn texts(tree: &Tree) -> impl Iterator<Item = &Vec<u8>> {
    tree.values().filter_map(|entry| match entry {
        Entry::File(text) => Some(text),
        Entry::Folder => None,
    })
}
