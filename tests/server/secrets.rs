//! Data that the log must not contain.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::json;
use vault_steward::server::Settings;
use vault_steward::server::token::Token;

use crate::fake::fake;
use crate::page;
use crate::support::Door;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn neither_token_nor_contents_are_logged() {
    let log = Log::default();
    let writer = log.clone();
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .init();
    let door = Door::open(Settings::default(), fake().0);
    let offer = format!("Sec-WebSocket-Protocol: vault.v1, vault.token.{}", door.token);
    assert_eq!(door.handshake(&[door.host(), offer]), 101);
    let evil = "Origin: https://evil.example".to_owned();
    assert_eq!(door.handshake(&[door.host(), door.bearer(), evil]), 403);
    let last = if door.token.ends_with('0') { '1' } else { '0' };
    let near_miss = format!("{}{last}", &door.token[..63]);
    let wrong = format!("Authorization: Bearer {near_miss}");
    assert_eq!(door.handshake(&[door.host(), wrong]), 401);
    let mut client = door.client();
    let call = json!({"name": "echo", "arguments": {"content": "the secret of the pear"}});
    client.call("tools/call", call);
    client.send("{\"the secret of the pear\": ");
    client.read();
    // The code that opens the page, and the page's token.
    let code = page::code(&door);
    let (status, answer) = page::as_the_page(&door, &code);
    assert_eq!(status, 200);
    let session = answer["token"].as_str().unwrap().split_once('.').unwrap().1.to_owned();
    assert_eq!(page::as_the_page(&door, &code).0, 401);
    // Debug output replaces a token, valid or not.
    let token = Token::parse(&door.token).unwrap();
    let ticket = door.ticket(&token.name(), &token);
    assert_eq!(door.handshake(&[door.host(), ticket.clone()]), 101);
    assert_eq!(door.handshake(&[door.host(), ticket.clone()]), 401);
    let proof = ticket.rsplit('.').next().unwrap().to_owned();
    let logged = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    let ours: Vec<&str> = logged.lines().filter(|line| line.contains("vault_steward")).collect();
    assert!(ours.iter().any(|line| line.contains("the origin is not allowed")), "{logged}");
    for line in ours {
        assert!(!line.contains(&door.token[..16]) && !line.contains("the secret"), "{line}");
        assert!(!line.contains(&code[..16]) && !line.contains(&session[..16]), "{line}");
        assert!(!line.contains(&proof[..16]), "{line}");
    }
}
