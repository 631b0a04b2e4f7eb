//! A message of an MCP client over HTTP.
#![allow(dead_code, reason = "each test program uses its part")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

/// The answer: the status, and the message, or null if there is none.
pub fn post(port: u16, token: &str, headers: &[&str], body: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut head = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n",
        body.len()
    );
    headers.iter().for_each(|header| head.push_str(&format!("{header}\r\n")));
    stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
    // A server that refuses by the headers alone does not read the rest.
    let _ = stream.write_all(body.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).unwrap();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

/// Calls a tool in the legacy era; returns the result.
pub fn call(port: u16, token: &str, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let (status, mut answer) = post(port, token, &[], &body.to_string());
    assert_eq!(status, 200, "{tool}: {answer}");
    answer["result"].take()
}
