//! The user's own agents, and models for one purpose: the real daemon, and a scripted model server.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::chat::WIRE;
use crate::door::Client;
use crate::models::{Answer, Request, Server};
use crate::script::{calls, says};
use crate::support::{Daemon, Home, Run, finish};

/// A home with a vault, a server with several models, and a daemon.
struct Place {
    home: Home,
    vault: PathBuf,
    server: Server,
    daemon: Daemon,
}

/// A request to the model's server.
struct Asked(Value);

impl Asked {
    fn of(request: &Request) -> Self {
        Self(serde_json::from_slice(&request.body).unwrap())
    }

    fn model(&self) -> &str {
        self.0["model"].as_str().unwrap()
    }

    fn system(&self) -> &str {
        self.0["messages"][0]["content"].as_str().unwrap()
    }

    fn tools(&self) -> Vec<&str> {
        let tools = self.0["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["function"]["name"].as_str().unwrap()).collect()
    }

    fn text(&self) -> String {
        self.0["messages"].to_string()
    }
}

impl Place {
    fn new(answers: Vec<Answer>, settings: &str) -> Self {
        Self::answering(move |number, _| answers[number.min(answers.len() - 1)].clone(), settings)
    }

    fn answering(
        answer: impl Fn(usize, &Asked) -> Answer + Send + Sync + 'static,
        settings: &str,
    ) -> Self {
        let home = Home::new();
        let vault = home.vault("Notes");
        std::fs::write(vault.join("Bread.md"), "# Bread\n\nSalt 9 g\n").unwrap();
        let server = Server::answering(move |number, request| answer(number, &Asked::of(request)));
        home.write_config(&Self::config(&server, settings));
        let daemon = home.serve(&vault);
        Self { home, vault, server, daemon }
    }

    fn config(server: &Server, settings: &str) -> String {
        let prices = ["main", "other", "quick", "short"].map(|model| {
            format!("[models.facts.{model}]\nprice = {{ input = 1.0, output = 1.0 }}\n")
        });
        format!(
            "{settings}\n[models]\nchain = [\"work/main\", \"work/other\"]\nretries = 0\n\
             max_wait_seconds = 1\n[models.providers.work]\nwire = \"chat\"\nbase_url = \"{}\"\n\
             key = \"optional\"\n{}",
            server.url,
            prices.concat()
        )
    }

    /// Replaces the settings, and waits until the daemon uses them.
    fn set(&self, settings: &str) {
        let mut client = self.client();
        client.call("_vault/subscribe", json!({}));
        self.home.write_config(&Self::config(&self.server, settings));
        while client.read()["method"] != "_vault/config_reloaded" {}
    }

    fn chat(&self, arguments: &[&str]) -> Run {
        let vault = self.vault.to_str().unwrap();
        finish(self.home.steward(&[&["chat", "--vault", vault][..], arguments].concat()))
    }

    fn client(&self) -> Client {
        let token = self.home.run_in(&self.vault, &["token"]).expect(0).stdout;
        let mut client = Client::connect(self.daemon.port(), token.trim_end()).unwrap();
        client.call("initialize", json!({"protocolVersion": 1}));
        client
    }

    fn asked(&self) -> Vec<Asked> {
        self.server.requests().iter().map(Asked::of).collect()
    }

