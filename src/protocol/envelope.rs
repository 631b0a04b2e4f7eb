//! The form of all messages: requests, answers, notifications, ids.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

use super::error::{ErrorObject, Kind};
use super::{METHODS, NotificationParams, ServerRequestParams, strict};

/// Maximum length of a text id, in bytes.
pub const MAX_ID_BYTES: usize = 256;

/// Maximum length of a method name, in bytes.
const MAX_METHOD_BYTES: usize = 128;

/// Size of an answer without its result, with an ordinary id.
const FRAME: usize = 64;

/// Maximum characters of a client's error message.
const MAX_ERROR_CHARS: usize = 300;

/// A request's id: an integer or a text of at most 256 bytes. Null and fractions are refused, since
/// languages disagree about them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, TS)]
#[serde(untagged)]
pub enum RequestId {
    Number(i64),
    Text(String),
}

impl RequestId {
    fn from_value(value: Value) -> Result<Self, ErrorObject> {
        let fault = |found: &str| {
            ErrorObject::new(Kind::InvalidId, format!("the id is {found}"))
                .hint(format!("an id is an integer or a string of at most {MAX_ID_BYTES} bytes"))
        };
        match value {
            Value::Number(number) => {
                number.as_i64().map(Self::Number).ok_or_else(|| fault("no 64-bit integer"))
            }
            Value::String(text) if text.len() <= MAX_ID_BYTES => Ok(Self::Text(text)),
            Value::String(text) => Err(fault(&format!("a string of {} bytes", text.len()))),
            Value::Null => Err(fault("null")),
            Value::Bool(_) => Err(fault("a boolean")),
            Value::Array(_) => Err(fault("an array")),
            Value::Object(_) => Err(fault("an object")),
        }
    }
}

/// A message from the client.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    Request {
        id: RequestId,
        method: String,
        /// Empty if missing.
        params: Map<String, Value>,
    },
    Notification {
        method: String,
        /// Empty if missing.
        params: Map<String, Value>,
    },
    /// An answer to a request from the server.
    Answer {
        /// `None` if it could not be read.
        id: Option<RequestId>,
        /// The result, or the error message.
        answer: Result<Value, String>,
    },
}

/// An error, and the id of the request it answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// `None` (null on the wire) if it could not be read.
    pub id: Option<RequestId>,
    pub error: Box<ErrorObject>,
}

impl Incoming {
    /// Parses a text frame.
    ///
    /// # Errors
    /// A [`Refusal`] to be sent to the client; the connection stays usable.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let value = strict::parse(text).map_err(|error| {
            refuse(None, Kind::ParseError, format!("could not read the message: {error}"))
        })?;
        let mut object = match value {
            Value::Object(object) => object,
            Value::Array(_) => {
                return Err(refuse(None, Kind::BatchNotSupported, "batches are not supported")
                    .hint("send one object a frame"));
            }
            _ => return Err(refuse(None, Kind::InvalidRequest, "a message is an object")),
        };
        let id = object
            .remove("id")
            .map(RequestId::from_value)
            .transpose()
            .map_err(|error| Refusal { id: None, error: Box::new(error) })?;
        if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(refuse(id, Kind::InvalidRequest, "`jsonrpc` must be \"2.0\""));
        }
        let method = match object.remove("method") {
            Some(Value::String(method)) if method.len() <= MAX_METHOD_BYTES => method,
            Some(Value::String(method)) => {
                return Err(Refusal { id, error: Box::new(ErrorObject::unknown_method(&method)) });
            }
            Some(_) => return Err(refuse(id, Kind::InvalidRequest, "`method` must be a string")),
            None if object.contains_key("result") || object.contains_key("error") => {
                let answer = match object.remove("error") {
                    None => Ok(object.remove("result").unwrap_or_default()),
                    Some(error) => Err(error_message(&error)),
                };
                return Ok(Self::Answer { id, answer });
            }
            None => return Err(refuse(id, Kind::InvalidRequest, "`method` is missing")),
        };
        let params = match object.remove("params") {
            None => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => return Err(refuse(id, Kind::InvalidParams, "`params` must be an object")),
        };
        match id {
            Some(id) => Ok(Self::Request { id, method, params }),
            // JSON-RPC would not answer. A known request without an id is a bug in the client, and
            // its author must learn of it.
            None if METHODS.contains(&&*method) => {
                Err(refuse(None, Kind::MissingId, format!("`{method}` needs an `id`")))
            }
            None => Ok(Self::Notification { method, params }),
        }
    }
}

