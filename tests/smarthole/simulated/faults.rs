//! The reported state of the connection during faults of SmartHole, one after another.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::time::Instant;
use tokio_tungstenite::accept_async;
use tokio_tungstenite::tungstenite::Message;
use vault_steward::smarthole::dial::{Dial, Dialled, Stream};
use vault_steward::smarthole::{
    ConnectionState, ConnectionStatus, Inbox, ReceivedMessage, Settings, SmartHole,
};

use super::world::{Time, Trouble, World, lock};
use crate::desktop::message;

/// The behaviour of SmartHole on one connection.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Does {
    /// Nothing listens.
    Nothing,
    /// It accepts the connection and sends nothing.
    NoGreeting,
    /// 503.
    TooMany,
    /// It does not speak WebSocket.
    NoUpgrade,
    /// No answer to the registration.
    NoAnswer,
    /// The name is taken.
    Duplicate,
    /// It answers, and then goes silent.
    HalfOpen,
    /// It pings for this long.
    Beats(Duration),
    /// It sends this message, and reads the answer.
    Sends(&'static str),
}

struct Script {
    does: Mutex<VecDeque<Does>>,
    answers: Arc<Mutex<Vec<String>>>,
}

impl Dial for Script {
    fn dial(&self, _: u16) -> Dialled {
        let does = lock(&self.does).pop_front().unwrap_or(Does::Nothing);
        let answers = Arc::clone(&self.answers);
        Box::pin(async move {
            if does == Does::Nothing {
                return Err(std::io::ErrorKind::ConnectionRefused.into());
            }
            let (ours, theirs) = tokio::io::duplex(1 << 16);
            tokio::spawn(act(does, theirs, answers));
            let stream: Box<dyn Stream> = Box::new(ours);
            Ok(stream)
        })
    }
}

async fn act(does: Does, mut stream: DuplexStream, answers: Arc<Mutex<Vec<String>>>) {
    let forever = Duration::from_secs(10_000);
    match does {
        Does::NoGreeting => return tokio::time::sleep(forever).await,
        Does::TooMany | Does::NoUpgrade => {
            let _ = stream.read(&mut [0; 1024]).await;
            let status = match does {
                Does::TooMany => "503 Service Unavailable",
                _ => "200 OK",
            };
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes()).await;
            return;
        }
        _ => {}
    }
    let mut socket = accept_async(stream).await.unwrap();
    let _ = socket.next().await;
    let answer = match does {
        Does::NoAnswer => return tokio::time::sleep(forever).await,
        Does::Duplicate => json!({"success": false, "code": "DUPLICATE_NAME",
            "message": "A client named \"obsidian\" is already registered"}),
        _ => json!({"success": true, "message": "Registration successful"}),
    };
    let frame = json!({"type": "registration_response", "payload": answer}).to_string();
    let _ = socket.send(Message::text(frame)).await;
    match does {
        Does::HalfOpen => tokio::time::sleep(forever).await,
        Does::Beats(until) => {
            let begun = Instant::now();
            while begun.elapsed() < until {
                tokio::time::sleep(Duration::from_secs(30)).await;
                socket.send(Message::Ping(Vec::new().into())).await.unwrap();
                let pong = tokio::time::timeout(Duration::from_secs(1), socket.next()).await;
                assert!(matches!(pong, Ok(Some(Ok(Message::Pong(_))))), "{pong:?}");
            }
        }
        Does::Sends(text) => {
            let frame = message("1", text, &json!({}));
            let _ = socket.send(Message::text(frame)).await;
            if let Some(Ok(Message::Text(answer))) = socket.next().await {
                lock(&answers).push(answer.to_string());
            }
        }
        _ => {}
    }
}

