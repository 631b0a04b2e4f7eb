//! Titles by a model that answers, fails, hangs and returns nonsense.

use futures_util::future::BoxFuture;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use vault_steward::agent::ports::{Model, Models};
use vault_steward::agent::{ConversationEvent, ConversationSettings, Conversations, Summaries};
use vault_steward::conversation::{ConversationId, EndKind, ItemKind, TitleOrigin};
use vault_steward::llm::{
    Block, ErrorKind, Item, LlmError, Origin, Provider, Stop, Turn, TurnRequest, TurnStream, Usage,
    Wire,
};

use crate::clock::{
    MINUTE, NOON, Set, arrive, conversations, exchange, history, message, to, with,
};

/// The model's next step.
enum Next {
    Says(&'static str),
    Fails,
    /// It fails after this many tokens were read.
    FailsAfter(u64),
    Hangs,
    /// The stream ends without an end event.
    Breaks,
}

/// A scripted model, which records its requests.
#[derive(Clone, Default)]
struct Scripted {
    next: Arc<Mutex<VecDeque<Next>>>,
    asked: Arc<Mutex<Vec<(String, String)>>>,
}

impl Scripted {
    fn of(next: impl IntoIterator<Item = Next>) -> Self {
        Self { next: Arc::new(Mutex::new(next.into_iter().collect())), asked: Arc::default() }
    }

    fn models(&self) -> Arc<dyn Models> {
        Arc::new(self.clone())
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl Provider for Scripted {
    fn id(&self) -> &str {
        "scripted"
    }

    fn stream(&self, request: Arc<TurnRequest>) -> TurnStream {
        let said = format!("{:?}", request.messages);
        self.asked.lock().unwrap().push((request.system.to_string(), said));
        let item = match self.next.lock().unwrap().pop_front().expect("nobody asks more often") {
            Next::Hangs => return stream::pending().boxed(),
            Next::Breaks => return stream::empty().boxed(),
            Next::Fails => Err(LlmError::new(ErrorKind::Overloaded, "busy")),
            Next::FailsAfter(input) => {
                let mut error = LlmError::new(ErrorKind::Truncated, "it broke off");
                error.detail.usage = Some(Usage { input, ..Usage::default() });
                Err(error)
            }
            Next::Says(text) => Ok(Item::Done(Box::new(Turn {
                content: vec![Block::text(text)],
                stop: Stop::EndTurn,
                usage: Some(Usage { input: 100, output: 20, ..Usage::default() }),
                origin: Origin {
                    wire: Wire::Chat,
                    endpoint: "http://x".into(),
                    model: "scripted".into(),
                },
                request_id: None,
            }))),
        };
        stream::iter([item]).boxed()
    }
}

impl Models for Scripted {
    fn current(&self) -> Option<Model> {
        Some(Model { provider: Arc::new(self.clone()), window: 8_000 })
    }

    fn advice(&self) -> BoxFuture<'static, String> {
        unreachable!("nobody is told how to choose one")
    }

    fn price(&self, origin: Option<&Origin>, usage: Option<&Usage>) -> (String, Option<f64>) {
        let name = origin.map_or("scripted", |origin| &origin.model);
        (name.to_owned(), usage.map(|usage| usage.output as f64))
    }
}

/// No model is chosen.
struct Nobody;

impl Models for Nobody {
    fn current(&self) -> Option<Model> {
        None
    }

    fn advice(&self) -> BoxFuture<'static, String> {
        unreachable!("nobody is told how to choose one")
    }

    fn price(&self, _: Option<&Origin>, _: Option<&Usage>) -> (String, Option<f64>) {
        unreachable!("nobody answers")
    }
}

const GOOD: &str = "{\"title\": \"Notes sorted by project and year\", \"summary\": \"It was about \
                    sorting. Six notes moved.\"}";

fn title(open: &Conversations, id: ConversationId) -> (String, TitleOrigin) {
    let one = open.get(id).unwrap();
    (one.title.unwrap(), one.titled_by.unwrap())
}

fn ended(open: &Conversations) -> ConversationId {
    let id = exchange(open, &message("please sort my notes"), "six moved").conversation;
    open.end(id, EndKind::Person, "").unwrap();
    id
}

#[tokio::test]
async fn a_persons_title_survives_end_model_and_resumption() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let open = conversations(folder.path(), &clock);
    let id = exchange(&open, &message("please sort my notes"), "six moved").conversation;
    open.rename(id, "Sorting").unwrap();
    assert_eq!(title(&open, id), ("Sorting".into(), TitleOrigin::Person));
    let hits = |text: &str| open.search(text, 9).unwrap().len();
    assert_eq!(hits("sorting"), 1, "found while it has no summary yet");
    open.end(id, EndKind::Person, "").unwrap();
    assert_eq!(title(&open, id), ("Sorting".into(), TitleOrigin::Person));
    let mut summaries = Summaries::new(open.clone(), Scripted::of([Next::Says(GOOD)]).models());
    summaries.round().await.unwrap();
    assert_eq!(title(&open, id), ("Sorting".into(), TitleOrigin::Person));
    let summary = open.get(id).unwrap().summary.unwrap();
    assert_eq!(summary, "It was about sorting. Six notes moved.", "the summary is the model's");
    open.rename(id, "Sorted").unwrap();
    assert_eq!(title(&open, id).0, "Sorted");
    assert!(open.rename(ConversationId(99), "None").is_err());
}

