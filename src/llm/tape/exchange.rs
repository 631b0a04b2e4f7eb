//! What went over the wire for one request, byte for byte and piece by piece, but for keys.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use reqwest::header::HeaderMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::llm::error::LlmError;
use crate::llm::key::Key;
use crate::llm::message::Origin;
use crate::llm::turn::TurnEvent;

/// The answer's headers that are kept: what an answer is read by, and what a vendor asks for.
const KEPT: &[&str] = &[
    "content-type",
    "request-id",
    "x-request-id",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
];

/// The shortest key that is taken out of what was said: what is shorter is no secret, but a word that
/// some local server wants to see.
const SECRET: usize = 8;

/// Who hears what a request sends and gets; usually nobody. Clones hear for one another.
#[derive(Debug, Clone, Default)]
pub struct Tap(Option<Arc<Mutex<Heard>>>);

#[derive(Debug, Default)]
struct Heard {
    exchanges: Vec<Exchange>,
    /// What was told since the last one.
    again: Option<TurnEvent>,
}

/// Hears one exchange, if anybody wants to hear it.
#[derive(Debug)]
pub(in crate::llm) struct Hearing(Option<(Arc<Mutex<Heard>>, usize)>);

/// One request over HTTP and its answer, as they were.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Exchange {
    /// Who was asked: `anthropic/claude-sonnet-5-5`.
    pub model: String,
    pub origin: Origin,
    /// What was told when it was asked after another one had failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<TurnEvent>,
    pub sent: Option<Sent>,
    pub answered: Option<Answered>,
    /// The body of the answer, in the pieces in which it came.
    pub pieces: Vec<Piece>,
    pub end: End,
    #[serde(skip)]
    key: Option<Key>,
    #[serde(skip, default = "Instant::now")]
    begun: Instant,
}

/// A request, but for its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sent {
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
}

/// What an answer begins with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Answered {
    /// Milliseconds since the request.
    pub after: u64,
    pub status: u16,
    /// Those that may be known to others.
    pub headers: Vec<(String, String)>,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Piece {
    /// Milliseconds since the request.
    pub after: u64,
    pub bytes: Bytes,
}

/// Bytes, kept as the text that they are, or else as hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bytes(pub Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Digits { hex: String },
}

/// How an exchange came to its end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    /// Whoever asked wanted no more.
    #[default]
    Dropped,
    /// By the vendor's own mark, or with the last byte.
    Whole,
    /// By a failure.
    Broke(Box<LlmError>),
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = match std::str::from_utf8(&self.0) {
            Ok(text) => Written::Text(text.to_owned()),
            Err(_) => {
                Written::Digits { hex: self.0.iter().map(|byte| format!("{byte:02x}")).collect() }
            }
        };
        written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Text(text) => Ok(Self(text.into_bytes())),
            Written::Digits { hex } => {
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
    /// One that hears.
    pub(super) fn open() -> Self {
        Self(Some(Arc::default()))
    }

    /// What was heard by now.
    pub(super) fn take(&self) -> Vec<Exchange> {
        let Some(heard) = &self.0 else { return Vec::new() };
        std::mem::take(&mut lock(heard).exchanges)
    }

    /// Notes what is told before the next exchange.
    pub(super) fn again(&self, told: &TurnEvent) {
        if let Some(heard) = &self.0 {
            lock(heard).again = Some(told.clone());
        }
    }

    /// Hears an exchange with `model`, made with this key.
    pub(in crate::llm) fn begin(&self, model: &str, origin: &Origin, key: Option<&Key>) -> Hearing {
        let Some(heard) = &self.0 else { return Hearing(None) };
        let mut state = lock(heard);
        let again = state.again.take();
        state.exchanges.push(Exchange {
            model: model.to_owned(),
            origin: origin.clone(),
            again,
            sent: None,
            answered: None,
            pieces: Vec::new(),
            end: End::Dropped,
            key: key.cloned(),
            begun: Instant::now(),
        });
        Hearing(Some((Arc::clone(heard), state.exchanges.len() - 1)))
    }
}

