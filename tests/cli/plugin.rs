//! `plugin`, `pair` and `open`: getting Obsidian's plugin and the chat page to a person.

use std::path::Path;

use serde_json::{Value, json};

use crate::door::Client;
use crate::support::{Home, finish};

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .map(|listed| {
            listed.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        })
        .unwrap_or_default();
    names.sort();
    names
}

#[test]
fn the_plugin_is_installed_updated_and_removed_when_asked() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let folder = vault.join(".obsidian/plugins/vault-steward");
    let plugin = |arguments: &[&str]| home.run_in(&vault, &[&["plugin"], arguments].concat());
    let status = || plugin(&["status", "--json"]).expect(0).json();

    assert_eq!(status()["installed"], Value::Null);
    let missing = plugin(&["update"]).expect(1);
    assert!(missing.stderr.contains("steward plugin install"), "{missing:?}");
    let installed = plugin(&["install"]).expect(0).stdout;
    assert!(installed.contains("`.obsidian/plugins/vault-steward`"), "{installed}");
    assert!(installed.contains("Community plugins") && installed.contains("steward pair"));
    assert_eq!(files(&folder), ["main.js", "manifest.json", "styles.css"]);
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("plugin-shim/dist");
    for name in files(&folder) {
        let same =
            std::fs::read(folder.join(&name)).unwrap() == std::fs::read(dist.join(&name)).unwrap();
        assert!(same, "{name} is not what the sources hold");
    }
    assert_eq!(status()["isCurrent"], true);
    assert_eq!(status()["switchedOn"], false);

    // A second run changes nothing; only `update` replaces another version.
    assert_eq!(plugin(&["install", "--json"]).expect(0).json()["changed"], false);
    std::fs::write(folder.join("data.json"), "{}").unwrap();
    std::fs::write(folder.join("main.js"), "older").unwrap();
    let refused = plugin(&["install"]).expect(1);
    assert!(refused.stderr.contains("steward plugin update"), "{refused:?}");
    assert_eq!(std::fs::read(folder.join("main.js")).unwrap(), b"older");
    assert_eq!(status()["isCurrent"], false);
    assert_eq!(plugin(&["update", "--json"]).expect(0).json()["changed"], true);
    assert_eq!(status()["isCurrent"], true);
    std::fs::write(vault.join(".obsidian/community-plugins.json"), r#"["vault-steward"]"#).unwrap();
    assert_eq!(status()["switchedOn"], true);

    let removed = plugin(&["remove"]).expect(0).stdout;
    assert!(removed.contains("data.json"), "{removed}");
    assert_eq!(files(&folder), ["data.json"], "its settings stay");
}

#[test]
fn a_newer_plugin_is_never_replaced() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let folder = vault.join(".obsidian/plugins/vault-steward");
    let plugin = |arguments: &[&str]| home.run_in(&vault, &[&["plugin"], arguments].concat());
    plugin(&["install"]).expect(0);
    let manifest = folder.join("manifest.json");
    let written = std::fs::read_to_string(&manifest).unwrap();
    let own = concat!("\"version\": \"", env!("CARGO_PKG_VERSION"), "\"");
    let newer = written.replace(own, "\"version\": \"99.0.0\"");
    assert_ne!(written, newer);
    std::fs::write(&manifest, &newer).unwrap();
    std::fs::write(folder.join("main.js"), "newer").unwrap();
    for arguments in [&["update"] as &[&str], &["install"], &["install", "--force"]] {
        let stays = plugin(arguments).expect(0).stdout;
        assert!(stays.contains("99.0.0") && stays.contains("it stays"), "{stays}");
        assert!(stays.contains("to update this program: "), "{stays}");
        assert_eq!(std::fs::read_to_string(&manifest).unwrap(), newer);
        assert_eq!(std::fs::read(folder.join("main.js")).unwrap(), b"newer");
    }
    let status = plugin(&["status", "--json"]).expect(0).json();
    assert_eq!((&status["installed"], &status["changed"]), (&"99.0.0".into(), &false.into()));
    // An older one is replaced.
    std::fs::write(&manifest, written.replace(own, "\"version\": \"0.0.9\"")).unwrap();
    let doctor = home.run_in(&vault, &["doctor"]).expect(0).stdout;
    let line = doctor.lines().find(|line| line.contains("  plugin  ")).unwrap();
    assert!(line.starts_with("warn") && line.contains("steward plugin update"), "{line}");
    assert_eq!(plugin(&["update", "--json"]).expect(0).json()["changed"], true);
    assert_eq!(std::fs::read_to_string(&manifest).unwrap(), written);
}

