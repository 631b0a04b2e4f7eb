//! Markdown, read in three ways: by CommonMark; with the marks of quotes and lists taken away, by
//! GitHub's Markdown with wikilinks; and so without the marks of code and HTML. What one renderer
//! takes for code, a quote or a list and another does not is seen by one of them.

use std::sync::LazyLock;

use pulldown_cmark::{
    BrokenLink, CodeBlockKind, CowStr, Event, LinkType, Options, Parser, Tag, TagEnd,
};
use regex::Regex;

use super::{Found, address, base, html, union};

/// Languages of code blocks that plugins run, or draw with what another computer sends.
const RUNS: [&str; 17] = [
    "dataviewjs",
    "js-engine",
    "datacorejs",
    "datacorejsx",
    "datacorets",
    "datacoretsx",
    "templater",
    "execute-code",
    "react",
    "custom-frames",
    "meta-bind-js-view",
    "meta-bind-button",
    "button",
    "buttons",
    "jsx:",
    "gist",
    "leaflet",
];

/// Languages of code blocks that are shown as they are, or whose queries load nothing.
const SHOWN: [&str; 65] = [
    "",
    "text",
    "txt",
    "plain",
    "plaintext",
    "none",
    "markdown",
    "md",
    "console",
    "shell",
    "sh",
    "bash",
    "zsh",
    "fish",
    "powershell",
    "ps1",
    "bat",
    "cmd",
    "dockerfile",
    "docker",
    "makefile",
    "make",
    "cmake",
    "rust",
    "rs",
    "c",
    "h",
    "cpp",
    "c++",
    "csharp",
    "cs",
    "go",
    "java",
    "kotlin",
    "scala",
    "swift",
    "python",
    "py",
    "ruby",
    "rb",
    "perl",
    "php",
    "lua",
    "r",
    "julia",
    "haskell",
    "sql",
    "json",
    "json5",
    "yaml",
    "yml",
    "toml",
    "ini",
    "xml",
    "html",
    "css",
    "js",
    "javascript",
    "ts",
    "typescript",
    "diff",
    "patch",
    "http",
    "nix",
    "query",
];

fn pattern(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a regular expression")
}

/// Code between backticks that Dataview runs.
static INLINE_SCRIPT: LazyLock<Regex> = LazyLock::new(|| pattern(r"`\s*\$=[^`]*"));
/// Code between backticks that Dataview shows the value of.
static INLINE_QUERY: LazyLock<Regex> = LazyLock::new(|| pattern(r"`\s*=([^`]*)"));
/// What Templater runs.
static TEMPLATE: LazyLock<Regex> = LazyLock::new(|| pattern(r"<%[^%]*"));
/// What a formula loads or follows (MathJax's `html` extension loads itself when it is named).
static FORMULA: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\\(?:style|href|require|includegraphics)\s*\{[^}]*"));
/// An address that acts and becomes a link without any marks.
static BARE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:obsidian|javascript|vbscript|file|shell|x-callback-url):/[^\s)>\]]*")
});
/// Where a definition may begin, in whatever block, with its address.
static DEFINITION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\]\s*:[\s>*+-]*<?[\s>]*([^\s<>]+)"));
/// Where the text of a link or an image ends, with its address.
static TARGET: LazyLock<Regex> = LazyLock::new(|| pattern(r"\]\(\s*<?\s*([^\s)<>]+)"));
/// A script in a query of Tasks.
static BY_FUNCTION: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\bby\s+function\b"));
/// What a diagram of Mermaid loads with.
static DIAGRAM: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)img|url|//|css|\\|#\d|javascript|callback"));

/// What a text loads or runs.
pub(super) fn prose(text: &str) -> Vec<Found> {
    // Most strings of a canvas or a base hold none of these, without which nothing is found.
    if !text.contains(['!', '<', '`', '~', ':', '&', '\\']) {
        return Vec::new();
    }
    let flat = flatten(text);
    let bare = flat.replace(['`', '<'], " ").replace("~~~", "   ");
    let github = Options::ENABLE_GFM
        | Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_WIKILINKS;
    union(vec![
        Reading::of(text, Options::empty()),
        Reading::of(&flat, github),
        Reading::of(&bare, github),
        spelt(text),
        spelt(&flat),
        beside_code(&flat),
    ])
}

