//! Decides where one conversation ends and the next begins.

use std::time::Duration;

use super::record::EndKind;

/// A moment in milliseconds since the steward started; negative for moments before. Created by a
/// [`Timeline`], never from the wall clock alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(i64);

impl Moment {
    /// The time from this moment to `later`; zero if `later` is earlier.
    pub fn until(self, later: Self) -> Duration {
        Duration::from_millis(later.0.saturating_sub(self.0).try_into().unwrap_or(0))
    }
}

/// Maps times before and after the start to one scale that wall clock jumps do not affect.
///
/// Within a run, only the monotonic clock counts. Times that an earlier run stored are converted
/// once, relative to the wall clock at the start, since only the wall clock survives a restart.
#[derive(Debug, Clone, Copy)]
pub struct Timeline {
    wall: i64,
    running: Duration,
}

impl Timeline {
    /// Starts at this reading of both clocks: the wall clock in milliseconds since the Unix epoch,
    /// and the monotonic clock since any moment.
    pub fn begin(wall: i64, running: Duration) -> Self {
        Self { wall, running }
    }

    /// The moment at this reading of the monotonic clock.
    pub fn at(&self, running: Duration) -> Moment {
        Moment(milliseconds(running).saturating_sub(milliseconds(self.running)))
    }

    /// The wall clock time at this reading if nobody had set the clock since the start; for values
    /// stored for a later run.
    pub fn noted(&self, running: Duration) -> i64 {
        self.wall.saturating_add(self.at(running).0)
    }

    /// The moment of a wall clock time that an earlier run stored. A time in the future counts as
    /// the start, so that setting the clock back makes nothing too old or permanently new.
    pub fn earlier(&self, wall: i64) -> Moment {
        Moment(wall.saturating_sub(self.wall).min(0))
    }
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// The time limits of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// After this much silence the next message starts a new conversation; zero: never.
    pub idle: Duration,
    /// An open question extends the idle limit to this, if it is longer.
    pub waiting: Duration,
}

/// Which conversation a message belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boundary {
    /// The current conversation.
    Continue,
    /// A new one; the current one ends for this reason.
    Begin(EndKind),
}

/// Decides where a message that arrives now belongs, given the current conversation's last
/// activity. `is_waiting`: it has an open question.
pub fn decide(now: Moment, last_activity: Moment, is_waiting: bool, limits: Limits) -> Boundary {
    let elapsed = last_activity.until(now);
    if limits.idle.is_zero() || elapsed < limits.idle {
        return Boundary::Continue;
    }
    match is_waiting {
        true if elapsed < limits.waiting => Boundary::Continue,
        true => Boundary::Begin(EndKind::Unanswered),
        false => Boundary::Begin(EndKind::Idle),
    }
}

/// Whether a question asked at `since` still counts as open. After that, a message simply continues
/// the conversation.
pub fn is_question_fresh(now: Moment, since: Moment, limits: Limits) -> bool {
    since.until(now) < limits.waiting
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE: u64 = 60_000;
    const LIMITS: Limits = Limits {
        idle: Duration::from_millis(30 * MINUTE),
        waiting: Duration::from_millis(60 * MINUTE),
    };

    fn line() -> Timeline {
        Timeline::begin(1_000_000_000_000, Duration::from_secs(77))
    }

    fn after(milliseconds: u64) -> Moment {
        line().at(Duration::from_secs(77) + Duration::from_millis(milliseconds))
    }

    #[test]
    fn the_boundary_is_at_the_idle_time_and_not_before() {
        let decided = |elapsed| decide(after(elapsed), after(0), false, LIMITS);
        assert_eq!(decided(0), Boundary::Continue);
        assert_eq!(decided(30 * MINUTE - 1), Boundary::Continue);
        assert_eq!(decided(30 * MINUTE), Boundary::Begin(EndKind::Idle));
    }

    #[test]
    fn a_question_keeps_it_open_for_longer() {
        let decided = |elapsed| decide(after(elapsed), after(0), true, LIMITS);
        assert_eq!(decided(59 * MINUTE), Boundary::Continue);
        assert_eq!(decided(60 * MINUTE), Boundary::Begin(EndKind::Unanswered));
        let hasty = Limits { waiting: Duration::from_millis(MINUTE), ..LIMITS };
        assert_eq!(decide(after(5 * MINUTE), after(0), true, hasty), Boundary::Continue);
        assert!(!is_question_fresh(after(5 * MINUTE), after(0), hasty));
        assert!(is_question_fresh(after(5 * MINUTE), after(0), LIMITS));
    }

    #[test]
    fn what_an_earlier_run_left_counts_by_the_wall_clock() {
        let wall = 1_000_000_000_000;
        let left = |ago: i64| decide(after(0), line().earlier(wall - ago), false, LIMITS);
        assert_eq!(left(29 * 60_000), Boundary::Continue);
        assert_eq!(left(30 * 60_000), Boundary::Begin(EndKind::Idle));
        assert_eq!(left(-86_400_000), Boundary::Continue, "from the future: just now");
        assert_eq!(left(i64::MAX), Boundary::Begin(EndKind::Idle));
        assert_eq!(left(i64::MIN + wall + 1), Boundary::Continue);
    }

    #[test]
    fn without_an_idle_time_only_people_end_it() {
        let limits = Limits { idle: Duration::ZERO, ..LIMITS };
        assert_eq!(decide(after(1 << 40), after(0), false, limits), Boundary::Continue);
    }

    proptest! {
        /// If a silence separates messages, a longer one does too.
        #[test]
        fn silence_only_parts(a in 0u64..10_000_000, b in 0u64..10_000_000, waits: bool) {
            let (short, long) = (a.min(b), a.max(b));
            let at = |elapsed| decide(after(elapsed), after(0), waits, LIMITS);
            if at(short) != Boundary::Continue {
                prop_assert_ne!(at(long), Boundary::Continue);
            }
        }

        /// Whatever the wall clock says, nothing overflows, and no time is in the future.
        #[test]
        fn no_wall_clock_bends_the_line(start: i64, noted: i64, running in 0u64..u64::MAX / 2) {
            let line = Timeline::begin(start, Duration::ZERO);
            let earlier = line.earlier(noted);
            let now = line.at(Duration::from_millis(running));
            prop_assert!(earlier <= now);
            let _ = decide(now, earlier, false, LIMITS);
        }
    }
}
