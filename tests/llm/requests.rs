//! Requests: their addresses and headers, and the cases in which none is sent.

use serde_json::json;
use vault_steward::llm::endpoint::{Address, Connections, Service};
use vault_steward::llm::{Endpoint, ErrorKind, Facts, Wire};

use crate::server::{Answer, KEY, Server, collect, endpoint, limits, run};
use crate::streams::fixture;

#[test]
fn each_vendor_is_asked_at_its_place_with_its_header() {
    let cases = [
        (Wire::Anthropic, "POST /v1/messages HTTP/1.1", "x-api-key", KEY.to_owned()),
        (Wire::Responses, "POST /v1/responses HTTP/1.1", "authorization", format!("Bearer {KEY}")),
        (
            Wire::Chat,
            "POST /v1/chat/completions HTTP/1.1",
            "authorization",
            format!("Bearer {KEY}"),
        ),
        (
            Wire::Gemini,
            "POST /v1/models/m:streamGenerateContent?alt=sse HTTP/1.1",
            "x-goog-api-key",
            KEY.to_owned(),
        ),
    ];
    for (wire, line, header, value) in cases {
        let server = Server::start(vec![Answer::stream(fixture(wire, "ok"))]);
        run(collect(&endpoint(wire, &server.url, limits()))).1.unwrap();
        let requests = server.requests();
        assert_eq!(requests.len(), 1, "asked once");
        let request = &requests[0];
        assert_eq!(request.line, line);
        assert_eq!(request.header(header), Some(value.as_str()));
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert!(request.header("accept-encoding").is_none(), "a packed stream comes in lumps");
        let with_key = request.headers.iter().filter(|(_, value)| value.contains(KEY));
        assert_eq!(with_key.count(), 1);
        assert!(!String::from_utf8_lossy(&request.body).contains(KEY));
        assert_eq!(
            request.header("anthropic-version"),
            (wire == Wire::Anthropic).then_some("2023-06-01")
        );
    }
}

#[test]
fn without_a_key_nothing_is_sent() {
    let server = Server::start(vec![Answer::refused()]);
    let service = Service {
        name: "vendor".to_owned(),
        wire: Wire::Anthropic,
        address: Address::new(&server.url).unwrap(),
        key: None,
        needs_key: true,
    };
    let connections = Connections::new(&limits());
    let endpoint = Endpoint::new(&service, "m", Facts::default(), limits(), &connections);
    let error = run(collect(&endpoint)).1.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Auth);
    assert_eq!(run(endpoint.offered()).unwrap_err().kind, ErrorKind::Auth);
    assert!(server.requests().is_empty());
}

#[test]
fn a_redirect_is_never_followed() {
    let other = Server::start(vec![Answer::stream(fixture(Wire::Chat, "ok"))]);
    for status in [301, 302, 303, 307, 308] {
        let mut there = Answer::stream(Vec::new()).with("location", &other.url);
        there.status = status;
        let server = Server::start(vec![there]);
        let endpoint = endpoint(Wire::Chat, &server.url, limits());
        let error = run(collect(&endpoint)).1.unwrap_err();
        assert_eq!((error.kind, error.status), (ErrorKind::NotFound, Some(status)), "{error}");
        assert!(error.message.contains("points to `127.0.0.1`"), "{error}");
        assert_eq!(run(endpoint.offered()).unwrap_err().status, Some(status));
        assert_eq!(server.requests().len(), 2);
    }
    assert!(other.requests().is_empty(), "nothing goes where a server points");
}

#[test]
fn what_a_vendor_offers_is_listed() {
    let cases = [
        (Wire::Anthropic, json!({"data": [{"id": "b"}, {"id": "a"}]})),
        (Wire::Chat, json!({"object": "list", "data": [{"id": "a"}, {"id": "b"}, {"id": "a"}]})),
        (Wire::Gemini, json!({"models": [{"name": "models/a"}, {"name": "models/b"}]})),
    ];
    for (wire, list) in cases {
        let server = Server::start(vec![Answer::json(200, &list)]);
        let offered = run(endpoint(wire, &server.url, limits()).offered()).unwrap();
        assert_eq!(offered, ["a", "b"], "{wire:?}");
        assert!(server.requests()[0].line.starts_with("GET /v1/models"));
        assert!(!server.requests()[0].line.contains(KEY));
    }
}
