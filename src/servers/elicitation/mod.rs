//! Elicitation: questions of a server to the user during a call, by a form or by an address to
//! open.
//!
//! A server's question is untrusted text. It is shown after the server's name, and the server gets
//! an answer only once the person has agreed; an address is shown and never opened.

mod form;

use std::cell::{Cell, RefCell};

use reqwest::Url;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use form::{Field, content, fields, label};

use super::offer::hex;
use crate::llm::endpoint::Address;

/// The name of such questions where a tool's name is expected.
pub const TOOL: &str = "server_question";

/// The most questions during one call.
const MAX_QUESTIONS: usize = 5;

/// The most times that a person is asked again after an invalid answer.
const MAX_TRIES: usize = 3;

/// The longest message that is shown, in characters.
const MAX_MESSAGE: usize = 1_000;

/// The longest address that is shown whole, in bytes; a longer one is refused.
const MAX_ADDRESS: usize = 2_000;

/// The call during which a server asks.
#[derive(Debug, Clone, Copy)]
pub struct ServerCall<'a> {
    pub server: &'a str,
    pub tool: &'a str,
    pub arguments: &'a Value,
}

/// A question of a tool server to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonQuestion {
    pub server: String,
    /// The id of the call; an answer counts only for it.
    pub call: String,
    /// The conversation that made the call.
    pub conversation: Option<String>,
    pub title: String,
    /// What the person should know, one sentence each.
    pub reasons: Vec<String>,
    /// Whether a yes in advance answers it: the person need not type a value or check an address.
    pub is_yes_enough: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PersonAnswer {
    /// Yes, with this text.
    Yes(String),
    No,
    /// Nobody answered; the text says why.
    Nothing(String),
}

/// Asks a person.
pub trait Ask: Send + Sync {
    /// Asks a question and waits for the answer, until it is `withdrawn`. Blocks.
    fn ask(&self, person_question: &PersonQuestion, withdrawn: &dyn Fn() -> bool) -> PersonAnswer;
}

/// The user of one call, as far as its server may ask them.
pub(super) struct Elicitation<'a> {
    call: ServerCall<'a>,
    conversation: Option<String>,
    /// `None` if nobody can be asked.
    ask: Option<&'a dyn Ask>,
    withdrawn: &'a dyn Fn() -> bool,
    put: Cell<usize>,
    unanswered: RefCell<Vec<String>>,
}

impl<'a> Elicitation<'a> {
    /// The user of this call, made by this conversation.
    pub fn new(
        call: ServerCall<'a>,
        conversation: Option<String>,
        ask: Option<&'a dyn Ask>,
        withdrawn: &'a dyn Fn() -> bool,
    ) -> Self {
        let (put, unanswered) = (Cell::new(0), RefCell::default());
        Self { call, conversation, ask, withdrawn, put, unanswered }
    }

    /// Asks the user the question with these parameters, and returns the answer for the server.
    /// Blocks until the user answers or the question `is_over`, because the server has stopped
    /// waiting.
    pub fn answer(&self, params: &Value, is_over: &dyn Fn() -> bool) -> Value {
        self.put.set(self.put.get() + 1);
        let answer = if self.put.get() <= MAX_QUESTIONS {
            self.answered(params, &|| (self.withdrawn)() || is_over())
        } else {
            Err(format!("a call may ask {MAX_QUESTIONS} questions"))
        };
        answer.unwrap_or_else(|why| {
            let note = format!("[The server asked the user something, and got no answer: {why}.]");
            self.unanswered.borrow_mut().push(note);
            json!({ "action": "cancel" })
        })
    }

    /// Lists the unanswered questions in the result of the call.
    pub fn note_in(&self, result: &mut Value) {
        let notes = self.unanswered.take();
        let Some(members) = result.as_object_mut().filter(|_| !notes.is_empty()) else { return };
        let content = members.entry("content").or_insert_with(|| json!([]));
        if let Some(content) = content.as_array_mut() {
            content.extend(notes.into_iter().map(|note| json!({ "type": "text", "text": note })));
        }
    }

