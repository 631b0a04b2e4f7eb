//! The agent against a third-party model server: `@copilotkit/aimock` from npm, which implements
//! each vendor's API as its own authors read the vendor's documents.
//!
//! The script is one task of four rounds: a search, a read, an edit, an approval that another
//! client gives.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::door::Client;
use crate::home::{Home, finish};
use crate::machine;

/// The server, running until dropped.
struct Aimock {
    child: Child,
    port: u16,
}

impl Aimock {
    /// Starts it with these answers; a request that fits none is refused.
    fn start(modules: &str, answers: &Path) -> Self {
        let mut child = Command::new("node")
            .arg(format!("{modules}/node_modules/@copilotkit/aimock/dist/cli.js"))
            .args(["--port", "0", "--strict", "--log-level", "info", "--fixtures"])
            .arg(answers)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("node is there, since scripts/test installed aimock with it");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = loop {
            let line = lines.next().expect("it says where it listens").unwrap();
            if let Some((_, address)) = line.split_once("http://127.0.0.1:") {
                break address.trim().parse().unwrap();
            }
        };
        // It would stop if its output were not read.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, port }
    }

    /// Its answers to the requests so far.
    fn statuses(&self) -> Vec<u64> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let head = format!("Host: 127.0.0.1:{}\r\nConnection: close", self.port);
        write!(stream, "GET /__aimock/journal HTTP/1.0\r\n{head}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        let journal: Value = serde_json::from_str(body).unwrap();
        let entries = journal.as_array().or_else(|| journal["entries"].as_array());
        let entries = entries.unwrap_or_else(|| panic!("no journal: {body}"));
        entries.iter().map(|entry| entry["response"]["status"].as_u64().unwrap()).collect()
    }
}

impl Drop for Aimock {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The model's steps, round by round; one in each, since the vendors' formats count rounds
/// differently.
fn answers() -> Value {
    let call = |turn: u32, tool: &str, arguments: Value| {
        let call = json!({"name": tool, "arguments": arguments.to_string()});
        json!({"match": {"turnIndex": turn}, "response": {"toolCalls": [call]}})
    };
    let edit = json!({"path": "Recipes/Bread.md", "old_text": "Salt 9 g", "new_text": "Salt 11 g"});
    let last = "Only the **bread** has more salt.";
    json!({"fixtures": [
        call(0, "search_files", json!({"pattern": "Salt"})),
        call(1, "read_file", json!({"path": "Recipes/Bread.md"})),
        call(2, "edit_file", edit),
        call(3, "send_message", json!({"text": "The soup too?", "is_question": true})),
        {"match": {"turnIndex": 4}, "response": {"content": last}},
    ]})
}

/// One task that needs search, reads, an edit and an approval, in one API format.
fn carried_through(wire: &str, version: &str) {
    let test = format!("aimock_{wire}");
    let Ok(modules) = std::env::var("STEWARD_TEST_NPM") else {
        machine::missing(&test, "`@copilotkit/aimock`, which takes npm and Node 20.15");
        return;
    };
    let home = Home::new();
    let fixtures = home.path("answers.json");
    std::fs::write(&fixtures, answers().to_string()).unwrap();
    let aimock = Aimock::start(&modules, &fixtures);
    let vault = home.vault("Notes");
    std::fs::create_dir_all(vault.join("Recipes")).unwrap();
    let bread = vault.join("Recipes/Bread.md");
    std::fs::write(&bread, "# Bread\n\nFlour 500 g\nSalt 9 g\n").unwrap();
    home.write_config(&format!(
        "[conversation]\ntitles_by_model = false\n[models]\nchain = [\"work/m\"]\nretries = 0\n\
         [models.providers.work]\nwire = \"{wire}\"\nkey = \"optional\"\n\
         base_url = \"http://127.0.0.1:{}/{version}\"\n[models.facts.m]\nwindow = 100000\n",
        aimock.port
    ));
    let daemon = home.serve(&vault);
    let chat = home.steward(&["chat", "--vault", vault.to_str().unwrap(), "more salt, please"]);
    let run = finish(chat).expect(0);
    assert_eq!(run.stdout, "The soup too?\n", "{run:?}");
    for line in
        ["search_files Salt ✓", "read_file Recipes/Bread.md ✓", "edit_file Recipes/Bread.md ✓"]
    {
        assert!(run.stderr.contains(line), "{line}: {run:?}");
    }
    assert_eq!(std::fs::read_to_string(&bread).unwrap(), "# Bread\n\nFlour 500 g\nSalt 11 g\n");

    // Another client approves.
    let token = home.run_in(&vault, &["token"]).expect(0).stdout;
    let port = daemon.port();
    let mut other = Client::connect(port, token.trim_end()).unwrap();
    other.initialize();
    let said = json!({"prompt": [{"type": "text", "text": "no, thank you"}]});
    let answer = other.call("session/prompt", said);
    let vault = &answer["result"]["_meta"]["vault"];
    assert_eq!(vault["answer"], "Only the **bread** has more salt.", "{answer}");
    assert_eq!(vault["waiting"], false);
    assert_eq!(aimock.statuses(), [200; 5], "each request fits the vendor's language");
}

#[test]
fn aimock_chat() {
    carried_through("chat", "v1");
}

#[test]
fn aimock_responses() {
    carried_through("responses", "v1");
}

#[test]
fn aimock_anthropic() {
    carried_through("anthropic", "v1");
}

#[test]
fn aimock_gemini() {
    carried_through("gemini", "v1beta");
}
