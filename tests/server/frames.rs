//! Frames that are not messages.

use std::io::Write as _;

use serde_json::json;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{Bytes, Message};
use vault_steward::server::Settings;

use crate::fake::fake;
use crate::support::{Client, Door};

fn door() -> Door {
    Door::open(Settings::default(), fake().0)
}

/// Writes bytes past the client's WebSocket.
fn write(client: &mut Client, bytes: &[u8]) {
    let _ = client.socket.get_mut().write_all(bytes);
}

#[test]
fn binary_frames_close_the_connection_with_a_code() {
    let door = door();
    let code = |send: &dyn Fn(&mut Client)| {
        let mut client = door.client();
        send(&mut client);
        client.close_code()
    };
    assert_eq!(code(&|c| drop(c.socket.send(Message::binary(b"{}".to_vec())))), 1003);
    // FIN, text, masked with zeros, two bytes that are not UTF-8.
    assert_eq!(code(&|c| write(c, &[0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe])), 1007);
    assert_eq!(code(&|c| write(c, &[0x81, 0x02, b'{', b'}'])), 1002, "unmasked");
    assert_eq!(code(&|c| write(c, &[0xf1, 0x80, 0, 0, 0, 0])), 1002, "reserved bits");
    let ping = [&[0x89, 0xfe, 0xff, 0xff, 0, 0, 0, 0][..], &[0; 0xffff]].concat();
    assert_eq!(code(&|c| write(c, &ping)), 1002, "a 64 KB ping");
    assert_eq!(
        code(&|c| write(c, &[0x81, 0xff, 0, 0, 0, 0, 0x06, 0x40, 0, 0, 0, 0, 0, 0])),
        1009,
        "the head of a 100 MB frame"
    );
}

#[test]
fn sizes_are_limited_by_frame_and_by_message() {
    let door = door();
    let padded = |size: usize| {
        let head = r#"{"jsonrpc":"2.0","id":7,"method":"_vault/ping","params":{"pad":""#;
        format!("{head}{}\"}}}}", "x".repeat(size - head.len() - 3))
    };
    let mut client = door.client();
    client.send(&padded(1 << 20));
    assert_eq!(client.read()["id"], 7);
    let _ = client.socket.send(Message::text(padded((1 << 20) + 1)));
    assert_eq!(client.close_code(), 1009);

    let fragmented = |client: &mut Client, size: usize| {
        let text = padded(size).into_bytes();
        let mut pieces = text.chunks(1 << 19).peekable();
        let mut kind = Data::Text;
        while let Some(piece) = pieces.next() {
            let last = pieces.peek().is_none();
            let frame = Frame::message(Bytes::copy_from_slice(piece), OpCode::Data(kind), last);
            if client.socket.send(Message::Frame(frame)).is_err() {
                return;
            }
            kind = Data::Continue;
        }
    };
    let mut client = door.client();
    fragmented(&mut client, 4 << 20);
    assert_eq!(client.read()["id"], 7);
    fragmented(&mut client, (4 << 20) + 1);
    assert_eq!(client.close_code(), 1009);

    let mut early = door.connect();
    let _ = early.socket.send(Message::text(padded((64 << 10) + 1)));
    assert_eq!(early.close_code(), 1009, "before `initialize`");
}

#[test]
fn a_client_that_never_introduces_itself_is_closed() {
    let door = door();
    assert_eq!(door.connect().close_code(), 1008);
}

#[test]
fn a_flood_of_pings_is_closed() {
    let settings = Settings { messages_per_second: 1, message_burst: 100, ..Settings::default() };
    let door = Door::open(settings, fake().0);
    let mut client = door.client();
    for _ in 0..200 {
        if client.socket.send(Message::Ping(Bytes::new())).is_err() {
            break;
        }
    }
    assert_eq!(client.close_code(), 1008);
}

#[test]
fn pieces_without_end_are_too_big_a_message() {
    let door = door();
    let mut neighbour = door.client();
    let mut client = door.client();
    // A text frame in empty fragments, masked with zeros: six bytes each.
    write(&mut client, &[0x01, 0x80, 0, 0, 0, 0]);
    let pieces = [0x00, 0x80, 0, 0, 0, 0].repeat(1_000);
    for _ in 0..1_000 {
        write(&mut client, &pieces);
    }
    assert_eq!(client.close_code(), 1009);
    assert!(neighbour.call("_vault/ping", json!({}))["result"].is_object());

    // A message in small but valid pieces, with pings in between, is complete.
    let head = r#"{"jsonrpc":"2.0","id":7,"method":"_vault/ping","params":{"pad":""#;
    let text = format!("{head}{}\"}}}}", "x".repeat(2 << 20)).into_bytes();
    let last = text.len().div_ceil(512) - 1;
    for (number, piece) in text.chunks(512).enumerate() {
        let kind = if number == 0 { Data::Text } else { Data::Continue };
        let piece = Bytes::copy_from_slice(piece);
        let frame = Frame::message(piece, OpCode::Data(kind), number == last);
        neighbour.socket.write(Message::Frame(frame)).unwrap();
        neighbour.socket.write(Message::Ping(Bytes::from_static(&[0; 125]))).unwrap();
    }
    neighbour.socket.flush().unwrap();
    assert_eq!(neighbour.read()["id"], 7);
}

#[test]
fn sixty_four_thousand_pings_are_too_many() {
    let door = door();
    let mut client = door.client();
    // A client that reads the pongs, so that only the count decides.
    let mut reading = client.socket.get_ref().try_clone().unwrap();
    let reader = std::thread::spawn(move || {
        let mut taken = Vec::new();
        let _ = std::io::Read::read_to_end(&mut reading, &mut taken);
        taken
    });
    let pings = [0x89, 0x80, 0, 0, 0, 0].repeat(1_024);
    for _ in 0..64 {
        write(&mut client, &pings);
    }
    let taken = reader.join().unwrap();
    // The last frame is the close frame with its code.
    let reason = b"too many control frames";
    let code = taken.windows(2 + reason.len()).find(|seen| &seen[2..] == reason);
    assert_eq!(code.map(|seen| u16::from_be_bytes([seen[0], seen[1]])), Some(1008));
}

#[test]
fn a_silent_client_is_pinged_and_then_dropped() {
    let settings = Settings { ping_seconds: 1, ..Settings::default() };
    let door = Door::open(settings, fake().0);
    let mut lively = door.client();
    // It never reads, so it never answers a ping.
    let silent = door.client();
    let id = lively.ask("_vault/ping", json!({}));
    lively.answer(id);
    let dropped = loop {
        // Reading answers the pings.
        let status = lively.call("_vault/status", json!({}));
        if status["result"]["connections"] == 1 {
            break true;
        }
        if lively.socket.read().is_err() {
            break false;
        }
    };
    assert!(dropped);
    drop(silent);
}
