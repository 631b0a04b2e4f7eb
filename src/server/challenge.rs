//! Mutual proof: the daemon proves that it knows a client's token before the client identifies
//! itself, and the client proves the same without sending the token.
//!
//! A client sends a nonce and the name of its token ([`super::token::Token::name`]), and gets the
//! daemon's nonce and proof. The daemon's nonce, signed with the token, is the client's ticket,
//! which admits one connection. Both proofs include the port, so that a program that occupies
//! another port and relays everything gains nothing.
//!
//! A challenge is not stored: its nonce contains its time and a MAC of this run of the daemon. So
//! there is no list that a client without a token could fill.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use axum::extract::{Path, State};
use axum::http::header::{CACHE_CONTROL, HeaderValue};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router, routing};

use super::SharedServer;
use super::guest_entry::guest_of;
use super::page_keys::{is_our_page, key_of};
use super::reply::{KeptOpen, Refusal, paced, plain};
use super::token::{Entry, Proof};
use crate::locks::lock;
use crate::policy::Scope;
use crate::protocol::error::{ErrorObject, Kind};
use crate::protocol::http::ChallengeAnswer;

/// The validity of a ticket.
const LIFE: Duration = Duration::from_secs(10);

/// The most used tickets remembered, so that each admits once.
const MAX_USED: usize = 8192;

/// The lengths that a client's nonce may have, in bytes.
const NONCE: std::ops::RangeInclusive<usize> = 16..=128;

/// Creates and verifies nonces.
#[derive(Debug)]
pub struct Challenges {
    /// The key of the nonces' MAC, for this run of the daemon.
    secret: [u8; 32],
    /// The validity of a nonce.
    life: Duration,
    created: Instant,
    /// The used nonces by their random part, with their time.
    used: Mutex<HashMap<u128, Duration>>,
}

impl Challenges {
    /// Uses a secret of 32 random bytes.
    pub fn new(secret: [u8; 32], now: Instant) -> Self {
        Self::with_lifetime(LIFE, secret, now)
    }

    /// The same, with nonces valid for `life`.
    pub fn with_lifetime(life: Duration, secret: [u8; 32], now: Instant) -> Self {
        Self { secret, life, created: now, used: Mutex::default() }
    }

    /// Creates a single-use nonce at time `now`. `random` identifies it.
    pub fn nonce(&self, random: u128, now: Instant) -> String {
        self.nonce_for("", random, now)
    }

    /// The same, valid only for `purpose`.
    pub fn nonce_for(&self, purpose: &str, random: u128, now: Instant) -> String {
        let at = now.saturating_duration_since(self.created).as_millis();
        let what = format!("{at}-{random:032x}");
        let mark = self.mark(&what, purpose);
        format!("{what}-{mark}")
    }

    /// Uses up a nonce. False if it is not from this run, expired, or already used.
    pub fn take(&self, nonce: &str, now: Instant) -> bool {
        self.take_for("", nonce, now)
    }

    /// The same for a nonce created for `purpose`; false for any other.
    pub fn take_for(&self, purpose: &str, nonce: &str, now: Instant) -> bool {
        let Some((what, mark)) = nonce.rsplit_once('-') else { return false };
        // Comparing hashes takes constant time.
        if blake3::hash(self.mark(what, purpose).as_bytes()) != blake3::hash(mark.as_bytes()) {
            return false;
        }
        let read = what.split_once('-').and_then(|(at, random)| {
            Some((at.parse().ok()?, u128::from_str_radix(random, 16).ok()?))
        });
        let Some((at, random)) = read else { return false };
        let (at, now) = (Duration::from_millis(at), now.saturating_duration_since(self.created));
        let is_fresh = |at: Duration| now.saturating_sub(at) <= self.life;
        let mut used = lock(&self.used);
        if used.len() >= MAX_USED {
            used.retain(|_, at| is_fresh(*at));
        }
        is_fresh(at) && used.len() < MAX_USED && used.insert(random, at).is_none()
    }

    fn mark(&self, what: &str, purpose: &str) -> String {
        // The first space ends `what`.
        let all = format!("{what} {purpose}");
        blake3::keyed_hash(&self.secret, all.as_bytes()).to_hex()[..32].to_owned()
    }
}

/// A token found by its name.
struct Known {
    entry: Entry,
    is_page: bool,
}

fn credentials_of(shared: &SharedServer, name: &str) -> Option<Known> {
    let main = shared.token.current();
    let page = key_of(name, &main, shared.events.epoch(), SystemTime::now());
    if let Some(token) = page {
        let entry = Entry { scope: Scope::Person, token, is_guest: false };
        return Some(Known { entry, is_page: true });
    }
    let entry = |scope: Scope| Entry { scope, token: main.scoped(scope), is_guest: false };
    let found = Scope::ALL.into_iter().map(entry).find(|entry| entry.token.name() == name);
    let found = found.or_else(|| guest_of(shared, |token| token.name() == name));
    found.map(|entry| Known { entry, is_page: false })
}