/// A client's error message, on one line of limited length.
fn error_message(error: &Value) -> String {
    let message = error.get("message").and_then(Value::as_str).unwrap_or("it does not say why");
    message.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_ERROR_CHARS).collect()
}

fn refuse(id: Option<RequestId>, kind: Kind, message: impl Into<String>) -> Refusal {
    Refusal { id, error: Box::new(ErrorObject::new(kind, message)) }
}

impl Refusal {
    fn hint(mut self, hint: &str) -> Self {
        self.error.data.hint = Some(hint.to_owned());
        self
    }
}

/// Parses a method's params. Unknown members are ignored, for compatibility with newer clients.
pub fn params<P: DeserializeOwned>(params: Map<String, Value>) -> Result<P, ErrorObject> {
    P::deserialize(Value::Object(params)).map_err(|error| {
        ErrorObject::new(Kind::InvalidParams, format!("the params do not fit: {error}"))
    })
}

/// The JSON of a successful answer.
///
/// # Panics
/// Never: every result of this protocol is plain data.
pub fn answer<R: Serialize>(id: &RequestId, result: &R) -> String {
    let written = answer_of(id, 128, |json| serde_json::to_writer(json, result));
    written.expect("results are plain data")
}

/// As [`answer`], with `result` appending the JSON of the result, of about `bytes` bytes.
/// # Panics
/// If `result` does not write UTF-8.
pub fn answer_of<E>(
    id: &RequestId,
    bytes: usize,
    result: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<String, E> {
    let mut json = Vec::with_capacity(bytes + FRAME);
    json.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    match id {
        RequestId::Number(number) => json.extend_from_slice(number.to_string().as_bytes()),
        RequestId::Text(text) => write_text(text, &mut json),
    }
    json.extend_from_slice(br#","result":"#);
    result(&mut json)?;
    json.push(b'}');
    Ok(String::from_utf8(json).expect("JSON is text"))
}

/// Appends `text` as a JSON string to `json`.
///
/// # Panics
/// Never: every text is a JSON string.
pub fn write_text(text: &str, json: &mut Vec<u8>) {
    serde_json::to_writer(json, text).expect("every text is a JSON string");
}

/// The JSON of an error answer; `None` is null, for a message without a readable id.
///
/// # Panics
/// Never: errors are plain data.
pub fn failure(id: Option<&RequestId>, error: &ErrorObject) -> String {
    #[derive(Serialize)]
    struct Failure<'a> {
        jsonrpc: &'static str,
        id: Option<&'a RequestId>,
        error: &'a ErrorObject,
    }
    serde_json::to_string(&Failure { jsonrpc: "2.0", id, error }).expect("errors are plain data")
}

/// The JSON of a notification from the server.
///
/// # Panics
/// Never: params are plain data.
pub fn notification<P: NotificationParams>(params: &P) -> String {
    #[derive(Serialize)]
    struct Notification<'a, P> {
        jsonrpc: &'static str,
        method: &'static str,
        params: &'a P,
    }
    serde_json::to_string(&Notification { jsonrpc: "2.0", method: P::METHOD, params })
        .expect("params are plain data")
}

