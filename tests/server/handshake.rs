//! Admitted and refused connections.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use vault_steward::server::Settings;

use crate::fake::fake;
use crate::support::{Door, upgrade};

fn door() -> Door {
    Door::open(Settings::default(), fake().0)
}

#[test]
fn only_this_host_gets_in() {
    let door = door();
    let port = door.port;
    let host = |host: &str| vec![format!("Host: {host}")];
    let table: [(Vec<String>, bool); 12] = [
        (host(&format!("127.0.0.1:{port}")), true),
        (host(&format!("localhost:{port}")), true),
        (host(&format!("[::1]:{port}")), true),
        (host("evil.com"), false),
        (host(&format!("evil.com:{port}")), false),
        (host("127.0.0.1"), false),
        (host(&format!("127.0.0.1:{}", port ^ 1)), false),
        (host(&format!("127.0.0.1.evil.com:{port}")), false),
        (host(&format!("localhost:{port}@evil.com")), false),
        (host(""), false),
        (vec![], false),
        ([host(&format!("127.0.0.1:{port}")), host("evil.com")].concat(), false),
    ];
    for (hosts, welcome) in table {
        let status = door.handshake(&[hosts.clone(), vec![door.bearer()]].concat());
        assert_eq!(status, if welcome { 101 } else { 403 }, "{hosts:?}");
        let health = format!("GET /healthz HTTP/1.1\r\n{}\r\n\r\n", hosts.join("\r\n"));
        let status = door.status(&health.replace("HTTP/1.1\r\n\r\n\r\n", "HTTP/1.1\r\n\r\n"));
        assert_eq!(status, if welcome { 200 } else { 403 }, "/healthz {hosts:?}");
    }
    let headers = [door.host(), door.bearer()];
    assert_eq!(door.status(&upgrade("http://evil.com/v1", &headers)), 403);
    assert_eq!(door.status(&upgrade(&format!("http://127.0.0.1:{port}/v1"), &headers)), 101);
}

#[test]
fn only_known_origins_with_the_token_get_in() {
    let door = door();
    let origin = |origin: &str| vec![format!("Origin: {origin}")];
    let page = format!("http://127.0.0.1:{}", door.port);
    let origins: [(Vec<String>, bool); 17] = [
        (vec![], true),
        (origin("app://obsidian.md"), true),
        // The page that the server itself serves.
        (origin(&page), true),
        (origin(&format!("http://localhost:{}", door.port)), true),
        (origin(&format!("{page}/")), false),
        (origin(&format!("https://127.0.0.1:{}", door.port)), false),
        (origin(&format!("http://127.0.0.1:{}", door.port ^ 1)), false),
        ([origin(&page), origin(&page)].concat(), false),
        (origin("null"), false),
        (origin("file://"), false),
        (origin("capacitor://localhost"), false),
        (origin("http://localhost"), false),
        (origin("http://localhost.evil.com"), false),
        (origin("app://obsidian.md.evil.com"), false),
        (origin("app://obsidian.md/"), false),
        (origin("APP://obsidian.md"), false),
        ([origin("app://obsidian.md"), origin("app://obsidian.md")].concat(), false),
    ];
    let wrong = "0".repeat(64);
    let tokens: [(&str, bool); 4] =
        [(&door.token, true), ("", false), (&wrong, false), (&door.token[..63], false)];
    for (origin, welcome) in &origins {
        for (token, right) in tokens {
            let mut headers = [vec![door.host()], origin.clone()].concat();
            if !token.is_empty() {
                headers.push(format!("Authorization: Bearer {token}"));
            }
            let expected = match (welcome, right) {
                (false, _) => 403,
                (true, false) => 401,
                (true, true) => 101,
            };
            assert_eq!(door.handshake(&headers), expected, "{origin:?} {}", token.len());
        }
    }
}

#[test]
fn the_token_may_come_as_a_subprotocol_and_never_in_the_url() {
    let door = door();
    let offer = format!("Sec-WebSocket-Protocol: vault.v1, vault.token.{}", door.token);
    let answer = door.raw(&upgrade("/v1", &[door.host(), offer.clone()]));
    assert!(answer.starts_with("HTTP/1.1 101"), "{answer}");
    let echoed = answer.to_lowercase();
    assert!(echoed.contains("\r\nsec-websocket-protocol: vault.v1\r\n"), "{answer}");
    assert!(!answer.contains(&door.token));

    let wrong = format!("Sec-WebSocket-Protocol: vault.v1, vault.token.{}", "0".repeat(64));
    assert_eq!(door.handshake(&[door.host(), wrong.clone()]), 401);
    assert_eq!(door.handshake(&[door.host(), wrong, door.bearer()]), 401, "one right, one wrong");
    let both = [door.host(), door.bearer()];
    for target in [format!("/v1?token={}", door.token), "/v1?".to_owned()] {
        assert_eq!(door.status(&upgrade(&target, &[door.host()])), 401);
        assert_eq!(door.status(&upgrade(&target, &both)), 401);
    }
}