impl Hearing {
    /// The request is about to be sent.
    pub(in crate::llm) fn sends(&self, url: &str, headers: &[(&str, &str)], body: &[u8]) {
        self.note(|exchange| {
            let headers = headers.iter();
            let headers = headers.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let (url, body) = (url.to_owned(), Bytes(body.to_vec()));
            exchange.sent = Some(Sent { url, headers: headers.collect(), body });
        });
    }

    /// An answer begins.
    pub(in crate::llm) fn begins(&self, status: u16, headers: &HeaderMap) {
        self.note(|exchange| {
            let text = |name: &&str| {
                Some(((*name).to_owned(), headers.get(*name)?.to_str().ok()?.to_owned()))
            };
            let headers = KEPT.iter().filter_map(text).collect();
            exchange.answered = Some(Answered { after: exchange.after(), status, headers });
        });
    }

    /// A piece of the answer has come.
    pub(in crate::llm) fn hears(&self, bytes: &[u8]) {
        self.note(|exchange| {
            let piece = Piece { after: exchange.after(), bytes: Bytes(bytes.to_vec()) };
            exchange.pieces.push(piece);
        });
    }

    /// The answer is whole.
    pub(in crate::llm) fn is_whole(&self) {
        self.note(|exchange| exchange.end = End::Whole);
    }

    /// It has failed.
    pub(in crate::llm) fn fails(&self, error: &LlmError) {
        self.note(|exchange| {
            let mut error = error.clone();
            // Which is read from the pieces.
            (error.detail.partial, error.detail.usage) = (Vec::new(), None);
            exchange.end = End::Broke(Box::new(error));
        });
    }

    fn note(&self, change: impl FnOnce(&mut Exchange)) {
        let Some((heard, at)) = &self.0 else { return };
        // One that was written down already is heard no more.
        if let Some(exchange) = lock(heard).exchanges.get_mut(*at) {
            change(exchange);
        }
    }
}

fn lock(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Exchange {
    fn after(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The key that it was made with, where that is one to keep secret.
    pub fn secret(&self) -> Option<String> {
        let key = self.key.as_ref()?.reveal();
        (key.len() >= SECRET).then(|| key.to_owned())
    }

    /// Puts asterisks in the place of these secrets, wherever they stand in what was sent and got; a
    /// secret in two pieces too. No byte moves.
    pub fn clean(&mut self, secrets: &[String]) {
        let mut whole: Vec<u8> = Vec::new();
        self.pieces.iter().for_each(|piece| whole.extend_from_slice(&piece.bytes.0));
        for secret in secrets {
            blot(&mut whole, secret.as_bytes());
            if let Some(sent) = &mut self.sent {
                blot(&mut sent.body.0, secret.as_bytes());
                sent.url = without(&sent.url, secret);
            }
            let headers = self.answered.iter_mut().flat_map(|answered| &mut answered.headers);
            headers.for_each(|(_, value)| *value = without(value, secret));
        }
        let mut rest = &*whole;
        for piece in &mut self.pieces {
            let (own, others) = rest.split_at(piece.bytes.0.len());
            piece.bytes.0.copy_from_slice(own);
            rest = others;
        }
    }
}

/// A text without a secret, as long as before.
pub(super) fn without(text: &str, secret: &str) -> String {
    text.replace(secret, &"*".repeat(secret.len()))
}

fn blot(bytes: &mut [u8], secret: &[u8]) {
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
            let hearing = tap.begin("a/m", &origin, Some(&Key::new("sk-secret-1").unwrap()));
            hearing.hears(&text[..cut]);
            hearing.hears(&text[cut..]);
            let mut exchange = tap.take().remove(0);
            let secret = exchange.secret().unwrap();
            exchange.clean(&[secret]);
            let written = serde_json::to_string(&exchange).unwrap();
            assert!(!written.contains("sk-secret"), "{written}");
            let read: Exchange = serde_json::from_str(&written).unwrap();
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
            let written = serde_json::to_string(&Bytes(bytes.to_vec())).unwrap();
            assert_eq!(serde_json::from_str::<Bytes>(&written).unwrap().0, bytes, "{written}");
        }
        for odd in [r#"{"hex":"f"}"#, r#"{"hex":"+f"}"#, r#"{"hex":"zz"}"#, "7"] {
            assert!(serde_json::from_str::<Bytes>(odd).is_err(), "{odd}");
        }
    }
}
