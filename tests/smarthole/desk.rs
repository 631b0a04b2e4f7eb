//! A home with a vault, SmartHole and a model, and the program between them.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use vault_steward::llm::Wire;

use crate::desktop::{Desktop, PATIENCE};
use crate::door::Client;
use crate::home::{Daemon, Home};
use crate::models::{Answer, Request, Server};
use crate::script;

pub const LIST: &str = "# List\n\nEND\n";

pub struct Desk {
    pub home: Home,
    pub vault: PathBuf,
    pub desktop: Desktop,
    pub server: Server,
}

impl Desk {
    /// With a model that answers like this.
    pub fn new(answer: impl Fn(usize, &Request) -> Answer + Send + Sync + 'static) -> Self {
        let home = Home::new();
        let vault = home.vault("Notes");
        std::fs::write(vault.join("List.md"), LIST).unwrap();
        let desk =
            Self { home, vault, desktop: Desktop::start(), server: Server::answering(answer) };
        desk.home.smarthole.store(desk.desktop.port, Ordering::Relaxed);
        desk.settings("");
        desk
    }

    /// Writes the settings, with these for SmartHole.
    pub fn settings(&self, smarthole: &str) {
        self.home.write_config(&format!(
            "[smarthole]\nport = {}\nretry_seconds = 0\n{smarthole}\n[models]\n\
             chain = [\"work/m\"]\nretries = 0\nmax_wait_seconds = 1\nbreaker_failures = 1000\n\
             [models.providers.work]\nwire = \"chat\"\nbase_url = \"{}\"\nkey = \"optional\"\n\
             [models.facts.m]\nwindow = 10000000\n",
            self.desktop.port, self.server.url
        ));
    }

    /// Starts the program and waits until it is registered once more.
    pub fn serve(&self) -> Daemon {
        let before = self.registrations();
        let daemon = self.home.serve(&self.vault);
        self.desktop.registered(before + 1);
        daemon
    }

    pub fn registrations(&self) -> usize {
        let is_one =
            |one: &crate::desktop::Seen| matches!(one, crate::desktop::Seen::Registered { .. });
        self.desktop.seen().iter().filter(|one| is_one(one)).count()
    }

    pub fn list(&self) -> String {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            match std::fs::read_to_string(self.vault.join("List.md")) {
                // Windows replaces a file in two steps.
                Err(error) if cfg!(windows) && error.kind() == ErrorKind::NotFound => {
                    assert!(Instant::now() < until, "{error}");
                    std::thread::yield_now();
                }
                read => return read.unwrap(),
            }
        }
    }

    /// A command's output as JSON.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let arguments = [arguments, &["--json"]].concat();
        self.home.run_in(&self.vault, &arguments).expect(0).json()
    }

    /// Waits until a command's JSON matches.
    pub fn until(&self, arguments: &[&str], fits: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let found = self.json(arguments);
            if fits(&found) {
                return found;
            }
            assert!(begun.elapsed() < PATIENCE, "{arguments:?}: {found:#}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Waits until the connection has this state.
    pub fn stands(&self, state: &str) -> Value {
        let status =
            self.until(&["status"], |status| status["status"]["smarthole"]["state"] == state);
        status["status"]["smarthole"].clone()
    }

    /// Waits until no message waits.
    pub fn idle(&self) {
        self.until(&["inbox", "list"], |listed| listed["messages"] == json!([]));
    }

    pub fn client(&self, daemon: &Daemon) -> Client {
        let mut client = self.asked(daemon);
        client.call("_vault/subscribe", json!({}));
        client
    }

    /// A client that can show approval requests, and receives nothing else.
    pub fn asked(&self, daemon: &Daemon) -> Client {
        let token = self.home.run_in(&self.vault, &["token"]).expect(0).stdout;
        let port = daemon.port();
        let mut client = Client::connect(port, token.trim_end()).unwrap();
        let capabilities = json!({"_meta": {"vault": {"approvals": true}}});
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        client.call("initialize", params);
        client
    }
}

/// The messages that a model was sent.
pub fn history(request: &Request) -> Vec<Value> {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    body["messages"].as_array().unwrap().clone()
}

pub fn says(text: &str) -> Answer {
    script::says(Wire::Chat, text)
}

pub fn calls(id: &str, tool: &str, arguments: Value) -> Answer {
    script::calls(Wire::Chat, id, tool, arguments)
}

/// A model that relies on the history alone: it adds every `add <word>` that a user said to the
/// list, once as far as the history shows and, where that is unclear, the note.
pub fn adds(request: &Request) -> Answer {
    let history = history(request);
    let mut wanted: Vec<String> = Vec::new();
    let mut known = BTreeSet::new();
    for message in history.iter().filter(|message| message["role"] == "user") {
        let text = message["content"].to_string();
        for piece in text.split("add item").skip(1) {
            let digits: String = piece.chars().take_while(char::is_ascii_digit).collect();
            if !digits.is_empty() && known.insert(digits.clone()) {
                wanted.push(format!("item{digits}"));
            }
        }
    }
    let result = |id: &str| {
        let result = history.iter().find(|message| message["tool_call_id"] == id)?;
        Some(result["content"].to_string())
    };
    let is_unknown = |text: &str| text.contains("unknown: the steward ended");
    for item in &wanted {
        for attempt in 0.. {
            let Some(added) = result(&format!("add{attempt}-{item}")) else {
                let new = format!("{item}\nEND");
                let edit = json!({"path": "List", "old_text": "END", "new_text": new});
                return calls(&format!("add{attempt}-{item}"), "edit_file", edit);
            };
            if !is_unknown(&added) {
                break;
            }
            // The result of the call is unknown: the note shows it.
            let looks = (0..).map(|look| format!("look{attempt}-{look}-{item}"));
            let looked = looks
                .map(|id| (result(&id), id))
                .find(|(text, _)| text.as_ref().is_none_or(|text| !is_unknown(text)));
            match looked.unwrap() {
                (None, id) => return calls(&id, "read_file", json!({"path": "List"})),
                (Some(text), _) if text.contains(item.as_str()) => break,
                (Some(_), _) => {}
            }
        }
    }
    says(&format!("Added {}.", wanted.last().unwrap()))
}

/// How often each of these items is in a list.
pub fn counts(list: &str, items: usize) -> Vec<usize> {
    let lines = |n: usize| list.lines().filter(|line| *line == format!("item{n:04}")).count();
    (0..items).map(lines).collect()
}
