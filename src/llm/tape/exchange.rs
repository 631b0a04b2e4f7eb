//! The bytes of one HTTP exchange, in the pieces in which they arrived, masked keys.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use reqwest::header::HeaderMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::llm::error::LlmError;
use crate::llm::key::Key;
use crate::llm::message::Origin;
use crate::llm::turn::TurnEvent;
use crate::locks::lock;

/// The response headers to store: those that decoding and retrying depend on.
const STORED_HEADERS: &[&str] = &[
    "content-type",
    "request-id",
    "x-request-id",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
];

/// The shortest key to mask. A shorter one is no secret but a placeholder for a local server.
const MIN_SECRET: usize = 8;

/// Records the traffic of a request, if recording is on. Clones share one record.
#[derive(Debug, Clone, Default)]
pub struct Tap(Option<Arc<Mutex<TapState>>>);

#[derive(Debug, Default)]
struct TapState {
    exchanges: Vec<Exchange>,
    /// The retry event since the last exchange.
    retry: Option<TurnEvent>,
}

/// Records one exchange, if recording is on.
#[derive(Debug)]
pub(in crate::llm) struct ExchangeRecorder(Option<(Arc<Mutex<TapState>>, usize)>);

/// One HTTP request and its response.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Exchange {
    /// The model asked: `anthropic/claude-sonnet-5-5`.
    pub model: String,
    pub origin: Origin,
    /// The retry event that led to this exchange, if it replaced a failed one.
    #[serde(rename = "again", default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<TurnEvent>,
    pub sent: Option<SentRequest>,
    pub answered: Option<ResponseHead>,
    pub pieces: Vec<Piece>,
    pub end: End,
    #[serde(skip)]
    key: Option<Key>,
    #[serde(skip, default = "Instant::now")]
    started: Instant,
}

/// A request masked its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SentRequest {
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ResponseHead {
    /// Milliseconds since the request.
    pub after: u64,
    pub status: u16,
    /// Only the headers in [`STORED_HEADERS`].
    pub headers: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Piece {
    /// Milliseconds since the request.
    pub after: u64,
    pub bytes: Bytes,
}

/// Serialised as text if it is UTF-8, otherwise as hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bytes(pub Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Encoded {
    Text(String),
    Digits { hex: String },
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    /// The caller dropped the stream.
    #[default]
    Dropped,
    /// The answer was complete.
    Whole,
    Broke(Box<LlmError>),
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let encoded = match std::str::from_utf8(&self.0) {
            Ok(text) => Encoded::Text(text.to_owned()),
            Err(_) => {
                Encoded::Digits { hex: self.0.iter().map(|byte| format!("{byte:02x}")).collect() }
            }
        };
        encoded.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Encoded::deserialize(deserializer)? {
            Encoded::Text(text) => Ok(Self(text.into_bytes())),
            Encoded::Digits { hex } => {
                let bytes = hex.as_bytes().chunks(2).map(|pair| {
                    let is_one = pair.len() == 2 && pair.iter().all(u8::is_ascii_hexdigit);
                    let digits = std::str::from_utf8(pair).ok().filter(|_| is_one)?;
                    u8::from_str_radix(digits, 16).ok()
                });
                let bytes: Option<Vec<u8>> = bytes.collect();
                bytes.map(Self).ok_or_else(|| de::Error::custom("`hex` holds no pairs of digits"))
            }
        }
    }
}

impl Tap {
    pub(super) fn open() -> Self {
        Self(Some(Arc::default()))
    }

    /// Takes the exchanges recorded so far.
    pub(super) fn take(&self) -> Vec<Exchange> {
        let Some(state) = &self.0 else { return Vec::new() };
        std::mem::take(&mut lock(state).exchanges)
    }

    /// Records the retry event before the next exchange.
    pub(super) fn retries(&self, event: &TurnEvent) {
        if let Some(state) = &self.0 {
            lock(state).retry = Some(event.clone());
        }
    }

    /// Starts recording an exchange with `model`, made with this key.
    pub(in crate::llm) fn begin(
        &self,
        model: &str,
        origin: &Origin,
        key: Option<&Key>,
    ) -> ExchangeRecorder {
        let Some(shared) = &self.0 else { return ExchangeRecorder(None) };
        let mut state = lock(shared);
        let retry = state.retry.take();
        state.exchanges.push(Exchange {
            model: model.to_owned(),
            origin: origin.clone(),
            retry,
            sent: None,
            answered: None,
            pieces: Vec::new(),
            end: End::Dropped,
            key: key.cloned(),
            started: Instant::now(),
        });
        ExchangeRecorder(Some((Arc::clone(shared), state.exchanges.len() - 1)))
    }
}

impl ExchangeRecorder {
    pub(in crate::llm) fn sent(&self, url: &str, headers: &[(&str, &str)], body: &[u8]) {
        self.note(|exchange| {
            let headers = headers.iter();
            let headers = headers.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let (url, body) = (url.to_owned(), Bytes(body.to_vec()));
            exchange.sent = Some(SentRequest { url, headers: headers.collect(), body });
        });
    }

