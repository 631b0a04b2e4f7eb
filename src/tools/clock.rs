//! The clock of tools.

use chrono::{DateTime, FixedOffset, Local};

use crate::bases::date::Zone;

/// The source of the time: part of the [`Context`](super::Context), so that tests and replays can fix
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clock {
    /// The machine's clock and time zone.
    #[default]
    System,
    /// A fixed time in its own zone.
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

    pub fn zone(&self) -> Box<dyn Zone> {
        match self {
            Self::System => Box::new(Local),
            Self::At(time) => Box::new(*time.offset()),
        }
    }
}
