//! One-time codes that open the chat page, and the page's tokens.
//!
//! Codes exist only in memory. A page's token is derived from the daemon's token and from a name
//! that contains its expiry, so nothing is stored: it survives a restart of the daemon, and ends
//! when the daemon's token is rotated.
//!
//! The page keeps its token in memory. For reloads it leaves in the browser only a token derived
//! from it that is valid for this run of the daemon: a program that serves a page on this port
//! after the daemon has ended finds nothing there that works with the next daemon.

use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::http::HeaderMap;
use axum::http::header::ORIGIN;
use subtle::ConstantTimeEq as _;

use super::token::{Token, TokenError};
use crate::locks::lock;

/// The validity of a code in seconds.
pub const CODE_SECONDS: u32 = 60;

/// The validity of a page's token in days.
pub const PAGE_DAYS: u32 = 30;

/// The most valid codes at a time; a new one replaces the oldest.
const MAX_CODES: usize = 16;

/// The prefix of the name of a page's token.
const PAGE: &str = "page-";

/// The suffix of the name of a token for one run of the daemon.
const RUN: &str = "-run";

/// The valid codes.
#[derive(Debug, Default)]
pub struct Pages(Mutex<Vec<Code>>);

/// The hash of a code, so that a reader of this memory cannot use it.
#[derive(Debug)]
struct Code {
    hash: [u8; 32],
    until: Instant,
}

impl Pages {
    /// Creates a one-time code, valid for [`CODE_SECONDS`] from `now`.
    pub fn code(&self, now: Instant) -> Result<String, TokenError> {
        let code = Token::generate()?.reveal();
        let mut codes = lock(&self.0);
        codes.retain(|code| code.until > now);
        if codes.len() >= MAX_CODES {
            codes.remove(0);
        }
        let until = now + Duration::from_secs(CODE_SECONDS.into());
        codes.push(Code { hash: hash(code.as_bytes()), until });
        Ok(code)
    }

    /// Checks a code at time `now` and uses it up. Takes constant time.
    pub fn take(&self, code: &[u8], now: Instant) -> bool {
        let shown = hash(code);
        let mut is_right = false;
        lock(&self.0).retain(|code| {
            let is_this: bool = code.hash.ct_eq(&shown).into();
            is_right |= is_this && code.until > now;
            !is_this && code.until > now
        });
        is_right
    }
}

/// Creates a token for a page, as `NAME.KEY`. It is valid for [`PAGE_DAYS`] from `now`, as long as
/// the daemon's token is `main`.
pub fn page_token(main: &Token, now: SystemTime) -> Result<String, TokenError> {
    let until = seconds(now) + u64::from(PAGE_DAYS) * 24 * 60 * 60;
    let name = format!("{PAGE}{until}-{}", &Token::generate()?.reveal()[..32]);
    let key = main.derived(&format!("page:{name}")).reveal();
    Ok(format!("{name}.{key}"))
}

/// The key for the name of a page's token, or of one derived from it for the run `epoch`; `None`
/// for any other name, or after its expiry.
pub fn key_of(name: &str, main: &Token, epoch: &str, now: SystemTime) -> Option<Token> {
    let (of_page, is_of_run) = match name.strip_suffix(RUN) {
        Some(of_page) => (of_page, true),
        None => (name, false),
    };
    let (until, _) = of_page.strip_prefix(PAGE)?.split_once('-')?;
    if until.parse::<u64>().ok()? <= seconds(now) {
        return None;
    }
    let key = main.derived(&format!("page:{of_page}"));
    Some(if is_of_run { key.derived(&format!("run:{epoch}")) } else { key })
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn hash(code: &[u8]) -> [u8; 32] {
    *blake3::hash(code).as_bytes()
}

/// Whether the request's origin is the page of this server.
pub fn is_our_page(headers: &HeaderMap, port: u16) -> bool {
    let mut origins = headers.get_all(ORIGIN).iter();
    let (Some(origin), None) = (origins.next(), origins.next()) else { return false };
    let ours = |host: &&str| origin.as_bytes() == format!("http://{host}:{port}").as_bytes();
    ["127.0.0.1", "localhost"].iter().any(ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_valid_once_and_for_a_minute() {
        let (pages, start) = (Pages::default(), Instant::now());
        let second = Duration::from_secs(1);
        let take = |code: &str, at| pages.take(code.as_bytes(), at);

        let code = pages.code(start).unwrap();
        assert_eq!(code.len(), 64);
        assert!(!take("", start));
        assert!(!take(&code[..63], start));
        assert!(take(&code, start + 59 * second), "it holds still");
        assert!(!take(&code, start + 59 * second), "a second time");

        let late = pages.code(start).unwrap();
        assert!(!take(&late, start + 60 * second), "a minute later");
        assert!(!take(&late, start), "nor by a clock that is put back");
    }

    #[test]
    fn the_number_of_codes_is_limited() {
        let (pages, start) = (Pages::default(), Instant::now());
        let codes: Vec<String> = (0..=MAX_CODES).map(|_| pages.code(start).unwrap()).collect();
        assert!(!pages.take(codes[0].as_bytes(), start));
        assert!(pages.take(codes[1].as_bytes(), start));
    }

    #[test]
    fn a_page_token_is_valid_until_it_expires_or_the_token_rotates() {
        let (main, now) = (Token::generate().unwrap(), SystemTime::now());
        let day = Duration::from_secs(24 * 60 * 60);
        let token = page_token(&main, now).unwrap();
        let (name, key) = token.split_once('.').unwrap();
        let found = |name: &str, main: &Token, at| {
            key_of(name, main, "first", at).map(|token| token.reveal())
        };
        assert_eq!(found(name, &main, now).as_deref(), Some(key));
        assert_eq!(found(name, &main, now + 29 * day).as_deref(), Some(key));
        assert_eq!(found(name, &main, now + 30 * day), None, "its time is over");
        let other = Token::generate().unwrap();
        assert_ne!(found(name, &other, now).as_deref(), Some(key), "the token was rotated");
        // The expiry cannot be extended: another name has another key.
        let until = seconds(now) + 30 * 24 * 60 * 60;
        let longer = name.replace(&until.to_string(), &(until + 1).to_string());
        assert_ne!(longer, name);
        assert_ne!(found(&longer, &main, now).as_deref(), Some(key));
        for not in ["", "page-", "page-1", "page-x-1", "page-1-a", "person", &name[1..]] {
            assert_eq!(found(not, &main, now), None, "{not}");
        }
    }

    #[test]
    fn a_token_left_in_the_browser_is_worthless_to_the_next_daemon() {
        let (main, now) = (Token::generate().unwrap(), SystemTime::now());
        let token = page_token(&main, now).unwrap();
        let (name, key) = token.split_once('.').unwrap();
        let key = Token::parse(key).unwrap();
        let of_run = |epoch: &str| key_of(&format!("{name}{RUN}"), &main, epoch, now).unwrap();
        assert_eq!(of_run("first"), key.derived("run:first"), "as the page makes it");
        assert_ne!(of_run("first"), of_run("second"));
        assert_ne!(of_run("first"), key);
        let later = now + Duration::from_secs(31 * 24 * 60 * 60);
        assert_eq!(key_of(&format!("{name}{RUN}"), &main, "first", later), None);
    }

    #[test]
    fn debug_output_hides_codes() {
        let (pages, now) = (Pages::default(), Instant::now());
        let code = pages.code(now).unwrap();
        let shown = format!("{pages:?}");
        assert!(!shown.contains(&code[..8]), "{shown}");
    }
}
