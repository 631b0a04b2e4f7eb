//! A WebSocket client of the daemon that waits for one answer at a time, so that the daemon is measured: the clock runs
//! from the first byte sent to the last one received, and no JSON is parsed meanwhile.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes, WebSocket};

/// The longest wait for an answer: searching a million notes without an index takes time.
const PATIENCE: Duration = Duration::from_secs(120);

/// A connection after its handshake.
pub struct Client {
    socket: WebSocket<TcpStream>,
    number: i64,
}

/// An answer as it arrived, with its time.
pub struct Answer {
    /// The text of the frame.
    pub text: Utf8Bytes,
    /// From the first byte of the request to the last of the answer.
    pub took: Duration,
}

impl Answer {
    /// The result.
    ///
    /// # Errors
    /// The answer is an error.
    pub fn result(&self) -> Result<Value> {
        let mut answer: Value = serde_json::from_str(&self.text)?;
        if answer["error"].is_object() {
            bail!("the daemon answered {}", answer["error"]);
        }
        Ok(answer["result"].take())
    }
}

impl Client {
    /// Connects to the daemon on `port` and performs the handshake.
    ///
    /// # Errors
    ///
    /// Nothing listens there, or the token is refused.
    pub fn connect(port: u16, token: &str) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut request = format!("ws://127.0.0.1:{port}/v1").into_client_request()?;
        let bearer = format!("Bearer {token}").parse()?;
        request.headers_mut().insert(tungstenite::http::header::AUTHORIZATION, bearer);
        let (socket, _) = tungstenite::client(request, stream)
            .map_err(|error| anyhow::anyhow!("the daemon refused: {error}"))?;
        let mut client = Self { socket, number: 0 };
        client.ask("initialize", &json!({"protocolVersion": 1}))?.result()?;
        Ok(client)
    }

    /// Sends a request and waits for the answer, which may be an error.
    ///
    /// # Errors
    ///
    /// The connection broke.
    pub fn ask(&mut self, method: &str, params: &Value) -> Result<Answer> {
        self.number += 1;
        let question =
            json!({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params});
        let question = Message::text(question.to_string());
        let mark = format!(r#"{{"jsonrpc":"2.0","id":{},"#, self.number);
        let begun = Instant::now();
        self.socket.send(question)?;
        loop {
            // Pings are answered by the library; events are not answers.
            if let Message::Text(text) = self.socket.read()? {
                let took = begun.elapsed();
                if text.starts_with(&mark) {
                    return Ok(Answer { text, took });
                }
            }
        }
    }

    /// Sends a request, and returns the time until a message that contains `mark` arrived.
    ///
    /// # Errors
    ///
    /// The connection broke, or none came before the answer.
    pub fn until(&mut self, method: &str, params: &Value, mark: &str) -> Result<Duration> {
        self.number += 1;
        let question =
            json!({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params});
        let end = format!(r#"{{"jsonrpc":"2.0","id":{},"#, self.number);
        let begun = Instant::now();
        self.socket.send(Message::text(question.to_string()))?;
        let mut marked = None;
        loop {
            let Message::Text(text) = self.socket.read()? else { continue };
            if marked.is_none() && text.contains(mark) {
                marked = Some(begun.elapsed());
            }
            if text.starts_with(&end) {
                return marked.with_context(|| format!("the daemon answered {text}"));
            }
        }
    }

    /// Calls a tool, and only checks that the answer is not an error.
    ///
    /// # Errors
    ///
    /// The connection broke, or the tool failed.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Result<Answer> {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        if !answer.text.ends_with(r#""isError":false}}"#) {
            bail!("`{tool}` answered {}", answer.text);
        }
        Ok(answer)
    }

    /// Calls a tool and parses its result.
    ///
    /// # Errors
    ///
    /// As [`Client::call`].
    pub fn tool(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        let mut result = self.call(tool, arguments)?.result()?;
        Ok(result["structuredContent"].take())
    }

    /// The shortest possible request.
    ///
    /// # Errors
    ///
    /// The connection broke.
    pub fn ping(&mut self) -> Result<Duration> {
        let answer = self.ask("_vault/ping", &json!({}))?;
        if !answer.text.contains(r#""result""#) {
            bail!("a ping was answered by {}", answer.text);
        }
        Ok(answer.took)
    }

    /// The path of some note of the vault, for requests that need one.
    ///
    /// # Errors
    ///
    /// As [`Client::call`]; the vault has none.
    pub fn any_note(&mut self) -> Result<String> {
        let listed = self.tool("list_files", &json!({"pattern": "**/*.md", "max_results": 1}))?;
        let path = listed["entries"][0]["path"].as_str().context("the vault has no note")?;
        Ok(path.to_owned())
    }
}
