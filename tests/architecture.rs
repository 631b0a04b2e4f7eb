//! The house's rules, as a test: rooms import downward only, and some crates have one home.
//!
//! Two small tables and a walk over `src/`. When a rule and the code disagree, one of them is
//! wrong: mend it here or there, but not by an exception. A failure names the file and line.

use std::fs;
use std::path::{Path, PathBuf};

/// Each room, and its floor. A room imports from the floors below its own and from itself.
const FLOORS: &[(&str, u8)] = &[
    ("chaos", 0),
    ("note", 1),
    ("conversation", 1),
    ("protocol", 1),
    ("llm", 1),
    ("hooks", 1),
    ("store", 2),
    ("vault", 2),
    ("journal", 3),
    ("index", 3),
    ("policy", 4),
    ("tools", 5),
    ("calls", 6),
    ("agent", 7),
    ("server", 7),
    ("smarthole", 7),
    ("config", 8),
    ("daemon", 8),
    ("cli", 8),
    ("fuzzing", 9),
    ("main", 9),
];

/// Crates that only these rooms may name. What is not listed may be used anywhere.
const HOMES: &[(&str, &[&str])] = &[
    ("anyhow", &["daemon", "cli", "main"]),
    ("axum", &["server"]),
    ("cap_std", &["vault"]),
    ("clap", &["config", "cli", "main"]),
    ("grep_matcher", &["index"]),
    ("grep_regex", &["index"]),
    ("grep_searcher", &["index"]),
    ("hyper", &["server"]),
    ("hyper_util", &["server"]),
    ("indicatif", &["cli"]),
    ("inotify", &["config", "vault"]),
    ("landlock", &["daemon"]),
    ("libc", &["daemon"]),
    ("memmap2", &["index"]),
    ("notify", &["vault"]),
    ("qrcode", &["cli"]),
    ("regex_automata", &["index"]),
    ("rusqlite", &["store"]),
    ("reqwest", &["llm"]),
    ("rpassword", &["cli"]),
    ("rustls", &["llm"]),
    ("rustyline", &["cli"]),
    ("saphyr_parser", &["note"]),
    ("schemars", &["note", "tools"]),
    ("terminal_size", &["cli"]),
    ("toml_edit", &["config"]),
    ("tokio_tungstenite", &["server", "smarthole", "cli"]),
    ("trash", &["vault"]),
    ("ts_rs", &["protocol"]),
    ("unicode_width", &["cli"]),
    ("zstd", &["store"]),
];

/// Methods that only these rooms may call: the vault's write side has one caller.
const METHODS: &[(&str, &[&str])] = &[("writer", &["vault", "journal"])];

#[test]
fn rooms_import_downward_only() {
    let mut faults = Vec::new();
    for file in files() {
        let Some(floor) = floor(&file.room) else {
            faults.push(format!("{}: the room `{}` has no floor yet", file.name, file.room));
            continue;
        };
        for (line, room) in file.rooms_named() {
            match self::floor(&room) {
                Some(other) if room == file.room || other < floor => {}
                // Floor 8 is where it is all put together; its three parts know each other.
                Some(8) if floor == 8 => {}
                Some(other) => faults.push(format!(
                    "{}:{line}: `{}` (floor {floor}) imports `{room}` (floor {other})",
                    file.name, file.room
                )),
                None => {}
            }
        }
    }
    assert!(faults.is_empty(), "imports that run upward:\n{}", faults.join("\n"));
}

#[test]
fn crates_stay_at_home() {
    let mut faults = Vec::new();
    for file in files() {
        for (at, token) in file.tokens.iter().enumerate() {
            let named = HOMES.iter().find(|(name, _)| token.is(name));
            let Some((name, homes)) = named else { continue };
            let starts_path = file.begins_a_path(at) && file.continues_a_path(at);
            let is_imported = at > 0 && file.tokens[at - 1].is("use");
            if (starts_path || is_imported) && !homes.contains(&file.room.as_str()) {
                faults.push(format!(
                    "{}:{}: `{name}` is at home in {homes:?} only",
                    file.name, token.line
                ));
            }
        }
    }
    assert!(faults.is_empty(), "crates away from home:\n{}", faults.join("\n"));
}

/// Functions that only these rooms may call: the tools have one way to them.
const FUNCTIONS: &[(&[&str], &[&str])] = &[(&["tools", "call"], &["calls"])];