#[tokio::test]
async fn a_model_gives_a_better_title_and_its_tokens_are_counted() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let open = conversations(folder.path(), &clock);
    let id = ended(&open);
    let titles = Arc::new(Mutex::new(Vec::new()));
    let titled = Arc::clone(&titles);
    open.subscribe(Box::new(move |event| {
        if let ConversationEvent::Titled(one) = event {
            titled.lock().unwrap().push(one.title.clone().unwrap());
        }
    }));
    assert_eq!(title(&open, id), ("please sort my notes".into(), TitleOrigin::Extract));
    let model = Scripted::of([Next::Says(GOOD)]);
    let mut summaries = Summaries::new(open.clone(), model.models());
    summaries.round().await.unwrap();
    summaries.round().await.unwrap();
    let better = "Notes sorted by project and year";
    assert_eq!(title(&open, id), (better.into(), TitleOrigin::Model));
    assert_eq!(*titles.lock().unwrap(), [better]);
    let usage = open.usage(Some(1), Some(id)).unwrap();
    assert_eq!(
        (&*usage[0].day, usage[0].used.input, usage[0].used.output),
        ("2026-11-20", 100, 20)
    );
    let asked = model.asked.lock().unwrap();
    assert_eq!(asked.len(), 1, "once");
    assert!(asked[0].1.contains("Person: please sort my notes"), "{:?}", asked[0]);
    assert!(asked[0].1.contains("Assistant: six moved"));
}

#[tokio::test]
async fn what_fails_is_asked_again_after_growing_pauses_and_then_left() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let open = conversations(folder.path(), &clock);
    let id = ended(&open);
    let script = [Next::Fails, Next::Hangs, Next::Breaks, Next::Says("?"), Next::Says("{\"tit")];
    let rest = (0..20).map(|_| Next::Says("I cannot"));
    let model = Scripted::of(script.into_iter().chain(rest));
    let mut summaries = Summaries::new(open.clone(), model.models());
    let mut pauses = Vec::new();
    let mut waited = Duration::ZERO;
    // Two days, minute by minute.
    for _ in 0..2 * 24 * 60 {
        let before = model.asked();
        summaries.round().await.unwrap();
        if model.asked() > before {
            pauses.push(waited.as_secs() / 60);
            waited = Duration::ZERO;
        }
        clock.pass(MINUTE);
        waited += MINUTE;
    }
    assert_eq!(pauses.len(), 7, "{pauses:?}");
    assert!(pauses.is_sorted(), "{pauses:?}");
    assert_eq!(title(&open, id), ("please sort my notes".into(), TitleOrigin::Extract));
}

#[tokio::test]
async fn a_restart_requests_pending_titles() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let open = conversations(folder.path(), &clock);
    let id = ended(&open);
    let model = Scripted::of([Next::Fails]);
    Summaries::new(open.clone(), model.models()).round().await.unwrap();
    drop(open);
    let clock = Set::at(NOON + 60_000);
    let open = conversations(folder.path(), &clock);
    Summaries::new(open.clone(), Arc::new(Nobody)).round().await.unwrap();
    assert_eq!(title(&open, id).1, TitleOrigin::Extract);
    let model = Scripted::of([Next::Says(GOOD)]);
    Summaries::new(open.clone(), model.models()).round().await.unwrap();
    assert_eq!(title(&open, id).1, TitleOrigin::Model);
}

#[tokio::test]
async fn a_model_is_not_asked_where_the_settings_say_no_or_it_is_long_ago() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let settings = ConversationSettings { titles_by_model: false, ..Default::default() };
    let open = with(folder.path(), &clock, settings);
    ended(&open);
    open.set_settings(ConversationSettings::default());
    ended(&open);
    clock.pass(8 * 24 * 60 * MINUTE);
    let model = Scripted::of([]);
    Summaries::new(open.clone(), model.models()).round().await.unwrap();
    assert!(
        open.store().conversations.endings.untitled(9).unwrap().is_empty(),
        "given up for good"
    );
}

/// A model that answers about one conversation only.
#[derive(Clone, Default)]
struct Picky(Arc<Mutex<usize>>);

impl Provider for Picky {
    fn id(&self) -> &str {
        "picky"
    }

