//! Limits how often a tool is called: a token bucket for each program, and one for all programs with the
//! same kind of token, since a program can claim any name.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use super::Layer;
use crate::locks::lock;
use crate::note::code::ErrorCode;
use crate::policy::Clock;
use crate::policy::bucket::Bucket;
use crate::policy::call::{Call, Refusal, Verdict};
use crate::policy::caller::Scope;
use crate::policy::settings::{Permission, Settings};

const MINUTE: Duration = Duration::from_secs(60);

/// Number of buckets at which full ones are dropped.
const MAX_BUCKETS: usize = 4_096;

/// The limit of all programs with the same kind of token, as a multiple of one program's: one of them
/// alone cannot use it up.
const PROGRAMS: f64 = 4.0;

/// Tool, kind of token, and program; `None` for all programs together.
type Key = (String, Scope, Option<String>);

pub(super) struct Rate {
    clock: Clock,
    reads: u32,
    changes: u32,
    buckets: Mutex<HashMap<Key, Bucket>>,
}

fn keys(call: &Call, per_minute: f64) -> [(Key, f64); 2] {
    let key = |name| (call.tool.to_owned(), call.caller.scope, name);
    [(key(Some(call.caller.name.clone())), per_minute), (key(None), PROGRAMS * per_minute)]
}

impl Rate {
    pub(super) fn new(settings: &Settings, clock: Clock) -> Self {
        let (reads, changes) = (settings.reads_per_minute, settings.changes_per_minute);
        Self { clock, reads, changes, buckets: Mutex::default() }
    }

    /// Calls per minute; `None` if there is no limit, and for dry runs.
    fn limit(&self, call: &Call) -> Option<f64> {
        let per_minute = match call.permission {
            Permission::None | Permission::Read => self.reads,
            _ => self.changes,
        };
        let limited = per_minute > 0 && !call.dry_run && !call.caller.scope.is_person();
        limited.then_some(f64::from(per_minute))
    }
}

impl Layer for Rate {
    fn name(&self) -> &'static str {
        "rate"
    }

    fn admit(&self, call: &Call) -> Verdict {
        let Some(limit) = self.limit(call) else { return Verdict::Pass };
        let now = (self.clock)();
        let mut buckets = lock(&self.buckets);
        if buckets.len() >= MAX_BUCKETS {
            buckets.retain(|_, bucket| !bucket.is_full(now));
        }
        let keys = keys(call, limit);
        for (key, per_minute) in &keys {
            let full = || Bucket::full(*per_minute, MINUTE, now);
            let bucket = buckets.entry(key.clone()).or_insert_with(full);
            if bucket.tokens(now) < 1.0 {
                let wait = bucket.until(1.0).as_secs_f64().ceil();
                let by = if key.2.is_some() { "" } else { " by all programs with such a token" };
                return Verdict::Refuse(Refusal {
                    layer: self.name(),
                    code: ErrorCode::RateLimited,
                    reason: format!(
                        "`{}` was called more than {per_minute} times in a minute{by}",
                        call.tool
                    ),
                    hint: Some(format!("try again in {wait} s")),
                });
            }
        }
        for (key, _) in &keys {
            if let Some(bucket) = buckets.get_mut(key) {
                bucket.take(1.0);
            }
        }
        Verdict::Pass
    }

    fn refund(&self, call: &Call) {
        let Some(limit) = self.limit(call) else { return };
        let mut buckets = lock(&self.buckets);
        for (key, _) in keys(call, limit) {
            if let Some(bucket) = buckets.get_mut(&key) {
                bucket.take(-1.0);
            }
        }
    }
}
