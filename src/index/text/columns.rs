//! The signatures of all pieces of text, bit-sliced: a row for each bit, a column for each piece.
//!
//! A block has 512 columns, so that a row of a block is one cache line and a query about some rows reads as
//! many cache lines in each block. Columns are only added; a removed one is dead until its block is cleared.
//! Blocks are shared with the thread that saves them, and copied on write.
//!
//! Pairs of neighbouring classes are stored for 64 adjacent columns together, one bit for each 64 columns of
//! a block. Such a bit stays set until the block is cleared.

use std::sync::Arc;

use super::plan::Plan;
use super::signature::{OWN, PAIRS, Signature};

/// One bit for each column of a block.
pub type Mask = [u64; WIDTH / 64];

/// Rows of a block: one for each of a column's own bits, and those of the pairs, with a byte for
/// each pair.
pub const ROWS: usize = OWN + PAIRS / size_of::<Mask>();

/// The rows of a block, shared and copied on write.
pub(super) type Rows = Arc<[Mask]>;

/// Columns of a block.
pub const WIDTH: usize = 512;

/// Owner id of an unowned column.
const UNOWNED: u32 = u32::MAX;

/// Owner id of a column of a damaged block, which is not used before the block is cleared.
const LOST: u32 = u32::MAX - 1;

/// Where a block is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    /// Number of the slot in the file.
    pub number: u32,
    /// Checksum of the saved block.
    pub sum: u64,
    /// Whether the block has not changed since.
    pub same: bool,
}

struct Block {
    rows: Rows,
    /// The columns with an owner.
    live: Mask,
    saved: Option<Slot>,
}

impl Block {
    fn new() -> Self {
        Self { rows: [[0; 8]].repeat(ROWS).into(), live: [0; 8], saved: None }
    }

    fn rows_mut(&mut self) -> &mut [Mask] {
        if let Some(slot) = &mut self.saved {
            slot.same = false;
        }
        Arc::make_mut(&mut self.rows)
    }

    fn count(&self) -> usize {
        self.live.iter().map(|word| word.count_ones() as usize).sum()
    }
}

/// All columns. Owners are ids of notes.
#[derive(Default)]
pub(super) struct Columns {
    blocks: Vec<Block>,
    owners: Vec<u32>,
    /// Slots that the table on disk names, including those of blocks that were cleared since: they must not
    /// be overwritten.
    named: Vec<u32>,
    /// Blocks without a live column, which can be cleared and reused.
    free: Vec<usize>,
    /// The block that is being filled, and how many of its columns are used.
    open: usize,
    taken: usize,
}

impl Columns {
    /// The unowned columns of saved blocks. `None` is a damaged block.
    pub fn of(blocks: Vec<Option<(Rows, Slot)>>) -> Self {
        let owner = |block: &Option<_>| if block.is_some() { UNOWNED } else { LOST };
        let owners = blocks.iter().flat_map(|block| [owner(block); WIDTH]).collect();
        let block = |saved: Option<(Rows, Slot)>| match saved {
            Some((rows, slot)) => Block { rows, live: [0; 8], saved: Some(slot) },
            None => Block::new(),
        };
        let blocks: Vec<Block> = blocks.into_iter().map(block).collect();
        let named = blocks.iter().filter_map(|block| Some(block.saved?.number)).collect();
        let taken = if blocks.is_empty() { 0 } else { WIDTH };
        let open = blocks.len().saturating_sub(1);
        Self { open, taken, blocks, owners, named, free: Vec::new() }
    }

    /// Gives saved columns an owner. They must exist and be unowned.
    pub fn adopt(&mut self, owner: u32, first: u32, count: u32) {
        for column in first..first + count {
            self.owners[column as usize] = owner;
            let (block, word, bit) = place(column);
            self.blocks[block].live[word] |= bit;
        }
    }

    /// Whether these columns exist and are unowned.
    pub fn are_free(&self, first: u32, count: u32) -> bool {
        let range = first as usize..first as usize + count as usize;
        self.owners.get(range).is_some_and(|owners| owners.iter().all(|owner| *owner == UNOWNED))
    }

    /// Call it after the last [`Self::adopt`]: blocks without an owner can be reused.
    pub fn adopted(&mut self) {
        let unused = |at: &usize| *at != self.open && self.blocks[*at].count() == 0;
        self.free = (0..self.blocks.len()).filter(unused).collect();
    }

