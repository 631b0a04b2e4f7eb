//! Random moves in the sample vault, whose notes are written as people write them.
//!
//! `STEWARD_TEST_LINK_VAULT` names another vault to copy and use in the same way:
//! `STEWARD_TEST_LINK_MOVES` is the number of moves (150), `STEWARD_TEST_LINK_BATCH` the number of
//! moves after which the whole vault is checked (1).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::checker::{Names, Seen, balanced, decode};
use super::harness::{TestVault, renames_case};
use super::{Random, spread};

const FORMATS: [&str; 3] = ["shortest", "relative", "absolute"];

/// How sure the checker is that something is a link.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Sure {
    Link,
    /// It is in code: it must not change.
    Code,
    /// In math, HTML, an indented line, a property: it is followed or left alone.
    Perhaps,
}

/// Text that looks like a link, and its display text.
#[derive(Debug, Clone, PartialEq)]
struct Mark {
    seen: Seen,
    sure: Sure,
    shown: String,
}

/// The texts in a note that look like links, and the note without their paths and display texts.
fn scan(text: &str) -> (Vec<Mark>, String) {
    let (mut marks, mut rest) = (Vec::new(), String::new());
    let (mut fence, mut block): (Option<String>, Option<&str>) = (None, None);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let bare = line.trim_start_matches('\u{feff}').trim();
        let inner = bare.trim_start_matches(['>', ' ', '-', '*', '+']);
        let ticks: String = inner.chars().take_while(|c| matches!(c, '`' | '~')).collect();
        let mut sure = Sure::Link;
        if number == 0 && bare == "---" {
            block = Some("---");
        } else if let Some(end) = block {
            sure = Sure::Perhaps;
            if bare == end || (end == "$$" && bare.ends_with(end)) {
                block = None;
            }
        } else if let Some(open) = &fence {
            sure = Sure::Code;
            if ticks.starts_with(open.as_str()) && ticks == inner {
                fence = None;
            }
        } else if ticks.len() >= 3 && !inner[ticks.len()..].contains('`') {
            (fence, sure) = (Some(ticks), Sure::Code);
        } else if inner.starts_with("$$") && !inner[2..].contains("$$") {
            (block, sure) = (Some("$$"), Sure::Perhaps);
        } else if inner.starts_with('<') {
            (block, sure) = (Some(""), Sure::Perhaps);
        } else if line.starts_with(['\t', ' ']) {
            sure = Sure::Perhaps;
        }
        scan_line(line, sure, &mut marks, &mut rest);
    }
    (marks, rest)
}

fn scan_line(line: &str, sure: Sure, marks: &mut Vec<Mark>, rest: &mut String) {
    let spans = code_spans(line);
    let start = rest.len();
    let mut at = 0;
    while at < line.len() {
        let here = &line[at..];
        let sure = match sure {
            Sure::Link if spans.iter().any(|span| span.contains(&at)) => Sure::Code,
            Sure::Link if line[..at].ends_with('\\') || line[..at].contains(['$', '<']) => {
                Sure::Perhaps
            }
            sure => sure,
        };
        let wiki = here.strip_prefix("[[").and_then(|inside| Some(&inside[..inside.find("]]")?]));
        let destination = here.strip_prefix("](").and_then(|inside| {
            let angle = inside.strip_prefix('<');
            let end = match angle {
                Some(inside) => inside.find('>')? + 1,
                None => balanced(inside)?.min(inside.find(" \"").unwrap_or(usize::MAX)),
            };
            Some(&inside[..end])
        });
        if let Some(inside) = wiki {
            let (head, shown) = inside.split_once('|').unwrap_or((inside, ""));
            let (path, sub) = head.find('#').map_or((head, ""), |hash| head.split_at(hash));
            let path = path.strip_suffix('\\').unwrap_or(path).trim();
            let seen = Seen { path: path.to_owned(), whole: false };
            marks.push(Mark { seen, sure, shown: shown.to_owned() });
            rest.push_str("[[");
            rest.push_str(sub);
            at += 2 + inside.len();
        } else if let Some(inside) = destination {
            let plain = inside.trim_start_matches('<');
            let (path, sub) = plain.find('#').map_or((plain, ""), |hash| plain.split_at(hash));
            let text = rest[start..].rfind('[').map_or(rest.len(), |open| start + open + 1);
            let shown = rest.split_off(text);
            let seen = Seen { path: decode(path), whole: false };
            let out = path.contains(':') || path.starts_with("//");
            marks.push(Mark { seen, sure: if out { Sure::Code } else { sure }, shown });
            rest.push_str("](");
            rest.push_str(sub);
            at += 2 + inside.len();
        } else {
            let c = here.chars().next().expect("not the end");
            rest.push(c);
            at += c.len_utf8();
        }
    }
}