/// What is found by its spelling alone, since whoever runs it does not ask Markdown first.
fn spelt(text: &str) -> Vec<Found> {
    let lines = Lines::of(text);
    let mut found = html::found(text, |at| lines.line(at));
    for (pattern, kind) in
        [(&INLINE_SCRIPT, "the script"), (&TEMPLATE, "the template"), (&FORMULA, "the formula")]
    {
        let matches = pattern.find_iter(text);
        found.extend(matches.map(|one| {
            let what = one.as_str().trim_start_matches('`').trim();
            Found::shown(lines.line(one.start()), kind, what)
        }));
    }
    for query in INLINE_QUERY.captures_iter(text) {
        let (whole, code) = (query.get_match(), query.get(1).map_or("", |code| code.as_str()));
        if shows_markup(code) {
            found.push(Found::shown(lines.line(whole.start()), "the query", code.trim()));
        }
    }
    found
}

/// Images whose description has code in it. Renderers differ in where that ends, and so in which
/// brackets count.
fn beside_code(text: &str) -> Vec<Found> {
    let lines = Lines::of(text);
    let mut found = Vec::new();
    let mut begin = 0;
    for block in text.split_inclusive("\n\n") {
        let start = begin;
        begin += block.len();
        let Some(image_at) = block.find("![") else { continue };
        let Some(code_at) = block[image_at..].find('`').map(|at| image_at + at) else { continue };
        for target in TARGET.captures_iter(&block[code_at..]) {
            let address = address::clean(target.get(1).map_or("", |address| address.as_str()));
            if may_be_outside(&address) {
                let at = start + code_at + target.get_match().start();
                found.push(image(lines.line(at), &address));
            }
        }
    }
    found
}

/// Whether an address as it is written may lead out of the vault.
fn may_be_outside(address: &str) -> bool {
    address.contains(['&', '\\']) || address::is_outside(address)
}

/// Whether a query of Dataview, whose texts are shown as Markdown, has one with a mark of an image
/// or an element.
fn shows_markup(query: &str) -> bool {
    let mut is_text = false;
    let mut chars = query.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '"' => is_text = !is_text,
            '!' | '<' if is_text => return true,
            _ => {}
        }
    }
    false
}

/// Each line without the marks of quotes, lists, footnotes and indented code before it. Lines stay
/// lines.
fn flatten(text: &str) -> String {
    let mut flat = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        while let Some(less) = less(rest) {
            rest = less;
        }
        flat.push_str(rest);
    }
    flat
}

fn less(line: &str) -> Option<&str> {
    let is_blank = |text: &str| text.starts_with([' ', '\t', '\r', '\n']) || text.is_empty();
    let trimmed = line.trim_start_matches([' ', '\t']);
    if trimmed.len() < line.len() {
        return Some(trimmed);
    }
    if let Some(rest) = line.strip_prefix('>') {
        return Some(rest);
    }
    if let Some(rest) = line.strip_prefix(['-', '*', '+', ':']).filter(|rest| is_blank(rest)) {
        return Some(rest.trim_start_matches([' ', '\t']));
    }
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if digits.len() < line.len()
        && let Some(rest) = digits.strip_prefix(['.', ')']).filter(|rest| is_blank(rest))
    {
        return Some(rest);
    }
    let footnote = line.strip_prefix("[^")?.split_once("]:")?;
    (!footnote.0.contains(['[', ']'])).then_some(footnote.1)
}

/// The lines of a text by their places.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// The line, from 1, of the byte at `at`.
    fn line(&self, at: usize) -> usize {
        self.0.partition_point(|newline| *newline < at) + 1
    }
}

/// One reading by the parser.
struct Reading {
    lines: Lines,
    found: Vec<Found>,
    /// The text of the block that is being read, its marks resolved.
    block: String,
    /// The code block that is being read: its language, its code so far.
    code: Option<(String, String)>,
}

