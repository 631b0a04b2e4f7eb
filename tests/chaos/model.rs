//! The whole product against a model of a vault in memory: ten thousand sequences of fifty
//! operations, including those of other programs. After each operation the two have the same
//! content, byte for byte.
//!
//! The model derives from the manual alone what each call must do: which files exist afterwards, or
//! that it is refused and nothing changes. It knows no journal, no links, no catalogue.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use vault_steward::journal::{ChangeSetId, Target};
use vault_steward::tools::Context;

use crate::operation::{Operation, Outside, Patched, perform, perform_outside};
use crate::place::{self, Place};
use crate::random::{self, Random};
use crate::report::{self, Line, Tally};
use crate::tree::{self, Entry, Tree};
use crate::vault::{JournalAlone as _, TrashAlone as _, is_sound};

const SEQUENCES: u64 = 10_000;
const OPERATIONS: usize = 50;

/// Names of notes and folders: few, so that they collide. No note has the name of a folder.
const NOTES: &[&str] = &["one.md", "Two.md", "Über.md", "four five.md", "board.canvas"];
const FOLDERS: &[&str] = &["a", "B", "c d"];

pub fn run() -> Vec<Line> {
    let tally = Tally::new(format!("sequences of {OPERATIONS} operations, model"), SEQUENCES);
    let first = random::seed();
    report::each(tally.wanted(), &tally, |number| {
        let seed = first.wrapping_add(number);
        match sequence(seed) {
            Ok(()) => tally.count(1),
            Err(fault) => tally.bad(fault),
        }
    });
    vec![tally.line(format!("seeds from {first}"))]
}

/// One sequence. A failure is reported with its seed and the shortest failing run of operations.
fn sequence(seed: u64) -> Result<(), String> {
    let mut random = Random::new(seed);
    let mut done = Vec::new();
    let folder = place::folder_in_memory();
    let mut world = World::new(folder.path())?;
    for _ in 0..OPERATIONS {
        let operation = match random.below(20) {
            // Mostly the last one: then nothing has changed since.
            0 | 1 => Operation::Undo { back: 0 },
            2 => Operation::Undo { back: random.below(6) },
            3 => Operation::Restore { which: random.below(1_000) },
            4 if random.once_in(4) => Operation::Restart,
            _ => world.model.choose(&mut random),
        };
        done.push(operation.clone());
        if let Err(fault) = world.step(&operation) {
            let (shortest, fault) = shorten(done, fault);
            return Err(format!("seed {seed}: {fault}; the shortest way there: {shortest:?}"));
        }
    }
    world.end().map_err(|fault| format!("seed {seed}: {fault}"))
}

/// Removes operations one by one as long as the rest still fails; returns the fault of the
/// shortened sequence, which may differ from the first one.
fn shorten(mut operations: Vec<Operation>, mut fault: String) -> (Vec<Operation>, String) {
    let mut at = operations.len();
    while at > 0 {
        at -= 1;
        let mut fewer = operations.clone();
        fewer.remove(at);
        if let Some(other) = fault_of(&fewer) {
            (operations, fault) = (fewer, other);
        }
    }
    (operations, fault)
}

fn fault_of(operations: &[Operation]) -> Option<String> {
    let folder = place::folder_in_memory();
    let mut world = World::new(folder.path()).expect("a fresh vault opens");
    for operation in operations {
        // Without the operations left out, the other program's change may be impossible.
        if let Operation::Outside(outside) = operation
            && world.model.after_outside(outside).is_none()
        {
            return None;
        }
        if let Err(fault) = world.step(operation) {
            return Some(fault);
        }
    }
    None
}

/// A vault, and its expected content.
struct World {
    place: Place,
    context: Context,
    model: Model,
    /// The change sets so far.
    sets: Vec<Recorded>,
}

