//! Rules that a person enabled, evaluated when the test says so.

use std::collections::HashSet;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta};
use serde_json::json;
use vault_steward::calls::Calls;
use vault_steward::daemon::organizer::Organizer;
use vault_steward::methods::host::HostDoor;
use vault_steward::note::path::VaultPath;
use vault_steward::organize;
use vault_steward::policy::{Mode, Settings};
use vault_steward::protocol::host::HostOperation;
use vault_steward::server::hosts::Hosts;
use vault_steward::server::outbox::Outbox;
use vault_steward::store::enabled_rules::EnabledRule;
use vault_steward::tools::Clock;
use vault_steward::tools::enabled::{self, Enabling};
use vault_steward::vault::{ChangeKind, Kind, VaultChange};

use crate::doors::calls;
use crate::vault::{TestVault, vault};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

fn auto(vault: &TestVault) -> Calls {
    calls(vault, Settings { mode: Mode::Auto, ..Settings::default() })
}

fn at(millis: i64) -> Clock {
    Clock::At(DateTime::from_timestamp_millis(millis).unwrap().fixed_offset())
}

struct Place {
    vault: TestVault,
    calls: Calls,
    door: Arc<HostDoor>,
    organizer: Organizer,
}

impl Place {
    /// A vault with a rule that moves notes from `Inbox` to `Archive` and that was enabled at the
    /// vault's time.
    fn new(run: &str, clock: Clock, set: impl FnOnce(&mut organize::settings::Settings)) -> Self {
        let rule =
            format!("rules:\n  - {{name: Sort, in: [Inbox], do: [move: Archive], run: {run}}}\n");
        let mut vault = vault(&[("Rules.yaml", &rule), ("Inbox/old.md", "old\n")]);
        vault.context.clock = clock;
        set(&mut vault.context.settings.organize);
        let wanted = Enabling { file: "Rules.yaml".to_owned(), ..Enabling::default() };
        enabled::enable(&vault.context, &wanted).unwrap();
        vault.let_time_pass();
        let calls = auto(&vault);
        let door = Arc::new(HostDoor::default());
        let organizer = Organizer::new(calls.clone(), Arc::clone(&door));
        Self { vault, calls, door, organizer }
    }

    /// As after a restart.
    fn restart(&mut self) {
        self.organizer = Organizer::new(self.calls.clone(), Arc::clone(&self.door));
    }

    /// Writes a note into `Inbox` and returns its modification time in milliseconds.
    fn write(&self, name: &str) -> i64 {
        self.vault.put(&format!("Inbox/{name}.md"), &format!("{name}\n"));
        self.vault.context.vault.rescan().unwrap();
        let catalogue = self.vault.context.vault.catalogue();
        catalogue.get(&format!("Inbox/{name}.md")).unwrap().modified / 1_000_000
    }

    /// Reports a new note to the organizer.
    fn hear(&self, name: &str, now: i64) {
        let path = VaultPath::from_disk(&format!("Inbox/{name}.md")).unwrap();
        let change = VaultChange { kind: ChangeKind::Created, path, entry: Kind::File };
        self.organizer.on_change(&change, now);
    }

    fn look(&self, now: i64) {
        assert!(self.organizer.run_due(now).is_some(), "a rule is enabled");
    }

    fn is_filed(&self, name: &str) -> bool {
        let archived = self.vault.exists(&format!("Archive/{name}.md"));
        assert_ne!(archived, self.vault.exists(&format!("Inbox/{name}.md")), "{name}");
        archived
    }

    fn jobs(&self) -> u64 {
        self.vault.ok("list_jobs", json!({}))["total"].as_u64().unwrap()
    }

    fn rule(&self) -> EnabledRule {
        self.vault.context.journal.store().enabled_rules.list().unwrap().remove(0)
    }
}

#[test]
fn a_schedule_runs_once_each_time_and_once_after_a_long_sleep() {
    let enabled = DateTime::parse_from_rfc3339("2026-03-01T12:00:00+01:00").unwrap();
    let at = |days: i64, hours: i64| {
        (enabled + TimeDelta::days(days) + TimeDelta::hours(hours)).timestamp_millis()
    };
    let mut place = Place::new("{every: 1d, at: \"03:00\"}", Clock::At(enabled), |_| ());
    place.look(at(0, 14));
    assert!(!place.is_filed("old"), "two o'clock");
    place.look(at(0, 15));
    assert!(place.is_filed("old"), "three o'clock");
    place.write("a");
    place.look(at(0, 16));
    place.restart();
    place.look(at(0, 17));
    assert!(!place.is_filed("a"), "a restart does not repeat it");
    place.look(at(9, 0));
    assert_eq!((place.is_filed("a"), place.jobs()), (true, 2));
    place.write("b");
    place.look(at(9, 1));
    assert_eq!((place.is_filed("b"), place.jobs()), (false, 2), "once for all the days");
    // A clock that was set back.
    place.look(at(2, 15));
    assert!(!place.is_filed("b"));
    place.look(at(9, 15));
    assert!(place.is_filed("b"));
}