    /// Adds adjacent columns. Returns the first.
    pub fn add(&mut self, owner: u32, signatures: &[Signature]) -> u32 {
        let first = self.allocate(signatures.len());
        for (signature, column) in signatures.iter().zip(first..) {
            let (block, word, bit) = place(column);
            let block = &mut self.blocks[block];
            block.live[word] |= bit;
            let rows = block.rows_mut();
            for (at, bits) in signature.iter().enumerate() {
                let mut bits = *bits;
                while bits != 0 {
                    let row = at * 64 + bits.trailing_zeros() as usize;
                    match row.checked_sub(OWN) {
                        None => rows[row][word] |= bit,
                        Some(pair) => {
                            let (row, place, shift) = place_of_pair(pair);
                            rows[row][place] |= 1 << (shift + word);
                        }
                    }
                    bits &= bits - 1;
                }
            }
            self.owners[column as usize] = owner;
        }
        first
    }

    /// Allocates adjacent columns. Returns the first.
    fn allocate(&mut self, count: usize) -> u32 {
        if count == 0 {
            return 0;
        }
        let left = self.open;
        if self.taken + count > WIDTH {
            if let Some(free) = self.take_free(count.div_ceil(WIDTH)) {
                (self.open, self.taken) = (free, 0);
            } else if self.open + 1 < self.blocks.len() {
                // Only the last block can continue in the next one.
                (self.open, self.taken) = (self.blocks.len(), 0);
            }
        }
        let first = self.open * WIDTH + self.taken;
        let end = first + count;
        while self.blocks.len() * WIDTH < end {
            self.grow();
        }
        self.open = (end - 1) / WIDTH;
        self.taken = (end - 1) % WIDTH + 1;
        // A block that died while it was being filled is not in `free` yet.
        let is_dead = |block: &Block| block.live == [0; 8];
        if !(first / WIDTH..=self.open).contains(&left)
            && self.blocks.get(left).is_some_and(is_dead)
        {
            self.free.push(left);
        }
        u32::try_from(first).expect("a vault's text has under 2^32 pieces")
    }

    /// Clears so many adjacent free blocks. Returns the first.
    fn take_free(&mut self, count: usize) -> Option<usize> {
        let at = match count {
            1 => self.free.len().checked_sub(1)?,
            _ => {
                self.free.sort_unstable();
                let mut runs = self.free.windows(count);
                runs.position(|run| run[count - 1] - run[0] == count - 1)?
            }
        };
        let first = self.free[at];
        self.free.drain(at..at + count);
        self.blocks[first..first + count].fill_with(Block::new);
        self.owners[first * WIDTH..(first + count) * WIDTH].fill(UNOWNED);
        Some(first)
    }

    fn grow(&mut self) {
        self.blocks.push(Block::new());
        self.owners.resize(self.blocks.len() * WIDTH, UNOWNED);
    }

    pub fn remove(&mut self, first: u32, count: u32) {
        for column in first..first + count {
            self.owners[column as usize] = UNOWNED;
            let (at, word, bit) = place(column);
            let block = &mut self.blocks[at];
            block.live[word] &= !bit;
            if block.live == [0; 8] && at != self.open {
                self.free.push(at);
            }
        }
    }

    /// The owners in the emptiest block, if it is less than half full.
    pub fn wasteful(&self) -> Option<Vec<u32>> {
        let counted = self.blocks.iter().enumerate().map(|(at, block)| (block.count(), at));
        let full = counted.filter(|(count, at)| *at != self.open && *count > 0);
        let (_, at) = full.min().filter(|(count, _)| *count * 2 < WIDTH)?;
        let mut owners = self.owners[at * WIDTH..(at + 1) * WIDTH].to_vec();
        owners.retain(|owner| *owner != UNOWNED);
        owners.dedup();
        Some(owners)
    }

    /// Calls `found` with the owner of every column that may match.
    pub fn select(&self, plan: &Plan, mut found: impl FnMut(u32)) {
        for (at, block) in self.blocks.iter().enumerate() {
            if block.live == [0; 8] {
                continue;
            }
            let mask = select(plan, &block.rows, &block.live);
            for (word, bits) in mask.into_iter().enumerate() {
                let first = at * WIDTH + word * 64;
                let mut bits = bits;
                while bits != 0 {
                    found(self.owners[first + bits.trailing_zeros() as usize]);
                    bits &= bits - 1;
                }
            }
        }
    }