/// The JSON of a request from the server.
///
/// # Panics
/// Never: params are plain data.
pub fn request<P: ServerRequestParams>(id: &RequestId, params: &P) -> String {
    #[derive(Serialize)]
    struct RequestEnvelope<'a, P> {
        jsonrpc: &'static str,
        id: &'a RequestId,
        method: &'static str,
        params: &'a P,
    }
    serde_json::to_string(&RequestEnvelope { jsonrpc: "2.0", id, method: P::METHOD, params })
        .expect("params are plain data")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> (Option<RequestId>, Kind) {
        let refusal = Incoming::parse(text).unwrap_err();
        (refusal.id, refusal.error.data.kind)
    }

    #[test]
    fn parses_requests_and_notifications() {
        assert_eq!(
            Incoming::parse(r#"{"jsonrpc":"2.0","id":"a","method":"_vault/ping"}"#).unwrap(),
            Incoming::Request {
                id: RequestId::Text("a".into()),
                method: "_vault/ping".into(),
                params: Map::new()
            }
        );
        assert!(matches!(
            Incoming::parse(r#"{"jsonrpc":"2.0","method":"x/y","params":{}}"#).unwrap(),
            Incoming::Notification { .. }
        ));
        assert_eq!(
            Incoming::parse(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).unwrap(),
            Incoming::Answer {
                id: Some(RequestId::Number(1)),
                answer: Ok(Value::Object(Map::new()))
            }
        );
        assert_eq!(
            Incoming::parse(r#"{"jsonrpc":"2.0","id":1,"error":{"message":"no\nsuch note"}}"#)
                .unwrap(),
            Incoming::Answer {
                id: Some(RequestId::Number(1)),
                answer: Err("no such note".to_owned())
            }
        );
    }

    #[test]
    fn errors_name_the_fault_and_the_request() {
        let one = Some(RequestId::Number(1));
        for (text, id, expected) in [
            ("{", None, Kind::ParseError),
            ("[]", None, Kind::BatchNotSupported),
            ("7", None, Kind::InvalidRequest),
            (r#"{"id":1,"method":"x"}"#, one.clone(), Kind::InvalidRequest),
            (r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#, one.clone(), Kind::InvalidRequest),
            (r#"{"jsonrpc":"2.0","id":1}"#, one.clone(), Kind::InvalidRequest),
            (r#"{"jsonrpc":"2.0","id":1,"method":3}"#, one.clone(), Kind::InvalidRequest),
            (r#"{"jsonrpc":"2.0","id":1,"method":"x","params":[]}"#, one, Kind::InvalidParams),
            (r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, None, Kind::InvalidId),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#, None, Kind::InvalidId),
            (r#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"x"}"#, None, Kind::InvalidId),
            (r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#, None, Kind::InvalidId),
            (r#"{"jsonrpc":"2.0","method":"tools/list"}"#, None, Kind::MissingId),
        ] {
            assert_eq!(kind(text), (id, expected), "{text}");
        }
        let long = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"x"}}"#, "a".repeat(1 << 20));
        assert_eq!(kind(&long), (None, Kind::InvalidId));
    }

    #[test]
    fn an_answer_is_the_envelope_with_the_result_in_it() {
        #[derive(Serialize)]
        struct Whole<'a> {
            jsonrpc: &'static str,
            id: &'a RequestId,
            result: Value,
        }
        for id in [i64::MIN, -1, 0, 7]
            .map(RequestId::Number)
            .into_iter()
            .chain(["", "a", "\"\\\n\u{1}é\u{1f600}"].map(|text| RequestId::Text(text.to_owned())))
        {
            let result = serde_json::json!({ "b": [1, "x"], "a": {} });
            let whole =
                serde_json::to_string(&Whole { jsonrpc: "2.0", id: &id, result: result.clone() });
            assert_eq!(answer(&id, &result), whole.unwrap());
        }
        let none = answer_of(&RequestId::Number(1), 0, |json| {
            json.push(b'{');
            Err("no")
        });
        assert_eq!(none, Err("no"));
    }
}
