//! The transports for MCP and ACP clients, compared with the WebSocket of all other clients.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::Ground;
use super::servers::McpServer;
use crate::daemon::{Daemon, Home};
use crate::report::{Page, Row};
use crate::timing::{Contender, Times, side_by_side};

/// Requests in a row before the other one's turn.
const EACH: usize = 50;

/// Starts of a relay per round.
const STARTS: usize = 3;

/// The largest vault whose cold start has a target.
const COLD: usize = 10_000;

/// Reading a note through both MCP transports, first answers, and the first piece of an agent's
/// answer.
///
/// # Errors
///
/// The daemon failed.
pub fn measure(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    reading(ground, page)?;
    starting(ground, page)?;
    thinking(ground, page)
}

fn reading(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let daemon = ground.serve()?;
    let mut client = daemon.client()?;
    let note = json!({"path": client.any_note()?});
    let port = daemon.port();
    let vault = ground.vault.to_string_lossy();
    let mut command = ground.home.command(ground.steward);
    let token = command.args(["token", "--scope", "mcp", "--vault", &vault]).output()?;
    let token = String::from_utf8(token.stdout)?.trim().to_owned();
    let mut relay = relay(ground)?;
    let times = side_by_side(
        vec![
            Contender::new("v1", EACH, || Ok(client.call("read_file", &note)?.took)),
            // It is closed during the turns of others.
            Contender::new("post", 1, || {
                let mut posting = Posting::connect(port, &token)?;
                posting.call(&note)?;
                let mut times = Times::default();
                for _ in 0..EACH {
                    times.add(posting.call(&note)?);
                }
                Ok(Duration::from_secs_f64(times.median() / 1_000.0))
            }),
            Contender::new("relay", EACH, || relay.call("read_file", note.clone())),
        ],
        ground.rounds,
    )?;
    let [v1, post, relay] = [0, 1, 2].map(|at| times[at].1.median());
    let notes = ground.notes;
    page.add(Row::new("`read_file` by `POST /mcp`", notes).within(post, v1, "by `/v1`", 1.25));
    let what = "`read_file` by `steward mcp`, beyond `POST /mcp`";
    page.add(Row::new(what, notes).alone(relay - post, "ms", 0.2));
    Ok(())
}

/// A relay after its client's handshake.
fn relay(ground: &Ground<'_>) -> Result<McpServer> {
    let mut command = ground.home.command(ground.steward);
    command.args(["mcp", "--vault"]).arg(&ground.vault);
    McpServer::run(command, "steward mcp")
}

/// A client of `POST /mcp` that keeps its connection, as MCP's SDKs do.
struct Posting {
    stream: BufReader<TcpStream>,
    head: String,
}

impl Posting {
    fn connect(port: u16, token: &str) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: "
        );
        Ok(Self { stream: BufReader::new(stream), head })
    }

    fn call(&mut self, note: &Value) -> Result<Duration> {
        let call = json!({"name": "read_file", "arguments": note});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call});
        let body = body.to_string();
        let request = format!("{}{}\r\n\r\n{body}", self.head, body.len());
        let begun = Instant::now();
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut length = 0;
        loop {
            let mut line = String::new();
            ensure!(self.stream.read_line(&mut line)? > 0, "the connection ended");
            match line.trim_end().split_once(": ") {
                Some(("content-length", bytes)) => length = bytes.parse()?,
                _ if line.trim_end().is_empty() => break,
                _ => {}
            }
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer)?;
        let took = begun.elapsed();
        let answer = String::from_utf8(answer)?;
        ensure!(answer.contains(r#""isError":false"#), "`POST /mcp` answered {answer}");
        Ok(took)
    }
}

fn starting(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let first = || -> Result<Duration> {
        let begun = Instant::now();
        relay(ground)?;
        Ok(begun.elapsed())
    };
    let daemon = ground.serve()?;
    let mut warm = Times::default();
    for _ in 0..ground.rounds * STARTS {
        warm.add(first()?);
    }
    drop(daemon);
    let notes = ground.notes;
    let what = "the first answer of `steward mcp`, with a daemon";
    page.add(Row::new(what, notes).alone(warm.median(), "ms", 150.0));
    let mut cold = Times::default();
    for _ in 0..ground.rounds {
        cold.add(first()?);
        ground.home.end_started()?;
    }
    let what = "the first answer of `steward mcp`, without one";
    let row = Row::new(what, notes).alone(cold.median(), "ms", 1_000.0);
    page.add(if notes > COLD { row.told() } else { row });
    Ok(())
}

/// The text of the first piece of an answer.
pub const PIECE: &str = "agent_message_chunk";

/// A model that answers at once, and the settings that name it.
///
/// # Errors
/// No port is free.
pub fn model() -> Result<String> {
    let model = TcpListener::bind(("127.0.0.1", 0))?;
    let address = model.local_addr()?;
    let settings = format!(
        "[conversation]\ntitles_by_model = false\n[models]\nchain = [\"own/m\"]\n\
         [models.providers.own]\nwire = \"chat\"\nbase_url = \"http://{address}\"\nkey = \"optional\"\n",
    );
    std::thread::spawn(move || {
        for stream in model.incoming().flatten() {
            std::thread::spawn(move || says_hello(stream));
        }
    });
    Ok(settings)
}

/// The additional delay of the first piece of an answer through `steward acp`, compared with the
/// WebSocket.
fn thinking(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let settings = model()?;
    let home = Home::with(ground.scratch, &settings)?;
    let daemon = Daemon::start(ground.steward, &ground.vault, &home)?;
    daemon.rest();
    let mut client = daemon.client()?;
    let begun = client.ask("session/new", &json!({}))?.result()?;
    let prompt = |session: &Value| json!({"sessionId": session, "prompt": [{"type": "text", "text": "hello"}]});
    let own = prompt(&begun["sessionId"]);
    let mut command = home.command(ground.steward);
    command.args(["acp", "--vault"]).arg(&ground.vault);
    let mut agent = McpServer::piped(command, "steward acp")?;
    agent.ask("initialize", json!({"protocolVersion": 1}))?;
    let place = json!({"cwd": ground.vault.canonicalize()?, "mcpServers": []});
    let (_, begun) = agent.ask("session/new", place)?;
    let begun: Value = serde_json::from_str(&begun)?;
    let editors = prompt(&begun["result"]["sessionId"]);
    let times = side_by_side(
        vec![
            Contender::new("v1", 5, || client.until("session/prompt", &own, PIECE)),
            Contender::new("acp", 5, || agent.until("session/prompt", editors.clone(), PIECE)),
        ],
        ground.rounds,
    )?;
    let [v1, acp] = [0, 1].map(|at| times[at].1.median());
    let what = "the first piece of an answer by `steward acp`, beyond `/v1`";
    page.add(Row::new(what, ground.notes).alone(acp - v1, "ms", 5.0));
    Ok(())
}

/// A model that answers without delay.
fn says_hello(mut stream: TcpStream) -> Result<()> {
    const SAID: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello.\"}}]}\n\n\
        data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let mut request = BufReader::new(stream.try_clone()?);
    let (mut line, mut length) = (String::new(), 0);
    while line != "\r\n" {
        line.clear();
        ensure!(request.read_line(&mut line)? > 0, "it hung up");
        if let Some(bytes) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = bytes.trim().parse().context("a length")?;
        }
    }
    std::io::copy(&mut request.take(length), &mut std::io::sink())?;
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n{SAID}"
    )?;
    Ok(())
}
