//! Two worlds: a vault with a visible folder and many hidden files, and the same vault without
//! those. In each a person works, a model answers, SmartHole sends messages, and Obsidian has a
//! note open.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use vault_steward::llm::Wire;

use crate::desktop::Desktop;
use crate::door::Client;
use crate::home::{Daemon, Home};
use crate::models::Server;
use crate::script;

/// The marker in every hidden name and text, in lower case.
pub const MARK: &str = "zzmark";

/// Kinds of limited callers.
pub const LIMITED: [&str; 3] = ["client", "mcp", "voice"];

/// The files of the visible folder.
const OPEN: &[(&str, &str)] = &[
    ("a.md", "one\n[[b]] and [[c]]\n"),
    ("b.md", "---\ntags: [garden]\nkind: bed\n---\n# Bed\n[[a]] ![[pic.png]] #garden/soil\n"),
    ("t.md", "#garden\n"),
    ("deleted.md", "deleted\n"),
    ("Sub/c.md", "one budget 12\n[[a]]\n"),
    ("Sub/pic.png", "no picture"),
    ("alone.md", "nothing leads here\n"),
    ("twin.md", "the one that is seen\n"),
    ("twins.md", "[[twin]]\n"),
    // Links that could reveal whether a note of that name exists.
    ("links.md", "[[shadow]] [[Shade/shadow]] [[nobody]] [[Shade/nobody]] [[shadow|words]]\n"),
    (
        "board.canvas",
        r#"{"nodes":[{"id":"1","type":"file","file":"Open/a.md","x":0,"y":0,"width":1,"height":1},{"id":"2","type":"file","file":"Shade/shadow.md","x":0,"y":0,"width":1,"height":1}],"edges":[]}"#,
    ),
    ("a (conflicted copy 2026-01-02).md", "one\n"),
];

/// The hidden files.
const HIDDEN: &[(&str, &str)] = &[
    (
        "Zzmark Closed/Zzmark plan.md",
        "---\ntags: [zzmarktag, garden]\nzzmarkprop: zzmarkvalue\naliases: [Zzmark nickname, alone]\n\
         ---\none zzmarktext budget\n[[Open/alone]] [[Zzmark missing]] [[alone]] #garden/zzmarksub\n",
    ),
    ("Zzmark Closed/Zzmark deep/Zzmark two.md", "zzmarktext [[Zzmark plan]] one\n"),
    ("Zzmark Closed/twin.md", "zzmarktext, the other twin\n"),
    ("Zzmark Closed/c.md", "zzmarktext\n"),
    ("Zzmark Closed/Zzmark picture.png", "zzmarktext"),
    (
        "Zzmark Closed/Zzmark board.canvas",
        r#"{"nodes":[{"id":"1","type":"text","text":"zzmarktext [[alone]]","x":0,"y":0,"width":1,"height":1}],"edges":[]}"#,
    ),
    ("Zzmark Closed/Zzmark base.base", "views:\n  - type: table\n    name: zzmarktext\n"),
    ("Zzmark Closed/Zzmark plan (conflicted copy 2026-01-02).md", "zzmarktext\n"),
    ("Zzmark Closed/Zzmark rules.md", "Always say zzmarktext.\n"),
    ("Zzmark Closed/Zzmark gone.md", "zzmarktext, soon in the trash\n"),
    ("Zzmark root.md", "zzmarktext at the top [[alone]]\n"),
    ("Zzmark templates/t.md", "zzmarktext template\n"),
    ("Shade/shadow.md", "zzmarktext without a mark in its name\n"),
    ("Zzmark prompts/Tidy.md", "Tidy {{note}}, zzmarktext\n"),
];

/// The limits of the callers, in both worlds: they name hidden folders, as a person's settings may. The log is short,
/// since nobody reads it: a daemon with a full pipe blocks. No client is dropped that answers no pings while others call.
const SETTINGS: &str = "[policy]\nread = [\"Open\"]\nclient = \"permanent\"\nmcp = \"move\"\n\
    voice = \"move\"\nreads_per_minute = 0\nchanges_per_minute = 0\nhour_files = 0\n\
    [agent]\ninstructions_note = \"Zzmark Closed/Zzmark rules.md\"\n\
    prompts_folder = \"Zzmark prompts\"\n\
    information_architecture = \"Things lie in folders.\"\n[server]\n\
    messages_per_second = 100000\nmessage_burst = 100000\nping_seconds = 3600\n[log]\nlevel = \"warn\"\n";

