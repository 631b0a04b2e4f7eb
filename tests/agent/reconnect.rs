//! A client loses its connection in the middle of an answer while the daemon keeps running. With
//! the number of the last event it saw it gets the rest: nothing twice and nothing omitted.

use std::net::Shutdown;
use std::time::Duration;

use serde_json::{Value, json};
use vault_steward::llm::Wire;

use crate::models::{Answer, Step};
use crate::serve::{Place, Watcher};

const PIECES: usize = 24;

/// An answer that comes a word at a time.
fn slowly(turn: usize) -> Answer {
    let mut steps = Vec::new();
    for piece in 0..PIECES {
        let delta = json!({"content": format!("{turn}.{piece} ")});
        let line = json!({"choices": [{"index": 0, "delta": delta}]});
        steps.push(Step::Bytes(format!("data: {line}\n\n").into_bytes()));
        steps.push(Step::Pause(Duration::from_millis(10)));
    }
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    steps.push(Step::Bytes(format!("data: {end}\n\ndata: [DONE]\n\n").into_bytes()));
    Answer::steps(steps)
}

fn subscribe(client: &mut Watcher, params: Value) -> Value {
    let asked = client.client.ask("_vault/subscribe", params);
    client.answer(asked)["result"].clone()
}

/// The numbers of the received events, with the text of each.
fn heard(client: &Watcher, after: u64) -> Vec<(u64, String)> {
    let of = |message: &Value| {
        let number = message["params"]["_meta"]["vault"]["seq"].as_u64()?;
        let update = &message["params"]["update"];
        let is_text = update["sessionUpdate"] == "agent_message_chunk";
        let text = update["content"]["text"].as_str().filter(|_| is_text);
        Some((number, text.unwrap_or_default().to_owned()))
    };
    client.seen.iter().filter_map(of).filter(|(number, _)| *number > after).collect()
}

fn is_idle(message: &Value) -> bool {
    message["method"] == "_vault/state" && message["params"]["state"] == "idle"
}

#[test]
fn a_connection_that_breaks_in_the_middle_of_an_answer_loses_nothing() {
    let cuts = [0, 1, PIECES / 2, PIECES - 1];
    let place = Place::new(Wire::Chat, (0..cuts.len()).map(slowly).collect());
    let daemon = place.serve();
    for (turn, cut) in cuts.into_iter().enumerate() {
        let mut one = place.client(&daemon);
        let begun = subscribe(&mut one, json!({}));
        let (epoch, from) = (begun["epoch"].clone(), begun["seq"].as_u64().unwrap());
        let params = json!({"prompt": [{"type": "text", "text": format!("turn {turn}")}],
            "_meta": {"vault": {"clientMessageId": format!("turn-{turn}")}}});
        one.say(params.clone());
        one.until(|message| message["params"]["state"] == "running");
        while heard(&one, from).iter().filter(|(_, text)| !text.is_empty()).count() < cut {
            one.next();
        }
        let first = heard(&one, from);
        let last = first.last().unwrap().0;
        // Without closing the connection properly.
        one.client.socket.get_ref().shutdown(Shutdown::Both).unwrap();
        drop(one);

        let mut again = place.client(&daemon);
        let resumed = subscribe(&mut again, json!({"epoch": epoch, "after": last}));
        assert_eq!(resumed["mode"], "replay", "{resumed}");
        // Sent again, the message is not processed again: it gets the answer of the running turn.
        let asked = again.say(params);
        let answered = again.answer(asked);
        if !again.seen.iter().any(is_idle) {
            again.until(is_idle);
        }
        let mut all = first;
        let mut rest = heard(&again, last);
        // Events received live before the rest was requested come again with it.
        rest.sort();
        rest.dedup();
        all.extend(rest);
        let numbers: Vec<u64> = all.iter().map(|(number, _)| *number).collect();
        let expected: Vec<u64> = (from + 1..=numbers[numbers.len() - 1]).collect();
        assert_eq!(numbers, expected, "each number once, and none is missing");
        let whole: String = (0..PIECES).map(|piece| format!("{turn}.{piece} ")).collect();
        let text: String = all.into_iter().map(|(_, text)| text).collect();
        assert_eq!(text, whole, "cut after {cut}");
        let vault = &answered["result"]["_meta"]["vault"];
        assert_eq!(vault["answer"].as_str().map(str::trim), Some(whole.trim()), "{answered}");
    }
    assert_eq!(place.server.requests().len(), cuts.len(), "each was asked once");
}
