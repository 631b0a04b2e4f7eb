//! A WebSocket client of a daemon.

use std::path::Path;

use crate::door::Client;
use crate::support::{Daemon, Home};

/// Connects with the person's token and sends `initialize`.
pub fn client(home: &Home, vault: &Path, daemon: &Daemon) -> Client {
    let token = home.run_in(vault, &["token"]).expect(0).stdout;
    let mut client = Client::connect(daemon.port(), token.trim_end()).unwrap();
    client.initialize();
    client
}
