//! `steward mcp`: MCP over stdin and stdout, for clients that start their servers themselves.

mod clients;
mod relay;
mod subscribed;
mod write;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::failure::Failure;
use super::output::Output;
use super::session::Session;
pub use clients::McpClient;

/// Of `mcp`.
#[derive(Debug, Args)]
pub struct McpArguments {
    /// What else to do than to serve a client.
    #[command(subcommand)]
    pub action: Option<McpAction>,
}

/// What `mcp` can do beside serving.
#[derive(Debug, Subcommand)]
pub enum McpAction {
    /// Print what a client's settings need to start `steward mcp`, or write it there
    Config {
        /// The client
        client: McpClient,
        /// Show the change to the client's own settings file, and make it
        #[arg(long)]
        write: bool,
        /// Skip confirmation prompts
        #[arg(long, requires = "write")]
        yes: bool,
    },
}

/// Serves the client on stdin and stdout until it is gone, or prints or writes its settings.
///
/// # Errors
/// No vault, stdout cannot be written, or the client's settings cannot.
pub fn run(
    session: &Session,
    arguments: &McpArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let root = session.vault(output)?;
    match &arguments.action {
        None => relay::run(session, &root),
        Some(McpAction::Config { client, write, yes }) => {
            let server = clients::server(session, *client, &root)?;
            match write {
                true => write::write(*client, &session.environment, &server, *yes, output)?,
                false => clients::print(*client, server, output)?,
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}
