//! The queue of notifications, within SmartHole's limits: ten a minute, one a second, twenty
//! queued. It also drops one with a title that was shown within the last five seconds.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use super::notification::{Notification, Priority};

/// The minimum time between two.
const APART: Duration = Duration::from_secs(1);
/// The size of a burst; after it, one per `EVERY`.
const AT_ONCE: usize = 10;
const EVERY: Duration = Duration::from_secs(6);
/// For this long no title is reused: twice SmartHole's time.
const TITLES: Duration = Duration::from_secs(10);
/// The queue's length. Beyond it the oldest is dropped that is not urgent and has no [`Sent`].
const MAX_QUEUED: usize = 1_000;

/// Called once a notification was sent.
pub type Sent = Box<dyn FnOnce() + Send>;

#[derive(Default)]
pub(super) struct Outbox {
    waiting: VecDeque<(Notification, Option<Sent>)>,
    /// Time and title of the last ones, oldest first.
    sent: VecDeque<(Duration, String)>,
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Outbox").field(&self.waiting.len()).finish()
    }
}

impl Outbox {
    /// Queues one behind those of its priority.
    pub(super) fn push(&mut self, notification: Notification, sent: Option<Sent>) {
        let is_least = |(one, sent): &(Notification, Option<Sent>)| {
            one.priority == Priority::Normal && sent.is_none()
        };
        if self.waiting.len() >= MAX_QUEUED
            && let Some(at) = self.waiting.iter().position(is_least)
        {
            self.waiting.remove(at);
        }
        let at = match notification.priority {
            Priority::Normal => self.waiting.len(),
            Priority::High => {
                let is_high = |(one, _): &(Notification, _)| one.priority == Priority::High;
                self.waiting.iter().take_while(|waits| is_high(waits)).count()
            }
        };
        self.waiting.insert(at, (notification, sent));
    }

    /// The time until the next may be sent; `None` if the queue is empty.
    pub(super) fn pause(&self, now: Duration) -> Option<Duration> {
        self.waiting.front()?;
        let after_last = self.sent.back().map(|(at, _)| *at + APART);
        let nth = self.sent.len().checked_sub(AT_ONCE).and_then(|at| self.sent.get(at));
        let after_many = nth.map(|(at, _)| *at + EVERY * u32::try_from(AT_ONCE).unwrap_or(1));
        let next = after_last.max(after_many).unwrap_or_default();
        Some(next.saturating_sub(now))
    }

    /// Takes the next one to send it now; makes its title unique among the last ones.
    pub(super) fn take(&mut self, now: Duration) -> Option<(Notification, Option<Sent>)> {
        let (mut notification, sent) = self.waiting.pop_front()?;
        let used = |title: &str| {
            self.sent.iter().any(|(at, used)| used == title && now.saturating_sub(*at) < TITLES)
        };
        let title = notification.title.clone();
        let numbered = (2..).map(|number| format!("{title} ({number})"));
        let free = std::iter::once(title.clone()).chain(numbered).find(|title| !used(title));
        notification.title = free.unwrap_or(title);
        self.sent.push_back((now, notification.title.clone()));
        while self.sent.len() > 2 * AT_ONCE {
            self.sent.pop_front();
        }
        Some((notification, sent))
    }

    /// Puts one back that could not be sent.
    pub(super) fn put_back(&mut self, notification: Notification, sent: Option<Sent>) {
        self.waiting.push_front((notification, sent));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notification(title: &str, priority: Priority) -> Notification {
        Notification::of("1", title, "text", priority).unwrap()
    }

    #[test]
    fn they_go_a_second_apart_ten_a_minute_with_titles_of_their_own() {
        let mut outbox = Outbox::default();
        assert_eq!(outbox.pause(Duration::ZERO), None);
        for _ in 0..30 {
            outbox.push(notification("same", Priority::Normal), None);
        }
        let (mut now, mut went) = (Duration::from_secs(100), Vec::new());
        while let Some(pause) = outbox.pause(now) {
            now += pause;
            went.push((now, outbox.take(now).unwrap().0.title));
        }
        for pair in went.windows(2) {
            assert!(pair[1].0 - pair[0].0 >= APART);
        }
        for (at, (time, title)) in went.iter().enumerate() {
            let minute = |other: &&(Duration, String)| {
                other.0 <= *time && *time - other.0 < Duration::from_secs(60)
            };
            assert!(went.iter().filter(minute).count() <= AT_ONCE);
            let just = &went[at.saturating_sub(5)..at];
            let soon = |other: &(Duration, String)| *time - other.0 < Duration::from_secs(6);
            assert!(!just.iter().any(|other| other.1 == *title && soon(other)), "{went:?}");
        }
        assert_eq!(went.len(), 30);
        assert_eq!(went[0].1, "same");
    }

    #[test]
    fn questions_come_first_and_awaited_notifications_stay() {
        let mut outbox = Outbox::default();
        outbox.push(notification("a", Priority::Normal), Some(Box::new(|| ())));
        for n in 0..MAX_QUEUED + 5 {
            outbox.push(notification(&format!("b{n}"), Priority::Normal), None);
        }
        outbox.push(notification("c", Priority::High), None);
        outbox.push(notification("d", Priority::High), None);
        assert_eq!(outbox.waiting.len(), MAX_QUEUED);
        let titles: Vec<_> =
            (0..4).map(|n| outbox.take(Duration::from_secs(n)).unwrap().0.title).collect();
        assert_eq!(titles, ["c", "d", "a", "b8"]);
    }
}