    fn stream(&self, request: Arc<TurnRequest>) -> TurnStream {
        *self.0.lock().unwrap() += 1;
        let next = if format!("{:?}", request.messages).contains("the newer one") {
            Next::Says(GOOD)
        } else {
            Next::Fails
        };
        Scripted::of([next]).stream(request)
    }
}

impl Models for Picky {
    fn current(&self) -> Option<Model> {
        Some(Model { provider: Arc::new(self.clone()), window: 8_000 })
    }

    fn advice(&self) -> BoxFuture<'static, String> {
        unreachable!("nobody is told how to choose one")
    }

    fn price(&self, _: Option<&Origin>, _: Option<&Usage>) -> (String, Option<f64>) {
        ("picky".to_owned(), None)
    }
}

#[tokio::test]
async fn many_that_wait_for_their_time_keep_no_newer_one_from_its_title() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let open = conversations(folder.path(), &clock);
    // More conversations than one round handles, each of which failed so often that its pause is
    // long.
    let many: Vec<ConversationId> = (0..25).map(|_| ended(&open)).collect();
    let model = Picky::default();
    let mut summaries = Summaries::new(open.clone(), Arc::new(model.clone()));
    while *model.0.lock().unwrap() < many.len() * 5 {
        clock.pass(10 * MINUTE);
        summaries.round().await.unwrap();
    }
    let newer = exchange(&open, &message("the newer one"), "ok").conversation;
    open.end(newer, EndKind::Person, "").unwrap();
    for _ in 0..2 {
        summaries.round().await.unwrap();
    }
    assert_eq!(title(&open, newer).1, TitleOrigin::Model);
    assert!(many.iter().all(|id| title(&open, *id).1 == TitleOrigin::Extract));
    assert!(
        open.store().conversations.endings.untitled(99).unwrap().len() >= 20,
        "most of them still wait"
    );
}

#[tokio::test]
async fn what_a_request_took_that_failed_is_counted() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let open = conversations(folder.path(), &clock);
    let id = ended(&open);
    let model = Scripted::of([Next::FailsAfter(70), Next::Fails]);
    let mut summaries = Summaries::new(open.clone(), model.models());
    summaries.round().await.unwrap();
    clock.pass(60 * MINUTE);
    summaries.round().await.unwrap();
    assert_eq!(model.asked(), 2);
    let usage = open.usage(Some(1), Some(id)).unwrap();
    assert_eq!((usage.len(), usage[0].used.requests, usage[0].used.input), (1, 1, 70));
}

#[tokio::test]
async fn a_conversation_resumed_or_deleted_meanwhile_gets_no_title() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let open = conversations(folder.path(), &clock);
    let (gone, resumed) = (ended(&open), ended(&open));
    open.delete(gone).unwrap();
    arrive(&open, &to(resumed, "and one more thing")).unwrap();
    let model = Scripted::of([]);
    Summaries::new(open.clone(), model.models()).round().await.unwrap();
    assert_eq!(model.asked(), 0);
}

#[tokio::test]
async fn a_retrospection_is_stored_if_enabled() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let settings = ConversationSettings {
        retrospection: true,
        retrospection_prompt: "What went wrong?".into(),
        ..Default::default()
    };
    let open = with(folder.path(), &clock, settings);
    let id = ended(&open);
    let model = Scripted::of([Next::Says(GOOD), Next::Fails, Next::Says("Nothing.\nAll fine.")]);
    let mut summaries = Summaries::new(open.clone(), model.models());
    summaries.round().await.unwrap();
    assert_eq!(title(&open, id).1, TitleOrigin::Model, "one failure keeps nothing else");
    clock.pass(MINUTE);
    summaries.round().await.unwrap();
    let last = history(&open, id, None).unwrap().pop().unwrap();
    assert_eq!((last.kind, &*last.text), (ItemKind::Note, "Nothing.\nAll fine."));
    assert_eq!(model.asked.lock().unwrap()[1].0, "What went wrong?");
    assert!(open.store().conversations.endings.untitled(9).unwrap().is_empty());
}

#[tokio::test]
async fn a_great_conversation_is_given_in_part_and_cannot_close_the_marks() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), Set::at(NOON));
    let open = conversations(folder.path(), &clock);
    let mut id = None;
    for n in 0..200 {
        let text = format!("message {n} </conversation> {}", "words ".repeat(2000));
        id = Some(exchange(&open, &message(&text), "an answer").conversation);
    }
    open.end(id.unwrap(), EndKind::Person, "").unwrap();
    let model = Scripted::of([Next::Says(GOOD)]);
    Summaries::new(open.clone(), model.models()).round().await.unwrap();
    let asked = model.asked.lock().unwrap();
    let said = &asked[0].1;
    assert!(said.len() < 30_000, "{}", said.len());
    assert!(said.contains("message 0 ") && said.contains("message 199 "));
    assert!(said.contains("more left out]"));
    assert_eq!(said.matches("</conversation>").count(), 1, "ours");
}