    /// A function that tells whether one of some columns may match; it evaluates each block once.
    pub fn ask<'a>(&'a self, plan: &'a Plan) -> impl FnMut(u32, u32) -> bool {
        let mut known: Vec<Option<Mask>> = vec![None; self.blocks.len()];
        move |first, count| {
            (first..first + count).any(|column| {
                let (at, word, bit) = place(column);
                let block = &self.blocks[at];
                known[at].get_or_insert_with(|| select(plan, &block.rows, &block.live))[word] & bit
                    != 0
            })
        }
    }

    /// Every block and where it is saved.
    pub fn blocks(&self) -> Vec<(Rows, Option<Slot>)> {
        self.blocks.iter().map(|block| (block.rows.clone(), block.saved)).collect()
    }

    /// Slots that the table on disk names.
    pub fn named_slots(&self) -> &[u32] {
        &self.named
    }

    /// Stores where blocks were saved, and which rows were saved.
    pub fn saved(&mut self, blocks: &[(Rows, Slot)]) {
        self.named = blocks.iter().map(|(_, slot)| slot.number).collect();
        for (block, (rows, slot)) in self.blocks.iter_mut().zip(blocks) {
            block.saved = Some(Slot { same: Arc::ptr_eq(&block.rows, rows), ..*slot });
        }
    }

    pub fn bytes(&self) -> usize {
        self.blocks.len() * ROWS * size_of::<Mask>()
            + self.blocks.capacity() * size_of::<Block>()
            + self.owners.capacity() * size_of::<u32>()
    }
}

/// The columns of `within` that may match.
fn select(plan: &Plan, rows: &[Mask], within: &Mask) -> Mask {
    match plan {
        Plan::All => *within,
        Plan::Nothing => [0; 8],
        Plan::Row(row) => both(&with_bit(rows, *row), within),
        Plan::And(all) => {
            let mut left = *within;
            for plan in all {
                left = select(plan, rows, &left);
                if left == [0; 8] {
                    break;
                }
            }
            left
        }
        Plan::Or(any) => {
            let mut found = [0; 8];
            for plan in any {
                let more = select(plan, rows, within);
                found = std::array::from_fn(|at| found[at] | more[at]);
                if found == *within {
                    break;
                }
            }
            found
        }
    }
}

fn both(a: &Mask, b: &Mask) -> Mask {
    std::array::from_fn(|at| a[at] & b[at])
}

/// The columns of a block that may have this bit of a signature.
fn with_bit(rows: &[Mask], bit: u16) -> Mask {
    let Some(pair) = usize::from(bit).checked_sub(OWN) else { return rows[usize::from(bit)] };
    let (row, place, shift) = place_of_pair(pair);
    let groups = rows[row][place] >> shift;
    std::array::from_fn(|word| 0_u64.wrapping_sub(groups >> word & 1))
}

/// The row of a pair, the word in the row, and the first bit of the pair's byte in the word.
fn place_of_pair(pair: usize) -> (usize, usize, usize) {
    let bytes = size_of::<Mask>();
    (OWN + pair / bytes, pair % bytes / 8, pair % 8 * 8)
}

/// A column's block, word and bit.
fn place(column: u32) -> (usize, usize, u64) {
    let column = column as usize;
    (column / WIDTH, column % WIDTH / 64, 1 << (column % 64))
}

#[cfg(test)]
mod tests {
    use super::super::signature::{bits, letter, sign};
    use super::*;
    use proptest::prelude::*;

    fn chosen(columns: &Columns, plan: &Plan) -> Vec<u32> {
        let mut owners = Vec::new();
        columns.select(plan, |owner| owners.push(owner));
        owners.sort_unstable();
        owners.dedup();
        owners
    }

    /// The bit of a pair of ASCII letters.
    fn pair_of(two: &str) -> u16 {
        let letters: Option<Vec<_>> = two.chars().map(letter).collect();
        bits(&letters.expect("no line end"))[0]
    }

    #[test]
    fn a_pair_is_found_in_its_64_columns_only() {
        let mut columns = Columns::default();
        let signatures: Vec<Signature> = (0..3 * WIDTH)
            .map(|n| sign(if n == 100 || n == 700 { b"zq" } else { b"ab" }))
            .collect();
        for (owner, signature) in signatures.iter().enumerate() {
            columns.add(owner as u32, std::slice::from_ref(signature));
        }
        let zq = Plan::Row(pair_of("zq"));
        let expected: Vec<u32> = (64..128).chain(640..704).collect();
        assert_eq!(chosen(&columns, &zq), expected);
        for (first, count, found) in
            [(127, 1, true), (128, 1, false), (0, 64, false), (0, 65, true)]
        {
            assert_eq!(columns.ask(&zq)(first, count), found);
        }
        let taken: Vec<u32> = (0..WIDTH as u32).collect();
        taken.iter().for_each(|column| columns.remove(*column, 1));
        let expected: Vec<u32> = (640..704).collect();
        assert_eq!(chosen(&columns, &zq), expected, "unowned columns are not found");
    }