#[test]
fn a_schedule_that_was_cut_short_waits_for_its_next_time() {
    let enabled = DateTime::parse_from_rfc3339("2026-03-01T12:00:00+01:00").unwrap();
    let mut place = Place::new("{every: 1h}", Clock::At(enabled), |_| ());
    let began = enabled.timestamp_millis();
    // A run up to the point before it plans.
    let store = &place.vault.context.journal.store().enabled_rules;
    store.set_last_run(place.rule().id, began + HOUR).unwrap();
    place.restart();
    place.look(began + HOUR + MINUTE);
    assert!(!place.is_filed("old"));
    place.look(began + 2 * HOUR);
    assert!(place.is_filed("old"));
}

#[test]
fn a_plan_whose_job_never_began_is_created_again_and_applied_once() {
    let mut place = Place::new("change", Clock::System, |_| ());
    let changed = place.write("a");
    // A run up to the point before it applies its plan.
    let all = enabled::all(&place.vault.context).unwrap();
    let rules: Vec<_> = all.iter().collect();
    let only = HashSet::from([VaultPath::from_disk("Inbox/a.md").unwrap()]);
    let plan = enabled::plan(&place.vault.context, &rules, Some(&only)).unwrap();
    assert_eq!(plan.items.len(), 1);
    enabled::store_plan(&place.vault.context, &rules, &plan, plan.items.clone(), None).unwrap();
    assert_eq!(place.jobs(), 0);
    place.restart();
    place.look(changed + MINUTE);
    assert_eq!((place.is_filed("a"), place.jobs()), (true, 1));
    assert!(!place.is_filed("old"), "it was there before the rule was enabled");
    place.restart();
    place.look(changed + 2 * MINUTE);
    assert_eq!((place.jobs(), place.rule().waiting), (1, None));
}

#[test]
fn changes_beyond_the_hourly_limit_wait_for_a_person() {
    let mut place = Place::new("change", Clock::System, |settings| settings.auto_per_hour = 2);
    let mut changed = 0;
    for name in ["a", "b"] {
        changed = place.write(name);
        place.hear(name, changed);
        place.look(changed + MINUTE);
        assert!(place.is_filed(name), "{name}");
    }
    changed = changed.max(place.write("c"));
    place.hear("c", changed);
    place.look(changed + MINUTE);
    assert!(!place.is_filed("c"));
    assert!(place.rule().waiting.is_some());
    assert_eq!(place.jobs(), 2);
    // An hour later rules run again; plans that wait still wait.
    let later = changed + HOUR + 2 * MINUTE;
    place.vault.context.clock = at(later);
    place.calls = auto(&place.vault);
    place.restart();
    place.look(later);
    place.write("d");
    place.hear("d", later);
    place.look(later + MINUTE);
    assert_eq!((place.is_filed("c"), place.is_filed("d")), (false, true));
}

#[test]
fn a_note_that_is_open_in_obsidian_is_left_alone_for_longer() {
    let place = Place::new("change", Clock::System, |_| ());
    let hosts = Hosts::default();
    let outbox = Arc::new(Outbox::new(8, 1 << 20));
    hosts.join(1, &outbox, "obsidian", &[HostOperation::ActiveNote], true);
    place.door.open(hosts.clone());
    hosts.open_in(1, Some("Inbox/a.md".to_owned()));
    let changed = place.write("a").max(place.write("b"));
    place.look(changed + 31_000);
    assert_eq!((place.is_filed("a"), place.is_filed("b")), (false, true));
    place.look(changed + 119_000);
    assert!(!place.is_filed("a"));
    place.look(changed + 121_000);
    assert!(place.is_filed("a"), "it is open, and nobody writes in it");
    hosts.open_in(1, Some("Inbox/c.md".to_owned()));
    let changed = place.write("c");
    place.hear("c", changed);
    place.look(changed + 31_000);
    assert!(!place.is_filed("c"));
    hosts.open_in(1, None);
    place.look(changed + 32_000);
    assert!(place.is_filed("c"), "it was closed");
}
