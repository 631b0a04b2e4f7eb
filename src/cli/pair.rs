//! `steward pair`: shows the token as a link and a QR code.

use std::io::IsTerminal as _;

use clap::Args;
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use serde_json::json;

use super::{Failure, Result, Session};
use crate::config::folders;
use crate::server::token::Token;

#[derive(Debug, Args)]
pub struct PairArguments {
    /// Draw the QR code even if the output is not a terminal
    #[arg(long, conflicts_with = "no_qr")]
    pub qr: bool,
    /// Print only the link
    #[arg(long)]
    pub no_qr: bool,
}

/// Prints the link that pairs the plugin with this vault's daemon.
pub fn run(session: &Session, arguments: &PairArguments) -> Result<()> {
    let root = session.vault()?;
    let (port, state) = match session.running(root) {
        Some((running, state)) => (running.port, state),
        None => (session.settings.config.server.port, session.folders.prepare(root)?),
    };
    if port == 0 {
        return Err(Failure::other(
            "no_port",
            "the daemon is not running, and gets another port at every start",
            format!("start it with `{}`, or set `server.port`", session.serve_command()),
        ));
    }
    let token = Token::load_or_create(&folders::token_file(&state))?.reveal();
    let link = format!("obsidian://vault-steward?token={token}&port={port}");
    if session.output.json() {
        return session.output.json_value(&json!({ "link": link, "token": token, "port": port }));
    }
    session.output.notice(
        "anyone with this link can do everything with the vault that you can. Do not share it; if \
         somebody saw it, run `steward token --rotate`",
    );
    if !arguments.no_qr && (arguments.qr || std::io::stdout().is_terminal()) {
        session.output.text(&code(&link)?)?;
    }
    session.output.text(&link)?;
    session.output.notice(
        "open it on this machine while Obsidian has the vault open, or paste it into the plugin's \
         settings; it is valid until the token is rotated",
    );
    Ok(())
}

/// The link as a QR code for a dark terminal; cameras read it inverted too.
fn code(link: &str) -> Result<String> {
    let code = QrCode::new(link).map_err(|error| {
        Failure::other("no_qr", format!("could not draw the code: {error}"), "use `--no-qr`")
    })?;
    Ok(code
        .render::<Dense1x2>()
        .dark_color(Dense1x2::Light)
        .light_color(Dense1x2::Dark)
        .quiet_zone(true)
        .build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_fits_a_terminal() {
        let link = format!("obsidian://vault-steward?token={}&port=27180", "a".repeat(64));
        let drawn = code(&link).unwrap();
        let widest = drawn.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 60 && drawn.lines().count() <= 30, "{widest}\n{drawn}");
    }
}
