//! Compares the daemon with other programs on generated vaults, and writes the results as a page.
//!
//! Started by `benches/compare`, which builds everything and installs what is missing. The daemon
//! is a release build that gets requests over its WebSocket like any client's; the other programs
//! are what a client without a daemon would start. All of them take turns within one run. This
//! program only measures, and says whether a figure meets its target.

mod client;
mod daemon;
mod machine;
mod peers;
mod profile;
mod report;
mod rows;
mod smoke;
mod timing;
#[path = "../../benches/support/vaultgen.rs"]
mod vaultgen;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::Parser;

use daemon::Home;
use peers::Peers;
use profile::Profiles;
use report::{Page, thousands};
use rows::Ground;

/// Notes of a vault in which a request takes the other programs so long that few rounds have to do.
const LARGE: usize = 100_000;

/// Notes of a vault in which it takes them so long that one round has to do.
const HUGE: usize = 1_000_000;

/// Notes of the vault in which git changes ten thousand files.
const CHECKOUT: usize = 10_000;

/// Notes of each of the vaults that are served at the same time.
const MANY: usize = 10_000;

/// Notes of the vault that is searched on one core, on two, and so on, unless another number is
/// given.
const CORES: usize = 10_000;

/// Compares the daemon with other programs.
#[derive(Parser)]
#[command(name = "benches/compare")]
struct Options {
    /// The sizes of the vaults.
    #[arg(long, value_delimiter = ',', default_value = "1000,10000,100000")]
    notes: Vec<usize>,
    /// Rounds of each measurement; by default 7, 3 from a hundred thousand notes on, and 1 from a
    /// million on.
    #[arg(long)]
    rounds: Option<usize>,
    /// The seed of the vaults.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Keep the vaults in this folder, and reuse them.
    #[arg(long)]
    keep: Option<PathBuf>,
    /// The page to write; without it the figures are only printed.
    #[arg(long)]
    page: Option<PathBuf>,
    /// Measure only these: search, matches, list, read, find, names, query, knowledge, jobs, start,
    /// memory, many, change, checkout, wire, crowd, cores, kept, doors, plugin, servers, outside.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Numbers of cores for `cores`; by default 1, 2, 4 and so on.
    #[arg(long, value_delimiter = ',')]
    cores: Vec<usize>,
    /// Profile rows that miss their targets, with `perf`, into this folder.
    #[arg(long)]
    profile: Option<PathBuf>,
    /// Only compare the results of a few hundred patterns with those of `rg`, in a small vault.
    #[arg(long)]
    smoke: bool,
    /// The program to measure; `benches/compare` builds it and passes it here.
    #[arg(long)]
    steward: PathBuf,
}

/// The kinds of measurements, in this order.
const KINDS: [&str; 22] = [
    "search",
    "matches",
    "list",
    "read",
    "find",
    "names",
    "query",
    "knowledge",
    "jobs",
    "start",
    "memory",
    "many",
    "change",
    "checkout",
    "wire",
    "crowd",
    "cores",
    "kept",
    "doors",
    "plugin",
    "servers",
    "outside",
];

fn main() -> ExitCode {
    // Helper roles of this program: the other end of a connection, a guest, and a process that
    // keeps a core awake.
    match std::env::args().nth(1).as_deref() {
        Some("--echo") => return ended(rows::wire::echo()),
        Some("--guest") => return ended(rows::outside::answer_as_guest()),
        Some("--spin") => loop {
            std::hint::spin_loop();
        },
        _ => {}
    }
    ended(run(&Options::parse()))
}

