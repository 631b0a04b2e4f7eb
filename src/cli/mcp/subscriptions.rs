//! The subscriptions of a client of the legacy era: `resources/subscribe` and `unsubscribe`.
//!
//! The daemon is stateless, and the modern era has one request for all subscriptions. So the relay holds
//! the list, and each change opens a new request; the previous one ends when the new one is
//! acknowledged, so that no update is missed.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use crate::mcp::fault::Fault;
use crate::mcp::listen::MAX_SUBSCRIPTIONS;
use crate::protocol::envelope::RequestId;

pub enum SubscriptionChange {
    Subscribe(String),
    Unsubscribe(String),
}

impl SubscriptionChange {
    /// The change that a legacy request asks for; `None` for any other request.
    pub fn of(method: &str, params: &Map<String, Value>) -> Option<Result<Self, Fault>> {
        let subscription = match method {
            "resources/subscribe" => Self::Subscribe,
            "resources/unsubscribe" => Self::Unsubscribe,
            _ => return None,
        };
        // The modern era has no such request; the daemon rejects it.
        if params.get("_meta").is_some_and(|meta| meta.get(crate::mcp::VERSION).is_some()) {
            return None;
        }
        let uri = params.get("uri").and_then(Value::as_str);
        let uri = uri.ok_or_else(|| Fault::params("`uri` must be a text"));
        Some(uri.map(|uri| subscription(uri.to_owned())))
    }
}

#[derive(Debug, Default)]
pub struct Subscriptions(BTreeSet<String>);

impl Subscriptions {
    pub fn change(&mut self, subscription: SubscriptionChange) -> Result<(), Fault> {
        match subscription {
            SubscriptionChange::Unsubscribe(uri) => drop(self.0.remove(&uri)),
            SubscriptionChange::Subscribe(uri)
                if self.0.len() < MAX_SUBSCRIPTIONS || self.0.contains(&uri) =>
            {
                self.0.insert(uri);
            }
            SubscriptionChange::Subscribe(_) => {
                let message =
                    format!("a client can subscribe to at most {MAX_SUBSCRIPTIONS} resources");
                return Err(Fault::params(message));
            }
        }
        Ok(())
    }

    /// Removes a resource that the daemon refused.
    pub fn refuse(&mut self, uri: &str) {
        self.0.remove(uri);
    }

    /// Whether there are no subscriptions.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The subscription request to the daemon.
    pub fn request(&self) -> String {
        json!({ "jsonrpc": "2.0", "id": 0, "method": "subscriptions/listen", "params": {
            "notifications": { "resourceSubscriptions": self.0 },
            "_meta": crate::mcp::relayed_meta(),
        } })
        .to_string()
    }
}

/// Translates the daemon's messages about a subscription request for the client.
pub struct SubscriptionAnswers<'a> {
    /// The client's request, answered once the daemon acknowledges.
    request_id: RefCell<Option<RequestId>>,
    /// Ends the previous request.
    acknowledged: &'a dyn Fn(),
}

impl<'a> SubscriptionAnswers<'a> {
    /// `request_id` is the client's request; `None` when resubscribing after the daemon ended.
    pub fn new(request_id: Option<RequestId>, acknowledged: &'a dyn Fn()) -> Self {
        Self { request_id: RefCell::new(request_id), acknowledged }
    }

    pub fn translate(&self, message: &str) -> Option<String> {
        let mut message: Value = serde_json::from_str(message).ok()?;
        match message["method"].as_str()? {
            "notifications/subscriptions/acknowledged" => {
                (self.acknowledged)();
                let id = self.request_id.take()?;
                Some(json!({ "jsonrpc": "2.0", "id": id, "result": {} }).to_string())
            }
            "notifications/resources/updated" => {
                message["params"].as_object_mut()?.remove("_meta");
                Some(message.to_string())
            }
            _ => None,
        }
    }

    /// Translates the last message or the failure; answers the client's request in any case.
    pub fn ended(&self, last: Result<String, Fault>) -> Option<String> {
        let id = self.request_id.take()?;
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