    pub(in crate::llm) fn responded(&self, status: u16, headers: &HeaderMap) {
        self.note(|exchange| {
            let text = |name: &&str| {
                Some(((*name).to_owned(), headers.get(*name)?.to_str().ok()?.to_owned()))
            };
            let headers = STORED_HEADERS.iter().filter_map(text).collect();
            exchange.answered = Some(ResponseHead { after: exchange.after(), status, headers });
        });
    }

    pub(in crate::llm) fn received(&self, bytes: &[u8]) {
        self.note(|exchange| {
            let piece = Piece { after: exchange.after(), bytes: Bytes(bytes.to_vec()) };
            exchange.pieces.push(piece);
        });
    }

    pub(in crate::llm) fn completed(&self) {
        self.note(|exchange| exchange.end = End::Whole);
    }

    pub(in crate::llm) fn failed(&self, error: &LlmError) {
        self.note(|exchange| {
            let mut error = error.clone();
            // Replay decodes these from the pieces.
            (error.detail.partial, error.detail.usage) = (Vec::new(), None);
            exchange.end = End::Broke(Box::new(error));
        });
    }

    fn note(&self, change: impl FnOnce(&mut Exchange)) {
        let Some((state, at)) = &self.0 else { return };
        // An exchange already written to its file is gone.
        if let Some(exchange) = lock(state).exchanges.get_mut(*at) {
            change(exchange);
        }
    }
}

impl Exchange {
    fn after(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The key to mask, if it is long enough to be one.
    pub fn secret(&self) -> Option<String> {
        let key = self.key.as_ref()?.reveal();
        (key.len() >= MIN_SECRET).then(|| key.to_owned())
    }

    /// Masks these secrets with asterisks in everything sent and received, even where a secret
    /// spans two pieces. Lengths do not change.
    pub fn clean(&mut self, secrets: &[String]) {
        let mut whole: Vec<u8> = Vec::new();
        self.pieces.iter().for_each(|piece| whole.extend_from_slice(&piece.bytes.0));
        for secret in secrets {
            mask(&mut whole, secret.as_bytes());
            if let Some(sent) = &mut self.sent {
                mask(&mut sent.body.0, secret.as_bytes());
                sent.url = masked(&sent.url, secret);
            }
            let headers = self.answered.iter_mut().flat_map(|answered| &mut answered.headers);
            headers.for_each(|(_, value)| *value = masked(value, secret));
        }
        let mut rest = &*whole;
        for piece in &mut self.pieces {
            let (own, others) = rest.split_at(piece.bytes.0.len());
            piece.bytes.0.copy_from_slice(own);
            rest = others;
        }
    }
}

/// Replaces `secret` in `text` with as many asterisks.
pub(super) fn masked(text: &str, secret: &str) -> String {
    text.replace(secret, &"*".repeat(secret.len()))
}

fn mask(bytes: &mut [u8], secret: &[u8]) {
    let mut at = 0;
    while at + secret.len() <= bytes.len() {
        if &bytes[at..at + secret.len()] == secret {
            bytes[at..at + secret.len()].fill(b'*');
            at += secret.len();
        } else {
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::Wire;

    #[test]
    fn a_key_goes_wherever_pieces_are_cut_and_no_byte_moves() {
        let text = "before sk-secret-1 and sk-secret-1 after ü".as_bytes();
        for cut in 0..=text.len() {
            let origin = Origin { wire: Wire::Chat, endpoint: "e".into(), model: "m".into() };
            let tap = Tap::open();
            let recorder = tap.begin("a/m", &origin, Some(&Key::new("sk-secret-1").unwrap()));
            recorder.received(&text[..cut]);
            recorder.received(&text[cut..]);
            let mut exchange = tap.take().remove(0);
            let secret = exchange.secret().unwrap();
            exchange.clean(&[secret]);
            let encoded = serde_json::to_string(&exchange).unwrap();
            assert!(!encoded.contains("sk-secret"), "{encoded}");
            let read: Exchange = serde_json::from_str(&encoded).unwrap();
            assert_eq!(read.pieces, exchange.pieces);
            assert_eq!(read.pieces[0].bytes.0.len(), cut);
            let whole: Vec<u8> = read.pieces.into_iter().flat_map(|piece| piece.bytes.0).collect();
            let stars = "*".repeat(11);
            assert_eq!(whole, format!("before {stars} and {stars} after ü").into_bytes());
        }
    }

    #[test]
    fn bytes_that_are_no_text_come_back_as_they_were() {
        for bytes in [&b"plain"[..], &[0xff, 0x00, b'a'], "ü".as_bytes(), &[0xc3], b""] {
            let encoded = serde_json::to_string(&Bytes(bytes.to_vec())).unwrap();
            assert_eq!(serde_json::from_str::<Bytes>(&encoded).unwrap().0, bytes, "{encoded}");
        }
        for odd in [r#"{"hex":"f"}"#, r#"{"hex":"+f"}"#, r#"{"hex":"zz"}"#, "7"] {
            assert!(serde_json::from_str::<Bytes>(odd).is_err(), "{odd}");
        }
    }
}
