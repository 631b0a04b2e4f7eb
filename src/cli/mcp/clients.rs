//! What each client's settings need to start `steward mcp`. No token is among it: the relay finds it.

use std::path::Path;
use std::process::ExitCode;

use clap::ValueEnum;
use serde_json::{Value, json};

use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::cli::session::Session;

/// What the server is called in a client.
const NAME: &str = "vault";

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
    fn section(self) -> &'static str {
        match self {
            Self::ClaudeCode | Self::ClaudeDesktop | Self::Cursor => "mcpServers",
            Self::Codex => "mcp_servers",
            Self::Vscode => "servers",
            Self::Zed => "context_servers",
        }
    }

    /// Where it belongs, for a person.
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
}

/// Prints the entry, and beside it where it belongs.
///
/// # Errors
/// stdout cannot be written, or this program does not know its own path.
pub fn run(
    session: &Session,
    client: McpClient,
    root: &Path,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let mut arguments = vec!["mcp".to_owned(), "--vault".to_owned(), shown(root)];
    if let Some(file) = &session.flags.config {
        arguments.extend(["--config".to_owned(), shown(&std::path::absolute(file)?)]);
    }
    let mut server = json!({ "command": shown(&std::env::current_exe()?), "args": arguments });
    if matches!(client, McpClient::ClaudeCode | McpClient::Vscode) {
        server["type"] = "stdio".into();
    }
    let entry = json!({ (client.section()): { (NAME): server } });
    output.notice(&format!("add this to {}", client.place()));
    output.answer(&entry, text(client, &entry)?)?;
    Ok(ExitCode::SUCCESS)
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn text(client: McpClient, entry: &Value) -> Result<String, Failure> {
    let broken =
        |error: String| Failure::other("failed", error, "this is a fault of the steward's");
    match client {
        McpClient::Codex => toml::to_string(entry).map_err(|error| broken(error.to_string())),
        _ => serde_json::to_string_pretty(entry).map_err(|error| broken(error.to_string())),
    }
}
