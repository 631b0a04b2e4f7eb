//! Messages and hooks on the real store: a message is stored first, its hook runs once, and it delays no other client.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use vault_steward::agent::PromptError;
use vault_steward::agent::entry::UserMessage;
use vault_steward::agent::memory::StoredMemory;
use vault_steward::agent::ports::Memory as _;
use vault_steward::agent::turn::Reason;
use vault_steward::hooks::Hooks;
use vault_steward::hooks::settings::{Hook, Kind, Sees, Settings};

use crate::arrivals::{Life, said};

/// A hook that records each message in `asked`, refuses those with a secret, replaces those with a
/// number, and waits for `go` with slow ones.
const GUARD: &str = r#"read line
echo "$line" >> asked
case "$line" in
    *slow*) until [ -e go ]; do sleep 0.02; done;;
    *secret*) echo '{"decision":"refuse","reason":"not a word of that"}';;
    *number*) echo "{\"decision\":\"replace\",\"input\":\"number $$\"}";;
esac"#;

/// The folder in which the hook runs.
fn place(folder: &Path) -> PathBuf {
    folder.join("hooks")
}

fn hooked(folder: &Path) -> Life {
    let life = Life::begin(folder);
    let script = folder.join("guard.sh");
    std::fs::write(&script, GUARD).unwrap();
    let hook = Hook {
        on: vec![Kind::MessageReceived],
        command: vec!["/bin/sh".to_owned(), script.to_str().unwrap().to_owned()],
        tools: Vec::new(),
        seconds: 60,
        critical: true,
        sees: Sees::Texts,
        environment: Vec::new(),
    };
    let settings = Settings { commands: [("guard".to_owned(), hook)].into() };
    let vault = folder.join("vault");
    life.agent.set_hooks(Hooks::new(settings, vault, place(folder)));
    life
}

/// How often the hook ran.
fn asked(folder: &Path) -> usize {
    let asked = std::fs::read_to_string(place(folder).join("asked")).unwrap_or_default();
    asked.lines().count()
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < patience, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_message_reaches_its_hook_once_even_if_it_was_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let life = hooked(folder.path());
    life.may.add_permits(10);
    let message = said("a number");
    // Both arrive before the hook has answered, and one after the turn.
    let (one, other) =
        tokio::join!(life.agent.send(message.clone()), life.agent.send(message.clone()));
    let (one, other) = (one.unwrap().await.unwrap(), other.unwrap().await.unwrap());
    let late = life.agent.send(message).await.unwrap().await.unwrap();
    assert_eq!((one.turn, one.turn), (other.turn, late.turn));
    assert_eq!(asked(folder.path()), 1);
    let heard = life.heard();
    assert!(heard.len() == 1 && heard[0].starts_with("number "), "{heard:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_a_hook_refuses_is_not_heard_later_unless_it_is_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let life = hooked(folder.path());
    let message = said("my secret");
    // A repeated message gets the same result.
    let (one, other) =
        tokio::join!(life.agent.send(message.clone()), life.agent.send(message.clone()));
    let mut errors = Vec::new();
    for answer in [one, other] {
        errors.push(match answer {
            Ok(waiting) => waiting.await.unwrap_err(),
            Err(error) => error,
        });
    }
    for error in errors {
        assert!(
            matches!(&error, PromptError::Refused { reason, failed: false, .. } if reason == "not a word of that"),
            "{error:?}"
        );
    }
    assert_eq!(life.agent.send(message.clone()).await.err().map(|_| ()), Some(()));
    assert!(asked(folder.path()) >= 2, "sent again, it is asked about again");
    drop(life);
    // A restart without a hook.
    let life = Life::begin(folder.path());
    let left = life.agent.recover().unwrap();
    life.agent.deliver_undelivered(left).await;
    assert!(life.heard().is_empty());
    // The hook is gone, and the sender repeats the message.
    life.answered(message, None).await;
    assert_eq!(life.heard(), ["my secret"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_earlier_run_left_is_shown_to_the_hooks_first() {
    let folder = tempfile::tempdir().unwrap();
    let life = Life::begin(folder.path());
    let memory = StoredMemory::new(life.conversations.clone());
    for text in ["a number", "a secret", "a thing"] {
        memory.receive(&said(text)).unwrap();
    }
    drop((life, memory));
    let life = hooked(folder.path());
    life.may.add_permits(10);
    let left = life.agent.recover().unwrap();
    life.agent.deliver_undelivered(left).await;
    // A repetition in the meantime waits for the pending one.
    life.agent.send(said("a thing")).await.unwrap().await.unwrap();
    until("all were asked about", || asked(folder.path()) == 3).await;
    let heard = life.heard();
    assert!(heard.len() == 2 && heard[0].starts_with("number "), "{heard:?}");
    assert_eq!(heard[1], "a thing");
    let left = life.agent.recover().unwrap();
    assert_eq!(format!("{left:?}"), "Undelivered([])");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_that_takes_its_time_delays_no_other_message() {
    let folder = tempfile::tempdir().unwrap();
    let life = hooked(folder.path());
    life.may.add_permits(10);
    let mine = life.conversations.open_new("chat").unwrap().id;
    let (agent, to) = (life.agent.clone(), Some(mine));
    let slow =
        tokio::spawn(
            async move { agent.send(UserMessage { to, ..said("slow") }).await.unwrap().await },
        );
    until("the hook is asked", || asked(folder.path()) == 1).await;
    let other = life.conversations.open_new("chat").unwrap().id;
    assert_eq!(life.answered(said("quick"), Some(other)).await, other);
    assert_eq!(life.heard(), ["quick"], "the other one still waits for its hook");
    // Stopping a conversation stops its earlier messages, and no later ones.
    life.agent.stop(mine).await.unwrap();
    std::fs::write(place(folder.path()).join("go"), "").unwrap();
    let answered = slow.await.unwrap().unwrap();
    assert_eq!((answered.conversation, answered.reason), (mine, Some(Reason::Cancelled)));
    assert_eq!(life.answered(said("and now"), to).await, mine);
}
