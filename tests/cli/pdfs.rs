//! The text of PDFs over the life of a daemon, as a client meets it.

use std::path::Path;
use std::time::{Duration, Instant};

use lopdf::{
    Dictionary, Document, EncryptionState, EncryptionVersion, Object, Permissions, Stream,
    StringFormat, dictionary,
};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::door::Client;
use crate::support::{Daemon, Home};

/// A PDF with a page for each of these content streams.
fn document(programs: &[&[u8]]) -> Document {
    let mut document = Document::with_version("1.5");
    let parent = document.new_object_id();
    let font = document.add_object(dictionary! {
        "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Helvetica",
        "Encoding" => "WinAnsiEncoding",
    });
    let resources = dictionary! { "Font" => dictionary! { "F" => font } };
    let mut pages: Vec<Object> = Vec::new();
    for program in programs {
        let mut content = Stream::new(Dictionary::new(), program.to_vec());
        content.compress().unwrap();
        let content = document.add_object(content);
        let page = dictionary! {
            "Type" => "Page", "Parent" => parent, "Contents" => content,
            "Resources" => resources.clone(),
        };
        pages.push(document.add_object(page).into());
    }
    let count = programs.len() as i64;
    let tree = dictionary! { "Type" => "Pages", "Kids" => pages, "Count" => count };
    document.objects.insert(parent, tree.into());
    let catalog = document.add_object(dictionary! { "Type" => "Catalog", "Pages" => parent });
    document.trailer.set("Root", catalog);
    document
}

fn written(mut document: Document) -> Vec<u8> {
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    bytes
}

fn page(words: &str) -> Vec<u8> {
    format!("BT /F 10 Tf 72 700 Td ({words}) Tj ET").into_bytes()
}

fn encrypted() -> Vec<u8> {
    let mut document = document(&[&page("A secret about herons")]);
    let id = Object::String(b"0123456789abcdef".to_vec(), StringFormat::Literal);
    document.trailer.set("ID", vec![id.clone(), id]);
    let version = EncryptionVersion::V1 {
        document: &document,
        owner_password: "owner",
        user_password: "secret",
        permissions: Permissions::all(),
    };
    let state = EncryptionState::try_from(version).unwrap();
    document.encrypt(&state).unwrap();
    written(document)
}

/// A daemon and its client.
fn served(home: &Home, vault: &Path) -> (Daemon, Client) {
    let daemon = home.serve(vault);
    let token = home.run_in(vault, &["token"]).expect(0).stdout;
    let mut client = Client::connect(daemon.port(), token.trim_end()).unwrap();
    client.initialize();
    (daemon, client)
}

fn call(client: &mut Client, tool: &str, arguments: Value) -> Value {
    client.call("tools/call", json!({"name": tool, "arguments": arguments}))["result"].take()
}

/// The notes that a search finds once all PDFs are read.
fn found(client: &mut Client, query: &str) -> Vec<String> {
    let end = Instant::now() + Duration::from_secs(60);
    while Instant::now() < end {
        let mut found = call(client, "search_notes", json!({"query": query, "meaning": "off"}));
        let found = found["structuredContent"].take();
        if found["unread_notes"] == 0 {
            let notes = found["notes"].as_array().unwrap().iter();
            return notes.map(|note| note["path"].as_str().unwrap().to_owned()).collect();
        }
    }
    panic!("the PDFs are never read");
}

#[test]
fn pdf_texts_survive_damage_and_no_file_crashes_the_daemon() {
    let home = Home::new();
    let vault = home.vault("Notes");
    home.write_config("[knowledge]\npdf = true\n");
    let whole = written(document(&[&page("On kingfishers"), &page("On dippers")]));
    let put = |name: &str, bytes: &[u8]| std::fs::write(vault.join(name), bytes).unwrap();
    put("Birds.pdf", &whole);
    put("Cut.pdf", &whole[..whole.len() / 3]);
    put("Empty.pdf", b"");
    put("Locked.pdf", &encrypted());
    put("Bomb.pdf", &written(document(&[&vec![b' '; 20 << 20]])));
    put("Flood.pdf", &written(document(&vec![&page("gannet ")[..]; 5_000])));
    let (mut daemon, mut client) = served(&home, &vault);
    assert_eq!(found(&mut client, "kingfisher"), ["Birds.pdf"]);
    assert_eq!(found(&mut client, "heron"), [""; 0], "it is encrypted");
    assert_eq!(found(&mut client, "locked"), ["Locked.pdf"], "by its name");
    assert_eq!(found(&mut client, "gannet"), ["Flood.pdf"]);
    for (name, said) in [
        ("Cut.pdf", "`Cut.pdf` is a PDF that is damaged: "),
        ("Locked.pdf", "`Locked.pdf` is a PDF that is encrypted and opens only with a password"),
        ("Bomb.pdf", "`Bomb.pdf` is a PDF that unfolds to more than can be read"),
    ] {
        let refused = call(&mut client, "read_file", json!({"path": name}));
        let text = refused["content"][0]["text"].as_str().unwrap();
        assert!(refused["isError"] == true && text.contains(said), "{refused}");
    }
    let flood = call(&mut client, "read_file", json!({"path": "Flood.pdf", "start_page": 4_990}));
    assert_eq!(flood["structuredContent"]["pages"]["total"], 5_000, "{flood}");
    let ended = |daemon: &mut Daemon| {
        daemon.signal(Signal::TERM);
        assert_eq!(daemon.wait(Duration::from_secs(60)), Some(0));
    };
    ended(&mut daemon);
    let saved = home.state().join("pdfs/table");
    let table = std::fs::read(&saved).unwrap();
    for at in [None, Some(0), Some(table.len() / 2), Some(table.len() - 1)] {
        if let Some(at) = at {
            let mut damaged = table.clone();
            damaged[at] ^= 1;
            std::fs::write(&saved, damaged).unwrap();
        }
        let (mut daemon, mut client) = served(&home, &vault);
        assert_eq!(found(&mut client, "dipper"), ["Birds.pdf"], "{at:?}");
        assert_eq!(found(&mut client, "gannet"), ["Flood.pdf"], "{at:?}");
        ended(&mut daemon);
    }
    // A file that changes while no daemon runs is read again.
    put("Birds.pdf", &written(document(&[&page("On wrens")])));
    put("Locked.pdf", &written(document(&[&page("A secret about herons")])));
    let (_daemon, mut client) = served(&home, &vault);
    assert_eq!(found(&mut client, "wren"), ["Birds.pdf"]);
    assert_eq!(found(&mut client, "heron"), ["Locked.pdf"]);
    assert_eq!(found(&mut client, "dipper"), [""; 0]);
    home.run_in(&vault, &["config", "set", "knowledge.pdf", "false"]).expect(0);
    assert_eq!(found(&mut client, "wren"), [""; 0]);
    assert!(!saved.exists());
}
