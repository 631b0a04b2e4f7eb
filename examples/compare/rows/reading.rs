//! Light requests: reading a note compared with a ping, finding a file by name.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context as _, Result};
use serde_json::json;
use tempfile::TempDir;
use vault_steward::index::Index;
use vault_steward::index::links::resolver;
use vault_steward::index::names::NameContext;
use vault_steward::note::path::VaultPath;
use vault_steward::vault::{Cancel, Settings, Vault, Want};

use super::Ground;
use crate::report::{Page, Row};
use crate::timing::{Contender, Times, side_by_side};

/// Requests in a row before the other one's turn.
const EACH: usize = 100;

/// Requests for a name per round.
const SAID: usize = 20;

/// Repetitions of a lookup inside the process: a single one is too fast for the clock.
const FINDS: u32 = 1_000;

/// Reading and looking up one note over the socket, compared with a ping.
///
/// # Errors
///
/// The daemon failed.
pub fn measure(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let daemon = ground.serve()?;
    let (mut reading, mut looking, mut pinging) =
        (daemon.client()?, daemon.client()?, daemon.client()?);
    let path = reading.any_note()?;
    let note = json!({"path": path});
    let other_case = json!({"path": path.to_uppercase()});
    let times = side_by_side(
        vec![
            Contender::new("read", EACH, || Ok(reading.call("read_file", &note)?.took)),
            Contender::new("find", EACH, || Ok(looking.call("get_file_info", &other_case)?.took)),
            Contender::new("ping", EACH, || pinging.ping()),
        ],
        ground.rounds,
    )?;
    let [read, find, ping] = [0, 1, 2].map(|at| times[at].1.median());
    let notes = ground.notes;
    page.add(Row::new("`read_file`", notes).within(read, ping, "a ping", 1.25).told());
    let above = (read - ping) * 1e3;
    page.add(Row::new("`read_file`, beyond a ping", notes).alone(above, "µs", 50.0));
    let what = "`get_file_info`, the path in another case";
    page.add(Row::new(what, notes).within(find, ping, "a ping", 1.25).told());
    Ok(())
}

/// Looking up inside the process, without socket and JSON.
///
/// # Errors
///
/// The vault cannot be opened.
pub fn finding(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let state = TempDir::with_prefix_in("state-", ground.scratch)?;
    let (vault, _) = Vault::open(&ground.vault, state.path(), Settings::default(), &|_| {})?;
    let path = {
        let catalogue = vault.catalogue();
        let names = catalogue.files().map(|path| path.as_str().to_owned());
        let mut notes = names.filter(|path| path.ends_with(".md"));
        notes.nth(ground.notes / 2).context("the vault has no note")?
    };
    let spoken = path.to_uppercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    let link = name.trim_end_matches(".md").to_owned();
    let home = VaultPath::root();
    let each = |times: &mut Times, find: &dyn Fn() -> bool| -> Result<()> {
        let begun = Instant::now();
        for _ in 0..FINDS {
            anyhow::ensure!(black_box(find()), "`{path}` was not found");
        }
        times.add(begun.elapsed() / FINDS);
        Ok(())
    };
    let (mut wikilink, mut confirmed) = (Times::default(), Times::default());
    for _ in 0..ground.rounds {
        let catalogue = vault.catalogue();
        each(&mut wikilink, &|| {
            resolver::resolve_among(&*catalogue, &home, &link).target.is_some()
        })?;
        drop(catalogue);
        each(&mut confirmed, &|| vault.resolve(&spoken, Want::File).is_ok())?;
    }
    let micros = |times: &Times| times.median() * 1e3;
    let notes = ground.notes;
    page.add(Row::new("resolve a wikilink, in the process", notes).alone(
        micros(&wikilink),
        "µs",
        1.0,
    ));
    let what = "resolve a path in another case and look at the disk, in the process";
    let told = Row::new(what, notes).alone(micros(&confirmed), "µs", 0.0).told();
    page.add(told);
    saying(&vault, confirmed.median(), ground, page)?;
    vault.stop();
    Ok(())
}

/// Finding a note by its spoken name, compared with a `path` in another case.
fn saying(vault: &Vault, path: f64, ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    vault.watch();
    let names = Index::new(vault.clone()).names;
    let cancel = Cancel::default();
    let name_context =
        NameContext { vault, now: chrono::Utc::now().fixed_offset(), cancel: &cancel };
    let find = |said: &str| names.resolve(name_context, said, Want::File);
    let notes: Vec<String> = {
        let catalogue = vault.catalogue();
        let names = catalogue.files().filter(|path| path.is_note());
        names.map(|path| path.stem().to_lowercase()).collect()
    };
    let unique = notes.iter().find(|said| find(said).is_ok()).context("no name is unique")?;
    let nowhere = format!("{unique} elsewhere");
    let new = VaultPath::from_disk("A note that nobody has.md").context("a path")?;
    let (mut said, mut near, mut twin) = (Times::default(), Times::default(), Times::default());
    for _ in 0..ground.rounds * SAID {
        let time = |times: &mut Times, ask: &dyn Fn() -> bool| {
            let begun = Instant::now();
            black_box(ask());
            times.add(begun.elapsed());
        };
        time(&mut said, &|| find(unique).is_ok());
        time(&mut near, &|| find(&nowhere).is_err());
        time(&mut twin, &|| names.answering(name_context, &new, Want::File).is_empty());
    }
    for (what, times) in [
        ("a name said, in the process", &said),
        ("a name said that is nowhere, and what is near", &near),
        ("what answers to the name of a new note", &twin),
    ] {
        let row = Row::new(what, ground.notes).within(times.median(), path, "that path", 1.0);
        page.add(row.told());
    }
    Ok(())
}