/// A change set, with the vault's content before and after it.
struct Recorded {
    id: u64,
    before: Tree,
    after: Tree,
    undone: bool,
    /// The set that this one undid, by its position in the list.
    undoes: Option<usize>,
    /// The set whose deletion this one restored from the trash, which undoes a part of it.
    restores: Option<usize>,
    /// Whether its effect was undone in part, or by others, since.
    in_doubt: bool,
}

/// The required result of an undo.
enum Undo {
    /// It is refused: it was undone before.
    Refused,
    /// Nothing that the set changed has changed since: outside the trash, exactly this.
    Exactly(Tree),
    /// Something has changed since: it may be refused, and then nothing happens; if done, it loses
    /// no text.
    Either,
}

impl World {
    fn new(folder: &Path) -> Result<Self, String> {
        let place = Place::begun_below(folder);
        let context = place.open()?;
        Ok(Self { place, context, model: Model::default(), sets: Vec::new() })
    }

    fn step(&mut self, operation: &Operation) -> Result<(), String> {
        let done = match operation {
            Operation::Outside(outside) => {
                perform_outside(&self.place.vault, outside);
                let expected = self.model.after_outside(outside);
                self.holds(&expected.expect("it was chosen as possible"))
            }
            Operation::Undo { back } => self.undo(*back),
            Operation::Restore { which } => self.restore(*which),
            Operation::Restart => self.restart(),
            _ => self.change(operation),
        };
        done.map_err(|fault| format!("{operation:?}: {fault}"))
    }

    /// The effect of a tool.
    fn change(&mut self, operation: &Operation) -> Result<(), String> {
        if self.model.is_a_name(operation) {
            return Ok(());
        }
        match (self.model.after(operation), perform(&self.context, operation)) {
            (Some(expected), Ok(set)) => {
                let before = self.model.tree.clone();
                self.holds(&expected)?;
                self.record(set, before, None);
                Ok(())
            }
            (None, Err(_)) => self.holds(&self.model.tree.clone()),
            (Some(_), Err(error)) => Err(format!("it is refused: {}", error.text())),
            (None, Ok(_)) => Err("it is not refused".to_owned()),
        }
    }

    fn record(&mut self, set: Option<u64>, before: Tree, undoes: Option<usize>) {
        // Where nothing had to be done there is no set.
        if let Some(id) = set {
            let after = self.model.tree.clone();
            let recorded = Recorded {
                id,
                before,
                after,
                undone: false,
                undoes,
                restores: None,
                in_doubt: false,
            };
            self.sets.push(recorded);
        }
    }

    /// Whether the vault is as expected; from now on that is the expected state.
    fn holds(&mut self, expected: &Tree) -> Result<(), String> {
        let found = tree::read(&self.place.vault);
        if found != *expected {
            return Err(tree::difference(expected, &found));
        }
        self.model.tree = found;
        Ok(())
    }

    /// Undoes the set that is `back` before the last.
    fn undo(&mut self, back: usize) -> Result<(), String> {
        let Some(at) = self.sets.len().checked_sub(back + 1) else { return Ok(()) };
        let expected = self.sets[at].undo(&self.model.tree);
        let target = Target::Set(ChangeSetId(self.sets[at].id));
        let answer = self.context.journal.undo(target, false, &self.context.origin);
        let before = self.model.tree.clone();
        match (expected, answer) {
            (Undo::Refused | Undo::Either, Err(_)) => return self.holds(&before),
            (Undo::Exactly(_), Err(error)) => return Err(format!("it is refused: {error}")),
            (Undo::Refused, Ok(_)) => return Err("it was undone before".to_owned()),
            (expected, Ok(undone)) => {
                let found = tree::read(&self.place.vault);
                if let Undo::Exactly(expected) = expected
                    && tree::outside_trash(&found) != expected
                {
                    return Err(tree::difference(&expected, &tree::outside_trash(&found)));
                }
                self.keeps_all_texts(&before, &found)?;
                self.model.tree = found;
                let set = undone.applied.change_set;
                match self.context.journal.history().change_set(set) {
                    Ok(Some(_)) => {}
                    other => return Err(format!("it answers with the set {set}: {other:?}")),
                }
                let last = self.last_done(at);
                self.turn(last, &before);
                self.doubt_restorations(last);
                self.record(Some(set.0), before, Some(last));
            }
        }
        Ok(())
    }