/// The ranges between paired backticks in a line.
fn code_spans(line: &str) -> Vec<std::ops::Range<usize>> {
    let run = |at: usize| line[at..].bytes().take_while(|byte| *byte == b'`').count();
    let (mut spans, mut at) = (Vec::new(), 0);
    while let Some(open) = line[at..].find('`').map(|offset| at + offset) {
        let length = run(open);
        at = open + length;
        let mut close = at;
        while let Some(next) = line[close..].find('`').map(|offset| close + offset) {
            close = next + run(next);
            if run(next) == length {
                spans.push(open..close);
                at = close;
                break;
            }
        }
    }
    spans
}

/// The same for a canvas: the texts of its cards are notes.
fn scan_canvas(text: &str) -> (Vec<Mark>, String) {
    let (mut marks, mut rest) = (Vec::new(), String::new());
    let canvas: Value = serde_json::from_str(text).expect("a canvas");
    for node in canvas["nodes"].as_array().into_iter().flatten() {
        for key in ["file", "background"] {
            if let Some(path) = node[key].as_str() {
                let seen = Seen { path: path.to_owned(), whole: true };
                marks.push(Mark { seen, sure: Sure::Link, shown: String::new() });
            }
        }
        if let Some(card) = node["text"].as_str() {
            let (found, left) = scan(card);
            marks.extend(found);
            rest.push_str(&left);
        }
    }
    // Everything but the strings, byte for byte.
    let outside = text.replace("\\\"", "").split('"').step_by(2).collect::<String>();
    (marks, rest + &outside)
}

fn marks_of(path: &str, bytes: &[u8]) -> Option<(Vec<Mark>, String)> {
    let text = std::str::from_utf8(bytes).ok()?;
    match path.rsplit_once('.')?.1 {
        "md" => Some(scan(text)),
        "canvas" => Some(scan_canvas(text)),
        _ => None,
    }
}

/// The vault's files, without hidden ones.
fn files(vault: &TestVault) -> BTreeMap<String, Vec<u8>> {
    let all = vault.snapshot().into_iter();
    all.filter(|(name, _)| !name.ends_with('/') && !name.starts_with('.')).collect()
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("listed").flatten() {
        let (path, new) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            fs::create_dir_all(&new).expect("made");
            copy(&path, &new);
        } else {
            fs::copy(&path, &new).expect("copied");
        }
    }
}

/// The linkpaths with which a link may lead to this file.
fn names(path: &str) -> [&str; 4] {
    let name = path.rsplit('/').next().unwrap_or_default();
    let bare = |text| str::rsplit_once(text, '.').map_or(text, |(bare, _)| bare);
    [name, bare(name), path, bare(path)]
}

struct Ground {
    place: PathBuf,
    moves: usize,
    batch: usize,
}

impl Ground {
    fn new() -> Self {
        let number = |name, else_| {
            std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(else_)
        };
        let place = std::env::var_os("STEWARD_TEST_LINK_VAULT").map(PathBuf::from);
        let sample = || Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/vault");
        Self {
            place: place.unwrap_or_else(sample),
            moves: number("STEWARD_TEST_LINK_MOVES", 150),
            batch: number("STEWARD_TEST_LINK_BATCH", 1),
        }
    }