#[test]
fn refusals_say_nothing_and_there_is_no_other_way_in() {
    let door = door();
    let host = door.host();
    let request = |line: &str, body: &str| {
        let length = body.len();
        door.raw(&format!("{line} HTTP/1.1\r\n{host}\r\nContent-Length: {length}\r\n\r\n{body}"))
    };
    let health = request("GET /healthz", "");
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");
    let body: serde_json::Value =
        serde_json::from_str(health.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(body["status"], "ok");
    assert_eq!(body["protocol"], 1);
    for (line, status) in [
        ("POST /v1", "405"),
        ("POST /healthz", "405"),
        ("POST /mcp", "401"),
        ("POST /", "405"),
        ("GET /index.html", "404"),
        ("GET /v1/", "404"),
        ("GET /v1/exchange", "405"),
        ("POST /v1/exchange", "403"),
        ("OPTIONS /v1", "405"),
        ("DELETE /v1", "405"),
        ("GET /v1", "401"),
    ] {
        let answer = request(line, if line.starts_with("POST") { "a=b" } else { "" });
        assert_eq!(answer.split(' ').nth(1), Some(status), "{line}: {answer}");
        let lower = answer.to_lowercase();
        assert!(!lower.contains("access-control"), "{line}: {answer}");
        assert!(answer.ends_with("\r\n\r\n"), "{line} has a body: {answer}");
    }
    let plain = format!("GET /v1 HTTP/1.1\r\n{host}\r\n{}\r\n\r\n", door.bearer());
    assert_eq!(door.status(&plain), 426);
}

#[test]
fn a_head_that_never_ends_is_cut_off() {
    let door = door();
    let begun = Instant::now();
    let mut stream = TcpStream::connect(("127.0.0.1", door.port)).unwrap();
    stream.write_all(b"GET /v1 HTTP/1.1\r\nHost: 127").unwrap();
    let mut silent = TcpStream::connect(("127.0.0.1", door.port)).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let _ = silent.read_to_end(&mut answer);
    let took = begun.elapsed();
    assert!(took > Duration::from_millis(700) && took < Duration::from_secs(4), "{took:?}");

    let endless = format!("GET /v1 HTTP/1.1\r\nX: {}", "a".repeat(64 * 1024));
    assert!(matches!(door.status(&endless), 0 | 431));
    let many = format!("GET /healthz HTTP/1.1\r\n{}\r\n\r\n", "X: y\r\n".repeat(200));
    assert!(matches!(door.status(&many), 0 | 400 | 431));
}

#[test]
fn unfinished_handshakes_and_connections_have_a_limit() {
    let settings =
        Settings { max_pending_handshakes: 3, max_connections: 2, ..Settings::default() };
    let door = Door::open(settings, fake().0);
    let mut clients = [door.client(), door.client()];
    assert_eq!(door.try_connect().err(), Some(503));
    assert!(clients[0].call("_vault/ping", serde_json::json!({}))["result"].is_object());

    let held: Vec<TcpStream> = (0..3)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", door.port)).unwrap();
            stream.write_all(b"GET").unwrap();
            stream
        })
        .collect();
    // The oldest connection is closed, the newest served: a flood of connections locks nobody out.
    assert_eq!(
        door.status(&format!("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", door.port)),
        200
    );
    let mut end = Vec::new();
    assert_eq!((&held[0]).read_to_end(&mut end).unwrap_or(0), 0);
    assert!(clients[1].call("_vault/ping", serde_json::json!({}))["result"].is_object());
    drop(held);
}

#[test]
fn of_a_thousand_connections_128_get_in_and_work() {
    let door = door();
    let mut clients: Vec<_> = (0..128).map(|_| door.client()).collect();
    for _ in 128..1_000 {
        assert_eq!(door.try_connect().err(), Some(503));
    }
    for client in &mut clients {
        assert!(client.call("_vault/ping", serde_json::json!({}))["result"].is_object());
    }
}

#[test]
fn wrong_tokens_are_slowed_down_and_the_right_one_is_not() {
    let door = door();
    let wrong = [door.host(), format!("Authorization: Bearer {}", "0".repeat(64))];
    let begun = Instant::now();
    for _ in 0..10 {
        assert_eq!(door.handshake(&wrong), 401);
    }
    let slow = begun.elapsed();
    assert!(slow > Duration::from_secs(1), "{slow:?}");
    let begun = Instant::now();
    drop(door.client());
    assert!(begun.elapsed() < slow / 2);
}

#[cfg(target_os = "linux")]
#[test]
fn it_listens_on_loopback_alone() {
    let door = door();
    let port = format!(":{:04X} ", door.port);
    let mut addresses = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        for line in std::fs::read_to_string(table).unwrap_or_default().lines() {
            let mut fields = line.split_whitespace();
            let local = format!("{} ", fields.nth(1).unwrap_or_default());
            if local.ends_with(&port) && fields.nth(1) == Some("0A") {
                addresses.push(local);
            }
        }
    }
    assert_eq!(addresses, [format!("0100007F{port}")]);
}
