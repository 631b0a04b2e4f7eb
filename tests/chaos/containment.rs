//! Names replaced by links to the outside between a check and its use: as many rounds as the
//! kernel's own test of `openat2`, in two forms.

use crate::report::{Line, Tally};
use crate::swap::Swap;

const ROUNDS: u64 = 400_000;

pub fn run() -> Vec<Line> {
    let shapes = [("a note", "note.md", "note.md"), ("a folder", "Folder", "Folder/note.md")];
    shapes.into_iter().map(|(what, name, file)| one(what, name, file)).collect()
}

fn one(what: &str, name: &str, file: &str) -> Line {
    let tally = Tally::new(format!("{what} becomes a link to the outside"), ROUNDS);
    let rounds = usize::try_from(tally.wanted()).expect("small");
    match Swap::new(name, file).read(file, rounds) {
        Ok((opened, refused)) => {
            tally.count((opened + refused) as u64);
            tally.line(format!("{opened} opened, {refused} refused, none outside"))
        }
        Err(escape) => {
            tally.bad(format!("{what}: {escape}"));
            tally.line("")
        }
    }
}
