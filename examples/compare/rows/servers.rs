//! Third-party servers with the same tools, which speak MCP over stdio.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::Ground;
use crate::peers::ServerPeer;
use crate::report::{Page, Row, short, thousands, time};
use crate::timing::{Contender, side_by_side};

/// The largest vault that they list and search: beyond it one of them takes a quarter of a minute
/// for an answer, and the other fails.
const MOST: usize = 10_000;

/// Requests in a row before the other one's turn.
const EACH: usize = 50;

/// A server that runs until dropped.
pub struct McpServer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    number: u64,
    name: &'static str,
}

impl McpServer {
    fn start(peer: &ServerPeer, ground: &Ground<'_>) -> Result<Self> {
        let mut command = Command::new(&peer.program);
        command.arg(&ground.vault);
        Self::run(command, peer.name)
    }

    /// Starts this command, in any language.
    pub fn piped(mut command: Command, name: &'static str) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn()?;
        let input = child.stdin.take().context("its input is piped")?;
        let output = BufReader::new(child.stdout.take().context("its output is piped")?);
        Ok(Self { child, input, output, number: 0, name })
    }

    /// Starts this command, and waits until it has answered its client's `initialize`.
    pub fn run(command: Command, name: &'static str) -> Result<Self> {
        let mut server = Self::piped(command, name)?;
        let client = json!({"name": "compare", "version": "1"});
        server.ask(
            "initialize",
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}),
        )?;
        writeln!(server.input, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#)?;
        Ok(server)
    }

    /// Sends a request; returns the answer and its time.
    pub fn ask(&mut self, method: &str, params: Value) -> Result<(Duration, String)> {
        let (took, _, line) = self.hear(method, params, None)?;
        Ok((took, line))
    }

    /// Sends a request; returns the time until a line that contains `mark` arrived.
    pub fn until(&mut self, method: &str, params: Value, mark: &str) -> Result<Duration> {
        let (_, marked, line) = self.hear(method, params, Some(mark))?;
        marked.with_context(|| format!("{} answered {line}", self.name))
    }

    fn hear(
        &mut self,
        method: &str,
        params: Value,
        mark: Option<&str>,
    ) -> Result<(Duration, Option<Duration>, String)> {
        self.number += 1;
        let mut question =
            json!({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
                .to_string();
        question.push('\n');
        let begun = Instant::now();
        self.input.write_all(question.as_bytes())?;
        self.input.flush()?;
        let (mut line, mut marked) = (String::new(), None);
        loop {
            line.clear();
            if self.output.read_line(&mut line)? == 0 {
                bail!("{} ended", self.name);
            }
            let took = begun.elapsed();
            if marked.is_none() && mark.is_some_and(|mark| line.contains(mark)) {
                marked = Some(took);
            }
            let answer: Value = serde_json::from_str(&line).unwrap_or_default();
            if answer["id"] == self.number
                && (answer["result"].is_object() || answer["error"].is_object())
            {
                return Ok((took, marked, line));
            }
            // It asks which folders it may use; it got them at its start.
            if answer["method"].is_string() && !answer["id"].is_null() {
                let error = json!({"code": -32601, "message": "not here"});
                let no = json!({"jsonrpc": "2.0", "id": answer["id"], "error": error});
                writeln!(self.input, "{no}")?;
            }
        }
    }

    /// Calls a tool.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Result<Duration> {
        let (took, line) = self.ask("tools/call", json!({"name": tool, "arguments": arguments}))?;
        let answer: Value = serde_json::from_str(&line)?;
        if answer["error"].is_object() || answer["result"]["isError"] == true {
            let said: String = line.chars().take(300).collect();
            bail!("{} could not do `{tool}`: {said}", self.name);
        }
        Ok(took)
    }
}

impl Drop for McpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reading, listing and searching, compared with each installed server.
///
/// # Errors
///
/// The daemon failed. A server that fails is named, and omitted.
pub fn measure(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    for peer in &ground.peers.servers {
        let told = thousands(ground.notes);
        if let Err(error) = compare(peer, ground, page) {
            page.say(format!("{} at {told} notes: {error:#}", peer.name));
        }
    }
    Ok(())
}

fn compare(peer: &ServerPeer, ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let daemon = ground.serve()?;
    let mut client = daemon.client()?;
    let mut server = McpServer::start(peer, ground)?;
    let note = client.any_note()?;
    let root = ground.vault.canonicalize()?;
    let (root_text, note_text) =
        (root.to_string_lossy().into_owned(), root.join(&note).to_string_lossy().into_owned());
    let times = side_by_side(
        vec![
            Contender::new("steward", EACH, || {
                Ok(client.call("read_file", &json!({"path": note}))?.took)
            }),
            Contender::new("peer", EACH, || {
                server.call("read_text_file", json!({"path": note_text}))
            }),
        ],
        ground.rounds.min(5),
    )?;
    let (own, theirs) = (times[0].1.median(), times[1].1.median());
    let least = if peer.searches { 3.0 } else { 5.0 };
    let what = format!("`read_file` vs the {}", peer.name);
    page.add(Row::new(what, ground.notes).quicker(own, theirs, "its own", least));
    if ground.notes > MOST {
        return Ok(());
    }
    let mut compare =
        |what: &str, tool: &str, ours: Value, name: &str, arguments: Value| -> Result<()> {
            let times = side_by_side(
                vec![
                    Contender::new("steward", 5, || Ok(client.call(tool, &ours)?.took)),
                    Contender::new("peer", 1, || server.call(name, arguments.clone())),
                ],
                3,
            )?;
            let (own, theirs) = (times[0].1.median(), times[1].1.median());
            page.detail(
                "Compared with other servers",
                &["what", "notes", "steward", "server", "takes", "ratio"],
                vec![
                    what.to_owned(),
                    thousands(ground.notes),
                    time(own),
                    peer.name.to_owned(),
                    time(theirs),
                    format!("{}x", short(theirs / own)),
                ],
            );
            Ok(())
        };
    compare(
        "glob `**/*.md`",
        "list_files",
        json!({"pattern": "**/*.md"}),
        "search_files",
        json!({"path": root_text, "pattern": "**/*.md"}),
    )?;
    if peer.searches {
        compare(
            "text, rare",
            "search_files",
            json!({"pattern": "Zyxqua Needle"}),
            "search_files_content",
            json!({"path": root_text, "pattern": "**/*.md", "query": "Zyxqua Needle"}),
        )?;
    }
    Ok(())
}
