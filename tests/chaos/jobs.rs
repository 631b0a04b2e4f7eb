//! A job is killed at every kill point, and killed again while it is resumed.
//!
//! A first child dies while it applies a plan or undoes a job, a second one while it recovers and
//! resumes that. In the end it is resumed to completion, and the vault must be as the plan says;
//! then the job is undone, and the vault must be as before. Before each step the journal's record
//! of what is done is compared with where the notes are.

use std::path::Path;

use serde_json::{Value, json};
use vault_steward::chaos;
use vault_steward::note::code::ErrorCode;
use vault_steward::tools::{self, Context, Registry, ToolError};

use crate::crashes::{End, die_once, every_place, run_child, undisturbed_cases};
use crate::place::{self, Place};
use crate::report::{self, Line, Tally};
use crate::tree::{self, Entry, Tree};
use crate::vault::is_sound;

/// Double crashes in one CI run.
const RUNS: u64 = 500;

/// Kill points of the operation, over all cases.
const PLACES: u64 = 200;

/// Notes of the vault, `In/0.md` and so on, each with links to the next two.
const NOTES: usize = 7;

/// A plan and the interrupted operation on it.
struct Case {
    name: &'static str,
    /// From and to; no target: to the trash.
    items: &'static [(&'static str, Option<&'static str>)],
    /// A tag that each note that is not deleted gets.
    tag: bool,
    /// The most items that the job applies in one piece.
    piece: usize,
    /// Whether the undo is interrupted.
    undoes: bool,
}

const MOVES: &[(&str, Option<&str>)] = &[
    ("In/0.md", Some("Out/0.md")),
    ("In/1.md", Some("Out/Deep/1.md")),
    ("In/2.md", None),
    ("In/3.md", Some("In/three.md")),
    ("In/4.md", Some("Out/4.md")),
    ("In/5.md", Some("Out/5.md")),
];

/// Two that exchange paths, a cycle of three, and a chain.
const CIRCLES: &[(&str, Option<&str>)] = &[
    ("In/0.md", Some("In/1.md")),
    ("In/1.md", Some("In/0.md")),
    ("In/2.md", Some("In/3.md")),
    ("In/3.md", Some("In/4.md")),
    ("In/4.md", Some("In/2.md")),
    ("In/5.md", Some("In/6.md")),
    ("In/6.md", Some("Out/6.md")),
];

const CASES: &[Case] = &[
    Case { name: "a job", items: MOVES, tag: true, piece: 100, undoes: false },
    Case { name: "a job in pieces", items: MOVES, tag: true, piece: 2, undoes: false },
    Case { name: "circles", items: CIRCLES, tag: false, piece: 100, undoes: false },
    Case { name: "circles in pieces", items: CIRCLES, tag: true, piece: 3, undoes: false },
    Case { name: "undo a job", items: MOVES, tag: true, piece: 100, undoes: true },
    Case { name: "undo a job in pieces", items: MOVES, tag: true, piece: 2, undoes: true },
    Case { name: "undo circles", items: CIRCLES, tag: true, piece: 100, undoes: true },
    Case { name: "undo circles in pieces", items: CIRCLES, tag: true, piece: 3, undoes: true },
];

fn text(number: usize) -> String {
    let (next, other) = ((number + 1) % NOTES, (number + 2) % NOTES);
    format!("note {number}\nsee [[{next}]] and [that]({other}.md)\n")
}

impl Case {
    /// A vault with a plan, and with its job if that is to be undone.
    fn prepare(&self, folder: &Path) -> Place {
        let place = Place::begun_below(folder);
        let settings = r#"{"trashOption":"local","alwaysUpdateLinks":true}"#;
        std::fs::write(place.vault.join(".obsidian/app.json"), settings).unwrap();
        std::fs::create_dir(place.vault.join("In")).unwrap();
        for number in 0..NOTES {
            std::fs::write(place.vault.join(format!("In/{number}.md")), text(number)).unwrap();
        }
        let context = self.open(&place).expect("a sound vault opens");
        let item = |(path, to): &(&str, Option<&str>)| match to {
            Some(to) if self.tag => json!({ "path": path, "to": to, "tag": ["done"] }),
            Some(to) => json!({ "path": path, "to": to }),
            None => json!({ "path": path, "trash": true }),
        };
        let items: Vec<Value> = self.items.iter().map(item).collect();
        call(&context, "plan_changes", &json!({ "items": items })).expect("it is planned");
        if self.undoes {
            self.go_on(&context, false).expect("nothing disturbs it");
        }
        context.vault.stop();
        place
    }

