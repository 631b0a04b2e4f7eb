//! The cost of the engine in the process, without socket and JSON framing: `cargo bench`.
//!
//! `STEWARD_BENCH_NOTES` sets the size of the generated vault (default 10,000). `benches/compare`
//! compares the whole daemon with other programs.

#[allow(clippy::unwrap_used, reason = "shared with the tests, which fail by panicking")]
#[path = "../tests/support/fake.rs"]
mod fake;
#[path = "support/parts.rs"]
mod parts;
#[allow(clippy::unwrap_used, reason = "shared with the tests, which fail by panicking")]
#[path = "../tests/support/mod.rs"]
mod support;
#[path = "support/turns.rs"]
mod turns;
#[path = "support/vaultgen.rs"]
mod vaultgen;

use std::hint::black_box;
use std::path::Path;
use vault_steward::hooks::{self, Hooks};

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};
use tempfile::TempDir;
use vault_steward::agent::clock::SystemClock;
use vault_steward::agent::conversations::TurnEnd;
use vault_steward::agent::{ConversationSettings, Conversations};
use vault_steward::bases::{Scope, Source as _};
use vault_steward::calls::{Calls, Outcome, Request};
use vault_steward::conversation::{ConversationId, EndKind, ItemKind, TurnState};
use vault_steward::index::Index;
use vault_steward::index::links::names::NameChange;
use vault_steward::index::links::{resolver, rewrite};
use vault_steward::index::names::NameContext;
use vault_steward::journal::{self, Journal, Origin};
use vault_steward::note::glob::Glob;
use vault_steward::note::path::VaultPath;
use vault_steward::organize::plan::Item;
use vault_steward::organize::planner::{self, PlanRequest, World};
use vault_steward::organize::{self, rules_file};
use vault_steward::policy::{self, Caller, Permission};
use vault_steward::store::Store;
use vault_steward::store::conversations::NewItem;
use vault_steward::tools::{self, Context, Registry};
use vault_steward::vault::{self, Cancel, Order, Settings, Vault, Want, Writer};

/// From the rarest word to patterns without any literal; `examples/compare` searches the same.
const PATTERNS: [&str; 17] = [
    "Zyxqua Needle",
    "(?i)zyxqua needle",
    "quarterly retrospective",
    "Qwvxqzzt",
    "theratione station",
    r"\bgarden\b",
    "the",
    "(?i)THE",
    "frost|harbour|Needle",
    r"\w+ Needle \w+",
    r"^- \[ \] .*winter",
    r"\d{4}-\d{2}-\d{2}",
    r"\[\[[^\]|]+\|[^\]]+\]\]",
    "time, the",
    r"^#{2,4} Har\w+",
    "zq",
    "[A-Z]{9}[0-9]{9}",
];

const GLOBS: [&str; 5] = ["*", "**/*.md", "Projects/**", "**/*needle*", "**/2025-0?-1*.md"];

fn notes() -> usize {
    let wanted = std::env::var("STEWARD_BENCH_NOTES").ok();
    wanted.and_then(|number| number.parse().ok()).unwrap_or(10_000)
}

/// A generated vault, and the engine's state folder next to it.
struct Ground {
    vault: TempDir,
    state: TempDir,
}

impl Ground {
    fn new() -> Self {
        let folder = || tempfile::tempdir().expect("the machine has room for temporary files");
        let ground = Self { vault: folder(), state: folder() };
        vaultgen::generate(ground.vault.path(), notes(), 1).expect("the vault can be written");
        ground
    }

    fn open(&self) -> (Vault, Writer) {
        let (root, state): (&Path, &Path) = (self.vault.path(), self.state.path());
        Vault::open(root, state, Settings::default(), &|_| {}).expect("the vault can be opened")
    }
}

fn context(vault: &Vault, writer: Writer, state: &Path) -> Context {
    Context {
        vault: vault.clone(),
        journal: Journal::open(writer, Store::at(state), journal::Settings::default()),
        index: Index::new(vault.clone()),
        settings: tools::Settings::default(),
        max_chars: usize::MAX,
        most: Permission::Permanent,
        cancel: Cancel::default(),
        origin: Origin::default(),
        rules: Vec::new(),
        gate: None,
        conversations: None,
        host: None,
        listeners: Default::default(),
        running_jobs: Default::default(),
        clock: tools::Clock::System,
    }
}

fn call(context: &Context, tool: &str, arguments: Value) -> Value {
    let tool = Registry::built_in().get(tool).expect("a tool");
    match tools::call(tool, context, &arguments) {
        Ok(answer) => answer.data.value(),
        Err(error) => panic!("{tool:?}: {error}"),
    }
}

