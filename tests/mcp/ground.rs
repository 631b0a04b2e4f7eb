//! A vault with a daemon, and a client with the token of MCP clients.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::home::{Daemon, Home};
use crate::posted;

pub struct Ground {
    pub home: Home,
    pub vault: PathBuf,
    _daemon: Daemon,
    pub port: u16,
    pub token: String,
}

impl Ground {
    pub fn new(settings: &str) -> Self {
        Self::of(Home::new(), settings)
    }

    pub fn of(home: Home, settings: &str) -> Self {
        let vault = home.vault("Notes");
        std::fs::write(vault.join(".obsidian/app.json"), r#"{"trashOption": "local"}"#).unwrap();
        std::fs::write(vault.join("a.md"), "one\n").unwrap();
        home.write_config(settings);
        let daemon = home.serve(&vault);
        let port = daemon.port();
        let mut ground = Self { home, vault, _daemon: daemon, port, token: String::new() };
        ground.token = ground.token("mcp");
        ground
    }

    pub fn token(&self, scope: &str) -> String {
        let run = self.home.run_in(&self.vault, &["token", "--scope", scope]).expect(0);
        run.stdout.trim_end().to_owned()
    }

    /// Sends these bytes.
    pub fn post(&self, body: &str) -> (u16, Value) {
        posted::post(self.port, &self.token, &[], body)
    }

    /// Sends a request in the legacy era.
    pub fn ask(&self, method: &str, params: &Value) -> (u16, Value) {
        self.post(&request(method, params))
    }

    /// Sends a request in the modern era, with its headers.
    pub fn ask_modern(&self, method: &str, params: &Value) -> (u16, Value) {
        let mut params = params.clone();
        params["_meta"] = meta();
        let named = params.get("name").or_else(|| params.get("uri"));
        let name = named.and_then(Value::as_str).unwrap_or_default().to_owned();
        let headers = [
            format!("Mcp-Method: {method}"),
            "MCP-Protocol-Version: 2026-07-28".to_owned(),
            format!("Mcp-Name: {name}"),
        ];
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        posted::post(self.port, &self.token, &headers, &request(method, &params))
    }

    /// Calls a tool; returns whether it failed, and its text.
    pub fn call(&self, tool: &str, arguments: &Value) -> (bool, String) {
        let result = posted::call(self.port, &self.token, tool, arguments);
        assert_eq!(result["content"].as_array().unwrap().len(), 1, "{result}");
        assert!(result.get("structuredContent").is_none(), "text alone: {result}");
        (result["isError"] == true, result["content"][0]["text"].as_str().unwrap().to_owned())
    }

    /// Calls something that is not a tool; returns the error code.
    pub fn call_unknown(&self, tool: &str, arguments: &Value) -> i64 {
        let params = json!({"name": tool, "arguments": arguments});
        let (_, answer) = self.ask("tools/call", &params);
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{answer}"))
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.vault.join(path)).unwrap()
    }
}

pub fn request(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

/// The `_meta` of a modern request.
pub fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "a modern one", "version": "1"},
    })
}