    /// Opens the vault as a starting daemon does.
    fn open(&self, place: &Place) -> Result<Context, String> {
        let mut context = place.open()?;
        context.settings.organize.atomic_items = self.piece;
        tools::settle(&context).map_err(|error| error.text())?;
        Ok(context)
    }

    /// Applies the plan or resumes its job, or undoes the job, depending on the earlier state.
    fn go_on(&self, context: &Context, undoes: bool) -> Result<(), String> {
        let jobs = call(context, "list_jobs", &json!({}))?;
        let job = &jobs["jobs"][0];
        let plan = call(context, "show_plan", &json!({ "plan": 1 }))?;
        let mut given = json!({ "plan": 1, "identity": plan["identity"] });
        match (undoes, job["state"].as_str()) {
            (false, Some("completed")) | (true, Some("undone")) => return Ok(()),
            (true, Some("completed")) => {
                return call(context, "rollback_job", &json!({ "job": job["job"] })).map(drop);
            }
            (false, Some("interrupted")) => given["job"] = job["job"].clone(),
            (false, None) => {}
            (_, state) => return Err(format!("the job is {state:?}")),
        }
        call(context, "apply_plan", &given).map(drop)
    }

    /// Compares the journal's record of the job with where the notes are.
    fn compare(&self, context: &Context, found: &Tree) -> Result<(), String> {
        let jobs = call(context, "list_jobs", &json!({}))?;
        if jobs["total"] == 0 {
            return Ok(());
        }
        let job = call(context, "list_jobs", &json!({ "job": jobs["jobs"][0]["job"] }))?;
        for item in job["items"].as_array().into_iter().flatten() {
            let path = item["path"].as_str().unwrap_or_default();
            let number = path.trim_start_matches("In/").trim_end_matches(".md");
            let there = match (item["state"].as_str(), item["to"].as_str()) {
                (Some("done"), Some(to)) => to.to_owned(),
                (Some("done"), None) => format!(".trash/{number}.md"),
                _ => path.to_owned(),
            };
            let holds = |entry: &Entry| match entry {
                Entry::File(bytes) => {
                    String::from_utf8_lossy(bytes).contains(&format!("note {number}\n"))
                }
                Entry::Folder => false,
            };
            if !found.get(there.as_str()).is_some_and(holds) {
                return Err(format!("`{path}` is {} and not at `{there}`", item["state"]));
            }
        }
        Ok(())
    }
}

/// The trees of a vault before and after the plan is applied.
struct Both {
    before: Tree,
    after: Tree,
}

impl Both {
    /// Recovers, resumes to the end, and undoes the job.
    fn settle(&self, case: &Case, place: &Place) -> Result<(), String> {
        let context = case.open(place).map_err(|error| format!("recovery: {error}"))?;
        case.compare(&context, &tree::read(&place.vault))?;
        case.go_on(&context, case.undoes).map_err(|error| format!("going on: {error}"))?;
        if !case.undoes {
            self.is(&self.after, place)?;
            case.compare(&context, &tree::read(&place.vault))?;
            case.go_on(&context, true).map_err(|error| format!("undo: {error}"))?;
        }
        self.is(&self.before, place)?;
        case.compare(&context, &tree::read(&place.vault))?;
        let verified = context.journal.texts().verify().map_err(|error| error.to_string())?;
        context.vault.stop();
        if is_sound(&verified) {
            Ok(())
        } else {
            Err(format!("the journal is not sound: {verified:?}"))
        }
    }