fn ended(result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("compare: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    if let Some(unknown) = options.only.iter().find(|kind| !KINDS.contains(&kind.as_str())) {
        bail!("there is nothing to measure called `{unknown}`: it is {}", KINDS.join(", "));
    }
    if options.cores.contains(&0) {
        bail!("`--cores` must be at least 1 each");
    }
    if options.rounds == Some(0) {
        bail!("`--rounds` must be at least 1");
    }
    let steward = options.steward.canonicalize();
    let steward =
        steward.with_context(|| format!("no program at `{}`", options.steward.display()))?;
    let peers = Peers::find()?;
    let scratch = tempfile::Builder::new().prefix("steward-compare-").tempdir()?;
    let folder = options.keep.as_deref().unwrap_or(scratch.path());
    if options.smoke {
        let vault = scratch.path().join("vault");
        vaultgen::generate(&vault, smoke::NOTES, options.seed)?;
        let patterns = 400;
        let hits =
            smoke::check(&steward, &peers.rg, &vault, scratch.path(), patterns, options.seed)?;
        println!("{patterns} patterns find what rg finds; {hits} of them find something");
        return Ok(());
    }
    let begun = Instant::now();
    let machine = machine::described(&steward, &peers);
    println!("{machine}");
    let mut page = Page::default();
    let mut profiles =
        options.profile.as_deref().and_then(|folder| Profiles::at(folder, &machine, &mut page));
    let mut base = None;
    for (at, &notes) in options.notes.iter().enumerate() {
        let ground = |vault: PathBuf| -> Result<Ground<'_>> {
            let home = Home::new(scratch.path())?;
            let rounds = options.rounds.unwrap_or(match notes {
                HUGE.. => 1,
                LARGE.. => 3,
                _ => 7,
            });
            let (steward, peers, scratch) = (&*steward, &peers, scratch.path());
            Ok(Ground { steward, vault, notes, rounds, home, peers, scratch })
        };
        println!("\n{} notes (after {} s)", thousands(notes), begun.elapsed().as_secs());
        let vault = folder.join(format!("vault-{notes}-{}", options.seed));
        generated(&vault, notes, options.seed)?;
        let ground_here = ground(vault)?;
        for kind in KINDS {
            if !options.only.is_empty() && !options.only.iter().any(|wanted| wanted == kind) {
                continue;
            }
            let (here, page) = (&ground_here, &mut page);
            let first = page.count();
            let measured = match kind {
                "search" => rows::search::measure(here, page),
                "matches" => rows::search::all_matches(here, page),
                "list" => rows::listing::measure(here, page),
                "read" => rows::reading::measure(here, page),
                "find" => rows::reading::finding(here, page),
                "names" => rows::naming::measure(here, page),
                "query" => rows::query::measure(here, page),
                "knowledge" => rows::knowledge::measure(here, page),
                "jobs" => (|| {
                    // A separate vault, since its links are changed.
                    let vault = scratch.path().join(format!("moved-{notes}"));
                    generated(&vault, notes, options.seed)?;
                    rows::jobs::measure(&ground(vault)?, page)
                })(),
                "start" => rows::start::measure(here, page),
                "memory" => (|| {
                    if base.is_none() {
                        base = rows::memory::base(here, page)?;
                    }
                    rows::memory::measure(here, page, base)
                })(),
                // Ten times the notes of the larger vaults would fill a disk.
                "many" if notes == MANY => rows::many::measure(here, page),
                "change" => rows::change::measure(here, page),
                "checkout" if notes == CHECKOUT => (|| {
                    // A separate vault, since its files are changed.
                    let vault = scratch.path().join("checked-out");
                    generated(&vault, notes, options.seed)?;
                    rows::start::checkout(&ground(vault)?, page)
                })(),
                "wire" => rows::wire::measure(here, page),
                "crowd" => rows::crowd::measure(here, page),
                "cores" if notes == CORES || options.only.iter().any(|wanted| wanted == kind) => {
                    rows::cores::measure(here, page, &options.cores)
                }
                // The number of notes does not affect conversations.
                "kept" if at == 0 => {
                    rows::kept::append(here, page).and_then(|()| rows::kept::list(here, page))
                }
                "doors" => rows::doors::measure(here, page),
                "plugin" => rows::plugin::measure(here, page),
                "servers" => rows::servers::measure(here, page),
                "outside" => rows::outside::measure(here, page),
                _ => Ok(()),
            };
            measured
                .with_context(|| format!("measuring `{kind}` at {} notes", thousands(notes)))?;
            let missed = page.missed_from(first);
            if let Some(profiles) = profiles.as_mut().filter(|_| !missed.is_empty()) {
                let link = profiles.take(kind, &missed, here, page);
                let link = link.with_context(|| format!("a profile of `{kind}`"))?;
                link.iter().for_each(|link| page.explain_from(first, link));
            }
        }
    }
    let (met, all) = page.met();
    println!("\n{met} of {all} targets are met; took {} s", begun.elapsed().as_secs());
    if let Some(path) = &options.page {
        let about = about(options, &machine, begun.elapsed().as_secs());
        page.write(path, &about)?;
        println!("written to {}", path.display());
    }
    Ok(())
}

/// Generates a vault unless it exists.
fn generated(vault: &Path, notes: usize, seed: u64) -> Result<()> {
    if vault.exists() {
        return Ok(());
    }
    let made = vaultgen::generate(vault, notes, seed)
        .with_context(|| format!("could not generate `{}`", vault.display()))?;
    println!(
        "  generated {} notes of {} bytes on average, {} folders, {} attachments",
        thousands(made.notes),
        made.note_bytes / (made.notes as u64).max(1),
        thousands(made.folders),
        thousands(made.attachments)
    );
    Ok(())
}

/// The text above the figures.
fn about(options: &Options, machine: &str, seconds: u64) -> String {
    let only = if options.only.is_empty() {
        String::new()
    } else {
        format!(" --only {}", options.only.join(","))
    };
    let rounds = options.rounds.map(|rounds| format!(" --rounds {rounds}")).unwrap_or_default();
    let notes: Vec<String> = options.notes.iter().map(usize::to_string).collect();
    format!(
        "Written by `benches/compare --notes {}{rounds} --seed {}{only}`, which takes {seconds} \
         seconds here. Do not edit the figures; the text after them is written by hand and stays.\n\n\
         {machine}\n\n\
         The daemon is a release build; a client in Rust sends requests over its WebSocket, and checks \
         each answer after the clock has stopped. The other programs are started as a process for each \
         request, and all of their output is read. All run in turn, in one run; figures are medians \
         unless they say otherwise. The page cache is warm for all, patterns have been requested once \
         before they count, and the server's rate limit is lifted, since one program stands for many. \
         `search_files` answers with the ten newest files and their context; `rg -n -C2` prints every \
         match: each does the work that its user waits for. Each pattern of the judged mix contains three \
         letters in a row that its matches have; the mix with two patterns that no index can narrow is \
         shown next to it, and those two are judged separately. Absolute times vary by a factor of two \
         and more with the load of the machine, ratios by less.\n",
        notes.join(","),
        options.seed,
    )
}
