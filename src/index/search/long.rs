//! Interruptible matching of long lines.
//!
//! The engine cannot be stopped within a line, and a large pattern can take minutes on a line of some megabytes.
//! So it gets only as many whole lines at once as it can match in a fraction of a second, and a longer line is
//! matched here, step by step, with the engine's own automaton.

use std::sync::OnceLock;

use grep_matcher::{ByteSet, LineMatchKind, LineTerminator, Match, Matcher};
use grep_regex::{RegexCaptures, RegexMatcher};
use regex_automata::Input;
use regex_automata::hybrid::dfa::DFA;
use regex_automata::nfa::thompson::{self, NFA, State, WhichCaptures};
use regex_automata::util::primitives::StateID;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::Limit;

/// Maximum working memory of a compiled pattern for each thread, in bytes.
pub(super) const MAX_WORKING: usize = 2 << 20;

/// Maximum and minimum bytes that the engine gets at once.
const MAX_PIECE: usize = 256 << 10;
const MIN_PIECE: usize = 2 << 10;

/// Maximum steps of the engine at once, if it follows every path through the pattern.
const ENGINE_STEPS: usize = 256 << 20;

/// Bytes between two checks of the time. Each can add a state to the automaton, which takes up to 0.1 ms for the
/// largest patterns.
const STRIDE: usize = 256;

/// States between two checks of the time, without an automaton.
const STEPS: usize = 1 << 16;

/// The time is over, or the search was cancelled.
#[derive(Debug)]
pub(super) struct TimeOver;

/// The message from which the searcher makes its own error.
pub(super) const TIME_OVER: &str = "the time limit was reached within a line";

impl std::fmt::Display for TimeOver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(TIME_OVER)
    }
}

/// Matches a long line step by step. The automata are built when they are first needed.
pub(super) struct Walker {
    hir: Option<Hir>,
    size_limit: usize,
    /// About the number of places in the pattern.
    places: usize,
    /// Bytes that the engine gets at once.
    at_once: usize,
    made: OnceLock<Option<Automata>>,
}

struct Automata {
    nfa: NFA,
    dfa: Option<DFA>,
}

impl Walker {
    /// A walker for this pattern.
    pub fn new(hir: Option<Hir>, size_limit: usize) -> Self {
        let places = hir.as_ref().map_or(usize::MAX, paths).max(1);
        let at_once = (ENGINE_STEPS / places).clamp(MIN_PIECE, MAX_PIECE);
        Self { hir, size_limit, places, at_once, made: OnceLock::new() }
    }

    /// About the number of places in the pattern, with repetitions unrolled.
    pub fn places(&self) -> usize {
        self.places
    }

    /// Bytes that the engine can match in a fraction of a second.
    pub fn at_once(&self) -> usize {
        self.at_once
    }

    fn automata(&self) -> Option<&Automata> {
        let make = || {
            let config = thompson::Config::new()
                .utf8(false)
                .which_captures(WhichCaptures::None)
                .nfa_size_limit(Some(self.size_limit));
            let nfa = thompson::Compiler::new()
                .configure(config)
                .build_from_hir(self.hir.as_ref()?)
                .ok()?;
            // It never gives up, since it can be stopped.
            let config = DFA::config()
                .unicode_word_boundary(true)
                .cache_capacity(MAX_WORKING)
                .skip_cache_capacity_check(true);
            let dfa = DFA::builder().configure(config).build_from_nfa(nfa.clone()).ok();
            Some(Automata { nfa, dfa })
        };
        self.made.get_or_init(make).as_ref()
    }

    /// Whether a line matches, without its line end. `None` if it cannot be matched here.
    fn is_match(&self, line: &[u8], limit: &Limit) -> Option<Result<bool, TimeOver>> {
        let automata = self.automata()?;
        let walked = automata.dfa.as_ref().and_then(|dfa| walk(dfa, line, limit));
        Some(walked.unwrap_or_else(|| simulate(&automata.nfa, line, limit)))
    }
}