#[test]
fn what_somebody_else_put_there_is_left_alone() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let folder = vault.join(".obsidian/plugins/vault-steward");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("manifest.json"), r#"{"id": "other", "version": "9"}"#).unwrap();
    std::fs::write(folder.join("theirs.txt"), "theirs").unwrap();
    for action in ["install", "update", "remove"] {
        let refused = home.run_in(&vault, &["plugin", action]).expect(1);
        assert!(refused.stderr.contains("the plugin `other`"), "{refused:?}");
        assert!(refused.stderr.contains("--force"), "{refused:?}");
    }
    home.run_in(&vault, &["plugin", "install", "--force"]).expect(0);
    assert_eq!(files(&folder), ["main.js", "manifest.json", "styles.css", "theirs.txt"]);

    // A vault with its settings elsewhere, and one that Obsidian never opened.
    let other = home.vault("Other");
    std::fs::rename(other.join(".obsidian"), other.join(".desk")).unwrap();
    for name in ["app.json", "core-plugins.json"] {
        std::fs::write(other.join(".desk").join(name), "{}").unwrap();
    }
    let at = other.to_str().unwrap();
    home.run_in(&other, &["plugin", "install", "--vault", at]).expect(0);
    assert_eq!(files(&other.join(".desk/plugins/vault-steward")).len(), 3);
    std::fs::remove_dir_all(other.join(".desk")).unwrap();
    let never = home.run_in(&other, &["plugin", "install", "--vault", at]).expect(1);
    assert!(never.stderr.contains("in Obsidian once"), "{never:?}");
    assert!(!other.join(".obsidian").exists());
}

#[test]
fn pairing_gives_the_token_and_says_what_that_means() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let token = home.run_in(&vault, &["token"]).expect(0).stdout.trim().to_owned();
    let link = format!("obsidian://vault-steward?token={token}&port=27180");
    let paired = home.run_in(&vault, &["pair"]).expect(0);
    assert_eq!(paired.stdout.trim_end(), link, "only the link goes into a pipe");
    assert!(paired.stderr.contains("everything with the vault"), "{paired:?}");
    assert!(paired.stderr.contains("--rotate"), "{paired:?}");
    let json = home.run_in(&vault, &["pair", "--json"]).expect(0).json();
    assert_eq!(json, json!({"link": link, "token": token, "port": 27180}));
    let drawn = home.run_in(&vault, &["pair", "--qr"]).expect(0).stdout;
    assert!(drawn.contains('█') && drawn.trim_end().ends_with(&link), "{drawn}");
    assert!(!home.run_in(&vault, &["pair", "--no-qr"]).expect(0).stdout.contains('█'));
    home.run_in(&vault, &["pair", "--qr", "--no-qr"]).expect(2);

    // With a daemon the link has its port, and admits a client.
    let daemon = home.serve(&vault);
    let json = home.run_in(&vault, &["pair", "--json"]).expect(0).json();
    assert_eq!(json["port"], daemon.ready["port"]);
    let mut client = Client::connect(daemon.port(), &token).unwrap();
    assert_eq!(client.initialize()["protocolVersion"], 1);
}

#[test]
fn the_page_is_opened_by_an_address_that_holds_once() {
    let home = Home::new();
    let vault = home.vault("Notes");
    let absent = home.run_in(&vault, &["open", "--print"]).expect(1);
    let command = format!("start it with `steward serve --vault {}`", vault.display());
    assert!(absent.stderr.contains(&command), "{absent:?}");
    let spaced = home.vault("It's mine");
    let absent = home.run_in(&spaced, &["open", "--print"]).expect(1);
    if cfg!(unix) {
        assert!(absent.stderr.contains(r"/It'\''s mine'`"), "{absent:?}");
    }

    let daemon = home.serve(&vault);
    let start = format!("http://127.0.0.1:{}/#code=", daemon.port());
    let printed = home.run_in(&vault, &["open", "--print"]).expect(0).stdout;
    let code = printed.trim_end().strip_prefix(&start).unwrap_or_else(|| panic!("{printed}"));
    assert_eq!(code.len(), 64);
    let json = home.run_in(&vault, &["open", "--json"]).expect(0).json();
    assert_eq!(json["seconds"], 60);
    assert_ne!(json["url"], printed.trim_end(), "each is another");
    let token = home.run_in(&vault, &["token"]).expect(0).stdout;
    assert!(!printed.contains(token.trim()), "no token in an address");
    // Without a browser the address is still printed. Windows finds its opener without `PATH`, and would open one.
    if cfg!(unix) {
        let mut command = home.steward(&["open"]);
        command.current_dir(&vault).env("PATH", home.path("elsewhere"));
        let opened = finish(command).expect(0);
        assert!(opened.stdout.starts_with(&start), "{opened:?}");
        assert!(opened.stderr.contains("could not open a browser"), "{opened:?}");
    }
}
