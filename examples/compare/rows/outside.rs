//! The cost of third-party programs: configured servers that nobody uses, and a guest that answers.

use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use vault_steward::servers::ServerEntry;
use vault_steward::servers::offer::Described;
use vault_steward::servers::pin::Pin;

use super::Ground;
use super::doors::{self, PIECE};
use super::servers::McpServer;
use crate::daemon::{Daemon, Home};
use crate::report::{Page, Row};
use crate::timing::{Contender, Times, side_by_side};

/// Servers of the settings.
const SERVERS: usize = 20;

/// Allowed tools of each.
const TOOLS: usize = 5;

/// Starts differ by milliseconds, so more of them are needed than for other rows.
const STARTS: usize = 3;

/// Turns in a row before the other one's.
const TURNS: usize = 10;

/// How often each of the two daemons is started for its turns.
const TAKES: usize = 2;

/// The name of the guest.
const GUEST: &str = "helper";

/// Unused servers, and a guest's first words.
///
/// # Errors
///
/// The daemon failed.
pub fn measure(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    servers(ground, page)?;
    guest(ground, page)
}

fn servers(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let models = doors::model()?;
    let entry = ServerEntry::new("/bin/cat", Vec::new());
    let names = || (0..SERVERS).map(|number| format!("s{number}"));
    let sections: String = names()
        .map(|name| format!("[servers.{name}]\ncommand = \"{}\"\n", entry.command))
        .collect();
    let plain = Home::with(ground.scratch, &models)?;
    let with = Home::with(ground.scratch, &format!("{models}{sections}"))?;
    let start = |home: &Home| Daemon::start(ground.steward, &ground.vault, home);
    for home in [&plain, &with] {
        start(home)?.rest();
    }
    let described = |number: usize| {
        Described::read(&json!({ "name": format!("tool{number}"), "description": "Does something",
            "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } } } }))
    };
    let tools: Vec<Described> = (0..TOOLS).filter_map(described).collect();
    for name in names() {
        Pin::new(&entry, &tools).store(&with.state()?.join("servers"), &name)?;
    }
    let times = side_by_side(
        vec![
            Contender::new("plain", 1, || Ok(start(&plain)?.ready)),
            Contender::new("servers", 1, || Ok(start(&with)?.ready)),
        ],
        ground.rounds * STARTS,
    )?;
    let [without, with_them] = [0, 1].map(|at| times[at].1.median());
    let notes = ground.notes;
    let what = "start to ready with 20 servers in the settings, beyond without";
    page.add(Row::new(what, notes).alone(with_them - without, "ms", 5.0));

    let (mut without, mut with_them) = (Times::default(), Times::default());
    for _ in 0..TAKES {
        without.join(&turns(&start(&plain)?, ground.rounds)?);
        with_them.join(&turns(&start(&with)?, ground.rounds)?);
    }
    let (without, with_them) = (without.median(), with_them.median());
    let what = "the first piece of an answer with 20 servers that it does not use, beyond without";
    page.add(Row::new(what, notes).alone(with_them - without, "ms", 0.5));
    Ok(())
}

/// The first pieces of answers in one conversation.
fn turns(daemon: &Daemon, rounds: usize) -> Result<Times> {
    daemon.rest();
    let mut client = daemon.client()?;
    let session = client.ask("session/new", &json!({}))?.result()?["sessionId"].take();
    let prompt = prompt(&session);
    client.until("session/prompt", &prompt, PIECE)?;
    let mut times = Times::default();
    for _ in 0..rounds * TURNS {
        times.add(client.until("session/prompt", &prompt, PIECE)?);
    }
    Ok(times)
}

fn guest(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let program = std::env::current_exe()?;
    let command = [program.to_string_lossy().into_owned(), "--guest".to_owned()];
    let settings = format!(
        "[conversation]\ntitles_by_model = false\n[agents.{GUEST}]\ncommand = {}\n",
        json!(command)
    );
    let home = Home::with(ground.scratch, &settings)?;
    let daemon = Daemon::start(ground.steward, &ground.vault, &home)?;
    daemon.rest();
    agree(&home.state()?.join("guests"), &command)?;
    let mut client = daemon.client()?;
    let session = client.ask("session/new", &json!({}))?.result()?["sessionId"].take();
    let option = json!({"sessionId": session, "configId": "agent", "value": GUEST});
    client.ask("session/set_config_option", &option)?.result()?;
    let through = prompt(&session);
    let mut direct = McpServer::piped(guest_command(&program), "the guest")?;
    direct.ask("initialize", json!({"protocolVersion": 1}))?;
    direct.ask("session/new", json!({"cwd": ground.scratch, "mcpServers": []}))?;
    let directly = prompt(&json!("s1"));
    let times = side_by_side(
        vec![
            Contender::new("steward", TURNS, || client.until("session/prompt", &through, PIECE)),
            Contender::new("guest", TURNS, || {
                direct.until("session/prompt", directly.clone(), PIECE)
            }),
        ],
        ground.rounds,
    )?;
    let [through, directly] = [0, 1].map(|at| times[at].1.median());
    let what = "the first piece of a guest's answer, beyond the guest itself";
    page.add(Row::new(what, ground.notes).alone(through - directly, "ms", 10.0));
    Ok(())
}

fn prompt(session: &Value) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": "hello"}]})
}

fn guest_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.arg("--guest");
    command
}

/// Stores a person's approval of the guest.
fn agree(folder: &Path, command: &[String]) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    Ok(std::fs::write(folder.join("allowed.json"), json!({ GUEST: command }).to_string())?)
}

/// An agent that says hello at once: the other process.
///
/// # Errors
///
/// Its pipes broke.
pub fn answer_as_guest() -> Result<()> {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let mut send = |part: Value| -> Result<()> {
            writeln!(output, "{part}")?;
            Ok(output.flush()?)
        };
        let result = match message["method"].as_str() {
            Some("initialize") => json!({"protocolVersion": 1, "agentCapabilities": {}}),
            Some("session/new") => json!({"sessionId": "s1"}),
            Some("session/prompt") => {
                ensure!(message["params"]["sessionId"] == "s1", "of another session");
                let content = json!({"type": "text", "text": "Hello."});
                let update = json!({"sessionUpdate": PIECE, "content": content});
                let params = json!({"sessionId": "s1", "update": update});
                send(json!({"jsonrpc": "2.0", "method": "session/update", "params": params}))?;
                json!({"stopReason": "end_turn"})
            }
            _ => continue,
        };
        send(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))?;
    }
    Ok(())
}
