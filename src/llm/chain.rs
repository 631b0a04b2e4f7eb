//! A chain of models: the first one that answers wins.
//!
//! After an answer breaks off, the chain asks the same model again even if the user already saw
//! part of the answer; that part is discarded. It moves on to the next model only if nothing was
//! shown, so two halves of different answers are never joined. It honours the delay that a vendor
//! asks for; if that delay exceeds the limit, it moves on at once.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};

use super::Provider;
use super::breaker::Breaker;
use super::clock::Clock;
use super::error::{ErrorKind, LlmError};
use super::request::TurnRequest;
use super::settings::Settings;
use super::turn::{Item, TurnEvent, TurnStream};

/// Retry and circuit breaker limits of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The most retries of one model.
    pub retries: u32,
    /// The longest single pause.
    pub max_wait: Duration,
    /// The longest total of all pauses within a turn.
    pub budget: Duration,
    /// This many failed turns in a row open a model's breaker.
    pub breaker_failures: u32,
    /// How long a breaker stays open.
    pub breaker_pause: Duration,
}

impl RetryPolicy {
    /// The limits that the settings name.
    pub fn of(settings: &Settings) -> Self {
        let seconds = |seconds: u32| Duration::from_secs(u64::from(seconds));
        Self {
            retries: settings.retries,
            max_wait: seconds(settings.max_wait_seconds),
            budget: seconds(settings.retry_budget_seconds),
            breaker_failures: settings.breaker_failures,
            breaker_pause: seconds(settings.breaker_seconds),
        }
    }
}

/// The longest first pause if the vendor names none. It doubles with each retry, and at least half of it is waited.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Models, in the order in which the chain asks them.
pub struct Chain {
    id: String,
    links: Arc<[Link]>,
    retry_policy: RetryPolicy,
    clock: Arc<dyn Clock>,
}

struct Link {
    provider: Arc<dyn Provider>,
    breaker: Breaker,
}

debug_only!(Chain, id);

impl Chain {
    /// `providers` holds at least one model.
    pub fn new(
        providers: Vec<Arc<dyn Provider>>,
        retry_policy: RetryPolicy,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let id = providers.iter().map(|provider| provider.id()).collect::<Vec<_>>().join(", ");
        let link = |provider| Link {
            provider,
            breaker: Breaker::new(retry_policy.breaker_failures, retry_policy.breaker_pause),
        };
        Self { id, links: providers.into_iter().map(link).collect(), retry_policy, clock }
    }
}

impl Provider for Chain {
    fn id(&self) -> &str {
        &self.id
    }

    fn stream(&self, request: Arc<TurnRequest>) -> TurnStream {
        let running = ChainStream {
            links: Arc::clone(&self.links),
            retry_policy: self.retry_policy,
            clock: Arc::clone(&self.clock),
            request,
            order: None,
            at: 0,
            retried: 0,
            waited: Duration::ZERO,
            pause: Duration::ZERO,
            current: None,
            was_seen: false,
            failures: Vec::new(),
            is_over: false,
        };
        Box::pin(stream::unfold(running, |mut running| async move {
            running.next().await.map(|item| (item, running))
        }))
    }
}

struct ChainStream {
    links: Arc<[Link]>,
    retry_policy: RetryPolicy,
    clock: Arc<dyn Clock>,
    request: Arc<TurnRequest>,
    /// Set at the first poll. Models with an open breaker move to the end; they are not dropped.
    order: Option<Vec<usize>>,
    at: usize,
    retried: u32,
    waited: Duration,
    pause: Duration,
    current: Option<TurnStream>,
    was_seen: bool,
    /// One line for each model that failed before the current one.
    failures: Vec<String>,
    is_over: bool,
}

impl ChainStream {
    async fn next(&mut self) -> Option<Result<Item, LlmError>> {
        if self.is_over {
            return None;
        }
        if self.current.is_none() {
            let pause = std::mem::take(&mut self.pause);
            if !pause.is_zero() {
                self.clock.sleep(pause).await;
            }
            let links = Arc::clone(&self.links);
            let Some(link) = self.link().map(|index| &links[index]) else {
                self.is_over = true;
                return Some(Err(LlmError::new(ErrorKind::NotFound, "no model is configured")));
            };
            link.breaker.tried(self.clock.now());
            self.current = Some(link.provider.stream(Arc::clone(&self.request)));
        }
        let item = match &mut self.current {
            Some(stream) => stream.next().await,
            None => None,
        };
        let item = item.unwrap_or_else(|| {
            Err(LlmError::new(ErrorKind::Truncated, "the stream ended without its final event"))
        });
        match item {
            Ok(Item::Event(event)) => {
                self.was_seen |= event.is_visible();
                Some(Ok(Item::Event(event)))
            }
            Ok(done) => {
                self.is_over = true;
                if let Some(link) = self.link() {
                    self.links[link].breaker.succeeded();
                }
                Some(Ok(done))
            }
            Err(error) => Some(self.failed(error)),
        }
    }

    fn link(&mut self) -> Option<usize> {
        let now = self.clock.now();
        let links = &self.links;
        let order = self.order.get_or_insert_with(|| {
            let mut order: Vec<usize> = (0..links.len()).collect();
            order.sort_by_key(|index| links[*index].breaker.is_open(now));
            order
        });
        order.get(self.at).copied()
    }

    fn failed(&mut self, error: LlmError) -> Result<Item, LlmError> {
        self.current = None;
        let wait = self.pause_for(&error);
        let has_time = wait <= self.retry_policy.max_wait
            && self.waited.saturating_add(wait) <= self.retry_policy.budget;
        if error.retry_same() && self.retried < self.retry_policy.retries && has_time {
            self.retried += 1;
            self.waited += wait;
            self.pause = wait;
            self.was_seen = false;
            let conversation = &self.request.conversation;
            tracing::info!(model = error.provider, conversation, kind = ?error.kind, ?wait, "asking again");
            return Ok(retry_event(error.provider.clone(), wait, &error));
        }
        let now = self.clock.now();
        if let Some(link) = self.link() {
            self.links[link].breaker.failed(error.kind, now);
        }
        if !self.was_seen && error.try_next() {
            self.failures.push(format!("`{}`: {}", error.provider, error.kind.words()));
            self.at += 1;
            self.retried = 0;
            if let Some(next) = self.link() {
                let next = self.links[next].provider.id().to_owned();
                tracing::warn!(model = error.provider, kind = ?error.kind, next, "asking the next");
                return Ok(retry_event(next, Duration::ZERO, &error));
            }
            self.failures.pop();
        }
        self.is_over = true;
        let mut error = error;
        if !self.failures.is_empty() {
            let failures = self.failures.join("; ");
            error.message = format!("{} [before: {failures}]", error.message);
        }
        Err(error)
    }

    /// The delay the vendor asks for, or one that doubles with each retry. Random jitter only ever
    /// lengthens the vendor's delay.
    fn pause_for(&self, error: &LlmError) -> Duration {
        let spread = self.clock.spread().clamp(0.0, 1.0);
        match error.retry_after {
            Some(requested) => requested.saturating_add(FIRST_PAUSE.mul_f64(spread)),
            None => {
                let longest = FIRST_PAUSE * 2_u32.saturating_pow(self.retried.min(8));
                longest.mul_f64(0.5 + spread / 2.0)
            }
        }
    }
}

fn retry_event(provider: String, wait: Duration, failed: &LlmError) -> Item {
    let (reason, usage) = (failed.kind, failed.detail.usage);
    Item::Event(TurnEvent::Retry { provider, wait, reason, usage })
}