/// A vault with a daemon, and their environment.
pub struct World {
    /// Whether it has hidden files.
    pub full: bool,
    pub home: Home,
    pub vault: PathBuf,
    pub daemon: Daemon,
    pub desktop: Desktop,
    pub model: Server,
    /// A person's program that receives all events and no approval requests.
    pub person: Ear,
    step: usize,
    /// How often it has waited for what the daemon notices.
    settled: usize,
    /// The last hidden deletion.
    deleted: Value,
}

/// The only hidden note of the vault without hidden files: the person's changes there give change
/// sets the same numbers in both worlds.
const LOG: &str = "Elsewhere/log.md";

fn put(path: &Path, text: &str, at: SystemTime) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_modified(at).unwrap();
}

/// Removes something, on Windows as soon as the daemon has it no longer open. Wine lists a removed file until then.
fn removed(remove: impl Fn() -> std::io::Result<()>) {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        match remove() {
            Ok(()) => return,
            Err(error) if cfg!(windows) && error.kind() == ErrorKind::NotFound => return,
            Err(_) if cfg!(windows) && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// The time of the file of this number; the same in both worlds.
fn written(number: usize) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + number as u64 * 100)
}

impl World {
    pub fn new(full: bool) -> Self {
        let home = Home::new();
        let vault = home.path("vaults").join("Notes");
        let config = vault.join(".obsidian");
        std::fs::create_dir_all(&config).unwrap();
        std::fs::write(
            config.join("app.json"),
            r#"{"trashOption": "local", "alwaysUpdateLinks": true}"#,
        )
        .unwrap();
        let daily = r#"{"folder": "Zzmark days", "template": "Zzmark templates/t.md"}"#;
        std::fs::write(config.join("daily-notes.json"), daily).unwrap();
        std::fs::write(config.join("templates.json"), r#"{"folder": "Zzmark templates"}"#).unwrap();
        let (desktop, model) = (Desktop::start(), Server::answering(answer));
        home.smarthole.store(desktop.port, Ordering::Relaxed);
        home.write_config(&format!(
            "{SETTINGS}[smarthole]\nport = {}\nretry_seconds = 0\n[conversation]\n\
             titles_by_model = false\n[models]\nchain = [\"work/m\"]\nretries = 0\n\
             [models.providers.work]\nwire = \"chat\"\nbase_url = \"{}\"\nkey = \"optional\"\n\
             [models.facts.m]\nwindow = 10000000\n",
            desktop.port, model.url
        ));
        if full {
            for (number, (path, text)) in HIDDEN.iter().enumerate() {
                put(&vault.join(path), text, written(number * 2 + 1));
            }
            let open = json!({"active": "1", "main": {"id": "1", "type": "leaf",
                "state": {"state": {"file": "Zzmark Closed/Zzmark plan.md"}}}});
            std::fs::write(config.join("workspace.json"), open.to_string()).unwrap();
        } else {
            put(&vault.join(LOG), "0\n", written(1));
        }
        fill(&vault);
        let daemon = home.serve(&vault);
        desktop.registered(1);
        let person = Ear::new(&home, &vault, &daemon, "person", &json!({}));
        let (step, settled, deleted) = (0, 0, Value::Null);
        Self { full, home, vault, daemon, desktop, model, person, step, settled, deleted }
    }

    /// A program with a token of this scope, which receives all events.
    pub fn ear(&self, scope: &str) -> Ear {
        self.ear_with(scope, &json!({}))
    }

    /// The same, for a program with these capabilities.
    pub fn ear_with(&self, scope: &str, ours: &Value) -> Ear {
        Ear::new(&self.home, &self.vault, &self.daemon, scope, ours)
    }

    /// The answer to `initialize`.
    pub fn opened(&self, scope: &str) -> Value {
        let mut client = Client::connect(self.port(), &self.token(scope)).unwrap();
        client.call("initialize", json!({"protocolVersion": 1}))
    }

    pub fn token(&self, scope: &str) -> String {
        token(&self.home, &self.vault, scope)
    }

    pub fn port(&self) -> u16 {
        self.daemon.port()
    }

    /// Restores the visible folder to its initial state.
    pub fn tidy(&mut self) {
        let open = self.vault.join("Open");
        let mut folders = vec![open.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(&open).unwrap().to_str().unwrap();
                let name = name.replace(MAIN_SEPARATOR, "/");
                let is_way = cfg!(unix) && name == "way.md";
                if path.is_dir() && !path.is_symlink() && name == "Sub" {
                    folders.push(path);
                } else if path.is_dir() && !path.is_symlink() {
                    removed(|| std::fs::remove_dir_all(&path));
                } else if !is_way && !OPEN.iter().any(|(known, _)| *known == name) {
                    removed(|| std::fs::remove_file(&path));
                }
            }
        }
        fill(&self.vault);
        self.settle();
    }

