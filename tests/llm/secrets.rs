//! A key is visible to its vendor and to nobody else: a canary that is searched for everywhere.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::json;
use vault_steward::llm::Wire;

use crate::server::{Answer, KEY, Server, Step, collect, endpoint, limits, run};

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
fn no_error_log_or_debug_shows_the_key() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _quiet = tracing::subscriber::set_default(subscriber);
    let mut shown = String::new();
    // A vendor that repeats what it was sent, in every possible place.
    let echo = json!({"error": {"type": KEY, "code": KEY, "message": format!("bad key {KEY}!")}});
    for wire in [Wire::Anthropic, Wire::Responses, Wire::Chat, Wire::Gemini] {
        let inside = format!("data: {echo}\n\n");
        let mut page = Answer::stream(format!("no {KEY}").into_bytes());
        page.status = 500;
        let mut away =
            Answer::stream(Vec::new()).with("location", &format!("http://{KEY}/?k={KEY}"));
        away.status = 307;
        let answers = [
            Answer::json(401, &echo).with("request-id", KEY),
            Answer::stream(inside.into_bytes()),
            Answer::steps(vec![Step::Cut]),
            Answer::refused(),
            page,
            away,
        ];
        for answer in answers {
            let server = Server::start(vec![answer]);
            let endpoint = endpoint(wire, &server.url, limits());
            let error = run(collect(&endpoint)).1.unwrap_err();
            let offered = run(endpoint.offered());
            shown.push_str(&format!(
                "{error} {error:?} {:?} {endpoint:?} {offered:?}\n",
                error.hint()
            ));
            assert_eq!(
                server.requests()[0].headers.iter().filter(|h| h.1.contains(KEY)).count(),
                1
            );
        }
    }
    assert!(shown.contains("bad key …!"), "{shown}");
    assert!(!shown.contains(KEY), "{shown}");
    let logged = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(!logged.is_empty() && !logged.contains(KEY), "{logged}");
}
