//! `steward token`: the token with which a client authenticates.

use clap::Args;
use serde_json::json;

use super::{Result, Session};
use crate::config::folders;
use crate::policy::Scope;
use crate::server::token::Token;

#[derive(Debug, Args)]
pub struct TokenArguments {
    /// Make a new token; clients that have the old one need the new one
    #[arg(long)]
    pub rotate: bool,
    /// Print the token for programs that do not speak for you: client, acp, mcp or voice
    #[arg(long, value_name = "KIND", value_parser = ["person", "client", "acp", "mcp", "voice"])]
    pub scope: Option<String>,
}

/// Prints the vault's token, creating it on first use; `--rotate` replaces it.
pub fn run(session: &Session, arguments: &TokenArguments) -> Result<()> {
    let root = session.vault()?;
    let state = match session.running(root) {
        Some((_, state)) => state,
        None => session.folders.prepare(root)?,
    };
    let file = folders::token_file(&state);
    // A running daemon reads the file at every handshake, so that a new token counts at once.
    let token =
        if arguments.rotate { Token::rotate(&file)? } else { Token::load_or_create(&file)? };
    let wanted = arguments.scope.as_deref().unwrap_or(Scope::Person.word());
    let scope = Scope::ALL.into_iter().find(|scope| scope.word() == wanted);
    let token = token.scoped(scope.unwrap_or_default());
    session.output.answer(&json!({ "token": token.reveal() }), token.reveal())
}