/// About the number of places in a pattern, with repetitions unrolled.
fn paths(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(Class::Unicode(class)) => class.ranges().len(),
        HirKind::Class(Class::Bytes(class)) => class.ranges().len(),
        HirKind::Capture(capture) => paths(&capture.sub),
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1);
            paths(&repetition.sub).saturating_mul(times as usize)
        }
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().map(paths).fold(0, usize::saturating_add)
        }
    }
}

/// Runs the automaton; `None` if it gives up, at a word boundary next to a non-ASCII character.
fn walk(dfa: &DFA, line: &[u8], limit: &Limit) -> Option<Result<bool, TimeOver>> {
    let mut cache = dfa.create_cache();
    let mut state = dfa.start_state_forward(&mut cache, &Input::new(line)).ok()?;
    for part in line.chunks(STRIDE) {
        if limit.reached() {
            return Some(Err(TimeOver));
        }
        for byte in part {
            state = dfa.next_state(&mut cache, state, *byte).ok()?;
            if state.is_tagged() {
                if state.is_match() {
                    return Some(Ok(true));
                } else if state.is_dead() {
                    return Some(Ok(false));
                } else if state.is_quit() {
                    return None;
                }
            }
        }
    }
    let end = dfa.next_eoi_state(&mut cache, state).ok()?;
    (!end.is_quit()).then(|| Ok(end.is_match()))
}

fn simulate(nfa: &NFA, line: &[u8], limit: &Limit) -> Result<bool, TimeOver> {
    let mut seen = vec![usize::MAX; nfa.states().len()];
    let (mut now, mut next): (Vec<StateID>, Vec<StateID>) = (Vec::new(), Vec::new());
    let mut steps = STEPS;
    for at in 0..=line.len() {
        now.push(nfa.start_anchored());
        next.clear();
        while let Some(id) = now.pop() {
            steps += 1;
            if steps >= STEPS {
                if limit.reached() {
                    return Err(TimeOver);
                }
                steps = 0;
            }
            if std::mem::replace(&mut seen[id.as_usize()], at) == at {
                continue;
            }
            let byte = line.get(at).copied();
            match nfa.state(id) {
                State::Match { .. } => return Ok(true),
                State::Fail => {}
                State::ByteRange { trans } => {
                    next.extend(byte.filter(|b| trans.matches_byte(*b)).map(|_| trans.next));
                }
                State::Sparse(all) => next.extend(byte.and_then(|b| all.matches_byte(b))),
                State::Dense(all) => next.extend(byte.and_then(|b| all.matches_byte(b))),
                State::Look { look, next } => {
                    if nfa.look_matcher().matches(*look, line, at) {
                        now.push(*next);
                    }
                }
                State::Union { alternates } => {
                    steps += alternates.len();
                    now.extend(alternates.iter());
                }
                State::BinaryUnion { alt1, alt2 } => now.extend([*alt1, *alt2]),
                State::Capture { next, .. } => now.push(*next),
            }
        }
        std::mem::swap(&mut now, &mut next);
    }
    Ok(false)
}

/// Feeds the engine pieces of limited length.
pub(super) struct Interruptible<'a> {
    pub engine: &'a RegexMatcher,
    pub walker: &'a Walker,
    pub limit: &'a Limit,
}

impl Interruptible<'_> {
    /// Whether a line has a match, its end left out.
    fn line(&self, line: &[u8]) -> Result<bool, TimeOver> {
        match self.walker.is_match(line, self.limit) {
            Some(outcome) => outcome,
            None => Ok(self.engine.is_match(line).unwrap_or(false)),
        }
    }
}