    /// Waits until the daemon knows what this program changed. On Linux each call asks the system for that first; elsewhere a
    /// thread collects what the system reports, in order, and a call may come before it.
    fn settle(&mut self) {
        if cfg!(target_os = "linux") {
            return;
        }
        let named = |number: usize| format!("Elsewhere/seen {number}.txt");
        self.settled += 1;
        let (last, now) = (named(self.settled - 1), named(self.settled));
        let now_place = self.vault.join(&now);
        std::fs::create_dir_all(now_place.parent().unwrap()).unwrap();
        match self.settled {
            1 => std::fs::write(now_place, "").unwrap(),
            _ => std::fs::rename(self.vault.join(last), now_place).unwrap(),
        }
        let from = self.person.heard.len();
        let until = Instant::now() + Duration::from_secs(30);
        while !self.person.heard[from..].iter().any(|event| event.to_string().contains(&now)) {
            assert!(Instant::now() < until, "{now} was not noticed");
            self.last_set();
        }
    }

    /// Another action of a person, or of another program of theirs, in the hidden part.
    pub fn meanwhile(&mut self) {
        if !self.full {
            return;
        }
        self.step += 1;
        let (step, closed) = (self.step, self.vault.join("Zzmark Closed"));
        let named = |what: &str, step: usize| format!("Zzmark Closed/Zzmark {what} {step}.md");
        match step % 7 {
            0 => {
                let path = named("new", step);
                self.does("write_file", json!({"path": path, "content": "zzmarktext [[alone]]\n"}));
            }
            1 if step > 7 => {
                let to = named("moved", step);
                self.does("move", json!({"source": named("new", step - 1), "destination": to}));
            }
            2 => {
                let text = format!("zzmarktext {step}\n");
                std::fs::write(closed.join("Zzmark by others.md"), text).unwrap();
            }
            3 => {
                let arguments = json!({"path": "Zzmark Closed/Zzmark plan.md",
                    "insert_after_line": -1, "content": format!("zzmarktext {step}")});
                self.does("edit_file", arguments);
            }
            4 => {
                let path = named("gone", step);
                self.does("write_file", json!({"path": path, "content": "zzmarktext\n"}));
                let mut deleted = self.does("delete", json!({"path": path}));
                self.deleted = deleted["result"]["structuredContent"]["change_set"].take();
            }
            5 if !self.deleted.is_null() => {
                let change_set = self.deleted.take();
                self.does("undo", json!({"change_set": change_set}));
            }
            _ => {
                let by_others = closed.join("Zzmark by others.md");
                let _ = std::fs::rename(by_others, closed.join(format!("Zzmark seen {step}.md")));
            }
        }
    }

    /// The number of the last change set.
    pub fn last_set(&mut self) -> u64 {
        let params = json!({"name": "list_changes", "arguments": {"limit": 1}});
        let answer = self.person.call("tools/call", params);
        answer["result"]["structuredContent"]["change_sets"][0]["id"].as_u64().unwrap_or(0)
    }

