//! What lies in the trash is what it is said to be, and as old.

use std::fs;

use chrono::{Duration, Utc};
use vault_steward::journal::{Empty, Origin, TrashItem, TrashPlace};
use vault_steward::note::path::VaultPath;

use crate::changes::delete;
use crate::vault::{TestVault, vault};

impl TestVault {
    fn trash(&self) -> Vec<TrashItem> {
        self.journal().trash().expect("listed")
    }

    /// As if all that was done so far had been done so many days ago.
    fn age_operations(&self, days: i64) {
        let database = rusqlite::Connection::open(self.state.join("state.db")).expect("opened");
        let older = "UPDATE operation SET began = began - ?1, ended = ended - ?1";
        assert!(database.execute(older, [days * 86_400_000]).expect("set") > 0);
    }

    fn empty_older(&self, days: i64) -> Vec<String> {
        let time = Utc::now() - Duration::days(days);
        let emptied = self.journal().empty_trash(&Empty::Older(time)).expect("emptied");
        assert!(emptied.left.is_empty(), "{emptied:?}");
        emptied.items.into_iter().map(|item| item.id).collect()
    }
}

/// Something that a person or another program does to the vault, and the text that is then in the
/// trash.
type ByHand = (&'static str, fn(&TestVault), &'static str);

#[test]
fn what_was_trashed_today_is_not_as_old_as_what_had_its_place() {
    let cases: [ByHand; 3] = [
        (
            "taken out, written in, and put back",
            |vault| {
                let (inside, outside) = (vault.place.join(".trash/x.md"), vault.place.join("x.md"));
                fs::rename(&inside, &outside).expect("taken out");
                fs::write(&outside, "- [ ] call Ann\nof today\n").expect("written in");
                fs::rename(&outside, &inside).expect("put back");
            },
            "- [ ] call Ann\nof today\n",
        ),
        (
            "another of the same size",
            |vault| {
                fs::remove_file(vault.place.join(".trash/x.md")).expect("emptied by hand");
                vault.put(".trash/x.md", "- [ ] call Bob\n");
            },
            "- [ ] call Bob\n",
        ),
        (
            "another of the same size and time",
            |vault| {
                let place = vault.place.join(".trash/x.md");
                let time = fs::metadata(&place).and_then(|meta| meta.modified()).expect("a time");
                vault.put(".trash/x.md", "- [ ] call Bob\n");
                let file = fs::File::options().write(true).open(&place).expect("opened");
                file.set_modified(time).expect("set back");
            },
            "- [ ] call Bob\n",
        ),
    ];
    for (name, by_hand, today) in cases {
        let vault = vault(&[("x.md", "- [ ] call Ann\n")]);
        let set = vault.apply(vec![delete("x.md")]);
        vault.age_operations(40);
        by_hand(&vault);
        let trash = vault.trash();
        let told: Vec<_> = trash.iter().map(|item| (item.id.as_str(), &item.place)).collect();
        let old = format!("{set}.1");
        assert_eq!(
            told,
            [(".trash/x.md", &TrashPlace::Local), (&old, &TrashPlace::Text)],
            "{name}"
        );
        assert_eq!(trash[0].was, None, "{name}: nobody knows where this one was");
        assert_eq!(vault.empty_older(30), [""; 0], "{name}");
        assert_eq!(vault.content(".trash/x.md"), today, "{name}");
        // Each is brought back by its own name.
        let origin = Origin::default();
        let back = vault.journal().restore(".trash/x.md", None, &origin).expect("restored");
        assert_eq!((back.path.as_str(), vault.content("x.md")), ("x.md", today.into()), "{name}");
        vault.undo(set);
        assert_eq!(vault.content("x (restored).md"), "- [ ] call Ann\n", "{name}");
    }
}

#[test]
fn a_folder_is_as_new_as_what_was_written_in_it_last() {
    let vault = vault(&[("F/Sub/a.md", "a"), ("theirs/Sub/b.md", "b")]);
    vault.apply(vec![delete("F")]);
    fs::rename(vault.place.join("theirs"), vault.place.join(".trash/theirs")).expect("deleted");
    vault.age_operations(40);
    let now = Utc::now();
    for path in [".trash/F/Sub/a.md", ".trash/theirs/Sub/b.md"] {
        vault.put(path, "of today");
    }
    for item in vault.trash() {
        assert!(item.deleted.is_some_and(|time| now - time < Duration::hours(1)), "{item:?}");
    }
    assert_eq!(vault.empty_older(30), [""; 0]);
    let was = |item: &TrashItem| item.was.as_ref().map(|was| VaultPath::as_str(was).to_owned());
    assert!(vault.trash().iter().any(|item| was(item).as_deref() == Some("F")));
    // All of it is older than tomorrow.
    assert_eq!(vault.empty_older(-1).len(), 2);
    assert_eq!(fs::read_dir(vault.place.join(".trash")).expect("listed").count(), 0);
}
