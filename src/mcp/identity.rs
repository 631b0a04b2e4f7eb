//! What results say beside what was asked for: who the server is, and how long they hold.

use serde_json::{Map, Value, json};

/// Where an answer of the modern era says who the server is.
const SERVER: &str = "io.modelcontextprotocol/serverInfo";

/// Milliseconds for which a client may keep a list.
pub const A_WHILE: u32 = 60_000;

/// The server, as clients are told of it.
#[must_use]
pub fn server() -> Value {
    json!({ "name": "vault-steward", "title": "Vault Steward", "version": env!("CARGO_PKG_VERSION") })
}

/// Adds what every result of the modern era says.
pub fn sign(result: &mut Map<String, Value>) {
    result.insert("resultType".to_owned(), "complete".into());
    result.insert("_meta".to_owned(), json!({ SERVER: server() }));
}

/// A result with how long it may be kept, and by whom.
#[must_use]
pub fn kept(mut result: Value, milliseconds: u32, by: &str) -> Value {
    result["ttlMs"] = milliseconds.into();
    result["cacheScope"] = by.into();
    result
}
