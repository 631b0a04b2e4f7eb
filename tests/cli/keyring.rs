//! Keys from the system's keyring, with a stand-in for its program.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;
use vault_steward::llm::Wire;

use crate::models::{Answer, Server};
use crate::script::says;
use crate::support::{Daemon, Home, finish, finish_with, write_program};

const KEY: &str = "sk-canary-ring";

/// The keyring: stores keys in a folder, one per provider, and behaves as the file `mood` there
/// says.
const KEYRING: &str = r#"#!/bin/sh
cd "$(dirname "$0")/ring" || exit 3
case "$(cat mood)" in
    hangs) sleep 600;;
    fails) echo "the collection is locked" >&2; exit 1;;
    babbles) echo "no key at all"; exit 0;;
esac
case $1 in
    store) cat > "$6";;
    lookup) [ -e "$5" ] && cat "$5";;
    clear) rm "$5";;
esac
"#;

struct Ring {
    home: Home,
    server: Server,
}

impl Ring {
    fn new(settings: &str, answers: Vec<Answer>) -> Self {
        let server = Server::start(answers);
        let home = Home::new();
        home.write_config(&format!(
            "[conversation]\ntitles_by_model = false\n[models]\nchain = [\"work/m\"]\n{settings}\n\
             [models.providers.work]\nwire = \"chat\"\nbase_url = \"{}\"\nkey = \"required\"\n",
            server.url
        ));
        let ring = Self { home, server };
        std::fs::create_dir_all(ring.folder().join("ring")).unwrap();
        ring.mood("well");
        write_program(&ring.folder().join("secret-tool"), KEYRING);
        ring
    }

    fn folder(&self) -> PathBuf {
        self.home.path("elsewhere")
    }

    fn mood(&self, mood: &str) {
        let new = self.folder().join("ring/new");
        std::fs::write(&new, mood).unwrap();
        std::fs::rename(new, self.folder().join("ring/mood")).unwrap();
    }

    fn steward(&self, arguments: &[&str]) -> Command {
        let mut command = self.home.steward(arguments);
        command.env("PATH", self.folder()).env("OLLAMA_HOST", "127.0.0.1:1");
        command
    }
}

#[test]
fn a_key_is_stored_in_the_keyring_found_and_removed_and_never_shown() {
    let ring = Ring::new("keyring = true", Vec::new());
    let set = ring.steward(&["key", "set", "work", "--no-check", "--keyring"]);
    let set = finish_with(set, format!("{KEY}\n").as_bytes()).expect(0);
    assert_eq!(set.stdout, "stored, not checked: the keyring\n");
    assert_eq!(std::fs::read_to_string(ring.folder().join("ring/work")).unwrap(), KEY);
    assert!(!ring.home.config_file().with_file_name("keys").exists(), "in no file of ours");
    let status = finish(ring.steward(&["key", "status", "work"])).expect(0);
    assert_eq!(status.stdout, "work has a key, from the keyring\n");
    let checked = finish(ring.steward(&["doctor"]));
    assert!(checked.stdout.contains("answers, and has a key of work"), "{checked:?}");

    // A key in a file has precedence.
    let file = ring.steward(&["key", "set", "work", "--no-check"]);
    finish_with(file, b"sk-file").expect(0);
    let json = finish(ring.steward(&["key", "status", "work", "--json"])).expect(0).json();
    assert_eq!(json["key"]["from"], "file");
    finish(ring.steward(&["key", "remove", "work"])).expect(0);

    let removed = finish(ring.steward(&["key", "remove", "work", "--keyring"])).expect(0);
    assert_eq!(removed.stdout, "removed the key of work from the keyring\n");
    let removed = finish(ring.steward(&["key", "remove", "work", "--keyring"])).expect(0);
    assert_eq!(removed.stdout, "the keyring has no key of work\n");
    let status = finish(ring.steward(&["key", "status", "work"])).expect(0);
    assert!(status.stdout.contains("has no key"), "{status:?}");
    for run in [&set, &status, &checked] {
        assert!(!format!("{run:?}").contains(KEY), "{run:?}");
    }
}

#[test]
fn an_unusable_keyring_is_reported_and_used_only_on_request() {
    let ring = Ring::new("keyring = true", Vec::new());
    for (mood, said) in [
        ("fails", "the keyring did not answer: `secret-tool` says `the collection is locked`"),
        ("hangs", "the keyring did not answer: `secret-tool` took longer than 2 s and was ended"),
        ("babbles", "the keyring's entry for `work` is not a key"),
    ] {
        ring.mood(mood);
        let listed = finish(ring.steward(&["models"])).expect(0);
        assert!(listed.stdout.contains(said), "{listed:?}");
        let checked = finish(ring.steward(&["doctor"]));
        assert!(checked.stdout.contains(said), "{checked:?}");
        let status = finish(ring.steward(&["key", "status", "work"])).expect(1);
        assert!(status.stderr.contains(said) && status.stderr.contains("hint: "), "{status:?}");
    }
    let plain = Ring::new("", Vec::new());
    plain.mood("hangs");
    let status = finish(plain.steward(&["key", "status", "work"])).expect(0);
    assert_eq!(status.stdout, "work has no key; `steward key set work` stores one\n");
}

#[test]
fn a_daemon_takes_the_key_from_the_keyring_when_it_answers() {
    let ring = Ring::new("keyring = true", vec![says(Wire::Chat, "Hello.")]);
    let vault = ring.home.vault("Notes");
    let vault = vault.to_str().unwrap();
    ring.mood("hangs");
    std::fs::write(ring.folder().join("ring/work"), KEY).unwrap();
    let daemon = Daemon::start(ring.steward(&["serve", "--json", "--port", "0", "--vault", vault]));
    // It has started, and a message is not delayed: it fails because there is no key.
    let failed = finish(ring.steward(&["chat", "--vault", vault, "Hi"]));
    assert_eq!(failed.code, 1, "{failed:?}");
    assert!(failed.stderr.contains("steward key set work"), "{failed:?}");
    assert!(ring.server.requests().is_empty(), "nobody was asked without a key");

    ring.mood("well");
    let answered = finish(ring.steward(&["chat", "--vault", vault, "Hi again"])).expect(0);
    assert_eq!(answered.stdout, "Hello.\n");
    let requests = ring.server.requests();
    assert_eq!(requests[0].header("authorization"), Some(&*format!("Bearer {KEY}")));
    let mut daemon = daemon;
    daemon.kill();
    let said = daemon.stderr();
    assert!(said.contains("the keyring has given no key"), "{said}");
    let all = json!([said, failed.stderr, answered.stderr]).to_string();
    assert!(!all.contains(KEY), "{all}");
}