impl Matcher for Interruptible<'_> {
    type Captures = RegexCaptures;
    type Error = TimeOver;

    fn find_at(&self, haystack: &[u8], at: usize) -> Result<Option<Match>, TimeOver> {
        Ok(self.engine.find_at(haystack, at).unwrap_or_default())
    }

    fn new_captures(&self) -> Result<RegexCaptures, TimeOver> {
        self.engine.new_captures().map_err(|_| TimeOver)
    }

    /// For a long line only the existence of a match is exact, not its place: the searcher, which
    /// works line by line, asks nothing else.
    fn shortest_match_at(&self, haystack: &[u8], at: usize) -> Result<Option<usize>, TimeOver> {
        if haystack.len() > self.walker.at_once && at == 0 {
            return Ok(self.line(haystack)?.then_some(haystack.len()));
        }
        Ok(self.engine.shortest_match_at(haystack, at).unwrap_or_default())
    }

    fn non_matching_bytes(&self) -> Option<&ByteSet> {
        self.engine.non_matching_bytes()
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        self.engine.line_terminator()
    }

    fn find_candidate_line(&self, haystack: &[u8]) -> Result<Option<LineMatchKind>, TimeOver> {
        let candidate = |part| self.engine.find_candidate_line(part).unwrap_or_default();
        let at_once = self.walker.at_once;
        if haystack.len() <= at_once {
            return Ok(candidate(haystack));
        }
        let newline = |byte: &u8| *byte == b'\n';
        let mut start = 0;
        while start < haystack.len() {
            if self.limit.reached() {
                return Err(TimeOver);
            }
            let rest = &haystack[start..];
            let end = match rest.iter().take(at_once).rposition(newline) {
                Some(at) => at + 1,
                None => rest.iter().position(newline).map_or(rest.len(), |at| at + 1),
            };
            let part = &rest[..end];
            let found = if part.len() <= at_once {
                candidate(part)
            } else {
                let line = part.strip_suffix(b"\n").unwrap_or(part);
                self.line(line)?.then_some(LineMatchKind::Confirmed(0))
            };
            match found {
                Some(LineMatchKind::Confirmed(at)) => {
                    return Ok(Some(LineMatchKind::Confirmed(start + at)));
                }
                Some(LineMatchKind::Candidate(at)) => {
                    return Ok(Some(LineMatchKind::Candidate(start + at)));
                }
                None => start += end,
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::index::search::matcher::Pattern;
    use crate::vault::Cancel;
    use proptest::prelude::*;

    fn limit(time: Duration) -> Limit {
        Limit { until: Instant::now() + time, cancel: Cancel::default() }
    }

    #[test]
    fn a_line_ends_a_search_whose_time_is_over() {
        let line = "ab ".repeat(1 << 20);
        // With both automata, and with a cancelled search.
        for pattern in [r"(a.{90}){4}c", r"\b(ü|a.{90}){4}c\b"] {
            let pattern = Pattern::compile(pattern, None).expect("a pattern");
            let over = limit(Duration::ZERO);
            assert!(pattern.interruptible(&over).line(line.as_bytes()).is_err());
            let withdrawn = limit(Duration::from_secs(1000));
            withdrawn.cancel.cancel();
            assert!(pattern.interruptible(&withdrawn).line(line.as_bytes()).is_err());
            assert!(
                pattern.interruptible(&withdrawn).find_candidate_line(line.as_bytes()).is_err()
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        #[test]
        fn a_line_matches_step_by_step_as_at_once(
            pattern in "(([aksKſß. ]|[kx]?|\\[[a-k]{1,2}\\]|\\([ask]{1,3}\\|[bk]{0,3}\\)|\\\\w|\\\\b|\\\\B|\\\\d|\\^|\\$)[*+?]?){1,5}",
            lines in prop::collection::vec("[abkKsSſ\u{212a}ßx1 ]{0,16}", 10),
        ) {
            if let Ok(pattern) = Pattern::compile(&pattern, None) {
                let limit = limit(Duration::from_secs(1000));
                let walker = pattern.interruptible(&limit);
                let automata = walker.walker.automata().expect("what compiles is walked");
                for line in &lines {
                    let expected = pattern.is_match(line.as_bytes());
                    prop_assert_eq!(walker.line(line.as_bytes()).ok(), Some(expected));
                    let simulated = simulate(&automata.nfa, line.as_bytes(), &limit);
                    prop_assert_eq!(simulated.ok(), Some(expected));
                }
            }
        }
    }
}
