//! `steward mcp`: MCP over stdin and stdout, for clients that start their servers.

mod clients;
mod relay;
mod subscriptions;
mod write;

use clap::{Args, Subcommand};

use crate::cli::{Result, Session};

pub use clients::McpClient;

#[derive(Debug, Args)]
pub struct McpArguments {
    #[command(subcommand)]
    pub action: Option<McpAction>,
}

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
pub fn run(session: &Session, arguments: &McpArguments) -> Result<()> {
    let root = session.vault()?;
    match &arguments.action {
        None => relay::run(session, root),
        Some(McpAction::Config { client, write, yes }) => {
            let server = clients::server(session, *client, root)?;
            if *write {
                write::write(*client, &session.environment, &server, *yes, &session.output)?
            } else {
                clients::print(*client, server, &session.output)?
            }
            Ok(())
        }
    }
}