    /// The set that an undo of this one undoes: if it was undone and redone, its latest redo is undone, so that the two
    /// count as undone together.
    fn last_done(&self, at: usize) -> usize {
        let again = (at + 1..self.sets.len()).rev().find(|later| {
            let undo = self.sets[*later].undoes.map(|undo| &self.sets[undo]);
            !self.sets[*later].undone && undo.is_some_and(|undo| undo.undoes == Some(at))
        });
        again.map_or(at, |again| self.last_done(again))
    }

    /// Records that a set was undone, on a vault with the content `held`. A set that an undo had
    /// undone is then redone, and can be undone again, and so on. Its effect is the present one: a
    /// folder that was deleted a second time has the texts of that time.
    fn turn(&mut self, at: usize, held: &Tree) {
        let (mut next, mut undone) = (Some(at), true);
        let in_doubt = self.sets[at].in_doubt;
        while let Some(set) = next.and_then(|at| self.sets.get_mut(at)) {
            set.undone = undone;
            set.in_doubt |= in_doubt;
            if !undone {
                set.before = held.clone();
                set.after = self.model.tree.clone();
            }
            undone = !undone;
            next = set.undoes;
        }
    }

    /// A file that was restored from the trash, and deleted again by an undo, is a part of a set
    /// that was redone by itself: when the whole set is undone, those two are undone in part.
    fn doubt_restorations(&mut self, rolled_back: usize) {
        for at in rolled_back + 1..self.sets.len() {
            let restoration = self.sets[at].restores == Some(rolled_back)
                && self.sets.iter().any(|set| set.undoes == Some(at));
            let of_one = self.sets[at].undoes.is_some_and(|undone| {
                undone > rolled_back
                    && self.sets[undone].in_doubt
                    && self.sets[undone].root(&self.sets).restores == Some(rolled_back)
            });
            self.sets[at].in_doubt |= restoration || of_one;
        }
    }

    /// Restores one entry from the trash; nothing else changes.
    fn restore(&mut self, which: usize) -> Result<(), String> {
        let items = self.context.journal.trash().list().map_err(|error| error.to_string())?;
        if items.is_empty() {
            return Ok(());
        }
        let item = &items[which % items.len()];
        let restored = self.context.journal.trash().restore(&item.id, None, &self.context.origin);
        let restored = restored.map_err(|error| format!("{item:?}: it is refused: {error}"))?;
        let before = self.model.tree.clone();
        let found = tree::read(&self.place.vault);
        let (mut rest, to) = (tree::outside_trash(&found), restored.path.as_str());
        let mut back: Vec<String> = Vec::new();
        rest.retain(|path, _| {
            let is_back = path == to || path.starts_with(&format!("{to}/"));
            // A folder that had to be created for it.
            let is_above = to.starts_with(&format!("{path}/")) && !before.contains_key(path);
            if is_back {
                back.push(path.clone());
            }
            !is_back && !is_above
        });
        if rest != tree::outside_trash(&before) {
            let difference = tree::difference(&tree::outside_trash(&before), &rest);
            return Err(format!("{item:?} to `{to}` changed more: {difference}"));
        }
        if back.is_empty() {
            return Err(format!("{item:?} is not at `{to}`"));
        }
        self.keeps_all_texts(&before, &found)?;
        self.model.tree = found;
        let deletion = item.change.map(|change| change.set.0);
        let deletion = self.sets.iter().position(|set| Some(set.id) == deletion);
        let mut at = deletion;
        while let Some(set) = at.and_then(|at| self.sets.get_mut(at)) {
            set.in_doubt = true;
            // The undone file exists again if an undo had deleted it.
            at = set.undoes;
        }
        self.record(Some(restored.applied.change_set.0), before, None);
        if let Some(restoration) = self.sets.last_mut() {
            restoration.restores = deletion;
        }
        Ok(())
    }

