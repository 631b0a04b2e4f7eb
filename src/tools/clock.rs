//! What time it is, for the tools that ask.

use chrono::{DateTime, FixedOffset, Local};

use crate::bases::date::Zone;

/// Where the time comes from: a value of the [`Context`](super::Context), so that a caller who has
/// to get the same answer tomorrow (a test, a replay) can say what time it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clock {
    /// The machine's clock and time zone.
    #[default]
    System,
    /// Always this moment, in its own zone.
    At(DateTime<FixedOffset>),
}

impl Clock {
    /// The local time now.
    pub fn now(&self) -> DateTime<FixedOffset> {
        match self {
            Self::System => Local::now().fixed_offset(),
            Self::At(time) => *time,
        }
    }

    /// The time zone in which days begin and end.
    pub fn zone(&self) -> Box<dyn Zone> {
        match self {
            Self::System => Box::new(Local),
            Self::At(time) => Box::new(*time.offset()),
        }
    }
}
