//! Interning of property names, values and tags.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::bases::typed::Typed;
use crate::bases::value::Text;

/// Interned texts by number, with spellings that differ only in case linked. Entries are never removed: there are few,
/// and most recur.
#[derive(Debug, Clone, Default)]
pub(super) struct Spellings {
    texts: Vec<Text>,
    /// For each text, the number of the first spelling that equals it but for case.
    groups: Vec<u32>,
    numbers: HashMap<Text, u32>,
    /// By the key that all spellings share.
    firsts: HashMap<Box<str>, u32>,
}

impl Spellings {
    pub fn text(&self, number: u32) -> &Text {
        &self.texts[number as usize]
    }

    pub fn group(&self, number: u32) -> u32 {
        self.groups[number as usize]
    }

    /// The number of this exact spelling.
    pub fn number(&self, text: &str) -> Option<u32> {
        self.numbers.get(text).copied()
    }

    /// The number of the first spelling with this key.
    pub fn first(&self, key: &str) -> Option<u32> {
        self.firsts.get(key).copied()
    }

    /// Every key and its first spelling.
    pub fn keys(&self) -> impl Iterator<Item = (&str, u32)> {
        self.firsts.iter().map(|(key, number)| (&**key, *number))
    }

    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Interns a spelling. `key` is equal for all spellings of a name.
    pub fn add(&mut self, text: &str, key: impl FnOnce(&str) -> String) -> u32 {
        if let Some(number) = self.number(text) {
            return number;
        }
        let number = small(self.texts.len());
        let text = Text::from(text);
        let group = *self.firsts.entry(key(&text).into()).or_insert(number);
        self.groups.push(group);
        self.numbers.insert(Arc::clone(&text), number);
        self.texts.push(text);
        number
    }

    pub fn memory(&self) -> usize {
        // The text, its two reference counts, its key, and an entry in each of the two maps.
        let each = |text: &Text| 2 * text.len() + 16 + 80;
        self.texts.iter().map(each).sum()
    }
}

/// Reference-counted distinct values by number.
#[derive(Debug, Clone, Default)]
pub(super) struct Values {
    values: Vec<Typed>,
    /// Reference counts.
    uses: Vec<u32>,
    free: Vec<u32>,
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Values {
    pub fn get(&self, number: u32) -> &Typed {
        &self.values[number as usize]
    }

    /// Interns a value and increments its count.
    pub fn intern(&mut self, value: Typed) -> u32 {
        let Self { values, uses, free, numbers, hasher } = self;
        let hash = hasher.hash_one(&value);
        if let Some(number) = numbers.find(hash, |number| values[*number as usize] == value) {
            uses[*number as usize] += 1;
            return *number;
        }
        let number = free.pop().unwrap_or_else(|| {
            values.push(Typed::Null);
            uses.push(0);
            small(values.len() - 1)
        });
        values[number as usize] = value;
        uses[number as usize] = 1;
        numbers.insert_unique(hash, number, |other| hasher.hash_one(&values[*other as usize]));
        number
    }

    /// Decrements a value's count.
    pub fn leave(&mut self, number: u32) {
        let at = number as usize;
        self.uses[at] -= 1;
        if self.uses[at] > 0 {
            return;
        }
        let hash = self.hasher.hash_one(&self.values[at]);
        if let Ok(found) = self.numbers.find_entry(hash, |other| *other == number) {
            found.remove();
        }
        self.values[at] = Typed::Null;
        self.free.push(number);
    }

    /// Releases spare capacity.
    pub fn shrink_to_fit(&mut self) {
        self.values.shrink_to_fit();
        self.uses.shrink_to_fit();
    }

    pub fn memory(&self) -> usize {
        self.values.capacity() * size_of::<Typed>()
            + (self.uses.capacity() + self.free.capacity()) * size_of::<u32>()
            + self.numbers.allocation_size()
            + self.values.iter().map(heap_bytes).sum::<usize>()
    }
}

fn heap_bytes(value: &Typed) -> usize {
    // A shared text has two reference counts.
    let text = |text: &Text| 16 + text.len();
    match value {
        Typed::Text(own) => text(own),
        Typed::Link(link) => {
            size_of::<(Text, Option<Text>)>() + text(&link.0) + link.1.as_ref().map_or(0, text)
        }
        Typed::List(items) => size_of_val(&**items) + items.iter().map(heap_bytes).sum::<usize>(),
        Typed::Object(entries) => {
            let inside = entries.iter().map(|(key, value)| text(key) + heap_bytes(value));
            size_of_val(&**entries) + inside.sum::<usize>()
        }
        Typed::Null
        | Typed::Bool(_)
        | Typed::Number(_)
        | Typed::Local { .. }
        | Typed::Instant(_) => 0,
    }
}

/// Short runs of numbers in one vector, compacted from time to time.
#[derive(Debug, Clone)]
pub(super) struct Runs<T> {
    all: Vec<T>,
    gone: usize,
}

impl<T> Default for Runs<T> {
    fn default() -> Self {
        Self { all: Vec::new(), gone: 0 }
    }
}

/// The place of a run. Compact, since every file has two.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, packed(2))]
pub(super) struct Run {
    at: u32,
    length: u16,
}

impl<T: Copy> Runs<T> {
    pub fn get(&self, run: Run) -> &[T] {
        &self.all[run.at as usize..][..usize::from(run.length)]
    }

