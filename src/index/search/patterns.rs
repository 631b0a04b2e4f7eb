//! Patterns compiled lately: compiling one can cost more than searching for it.

use std::sync::{Arc, Mutex, PoisonError};

use super::matcher::{Pattern, PatternError};

/// Patterns kept.
const KEPT: usize = 24;

/// Places in all patterns kept together; the latest is kept however many it has. A pattern that is
/// used fills up to 300 bytes of working memory a place: a word has one a letter, `\w` some seven
/// hundred, and 24 patterns of many such classes would hold eighty megabytes.
const PLACES: usize = 24_000;

pub(in crate::index) type Key = (String, Option<bool>);

/// The patterns used last, the latest at the end.
#[derive(Default)]
pub(in crate::index) struct Patterns(Mutex<Vec<(Key, Arc<Pattern>)>>);

impl Patterns {
    /// As [`Pattern::compile`].
    pub fn get(
        &self,
        pattern: &str,
        ignore_case: Option<bool>,
    ) -> Result<Arc<Pattern>, PatternError> {
        {
            let mut kept = self.lock();
            let found = |((text, case), _): &(Key, _)| *case == ignore_case && text == pattern;
            if let Some(at) = kept.iter().position(found) {
                let latest = kept.remove(at);
                let compiled = Arc::clone(&latest.1);
                kept.push(latest);
                return Ok(compiled);
            }
        }
        // Nobody waits while one is compiled; two who do it at once are no harm.
        let compiled = Arc::new(Pattern::compile(pattern, ignore_case)?);
        let mut kept = self.lock();
        kept.push(((pattern.to_owned(), ignore_case), Arc::clone(&compiled)));
        let mut places = 0_usize;
        let fits = |(_, pattern): &&(Key, Arc<Pattern>)| {
            places = places.saturating_add(pattern.places());
            places <= PLACES
        };
        let keep = kept.iter().rev().take(KEPT).take_while(fits).count().max(1);
        let oldest = kept.len() - keep;
        let gone: Vec<_> = kept.drain(..oldest).collect();
        drop(kept);
        // Outside the lock: there may be much to let go of.
        drop(gone);
        Ok(compiled)
    }

    /// Lets go of the latest one if it is so large that it is kept for the search under way alone.
    pub fn let_go_of_large(&self) {
        let gone = self.lock().pop_if(|(_, pattern)| pattern.places() > PLACES);
        drop(gone);
    }

    /// How many are kept.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    pub(in crate::index) fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(Key, Arc<Pattern>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_kept() {
        let patterns = Patterns::default();
        let first = patterns.get("first", None).expect("compiled");
        for n in 0..KEPT - 1 {
            patterns.get(&format!("p{n}"), None).expect("compiled");
            assert!(Arc::ptr_eq(&first, &patterns.get("first", None).expect("kept")));
        }
        assert!(!Arc::ptr_eq(&first, &patterns.get("first", Some(true)).expect("another")));
        assert_eq!(patterns.len(), KEPT);
        assert!(patterns.get("(", None).is_err());
        // Large ones leave room for few.
        for n in 0..KEPT {
            patterns.get(&format!(r"\w{{10}}x{n}"), None).expect("compiled");
        }
        assert!((2..=4).contains(&patterns.len()), "{} large ones", patterns.len());
        for n in 0..3 {
            let large = patterns.get(&format!(r"\w{{20}}x{n}"), None).expect("compiled");
            assert!(large.places() > PLACES / 2, "{}", large.places());
            let kept = patterns.lock().last().map(|(_, kept)| Arc::ptr_eq(kept, &large));
            assert_eq!(kept, Some(true), "the one in use is kept");
        }
        assert_eq!(patterns.len(), 1, "two so large are too much");
        patterns.let_go_of_large();
        assert_eq!(patterns.len(), 1, "it is not as large as that");
        patterns.get(r"\w{100}", None).expect("compiled");
        patterns.let_go_of_large();
        assert_eq!(patterns.len(), 0, "nothing is kept beside one so large, and it not for long");
        for n in 0..KEPT {
            patterns.get(&format!("p{n}"), None).expect("compiled");
        }
        assert_eq!(patterns.len(), KEPT, "what does not compile is not kept");
    }
}
