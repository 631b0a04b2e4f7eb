//! Single parts, without a vault around them: matching globs, planning a search and signing a text,
//! the frames of the wire.

use std::convert::Infallible;
use std::hint::black_box;

use criterion::{Criterion, Throughput};
use serde_json::{Value, json};
use vault_steward::index::text::signature;
use vault_steward::index::text::strings::plan_of;
use vault_steward::note::fold::fold_key;
use vault_steward::note::glob::Glob;
use vault_steward::protocol::envelope::{self, Incoming, RequestId};
use vault_steward::protocol::tools::ToolsCallWritten;

/// Paths that are matched in one measurement, so that the figure is not the clock's resolution.
const PATHS: usize = 10_000;

/// Folded paths as vaults have them: some folders deep, some with dates.
fn paths() -> Vec<String> {
    let folders =
        ["Projects/Harbour/Winter", "Areas/Garden", "Journal/2025", "Archive/Old/Deep/Er"];
    let path = |number: usize| {
        let folder = folders[number % folders.len()];
        let (month, day) = (number / 28 % 12 + 1, number % 28 + 1);
        if folder.starts_with("Journal") {
            format!("{folder}/2025-{month:02}-{day:02}.md")
        } else {
            format!("{folder}/Note about {number}.md")
        }
    };
    (0..PATHS).map(|number| fold_key(&path(number))).collect()
}

/// Globs over ten thousand paths each.
pub fn globs(c: &mut Criterion) {
    let paths = paths();
    let mut group = c.benchmark_group("glob");
    group.throughput(Throughput::Elements(PATHS as u64));
    for pattern in
        ["*", "**/*.md", "projects/**", "**/*needle*", "**/2025-0?-1*.md", "{a,b}*/**/*1*"]
    {
        let glob = Glob::parse(pattern).expect("it is a glob");
        group.bench_function(pattern, |bencher| {
            bencher.iter(|| paths.iter().filter(|path| glob.matches(black_box(path))).count());
        });
    }
    group.finish();
}

/// The cost of a changed note of usual size for the text index, and of a pattern before the search.
pub fn signatures(c: &mut Criterion) {
    let mut group = c.benchmark_group("signature");
    for (name, line, lines) in [
        (
            "a note of 3 KB is signed",
            "A line of words about the harbour, the garden and [[the winter|last winter]].\n",
            40,
        ),
        (
            "one in Cyrillic letters",
            "Несколько слов о гавани, о саде и о [[зиме|прошлой зиме]].\n",
            30,
        ),
        ("one in Chinese", "关于港口、花园和[[冬天|去年冬天]]的几句话。\n", 52),
    ] {
        let text = line.repeat(lines);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                for chunk in signature::chunks(black_box(text.as_bytes())) {
                    black_box(signature::sign(chunk));
                }
            });
        });
    }
    group.finish();
    let mut group = c.benchmark_group("plan");
    for pattern in [
        "Zyxqua Needle",
        "(?i)THE",
        "frost|harbour|Needle",
        r"\d{4}-\d{2}-\d{2}",
        r"\w+ Needle \w+",
        "весенний ветер",
    ] {
        let hir = regex_syntax::parse(pattern).expect("it is a pattern");
        group.bench_function(pattern, |bencher| bencher.iter(|| plan_of(black_box(&hir))));
    }
    group.finish();
}

/// A search's answer of usual shape and size: ten files, forty lines.
fn answer() -> ToolsCallWritten {
    let line = |number: usize| {
        let text = format!("a line of {number} words about the harbour, the garden and the winter");
        json!({"line": number, "text": text, "is_match": number % 5 == 2})
    };
    let file = |number: usize| {
        let lines: Vec<Value> = (number * 10..number * 10 + 5).map(line).collect();
        json!({"path": format!("Projects/Note {number}.md"), "matches": 3, "shown": 1, "excerpts": [lines]})
    };
    let files: Vec<Value> = (0..10).map(file).collect();
    ToolsCallWritten {
        text: "  12- a line of a note as a model reads it\n".repeat(50),
        facts: json!({"files": files, "searched": 10_000, "timed_out": false}).to_string(),
        is_error: false,
    }
}

/// A request read and an answer written.
pub fn framing(c: &mut Criterion) {
    let mut group = c.benchmark_group("framing");
    let ping = r#"{"jsonrpc":"2.0","id":7,"method":"_vault/ping","params":{}}"#;
    let call = json!({
        "jsonrpc": "2.0", "id": 8, "method": "tools/call",
        "params": {"name": "search_files", "arguments": {"pattern": r"\bgarden\b", "max_results": 5}},
    });
    for (name, text) in [("a ping is read", ping.to_owned()), ("a call is read", call.to_string())]
    {
        group.bench_function(name, |bencher| bencher.iter(|| Incoming::parse(black_box(&text))));
    }
    let (id, answer) = (RequestId::Number(8), answer());
    let write = |id: &RequestId, answer: &ToolsCallWritten| {
        envelope::answer_of(id, answer.room(), |json| {
            answer.write(json);
            Ok::<(), Infallible>(())
        })
    };
    let bytes = write(&id, &answer).map_or(0, |text| text.len());
    group.throughput(Throughput::Bytes(bytes as u64));
    group.bench_function("an answer is written", |bencher| {
        bencher.iter(|| write(black_box(&id), black_box(&answer)));
    });
    group.finish();
}
