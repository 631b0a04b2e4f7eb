//! `docs/protocol.md` is true: its sessions are replayed against the real daemon on the sample
//! vault, its tables compared with the code.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use vault_steward::note::code::ErrorCode;
use vault_steward::protocol::METHODS;
use vault_steward::server::Settings;

use crate::support::Client;

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/protocol.md");
    std::fs::read_to_string(path).unwrap().replace("\r\n", "\n")
}

/// The program with its own home folder, serving a copy of the sample vault.
struct Daemon {
    child: Child,
    port: u16,
    token: String,
    home: tempfile::TempDir,
}

impl Daemon {
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let vault = home.path().join("vault");
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/vault"), &vault);
        let steward = |arguments: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_steward"));
            command.args(arguments).arg("--vault").arg(&vault);
            for variable in ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME", "APPDATA", "LOCALAPPDATA"]
            {
                command.env(variable, home.path());
            }
            // Nothing listens on the discard port.
            command.env("STEWARD_SMARTHOLE_PORT", "9").env("OLLAMA_HOST", "127.0.0.1:9");
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
            command
        };
        let mut child = steward(&["serve", "--port", "0", "--json"]).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let ready: Value = serde_json::from_str(&ready).expect("a ready line");
        let token = steward(&["token"]).output().unwrap().stdout;
        Self {
            child,
            port: u16::try_from(ready["port"].as_u64().unwrap()).unwrap(),
            token: String::from_utf8(token).unwrap().trim().to_owned(),
            home,
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target: PathBuf = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// One example: its line, and the messages sent and received.
struct Session {
    line: usize,
    bare: bool,
    steps: Vec<(bool, String)>,
}

fn sessions(page: &str) -> Vec<Session> {
    let mut sessions: Vec<Session> = Vec::new();
    let mut inside = false;
    for (index, line) in page.lines().enumerate() {
        if inside && line == "```" {
            inside = false;
        } else if inside {
            let steps = &mut sessions.last_mut().unwrap().steps;
            if let Some(sent) = line.strip_prefix("→ ") {
                steps.push((true, sent.to_owned()));
            } else if let Some(received) = line.strip_prefix("← ") {
                steps.push((false, received.to_owned()));
            } else {
                steps.last_mut().expect("an arrow").1.push_str(line);
            }
        } else if let Some(rest) = line.strip_prefix("```session") {
            inside = true;
            sessions.push(Session { line: index + 1, bare: rest == " bare", steps: Vec::new() });
        }
    }
    sessions
}

/// Whether `found` matches `expected`. `…` in a string matches any text, alone any value, as a key
/// any further members, as an item any further items.
fn fits(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::String(pattern), _) if pattern == "…" => true,
        (Value::String(pattern), Value::String(text)) => glob(pattern, text),
        (Value::Object(expected), Value::Object(found)) => {
            let open = expected.contains_key("…");
            let members = expected.iter().filter(|(key, _)| *key != "…");
            members.clone().all(|(key, value)| found.get(key).is_some_and(|it| fits(value, it)))
                && (open || members.count() == found.len())
        }
        (Value::Array(expected), Value::Array(found)) if expected.contains(&json!("…")) => {
            let mut found = found.iter();
            expected
                .iter()
                .filter(|item| **item != json!("…"))
                .all(|item| found.any(|other| fits(item, other)))
        }
        (Value::Array(expected), Value::Array(found)) => {
            expected.len() == found.len() && expected.iter().zip(found).all(|(a, b)| fits(a, b))
        }
        _ => expected == found,
    }
}

fn glob(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('…');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    true
}

