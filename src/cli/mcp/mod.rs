//! `steward mcp`: MCP over stdin and stdout, for clients that start their servers.

mod clients;
mod relay;
mod subscribed;
mod write;

use clap::{Args, Subcommand};

use super::failure::Failure;
use super::output::Output;
use super::session::Session;
pub use clients::McpClient;

/// The arguments of `mcp`.
#[derive(Debug, Args)]
pub struct McpArguments {
    /// An action other than serving a client.
    #[command(subcommand)]
    pub action: Option<McpAction>,
}

/// Actions of `mcp` other than serving.
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

pub use relay::run_for_guest;

/// Serves the client on stdin and stdout until it disconnects, or prints or writes its settings.
pub fn run(session: &Session, arguments: &McpArguments, output: &Output) -> Result<(), Failure> {
    let root = session.vault(output)?;
    match &arguments.action {
        None => relay::run(session, &root),
        Some(McpAction::Config { client, write, yes }) => {
            let server = clients::server(session, *client, &root)?;
            match write {
                true => write::write(*client, &session.environment, &server, *yes, output)?,
                false => clients::print(*client, server, output)?,
            }
            Ok(())
        }
    }
}