    /// Moves, rewritten links, checked links, links the checker is not sure about.
    fn check(&self, seed: u64) -> [u64; 4] {
        let mut random = Random::new(seed);
        let format = FORMATS[seed as usize % 3];
        let mut vault = TestVault::new(&[], |place| {
            copy(&self.place, place);
            let app = format!(r#"{{"trashOption":"local","newLinkFormat":"{format}"}}"#);
            fs::write(place.join(".obsidian/app.json"), app).expect("written");
        });
        vault.context.origin.confirmed = true;
        let [mut moved, mut rewritten] = [0; 2];
        let mut sums = [0; 2];
        let mut before = files(&vault);
        let mut paths: Vec<String> = before.keys().cloned().collect();
        // Where each file of `before` is now.
        let mut now: BTreeMap<String, String> =
            paths.iter().map(|path| (path.clone(), path.clone())).collect();
        let mut log = Vec::new();
        let renames_case = renames_case();
        for step in 1..=self.moves {
            let (from, to) = draw(&mut random, &paths);
            let same = from.to_lowercase() == to.to_lowercase();
            if (!same || renames_case)
                && let Ok(answer) = vault.call("move", &json!({"source": from, "destination": to}))
            {
                log.push(format!("`{from}` to `{to}`"));
                let what = format!("seed {seed}, {format}: {}", log.join(", "));
                assert_eq!(answer.data["links"]["total_not_rewritten"], 0, "{what}");
                moved += 1;
                rewritten += answer.data["links"]["links"].as_u64().unwrap_or(0);
                let to = answer.data["destination"].as_str().expect("a path").to_owned();
                let at = |path: &String| match path.strip_prefix(&*from) {
                    Some("") => to.clone(),
                    Some(below) if below.starts_with('/') => format!("{to}{below}"),
                    _ => path.clone(),
                };
                paths = paths.iter().map(at).collect();
                now.values_mut().for_each(|path| *path = at(path));
            }
            if step % self.batch == 0 || step == self.moves {
                let after = files(&vault);
                let what = format!("seed {seed}, {format}: {}", log.join(", "));
                let counts = compare(&before, &after, &now, &what);
                sums = std::array::from_fn(|number| sums[number] + counts[number]);
                now = after.keys().map(|path| (path.clone(), path.clone())).collect();
                before = after;
                log.clear();
            }
        }
        [moved, rewritten, sums[0], sums[1]]
    }
}

/// The file to move, and its destination.
fn draw(random: &mut Random, paths: &[String]) -> (String, String) {
    let any = |random: &mut Random| paths[random.below(paths.len())].clone();
    let folder = |path: &str| path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let (file, other) = (any(random), any(random));
    let inside = |folder: String, name: &str| {
        if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
    };
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let with_stem = |stem: &str| match name(&file).rsplit_once('.') {
        Some((_, extension)) => format!("{stem}.{extension}"),
        None => stem.to_owned(),
    };
    let other_stem = name(&other).rsplit_once('.').map_or(name(&other), |(s, _)| s.to_owned());
    match random.below(8) {
        // A whole folder, moved or renamed.
        0 if file.contains('/') => {
            (folder(&file), inside(folder(&folder(&other)), &name(&folder(&file))))
        }
        1 if file.contains('/') => {
            let new = format!("F {}", random.below(100));
            (folder(&file), inside(folder(&folder(&file)), &new))
        }
        // The name of another file.
        2 => (file.clone(), inside(folder(&any(random)), &with_stem(&other_stem))),
        3 => (file.clone(), inside(folder(&file), &with_stem(&other_stem))),
        // Another case.
        4 => {
            let name = name(&file);
            let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
            (file.clone(), inside(folder(&file), &format!("{}.{extension}", stem.to_uppercase())))
        }
        5 => {
            let stems = ["It's (new)", "50% & more", "v2.1", "[draft] x", "大 根", "a, b; c", "$5"];
            (file.clone(), inside(folder(&other), &with_stem(random.of(&stems))))
        }
        _ => (file.clone(), inside(folder(&other), &name(&file))),
    }
}

/// Links checked, and those the checker is not sure of.
fn compare(
    before: &BTreeMap<String, Vec<u8>>,
    after: &BTreeMap<String, Vec<u8>>,
    now: &BTreeMap<String, String>,
    what: &str,
) -> [u64; 2] {
    let [mut checked, mut unsure] = [0; 2];
    assert_eq!(before.len(), after.len(), "{what}: no file comes or goes");
    let (old, new) = (Names::new(before.keys()), Names::new(after.keys()));
    for (path, bytes) in before {
        let path_now = &now[path];
        let bytes_now = &after[path_now];
        let Some((marks, rest)) = marks_of(path, bytes) else {
            assert_eq!(bytes, bytes_now, "{what}: `{path}` is not touched");
            continue;
        };
        let (marks_now, rest_now) = marks_of(path_now, bytes_now).expect("as before");
        assert_eq!(rest, rest_now, "{what}: only links change in `{path}`");
        assert_eq!(marks.len(), marks_now.len(), "{what}: `{path}`");
        for (mark, mark_now) in marks.iter().zip(&marks_now) {
            let target = old.resolve(path, &mark.seen);
            let follows = || match &target {
                None => mark.seen == mark_now.seen,
                Some(target) => {
                    let wanted = &now[target];
                    let pairs = names(target).into_iter().zip(names(wanted));
                    new.resolve(path_now, &mark_now.seen).as_ref() == Some(wanted)
                        && (mark.shown == mark_now.shown
                            || pairs
                                .filter(|(old, _)| *old == mark.shown.replace('\\', ""))
                                .any(|(_, new)| *new == mark_now.shown.replace('\\', "")))
                }
            };
            let right = match mark.sure {
                Sure::Code => mark == mark_now,
                Sure::Link => follows(),
                Sure::Perhaps => mark == mark_now || follows(),
            };
            assert!(right, "{what}: {mark:?}, now {mark_now:?}, in `{path}`, led to {target:?}");
            checked += u64::from(mark.sure == Sure::Link && target.is_some());
            unsure += u64::from(mark.sure == Sure::Perhaps);
        }
    }
    [checked, unsure]
}

#[test]
fn the_links_of_a_real_vault_lead_where_they_led() {
    let ground = Ground::new();
    let [moved, rewritten, checked, unsure] = spread(4, |seed| ground.check(seed));
    println!("{moved} moves, {rewritten} links rewritten, {checked} checked, {unsure} unsure");
    assert!(moved as usize > ground.moves && rewritten > 0, "{moved} moves, {rewritten} links");
    assert!(unsure * 10 < checked, "{unsure} of {checked} links are not surely links");
}
