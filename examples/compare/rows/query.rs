//! Querying the vault with expressions of Bases, compared with the same evaluator after reading all
//! notes.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};
use tempfile::TempDir;
use vault_steward::index::Index;
use vault_steward::journal::{self, Journal, Origin};
use vault_steward::policy::Permission;
use vault_steward::store::Store;
use vault_steward::tools::{self, Context, Registry};
use vault_steward::vault::{Cancel, Settings, Vault};

use super::Ground;
use crate::report::{Page, Row, short, thousands, time};
use crate::timing::{Contender, Times, side_by_side};

/// The queries, with their names and maximum milliseconds at 1,000, 10,000 and 100,000 notes.
const QUESTIONS: [(&str, &str, [f64; 3]); 6] = [
    ("a simple condition", r#"status == "active""#, [2.0, 5.0, 30.0]),
    ("`format`", r#"created.format("YYYY-MM") == "2025-03""#, [3.0, 12.0, 100.0]),
    ("a pattern", r#"/^2025-.*-1/.matches(file.name)"#, [3.0, 12.0, 100.0]),
    ("a folder", r#"file.inFolder("Projects/none")"#, [2.0, 3.0, 5.0]),
    ("a rare tag", r#"file.hasTag("nobody-has-it")"#, [2.0, 3.0, 5.0]),
    ("an ending", r#"file.ext == "canvas""#, [2.0, 3.0, 5.0]),
];

/// Each query warm, the first one of a start, and the memory per note.
///
/// # Errors
///
/// The vault cannot be opened, or the tool failed.
pub fn measure(ground: &Ground<'_>, page: &mut Page) -> Result<()> {
    let state = TempDir::with_prefix_in("state-", ground.scratch)?;
    let context = opened(&ground.vault, state.path())?;
    first(ground, &context, page)?;
    let fresh = || Context { index: Index::new(context.vault.clone()), ..context.clone() };
    for (what, question, most) in QUESTIONS {
        let arguments = json!({"where": question, "limit": 10});
        asked(&context, &arguments)?;
        let mut found = 0;
        let mut warm = Times::default();
        for _ in 0..ground.rounds * 3 {
            let begun = Instant::now();
            found = asked(&context, &arguments)?["total"].as_u64().unwrap_or_default();
            warm.add(begun.elapsed());
        }
        let mut walk = Times::default();
        let begun = Instant::now();
        asked(&fresh(), &arguments)?;
        walk.add(begun.elapsed());
        let (own, walk) = (warm.median(), walk.median());
        let row = Row::new(format!("query by {what}, in the process"), ground.notes);
        page.add(row.alone(own, "ms", ground.target(most)));
        page.detail(
            "Each query",
            &["query", "notes", "found", "steward", "a plain walk, the same evaluator", "ratio"],
            vec![
                format!("`{question}`"),
                thousands(ground.notes),
                thousands(usize::try_from(found)?),
                time(own),
                time(walk),
                format!("{}x", short(walk / own)),
            ],
        );
    }
    context.vault.stop();
    Ok(())
}

/// The vault of a folder, opened in this process.
///
/// # Errors
/// The vault cannot be opened.
pub fn opened(vault: &Path, state: &Path) -> Result<Context> {
    let (vault, writer) = Vault::open_watched(vault, state, Settings::default(), &|_| {})?;
    Ok(Context {
        rules: Vec::new(),
        journal: Journal::open(writer, Store::at(state), journal::Settings::default()),
        index: Index::new(vault.clone()),
        settings: tools::Settings::default(),
        max_chars: usize::MAX,
        most: Permission::Permanent,
        cancel: Cancel::default(),
        origin: Origin::default(),
        gate: None,
        conversations: None,
        host: None,
        clock: tools::Clock::System,
        listeners: tools::Listeners::default(),
        running_jobs: Default::default(),
        vault,
    })
}

/// Reading the properties, compared with building the link graph, and their memory.
fn first(ground: &Ground<'_>, context: &Context, page: &mut Page) -> Result<()> {
    let arguments = json!({"where": QUESTIONS[0].1, "limit": 10});
    let times = side_by_side(
        vec![
            Contender::new("query", 1, || {
                let context =
                    Context { index: Index::new(context.vault.clone()), ..context.clone() };
                timed(|| asked(&context, &arguments).map(drop))
            }),
            Contender::new("links", 1, || {
                let index = Index::new(context.vault.clone());
                timed(|| Ok(index.links.refresh(&Cancel::default())?))
            }),
        ],
        ground.rounds.min(5),
    )?;
    let [query, links] = [0, 1].map(|at| times[at].1.median());
    let what = "the first query of a start, in the process";
    page.add(Row::new(what, ground.notes).within(
        query,
        links,
        "the link graph's first build",
        1.3,
    ));
    asked(context, &arguments)?;
    let each = context.index.properties.memory() as f64 / ground.notes as f64;
    page.add(
        Row::new("memory of the properties of a note", ground.notes).alone(each, "bytes", 300.0),
    );
    Ok(())
}

fn timed(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed())
}

fn asked(context: &Context, arguments: &Value) -> Result<Value> {
    called(context, "query_notes", arguments)
}

/// Calls a tool in this process.
///
/// # Errors
///
/// There is no tool of this name, or it failed.
pub fn called(context: &Context, tool: &str, arguments: &Value) -> Result<Value> {
    let tool = Registry::built_in().find(tool).map_err(|error| anyhow::anyhow!(error.message))?;
    let answer = tools::call(tool, context, arguments);
    Ok(answer.map_err(|error| anyhow::anyhow!(error.text()))?.read().data)
}
