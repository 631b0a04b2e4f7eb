//! A cache of compiled patterns: compiling can cost more than searching.

use std::sync::{Arc, Mutex};

use super::matcher::{Pattern, PatternError};
use crate::locks::lock;

/// Maximum number of patterns.
const MAX_CACHED: usize = 24;

/// Maximum number of places of all cached patterns; the last pattern is cached in any case. A pattern in use takes up
/// to 300 bytes of working memory for each place: a word has one for each letter, `\w` about seven hundred, and 24
/// patterns of many such classes would take eighty megabytes.
const PLACES: usize = 24_000;

/// Maximum bytes of a pattern that is compiled without handing it to another thread.
const SMALL: usize = 100;

pub(in crate::index) type Key = (String, Option<bool>);

/// The patterns, the last used at the end.
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
            let mut cache = self.lock();
            let found = |((text, case), _): &(Key, _)| *case == ignore_case && text == pattern;
            if let Some(at) = cache.iter().position(found) {
                let latest = cache.remove(at);
                let compiled = Arc::clone(&latest.1);
                cache.push(latest);
                return Ok(compiled);
            }
        }
        // The lock is not held while compiling; compiling a pattern twice does no harm.
        let compiled = Arc::new(Pattern::compile(pattern, ignore_case)?);
        let mut cache = self.lock();
        cache.push(((pattern.to_owned(), ignore_case), Arc::clone(&compiled)));
        let mut places = 0_usize;
        let fits = |(_, pattern): &&(Key, Arc<Pattern>)| {
            places = places.saturating_add(pattern.places());
            places <= PLACES
        };
        let keep = cache.iter().rev().take(MAX_CACHED).take_while(fits).count().max(1);
        let oldest = cache.len() - keep;
        let gone: Vec<_> = cache.drain(..oldest).collect();
        drop(cache);
        // Freed outside the lock, since it may take long.
        drop(gone);
        Ok(compiled)
    }

    /// Whether [`Self::get`] takes little time: the pattern is cached, or short and without classes and repetitions of
    /// many states.
    pub fn is_quick(&self, pattern: &str, ignore_case: Option<bool>) -> bool {
        let is_it = |((text, case), _): &(Key, _)| *case == ignore_case && text == pattern;
        let is_small = || pattern.len() <= SMALL && !pattern.contains(['\\', '[', '{']);
        self.0.try_lock().is_ok_and(|cache| cache.iter().any(is_it) || is_small())
    }

    /// Drops the last pattern if it is too large to be cached.
    pub fn drop_large(&self) {
        let gone = self.lock().pop_if(|(_, pattern)| pattern.places() > PLACES);
        drop(gone);
    }

    pub fn len(&self) -> usize {
        self.lock().len()
    }

    pub(in crate::index) fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(Key, Arc<Pattern>)>> {
        lock(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_used_patterns_are_kept() {
        let patterns = Patterns::default();
        let first = patterns.get("first", None).expect("compiled");
        for n in 0..MAX_CACHED - 1 {
            patterns.get(&format!("p{n}"), None).expect("compiled");
            assert!(Arc::ptr_eq(&first, &patterns.get("first", None).expect("kept")));
        }
        assert!(!Arc::ptr_eq(&first, &patterns.get("first", Some(true)).expect("another")));
        assert_eq!(patterns.len(), MAX_CACHED);
        assert!(patterns.get("(", None).is_err());
        // Few large patterns fit.
        for n in 0..MAX_CACHED {
            patterns.get(&format!(r"\w{{10}}x{n}"), None).expect("compiled");
        }
        assert!((2..=4).contains(&patterns.len()), "{} large ones", patterns.len());
        for n in 0..3 {
            let large = patterns.get(&format!(r"\w{{20}}x{n}"), None).expect("compiled");
            assert!(large.places() > PLACES / 2, "{}", large.places());
            let cache = patterns.lock().last().map(|(_, cache)| Arc::ptr_eq(cache, &large));
            assert_eq!(cache, Some(true), "the one in use is kept");
        }
        assert_eq!(patterns.len(), 1, "two so large are too much");
        patterns.drop_large();
        assert_eq!(patterns.len(), 1, "it is not as large as that");
        patterns.get(r"\w{100}", None).expect("compiled");
        patterns.drop_large();
        assert_eq!(
            patterns.len(),
            0,
            "nothing is cached next to one so large, and that not for long"
        );
        for n in 0..MAX_CACHED {
            patterns.get(&format!("p{n}"), None).expect("compiled");
        }
        assert_eq!(patterns.len(), MAX_CACHED, "what does not compile is not kept");
    }
}