    /// The answer of a person.
    ///
    /// # Errors
    /// The reason why nobody can answer.
    fn answered(&self, params: &Value, withdrawn: &dyn Fn() -> bool) -> Result<Value, String> {
        let ask = self.ask.ok_or("nobody can be asked here")?;
        let question = Question::read(params);
        let question = question.map_err(|why| format!("it cannot be put to a person, {why}"))?;
        let mut wrong = None;
        for _ in 0..MAX_TRIES {
            let mut person_question =
                question.person_question(&self.call, self.conversation.clone());
            person_question.reasons.extend(wrong.take());
            match ask.ask(&person_question, withdrawn) {
                PersonAnswer::No => return Ok(json!({ "action": "decline" })),
                PersonAnswer::Nothing(why) => return Err(why),
                PersonAnswer::Yes(words) => match question.response(&words) {
                    Ok(response) => return Ok(response),
                    Err(why) => wrong = Some(format!("your last answer did not fit: {why}")),
                },
            }
        }
        Err("no answer fitted".to_owned())
    }
}

/// A server's question.
#[derive(Debug)]
enum Question {
    Form { message: String, fields: Vec<Field> },
    Address { message: String, url: Url },
}

impl Question {
    fn read(params: &Value) -> Result<Self, String> {
        let message = label(&params["message"], MAX_MESSAGE);
        match params["mode"].as_str().unwrap_or("form") {
            "form" => {
                let fields = fields(&params["requestedSchema"])?;
                Ok(Self::Form { message, fields })
            }
            "url" => {
                let text = params["url"].as_str().unwrap_or_default();
                let url = Url::parse(text).map_err(|_| "it names no address".to_owned())?;
                let is_local = || {
                    let origin = url.origin().ascii_serialization();
                    Address::new(&origin).is_ok_and(|address| address.is_local())
                };
                let is_plain = url.username().is_empty() && url.password().is_none();
                if url.as_str().len() > MAX_ADDRESS || !is_plain {
                    return Err("its address is too long, or has a user name in it".to_owned());
                }
                if url.scheme() == "https" || is_local() {
                    Ok(Self::Address { message, url })
                } else {
                    Err("its address is not `https`".to_owned())
                }
            }
            _ => Err("it is of a kind that is not known here".to_owned()),
        }
    }

    fn person_question(
        &self,
        call: &ServerCall<'_>,
        conversation: Option<String>,
    ) -> PersonQuestion {
        let ServerCall { server, tool, arguments } = call;
        let whose = format!("the server `{server}` asks you");
        let (title, mut reasons, is_yes_enough) = match self {
            Self::Form { message, fields } => {
                let mut reasons: Vec<String> = fields.iter().map(Field::words).collect();
                reasons.push(match &fields[..] {
                    [] => "it expects a yes or a no".to_owned(),
                    [one] => format!(
                        "a yes alone sends the default; with a message it sends that as `{}`",
                        one.name
                    ),
                    [first, ..] => format!(
                        "a yes alone sends the defaults; for other values add `{}: …; …: …`",
                        first.name
                    ),
                });
                let is_missing = |field: &Field| field.is_required && field.default.is_none();
                (format!("{whose}: {message}"), reasons, !fields.iter().any(is_missing))
            }
            Self::Address { message, url } => {
                let host = url.host_str().unwrap_or_default();
                let mut reasons = vec![format!(
                    "it wants you to open {url}, which is at `{host}`; the steward does not open it"
                )];
                if host.split('.').any(|part| part.starts_with("xn--")) {
                    reasons
                        .push("the address has letters of another script: look twice".to_owned());
                }
                reasons.push("a yes tells the server that you will open it".to_owned());
                (format!("{whose} to open a page: {message}"), reasons, false)
            }
        };
        reasons
            .push(format!("it is about the call of `{tool}`; what you answer goes to `{server}`"));
        let server = (*server).to_owned();
        let call = hex(&Sha256::digest(format!("{tool} {arguments}")));
        PersonQuestion { server, call, conversation, title, reasons, is_yes_enough }
    }

