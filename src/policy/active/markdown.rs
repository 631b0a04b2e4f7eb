//! Active content of Markdown, which is parsed three times: as CommonMark; without the marks of quotes and
//! lists, as GitHub's Markdown with wikilinks; and the same without the marks of code and HTML. Renderers
//! disagree about what is code, a quote or a list; one of the parses sees what any of them shows.

use std::sync::LazyLock;

use pulldown_cmark::{
    BrokenLink, CodeBlockKind, CowStr, Event, LinkType, Options, Parser, Tag, TagEnd,
};
use regex::Regex;

use super::{ActiveContent, address, base, has_word, html, union};

/// Languages of code blocks that plugins run, or render with data from other computers.
const RUNS: &str = "dataviewjs js-engine datacorejs datacorejsx datacorets datacoretsx templater execute-code \
    react custom-frames meta-bind-js-view meta-bind-button button buttons jsx: gist leaflet";

/// Languages of code blocks that are shown as they are, or whose queries load nothing. Empty: no language.
const SHOWN: &str = "text txt plain plaintext none markdown md console shell sh bash zsh fish powershell ps1 bat \
    cmd dockerfile docker makefile make cmake rust rs c h cpp c++ csharp cs go java kotlin scala \
    swift python py ruby rb perl php lua r julia haskell sql json json5 yaml yml toml ini xml html \
    css js javascript ts typescript diff patch http nix query";

fn pattern(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a regular expression")
}

/// Inline code that Dataview runs.
static INLINE_SCRIPT: LazyLock<Regex> = LazyLock::new(|| pattern(r"`\s*\$=[^`]*"));
/// Inline code that Dataview evaluates and shows.
static INLINE_QUERY: LazyLock<Regex> = LazyLock::new(|| pattern(r"`\s*=([^`]*)"));
/// Commands that Templater runs.
static TEMPLATE: LazyLock<Regex> = LazyLock::new(|| pattern(r"<%[^%]*"));
/// Commands in a formula that load or link (MathJax loads its `html` extension on use).
static FORMULA: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\\(?:style|href|require|includegraphics)\s*\{[^}]*"));
/// A URL that is linked without any marks and does something when followed.
static BARE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:obsidian|javascript|vbscript|file|shell|x-callback-url):/[^\s)>\]]*")
});
/// A possible link reference definition, in any block, with its URL.
static DEFINITION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\]\s*:[\s>*+-]*<?[\s>]*([^\s<>]+)"));
/// The end of the text of a link or an image, with its URL.
static TARGET: LazyLock<Regex> = LazyLock::new(|| pattern(r"\]\(\s*<?\s*([^\s)<>]+)"));
/// A script in a query of the Tasks plugin.
static BY_FUNCTION: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\bby\s+function\b"));
/// Directives with which a Mermaid diagram loads something.
static DIAGRAM: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)img|url|//|css|\\|#\d|javascript|callback"));

/// The active content of a Markdown text.
pub(super) fn prose(text: &str) -> Vec<ActiveContent> {
    // Most strings of a canvas or a base have none of these characters, without which nothing is active.
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
        Parse::of(text, Options::empty()),
        Parse::of(&flat, github),
        Parse::of(&bare, github),
        by_pattern(text),
        by_pattern(&flat),
        images_with_code(&flat),
    ])
}

/// Active content that is recognised without parsing Markdown, as the plugins that run it do.
fn by_pattern(text: &str) -> Vec<ActiveContent> {
    let lines = Lines::of(text);
    let mut found = html::found(text, |at| lines.line(at));
    for (pattern, kind) in
        [(&INLINE_SCRIPT, "the script"), (&TEMPLATE, "the template"), (&FORMULA, "the formula")]
    {
        let matches = pattern.find_iter(text);
        found.extend(matches.map(|one| {
            let what = one.as_str().trim_start_matches('`').trim();
            ActiveContent::shown(lines.line(one.start()), kind, what)
        }));
    }
    for query in INLINE_QUERY.captures_iter(text) {
        let (whole, code) = (query.get_match(), query.get(1).map_or("", |code| code.as_str()));
        if shows_markup(code) {
            found.push(ActiveContent::shown(lines.line(whole.start()), "the query", code.trim()));
        }
    }
    found
}

/// Images with code in their description. Renderers disagree about where the code ends, and so about which
/// brackets count.
fn images_with_code(text: &str) -> Vec<ActiveContent> {
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

/// Whether a URL in the source may lead out of the vault.
fn may_be_outside(address: &str) -> bool {
    address.contains(['&', '\\']) || address::is_outside(address)
}

/// Whether a Dataview query contains a string with a mark of an image or an element: strings are rendered as
/// Markdown.
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

/// Removes the marks of quotes, lists, footnotes and indented code from each line. The number of lines stays.
fn flatten(text: &str) -> String {
    let mut flat = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        while let Some(less) = without_mark(rest) {
            rest = less;
        }
        flat.push_str(rest);
    }
    flat
}

fn without_mark(line: &str) -> Option<&str> {
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

/// Line numbers of a text.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// The line number, from 1, of the byte at `at`.
    fn line(&self, at: usize) -> usize {
        self.0.partition_point(|newline| *newline < at) + 1
    }
}

struct Parse {
    lines: Lines,
    found: Vec<ActiveContent>,
    /// The plain text of the current block.
    block: String,
    /// The language and text of the current code block.
    code: Option<(String, String)>,
}

impl Parse {
    fn of(text: &str, options: Options) -> Vec<ActiveContent> {
        let mut parse =
            Self { lines: Lines::of(text), found: Vec::new(), block: String::new(), code: None };
        // An image with a reference that this parser does not resolve, and another may.
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
            parse.handle(event, span.start);
        }
        drop(events);
        if let Some(at) = unresolved {
            let definitions = DEFINITION.captures_iter(text).filter_map(|found| {
                let address = address::clean(found.get(1)?.as_str());
                may_be_outside(&address).then_some(address)
            });
            let line = parse.lines.line(at);
            parse.found.extend(definitions.map(|address| image(line, &address)));
        }
        parse.found
    }

    fn handle(&mut self, event: Event<'_>, at: usize) {
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

fn image(line: usize, address: &str) -> ActiveContent {
    ActiveContent::shown(line, "the image", address)
}

fn link(line: usize, address: &str) -> ActiveContent {
    ActiveContent::shown(line, "the link", address)
}

/// The language of a fenced code block.
fn language(info: &str) -> String {
    let info = info.trim_start_matches(['{', '.', ' ', '\t']);
    let end = info.find(|c: char| c.is_whitespace() || "{},".contains(c)).unwrap_or(info.len());
    info[..end].to_lowercase()
}

fn fence(line: usize, language: &str, code: &str) -> Vec<ActiveContent> {
    let whole = || {
        let text = format!("a code block of `{language}`, which loads or runs what it says");
        vec![ActiveContent::new(line, language, code, text)]
    };
    match language {
        "base" => base::found(code, line + 1),
        "dataview" if shows_markup(code) => whole(),
        "mermaid" if DIAGRAM.is_match(code) => whole(),
        "tasks" if BY_FUNCTION.is_match(code) => whole(),
        "dataview" | "mermaid" | "tasks" => Vec::new(),
        _ if has_word(RUNS, language)
            || language.starts_with("run-")
            || language.starts_with("plantuml")
            || language.starts_with("kroki")
            || language.starts_with("js:")
            || language.starts_with("jsx:") =>
        {
            whole()
        }
        // An unknown plugin may load the URL.
        _ if !language.is_empty() && !has_word(SHOWN, language) && address::any_in(code) => whole(),
        _ => Vec::new(),
    }
}
