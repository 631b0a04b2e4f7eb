//! Repeatable randomness: the same seed gives the same run.

/// A generator (SplitMix64): small, fast, and good enough for random choices.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> Option<&'a T> {
        if among.is_empty() { None } else { Some(&among[self.below(among.len())]) }
    }
}

/// The seed of this run: the one in `STEWARD_CHAOS_SEED`, or a fixed one, so that a failure in CI
/// fails here too.
pub fn seed() -> u64 {
    let asked = std::env::var("STEWARD_CHAOS_SEED").ok();
    asked.map_or(20_261_121, |text| text.parse().expect("STEWARD_CHAOS_SEED is a number"))
}