    fn models(&self) -> Vec<String> {
        self.asked().iter().map(|asked| asked.model().to_owned()).collect()
    }
}

const READER: &str = "[conversation]\ntitles_by_model = false\n[agents.reader]\n\
    description = \"Reads only.\"\nprompt = \"Quote what you rely on.\"\n\
    tools = [\"read_file\", \"search_*\"]\nmodel = \"work/quick\"\nmode = \"read-only\"\n\
    temperature = 0.25\n[agents.writer]\nmode = \"read-only\"\n[agents.off]\nenabled = false\n";

#[test]
fn an_agent_has_its_own_words_tools_model_and_mode() {
    let write = json!({"path": "New.md", "content": "x\n"});
    let answers = vec![calls(WIRE, "c1", "write_file", write.clone()), says(WIRE, "I only read.")];
    let place = Place::new(answers, READER);
    let run = place.chat(&["--agent", "reader", "write it down"]).expect(0);
    assert_eq!(run.stdout, "I only read.\n");
    let asked = place.asked();
    assert_eq!(place.models(), ["quick", "quick"]);
    let system = asked[0].system();
    assert!(system.starts_with("You are the steward"), "{system}");
    assert!(system.ends_with("Quote what you rely on."), "{system}");
    let tools = asked[0].tools();
    assert!(tools.contains(&"read_file") && tools.contains(&"search_notes"), "{tools:?}");
    assert!(tools.contains(&"send_message") && !tools.contains(&"write_file"), "{tools:?}");
    assert_eq!(asked[0].0["temperature"], 0.25);
    let prompt = asked[1].text();
    assert!(prompt.contains("the agent `reader` does not have the tool `write_file`"), "{prompt}");
    assert!(!place.vault.join("New.md").exists());

    // It stays with the conversation; other conversations have the steward.
    place.chat(&["--conversation", "1", "and now?"]).expect(0);
    assert!(place.asked()[2].system().ends_with("Quote what you rely on."));
    let mut client = place.client();
    let listed = client.call("session/list", json!({}));
    assert_eq!(listed["result"]["sessions"][0]["_meta"]["vault"]["agent"], "reader", "{listed}");
    let other = client.call("session/new", json!({}))["result"]["sessionId"].clone();
    place.chat(&["--conversation", other.as_str().unwrap(), "hello"]).expect(0);
    let last = place.asked().pop().unwrap();
    assert!(last.model() == "main" && last.tools().contains(&"write_file"), "{}", last.0);
    assert!(last.0.get("temperature").is_none() && !last.system().contains("Quote what"));
}

#[test]
fn its_mode_holds_for_all_that_it_changes_and_is_shown() {
    let write = json!({"path": "New.md", "content": "x\n"});
    let answers = vec![calls(WIRE, "c1", "write_file", write), says(WIRE, "I may not.")];
    let place = Place::new(answers, READER);
    place.chat(&["--agent", "writer", "write it down"]).expect(0);
    assert!(place.asked()[1].text().contains("read-only"), "{}", place.asked()[1].text());
    assert!(!place.vault.join("New.md").exists());
    let mut client = place.client();
    let option = |value: &str| json!({"sessionId": "1", "configId": "mode", "value": value});
    let looser = client.call("session/set_config_option", option("auto"));
    assert_eq!(looser["error"]["data"]["kind"], "invalid_params", "{looser}");
    let kept = client.call("session/set_config_option", option("read-only"));
    let options = kept["result"]["configOptions"].as_array().unwrap();
    assert_eq!(options[0]["currentValue"], "read-only");
    assert_eq!(options[0]["options"].as_array().unwrap().len(), 1);
    let agent = options.iter().find(|one| one["id"] == "agent").unwrap();
    assert_eq!(agent["currentValue"], "writer");
    let names: Vec<&str> = agent["options"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["value"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["steward", "reader", "writer"], "one that is switched off is not offered");
    assert_eq!(agent["options"][1]["description"], "Reads only.");
    let models = client.call("_vault/models", json!({}));
    assert_eq!(models["result"]["agents"][0]["name"], "reader");
    assert_eq!(models["result"]["agents"][0]["model"], "work/quick");
    let shown = client.call("_vault/conversation", json!({"sessionId": "1"}));
    assert_eq!(shown["result"]["conversation"]["agent"], "writer");
}

#[test]
fn one_that_is_gone_is_named_and_nobody_answers_in_its_place() {
    let place = Place::new(vec![says(WIRE, "Here.")], READER);
    for (name, why) in [("nobody", "no agent `nobody`"), ("off", "is switched off")] {
        let run = place.chat(&["--agent", name, "hello"]).expect(1);
        assert!(run.stderr.contains(why), "{run:?}");
    }
    place.chat(&["--agent", "reader", "hello"]).expect(0);
    let mut client = place.client();
    let id = client.call("session/list", json!({}))["result"]["sessions"][0]["sessionId"].clone();
    let id = id.as_str().unwrap().to_owned();
    let before = place.models().len();

    place.set("[conversation]\ntitles_by_model = false\n");
    let run = place.chat(&["--conversation", &id, "and now?"]).expect(1);
    assert!(run.stderr.contains("the settings have no agent `reader`"), "{run:?}");
    assert!(run.stderr.contains("the agent `steward` is always there"), "{run:?}");
    assert_eq!(place.models().len(), before, "no model is asked");

    place.set(&READER.replace("Quote what you rely on.", "Be brief."));
    place.chat(&["--conversation", &id, "again"]).expect(0);
    assert!(place.asked().pop().unwrap().system().ends_with("Be brief."));
    place.chat(&["--conversation", &id, "--agent", "steward", "once more"]).expect(0);
    let last = place.asked().pop().unwrap();
    assert!(last.model() == "main" && last.tools().contains(&"write_file"), "{}", last.0);
}

#[test]
fn an_agent_with_a_model_asks_no_other() {
    let answer = |_: usize, asked: &Asked| match asked.model() {
        "quick" => Answer::json(500, &json!({"error": {"message": "down"}})),
        _ => says(WIRE, "I am another."),
    };
    let settings = format!("[agent]\nfast_model = \"work/short\"\n{READER}");
    let place = Place::answering(answer, &settings);
    let run = place.chat(&["--agent", "reader", "hello"]).expect(1);
    assert!(run.stdout.is_empty(), "{run:?}");
    assert!(place.models().iter().all(|model| model == "quick"), "{:?}", place.models());
    // The model that a person chose for the conversation is used, followed by the rest of the
    // chain.
    let mut client = place.client();
    let option = json!({"sessionId": "1", "configId": "model", "value": "work/other"});
    assert!(client.call("session/set_config_option", option)["result"].is_object());
    place.chat(&["--conversation", "1", "hello?"]).expect(0);
    assert_eq!(place.models().pop().unwrap(), "other");
}

#[test]
fn first_rounds_and_summaries_have_models_of_their_own() {
    let read = |id: &str| calls(WIRE, id, "read_file", json!({"path": "Bread.md"}));
    let title =
        "{\"title\": \"How much salt is in bread\", \"summary\": \"Nine grams. It was read.\"}";
    let answer = move |number: usize, asked: &Asked| match (asked.model(), number) {
        ("short", _) => says(WIRE, title),
        (_, 0) => read("c1"),
        (_, 1) => read("c2"),
        (_, 2) => says(WIRE, "Nine grams."),
        _ => says(WIRE, "Yes."),
    };
    let settings = "[agent]\nfast_model = \"work/quick\"\nsummary_model = \"work/short\"\n";
    let place = Place::answering(answer, settings);
    assert_eq!(place.chat(&["how much salt?"]).expect(0).stdout, "Nine grams.\n");
    assert_eq!(place.models(), ["quick", "quick", "main"]);
    place.chat(&["--conversation", "1", "sure?"]).expect(0);
    assert_eq!(place.models().pop().unwrap(), "quick", "each turn begins with it");

    place.home.run_in(&place.vault, &["conversations", "end"]).expect(0);
    let until = Instant::now() + Duration::from_secs(20);
    while !place.models().iter().any(|model| model == "short") {
        assert!(Instant::now() < until, "no summary was asked for");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut client = place.client();
    let usage = loop {
        let usage = client.call("_vault/usage", json!({"sessionId": "1"}));
        let rows = usage["result"]["days"].as_array().unwrap().clone();
        if rows.len() == 3 || Instant::now() > until {
            break rows;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let of =
        |name: &str| usage.iter().find(|row| row["model"] == name).cloned().unwrap_or_default();
    assert_eq!(of("work/quick")["used"]["requests"], 3, "{usage:?}");
    assert_eq!(of("work/main")["used"]["requests"], 1, "{usage:?}");
    assert_eq!(of("work/short")["used"]["requests"], 1, "{usage:?}");
    assert_eq!(of("work/short")["used"]["unpriced"], 0, "{usage:?}");
}

#[test]
fn the_conversations_model_replaces_a_failing_fast_model() {
    let answer = |_: usize, asked: &Asked| match asked.model() {
        "quick" => Answer::json(500, &json!({"error": {"message": "down"}})),
        _ => says(WIRE, "Here."),
    };
    let settings =
        "[conversation]\ntitles_by_model = false\n[agent]\nfast_model = \"work/quick\"\n";
    let place = Place::answering(answer, settings);
    assert_eq!(place.chat(&["hello"]).expect(0).stdout, "Here.\n");
    assert_eq!(place.models(), ["quick", "main"]);
    let mut client = place.client();
    let option = json!({"sessionId": "1", "configId": "model", "value": "work/other"});
    client.call("session/set_config_option", option);
    place.chat(&["--conversation", "1", "hello?"]).expect(0);
    assert_eq!(place.models()[2..], ["other"]);
}

#[test]
fn what_is_wrong_in_the_section_is_named() {
    let home = Home::new();
    home.vault("Notes");
    for (settings, why) in [
        ("[agents.a]\ntools = [\"read_fil\"]\n", "there is no tool `read_fil`"),
        ("[agents.steward]\n", "the steward's own"),
        ("[agents.a]\nmodel = \"x\"\n", "provider/model"),
        ("[agent]\nfast_model = \"x\"\n", "provider/model"),
        ("[agent]\nsummary_model = \"nobody/x\"\n", "there is no provider `nobody`"),
    ] {
        home.write_config(settings);
        let run = home.run(&["config", "check"]);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains(why), "{settings}: {said}");
    }
    home.write_config("[agents.a]\ntools = [\"search_*\", \"files__read\"]\n");
    home.run(&["config", "check"]).expect(0);
}