    /// The daemon is restarted.
    fn restart(&mut self) -> Result<(), String> {
        self.context.vault.stop();
        self.context = self.place.open()?;
        self.holds(&self.model.tree.clone())
    }

    /// Every text that is no longer in the vault is in the journal.
    fn keeps_all_texts(&self, before: &Tree, found: &Tree) -> Result<(), String> {
        for (path, entry) in before {
            if let Entry::File(text) = entry
                && !found.values().any(|other| other == entry)
                && !self.place.is_in_journal(text)
            {
                return Err(format!("the text of `{path}` is nowhere any more"));
            }
        }
        Ok(())
    }

    /// At the end everything in the journal is intact.
    fn end(&self) -> Result<(), String> {
        self.context.vault.stop();
        let verified = self.context.journal.texts().verify().map_err(|error| error.to_string())?;
        if is_sound(&verified) {
            Ok(())
        } else {
            Err(format!("the journal is not sound: {verified:?}"))
        }
    }
}

impl Recorded {
    /// The set for which the first of these undos of undos was made.
    fn root<'a>(&'a self, sets: &'a [Self]) -> &'a Self {
        self.undoes.map_or(self, |undone| sets[undone].root(sets))
    }

    /// The required effect of an undo on a vault with the content `now`.
    fn undo(&self, now: &Tree) -> Undo {
        if self.undone && !self.in_doubt {
            return Undo::Refused;
        }
        let (before, after) = (tree::outside_trash(&self.before), tree::outside_trash(&self.after));
        let mut expected = tree::outside_trash(now);
        let touched: Vec<&String> = before
            .keys()
            .chain(after.keys())
            .filter(|path| before.get(*path) != after.get(*path))
            .collect();
        // A deleted file whose name is taken by now, in any case, is restored under another name.
        if let [path] = touched[..]
            && let (Some(text @ Entry::File(_)), None) = (before.get(path), after.get(path))
            && !is_free(&expected, path)
            && !self.in_doubt
            && has_parent(&expected, path)
        {
            expected.insert(restored_name(&expected, path), text.clone());
            return Undo::Exactly(expected);
        }
        let same = touched.iter().all(|path| expected.get(*path) == after.get(*path));
        // Something else may have been put into one of its folders, or block it with another case.
        let all_known = expected.keys().all(|path| {
            let below = |folder: &&&String| path.starts_with(&format!("{folder}/"));
            touched.contains(&path)
                || (!touched.iter().any(|folder| below(&folder))
                    && !touched.iter().any(|other| other.to_lowercase() == path.to_lowercase()))
        });
        for path in &touched {
            match before.get(*path) {
                Some(entry) => expected.insert((*path).clone(), entry.clone()),
                None => expected.remove(*path),
            };
        }
        let has_parents = expected.keys().all(|path| has_parent(&expected, path));
        // Nothing is restored next to a name that differs from it only in case.
        let names: BTreeSet<String> = expected.keys().map(|path| path.to_lowercase()).collect();
        let has_twins = names.len() < expected.len();
        // Deleted files are restored from the trash, or from the journal.
        if same && all_known && has_parents && !has_twins && !self.in_doubt {
            Undo::Exactly(expected)
        } else {
            Undo::Either
        }
    }
}

/// Whether no name in the tree equals this path, ignoring case.
fn is_free(tree: &Tree, path: &str) -> bool {
    let wanted = path.to_lowercase();
    tree.keys().all(|key| key.to_lowercase() != wanted)
}

/// Whether the parent folder of this path exists with exactly this spelling.
fn has_parent(tree: &Tree, path: &str) -> bool {
    match path.rsplit_once('/') {
        Some((above, _)) => tree.get(above) == Some(&Entry::Folder),
        None => true,
    }
}

