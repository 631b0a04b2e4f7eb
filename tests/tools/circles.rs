//! Files that take each other's paths in one change set: chains, and cycles through a hidden name.

use std::fs;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use vault_steward::edits::{Editor, Gate, Proposal, ReadOnly};
use vault_steward::journal::{Action, Change, ChangeSetId, JournalError, Origin, Target};
use vault_steward::policy::Refusal;
use vault_steward::vault::{Cancel, hidden_name};

use crate::abilities::{Ability, can};
use crate::changes::{delete, mv, path, seen};
use crate::vault::{TestVault, vault};

/// Records what it was shown, and allows everything.
#[derive(Debug, Default)]
struct Shown(Mutex<Vec<String>>);

impl Gate for Shown {
    fn check(&self, proposal: &Proposal) -> Result<(), Refusal> {
        let one = |effect: &vault_steward::policy::Effect| match &effect.from {
            Some(from) => format!("{from} to {}", effect.path),
            None => effect.path.to_string(),
        };
        assert!(proposal.changes.iter().all(|change| change.effect.active.is_empty()));
        let mut shown: Vec<String> =
            proposal.changes.iter().map(|change| one(&change.effect)).collect();
        shown.sort();
        *self.0.lock().expect("no panic") = shown;
        Ok(())
    }

    fn limited(&self, _: &Proposal, limit: &JournalError) {
        panic!("{limit}");
    }

    fn applied(&self, _: ChangeSetId) {}
}