#[test]
fn only_calls_reaches_the_tools() {
    let mut faults = Vec::new();
    for file in files() {
        for (path, rooms) in FUNCTIONS {
            let [room, function] = path else { panic!("a room and its function") };
            let named = file.tokens.windows(4).filter(|window| {
                let path = window[0].is(room) && window[1].is(":") && window[2].is(":");
                path && window[3].is(function)
            });
            // Imported by its own name it could be called without the room's.
            let grouped = file.tokens.iter().enumerate().filter(|(at, token)| {
                let in_room = file.tokens[..*at]
                    .iter()
                    .rev()
                    .take_while(|one| !one.is(";") && !one.is("use"))
                    .any(|one| one.is(room));
                let imported = file.tokens[..*at]
                    .iter()
                    .rev()
                    .take_while(|one| !one.is(";"))
                    .any(|one| one.is("use"));
                token.is(function) && in_room && imported && !file.sign(at + 1, "(")
            });
            let lines: Vec<usize> = named
                .map(|window| window[3].line)
                .chain(grouped.map(|(_, token)| token.line))
                .collect();
            if !rooms.contains(&file.room.as_str()) && file.room != *room {
                faults.extend(lines.iter().map(|line| format!("{}:{line}", file.name)));
            } else if file.room == rooms[0] && file.name.ends_with("mod.rs") {
                assert!(!lines.is_empty(), "{} no longer calls {path:?}", file.name);
            }
        }
    }
    assert!(faults.is_empty(), "ways to a tool around the policy:\n{}", faults.join("\n"));
}

#[test]
fn only_the_journal_writes() {
    let mut faults = Vec::new();
    for file in files() {
        for window in file.tokens.windows(3) {
            let called = METHODS
                .iter()
                .find(|(name, _)| window[0].is(".") && window[1].is(name) && window[2].is("("));
            let Some((name, rooms)) = called else { continue };
            if !rooms.contains(&file.room.as_str()) {
                faults.push(format!("{}:{}: calls `{name}()`", file.name, window[1].line));
            }
        }
    }
    assert!(faults.is_empty(), "writers beside the journal:\n{}", faults.join("\n"));
}

#[test]
fn the_page_names_every_room() {
    let page = fs::read_to_string(root().join("docs/architecture.md"))
        .expect("docs/architecture.md shows the house as it stands");
    let missing: Vec<String> = files()
        .into_iter()
        .map(|file| file.room)
        .filter(|room| !page.contains(&format!("`{room}")))
        .collect();
    assert!(missing.is_empty(), "docs/architecture.md does not name {missing:?}");
}

#[test]
fn the_walk_sees_what_it_should() {
    let source = "//! crate::cli\nuse crate::{vault::Vault, note::path};\nmod tests {\n  use \
                  super::super::index::X; use super::Y; /* crate::server */\n  let s = \
                  \"crate::tools\"; let c = '\"'; let r = r#\"crate::cli\"#; fn f<'a>() -> \
                  crate::journal::J {}\n}\nuse super::protocol::Z;\n";
    let file = File::new("src/note/mod.rs".into(), source);
    let named: Vec<(usize, String)> = file.rooms_named();
    let named: Vec<(usize, &str)> = named.iter().map(|(line, room)| (*line, &**room)).collect();
    assert_eq!(
        named,
        [(2, "vault"), (2, "note"), (4, "index"), (5, "journal"), (7, "protocol")],
        "comments and strings are no imports; groups and `super` chains are"
    );
}

fn floor(room: &str) -> Option<u8> {
    FLOORS.iter().find(|(name, _)| *name == room).map(|(_, floor)| *floor)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files() -> Vec<File> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the sources can be listed") {
            let path = entry.expect("the sources can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let source = fs::read_to_string(&path).expect("a source file is UTF-8");
                let name: PathBuf =
                    path.strip_prefix(root()).expect("the walk stays inside").into();
                let name = name.to_string_lossy().replace('\\', "/");
                if name != "src/lib.rs" {
                    found.push(File::new(name, &source));
                }
            }
        }
    }
    assert!(!found.is_empty(), "the walk found the sources");
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// A word or a sign of the source, comments and strings left out.
#[derive(Debug)]
struct Token {
    line: usize,
    text: String,
}

impl Token {
    fn is(&self, text: &str) -> bool {
        self.text == text
    }

    fn is_word(&self) -> bool {
        self.text.starts_with(|first: char| first.is_alphabetic() || first == '_')
    }
}

struct File {
    /// As `src/note/path.rs`.
    name: String,
    room: String,
    /// The modules this file lies under: `src/note/path.rs` has 2, `src/note/mod.rs` has 1.
    depth: usize,
    tokens: Vec<Token>,
}

impl File {
    fn new(name: String, source: &str) -> Self {
        let inside = name.trim_start_matches("src/").trim_end_matches(".rs");
        let modules: Vec<&str> =
            inside.split('/').filter(|part| !matches!(*part, "mod" | "lib")).collect();
        let room = modules.first().copied().unwrap_or("lib").to_owned();
        Self { room, depth: modules.len(), tokens: tokens(source), name }
    }

