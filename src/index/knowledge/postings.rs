//! Append-only lists of numbers, with one or two bytes each.
//!
//! For each number: its difference to the previous one, times two, as a variable-length integer; it is odd if a byte of
//! counts follows.

use crate::index::checksummed_file::{Fields, put};

/// The counts that take no byte.
pub(super) const ONCE: u8 = 1;

/// Numbers in ascending order, each with a byte of counts.
#[derive(Debug, Default)]
pub(super) struct Postings {
    bytes: Vec<u8>,
    last: u32,
}

impl Postings {
    /// Numbers as [`Self::parts`] gives them.
    pub fn of(bytes: &[u8], last: u32) -> Self {
        Self { bytes: bytes.to_vec(), last }
    }

    /// The bytes, and the last number.
    pub fn parts(&self) -> (&[u8], u32) {
        (&self.bytes, self.last)
    }

    /// Appends a number, which is not less than the last one.
    pub fn put(&mut self, number: u32, counts: u8) {
        let has_counts = counts != ONCE;
        // The longest difference takes five bytes.
        reserve(&mut self.bytes, 6);
        put(&mut self.bytes, u64::from(number - self.last) << 1 | u64::from(has_counts));
        if has_counts {
            self.bytes.push(counts);
        }
        self.last = number;
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, u8)> {
        let mut number = 0u32;
        let mut rest = Fields(&self.bytes);
        std::iter::from_fn(move || {
            let step = rest.packed()?;
            number = number.checked_add(u32::try_from(step >> 1).ok()?)?;
            let counts = if step & 1 == 0 { ONCE } else { *rest.bytes(1)?.first()? };
            Some((number, counts))
        })
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Memory in bytes besides its own size, without the allocator's overhead.
    pub fn memory(&self) -> usize {
        self.bytes.capacity()
    }
}

/// Appends to a list without doubling its capacity, since so many lists would be half empty.
pub(super) fn push<T>(list: &mut Vec<T>, item: T) {
    reserve(list, 1);
    list.push(item);
}

fn reserve<T>(list: &mut Vec<T>, more: usize) {
    if list.capacity() - list.len() < more {
        list.reserve_exact(more.max(list.len() / 8));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_read_back(mut numbers: Vec<(u32, u8)>) {
            numbers.sort_unstable();
            let mut postings = Postings::default();
            numbers.iter().for_each(|(number, counts)| postings.put(*number, *counts));
            prop_assert!(postings.iter().eq(numbers.iter().copied()));
            let (bytes, last) = postings.parts();
            prop_assert!(Postings::of(bytes, last).iter().eq(numbers));
        }

        #[test]
        fn any_bytes_are_read(bytes: Vec<u8>) {
            prop_assert!(Postings::of(&bytes, 0).iter().count() <= bytes.len());
        }
    }
}