    fn is(&self, wanted: &Tree, place: &Place) -> Result<(), String> {
        let found = tree::outside_trash(&tree::read(&place.vault));
        let wanted = tree::outside_trash(wanted);
        if wanted == found {
            Ok(())
        } else {
            Err(format!("it differs: {}", tree::difference(&wanted, &found)))
        }
    }
}

fn call(context: &Context, tool: &str, arguments: &Value) -> Result<Value, String> {
    let tool = Registry::built_in().get(tool).unwrap_or_else(|| panic!("no tool {tool}"));
    let fault = |error: ToolError| {
        let panicked = error.code == ErrorCode::IoError && error.message.contains("of its own");
        assert!(!panicked, "{}", error.text());
        error.text()
    };
    tools::call(tool, context, arguments).map(|answer| answer.read().data).map_err(fault)
}

/// The task of a child: runs the case, and dies at the `at`-th kill point since its beginning, or
/// since the start of the recovery.
///
/// # Errors
///
/// The product's error.
pub fn errand(place: &Place, case: usize, at: u64, recovers: bool) -> Result<(), String> {
    let case = &CASES[case];
    if recovers {
        chaos::arm(at);
    }
    let context = case.open(place)?;
    if !recovers {
        chaos::arm(at);
    }
    case.go_on(&context, case.undoes)?;
    let passed = chaos::passed();
    context.vault.stop();
    println!("{passed}");
    Ok(())
}

pub fn run() -> Vec<Line> {
    let places = Tally::new("places of jobs to crash at", PLACES);
    let runs = Tally::new("crashes of jobs with a crash in going on", RUNS);
    let states = undisturbed_cases(CASES.len(), &places, name, undisturbed);
    // Half of the runs die once, and report the number of kill points of the resumption.
    let first = report::evenly(every_place(&states), runs.wanted().div_ceil(2));
    let once = die_once(first, &runs, name, |case, both, at| one(case, both, at, 0));
    let pairs: Vec<_> = once
        .into_iter()
        .flat_map(|(case, both, at, passed)| (1..=passed).map(move |again| (case, both, at, again)))
        .collect();
    let all = pairs.len();
    let chosen = report::evenly(pairs, runs.wanted().div_ceil(2));
    report::each(chosen.len() as u64, &runs, |number| {
        let (case, both, at, again) = chosen[number as usize];
        match one(case, both, at, again) {
            Ok(_) => runs.count(1),
            Err(fault) => {
                runs.bad(format!("{}, killed at {at} and {again}: {fault}", name(case)));
            }
        }
    });
    vec![places.line(format!("{} cases", CASES.len())), runs.line(format!("{all} pairs of places"))]
}

fn name(case: usize) -> &'static str {
    CASES[case].name
}

/// The result of a case without a crash, and its number of kill points.
fn undisturbed(number: usize) -> Result<(Both, u64), String> {
    let folder = place::folder_in_memory();
    let case = &CASES[number];
    let place = case.prepare(folder.path());
    let now = tree::read(&place.vault);
    let End::Passed(passed) = run_child("job", &place, &[number as u64, 0, 0])? else {
        return Err("it died without being told to".to_owned());
    };
    let then = tree::read(&place.vault);
    let (before, after) = if case.undoes { (then, now) } else { (now, then) };
    let both = Both { before, after };
    if tree::outside_trash(&both.before) == tree::outside_trash(&both.after) {
        return Err("it changed nothing".to_owned());
    }
    both.settle(case, &place)?;
    Ok((both, passed))
}

/// Dies at the first point, and during the resumption at the second (0: not again). Returns how the last child ended.
fn one(number: usize, both: &Both, at: u64, again: u64) -> Result<End, String> {
    let folder = place::folder_in_memory();
    let case = &CASES[number];
    let place = case.prepare(folder.path());
    if let End::Passed(passed) = run_child("job", &place, &[number as u64, at, 0])? {
        return Err(format!("it passed {passed} places and did not die"));
    }
    let end = run_child("job", &place, &[number as u64, again, 1])?;
    both.settle(case, &place)?;
    Ok(end)
}
