//! The rows of a block: in memory of their own, or as they lie in the file they were saved in.

use std::ops::Deref;
use std::sync::Arc;

use super::map::{Map, Mask, ROWS};

/// The rows of a block. A cheap clone; whoever changes rows that others see, too, changes a copy.
#[derive(Clone)]
pub(super) struct Rows(Place);

#[derive(Clone)]
enum Place {
    Own(Arc<Vec<Mask>>),
    /// In this slot of the file, where nobody writes as long as they are seen.
    Mapped(Arc<Map>, u32),
}

impl Rows {
    /// No bit is set.
    pub fn empty() -> Self {
        Self::own(vec![[0; 8]; ROWS])
    }

    pub fn own(rows: Vec<Mask>) -> Self {
        Self(Place::Own(Arc::new(rows)))
    }

    /// As they lie in this slot, which the file must have; nothing is written there as long as
    /// they are somebody's.
    pub fn mapped(map: &Arc<Map>, slot: u32) -> Self {
        Self(Place::Mapped(Arc::clone(map), slot))
    }

    /// The same, to be changed.
    pub fn make_mut(&mut self) -> &mut [Mask] {
        if let Place::Mapped(map, slot) = &self.0 {
            *self = Self::own(map.rows(*slot).to_vec());
        }
        let Place::Own(rows) = &mut self.0 else { unreachable!("they are its own since") };
        Arc::make_mut(rows).as_mut_slice()
    }

    /// Whether nobody has changed the one since it was cloned from the other.
    pub fn are_still(&self, other: &Self) -> bool {
        std::ptr::eq(self.as_ptr(), other.as_ptr())
    }

    /// Bytes of memory of their own.
    pub fn bytes(&self) -> usize {
        match &self.0 {
            Place::Own(rows) => rows.capacity() * size_of::<Mask>(),
            Place::Mapped(..) => 0,
        }
    }
}

impl Deref for Rows {
    type Target = [Mask];

    fn deref(&self) -> &[Mask] {
        match &self.0 {
            Place::Own(rows) => rows,
            Place::Mapped(map, slot) => map.rows(*slot),
        }
    }
}
