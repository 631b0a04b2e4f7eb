//! A simulated editor that has started `steward acp`, with a vault and a scripted model.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use vault_steward::llm::Wire;

use crate::home::Home;
use crate::models::{Answer, Server};
use crate::script;

/// The timeout of a message.
const PATIENCE: Duration = Duration::from_secs(20);

/// The model's next answers, in order; after the last one it answers "done".
type Script = Arc<Mutex<Vec<Answer>>>;

pub struct Ground {
    pub home: Home,
    pub vault: String,
    pub model: Server,
    script: Script,
}

impl Ground {
    pub fn new(settings: &str) -> Self {
        let home = Home::new();
        let vault = home.vault("Notes");
        std::fs::write(vault.join(".obsidian/app.json"), r#"{"trashOption": "local"}"#).unwrap();
        std::fs::write(vault.join("a.md"), "one\ntwo\n").unwrap();
        let script = Script::default();
        let lines = Arc::clone(&script);
        let model = Server::answering(move |_, _| {
            let mut lines = lines.lock().unwrap();
            if lines.is_empty() { script::says(Wire::Chat, "done") } else { lines.remove(0) }
        });
        // No test uses the port of a daemon that someone may be running.
        home.write_config(&format!(
            "[server]\nport = 0\n[conversation]\ntitles_by_model = false\n[models]\n\
             chain = [\"work/m\", \"work/n\"]\nretries = 0\n[models.providers.work]\n\
             wire = \"chat\"\nbase_url = \"{}\"\nkey = \"optional\"\n{settings}",
            model.url
        ));
        let vault = vault.to_str().unwrap().to_owned();
        Self { home, vault, model, script }
    }

    /// Adds an answer after those already queued.
    pub fn says(&self, answer: Answer) {
        self.script.lock().unwrap().push(answer);
    }

    /// Queues a tool call as the answer.
    pub fn calls(&self, tool: &str, arguments: Value) {
        self.says(script::calls(Wire::Chat, "c1", tool, arguments));
    }

    /// An editor after its handshake.
    pub fn editor(&self) -> Editor {
        let mut editor = self.starting();
        let answer = editor.call(
            "initialize",
            json!({"protocolVersion": 1,
            "clientInfo": {"name": "an editor", "version": "1"}, "clientCapabilities": {}}),
        );
        assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
        editor
    }

    /// An editor before its handshake.
    pub fn starting(&self) -> Editor {
        let mut command = self.home.steward(&["acp", "--vault", &self.vault]);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        Editor::on(child)
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(format!("{}/{path}", self.vault)).unwrap()
    }

    /// Runs the program on the vault.
    pub fn steward(&self, arguments: &[&str]) -> crate::home::Run {
        self.home.run(&[arguments, &["--vault", &self.vault]].concat())
    }

    /// Stops the daemon if one is running.
    pub fn end_daemon(&self) {
        let status = self.steward(&["status", "--json"]).json();
        if let Some(pid) = status["daemon"]["pid"].as_i64() {
            let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            // Waits until the daemon's port no longer answers.
            let port = u16::try_from(status["daemon"]["port"].as_u64().unwrap()).unwrap();
            while std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                std::thread::yield_now();
            }
        }
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        self.end_daemon();
    }
}

pub struct Editor {
    pub child: Child,
    pub stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    last: u64,
    /// The messages received and not examined yet.
    pub heard: Vec<Value>,
}

impl Editor {
    fn on(mut child: Child) -> Self {
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let line = line.unwrap();
                let message: Value =
                    serde_json::from_str(&line).unwrap_or_else(|_| panic!("no message: {line}"));
                assert_eq!(message["jsonrpc"], "2.0", "{line}");
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
        Self { child, stdin, lines, last: 0, heard: Vec::new() }
    }

    pub fn say(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    /// Sends a request without waiting; returns its id.
    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Returns the first message that matches; earlier ones stay in `heard`.
    pub fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|_| {
                panic!("it never came; heard: {:#?}", self.heard);
            });
            let name = message["method"].as_str().unwrap_or_default();
            assert!(!name.starts_with("_vault"), "no message of our own: {message}");
            if is_it(&message) {
                return message;
            }
            self.heard.push(message);
        }
    }

    pub fn answer(&mut self, id: u64) -> Value {
        self.until(|message| message["id"] == id && message.get("method").is_none())
    }

    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    /// Starts a conversation.
    pub fn begin(&mut self, cwd: &str) -> String {
        let answer = self.call("session/new", json!({"cwd": cwd, "mcpServers": []}));
        answer["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Sends a message and waits for the end of the turn.
    pub fn prompt(&mut self, session: &str, text: &str) -> Value {
        let id = self.begin_prompt(session, text);
        self.answer(id)
    }

    pub fn begin_prompt(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.ask("session/prompt", json!({"sessionId": session, "prompt": prompt}))
    }

    /// The received updates of this kind, of any conversation.
    pub fn updates(&mut self, kind: &str) -> Vec<Value> {
        let updates = self.heard.iter().filter(|one| one["method"] == "session/update");
        let updates = updates.map(|one| one["params"]["update"].clone());
        updates.filter(|update| update["sessionUpdate"] == kind).collect()
    }

    /// The next approval request.
    pub fn question(&mut self) -> Value {
        self.until(|message| message["method"] == "session/request_permission")
    }

    pub fn choose(&mut self, question: &Value, option: &str) {
        let outcome = json!({"outcome": "selected", "optionId": option});
        self.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"outcome": outcome}}));
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