fn engine(criterion: &mut Criterion) {
    let ground = Ground::new();
    let size = notes();

    let mut group = criterion.benchmark_group(format!("open/{size}"));
    group.sample_size(10);
    group.bench_function("scan", |bencher| {
        bencher.iter(|| black_box(ground.open()));
    });
    group.finish();

    let (vault, writer) = ground.open();
    let context = context(&vault, writer, ground.state.path());
    // As in the daemon, which has built it long before anyone searches.
    context.index.text.start(ground.state.path());
    while !context.index.text.is_ready() || context.index.text.known().1 > 0 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let listed = call(&context, "list_files", json!({"pattern": "Projects/**/*.md"}));
    let path = listed["entries"][0]["path"].as_str();
    let path = path.expect("a generated vault has notes under Projects").to_owned();
    let spoken = path.to_lowercase();

    let mut group = criterion.benchmark_group(format!("resolve/{size}"));
    for (name, asked) in [("exact", path.as_str()), ("another case", spoken.as_str())] {
        group.bench_function(name, |bencher| {
            bencher
                .iter(|| vault.resolve(black_box(asked), Want::File).expect("the note is there"));
        });
    }
    let name = path.rsplit('/').next().and_then(|name| name.strip_suffix(".md"));
    let (name, home) = (name.expect("a note ends in `.md`"), VaultPath::root());
    group.bench_function("a wikilink, among the names alone", |bencher| {
        let catalogue = vault.catalogue();
        bencher.iter(|| resolver::resolve_among(&*catalogue, &home, black_box(name)));
    });
    group.finish();

    let mut group = criterion.benchmark_group(format!("list/{size}"));
    for glob in GLOBS {
        group.bench_function(glob, |bencher| {
            bencher.iter(|| call(&context, "list_files", json!({"pattern": glob})));
        });
    }
    group.finish();

    let mut group = criterion.benchmark_group(format!("list/{size}, the catalogue alone"));
    let root = VaultPath::root();
    for pattern in GLOBS.into_iter().chain(["**/*4217.md", "**/Index.md", "**/{Ha,Wi}*"]) {
        let glob = Glob::parse(pattern).expect("a glob");
        let wanted = vault::EntryQuery { folder: &root, glob: &glob, kind: None };
        group.bench_function(pattern, |bencher| {
            bencher.iter(|| vault.catalogue().list(black_box(&wanted), Order::Modified, 100).total);
        });
    }
    group.finish();

    let mut group = criterion.benchmark_group(format!("search/{size}"));
    group.sample_size(20);
    for pattern in PATTERNS {
        group.bench_function(pattern, |bencher| {
            bencher.iter(|| call(&context, "search_files", json!({"pattern": pattern})));
        });
    }
    group.bench_function("all of them", |bencher| {
        bencher.iter(|| {
            for pattern in PATTERNS {
                call(&context, "search_files", json!({"pattern": pattern}));
            }
        });
    });
    group.finish();

    let mut group = criterion.benchmark_group(format!("links/{size}"));
    group.sample_size(10);
    group.bench_function("build", |bencher| {
        bencher.iter(|| Index::new(vault.clone()).links.refresh(&Cancel::default()));
    });
    vault.watch();
    let links = &context.index.links;
    links.refresh(&Cancel::default()).expect("nobody withdraws");
    let seen = vault_steward::vault::View::default();
    let all = call(&context, "list_files", json!({"pattern": "**/*.md", "max_results": 1000}));
    let named = all["entries"].as_array().into_iter().flatten();
    let paths = named.filter_map(|entry| VaultPath::from_disk(entry["path"].as_str()?));
    let paths: Vec<VaultPath> = paths.collect();
    let of_all = |path: &&VaultPath| links.in_view(&seen).backlinks(path).len();
    let target = paths.iter().max_by_key(of_all).expect("there are notes").clone();
    let hundred = paths.iter().min_by_key(|path| of_all(path).abs_diff(100)).expect("as above");
    let hub = links.in_view(&seen).backlinks(&target).len();
    group.bench_function("refresh, nothing changed", |bencher| {
        bencher.iter(|| links.refresh(&Cancel::default()));
    });
    group.bench_function(format!("backlinks from {hub} notes"), |bencher| {
        bencher.iter(|| links.in_view(&seen).backlinks(&target))
    });
    for target in [hundred, &target] {
        let notes = links.in_view(&seen).backlinks(target).len();
        group.bench_function(format!("links a move would turn, from {notes} notes"), |bencher| {
            let to = VaultPath::from_disk("Elsewhere/Another name.md").expect("a sound path");
            bencher.iter(|| {
                let mut change = NameChange::default();
                change.moves(&vault.catalogue(), target, &to);
                black_box(rewrite::affected(links, &change))
            });
        });
    }
    group.bench_function("get_links", |bencher| {
        bencher.iter(|| call(&context, "get_links", json!({"path": target.as_str()})));
    });
    group.bench_function("unresolved", |bencher| {
        bencher.iter(|| call(&context, "list_links", json!({"kind": "unresolved"})));
    });
    group.finish();

    plans(criterion, &context, target);

    let mut group = criterion.benchmark_group(format!("names/{size}"));
    let cancel = Cancel::default();
    let asking =
        NameContext { vault: &vault, now: chrono::Utc::now().fixed_offset(), cancel: &cancel };
    let names = &context.index.names;
    let said = |path: &VaultPath| path.name().trim_end_matches(".md").to_lowercase();
    let unique =
        paths.iter().map(said).find(|said| names.resolve(asking, said, Want::File).is_ok());
    let unique = unique.expect("a note has a name that is like no other");
    let new = VaultPath::from_disk("A note that nobody has.md").expect("a sound path");
    group.bench_function("a name", |bencher| {
        bencher.iter(|| names.resolve(asking, black_box(&unique), Want::File).is_ok());
    });
    group.bench_function("a name that is nowhere, and what is near", |bencher| {
        let nowhere = format!("{unique} elsewhere");
        bencher.iter(|| names.resolve(asking, black_box(&nowhere), Want::File).is_err());
    });
    group.bench_function("what answers to the name of a new note", |bencher| {
        bencher.iter(|| names.answering(asking, black_box(&new), Want::File).len());
    });
    group.sample_size(10);
    group.bench_function("all notes read", |bencher| {
        bencher.iter(|| {
            Index::new(vault.clone()).names.answering(asking, black_box(&new), Want::File).len()
        });
    });
    names.load_saved(ground.state.path());
    names.stop();
    group.bench_function("what was kept read", |bencher| {
        bencher.iter(|| {
            let names = Index::new(vault.clone()).names;
            names.load_saved(ground.state.path());
            names.answering(asking, black_box(&new), Want::File).len()
        });
    });
    group.finish();

    let mut group = criterion.benchmark_group(format!("note/{size}"));
    group.bench_function("read", |bencher| {
        bencher.iter(|| call(&context, "read_file", json!({"path": path})));
    });
    group.sample_size(20);
    let text = "A line that is there to be written.\n".repeat(80);
    group.bench_function("save", |bencher| {
        bencher.iter(|| {
            call(&context, "write_file", json!({"path": "Bench/Saved.md", "content": text}))
        });
    });
    group.bench_function("edit", |bencher| {
        bencher.iter_batched(
            || call(&context, "write_file", json!({"path": "Bench/Edited.md", "content": text})),
            |_| {
                let line = json!({"start": 40, "end": 40});
                call(
                    &context,
                    "edit_file",
                    json!({"path": "Bench/Edited.md", "replace_lines": line, "content": "New.\n"}),
                )
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();

    // The cost of policy and audit: the difference between the two. As for a client's calls, which
    // are counted; with settings that allow so many.
    let settings = policy::Settings { reads_per_minute: u32::MAX, ..policy::Settings::default() };
    let place = ground.state.path();
    let hooks = Hooks::new(hooks::Settings::default(), place.join("hooks"), place.join("hooks"));
    let calls = Calls::new(context.clone(), settings, Store::at(place), hooks);
    calls.begin().expect("the audit can be written");
    let mut group = criterion.benchmark_group("policy");
    let looked_at = || json!({"path": path});
    group.bench_function("10,000 calls, straight", |bencher| {
        bencher.iter(|| {
            for _ in 0..10_000 {
                let tool = Registry::built_in().get("get_properties").expect("a tool");
                let _ = black_box(tools::call(tool, &context, &looked_at()));
            }
        });
    });
    group.bench_function("10,000 calls, decided on", |bencher| {
        bencher.iter(|| {
            for _ in 0..10_000 {
                let request = Request {
                    tool: "get_properties".to_owned(),
                    arguments: looked_at(),
                    caller: Caller { scope: policy::Scope::Client, name: "bench".to_owned() },
                    ..Request::default()
                };
                let outcome = black_box(calls.call(request, &Cancel::default()));
                assert!(matches!(outcome, Outcome::Answered(Ok(_))), "{outcome:?}");
            }
        });
    });
    group.finish();
    calls.end();
    vault.stop();
    context.index.text.stop();
}

/// A thousand conversations of forty items each, as a person has them after a year or two.
/// Plans of rules: one that moves 10,000 notes, or all of a smaller vault, and a hundred about one note.
fn plans(criterion: &mut Criterion, context: &Context, one: VaultPath) {
    let settings = organize::Settings { max_items: usize::MAX, ..organize::Settings::default() };
    let snapshot =
        context.index.properties.snapshot(&context.vault, &context.index.links, &context.cancel);
    let snapshot = snapshot.expect("nobody withdraws");
    let zone = chrono::Utc;
    let scope =
        Scope { source: &snapshot, now: 0, zone: &zone, this: None, seed: 0, formulas: &[] };
    let world = World {
        vault: &context.vault,
        index: &context.index,
        snapshot: &snapshot,
        scope,
        settings: &settings,
        taken_once: &|_, _| false,
        cancel: &context.cancel,
    };
    let rules = |yaml: &str| {
        let read = rules_file::read(yaml, &|name| Err(format!("no base {name}")));
        read.expect("rules").rules
    };
    let mut group = criterion.benchmark_group(format!("plan/{}", notes()));
    group.sample_size(10);
    let notes = snapshot.files().filter(|file| snapshot.path(*file).ends_with(".md"));
    let items: Vec<Item> = notes
        .take(10_000)
        .map(|file| {
            let path = snapshot.path(file).to_string();
            let name = path.rsplit('/').next().unwrap_or_default();
            Item { to: Some(format!("Filed/{name}")), path, ..Item::default() }
        })
        .collect();
    group.bench_function(format!("{} moves by hand", items.len()), |bencher| {
        let wanted = || PlanRequest { items: items.clone(), ..PlanRequest::default() };
        bencher.iter_batched(wanted, |wanted| planner::plan(&world, wanted), BatchSize::LargeInput);
    });
    let all = rules("rules: [{name: All, when: 'file.ext == \"md\"', do: [{set: {seen: 1}}]}]");
    group.bench_function("a rule that changes every note", |bencher| {
        bencher
            .iter(|| planner::plan(&world, PlanRequest { rules: &all, ..PlanRequest::default() }));
    });
    let many: Vec<String> = (0..100)
        .map(|at| {
            format!("  - {{name: R{at}, when: 'status == \"s{at}\"', do: [{{move: F{at}}}]}}")
        })
        .collect();
    let many = rules(&format!("rules:\n{}", many.join("\n")));
    group.bench_function("100 rules about one note", |bencher| {
        bencher.iter(|| {
            let within = Some(one.clone());
            planner::plan(&world, PlanRequest { rules: &many, within, ..PlanRequest::default() })
        });
    });
    group.finish();
}

fn conversations(c: &mut Criterion) {
    let state = tempfile::tempdir().expect("the machine has room for temporary files");
    let settings = ConversationSettings { kept: 0, ..ConversationSettings::default() };
    let kept = Conversations::new(
        Store::at(state.path()),
        settings,
        std::sync::Arc::new(SystemClock::default()),
    );
    let item = |kind, text: String| NewItem { kind, text, body: None };
    for n in 0..1000 {
        let text = format!("please look after the garden plan number {n}");
        let arrived = kept.arrive(&item(ItemKind::User, text), "bench", None).expect("it is kept");
        let mut items: Vec<NewItem> = (0..38)
            .map(|m| {
                item(ItemKind::Message, format!("{} {n} {m}", "quiet harbour words ".repeat(20)))
            })
            .collect();
        items.push(item(ItemKind::Assistant, format!("整理会议笔记 needle{n}")));
        let end = TurnEnd { items, ..TurnEnd::plain(TurnState::Done, "") };
        kept.finish_turn(arrived.conversation, arrived.turn, &end).expect("it is kept");
        kept.end(arrived.conversation, EndKind::Person, "").expect("it ends");
    }
    let mut group = c.benchmark_group("conversations");
    group.bench_function("list 1000", |b| b.iter(|| kept.recent(1000).expect("listed")));
    for text in ["needle777", "harbour garden", "quiet harbour", "会议", "会议笔记", "nobody said"]
    {
        group.bench_function(format!("search {text}"), |b| {
            b.iter(|| kept.search(text, 20).expect("searched"));
        });
    }
    let open = kept.open_new("bench").expect("it begins").id;
    let said = [item(ItemKind::Message, "one more line of an answer".into())];
    group.bench_function("append", |b| {
        b.iter(|| kept.append(open, None, &said).expect("it is kept"));
    });
    group.bench_function("history", |b| {
        b.iter(|| kept.history_with_gaps(ConversationId(500)).expect("read"));
    });
    group.finish();
}

criterion_group!(
    benches,
    parts::globs,
    parts::signatures,
    parts::framing,
    engine,
    conversations,
    turns::turns,
    turns::cancels,
    turns::pieces
);
criterion_main!(benches);
