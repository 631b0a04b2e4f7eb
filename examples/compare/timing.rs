//! Comparable timings: the programs take turns in one run.

use std::time::Duration;

use anyhow::Result;

/// The time of each repetition.
#[derive(Default, Clone)]
pub struct Times(Vec<Duration>);

impl Times {
    /// One more.
    pub fn add(&mut self, took: Duration) {
        self.0.push(took);
    }

    /// Adds the times of `other`.
    pub fn join(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    /// The number of times.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The time that this `share` of all does not exceed, in milliseconds; 0 without any.
    pub fn at(&self, share: f64) -> f64 {
        let mut all = self.0.clone();
        all.sort_unstable();
        let place = ((all.len() as f64 * share) as usize).min(all.len().saturating_sub(1));
        all.get(place).map_or(0.0, |took| took.as_secs_f64() * 1e3)
    }

    /// The median, in milliseconds.
    pub fn median(&self) -> f64 {
        self.at(0.5)
    }
}

/// One of the compared programs.
pub struct Contender<'a> {
    name: &'static str,
    /// Requests per round: a fast one is repeated more often, for a steadier figure.
    each: usize,
    action: Box<dyn FnMut() -> Result<Duration> + 'a>,
    times: Times,
}

impl<'a> Contender<'a> {
    /// `action` returns the time it took.
    pub fn new(
        name: &'static str,
        each: usize,
        action: impl FnMut() -> Result<Duration> + 'a,
    ) -> Self {
        Self { name, each, action: Box::new(action), times: Times::default() }
    }
}

/// Runs all in turn, in another order every round: two runs on one machine differ by more than the
/// compared programs. Each runs once before it counts. The times are in the order of the
/// contenders.
///
/// # Errors
///
/// Those of the actions.
pub fn side_by_side(
    mut contenders: Vec<Contender<'_>>,
    rounds: usize,
) -> Result<Vec<(&'static str, Times)>> {
    for contender in &mut contenders {
        (contender.action)()?;
    }
    for round in 0..rounds {
        let first = round % contenders.len();
        let (before, after) = contenders.split_at_mut(first);
        for contender in after.iter_mut().chain(before) {
            for _ in 0..contender.each {
                contender.times.add((contender.action)()?);
            }
        }
    }
    Ok(contenders.into_iter().map(|one| (one.name, one.times)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_hundred() {
        let mut times = Times::default();
        (1..=100).rev().for_each(|n| times.add(Duration::from_millis(n)));
        assert_eq!((times.median(), times.at(0.99), times.at(1.0)), (51.0, 100.0, 100.0));
        assert_eq!(Times::default().median(), 0.0);
    }
}
