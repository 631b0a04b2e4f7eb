//! The tasks of a child process that may be killed: this program, started again.

use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use vault_steward::chaos;

use crate::cases::CASES;
use crate::jobs;
use crate::model::Model;
use crate::operation::{self, Operation};
use crate::place::Place;
use crate::random::Random;
use crate::tree;

/// The first argument of a process that runs such a task.
const CHILD: &str = "--child";

/// A missing file that a child opens before it runs its case: by it the system call trace shows
/// where the case begins.
pub const BEGINS: &str = "/the act begins";

/// A task failed with an error of the product, which may be correct.
pub const REFUSED: u8 = 3;

/// This program again, with a task.
pub fn start(errand: &str, place: &Place) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args([CHILD, errand]).arg(&place.vault).arg(&place.state);
    // Settings of the machine must not matter; a panic should be readable.
    command.env_clear().env("RUST_BACKTRACE", "0").env("HOME", place.home());
    // A vault of seven notes has too little work for several threads.
    command.env("RAYON_NUM_THREADS", "1");
    command.stdin(Stdio::null());
    command
}

/// Runs the task that `arguments` name, if they name one.
pub fn errand(arguments: &[String]) -> Option<ExitCode> {
    let [first, errand, vault, state, rest @ ..] = arguments else { return None };
    if first != CHILD {
        return None;
    }
    let place = Place { vault: Path::new(vault).into(), state: Path::new(state).into() };
    let number = |at: usize| rest[at].parse().expect("a number");
    let done = match errand.as_str() {
        "act" => act(&place, number(0) as usize, number(1)),
        "job" => jobs::errand(&place, number(0) as usize, number(1), number(2) > 0),
        "work" => work(&place, number(0), number(1)),
        "recover" => recover(&place, rest.first().map_or(0, |_| number(0))),
        other => panic!("there is no errand `{other}`"),
    };
    Some(match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The parent may no longer be reading.
            let _ = writeln!(std::io::stdout(), "refused: {error}");
            ExitCode::from(REFUSED)
        }
    })
}

/// Runs a case, and dies at the `at`-th kill point; with 0 at none, and then it reports how many
/// there were.
fn act(place: &Place, case: usize, at: u64) -> Result<(), String> {
    let case = &CASES[case];
    if case.first {
        chaos::arm(at);
    }
    let context = place.open()?;
    if !case.first {
        chaos::arm(at);
        let _ = Path::new(BEGINS).exists();
    }
    for step in (case.act)() {
        step.run(&context)?;
    }
    let passed = chaos::passed();
    context.vault.stop();
    println!("{passed}");
    Ok(())
}

/// Recovers, and dies as [`act`] does.
fn recover(place: &Place, at: u64) -> Result<(), String> {
    chaos::arm(at);
    let context = place.open()?;
    let passed = chaos::passed();
    context.vault.stop();
    println!("{passed}");
    Ok(())
}

/// The operations of [`work`]: the same for the same seed on the same vault.
pub struct Plan {
    model: Model,
    random: Random,
}

impl Plan {
    /// For the vault at `place`. `lines` is greater than every line number in it.
    pub fn new(place: &Place, seed: u64, lines: u64) -> Self {
        Self::on(tree::read(&place.vault), seed, lines)
    }

    /// For a vault that holds `tree`.
    pub fn on(tree: tree::Tree, seed: u64, lines: u64) -> Self {
        Self { model: Model::new(tree, lines), random: Random::new(seed) }
    }

    /// The present content of the vault.
    pub fn tree(&self) -> &tree::Tree {
        &self.model.tree
    }

    /// The next operation, already applied to the model; whether it must be refused.
    pub fn next(&mut self) -> (Operation, bool) {
        loop {
            let operation = self.model.choose(&mut self.random);
            if matches!(operation, Operation::Outside(_)) {
                continue;
            }
            let after = self.model.after(&operation);
            let refused = after.is_none();
            self.model.tree = after.unwrap_or_else(|| self.model.tree.clone());
            return (operation, refused);
        }
    }
}

/// Runs one operation after another until it is stopped, and prints `ack` after each.
fn work(place: &Place, seed: u64, lines: u64) -> Result<(), String> {
    let mut plan = Plan::new(place, seed, lines);
    let context = place.open()?;
    let mut out = std::io::stdout();
    loop {
        let (operation, refused) = plan.next();
        match operation::perform(&context, &operation) {
            Err(error) if !refused => return Err(format!("{operation:?}: {}", error.text())),
            Ok(_) if refused => return Err(format!("{operation:?} is not refused")),
            _ => {}
        }
        out.write_all(b"ack\n").and_then(|()| out.flush()).map_err(|error| error.to_string())?;
    }
}
