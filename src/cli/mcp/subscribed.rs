//! What a client of the legacy era subscribes to: `resources/subscribe` and `unsubscribe`.
//!
//! The daemon keeps nothing of a client, and the modern era has one request for all that a client wants to be
//! told. So the list is here, and each change of it opens such a request anew; the one before ends when the
//! new one is acknowledged, so that nothing is missed in between.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use crate::mcp::fault::Fault;
use crate::mcp::listen::MOST;
use crate::protocol::envelope::RequestId;

/// A request for another list.
pub enum Wanted {
    /// To be told of this resource.
    Subscribe(String),
    /// To be told of it no more.
    Unsubscribe(String),
}

impl Wanted {
    /// What this request of the legacy era wants; `None` for any other request.
    ///
    /// # Errors
    /// It names no resource.
    pub fn of(method: &str, params: &Map<String, Value>) -> Option<Result<Self, Fault>> {
        let wanted = match method {
            "resources/subscribe" => Self::Subscribe,
            "resources/unsubscribe" => Self::Unsubscribe,
            _ => return None,
        };
        // The modern era has no such request, as the daemon says.
        if params.get("_meta").is_some_and(|meta| meta.get(crate::mcp::VERSION).is_some()) {
            return None;
        }
        let uri = params.get("uri").and_then(Value::as_str);
        let uri = uri.ok_or_else(|| Fault::params("`uri` must be a text"));
        Some(uri.map(|uri| wanted(uri.to_owned())))
    }
}

/// The resources that the client is told of.
#[derive(Debug, Default)]
pub struct Subscribed(BTreeSet<String>);

impl Subscribed {
    /// Changes the list.
    ///
    /// # Errors
    /// It has as many as it may have.
    pub fn change(&mut self, wanted: Wanted) -> Result<(), Fault> {
        match wanted {
            Wanted::Unsubscribe(uri) => drop(self.0.remove(&uri)),
            Wanted::Subscribe(uri) if self.0.len() < MOST || self.0.contains(&uri) => {
                self.0.insert(uri);
            }
            Wanted::Subscribe(_) => {
                let message = format!("a client is told of at most {MOST} resources");
                return Err(Fault::params(message));
            }
        }
        Ok(())
    }

    /// Takes back what the daemon refused.
    pub fn refuse(&mut self, uri: &str) {
        self.0.remove(uri);
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The request to the daemon.
    pub fn request(&self) -> String {
        json!({ "jsonrpc": "2.0", "id": 0, "method": "subscriptions/listen", "params": {
            "notifications": { "resourceSubscriptions": self.0 },
            "_meta": crate::mcp::relayed_meta(),
        } })
        .to_string()
    }
}

/// What the daemon says on such a request, as the client is told it.
pub struct Hearing<'a> {
    /// The client's request that is answered once the daemon has acknowledged.
    asked: RefCell<Option<RequestId>>,
    /// Ends the request before.
    acknowledged: &'a dyn Fn(),
}

impl<'a> Hearing<'a> {
    /// Of a request that the client made, or of one after the daemon's end.
    pub fn new(asked: Option<RequestId>, acknowledged: &'a dyn Fn()) -> Self {
        Self { asked: RefCell::new(asked), acknowledged }
    }

    /// The message for the client that this one of the daemon's comes to.
    pub fn told(&self, message: &str) -> Option<String> {
        let mut message: Value = serde_json::from_str(message).ok()?;
        match message["method"].as_str()? {
            "notifications/subscriptions/acknowledged" => {
                (self.acknowledged)();
                let id = self.asked.take()?;
                Some(json!({ "jsonrpc": "2.0", "id": id, "result": {} }).to_string())
            }
            "notifications/resources/updated" => {
                message["params"].as_object_mut()?.remove("_meta");
                Some(message.to_string())
            }
            _ => None,
        }
    }

    /// The same for the last message, or for what went wrong: the client's request is answered in any case.
    pub fn ended(&self, last: Result<String, Fault>) -> Option<String> {
        let id = self.asked.take()?;
        let error = last.map(|last| {
            let mut last: Value = serde_json::from_str(&last).unwrap_or_default();
            last["error"].take()
        });
        Some(match error {
            Err(fault) => fault.text(Some(&id)),
            Ok(error) if Map::deserialize(&error).is_ok() => {
                json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
            }
            Ok(_) => Fault::new(crate::mcp::fault::INTERNAL, "the daemon ended").text(Some(&id)),
        })
    }
}