/// Admits a request whose ticket `NAME.NONCE.PROOF` signs a fresh nonce of this server with a valid token.
/// A page's token is valid only with the page's origin.
pub fn admit(shared: &SharedServer, headers: &HeaderMap, ticket: &[u8]) -> Option<Entry> {
    let ticket = std::str::from_utf8(ticket).ok()?;
    let (name, signed) = ticket.split_once('.')?;
    let (nonce, proof) = signed.split_once('.')?;
    let Known { entry, is_page } = credentials_of(shared, name)?;
    let right = entry.token.proof(Proof::Ticket, shared.port, nonce);
    // Comparing hashes takes constant time.
    let is_right = blake3::hash(right.as_bytes()) == blake3::hash(proof.as_bytes());
    let is_home = !is_page || is_our_page(headers, shared.port);
    (is_right && is_home && shared.challenges.take(nonce, Instant::now())).then_some(entry)
}

pub fn routes() -> Router<Arc<SharedServer>> {
    Router::new().route("/v1/challenge/{name}/{nonce}", routing::get(challenge))
}

/// `GET /v1/challenge/NAME/NONCE`: the daemon's proof.
async fn challenge(
    State(shared): State<Arc<SharedServer>>,
    Path((name, nonce)): Path<(String, String)>,
    target: Uri,
) -> Response {
    let proved = prove(&shared, &name, &nonce, &target).await;
    let is_proved = proved.is_ok();
    let mut response = proved.map(Json).into_response();
    // The ticket may come on this connection. Until then, the connection counts as a handshake,
    // with its timeout.
    if is_proved {
        response.extensions_mut().insert(KeptOpen);
    }
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn prove(
    shared: &SharedServer,
    name: &str,
    nonce: &str,
    target: &Uri,
) -> Result<ChallengeAnswer, Refusal> {
    if target.query().is_some() {
        return Err(plain(StatusCode::FORBIDDEN));
    }
    paced(shared, &shared.settings.load_full())?;
    let is_plain = nonce.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if !is_plain || !NONCE.contains(&nonce.len()) {
        let text = "the nonce is not 16 to 128 letters and digits";
        return Err(ErrorObject::new(Kind::InvalidParams, text).into());
    }
    let Some(Known { entry, .. }) = credentials_of(shared, name) else {
        let wait = shared.failures.count(Instant::now());
        tracing::warn!("was asked to prove that it knows an unknown token");
        tokio::time::sleep(wait).await;
        return Err(plain(StatusCode::UNAUTHORIZED));
    };
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| {
        ErrorObject::new(Kind::Failed, format!("could not get random bytes: {error}"))
    })?;
    let ours = shared.challenges.nonce(u128::from_le_bytes(random), Instant::now());
    let proof = entry.token.proof(Proof::Challenge, shared.port, &format!("{nonce} {ours}"));
    Ok(ChallengeAnswer { nonce: ours, proof })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_valid_once_and_for_ten_seconds() {
        let start = Instant::now();
        let challenges = Challenges::new([7; 32], start);
        let second = Duration::from_secs(1);
        let nonce = challenges.nonce(1, start + second);
        assert!(challenges.take(&nonce, start + 11 * second));
        assert!(!challenges.take(&nonce, start + 2 * second), "a second time");
        let late = challenges.nonce(2, start);
        assert!(!challenges.take(&late, start + LIFE + Duration::from_millis(1)));
        assert!(challenges.take(&late, start + LIFE), "what was too late was not used");
        assert!(
            challenges
                .nonce(3, start)
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        );
    }

    #[test]
    fn nobody_else_makes_one() {
        let start = Instant::now();
        let challenges = Challenges::new([7; 32], start);
        let nonce = challenges.nonce(1, start);
        let other = Challenges::new([8; 32], start).nonce(1, start);
        assert!(!challenges.take(&other, start), "another run's");
        assert!(!challenges.take(&nonce.replacen('0', "1", 1), start), "another time or name");
        for not in ["", "-", "--", "0-1", "0-1-", &nonce[..nonce.len() - 1], &nonce.to_uppercase()]
        {
            assert!(!challenges.take(not, start), "{not}");
        }
        assert!(challenges.take(&nonce, start));
        let bound = challenges.nonce_for("a", 2, start);
        assert!(!challenges.take(&bound, start) && !challenges.take_for("b", &bound, start));
        assert!(challenges.take_for("a", &bound, start), "what was refused was not used up");
    }

    #[test]
    fn used_nonces_are_dropped_when_they_expire() {
        let start = Instant::now();
        let challenges = Challenges::new([7; 32], start);
        for random in 0..MAX_USED as u128 {
            assert!(challenges.take(&challenges.nonce(random, start), start));
        }
        let last = challenges.nonce(u128::MAX, start);
        assert!(!challenges.take(&last, start), "so many in ten seconds are too many");
        let later = start + LIFE + Duration::from_secs(1);
        assert!(challenges.take(&challenges.nonce(u128::MAX, later), later));
        assert_eq!(lock(&challenges.used).len(), 1);
    }
}
