//! HTTP for scripts, against the real daemon and a model server: the requests that `curl` would
//! send.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::chat::{Place, WIRE, salt};
use crate::script::says;

/// A request of a person's own program; returns the status and the JSON.
fn ask(place: &Place, token: &str, line: &str, body: Option<Value>) -> (u16, Value) {
    let port = place.daemon.ready["port"].as_u64().unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", u16::try_from(port).unwrap())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut head =
        format!("{line} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n");
    let body = body.map(|body| body.to_string()).unwrap_or_default();
    if !body.is_empty() {
        head.push_str("Content-Type: application/json\r\n");
    }
    let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    (status, serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}")))
}

#[test]
fn a_script_talks_reads_and_deletes() {
    let place = Place::new(vec![salt(), says(WIRE, "It is saltier."), says(WIRE, "Enough?")]);
    let token = place.home.run_in(&place.vault, &["token"]).expect(0).stdout;
    let token = token.trim_end();
    let (status, begun) = ask(&place, token, "POST /v1/sessions", Some(json!({})));
    assert_eq!(status, 201, "{begun}");
    let id = begun["sessionId"].as_str().unwrap().to_owned();
    let messages = format!("POST /v1/sessions/{id}/messages");
    let said = json!({"text": "more salt", "clientMessageId": "once"});
    let (status, answer) = ask(&place, token, &messages, Some(said.clone()));
    assert_eq!((status, &answer["text"]), (200, &json!("It is saltier.")), "{answer}");
    assert_eq!(answer["sessionId"], id);
    assert_eq!(answer["stopReason"], "end_turn");
    assert!(place.note("Recipes/Bread.md").contains("Salt 11 g"));
    // Sent again after a lost answer, it is not processed again.
    let (_, again) = ask(&place, token, &messages, Some(said));
    assert_eq!(again["text"], "It is saltier.");
    assert_eq!(place.server.requests().len(), 2);
    let current = "POST /v1/sessions/current/messages";
    let (_, answer) = ask(&place, token, current, Some(json!({"text": "really?"})));
    assert_eq!((&answer["text"], &answer["sessionId"]), (&json!("Enough?"), &json!(id)));
    assert_eq!((&again["waiting"], &answer["waiting"]), (&json!(false), &json!(true)));

    let session = format!("/v1/sessions/{id}");
    let (status, whole) = ask(&place, token, &format!("GET {session}"), None);
    assert_eq!(status, 200, "{whole}");
    let texts: Vec<&str> =
        whole["items"].as_array().unwrap().iter().filter_map(|i| i["text"].as_str()).collect();
    assert!(texts.iter().any(|text| text.contains("more salt")), "{texts:?}");
    assert!(texts.iter().any(|text| text.contains("It is saltier.")), "{texts:?}");
    // The other pages of an answer that is too long, and those of a branch.
    let numbers = |whole: &Value| -> Vec<u64> {
        whole["items"].as_array().unwrap().iter().filter_map(|i| i["item"].as_u64()).collect()
    };
    let (all, branch) = (numbers(&whole), &whole["branches"][0]["number"]);
    let (first, rest) = all.split_first().unwrap();
    let (status, later) = ask(&place, token, &format!("GET {session}/after/{first}"), None);
    assert_eq!((status, numbers(&later)), (200, rest.to_vec()), "{later}");
    let line = format!("GET {session}/branches/{branch}/after/0");
    let (status, branch) = ask(&place, token, &line, None);
    assert_eq!((status, numbers(&branch)), (200, all), "{branch}");
    let (status, deleted) = ask(&place, token, &format!("DELETE {session}"), None);
    assert_eq!((status, &deleted["deleted"]), (200, &json!(true)), "{deleted}");
    for line in [format!("GET {session}"), format!("DELETE {session}"), "GET /v1/sessions/x".into()]
    {
        let (status, error) = ask(&place, token, &line, None);
        assert_eq!(status, 404, "{line} {error}");
        assert_eq!(error["error"]["data"]["kind"], "unknown_session", "{line}");
    }
    let (status, error) = ask(&place, token, &messages, Some(json!({"text": "hello?"})));
    assert_eq!(status, 404, "{error}");
    let (status, error) = ask(&place, token, current, Some(json!({"text": "  "})));
    assert_eq!(status, 400, "{error}");
}
