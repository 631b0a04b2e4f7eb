//! Mutual proof before the token: the daemon's proof, and authentication that does not reveal the
//! token.

use std::time::{Duration, Instant};

use vault_steward::policy::Scope;
use vault_steward::server::Settings;
use vault_steward::server::token::{Proof, Token};

use crate::fake::fake;
use crate::support::{Door, upgrade};

const NONCE: &str = "0123456789abcdef";

fn door() -> Door {
    Door::open(Settings::default(), fake().0)
}

#[test]
fn a_proof_of_the_token_admits_one_connection_with_its_scope() {
    let door = door();
    let main = Token::parse(&door.token).unwrap();
    for scope in Scope::ALL {
        let token = main.scoped(scope);
        let ticket = door.ticket(&token.name(), &token);
        assert!(!ticket.contains(&token.reveal()));
        let answer = door.raw(&upgrade("/v1", &[door.host(), ticket.clone()]));
        assert!(answer.starts_with("HTTP/1.1 101"), "{scope:?}: {answer}");
        let lower = answer.to_lowercase();
        assert!(lower.contains("\r\nsec-websocket-protocol: vault.v1\r\n"), "{answer}");
        assert_eq!(door.handshake(&[door.host(), ticket]), 401, "a second time, {scope:?}");
    }
}

#[test]
fn a_ticket_is_valid_for_one_token_and_one_port() {
    let (door, other) = (door(), door());
    let main = Token::parse(&door.token).unwrap();
    let name = main.name();
    let nonce = |door: &Door, name: &str| {
        let (status, answer) = door.challenge(name, NONCE);
        assert_eq!(status, 200);
        answer["nonce"].as_str().unwrap().to_owned()
    };
    let enter = |ticket: &str| {
        let offer = format!("Sec-WebSocket-Protocol: vault.v1, vault.ticket.{ticket}");
        door.handshake(&[door.host(), offer])
    };
    let client = main.scoped(Scope::Client);
    let ours = nonce(&door, &name);
    for (what, ticket) in [
        ("another token's proof", {
            let proof = client.proof(Proof::Ticket, door.port, &ours);
            format!("{name}.{ours}.{proof}")
        }),
        ("a proof for another port", {
            let proof = main.proof(Proof::Ticket, other.port, &ours);
            format!("{name}.{ours}.{proof}")
        }),
        ("the door's own proof sent back", {
            let both = format!("{NONCE} {ours}");
            format!("{name}.{ours}.{}", main.proof(Proof::Challenge, door.port, &both))
        }),
        ("a nonce that nobody gave out", {
            format!("{name}.{NONCE}.{}", main.proof(Proof::Ticket, door.port, NONCE))
        }),
        ("another door's nonce", {
            // Both know the same token here, like a daemon that was restarted.
            let theirs = nonce(&other, &Token::parse(&other.token).unwrap().name());
            format!("{name}.{theirs}.{}", main.proof(Proof::Ticket, door.port, &theirs))
        }),
        ("a name that nobody has", format!("person.{ours}.{}", "0".repeat(64))),
        ("no proof", format!("{name}.{ours}")),
        ("nothing", String::new()),
    ] {
        assert_eq!(enter(&ticket), 401, "{what}");
    }
    // None of these used up the nonce; a valid ticket together with any other credential is refused
    // too.
    let right = format!("{name}.{ours}.{}", main.proof(Proof::Ticket, door.port, &ours));
    let offer = format!("Sec-WebSocket-Protocol: vault.v1, vault.ticket.{right}");
    assert_eq!(door.handshake(&[door.host(), offer.clone(), door.bearer()]), 401);
    assert_eq!(door.handshake(&[door.host(), offer.clone(), offer.clone()]), 401);
    assert_eq!(door.status(&upgrade("/v1?", &[door.host(), offer])), 401);
    assert_eq!(enter(&right), 101);
}

#[test]
fn a_challenge_says_nothing_to_strangers() {
    let door = door();
    let main = Token::parse(&door.token).unwrap();
    let name = main.name();
    for (name, nonce, status) in [
        (name.as_str(), NONCE, 200),
        (&name, &"n".repeat(128), 200),
        (&name, &"n".repeat(129), 400),
        (&name, &NONCE[..15], 400),
        (&name, "a%20blank%20and%20more", 400),
        (&name[..31], NONCE, 401),
        (&name.to_uppercase(), NONCE, 401),
        ("person", NONCE, 401),
        (&door.token, NONCE, 401),
    ] {
        assert_eq!(door.challenge(name, nonce).0, status, "{name} {nonce}");
    }
    // Two answers have nothing in common.
    let (first, second) = (door.challenge(&name, NONCE).1, door.challenge(&name, NONCE).1);
    assert_ne!(first["nonce"], second["nonce"]);
    assert_ne!(first["proof"], second["proof"]);
    assert!(!first.to_string().contains(&door.token));

    let line = format!("GET /v1/challenge/{name}/{NONCE}");
    let ask = |headers: &str| {
        door.raw(&format!("{line} HTTP/1.1\r\n{headers}\r\nConnection: close\r\n\r\n"))
    };
    let answer = ask(&door.host()).to_lowercase();
    assert!(answer.contains("\r\ncache-control: no-store\r\n"), "{answer}");
    assert!(!answer.contains("access-control"), "no page may read it: {answer}");
    assert!(ask("Host: evil.com").starts_with("HTTP/1.1 403"));
    let evil = format!("{}\r\nOrigin: http://evil.com", door.host());
    assert!(ask(&evil).starts_with("HTTP/1.1 403"));
    let request = format!("{line}?x HTTP/1.1\r\n{}\r\n\r\n", door.host());
    assert_eq!(door.status(&request), 403);
    let request = format!("{} HTTP/1.1\r\n{}\r\n\r\n", line.replace("GET", "POST"), door.host());
    assert_eq!(door.status(&request), 405);
}

#[test]
fn guessing_names_and_tickets_is_slowed_down() {
    let door = door();
    let begun = Instant::now();
    for guess in 0..8_u8 {
        assert_eq!(door.challenge(&format!("{guess:032x}"), NONCE).0, 401);
    }
    assert!(begun.elapsed() > Duration::from_millis(300), "{:?}", begun.elapsed());
    let main = Token::parse(&door.token).unwrap();
    let ticket = door.ticket(&main.name(), &main);
    let wrong = [door.host(), ticket.replace("vault.ticket.", "vault.ticket.x")];
    let begun = Instant::now();
    assert_eq!(door.handshake(&wrong), 401);
    assert!(begun.elapsed() > Duration::from_millis(300), "{:?}", begun.elapsed());
}