/// An inbox that stores nothing new, and knows what it stored before.
struct Full(Vec<&'static str>);

impl Inbox for Full {
    fn store(&self, _: &ReceivedMessage) -> Result<(), String> {
        Err("the disk is full, so nothing can be stored".to_owned())
    }

    fn has(&self, _: &str, text: Option<&str>) -> bool {
        text.is_none_or(|text| self.0.contains(&text)) && !self.0.is_empty()
    }
}

/// The states of the connection under SmartHole's behaviour, each with the time since the previous one, and the
/// answers.
fn stands(
    does: &[Does],
    known: Vec<&'static str>,
) -> (Vec<(ConnectionStatus, Duration)>, Vec<String>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let world = World::new(1, Trouble::default());
        let answers = Arc::default();
        let script = Script {
            does: Mutex::new(does.iter().copied().collect()),
            answers: Arc::clone(&answers),
        };
        let (inbox, time) = (Arc::new(Full(known)), Arc::new(Time::begin(&world)));
        let door = SmartHole::by(Settings::default(), inbox, time, Arc::new(script));
        let stood = Arc::new(Mutex::new(Vec::new()));
        let (hears, last) = (Arc::clone(&stood), Mutex::new(Instant::now()));
        door.subscribe(Box::new(move |status| {
            let before = std::mem::replace(&mut *lock(&last), Instant::now());
            lock(&hears).push((status.clone(), before.elapsed()));
        }));
        let _ = tokio::time::timeout(Duration::from_secs(400), door.run()).await;
        (lock(&stood).clone(), lock(&answers).clone())
    })
}

#[test]
fn faults_of_smarthole_are_reported_and_retried() {
    let seconds = Duration::from_secs;
    for (does, said, after) in [
        (Does::Nothing, "SmartHole is not running", seconds(0)),
        (Does::NoGreeting, "does not answer as SmartHole does", seconds(10)),
        (Does::TooMany, "it has too many clients", seconds(0)),
        (Does::NoUpgrade, "refused the connection (200)", seconds(0)),
        (Does::NoAnswer, "does not answer the registration", seconds(10)),
        (Does::HalfOpen, "SmartHole is silent", seconds(75)),
    ] {
        let (stood, _) = stands(&[does, Does::Beats(seconds(200))], Vec::new());
        let (lost, when) = stood
            .iter()
            .find(|(status, _)| status.state == ConnectionState::Disconnected)
            .unwrap_or_else(|| panic!("{does:?} is not noticed: {stood:?}"));
        assert!(lost.reason.contains(said), "{does:?}: {}", lost.reason);
        assert!(*when >= after && *when < after + seconds(2), "{does:?} after {when:?}");
        let connected =
            stood.iter().rposition(|(status, _)| status.state == ConnectionState::Connected);
        let at = connected.unwrap_or_else(|| panic!("{does:?} is never got over: {stood:?}"));
        // A connection lasts as long as SmartHole's heartbeat.
        assert!(stood[at + 1].1 >= seconds(200), "{does:?}: {stood:?}");
        assert_eq!(stood[at + 1].0.reason, "SmartHole closed the connection");
    }
}

#[test]
fn a_name_that_is_held_is_asked_for_until_it_is_free() {
    let does = [[Does::Duplicate; 5].as_slice(), &[Does::Beats(Duration::from_secs(300))]].concat();
    let (stood, _) = stands(&does, Vec::new());
    let states: Vec<ConnectionState> = stood.iter().map(|(status, _)| status.state).collect();
    // A repeated failure sends no event.
    assert_eq!(
        states[..3],
        [ConnectionState::Refused, ConnectionState::Connected, ConnectionState::Disconnected],
        "{stood:?}"
    );
    let waited = stood[1].1;
    let range = Duration::from_secs(20)..Duration::from_secs(62);
    assert!(range.contains(&waited), "one to sixteen seconds between them: {waited:?}");
}

#[test]
fn an_acknowledged_message_is_never_rejected() {
    let (_, answers) = stands(&[Does::Sends("new"), Does::Sends("known")], vec!["known"]);
    assert!(answers[0].contains("\"reject\"") && answers[0].contains("the disk is full"));
    assert!(answers[1].contains("\"ack\""), "{}", answers[1]);
    // Nor is one without a text under such a name; under another it is.
    let (_, answers) = stands(&[Does::Sends(" ")], vec!["known"]);
    assert!(answers[0].contains("\"ack\""), "{}", answers[0]);
    let (_, answers) = stands(&[Does::Sends(" ")], Vec::new());
    assert!(answers[0].contains("the message is empty"), "{}", answers[0]);
}
