//! The real program, a model's server and clients.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use vault_steward::llm::Wire;

use crate::door::Client;
use crate::home::{Daemon, Home};
use crate::models::{Answer, Server};

/// A home with a vault and a model behind it.
pub struct Place {
    pub home: Home,
    pub vault: PathBuf,
    pub server: Server,
}

pub fn word(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "anthropic",
        Wire::Responses => "responses",
        Wire::Chat => "chat",
        Wire::Gemini => "gemini",
    }
}

impl Place {
    pub fn new(wire: Wire, answers: Vec<Answer>) -> Self {
        Self::with(wire, answers, "")
    }

    /// With further settings.
    pub fn with(wire: Wire, answers: Vec<Answer>, settings: &str) -> Self {
        let home = Home::new();
        let vault = home.vault("Notes");
        std::fs::create_dir_all(vault.join("Recipes")).unwrap();
        std::fs::write(vault.join("Recipes/Bread.md"), "# Bread\n\nFlour 500 g\nSalt 9 g\n")
            .unwrap();
        std::fs::write(vault.join("Recipes/Soup.md"), "# Soup\n\nSalt 5 g\n").unwrap();
        let server = Server::start(answers);
        home.write_config(&format!(
            "{settings}\n[models]\nchain = [\"work/m\"]\nretries = 1\nmax_wait_seconds = 1\n\
             [models.providers.work]\nwire = \"{}\"\nbase_url = \"{}\"\nkey = \"optional\"\n\
             [models.facts.m]\nwindow = 100000\nprice = {{ input = 1.0, output = 2.0 }}\n",
            word(wire),
            server.url
        ));
        Self { home, vault, server }
    }

    pub fn serve(&self) -> Daemon {
        self.home.serve(&self.vault)
    }

    /// A client that receives all events and can show approval requests.
    pub fn client(&self, daemon: &Daemon) -> Watcher {
        let token = self.home.run_in(&self.vault, &["token"]).expect(0).stdout;
        let port = daemon.port();
        let mut client = Client::connect(port, token.trim_end()).unwrap();
        let capabilities = json!({"_meta": {"vault": {"approvals": true}}});
        let params = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        client.call("initialize", params);
        client.call("_vault/subscribe", json!({}));
        Watcher { client, seen: Vec::new() }
    }

    pub fn note(&self, path: &str) -> String {
        std::fs::read_to_string(self.vault.join(path)).unwrap()
    }
}

/// A client that records what it receives.
pub struct Watcher {
    pub client: Client,
    pub seen: Vec<Value>,
}

impl Watcher {
    pub fn prompt(&mut self, text: &str) -> i64 {
        self.say(json!({"prompt": [{"type": "text", "text": text}]}))
    }

    pub fn say(&mut self, params: Value) -> i64 {
        self.client.ask("session/prompt", params)
    }

    pub fn next(&mut self) -> Value {
        let silence = Some(Duration::from_secs(10));
        self.client.socket.get_ref().set_read_timeout(silence).unwrap();
        loop {
            match self.client.socket.read() {
                Ok(Message::Text(text)) => {
                    let message: Value = serde_json::from_str(&text).unwrap();
                    self.seen.push(message.clone());
                    return message;
                }
                Ok(_) => {}
                Err(error) => panic!("nothing more is heard: {error}; {:#?}", self.seen),
            }
        }
    }

    /// Reads until the first message that matches.
    pub fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < Duration::from_secs(30), "not heard; {:#?}", self.seen);
            let message = self.next();
            if fits(&message) {
                return message;
            }
        }
    }

    /// The answer to a request; it may have arrived before other awaited messages.
    pub fn answer(&mut self, id: i64) -> Value {
        let fits = |message: &Value| message["id"] == id && message["method"].is_null();
        match self.seen.iter().find(|message| fits(message)) {
            Some(answer) => answer.clone(),
            None => self.until(fits),
        }
    }

    /// Answers the pending approval request.
    pub fn decide(&mut self, option: &str) -> Value {
        let asked = self.until(|message| message["method"] == "session/request_permission");
        self.choose(&asked, option);
        asked
    }

    /// Answers an approval request that was received.
    pub fn choose(&mut self, asked: &Value, option: &str) {
        self.choose_saying(asked, option, "");
    }

    /// The same, with the person's comment.
    pub fn choose_saying(&mut self, asked: &Value, option: &str, words: &str) {
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": option},
            "_meta": {"vault": {"words": words}}});
        let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": outcome});
        self.client.send(&answer.to_string());
    }

    pub fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let meta = json!({"vault": {"confirmed": true}});
        let params = json!({"name": name, "arguments": arguments, "_meta": meta});
        let id = self.client.ask("tools/call", params);
        self.answer(id)["result"].clone()
    }

    /// The kinds of events in conversations, in order.
    pub fn kinds(&self) -> Vec<String> {
        let kind = |message: &Value| {
            match message["method"].as_str()? {
                "session/update" => message["params"]["update"]["sessionUpdate"].as_str(),
                "_vault/message" => message["params"]["kind"].as_str(),
                "_vault/state" => message["params"]["state"].as_str(),
                _ => None,
            }
            .map(str::to_owned)
        };
        self.seen.iter().filter_map(kind).collect()
    }
}
