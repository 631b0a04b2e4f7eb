//! `memory_search` over notes, conversations and changes.

use std::sync::Arc;

use serde_json::{Value, json};
use vault_steward::conversation::{
    BranchId, Chosen, Conversation, ConversationId, ItemKind, ItemNumber,
};
use vault_steward::note::code::ErrorCode::{Denied, InvalidInput, NotFound};
use vault_steward::note::path::VaultPath;
use vault_steward::tools::{ConversationItem, ConversationView, ToolError};
use vault_steward::vault::View;

use crate::vault::{TestVault, vault};

/// Conversations of one message each.
#[derive(Debug)]
struct Talks(Vec<&'static str>);

impl Talks {
    fn one(&self, at: usize) -> (Conversation, Vec<ConversationItem>) {
        let id = at as i64 + 1;
        let conversation = Conversation {
            id: ConversationId(id),
            began: 0,
            last_active: id * 1_000,
            ended: None,
            title: Some(format!("Talk {id}")),
            summary: None,
            titled_by: None,
            source: "chat".into(),
            branch: BranchId(1),
            waiting: None,
            is_working: false,
            items: 1,
            chosen: Chosen::default(),
        };
        let text = self.0[at].to_owned();
        let said = ConversationItem {
            item: ItemNumber(4),
            kind: ItemKind::User,
            time: 0,
            text,
            tools: vec![],
        };
        (conversation, vec![said])
    }
}

impl ConversationView for Talks {
    fn recent(&self, _: usize) -> Result<Vec<Conversation>, ToolError> {
        Ok(Vec::new())
    }

    fn search(
        &self,
        text: &str,
        most: usize,
    ) -> Result<Vec<(Conversation, Vec<ConversationItem>)>, ToolError> {
        let has = |at: &usize| text.split(' ').all(|word| self.0[*at].contains(word));
        Ok((0..self.0.len()).rev().filter(has).take(most).map(|at| self.one(at)).collect())
    }

    fn conversation(
        &self,
        _: ConversationId,
    ) -> Result<Option<(Conversation, Vec<ConversationItem>)>, ToolError> {
        Ok(None)
    }
}

fn house() -> TestVault {
    let mut vault = vault(&[
        ("Boiler.md", "# Service\nThe boiler was serviced in May.\n"),
        ("Kettle.md", "Water for tea.\n"),
    ]);
    vault.ok("write_file", json!({"path": "Boiler costs.md", "content": "120 euros\n"}));
    vault.ok("move", json!({"source": "Kettle.md", "destination": "Kitchen/Kettle.md"}));
    let talks = ["who serviced the boiler?", "the boiler leaks", "what is for lunch?"];
    vault.context.conversations = Some(Arc::new(Talks(talks.to_vec())));
    vault
}

/// Results as `source title`.
fn found(answer: &Value) -> Vec<String> {
    let results = answer["results"].as_array().expect("results").iter();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    results.map(|it| format!("{} {}", text(&it["source"]), text(&it["title"]))).collect()
}

#[test]
fn notes_conversations_and_changes_are_one_list() {
    let vault = house();
    let answer = vault.ok("memory_search", json!({"query": "when was the boiler serviced"}));
    let all = found(&answer);
    // The last of the notes is found by its meaning alone; results of the sources are merged by
    // rank.
    assert_eq!(all[..3], ["notes Boiler.md", "notes Boiler costs.md", "notes Kitchen/Kettle.md"]);
    assert_eq!(all[3..5], ["conversations Talk 1", "conversations Talk 2"], "fewer of the words");
    assert!(all[5].starts_with("changes ") && all.len() == 6, "{all:?}");
    let at = |number: usize| &answer["results"][number];
    assert_eq!(at(0)["open"], "[[Boiler#Service]]");
    assert_eq!((&at(0)["score"], &at(0)["time"]), (&json!(1.0), &Value::Null));
    assert_eq!(at(3)["open"], "get_conversation conversation_id: 1, first_item: 4");
    assert_eq!(at(3)["snippet"], "who serviced the boiler?");
    assert_eq!(at(5)["open"], "list_changes change_set: 1");
    assert_eq!(answer["sources"], json!(["notes", "conversations", "changes"]));
    let one = |source: &str| {
        let asked = json!({"query": "kettle boiler", "sources": [source], "limit": 2});
        found(&vault.ok("memory_search", asked))
    };
    assert_eq!(one("conversations"), ["conversations Talk 2", "conversations Talk 1"]);
    assert_eq!(one("changes").len(), 2);
    assert!(one("notes").iter().all(|it| it.starts_with("notes ")));
    let text = vault.text("memory_search", json!({"query": "lunch"}));
    assert!(text.starts_with("conversation  Talk 3  1970-01-01  get_conversation"), "{text}");
}

#[test]
fn the_present_conversation_is_left_out() {
    let mut vault = house();
    vault.context.origin.conversation = Some("2".to_owned());
    let answer = vault.ok("memory_search", json!({"query": "boiler leaks"}));
    assert!(!found(&answer).contains(&"conversations Talk 2".to_owned()), "{answer}");
}

#[test]
fn a_limited_caller_gets_no_conversation_and_no_hidden_note() {
    let mut vault = house();
    let folder = VaultPath::from_disk("Kitchen").expect("a path");
    vault.context.vault = vault.context.vault.in_view(View::of(vec![folder]));
    let answer = vault.ok("memory_search", json!({"query": "boiler serviced tea"}));
    assert_eq!(found(&answer), ["notes Kitchen/Kettle.md"]);
    assert_eq!(answer["sources"], json!(["notes", "changes"]));
    let asked = json!({"query": "boiler", "sources": ["conversations"]});
    vault.err("memory_search", asked.clone(), Denied);
    let mut vault = house();
    vault.context.conversations = None;
    vault.err("memory_search", asked, NotFound);
}

#[test]
fn what_cannot_be_is_refused_and_any_text_is_searched_for() {
    let vault = house();
    for wrong in [
        json!({"query": " "}),
        json!({"query": "x", "limit": 31}),
        json!({"query": "x", "sources": ["web"]}),
    ] {
        vault.err("memory_search", wrong, InvalidInput);
    }
    for odd in ["\"", "(", "/(/", "NEAR(", "OR", "-x", "how the", "tag:", "💡"] {
        vault.ok("memory_search", json!({"query": odd}));
    }
    assert_eq!(
        vault.text("memory_search", json!({"query": "zebra"})),
        "nothing is found; try other words"
    );
}