    #[test]
    fn rewriting_a_note_takes_no_more_room() {
        for others in [0, 400, 600] {
            for pieces in [1, 3, 700] {
                let mut columns = Columns::default();
                let signatures = vec![sign(b"a note"); pieces];
                for owner in 0..others {
                    columns.add(owner, &signatures[..1]);
                }
                let mut first = columns.add(others, &signatures);
                let (before, most) = (columns.blocks.len(), 2 * pieces.div_ceil(WIDTH) + 1);
                for _ in 0..3_000 {
                    columns.remove(first, pieces as u32);
                    first = columns.add(others, &signatures);
                }
                let now = columns.blocks.len();
                assert!(now <= before + most, "{others}, {pieces}: {before}, then {now}");
            }
        }
    }

    #[test]
    fn named_slots_are_kept_until_the_next_save() {
        let mut columns = Columns::default();
        let signature = [sign(b"a note")];
        let at: Vec<u32> = (0..2 * WIDTH).map(|_| columns.add(1, &signature)).collect();
        let slots = |columns: &Columns, numbers: [u32; 2]| -> Vec<(Rows, Slot)> {
            let slot = |number| Slot { number, sum: 0, same: true };
            columns.blocks().into_iter().map(|(rows, _)| rows).zip(numbers.map(slot)).collect()
        };
        columns.saved(&slots(&columns, [4, 7]));
        at[..WIDTH].iter().for_each(|at| columns.remove(*at, 1));
        columns.add(2, &signature);
        assert!(columns.blocks()[0].1.is_none(), "the first block was cleared");
        assert_eq!(columns.named_slots(), [4, 7]);
        columns.saved(&slots(&columns, [5, 7]));
        assert_eq!(columns.named_slots(), [5, 7]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn columns_are_those_of_their_owners(
            steps in prop::collection::vec((0_u32..12, 0_usize..700, "[a-e]{3,6}"), 1..24)
        ) {
            let mut columns = Columns::default();
            let mut model = std::collections::BTreeMap::<u32, (u32, Vec<Signature>)>::new();
            for (owner, count, text) in steps {
                if let Some((first, old)) = model.remove(&owner) {
                    columns.remove(first, old.len() as u32);
                }
                let signatures = vec![sign(text.as_bytes()); count % 5 * count / 4];
                let first = columns.add(owner, &signatures);
                model.insert(owner, (first, signatures));
                if let Some(owners) = columns.wasteful() {
                    for owner in owners {
                        let Some((first, owner_signatures)) = model.get_mut(&owner) else {
                            panic!("a column has an owner")
                        };
                        columns.remove(*first, owner_signatures.len() as u32);
                        *first = columns.add(owner, owner_signatures);
                    }
                }
            }
            for pair in ["ab", "ee", "zz"] {
                let plan = Plan::Row(pair_of(pair));
                let allowed = |owner_signatures: &[Signature]| owner_signatures.iter().any(|owner_signatures| plan.allows(owner_signatures));
                let chosen = chosen(&columns, &plan);
                for (owner, (first, owner_signatures)) in &model {
                    let within = chosen.contains(owner);
                    prop_assert!(within || !allowed(owner_signatures), "{} has {}", owner, pair);
                    prop_assert_eq!(columns.ask(&plan)(*first, owner_signatures.len() as u32), within);
                }
                prop_assert!(pair != "zz" || chosen.is_empty());
            }
            for text in ["abc", "eee", "cde"] {
                let signature = sign(text.as_bytes());
                let at = signature.iter().position(|word| *word != 0).expect("three classes");
                let row = at * 64 + signature[at].trailing_zeros() as usize;
                let plan = Plan::Row(row as u16);
                let allowed = |owner_signatures: &[Signature]| owner_signatures.iter().any(|owner_signatures| plan.allows(owner_signatures));
                let expected: Vec<u32> = model
                    .iter()
                    .filter(|(_, (_, owner_signatures))| allowed(owner_signatures))
                    .map(|(owner, _)| *owner)
                    .collect();
                prop_assert_eq!(chosen(&columns, &plan), expected.clone());
                let mut ask = columns.ask(&plan);
                for (owner, (first, owner_signatures)) in &model {
                    let count = owner_signatures.len() as u32;
                    prop_assert_eq!(ask(*first, count), expected.contains(owner));
                }
            }
        }
    }
}
