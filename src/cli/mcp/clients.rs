//! The entry in each client's settings that starts `steward mcp`. It has no token: the relay reads
//! the token's file.

use std::path::Path;

use clap::ValueEnum;
use serde_json::{Value, json};

use crate::cli::{Failure, Output, Result, Session};

/// The server's name in a client.
pub const NAME: &str = "vault";

/// An MCP client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum McpClient {
    ClaudeCode,
    ClaudeDesktop,
    Codex,
    Cursor,
    Vscode,
    Zed,
}

impl McpClient {
    /// The key of the servers in its settings.
    pub fn section(self) -> &'static str {
        match self {
            Self::ClaudeCode | Self::ClaudeDesktop | Self::Cursor => "mcpServers",
            Self::Codex => "mcp_servers",
            Self::Vscode => "servers",
            Self::Zed => "context_servers",
        }
    }

    /// The location of the settings file, for a person.
    fn place(self) -> &'static str {
        match self {
            Self::ClaudeCode => {
                "`.mcp.json` in the folder in which Claude Code is used, or `~/.claude.json`"
            }
            Self::ClaudeDesktop => {
                "`claude_desktop_config.json`: Settings, Developer, Edit Config; restart Claude afterwards"
            }
            Self::Codex => "`~/.codex/config.toml`",
            Self::Cursor => "`~/.cursor/mcp.json`",
            Self::Vscode => "`mcp.json`: the command `MCP: Open User Configuration`",
            Self::Zed => "`settings.json`: the command `zed: open settings`",
        }
    }

    /// The next step after the entry is written.
    pub fn next(self) -> &'static str {
        match self {
            Self::ClaudeCode => "restart Claude Code to use it; `claude mcp list` shows it",
            Self::ClaudeDesktop => "restart Claude Desktop",
            Self::Codex => "restart Codex to use it; `codex mcp list` shows it",
            Self::Cursor => "switch `vault` on in Settings, MCP",
            Self::Vscode => "start `vault` by the command `MCP: List Servers`",
            Self::Zed => "look for `vault` in the agent's settings",
        }
    }
}

/// The command that a client starts for this vault.
pub fn server(session: &Session, client: McpClient, root: &Path) -> Result<Value> {
    let mut arguments = vec!["mcp".to_owned(), "--vault".to_owned(), shown_path(root)];
    if let Some(file) = &session.flags.config {
        arguments.extend(["--config".to_owned(), shown_path(&std::path::absolute(file)?)]);
    }
    let mut server = json!({ "command": shown_path(&std::env::current_exe()?), "args": arguments });
    if matches!(client, McpClient::ClaudeCode | McpClient::Vscode) {
        server["type"] = "stdio".into();
    }
    Ok(server)
}

/// Prints the entry, and on stderr where it belongs.
pub fn print(client: McpClient, server: Value, output: &Output) -> Result<()> {
    let entry = json!({ (client.section()): { (NAME): server } });
    output.notice(&format!("add this to {}, or pass `--write`", client.place()));
    output.answer(&entry, text(client, &entry)?)?;
    Ok(())
}

fn shown_path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn text(client: McpClient, entry: &Value) -> Result<String> {
    let broken = |error: String| Failure::other("failed", error, "this is a bug in the steward");
    match client {
        McpClient::Codex => toml::to_string(entry).map_err(|error| broken(error.to_string())),
        _ => serde_json::to_string_pretty(entry).map_err(|error| broken(error.to_string())),
    }
}
