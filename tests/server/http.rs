//! HTTP for scripts: authorisation, refusals and answers.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use vault_steward::policy::Scope;
use vault_steward::server::Settings;
use vault_steward::server::token::Token;

use crate::fake::fake;
use crate::support::Door;

fn door() -> Door {
    Door::open(Settings::default(), fake().0)
}

/// Sends a request with these header lines in addition to `Host`; returns the status and the whole
/// answer with its head.
fn send(door: &Door, line: &str, headers: &[&str], body: &str) -> (u16, String) {
    let mut head = format!("{line} HTTP/1.1\r\n{}\r\n", door.host());
    for header in headers {
        head.push_str(&format!("{header}\r\n"));
    }
    if !body.is_empty() || line.starts_with("POST") {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    let answer = door.raw(&format!("{head}\r\n{body}"));
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, answer)
}

const JSON: &str = "Content-Type: application/json";

fn json_of(answer: &str) -> Value {
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

#[test]
fn a_message_is_answered_when_its_turn_is_over() {
    let door = door();
    let token = door.bearer();
    let (status, answer) = send(&door, "POST /v1/sessions", &[&token, JSON], "{}");
    assert_eq!((status, json_of(&answer)), (201, json!({"sessionId": "1"})));
    for (id, session) in [("7", "7"), ("current", "9")] {
        let line = format!("POST /v1/sessions/{id}/messages");
        let kind = "content-type: Application/JSON; charset=utf-8";
        let (status, answer) = send(&door, &line, &[&token, kind], r#"{"text": "hello"}"#);
        assert_eq!(status, 200, "{answer}");
        assert_eq!(
            json_of(&answer),
            json!({"sessionId": session, "turn": "1", "stopReason": "end_turn",
                "text": "hello, http person", "waiting": false})
        );
        assert!(answer.to_lowercase().contains("\r\ncontent-type: application/json\r\n"));
    }
    let (status, _) = send(&door, "DELETE /v1/sessions/7", &[&token], "");
    assert_eq!(status, 200);
}

#[test]
fn errors_have_the_kinds_of_the_protocol() {
    let door = door();
    let token = door.bearer();
    let post = "POST /v1/sessions/1/messages";
    for (line, body, status, kind) in [
        (post, r#"{"text": "fail"}"#, 502, "model_failed"),
        (post, "{", 400, "invalid_params"),
        (post, "{}", 400, "invalid_params"),
        (post, r#"{"text": 1}"#, 400, "invalid_params"),
        (post, r#"{"text": "a", "text": "b"}"#, 400, "invalid_params"),
        ("GET /v1/sessions/12", "", 404, "not_found"),
    ] {
        let (answered, answer) = send(&door, line, &[&token, JSON], body);
        assert_eq!(answered, status, "{line} {body}: {answer}");
        assert_eq!(json_of(&answer)["error"]["data"]["kind"], kind, "{body}");
    }
}

#[test]
fn nobody_gets_in_without_the_token_or_from_a_page() {
    let door = door();
    let token = door.bearer();
    let wrong = format!("Authorization: Bearer {}", "0".repeat(64));
    let body = r#"{"text": "hello"}"#;
    let all = [
        "POST /v1/sessions",
        "GET /v1/sessions/1",
        "DELETE /v1/sessions/1",
        "POST /v1/sessions/1/messages",
    ];
    for line in all {
        assert_eq!(send(&door, line, &[JSON], body).0, 401, "{line}");
        assert_eq!(send(&door, line, &[JSON, &wrong], body).0, 401, "{line}");
        for origin in ["null", "https://evil.example", "http://localhost"] {
            let origin = format!("Origin: {origin}");
            assert_eq!(send(&door, line, &[JSON, &token, &origin], body).0, 403, "{line}");
        }
        let query = format!("{line}?token={}", door.token);
        assert_eq!(send(&door, &query, &[JSON], body).0, 401, "{line}");
        let rebound = format!("{line} HTTP/1.1\r\nHost: evil.example\r\n{token}\r\n\r\n");
        assert_eq!(door.status(&rebound), 403, "{line}");
    }
    // The content types of HTML forms are refused, and a preflight request gets no permission.
    for kind in ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data", ""] {
        let kind = format!("Content-Type: {kind}");
        assert_eq!(send(&door, all[3], &[&token, &kind], body).0, 415, "{kind}");
    }
    assert_eq!(send(&door, all[3], &[&token], body).0, 415);
    assert_eq!(send(&door, all[3], &[&token, JSON, "Content-Type: text/plain"], body).0, 415);
    let asks = ["Origin: app://obsidian.md", "Access-Control-Request-Method: POST"];
    let (status, answer) = send(&door, "OPTIONS /v1/sessions/1/messages", &asks, "");
    assert_eq!(status, 405);
    assert!(!answer.to_lowercase().contains("access-control-allow"), "{answer}");
    for line in ["GET /v1/sessions", "PUT /v1/sessions/1", "GET /v1/sessions/1/messages"] {
        assert_eq!(send(&door, line, &[&token, JSON], "").0, 405, "{line}");
    }
}

#[test]
fn programs_that_speak_for_nobody_neither_read_nor_delete() {
    let door = door();
    let token = Token::parse(&door.token).unwrap().scoped(Scope::Client).reveal();
    let token = format!("Authorization: Bearer {token}");
    for line in ["GET /v1/sessions/1", "DELETE /v1/sessions/1"] {
        let (status, answer) = send(&door, line, &[&token], "");
        assert_eq!(status, 403, "{answer}");
        assert_eq!(json_of(&answer)["error"]["data"]["kind"], "forbidden");
    }
    let line = "POST /v1/sessions/1/messages";
    let (status, answer) = send(&door, line, &[&token, JSON], r#"{"text": "hello"}"#);
    assert_eq!((status, &json_of(&answer)["text"]), (200, &json!("hello, http client")));
}

#[test]
fn size_and_number_are_limited() {
    let settings = Settings { max_message_bytes: 4096, max_connections: 2, ..Settings::default() };
    let (fake, strings) = fake();
    let mut door = Door::open(settings, fake);
    let token = door.bearer();
    let line = "POST /v1/sessions/1/messages";
    let body = |length: usize| json!({"text": "x".repeat(length)}).to_string();
    assert_eq!(send(&door, line, &[&token, JSON], &body(4000)).0, 200);
    assert_eq!(send(&door, line, &[&token, JSON], &body(4096)).0, 413);
    // A body that does not state its length.
    let chunked = format!(
        "{line} HTTP/1.1\r\n{}\r\n{token}\r\n{JSON}\r\nTransfer-Encoding: chunked\r\n\r\n\
         2000\r\n{}\r\n0\r\n\r\n",
        door.host(),
        "x".repeat(0x2000)
    );
    assert_eq!(door.status(&chunked), 413);

    // Two that wait take all the room there is; when one disconnects there is room again.
    let wait = || {
        let body = r#"{"text": "wait"}"#;
        let mut stream = TcpStream::connect(("127.0.0.1", door.port)).unwrap();
        let head = format!("{line} HTTP/1.1\r\n{}\r\n{token}\r\n{JSON}\r\n", door.host());
        let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).unwrap();
        while strings.began.recv_timeout(Duration::from_secs(10)).unwrap() != "prompt" {}
        stream
    };
    while strings.began.try_recv().is_ok() {}
    let (first, mut second) = (wait(), wait());
    assert_eq!(send(&door, line, &[&token, JSON], &body(1)).0, 503);
    drop(first);
    let mut tries = 0;
    while send(&door, line, &[&token, JSON], &body(1)).0 != 200 {
        tries += 1;
        assert!(tries < 100, "the place of who went is free again");
        std::thread::sleep(Duration::from_millis(20));
    }
    // Pending requests get an error when the daemon stops.
    door.stop();
    let mut answer = String::new();
    second.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    second.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert_eq!(json_of(&answer)["error"]["message"], "the steward is shutting down");
}

#[test]
fn requests_that_come_too_fast_are_refused() {
    let settings = Settings { messages_per_second: 1, message_burst: 2, ..Settings::default() };
    let door = Door::open(settings, fake().0);
    let token = door.bearer();
    let all: Vec<_> = (0..4)
        .map(|_| send(&door, "POST /v1/sessions/1/messages", &[&token, JSON], r#"{"text": "a"}"#))
        .collect();
    assert_eq!((all[0].0, all[1].0), (200, 200));
    let refused = all.iter().find(|(status, _)| *status == 429).expect("one comes too fast");
    assert_eq!(json_of(&refused.1)["error"]["data"]["kind"], "rate_limited");
}

#[test]
fn an_answer_may_take_longer_than_a_handshake_but_a_body_may_not() {
    let (fake, strings) = fake();
    let door = Door::open(Settings::default(), fake);
    let token = door.bearer();
    let head = |length: usize| {
        format!(
            "POST /v1/sessions/1/messages HTTP/1.1\r\n{}\r\n{token}\r\n{JSON}\r\n\
             Content-Length: {length}\r\n\r\n",
            door.host()
        )
    };
    let body = r#"{"text": "wait"}"#;
    let mut patient = TcpStream::connect(("127.0.0.1", door.port)).unwrap();
    patient.write_all((head(body.len()) + body).as_bytes()).unwrap();
    assert_eq!(strings.began.recv_timeout(Duration::from_secs(10)).unwrap(), "prompt");
    let mut slow = TcpStream::connect(("127.0.0.1", door.port)).unwrap();
    slow.write_all((head(100) + "{").as_bytes()).unwrap();
    slow.set_read_timeout(Some(Duration::from_secs(15))).unwrap();
    // The time limits of the body and of the handshake end at about the same moment; the answer is
    // about the body.
    let mut closed = String::new();
    slow.read_to_string(&mut closed).unwrap();
    assert!(closed.is_empty() || closed.starts_with("HTTP/1.1 408"), "{closed:?}");
    patient.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let waits = patient.read(&mut [0; 64]);
    assert!(waits.is_err(), "it is still waited for: {waits:?}");
}
