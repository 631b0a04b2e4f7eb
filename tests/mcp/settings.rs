//! `steward mcp config CLIENT --write`: the entry in the client's own settings.
#![cfg(unix)]

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::home::Home;

/// The path of each client's settings, below the home folder.
fn place(home: &Home, client: &str) -> PathBuf {
    let programs =
        if cfg!(target_os = "macos") { "Library/Application Support" } else { ".config" };
    let file = match client {
        "claude-code" => ".claude.json".to_owned(),
        "claude-desktop" => format!("{programs}/Claude/claude_desktop_config.json"),
        "codex" => ".codex/config.toml".to_owned(),
        "cursor" => ".cursor/mcp.json".to_owned(),
        "vscode" => format!("{programs}/Code/User/mcp.json"),
        "zed" => ".config/zed/settings.json".to_owned(),
        new => panic!("where does {new} keep its settings?"),
    };
    home.path("home").join(file)
}

const CLIENTS: [(&str, &str); 6] = [
    ("claude-code", "mcpServers"),
    ("claude-desktop", "mcpServers"),
    ("codex", "mcp_servers"),
    ("cursor", "mcpServers"),
    ("vscode", "servers"),
    ("zed", "context_servers"),
];

fn write(home: &Home, vault: &str, client: &str, more: &[&str]) -> crate::home::Run {
    let mut arguments = vec!["mcp", "config", client, "--vault", vault, "--write"];
    arguments.extend(more);
    home.run(&arguments)
}

#[test]
fn the_entry_is_written_where_the_client_looks_and_once() {
    let home = Home::new();
    let vault = home.vault("Notes").to_str().unwrap().to_owned();
    let token = home.run(&["token", "--vault", &vault]).expect(0).stdout;
    for (client, section) in CLIENTS {
        let refused = write(&home, &vault, client, &[]).expect(2);
        assert!(refused.stderr.contains("--yes"), "{client}: {}", refused.stderr);
        assert!(!place(&home, client).exists(), "{client}: nobody agreed");
        let run = write(&home, &vault, client, &["--yes"]).expect(0);
        assert!(
            run.stderr.contains("+") && run.stderr.contains(&vault),
            "{client}: {}",
            run.stderr
        );
        let text = fs::read_to_string(place(&home, client)).unwrap();
        let entry = match client {
            "codex" => serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap(),
            _ => serde_json::from_str::<Value>(&text).unwrap(),
        };
        let server = &entry[section]["vault"];
        assert_eq!(server["command"], env!("CARGO_BIN_EXE_steward"), "{text}");
        assert_eq!(server["args"], serde_json::json!(["mcp", "--vault", vault]), "{text}");
        assert!(!text.contains(token.trim()), "{client}");
        let again = write(&home, &vault, client, &[]).expect(0);
        assert!(again.stdout.contains("already"), "{client}: {}", again.stdout);
        assert_eq!(fs::read_to_string(place(&home, client)).unwrap(), text, "{client}");
    }
}

#[test]
fn other_settings_stay_and_an_unreadable_file_is_unchanged() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let home = Home::new();
    let vault = home.vault("Notes").to_str().unwrap().to_owned();
    let put = |client: &str, text: &str| {
        let file = place(&home, client);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file
    };
    let text = "// Zed\n{\n  \"theme\": \"One\", // mine\n  /* servers */\n  \"context_servers\": {\n    \
                \"other\": { \"command\": \"o\", },\n  },\n}\n";
    let zed = put("zed", text);
    write(&home, &vault, "zed", &["--yes"]).expect(0);
    let now = fs::read_to_string(&zed).unwrap();
    let (before, after) = text.split_at(text.find("\n  },").unwrap());
    assert!(now.starts_with(before) && now.ends_with(after), "{now}");
    assert!(now.contains("\"vault\": {"), "{now}");

    let text = "model = 'm' # mine\r\n\r\n[mcp_servers.other]\r\ncommand = 'o'\r\n";
    let codex = put("codex", text);
    write(&home, &vault, "codex", &["--yes"]).expect(0);
    let now = fs::read_to_string(&codex).unwrap();
    assert!(now.starts_with(text) && now.contains("[mcp_servers.vault]\r\n"), "{now}");

    // A link stays a link, and the file keeps its mode.
    let real = home.path("dotfiles.json");
    fs::write(&real, "{\"mcpServers\": {}}").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    let cursor = place(&home, "cursor");
    fs::create_dir_all(cursor.parent().unwrap()).unwrap();
    symlink(&real, &cursor).unwrap();
    write(&home, &vault, "cursor", &["--yes"]).expect(0);
    assert!(cursor.is_symlink() && fs::read_to_string(&real).unwrap().contains("vault"));
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);

    for (client, text) in [
        ("claude-desktop", "{ \"mcpServers\": { // no JSON\n} }"),
        ("claude-desktop", "{ \"mcpServers\": [] }"),
        ("claude-code", "{ \"mcpServers\": {}, \"mcpServers\": {} }"),
        ("codex", "[mcp_servers"),
        ("vscode", "{ \"servers\": "),
    ] {
        let file = put(client, text);
        let refused = write(&home, &vault, client, &["--yes"]).expect(1);
        let words = &refused.stderr;
        assert!(words.contains(file.to_str().unwrap()) && words.contains("hint"), "{words}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}