    /// Makes a person's program change its own note until there are this many change sets.
    pub fn count_up(&mut self, sets: u64) {
        let mut last = self.last_set();
        while last < sets {
            let content = format!("{last}\n");
            let write = json!({"path": LOG, "content": content, "if_exists": "overwrite"});
            self.does("write_file", write);
            let now = self.last_set();
            assert_eq!(now, last + 1);
            last = now;
        }
        assert_eq!(last, sets, "there are more change sets here");
    }

    /// Makes a person's program call a tool.
    pub fn does(&mut self, tool: &str, arguments: Value) -> Value {
        let meta = json!({"vault": {"confirmed": true}});
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        self.person.call("tools/call", params)
    }
}

fn fill(vault: &Path) {
    for (number, (path, text)) in OPEN.iter().enumerate() {
        let file = vault.join("Open").join(path);
        if std::fs::read(&file).ok().as_deref() != Some(text.as_bytes()) {
            put(&file, text, written(number * 2));
        }
    }
    #[cfg(unix)]
    {
        let way = vault.join("Open/way.md");
        if !way.is_symlink() {
            std::os::unix::fs::symlink("../Shade/shadow.md", way).unwrap();
        }
    }
}

/// The model searches the vault in every conversation, and then gives its scripted answer.
fn answer(_: usize, request: &crate::models::Request) -> crate::models::Answer {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let last = body["messages"].as_array().unwrap().last().unwrap();
    if last["role"] == "tool" {
        return script::says(Wire::Chat, "I have looked around.");
    }
    let calls = [
        ("1", "list_files", json!({})),
        ("2", "get_active_note", json!({})),
        ("3", "get_conversation", json!({"list_recent": 10})),
        ("4", "list_changes", json!({"diff": true})),
        ("5", "read_file", json!({"path": "shadow"})),
    ];
    let pieces = calls.map(|(id, tool, arguments)| script::Piece::Call(id, tool, arguments));
    script::answer(Wire::Chat, &pieces)
}

fn token(home: &Home, vault: &Path, scope: &str) -> String {
    let run = home.run_in(vault, &["token", "--scope", scope]).expect(0);
    run.stdout.trim_end().to_owned()
}

/// A connection that records all messages except answers.
pub struct Ear {
    client: Client,
    pub heard: Vec<Value>,
    /// The token with which its tools are called over MCP instead.
    pub posts: Option<String>,
}

impl Ear {
    fn new(home: &Home, vault: &Path, daemon: &Daemon, scope: &str, ours: &Value) -> Self {
        let port = daemon.port();
        let mut client = Client::connect(port, &token(home, vault, scope)).unwrap();
        let params = json!({"protocolVersion": 1, "clientInfo": {"name": format!("a {scope}")},
            "clientCapabilities": {"_meta": {"vault": ours}}});
        client.call("initialize", params);
        let mut ear = Self { client, heard: Vec::new(), posts: None };
        // From now on, or from these events.
        let from = ours.get("epoch").map(|epoch| json!({"epoch": epoch, "after": ours["after"]}));
        ear.call("_vault/subscribe", from.unwrap_or(json!({})));
        ear
    }

    pub fn send(&mut self, message: &Value) {
        self.client.send(&message.to_string());
    }

    pub fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.client.ask(method, params)
    }

    /// The answer as it arrived, without its number.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }

    pub fn answer(&mut self, id: i64) -> Value {
        self.until(|message| message["id"] == id && message.get("method").is_none())
    }

    /// The first message that matches; the others are stored.
    pub fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            // The server's pings keep a connection open forever.
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "it does not come: {:?}",
                self.kinds()
            );
            let mut message = self.client.read();
            if fits(&message) {
                if message.get("method").is_none() {
                    message["id"] = Value::Null;
                } else {
                    self.heard.push(message.clone());
                }
                return message;
            }
            self.heard.push(message);
        }
    }

    /// The methods of all received messages, with their numbers.
    pub fn kinds(&self) -> BTreeMap<String, usize> {
        let mut kinds = BTreeMap::new();
        for message in &self.heard {
            if let Some(method) = message["method"].as_str() {
                *kinds.entry(method.to_owned()).or_default() += 1;
            }
        }
        kinds
    }
}