impl Reading {
    fn of(text: &str, options: Options) -> Vec<Found> {
        let mut reading =
            Self { lines: Lines::of(text), found: Vec::new(), block: String::new(), code: None };
        // An image by a reference that this parser does not resolve and another one may.
        let mut unresolved: Option<usize> = None;
        let mut broken = |link: BrokenLink<'_>| {
            let at = link.span.start;
            if text[at..].starts_with('!') || text[..at].ends_with('!') {
                unresolved.get_or_insert(at);
            }
            None::<(CowStr<'_>, CowStr<'_>)>
        };
        let parser = Parser::new_with_broken_link_callback(text, options, Some(&mut broken));
        let mut events = parser.into_offset_iter();
        for (event, span) in events.by_ref() {
            reading.take(event, span.start);
        }
        drop(events);
        if let Some(at) = unresolved {
            let definitions = DEFINITION.captures_iter(text).filter_map(|found| {
                let address = address::clean(found.get(1)?.as_str());
                may_be_outside(&address).then_some(address)
            });
            let line = reading.lines.line(at);
            reading.found.extend(definitions.map(|address| image(line, &address)));
        }
        reading.found
    }

    fn take(&mut self, event: Event<'_>, at: usize) {
        let line = self.lines.line(at);
        match event {
            Event::Start(Tag::Image { dest_url, .. }) => {
                let address = address::clean(&dest_url);
                if address::is_outside(&address) {
                    self.found.push(image(line, &address));
                }
            }
            Event::Start(Tag::Link { link_type, dest_url, .. }) => {
                let address = address::clean(&dest_url);
                let is_wiki = matches!(link_type, LinkType::WikiLink { .. });
                if address::acts(&address) && (!is_wiki || address.contains("://")) {
                    self.found.push(link(line, &address));
                }
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match &kind {
                    CodeBlockKind::Fenced(info) => language(info),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Event::End(TagEnd::CodeBlock) => {
                if let Some((language, code)) = self.code.take() {
                    self.found.extend(fence(line, &language, &code));
                }
            }
            Event::Text(text) | Event::Code(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.block.push_str(&text),
            },
            Event::SoftBreak | Event::HardBreak => self.block.push('\n'),
            Event::End(
                TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::Item | TagEnd::TableCell,
            ) => {
                let block = std::mem::take(&mut self.block);
                let bare = BARE.find_iter(&block);
                self.found.extend(bare.map(|address| link(line, address.as_str())));
            }
            _ => {}
        }
    }
}

fn image(line: usize, address: &str) -> Found {
    Found::shown(line, "the image", address)
}

fn link(line: usize, address: &str) -> Found {
    Found::shown(line, "the link", address)
}

/// The language that a code block names.
fn language(info: &str) -> String {
    let info = info.trim_start_matches(['{', '.', ' ', '\t']);
    let end = info.find(|c: char| c.is_whitespace() || "{},".contains(c)).unwrap_or(info.len());
    info[..end].to_lowercase()
}

fn fence(line: usize, language: &str, code: &str) -> Vec<Found> {
    let whole = || {
        let text = format!("a code block of `{language}`, which loads or runs what it says");
        vec![Found::new(line, language, code, text)]
    };
    match language {
        "base" => base::found(code, line + 1),
        "dataview" if shows_markup(code) => whole(),
        "mermaid" if DIAGRAM.is_match(code) => whole(),
        "tasks" if BY_FUNCTION.is_match(code) => whole(),
        "dataview" | "mermaid" | "tasks" => Vec::new(),
        _ if RUNS.contains(&language)
            || language.starts_with("run-")
            || language.starts_with("plantuml")
            || language.starts_with("kroki")
            || language.starts_with("js:")
            || language.starts_with("jsx:") =>
        {
            whole()
        }
        // A plugin that nobody here knows may load it.
        _ if !SHOWN.contains(&language) && address::any_in(code) => whole(),
        _ => Vec::new(),
    }
}