/// Replays one example. Messages expected between two sent ones may arrive in any order.
fn replay(daemon: &Daemon, session: &Session) {
    let mut client = Client::connect(daemon.port, &daemon.token).unwrap();
    let introduces = session.steps.iter().any(|(_, text)| text.contains("\"initialize\""));
    if !introduces && !session.bare {
        client.initialize();
        // On a busy machine the connection of the previous session may still count.
        while client.call("_vault/status", json!({}))["result"]["connections"] != 1 {}
    }
    let mut steps = session.steps.iter().peekable();
    while let Some((sent, text)) = steps.next() {
        if *sent {
            let message = match text.as_str() {
                "binary" => Message::binary(b"{}".to_vec()),
                text => Message::text(text),
            };
            client.socket.send(message).unwrap();
            continue;
        }
        if let Some(code) = text.strip_prefix("close ") {
            assert_eq!(client.close_code().to_string(), code, "docs/protocol.md:{}", session.line);
            continue;
        }
        let mut expected = vec![text.as_str()];
        while let Some((_, text)) = steps.next_if(|(sent, _)| !sent) {
            expected.push(text);
        }
        while !expected.is_empty() {
            let found = client.read();
            let at = expected.iter().position(|text| {
                let value = serde_json::from_str(text)
                    .unwrap_or_else(|error| panic!("docs/protocol.md:{}: {error}", session.line));
                fits(&value, &found)
            });
            match at {
                Some(at) => drop(expected.remove(at)),
                None => panic!(
                    "docs/protocol.md:{}: expected {expected:#?}\nfound {found:#}",
                    session.line
                ),
            }
        }
    }
}

#[test]
fn every_session_goes_as_the_page_says() {
    let sessions = sessions(&page());
    assert!(sessions.len() > 10);
    let daemon = Daemon::start();
    for session in &sessions {
        replay(&daemon, session);
    }
}

#[test]
fn the_daemons_record_is_as_the_page_shows_it() {
    fn find(folder: &Path) -> Option<PathBuf> {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).find_map(|path| {
            if path.is_dir() {
                find(&path)
            } else {
                (path.file_name()? == "daemon.json").then_some(path)
            }
        })
    }
    let page = page();
    let shown = page.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let Value::Object(shown) = serde_json::from_str(shown).unwrap() else { panic!("{shown}") };
    let daemon = Daemon::start();
    let record = std::fs::read(find(daemon.home.path()).unwrap()).unwrap();
    let Value::Object(record) = serde_json::from_slice(&record).unwrap() else { panic!() };
    let members = |record: &serde_json::Map<String, Value>| {
        let kind = |value: &Value| std::mem::discriminant(value);
        record.iter().map(|(key, value)| (key.clone(), kind(value))).collect::<Vec<_>>()
    };
    assert_eq!(members(&shown), members(&record));
    assert_eq!(record["port"], daemon.port);
}

#[test]
fn every_method_and_every_kind_has_its_place() {
    let page = page();
    for method in METHODS.iter().chain(&[
        "$/cancel_request",
        "_vault/changed",
        "_vault/conversation_changed",
        "_vault/inbox",
        "_vault/smarthole",
        "_vault/config_reloaded",
        "_vault/config_rejected",
    ]) {
        assert!(page.contains(&format!("\n### `{method}`\n")), "no section on {method}");
    }
    let types = vault_steward::protocol::typescript::generate();
    let kinds = types.lines().find(|line| line.starts_with("export type Kind =")).unwrap();
    for kind in kinds.split('"').skip(1).step_by(2) {
        let kind: vault_steward::protocol::error::Kind =
            serde_json::from_value(json!(kind)).unwrap();
        let row = format!("\n| `{}` | {} | ", json!(kind).as_str().unwrap(), kind.code());
        assert!(page.contains(&row), "no row for {row}");
    }
    for code in ErrorCode::ALL {
        assert!(page.contains(&format!("`{code}`")), "no word on {code}");
    }
}

#[test]
fn the_limits_are_those_of_the_settings() {
    let page = page();
    let Value::Object(settings) = json!(Settings::default()) else { panic!() };
    for (name, value) in settings {
        if matches!(name.as_str(), "port" | "allowed_origins") {
            continue;
        }
        let row = page
            .lines()
            .find(|line| line.contains(&format!("| `{name}` |")))
            .unwrap_or_else(|| panic!("no row for {name}"));
        let shown = row.split(" | ").nth(1).unwrap().split(' ').next().unwrap();
        assert_eq!(shown, value.to_string(), "{row}");
    }
}
