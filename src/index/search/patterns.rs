//! Patterns compiled lately: compiling one can cost more than searching for it.

use std::sync::{Arc, Mutex, PoisonError};

use super::matcher::{Pattern, PatternError};

/// Patterns kept. Each may have some megabytes of working memory.
const KEPT: usize = 24;

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
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push(((pattern.to_owned(), ignore_case), Arc::clone(&compiled)));
        Ok(compiled)
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
        assert_eq!(patterns.len(), KEPT, "what does not compile is not kept");
    }
}