/// The name that a restored file gets if its own is taken.
fn restored_name(tree: &Tree, path: &str) -> String {
    let (stem, extension) = path.rsplit_once('.').expect("notes have an extension");
    let mut names = (1..).map(|number| match number {
        1 => format!("{stem} (restored).{extension}"),
        _ => format!("{stem} (restored {number}).{extension}"),
    });
    names.find(|name| is_free(tree, name)).expect("there are more numbers than files")
}

/// A vault in memory.
#[derive(Debug, Clone, Default)]
pub struct Model {
    /// Its content.
    pub tree: Tree,
    /// Lines written so far: each is different.
    lines: u64,
}

impl Model {
    /// A vault with the content `tree`, whose lines have numbers of at most `lines`.
    pub fn new(tree: Tree, lines: u64) -> Self {
        Self { tree, lines }
    }

    /// The path as spelt in the vault, for one in any case; `None` if there is none.
    fn real(&self, path: &str) -> Option<String> {
        real(&self.tree, path)
    }

    /// A new path, its folders as spelt in the vault.
    fn new_path(&self, path: &str) -> String {
        new_path(&self.tree, path)
    }

    /// Whether the requested path does not exist but may be the name of a file elsewhere:
    /// `tests/tools/names.rs` has the rules.
    fn is_a_name(&self, operation: &Operation) -> bool {
        let asked = match operation {
            Operation::Edit { path, .. } | Operation::Delete { path } => path,
            Operation::Move { from, .. } => from,
            _ => return false,
        };
        !asked.contains('/') && self.real(asked).is_none()
    }

    /// The vault's content afterwards; `None` if the operation must be refused.
    pub fn after(&self, operation: &Operation) -> Option<Tree> {
        let mut tree = self.tree.clone();
        match operation {
            Operation::Write { path, text } => {
                let path = self.real(path).unwrap_or_else(|| self.new_path(path));
                make_parents(&mut tree, &path);
                tree.insert(path, file(text));
            }
            Operation::Edit { path, old, new } => {
                let path = self.real(path)?;
                let text = self.text(&path)?;
                let (before, after) = text.split_once(old.as_str())?;
                tree.insert(path, file(&format!("{before}{new}{after}")));
            }
            Operation::Patch(files) => {
                for patched in files {
                    match (&patched.before, self.real(&patched.path)) {
                        (None, None) => {
                            // A folder that the patch creates is spelt as in its first mention.
                            let path = new_path(&tree, &patched.path);
                            make_parents(&mut tree, &path);
                            tree.insert(path, file(patched.after.as_ref()?));
                        }
                        (Some(before), Some(path)) if self.text(&path)? == *before => {
                            match &patched.after {
                                Some(after) => {
                                    tree.insert(path, file(after));
                                }
                                None => to_trash(&mut tree, &path),
                            }
                        }
                        _ => return None,
                    }
                }
            }
            Operation::CreateFolder { path } => {
                if self.real(path).is_none() {
                    let path = self.new_path(path);
                    make_parents(&mut tree, &path);
                    tree.insert(path, Entry::Folder);
                }
            }
            Operation::Move { from, to } => {
                let from = self.real(from)?;
                let new = self.new_path(to);
                match self.real(to) {
                    Some(there) if there != from => return None,
                    _ => {}
                }
                if new.starts_with(&format!("{from}/")) {
                    return None;
                }
                make_parents(&mut tree, &new);
                rename(&mut tree, &from, &new);
            }
            Operation::Delete { path } => {
                let path = self.real(path)?;
                to_trash(&mut tree, &path);
            }
            _ => return None,
        }
        Some(tree)
    }

    /// The vault's content after this operation of another program; `None` if it is not possible.
    fn after_outside(&self, outside: &Outside) -> Option<Tree> {
        let mut tree = self.tree.clone();
        let has_parent = |path: &str| has_parent(&self.tree, path);
        match outside {
            Outside::Write { path, text } => {
                if !has_parent(path) || self.tree.get(path) == Some(&Entry::Folder) {
                    return None;
                }
                tree.insert(path.clone(), file(text));
            }
            Outside::Remove { path } => match tree.remove(path)? {
                Entry::File(_) => {}
                Entry::Folder => return None,
            },
            Outside::Rename { from, to } => {
                let free = !self.tree.contains_key(to) && has_parent(to);
                if !free || to.starts_with(&format!("{from}/")) || !self.tree.contains_key(from) {
                    return None;
                }
                rename(&mut tree, from, to);
            }
        }
        Some(tree)
    }

