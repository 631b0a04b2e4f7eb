//! Common fields of results: the server's identity, and cache times.

use serde_json::{Map, Value, json};

/// The `_meta` key of the server's identity in the modern era.
const SERVER: &str = "io.modelcontextprotocol/serverInfo";

/// The cache time of lists in milliseconds.
pub const A_WHILE: u32 = 60_000;

pub fn server() -> Value {
    json!({ "name": "vault-steward", "title": "Vault Steward", "version": env!("CARGO_PKG_VERSION") })
}

/// Adds the fields of every result of the modern era.
pub fn sign(result: &mut Map<String, Value>) {
    result.insert("resultType".to_owned(), "complete".into());
    result.insert("_meta".to_owned(), json!({ SERVER: server() }));
}

/// A result with its cache time and scope.
pub fn with_cache_time(mut result: Value, milliseconds: u32, by: &str) -> Value {
    result["ttlMs"] = milliseconds.into();
    result["cacheScope"] = by.into();
    result
}