    /// Adds a run of at most 65,535 items; further ones are dropped.
    pub fn add(&mut self, items: &[T]) -> Run {
        let length = u16::try_from(items.len()).unwrap_or(u16::MAX);
        let run = Run { at: small(self.all.len()), length };
        self.all.extend_from_slice(&items[..usize::from(length)]);
        run
    }

    pub fn remove(&mut self, run: Run) {
        self.gone += usize::from(run.length);
    }

    /// Whether more than a third is unused.
    pub fn is_fragmented(&self) -> bool {
        self.gone > 1_024 && self.gone > self.all.len() / 3
    }

    /// Compacts to these runs and updates their places.
    pub fn compact<'r>(&mut self, runs: impl Iterator<Item = &'r mut Run>) {
        let old = std::mem::take(self);
        for run in runs {
            *run = self.add(old.get(*run));
        }
    }

    /// Releases spare capacity.
    pub fn shrink_to_fit(&mut self) {
        self.all.shrink_to_fit();
    }

    pub fn memory(&self) -> usize {
        self.all.capacity() * size_of::<T>()
    }
}

/// Converts a count to `u32`; memory ends before four billion entries.
pub(super) fn small(number: usize) -> u32 {
    u32::try_from(number).expect("memory ends before four billion rows")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_kept_once_and_as_long_as_somebody_has_it() {
        let mut values = Values::default();
        let text = |text: &str| Typed::Text(text.into());
        let [a, b, again] = ["a", "b", "a"].map(|it| values.intern(text(it)));
        assert_eq!((a == b, a == again), (false, true));
        values.leave(a);
        assert_eq!(values.get(a), &text("a"));
        values.leave(a);
        assert_eq!(values.intern(text("c")), a, "its place is free");
        assert_eq!((values.get(a), values.get(b)), (&text("c"), &text("b")));
        assert_ne!(values.intern(text("a")), a);
    }

    #[test]
    fn runs_are_the_same_after_closing_up() {
        let mut runs = Runs::default();
        let mut kept: Vec<Run> = Vec::new();
        for number in 0..3_000u32 {
            let run = runs.add(&[number, number]);
            if number % 2 == 0 { kept.push(run) } else { runs.remove(run) }
        }
        assert!(runs.is_fragmented());
        runs.compact(kept.iter_mut());
        assert!(!runs.is_fragmented());
        assert_eq!(runs.all.len(), 3_000);
        assert!((0..).step_by(2).zip(&kept).all(|(number, run)| runs.get(*run) == [number; 2]));
    }
}