    fn sign(&self, at: usize, text: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is(text))
    }

    fn begins_a_path(&self, at: usize) -> bool {
        at < 2 || !(self.sign(at - 1, ":") && self.sign(at - 2, ":"))
    }

    fn continues_a_path(&self, at: usize) -> bool {
        self.sign(at + 1, ":") && self.sign(at + 2, ":")
    }

    /// Every room this file names through `crate::`, `vault_steward::` or enough `super::`.
    fn rooms_named(&self) -> Vec<(usize, String)> {
        let mut named = Vec::new();
        // How many braces are open, and at which depths a `mod x {` was opened.
        let (mut braces, mut inline) = (0usize, Vec::new());
        for (at, token) in self.tokens.iter().enumerate() {
            match token.text.as_str() {
                "{" => {
                    if at >= 2 && self.tokens[at - 2].is("mod") {
                        inline.push(braces);
                    }
                    braces += 1;
                }
                "}" => {
                    braces = braces.saturating_sub(1);
                    if inline.last() == Some(&braces) {
                        inline.pop();
                    }
                }
                "crate" | "vault_steward"
                    if self.begins_a_path(at) && self.continues_a_path(at) =>
                {
                    self.heads(at + 3, &mut named);
                }
                "super" if self.begins_a_path(at) => {
                    let (mut climbs, mut next) = (0, at);
                    while self.sign(next, "super") && self.continues_a_path(next) {
                        (climbs, next) = (climbs + 1, next + 3);
                    }
                    if climbs >= self.depth + inline.len() {
                        self.heads(next, &mut named);
                    }
                }
                _ => {}
            }
        }
        named
    }

    /// The first word of a path's rest, or of each branch where it is a group.
    fn heads(&self, at: usize, named: &mut Vec<(usize, String)>) {
        if !self.sign(at, "{") {
            if let Some(token) = self.tokens.get(at).filter(|token| token.is_word()) {
                named.push((token.line, token.text.clone()));
            }
            return;
        }
        let mut open = 0;
        for index in at..self.tokens.len() {
            let token = &self.tokens[index];
            match token.text.as_str() {
                "{" => open += 1,
                "}" => open -= 1,
                _ => {}
            }
            if open == 0 {
                return;
            }
            let leads = self.sign(index.wrapping_sub(1), "{") || self.sign(index - 1, ",");
            if open == 1 && leads && token.is_word() {
                named.push((token.line, token.text.clone()));
            }
        }
    }
}

/// A lexer that knows just enough Rust to leave out comments, strings and characters.
fn tokens(source: &str) -> Vec<Token> {
    let text: Vec<char> = source.chars().collect();
    let (mut found, mut at, mut line) = (Vec::new(), 0, 1);
    let ahead =
        |at: usize, what: &str| what.chars().enumerate().all(|(n, c)| text.get(at + n) == Some(&c));
    while at < text.len() {
        let start = at;
        let c = text[at];
        if ahead(at, "//") {
            while at < text.len() && text[at] != '\n' {
                at += 1;
            }
        } else if ahead(at, "/*") {
            let mut open = 0;
            loop {
                match () {
                    () if ahead(at, "/*") => (open, at) = (open + 1, at + 2),
                    () if ahead(at, "*/") => (open, at) = (open - 1, at + 2),
                    () => at += 1,
                }
                if open == 0 || at >= text.len() {
                    break;
                }
            }
        } else if let Some(hashes) = raw_string(&text, at) {
            let end = format!("\"{}", "#".repeat(hashes));
            at += text[at..].iter().take_while(|c| **c != '"').count() + 1;
            while at < text.len() && !ahead(at, &end) {
                at += 1;
            }
            at += end.len();
        } else if c == '"' || (c == '\'' && is_character(&text, at)) {
            at += 1;
            while at < text.len() && text[at] != c {
                at += if text[at] == '\\' { 2 } else { 1 };
            }
            at += 1;
        } else if c.is_alphanumeric() || c == '_' {
            while at < text.len() && (text[at].is_alphanumeric() || text[at] == '_') {
                at += 1;
            }
            found.push(Token { line, text: text[start..at].iter().collect() });
        } else {
            if !c.is_whitespace() {
                found.push(Token { line, text: c.to_string() });
            }
            at += 1;
        }
        line += text[start..at.min(text.len())].iter().filter(|c| **c == '\n').count();
    }
    found
}

/// How many `#` a raw string that starts here has; none where no raw string starts here.
fn raw_string(text: &[char], at: usize) -> Option<usize> {
    let inside_a_word = at > 0 && (text[at - 1].is_alphanumeric() || text[at - 1] == '_');
    let after_prefix = match (text.get(at), text.get(at + 1)) {
        (Some('r'), _) => at + 1,
        (Some('b' | 'c'), Some('r')) => at + 2,
        _ => return None,
    };
    let hashes = text[after_prefix.min(text.len())..].iter().take_while(|c| **c == '#').count();
    (!inside_a_word && text.get(after_prefix + hashes) == Some(&'"')).then_some(hashes)
}

/// `'x'` and `'\n'` are characters, `'a` is a lifetime.
fn is_character(text: &[char], at: usize) -> bool {
    text.get(at + 1) == Some(&'\\') || text.get(at + 2) == Some(&'\'')
}