    fn text(&self, path: &str) -> Option<String> {
        match self.tree.get(path)? {
            Entry::File(bytes) => Some(String::from_utf8(bytes.clone()).expect("text")),
            Entry::Folder => None,
        }
    }

    /// Chooses the next operation: mostly a possible one, sometimes one that must be refused.
    pub fn choose(&mut self, random: &mut Random) -> Operation {
        loop {
            let operation = self.any(random);
            if !self.is_a_name(&operation) {
                return operation;
            }
        }
    }

    fn any(&mut self, random: &mut Random) -> Operation {
        loop {
            match random.below(20) {
                0..=4 => {
                    let path = self.note(random, 2);
                    return Operation::Write { path, text: self.new_text(random) };
                }
                5..=7 => {
                    let path = self.note(random, 5);
                    let Some(text) = self.real(&path).and_then(|path| self.text(&path)) else {
                        continue;
                    };
                    let old = if random.once_in(12) {
                        "nowhere".to_owned()
                    } else {
                        let lines: Vec<&str> = text.lines().collect();
                        random.pick(&lines).map_or("", |line| line).to_owned()
                    };
                    return Operation::Edit { path, old, new: self.new_line() };
                }
                8 | 9 => return self.choose_patch(random),
                10 => return Operation::CreateFolder { path: self.folder(random, 1) },
                11..=14 => {
                    let folders = random.once_in(3);
                    let (from, to) = if folders {
                        (self.folder(random, 4), self.folder(random, 1))
                    } else {
                        (self.note(random, 8), self.note(random, 1))
                    };
                    if random.once_in(8) {
                        // Only the case differs.
                        let to = change_case(&from);
                        return Operation::Move { from, to };
                    }
                    return Operation::Move { from, to };
                }
                15 | 16 => {
                    let path = if random.once_in(4) {
                        self.folder(random, 4)
                    } else {
                        self.note(random, 8)
                    };
                    return Operation::Delete { path };
                }
                _ => {
                    let outside = self.choose_outside(random);
                    if self.after_outside(&outside).is_some() {
                        return Operation::Outside(outside);
                    }
                }
            }
        }
    }

    fn choose_patch(&mut self, random: &mut Random) -> Operation {
        let mut files: BTreeMap<String, Patched> = BTreeMap::new();
        for _ in 0..=random.below(4) {
            let path = self.note(random, 3);
            let real = self.real(&path);
            let before = real.as_ref().and_then(|path| self.text(path));
            let after = match &before {
                Some(_) if random.once_in(4) => None,
                Some(before) => {
                    let kept: Vec<&str> = before.lines().skip(1).collect();
                    Some(format!("{}\n{}", self.new_line(), joined(&kept)))
                }
                None => Some(self.new_text(random)),
            };
            // Now and then text that no file contains.
            let before =
                if random.once_in(15) { Some(format!("{}\n", self.new_line())) } else { before };
            files.insert(path.to_lowercase(), Patched { path, before, after });
        }
        Operation::Patch(files.into_values().collect())
    }

    fn choose_outside(&mut self, random: &mut Random) -> Outside {
        match random.below(3) {
            0 => {
                let path = self.note(random, 6);
                let path = self.real(&path).unwrap_or_else(|| self.new_path(&path));
                Outside::Write { path, text: self.new_text(random) }
            }
            1 => Outside::Remove { path: self.note(random, 9) },
            _ => {
                let (from, to) = if random.once_in(3) {
                    (self.folder(random, 9), self.folder(random, 1))
                } else {
                    (self.note(random, 9), self.note(random, 1))
                };
                // Two names that differ only in case have a test of their own.
                match self.real(&to) {
                    Some(_) => Outside::Remove { path: from },
                    None => Outside::Rename { from, to: self.new_path(&to) },
                }
            }
        }
    }

