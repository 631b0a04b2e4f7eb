//! How often one caller may call one tool: a bucket of tokens each, filled over time.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::Layer;
use crate::note::code::ErrorCode;
use crate::policy::Clock;
use crate::policy::call::{Call, Refusal, Verdict};
use crate::policy::caller::Caller;
use crate::policy::settings::{Permission, Settings};

/// Buckets kept; beyond it those that are full again are forgotten.
const MAX_BUCKETS: usize = 4_096;

pub(super) struct Rate {
    clock: Clock,
    reads: u32,
    changes: u32,
    buckets: Mutex<HashMap<(String, Caller), Bucket>>,
}

struct Bucket {
    tokens: f64,
    at: Duration,
}

impl Rate {
    pub(super) fn new(settings: &Settings, clock: Clock) -> Self {
        let (reads, changes) = (settings.reads_per_minute, settings.changes_per_minute);
        Self { clock, reads, changes, buckets: Mutex::default() }
    }

    /// Calls a minute for this one; `None` where there is no limit, and for what does nothing.
    fn limit(&self, call: &Call) -> Option<f64> {
        let a_minute = match call.permission {
            Permission::None | Permission::Read => self.reads,
            _ => self.changes,
        };
        let limited = a_minute > 0 && !call.dry_run && !call.caller.scope.is_person();
        limited.then_some(f64::from(a_minute))
    }
}

impl Layer for Rate {
    fn name(&self) -> &'static str {
        "rate"
    }

    fn admit(&self, call: &Call) -> Verdict {
        let Some(limit) = self.limit(call) else { return Verdict::Pass };
        let now = (self.clock)();
        let filled = |bucket: &Bucket| {
            let since = now.saturating_sub(bucket.at).as_secs_f64();
            (bucket.tokens + since * limit / 60.0).min(limit)
        };
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MAX_BUCKETS {
            buckets.retain(|_, bucket| filled(bucket) < limit);
        }
        let key = (call.tool.to_owned(), call.caller.clone());
        let bucket = buckets.entry(key).or_insert(Bucket { tokens: limit, at: now });
        (bucket.tokens, bucket.at) = (filled(bucket), now);
        if bucket.tokens < 1.0 {
            let wait = ((1.0 - bucket.tokens) * 60.0 / limit).ceil();
            return Verdict::Refuse(Refusal {
                layer: self.name(),
                code: ErrorCode::RateLimited,
                reason: format!("`{}` was called more than {limit} times in a minute", call.tool),
                hint: Some(format!("try again in {wait} s")),
            });
        }
        bucket.tokens -= 1.0;
        Verdict::Pass
    }

    fn give_back(&self, call: &Call) {
        let Some(limit) = self.limit(call) else { return };
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = buckets.get_mut(&(call.tool.to_owned(), call.caller.clone())) {
            bucket.tokens = (bucket.tokens + 1.0).min(limit);
        }
    }
}