    /// The answer for the server.
    fn response(&self, words: &str) -> Result<Value, String> {
        match self {
            Self::Address { .. } => Ok(json!({ "action": "accept" })),
            Self::Form { fields, .. } => {
                Ok(json!({ "action": "accept", "content": content(fields, words.trim())? }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Gives these answers one after another, and records the questions.
    struct Person(Mutex<(Vec<PersonAnswer>, Vec<PersonQuestion>)>);

    impl Ask for Person {
        fn ask(&self, person_question: &PersonQuestion, _: &dyn Fn() -> bool) -> PersonAnswer {
            let mut state = self.0.lock().expect("no panic");
            state.1.push(person_question.clone());
            state.0.remove(0)
        }
    }

    /// The answer for the server, the notes, and the questions that a person was asked.
    fn put(params: &Value, answers: &[&str]) -> (Value, Vec<String>, Vec<PersonQuestion>) {
        let answers = answers.iter().map(|words| match *words {
            "no" => PersonAnswer::No,
            "nobody" => PersonAnswer::Nothing("nobody is there".to_owned()),
            words => PersonAnswer::Yes(words.to_owned()),
        });
        let person = Person(Mutex::new((answers.collect(), Vec::new())));
        let asking = Elicitation::new(call(), Some("7".to_owned()), Some(&person), &|| false);
        let (answer, notes) = (asking.answer(params, &|| false), asking.unanswered.take());
        let person_question = std::mem::take(&mut person.0.lock().expect("no panic").1);
        (answer, notes, person_question)
    }

    fn call() -> ServerCall<'static> {
        ServerCall { server: "s", tool: "t", arguments: &Value::Null }
    }

    fn form(properties: Value, required: &[&str]) -> Value {
        json!({ "message": "Who\u{200b} are\nyou?", "requestedSchema": {
            "type": "object", "properties": properties, "required": required } })
    }

    #[test]
    fn a_form_is_filled_with_words_and_defaults() {
        let several = form(
            json!({
                "name": { "type": "string", "title": "Your name", "minLength": 2 },
                "age": { "type": "integer", "minimum": 18, "default": 30 },
                "score": { "type": "number" },
                "sure": { "type": "boolean", "default": true },
                "color": { "type": "string", "oneOf": [
                    { "const": "#f00", "title": "Red" }, { "const": "#0f0", "title": "Green" }] },
                "tags": { "type": "array", "items": { "type": "string", "enum": ["a", "b"] }, "maxItems": 2 },
            }),
            &["name"],
        );
        let accepted = |params: &Value, words: &str| {
            let (answer, _, person_question) = put(params, &[words]);
            assert_eq!((person_question.len(), answer["action"].as_str()), (1, Some("accept")));
            answer["content"].clone()
        };
        assert_eq!(
            accepted(
                &several,
                "name: Ada; age: 36; score: 1.5; sure: no; color: green; tags: a, b"
            ),
            json!({ "name": "Ada", "age": 36, "score": 1.5, "sure": false, "color": "#0f0", "tags": ["a", "b"] })
        );
        assert_eq!(
            accepted(&several, r##"{"name": "A; b: c", "color": "#f00"}"##),
            json!({ "name": "A; b: c", "age": 30, "sure": true, "color": "#f00" })
        );
        let one = form(json!({ "name": { "type": "string" } }), &["name"]);
        assert_eq!(accepted(&one, "it: is; mine"), json!({ "name": "it: is; mine" }));
        let sure = form(json!({ "confirmed": { "type": "boolean" } }), &[]);
        assert_eq!(accepted(&sure, ""), json!({}));
        assert_eq!(accepted(&sure, "yes"), json!({ "confirmed": true }));

        // After an invalid answer the person is asked again, with the reason, a limited number of
        // times.
        let (answer, _, person_question) = put(&several, &["", "name: Ada; age: 17", "name: Ada"]);
        assert_eq!(answer["content"]["name"], "Ada");
        assert!(person_question[1].reasons.last().expect("one").contains("`name` is missing"));
        assert!(person_question[2].reasons.last().expect("one").contains("`age` has to be"));
        let (answer, notes, _) = put(&several, &["x: 1", "color: blue", "name: A"]);
        assert_eq!((answer, notes.len()), (json!({ "action": "cancel" }), 1));
    }

    #[test]
    fn a_person_learns_who_asks_for_what_and_may_refuse() {
        let (answer, notes, person_question) =
            put(&form(json!({ "api_key": { "type": "string" } }), &["api_key"]), &["no"]);
        assert_eq!((answer, notes.len()), (json!({ "action": "decline" }), 0));
        let PersonQuestion { title, reasons, conversation, is_yes_enough, .. } =
            &person_question[0];
        assert_eq!(title, "the server `s` asks you: Who are you?");
        assert_eq!((conversation.as_deref(), *is_yes_enough), (Some("7"), false));
        assert!(reasons[0].contains("no server may ask for one like this"), "{reasons:?}");
        assert_eq!(
            reasons.last().expect("one"),
            "it is about the call of `t`; what you answer goes to `s`"
        );
        let others =
            [("t", json!({ "all": true })), ("u", Value::Null)].map(|(tool, arguments)| {
                let call = ServerCall { server: "s", tool, arguments: &arguments };
                Question::read(&form(json!({}), &[]))
                    .expect("a form")
                    .person_question(&call, None)
                    .call
            });
        assert!(
            !others.contains(&person_question[0].call) && others[0] != others[1],
            "one answer, one call"
        );

        // A choice is sent exactly as shown, so it must not contain control characters.
        for value in ["a\u{1b}]52;c;aGk=\u{7}", "a\nb", "a\u{202e}b"] {
            let choice = form(json!({ "one": { "type": "string", "enum": [value] } }), &[]);
            let (answer, _, person_question) = put(&choice, &["yes"]);
            assert_eq!(
                (answer, person_question.len()),
                (json!({ "action": "cancel" }), 0),
                "{value:?}"
            );
        }

        let (answer, notes, _) = put(&form(json!({}), &[]), &["nobody"]);
        assert_eq!(answer, json!({ "action": "cancel" }));
        assert!(notes[0].contains("nobody is there"), "{notes:?}");
        let asking = Elicitation::new(call(), None, None, &|| false);
        for _ in 0..=MAX_QUESTIONS {
            let answer = asking.answer(&form(json!({}), &[]), &|| false);
            assert_eq!(answer, json!({ "action": "cancel" }));
        }
        let mut result = json!({ "content": [{ "type": "text", "text": "done" }] });
        asking.note_in(&mut result);
        assert!(
            result["content"][1]["text"].as_str().expect("text").contains("nobody can be asked")
        );
        let last = &result["content"][MAX_QUESTIONS + 1]["text"];
        assert!(last.as_str().expect("text").contains("5 questions"), "{last}");
    }

    #[test]
    fn an_address_is_shown_whole_and_not_opened() {
        let page = |url: &str| json!({ "mode": "url", "message": "Sign", "url": url });
        let (answer, _, person_question) = put(&page("https://b\u{fc}cher.example/x?y=1"), &[""]);
        assert_eq!(answer, json!({ "action": "accept" }));
        assert!(
            person_question[0].reasons[0].contains("https://xn--bcher-kva.example/x?y=1"),
            "{person_question:?}"
        );
        assert!(person_question[0].reasons[1].contains("another script"), "{person_question:?}");
        assert!(put(&page("http://127.0.0.1:1/"), &[""]).2.len() == 1);
        let long = format!("https://a.example/{}", "x".repeat(MAX_ADDRESS));
        for bad in ["http://a.example/", "javascript:alert(1)", "https://a:b@c.example/", "", &long]
        {
            let (_, notes, person_question) = put(&page(bad), &[]);
            assert!(person_question.is_empty() && notes.len() == 1, "{bad}");
        }
        for bad in [
            json!({ "mode": "song", "message": "la" }),
            form(json!({ "a": { "type": "object" } }), &[]),
            form(json!({ "a b": { "type": "string" } }), &[]),
            form(json!({ "a": { "type": "string", "enum": [] } }), &[]),
        ] {
            assert!(put(&bad, &[]).2.is_empty(), "{bad}");
        }
    }
}