impl TestVault {
    fn with_editor<T>(&self, gate: &Shown, work: impl FnOnce(&Editor<'_>) -> T) -> T {
        let (origin, cancel) = (Origin::default(), Cancel::default());
        work(&Editor {
            vault: &self.context.vault,
            journal: &self.context.journal,
            index: &self.context.index,
            gate: Some(gate),
            origin: &origin,
            cancel: &cancel,
            whole: None,
            progress: &(),
        })
    }

    #[track_caller]
    fn apply_with_links(&self, changes: Vec<Change>) -> (ChangeSetId, Vec<String>) {
        let gate = Shown::default();
        let applied = self.with_editor(&gate, |editor| {
            editor.apply_with_links("circle".to_owned(), changes, ReadOnly::Refuse)
        });
        let (applied, followed) = applied.expect("applied");
        assert!(followed.plan.stuck.is_empty(), "{:?}", followed.plan.stuck);
        (applied.change_set, gate.0.into_inner().expect("no panic"))
    }

    #[track_caller]
    fn undo_with_links(&self, set: ChangeSetId) -> Vec<String> {
        let gate = Shown::default();
        let undone = self.with_editor(&gate, |editor| editor.undo(Target::Set(set), false));
        assert_eq!(undone.expect("undone").0.notes, [""; 0]);
        gate.0.into_inner().expect("no panic")
    }
}

const ONE: &str = "# one\n[[Two|two]] [near](near.md)\n";
const TWO: &str = "# two\n[[One|one]]\n";

fn linked() -> TestVault {
    vault(&[
        ("a/One.md", ONE),
        ("a/near.md", "near\n"),
        ("b/Two.md", TWO),
        ("Home.md", "[[One|one]] and [[b/Two|two]]\n"),
    ])
}

/// The changes by which these two exchange paths, and the hidden name.
fn swap(one: &str, other: &str) -> (Vec<Change>, String) {
    let hidden = hidden_name(&path(one));
    let hidden = hidden.as_str().to_owned();
    (vec![mv(one, &hidden), mv(other, one), mv(&hidden, other)], hidden)
}

/// Each note has its name in its first line.
#[track_caller]
fn is(vault: &TestVault, path: &str, who: &str) {
    let text = vault.content(path);
    assert!(text.starts_with(&format!("# {who}\n")), "{path}: {text:?}");
}

#[test]
fn two_notes_exchange_paths_and_links_stay_with_them() {
    let vault = linked();
    let before = seen(&vault);
    let (changes, _) = swap("a/One.md", "b/Two.md");
    let (set, shown) = vault.apply_with_links(changes);
    let moves = ["a/One.md to b/Two.md", "b/Two.md to a/One.md"];
    assert_eq!(shown.iter().filter(|one| one.contains(" to ")).collect::<Vec<_>>(), moves);
    is(&vault, "b/Two.md", "one");
    is(&vault, "a/One.md", "two");
    let home = vault.content("Home.md");
    assert!(home.contains("[[Two|one]]") && home.contains("One|two]]"), "{home}");
    assert!(
        vault.content("b/Two.md").contains("[[One|two]] [near](near.md)"),
        "{:?}",
        seen(&vault)
    );
    let listed = vault.journal().history().change_set(set).expect("read").expect("it is there");
    let mut links: Vec<(String, String)> = listed
        .changes
        .iter()
        .filter(|change| change.action == Action::Moved)
        .map(|change| (change.from.as_ref().expect("moved").to_string(), change.path.to_string()))
        .collect();
    links.sort();
    let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    assert_eq!(links, [pair("a/One.md", "b/Two.md"), pair("b/Two.md", "a/One.md")]);
    // Undoing one half alone would leave a note without a name.
    let first = listed.changes.iter().find(|change| change.action == Action::Moved).expect("one");
    vault.undo_error(&first.id.to_string());
    let after = seen(&vault);
    let shown = vault.undo_with_links(set);
    assert_eq!(shown.iter().filter(|one| one.contains(" to ")).collect::<Vec<_>>(), moves);
    assert_eq!(seen(&vault), before);
    // And there and back again.
    let undo = vault.journal().history().change_sets(&vault_steward::journal::Query::default());
    let undo = undo.expect("read")[0].id;
    vault.undo_with_links(undo);
    assert_eq!(seen(&vault), after);
}

#[test]
fn a_chain_moves_up_after_a_deletion() {
    let vault = vault(&[
        ("1.md", "# a\n"),
        ("2.md", "# b\n[[1]]\n"),
        ("3.md", "# c\n"),
        ("Home.md", "[[1|a]] [[2|b]]\n"),
    ]);
    let before = seen(&vault);
    let (set, _) =
        vault.apply_with_links(vec![delete("3.md"), mv("2.md", "3.md"), mv("1.md", "2.md")]);
    is(&vault, "3.md", "b");
    is(&vault, "2.md", "a");
    assert!(!vault.exists("1.md"));
    assert_eq!(vault.content("Home.md"), "[[2|a]] [[3|b]]\n");
    assert_eq!(vault.content("3.md"), "# b\n[[2]]\n");
    let after = seen(&vault);
    vault.forget_the_end();
    let (vault, recovered) = vault.recovered();
    assert_eq!((recovered.completed, recovered.left.len()), (1, 0), "{recovered:?}");
    assert_eq!(seen(&vault), after);
    vault.undo_with_links(set);
    assert_eq!(seen(&vault), before);
}

#[test]
fn a_file_moved_and_then_deleted_keeps_its_text() {
    let vault = vault(&[("a.md", "# a\n"), ("F/b.md", "# b\n")]);
    let before = seen(&vault);
    let changes = vec![mv("a.md", "z.md"), delete("z.md"), mv("F", "G"), delete("G")];
    let set = vault.apply(changes);
    assert!(!seen(&vault).keys().any(|path| path.ends_with(".md")));
    fs::remove_dir_all(vault.place.join(".trash")).expect("emptied by somebody");
    vault.undo(set);
    assert_eq!(seen(&vault), before);
}

/// The files that are saved before the next start.
#[derive(Debug, Clone, Copy)]
enum Save {
    Nobody,
    InPlace(&'static str),
    ByRename(&'static str),
}

#[test]
fn a_swap_that_a_crash_cut_short_is_done_whole_or_not_at_all() {
    if !can(Ability::InKernel) {
        return;
    }
    let contents = [(ONE, TWO), ("# one\n", "# two\n"), ("", "")];
    // Files that are alike in size and time differ in their inode alone.
    let alike = contents.into_iter().flat_map(|texts| [(texts, true), (texts, false)]);
    for ((one, two), is_same_time) in alike {
        for done in 0..=3 {
            for save in [
                Save::Nobody,
                Save::InPlace("one"),
                Save::ByRename("one"),
                Save::InPlace("two"),
                Save::ByRename("two"),
            ] {
                let files = [("a/One.md", one), ("a/near.md", "near\n"), ("b/Two.md", two)];
                let vault = TestVault::new(&files, |place| {
                    let time = SystemTime::now() - Duration::from_secs(60);
                    let later = time + Duration::from_secs(u64::from(!is_same_time));
                    for (path, time) in [("a/One.md", time), ("b/Two.md", later)] {
                        let file = fs::File::options().write(true).open(place.join(path));
                        file.and_then(|file| file.set_modified(time)).expect("set");
                    }
                });
                let (changes, hidden) = swap("a/One.md", "b/Two.md");
                vault.apply_with_links(changes);
                vault.forget_the_end();
                let undo = [
                    (hidden.as_str(), "a/One.md"),
                    ("a/One.md", "b/Two.md"),
                    ("b/Two.md", &hidden),
                ];
                for (from, to) in undo.iter().skip(done).rev() {
                    fs::rename(vault.place.join(from), vault.place.join(to)).expect("put back");
                }
                let at = match done {
                    0 => ["a/One.md", "b/Two.md"],
                    1 => [&hidden, "b/Two.md"],
                    2 => [&hidden, "a/One.md"],
                    _ => ["b/Two.md", "a/One.md"],
                };
                let what = format!("{one:?} {done} {save:?}, same time: {is_same_time}");
                if let Save::InPlace(who) | Save::ByRename(who) = save {
                    let at = at[usize::from(who == "two")];
                    if at == hidden {
                        continue;
                    }
                    let text = format!("{}saved\n", vault.content(at));
                    match save {
                        Save::InPlace(_) => vault.put(at, &text),
                        _ => {
                            vault.put(".saving", &text);
                            let (from, to) = (vault.place.join(".saving"), vault.place.join(at));
                            fs::rename(from, to).expect("saved");
                        }
                    }
                }
                let (vault, recovered) = vault.recovered();
                assert!(vault.rescued().is_empty(), "{what}");
                let is_after = recovered.completed == 1;
                // A note that a save made unrecognisable is moved back.
                let fits = match save {
                    Save::Nobody => is_after == (done == 3),
                    _ => !is_after || done == 3,
                };
                assert!(fits, "{what}: {recovered:?}");
                let [first, second] =
                    if is_after { ["b/Two.md", "a/One.md"] } else { ["a/One.md", "b/Two.md"] };
                if !one.is_empty() {
                    is(&vault, first, "one");
                    is(&vault, second, "two");
                }
                let saved = match save {
                    Save::Nobody => None,
                    Save::InPlace("one") | Save::ByRename("one") => Some(first),
                    _ => Some(second),
                };
                for path in [first, second] {
                    let has = vault.content(path).ends_with("saved\n");
                    assert_eq!(has, saved == Some(path), "{what}: {path}");
                }
            }
        }
    }
}
