//! Who the server says that it is.

use serde_json::{Map, Value, json};

/// Where an answer of the modern era says who the server is.
const SERVER: &str = "io.modelcontextprotocol/serverInfo";

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
