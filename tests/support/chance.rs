//! Randomness that depends only on the seed.

#[derive(Debug)]
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    /// True once in this many times.
    pub fn once_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}
