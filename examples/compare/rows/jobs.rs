//! Many notes moved in one change set, with the links that follow, and undone, compared with `cp -r` of
//! the same notes and `sync`.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tempfile::TempDir;
use vault_steward::edits::{Editor, ReadOnly};
use vault_steward::index::Index;
use vault_steward::journal::{self, Change, Journal, Origin, Target};
use vault_steward::note::path::VaultPath;
use vault_steward::store::Store;
use vault_steward::vault::{Cancel, Settings, Vault};

use super::Ground;
use crate::report::{Page, Row, thousands};

/// Notes that are moved, at most.
const MOST: usize = 10_000;

/// Moves notes to other folders under other names, and takes that back. `ground` is a vault of its own.
///
/// # Errors
/// The vault cannot be opened, or the job failed.
pub fn measure(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let state = TempDir::with_prefix_in("state-", ground.scratch)?;
    let settings = Settings::default();
    let (vault, writer) = Vault::open_watched(&ground.vault, state.path(), settings, &|_| {})?;
    let journal = Journal::open(writer, Store::at(state.path()), journal::Settings::default());
    journal.recover()?;
    let index = Index::new(vault.clone());
    let (origin, cancel) = (Origin { confirmed: true, ..Origin::default() }, Cancel::default());
    let editor = Editor {
        vault: &vault,
        journal: &journal,
        index: &index,
        gate: None,
        origin: &origin,
        cancel: &cancel,
        whole: None,
        progress: &(),
    };
    index.links.refresh(&cancel)?;
    let changes = moves(&vault);
    let (followed, planned) = timed(|| Ok(editor.preview(&changes, ReadOnly::Refuse)?))?;
    let rewritten = followed.plan.rewrites.len();
    let touched: Vec<VaultPath> =
        followed.plan.rewrites.iter().map(|rewrite| rewrite.path.clone()).collect();
    drop(followed);
    let moved = changes.len();
    // Removed at the end: ext4 searches a while for a free inode after many were removed.
    let copies = TempDir::with_prefix_in("copies-", ground.scratch)?;
    let copied = copied(ground, copies.path(), &changes, &touched)?;
    let (applied, job) = timed(|| {
        Ok(editor.apply_with_links("move many".to_owned(), changes, ReadOnly::Refuse)?.0)
    })?;
    let (undone, undo) = timed(|| Ok(editor.undo(Target::Set(applied.change_set), false)?.0))?;
    ensure!(undone.notes.is_empty(), "the undo left something: {:?}", undone.notes);
    let of = |what: &str| {
        format!("{what} of {} moves, {} notes rewritten", thousands(moved), thousands(rewritten))
    };
    let notes = ground.notes;
    page.add(Row::new(of("links followed, in the process,"), notes).alone(planned, "ms", 3_000.0));
    page.add(Row::new(of("a job"), notes).alone(job, "ms", 15_000.0));
    page.add(Row::new(of("a job"), notes).within(job, copied, "`cp -r` and `sync`", 2.0));
    page.add(Row::new(of("an undo"), notes).within(undo, job, "the job", 1.5));
    vault.stop();
    Ok(())
}

/// Each note gets another folder and another name, so that most links to it have to be rewritten.
fn moves(vault: &Vault) -> Vec<Change> {
    let catalogue = vault.catalogue();
    let root = VaultPath::root();
    let notes = catalogue.within(&root).map(|entry| entry.path().to_path());
    let notes = notes.filter(VaultPath::is_note).take(MOST);
    let moved = notes.enumerate().filter_map(|(number, from)| {
        let to = format!("Filed/{}/{number} {}", number % 100, from.name());
        Some(Change::Move { to: VaultPath::from_disk(&to)?, from })
    });
    moved.collect()
}

/// The time to copy these notes with `cp -r` and to make the copies durable with `sync`, in milliseconds.
fn copied(
    ground: &Ground<'_>,
    place: &Path,
    moves: &[Change],
    rewritten: &[VaultPath],
) -> Result<f64> {
    let (from, to) = (place.join("from"), place.join("to"));
    let moved = moves.iter().filter_map(|change| match change {
        Change::Move { from, .. } => Some(from),
        _ => None,
    });
    for path in moved.chain(rewritten) {
        let place = from.join(path.as_str());
        fs::create_dir_all(place.parent().unwrap_or(Path::new("")))?;
        fs::copy(ground.vault.join(path.as_str()), place)?;
    }
    let run = |command: &mut Command| -> Result<()> {
        ensure!(command.status()?.success(), "{command:?} failed");
        Ok(())
    };
    run(&mut Command::new("sync"))?;
    let ((), took) = timed(|| {
        run(Command::new("cp").arg("-r").args([&from, &to]))?;
        run(&mut Command::new("sync"))
    })?;
    Ok(took)
}

/// Its result, and its time in milliseconds.
fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    let begun = Instant::now();
    let done = work()?;
    let took: Duration = begun.elapsed();
    Ok((done, took.as_secs_f64() * 1e3))
}
