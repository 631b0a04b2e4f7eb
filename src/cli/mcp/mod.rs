//! `steward mcp`: MCP over stdin and stdout, for clients that start their servers themselves.

mod clients;
mod relay;
mod start;

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
    /// Print what a client's settings need to start `steward mcp`
    Config {
        /// The client
        client: McpClient,
    },
}

/// Serves the client on stdin and stdout until it is gone, or prints its settings.
///
/// # Errors
/// No vault, or stdout cannot be written.
pub fn run(
    session: &Session,
    arguments: &McpArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let root = session.vault(output)?;
    match &arguments.action {
        None => relay::run(session, &root),
        Some(McpAction::Config { client }) => clients::run(session, *client, &root, output),
    }
}
