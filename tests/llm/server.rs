//! Requests to the scripted server.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use vault_steward::llm::endpoint::{Address, Connections, Service};
use vault_steward::llm::settings::Limits;
use vault_steward::llm::{
    Endpoint, Facts, Item, Key, LlmError, Message, Provider, Turn, TurnEvent, TurnRequest, Wire,
};

pub use crate::models::{Answer, Server, Step};

pub const KEY: &str = "sk-canary-1234567890";

/// Long enough for a busy machine; tests of limits set their own.
pub fn limits() -> Limits {
    let long = Duration::from_secs(20);
    Limits { connect: long, first_byte: long, stall: long, answer: 1 << 20 }
}

pub fn endpoint(wire: Wire, url: &str, limits: Limits) -> Endpoint {
    let service = Service {
        name: "vendor".to_owned(),
        wire,
        address: Address::new(url).unwrap(),
        key: Some(Key::new(KEY).unwrap()),
        needs_key: true,
    };
    Endpoint::new(&service, "m", Facts::default(), limits, &Connections::new(&limits))
}

pub fn request() -> Arc<TurnRequest> {
    Arc::new(TurnRequest::new(vec![Message::user("hi")]))
}

pub fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// A whole turn: its events, and how it ended. Nothing may come after the end.
pub async fn collect(provider: &dyn Provider) -> (Vec<TurnEvent>, Result<Turn, LlmError>) {
    let mut stream = provider.stream(request());
    let mut events = Vec::new();
    loop {
        let end = match stream.next().await.expect("a stream has an end") {
            Ok(Item::Event(event)) => {
                events.push(event);
                continue;
            }
            Ok(Item::Done(turn)) => Ok(*turn),
            Err(error) => Err(error),
        };
        assert!(stream.next().await.is_none(), "nothing comes after the end");
        return (events, end);
    }
}

/// Sends one request.
pub fn ask(wire: Wire, answer: Answer) -> (Vec<TurnEvent>, Result<Turn, LlmError>) {
    let server = Server::start(vec![answer]);
    run(collect(&endpoint(wire, &server.url, limits())))
}
