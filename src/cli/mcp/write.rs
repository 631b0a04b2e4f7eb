//! `steward mcp config CLIENT --write`: writes the entry into the client's settings after showing it.

use std::io::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::clients::{McpClient, NAME};
use crate::cli::maintenance::agreed;
use crate::cli::{Failure, Output, Result};
use crate::config::Environment;
use crate::config::foreign::{ForeignError, ForeignFile, Language};
use crate::note::diff;
use crate::note::path::visible;

impl From<ForeignError> for Failure {
    fn from(error: ForeignError) -> Self {
        Self::other("failed", error.to_string(), error.hint())
    }
}

/// Shows the change to the client's settings, asks for confirmation, and writes it.
pub fn write(
    client: McpClient,
    environment: &Environment,
    entry: &Value,
    yes: bool,
    output: &Output,
) -> Result<()> {
    let path = place(client, environment).ok_or_else(|| {
        let message = "the home folder is not known";
        Failure::other("failed", message, "leave `--write` out and paste the entry")
    })?;
    let language = match client {
        McpClient::Codex => Language::Toml,
        McpClient::Vscode | McpClient::Zed => Language::LooseJson,
        _ => Language::Json,
    };
    let file = ForeignFile::read(&path, language)?;
    let text = file.with(client.section(), NAME, entry)?;
    let name = path.to_string_lossy().into_owned();
    let name = visible(&name).to_string();
    let is_changed = file.text() != Some(text.as_str());
    if is_changed {
        let before = file.text().unwrap_or_default();
        if !output.json() {
            let shown = diff::unified(before.as_bytes(), text.as_bytes(), &path.to_string_lossy());
            let mut terminal = std::io::stderr().lock();
            for line in shown.lines() {
                writeln!(terminal, "{}", visible(line))?;
            }
        }
        let verb = if file.text().is_some() { "change" } else { "make" };
        if !agreed(yes, &|| format!("{verb} `{name}`?"))? {
            output.notice("nothing was changed");
            return Ok(());
        }
        file.save(&text)?;
    }
    let text = if is_changed {
        format!("wrote `{name}`\n{}", client.next())
    } else {
        format!("`{name}` has the entry already")
    };
    output.answer(&json!({ "path": path, "changed": is_changed }), text)?;
    Ok(())
}

/// The path of the client's settings for this user.
fn place(client: McpClient, environment: &Environment) -> Option<PathBuf> {
    let home = || environment.home().map(PathBuf::from);
    let of_programs = || match () {
        () if cfg!(target_os = "macos") => Some(home()?.join("Library/Application Support")),
        () if cfg!(windows) => {
            environment.absolute("APPDATA").or_else(|| Some(home()?.join(r"AppData\Roaming")))
        }
        () => environment.absolute("XDG_CONFIG_HOME").or_else(|| Some(home()?.join(".config"))),
    };
    Some(match client {
        McpClient::ClaudeCode => {
            environment.absolute("CLAUDE_CONFIG_DIR").or_else(home)?.join(".claude.json")
        }
        McpClient::ClaudeDesktop => of_programs()?.join("Claude/claude_desktop_config.json"),
        McpClient::Codex => {
            let folder = environment.absolute("CODEX_HOME");
            folder.or_else(|| Some(home()?.join(".codex")))?.join("config.toml")
        }
        McpClient::Cursor => home()?.join(".cursor/mcp.json"),
        McpClient::Vscode => of_programs()?.join("Code/User/mcp.json"),
        McpClient::Zed if cfg!(windows) => of_programs()?.join("Zed/settings.json"),
        McpClient::Zed => {
            let folder =
                environment.absolute("XDG_CONFIG_HOME").filter(|_| cfg!(target_os = "linux"));
            folder.or_else(|| Some(home()?.join(".config")))?.join("zed/settings.json")
        }
    })
}
