//! The process dies, and before the next start someone continues to edit one of the notes: in place
//! or by replacing the file, at its beginning or its end. Their text stays, and no link breaks that
//! the operation itself would not break.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;

use serde_json::json;
use vault_steward::tools::{self, Context};

use crate::cases::CASES;
use crate::crashes::{End, run_child};
use crate::place::{self, Place};
use crate::report::{self, Line, Tally};
use crate::tree::{self, Entry};
use crate::vault::is_sound;

const RUNS: u64 = 3_000;

/// The text that another program writes.
const WORDS: &str = "written meanwhile";

/// A case, and how many links of its vault may lead nowhere.
struct Known {
    case: usize,
    places: u64,
    broken: u64,
}

pub fn run() -> Vec<Line> {
    let tally = Tally::new("somebody writes between a crash and the next start", RUNS);
    let known = Mutex::new(Vec::new());
    report::each(CASES.len() as u64, &tally, |number| match undisturbed(number as usize) {
        Ok(one) => known.lock().expect("no panic").push(one),
        Err(fault) => tally.bad(format!("{}: {fault}", CASES[number as usize].name)),
    });
    let mut known = known.into_inner().expect("no panic");
    known.sort_by_key(|known| known.case);
    // Every note of the vault in turn, at each kill point, in each of four ways.
    let all: Vec<(&Known, u64, u64)> = known
        .iter()
        .flat_map(|known| (1..=known.places).map(move |at| (known, at)))
        .flat_map(|(known, at)| (0..40).map(move |way| (known, at, way)))
        .collect();
    let found = all.len();
    let chosen = report::evenly(all, tally.wanted());
    let ended = Mutex::new(BTreeMap::<&str, u64>::new());
    report::each(chosen.len() as u64, &tally, |number| {
        let (known, at, way) = chosen[number as usize];
        match one(known, at, way) {
            Ok(end) => {
                *ended.lock().expect("no panic").entry(end).or_default() += 1;
                tally.count(1);
            }
            Err(fault) => {
                let name = CASES[known.case].name;
                tally.bad(format!("{name}, killed at {at}, written in way {way}: {fault}"));
            }
        }
    });
    let ended = ended.into_inner().expect("no panic");
    let ended: Vec<_> = ended.iter().map(|(end, times)| format!("{times} {end}")).collect();
    vec![tally.line(format!("of {found}; {}", ended.join(", ")))]
}

fn undisturbed(case: usize) -> Result<Known, String> {
    let folder = place::folder_in_memory();
    let place = CASES[case].prepare(folder.path());
    let before = match CASES[case].first {
        // Nobody may have opened it yet.
        true => 0,
        false => broken(&place)?,
    };
    let End::Passed(places) = run_child("act", &place, &[case as u64, 0])? else {
        return Err("it died without being told to".to_owned());
    };
    Ok(Known { case, places, broken: before.max(broken(&place)?) })
}

fn broken(place: &Place) -> Result<u64, String> {
    let context = place.open()?;
    let broken = broken_in(&context);
    context.vault.stop();
    broken
}

fn broken_in(context: &Context) -> Result<u64, String> {
    let wanted = json!({ "kind": "unresolved" });
    let tool = tools::Registry::built_in().find("list_links");
    let answer = tool.and_then(|tool| tools::call(tool, context, &wanted));
    let answer = answer.map_err(|error| error.to_string())?;
    answer.data.value()["total"].as_u64().ok_or_else(|| "no number".to_owned())
}

fn one(known: &Known, at: u64, way: u64) -> Result<&'static str, String> {
    let folder = place::folder_in_memory();
    let place = CASES[known.case].prepare(folder.path());
    if let End::Passed(passed) = run_child("act", &place, &[known.case as u64, at])? {
        return Err(format!("it passed {passed} places and did not die"));
    }
    let notes: Vec<(String, Vec<u8>)> = tree::outside_trash(&tree::read(&place.vault))
        .into_iter()
        .filter(|(path, _)| path.ends_with(".md"))
        .filter_map(|(path, entry)| match entry {
            Entry::File(bytes) => Some((path, bytes)),
            Entry::Folder => None,
        })
        .collect();
    let (path, text) = &notes[(way / 4) as usize % notes.len()];
    let words = format!("{WORDS}\n").into_bytes();
    let text = match way % 2 {
        0 => [&words[..], text].concat(),
        _ => [text, &words[..]].concat(),
    };
    let note = place.vault.join(path);
    match way / 2 % 2 {
        0 => fs::write(&note, &text).expect("saved"),
        _ => {
            let new_file = folder.path().join("saving");
            fs::write(&new_file, &text).expect("written");
            fs::rename(&new_file, &note).expect("saved");
        }
    }
    let context = place.open().map_err(|error| format!("recovery: {error}"))?;
    let looked = look(known, &place, &context, path);
    context.vault.stop();
    looked
}

fn look(
    known: &Known,
    place: &Place,
    context: &Context,
    path: &str,
) -> Result<&'static str, String> {
    let found = tree::read(&place.vault);
    let holds = |entry: &Entry| match entry {
        Entry::File(bytes) => String::from_utf8_lossy(bytes).contains(WORDS),
        Entry::Folder => false,
    };
    let end = match found.iter().find(|(_, entry)| holds(entry)) {
        None => return Err(format!("what was written in `{path}` is nowhere")),
        Some((now, _)) if now == path => "at the same path",
        Some((now, _)) if now.starts_with(".trash/") => "in the trash",
        Some(_) => "moved with its note",
    };
    if let Some(hidden) = found.keys().find(|path| path.contains(".~vs")) {
        return Err(format!("`{hidden}` is left"));
    }
    let broken = broken_in(context)?;
    if broken > known.broken {
        let most = known.broken;
        return Err(format!("`{path}` was written; {broken} links lead nowhere instead of {most}"));
    }
    let again = context.journal.recover().map_err(|error| format!("again: {error}"))?;
    if (again.completed, again.rolled_back) != (0, 0) {
        return Err(format!("there was something left to recover: {again:?}"));
    }
    let verified = context.journal.texts().verify().map_err(|error| format!("verify: {error}"))?;
    if is_sound(&verified) {
        Ok(end)
    } else {
        Err(format!("the journal is not sound: {verified:?}"))
    }
}
