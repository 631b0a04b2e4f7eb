//! A WebSocket client of the daemon that waits for one answer at a time, so that the daemon is measured: the clock runs
//! from the first byte sent to the last one received, and no JSON is parsed meanwhile.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes, WebSocket};

/// How long any answer may take: a search of a million notes without an index takes its time.
const PATIENCE: Duration = Duration::from_secs(120);

/// One connection that has introduced itself.
pub struct Client {
    socket: WebSocket<TcpStream>,
    number: i64,
}

/// An answer as it came, and how long it took.
pub struct Answer {
    /// The text of the frame.
    pub text: Utf8Bytes,
    /// From the first byte of the question to the last of the answer.
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
    /// Connects to the daemon on `port` and introduces itself.
    ///
    /// # Errors
    /// Nobody listens there, or the token is not let in.
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

    /// Asks, and waits for the answer. It may be an error.
    ///
    /// # Errors
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
            // Pings are answered by the library; events tell what happened, and answer nothing.
            if let Message::Text(text) = self.socket.read()? {
                let took = begun.elapsed();
                if text.starts_with(&mark) {
                    return Ok(Answer { text, took });
                }
            }
        }
    }

    /// Asks, and gives how long it took until a message with `mark` in it came.
    ///
    /// # Errors
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

    /// Calls a tool, without looking at more of the answer than that it is none of an error.
    ///
    /// # Errors
    /// The connection broke, or the tool could not do it.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Result<Answer> {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        if !answer.text.ends_with(r#""isError":false}}"#) {
            bail!("`{tool}` answered {}", answer.text);
        }
        Ok(answer)
    }

    /// Calls a tool and reads what it found.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn tool(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        let mut result = self.call(tool, arguments)?.result()?;
        Ok(result["structuredContent"].take())
    }

    /// The shortest question there is.
    ///
    /// # Errors
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
    /// As [`Client::call`]; there is none.
    pub fn any_note(&mut self) -> Result<String> {
        let listed = self.tool("list_files", &json!({"pattern": "**/*.md", "max_results": 1}))?;
        let path = listed["entries"][0]["path"].as_str().context("the vault has no note")?;
        Ok(path.to_owned())
    }
}
