//! Random moves, checked by an independent checker: every link leads to the same file afterwards,
//! and no byte outside links has changed.
//!
//! The checker shares nothing with the code it checks: it finds links with its own parser, and
//! resolves them by a direct implementation of Obsidian's steps.

#[path = "../tools/vault.rs"]
#[allow(dead_code, reason = "the harness of the tools' tests")]
mod harness;

mod checker;
mod random;
mod real;
mod undo;

/// Numbers that depend only on the seed.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn below(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }

    fn of<'t, T: ?Sized>(&mut self, from: &[&'t T]) -> &'t T {
        from[self.below(from.len())]
    }
}

/// Runs `check` for each seed, several at once, since a move mostly waits for the disk. Returns the
/// sums of the counts.
fn spread<const N: usize>(seeds: u64, check: impl Fn(u64) -> [u64; N] + Sync) -> [u64; N] {
    let add = |sum: [u64; N], one: [u64; N]| std::array::from_fn(|at| sum[at] + one[at]);
    let part = |number| (1..=seeds).filter(|seed| seed % 4 == number).map(&check).fold([0; N], add);
    let part = &part;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|number| scope.spawn(move || part(number))).collect();
        let sums = threads.into_iter().map(|thread| thread.join());
        sums.map(|sum| sum.expect("every link led where it led")).fold([0; N], add)
    })
}