    /// A note's path: an existing one `most` times in `most + 1`, if there is any.
    fn note(&self, random: &mut Random, most: usize) -> String {
        self.path(random, most, false)
    }

    fn folder(&self, random: &mut Random, most: usize) -> String {
        self.path(random, most, true)
    }

    fn path(&self, random: &mut Random, most: usize, folder: bool) -> String {
        let there = |(path, entry): (&String, &Entry)| {
            let fits = (*entry == Entry::Folder) == folder && !path.starts_with(".trash");
            fits.then(|| path.clone())
        };
        let known: Vec<String> = self.tree.iter().filter_map(there).collect();
        let path = match random.pick(&known) {
            Some(path) if !random.once_in(most + 1) => path.clone(),
            _ => {
                let mut path = String::new();
                for _ in 0..random.below(3) {
                    path += FOLDERS[random.below(FOLDERS.len())];
                    path.push('/');
                }
                let names = if folder { FOLDERS } else { NOTES };
                path + names[random.below(names.len())]
            }
        };
        if random.once_in(20) { change_case(&path) } else { path }
    }

    fn new_text(&mut self, random: &mut Random) -> String {
        let lines: Vec<String> = (0..=random.below(5)).map(|_| self.new_line()).collect();
        joined(&lines.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn new_line(&mut self) -> String {
        self.lines += 1;
        format!("line {:09}", self.lines)
    }
}

/// The path as spelt in the tree, for one in any case.
fn real(tree: &Tree, path: &str) -> Option<String> {
    if tree.contains_key(path) {
        return Some(path.to_owned());
    }
    let wanted = path.to_lowercase();
    let mut found = tree.keys().filter(|key| !key.starts_with(".trash"));
    found.find(|key| key.to_lowercase() == wanted).cloned()
}

fn new_path(tree: &Tree, path: &str) -> String {
    match path.rsplit_once('/') {
        None => path.to_owned(),
        Some((above, name)) => {
            let above = real(tree, above).unwrap_or_else(|| new_path(tree, above));
            format!("{above}/{name}")
        }
    }
}

fn joined(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn file(text: &str) -> Entry {
    Entry::File(text.as_bytes().to_vec())
}

fn change_case(path: &str) -> String {
    if path.chars().any(char::is_uppercase) {
        path.to_lowercase()
    } else {
        path.to_uppercase().replace(".MD", ".md").replace(".CANVAS", ".canvas")
    }
}

fn make_parents(tree: &mut Tree, path: &str) {
    for (at, _) in path.match_indices('/') {
        tree.entry(path[..at].to_owned()).or_insert(Entry::Folder);
    }
}

/// `from` and everything below it.
fn rename(tree: &mut Tree, from: &str, to: &str) {
    let below = format!("{from}/");
    let moved: Vec<String> =
        tree.keys().filter(|key| *key == from || key.starts_with(&below)).cloned().collect();
    let moved: Vec<(String, Entry)> =
        moved.into_iter().filter_map(|key| tree.remove_entry(&key)).collect();
    for (key, entry) in moved {
        tree.insert(format!("{to}{}", &key[from.len()..]), entry);
    }
}

/// The name Obsidian gives it in `.trash/`, which is flat.
fn to_trash(tree: &mut Tree, path: &str) {
    tree.insert(".trash".to_owned(), Entry::Folder);
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, extension) = match name.rfind('.') {
        Some(dot) if dot > 0 => name.split_at(dot),
        _ => (name, ""),
    };
    let mut free = format!(".trash/{name}");
    for number in 2.. {
        if !tree.contains_key(&free) {
            break;
        }
        free = format!(".trash/{stem} {number}{extension}");
    }
    rename(tree, path, &free);
}
