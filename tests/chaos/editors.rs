//! Lost updates: an editor saves while the steward does, ten thousand times in each of two ways.

use crate::place::{self, Place};
use crate::races::{self, Save};
use crate::report::{Line, Tally};

const EPISODES: u64 = 10_000;

/// Episodes in one vault, before a new one is used, so that leftovers of earlier ones are not
/// searched again.
const IN_ONE_VAULT: usize = 500;

pub fn run() -> Vec<Line> {
    let ways: [(&str, Save); 2] = [("in place", races::in_place), ("by rename", races::by_rename)];
    ways.into_iter().map(|(way, save)| one(way, save)).collect()
}

fn one(way: &str, save: Save) -> Line {
    let tally = Tally::new(format!("lost updates, editor saves {way}"), EPISODES);
    let (mut applied, mut refused) = (0, 0);
    // One vault at a time: the two programs that race need the two cores.
    let mut left = usize::try_from(tally.wanted()).expect("small");
    while left > 0 && !tally.given_up() {
        let episodes = left.min(IN_ONE_VAULT);
        let folder = place::folder_in_memory();
        let place = Place::below(folder.path());
        let context = place.open().expect("a fresh vault opens");
        let recovery = place.state.join("recovery");
        match races::race(&context, &place.vault, &recovery, episodes, save) {
            Ok(ended) => {
                applied += ended.applied;
                refused += ended.refused;
                tally.count(episodes as u64);
            }
            Err(error) => tally.bad(format!("editor saves {way}: {error}")),
        }
        context.vault.stop();
        left -= episodes;
    }
    tally.line(format!("{applied} applied, {refused} refused"))
}
