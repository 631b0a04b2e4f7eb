//! Questions of a server to the user in the middle of a call.

use super::*;

/// A person who says these things, one after the other, and what they were asked.
struct Says(Mutex<Vec<elicitation::PersonAnswer>>, Mutex<Vec<elicitation::PersonQuestion>>);

impl elicitation::Ask for Says {
    fn ask(
        &self,
        asked: &elicitation::PersonQuestion,
        _: &dyn Fn() -> bool,
    ) -> elicitation::PersonAnswer {
        self.1.lock().expect("no panic").push(asked.clone());
        self.0.lock().expect("no panic").remove(0)
    }
}

fn question() -> Value {
    json!({ "message": "Who?", "requestedSchema": { "type": "object", "properties": {
        "name": { "type": "string" } }, "required": ["name"] } })
}

#[test]
fn a_server_of_an_older_version_asks_the_user_in_the_middle_of_a_call() {
    let answered = Arc::new(Mutex::new(Value::Null));
    let (signal, answered_signal) = std::sync::mpsc::channel::<()>();
    let (answer, answered_signal) = (Arc::clone(&answered), Mutex::new(answered_signal));
    let site = Site::new(move |request, stream| {
        if request.message["id"] == "q" {
            *answer.lock().expect("no panic") = request.message["result"].clone();
            let _ = signal.send(());
        }
        legacy(request, stream, |request, stream| {
            let ask = json!({ "jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
                "params": question() });
            stream_reply(stream, &format!("data: {ask}\n\n"));
            answered_signal.lock().expect("no panic").recv().expect("an answer");
            let answer =
                request.answer(&json!({ "content": [{ "type": "text", "text": "done" }] }));
            let _ = stream.write_all(format!("data: {answer}\n\n").as_bytes());
        });
    });
    let tools = site.allow();
    // Nobody can be asked yet.
    let answer = site.call(&tools[0], &json!({})).expect("an answer");
    assert_eq!(*answered.lock().expect("no panic"), json!({ "action": "cancel" }));
    let note = answer["content"][1]["text"].as_str().expect("a note");
    assert!(note.contains("nobody can be asked"), "{note}");

    let says =
        vec![elicitation::PersonAnswer::Yes("Ada".to_owned()), elicitation::PersonAnswer::No];
    let person = Arc::new(Says(Mutex::new(says), Mutex::default()));
    site.servers.set_ask(Arc::clone(&person) as Arc<dyn elicitation::Ask>);
    let answer = site.call(&tools[0], &json!({})).expect("an answer");
    assert_eq!(answer["content"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        *answered.lock().expect("no panic"),
        json!({ "action": "accept", "content": { "name": "Ada" } })
    );
    site.call(&tools[0], &json!({})).expect("an answer");
    assert_eq!(*answered.lock().expect("no panic"), json!({ "action": "decline" }));
    let asked = person.1.lock().expect("no panic").clone();
    assert_eq!(asked[0].title, "the server `s` asks you: Who?");
    let hello =
        site.request().into_iter().find(|request| request.is("initialize")).expect("a greeting");
    assert!(hello.message["params"]["capabilities"]["elicitation"].is_object());
}

#[test]
fn a_server_of_the_newer_version_asks_before_it_answers() {
    let site = Site::new(|request, stream| {
        modern(request, stream, |request, stream| {
            let params = &request.message["params"];
            let asks = |requests: Value| json!({ "resultType": "input_required", "inputRequests": requests, "requestState": "{ \"a\": 1 }" });
            let elicitation = json!({ "method": "elicitation/create", "params": question() });
            let result = match (params["name"].as_str(), params.get("inputResponses")) {
                (Some("one"), None) => asks(json!({ "who": elicitation })),
                (Some("one"), Some(answers)) => {
                    assert_eq!(params["requestState"], "{ \"a\": 1 }");
                    let text = answers["who"].to_string();
                    json!({ "resultType": "complete", "content": [{ "type": "text", "text": text }] })
                }
                _ => asks(json!({ "it": { "method": "sampling/createMessage", "params": {} } })),
            };
            json_reply(stream, &request.answer(&result));
        });
    });
    let tools = site.allow();
    let says = vec![elicitation::PersonAnswer::Yes("Ada".to_owned())];
    site.servers.set_ask(Arc::new(Says(Mutex::new(says), Mutex::default())));
    let answer = site.call(&tools[0], &json!({})).expect("an answer");
    let expected = json!({ "action": "accept", "content": { "name": "Ada" } }).to_string();
    assert_eq!(answer["content"][0]["text"], expected);
    let calls: Vec<_> =
        site.request().into_iter().filter(|request| request.is("tools/call")).collect();
    assert_ne!(calls[0].message["id"], calls[1].message["id"]);
    let fault = site.call(&tools[1], &json!({})).expect_err("sampling was not offered");
    assert!(fault.to_string().contains("was not offered"), "{fault}");
}
