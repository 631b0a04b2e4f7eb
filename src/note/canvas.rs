//! Reads a canvas (JSON Canvas 1.0): the files its nodes show, the links in its cards, and the byte
//! position of each in the JSON.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::value::RawValue;

use super::link::is_external;
use super::markdown;

/// The links of a canvas into the vault.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Canvas {
    /// In node order.
    pub links: Vec<CanvasLink>,
}

/// A file that a node shows, the background image of a group, or a link in a card's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CanvasLink {
    /// The JSON path of the node: `nodes[3].file`, `nodes[4].text`, `nodes[5].background`.
    pub node: String,
    /// 0-based index of the node.
    pub number: usize,
    /// The target: for a file the path from the vault's root, for a card a linkpath.
    pub path: String,
    /// The subpath with its `#`; empty if the whole file is meant.
    pub subpath: String,
    /// Whether `path` is a path from the vault's root, which is not resolved like a linkpath.
    pub is_file: bool,
}

/// The text is not a JSON object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a canvas: {reason}")]
pub struct CanvasError {
    /// The parser's message.
    pub reason: String,
}

/// The content of a string in a canvas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceKind {
    /// A path from the vault's root.
    File,
    /// The Markdown text of a card.
    Card,
}

/// A string of a canvas that can contain links into the vault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// 0-based index of the node.
    pub number: usize,
    pub kind: PieceKind,
    pub key: &'static str,
    /// The unescaped string.
    pub text: String,
    /// The `subpath` of the same node.
    pub subpath: String,
    /// Byte offset in the JSON of the first byte after the opening quote.
    start: usize,
    /// One entry per escape sequence: the offsets just after it, in `text` and in the JSON from
    /// `start`.
    escapes: Vec<(usize, usize)>,
}

impl Piece {
    /// The byte offset in the JSON of the byte `at` of `text`; `at` is a character boundary.
    pub fn raw(&self, at: usize) -> usize {
        let behind = self.escapes.partition_point(|(text, _)| *text <= at);
        let (text, raw) = behind.checked_sub(1).map_or((0, 0), |last| self.escapes[last]);
        self.start + raw + (at - text)
    }
}

type Object<'t> = HashMap<Cow<'t, str>, &'t RawValue>;

/// The strings of a canvas that can contain links into the vault, in node order. An empty file is
/// an empty canvas, since Obsidian creates canvases as empty files.
///
/// # Errors
/// [`CanvasError`] if the text is not a JSON object. Nodes of an unknown type are skipped.
pub fn pieces(text: &str) -> Result<Vec<Piece>, CanvasError> {
    let json = text.trim_start_matches('\u{feff}');
    if json.trim().is_empty() {
        return Ok(Vec::new());
    }
    let file: Object<'_> =
        serde_json::from_str(json).map_err(|error| CanvasError { reason: error.to_string() })?;
    let nodes = file.get("nodes").and_then(|nodes| serde_json::from_str(nodes.get()).ok());
    let nodes: Vec<&RawValue> = nodes.unwrap_or_default();
    let mut pieces = Vec::new();
    for (number, node) in nodes.into_iter().enumerate() {
        let Ok(node) = serde_json::from_str::<Object<'_>>(node.get()) else { continue };
        let string =
            |key: &str| -> Option<String> { serde_json::from_str(node.get(key)?.get()).ok() };
        let (key, kind) = match string("type").as_deref() {
            Some("file") => ("file", PieceKind::File),
            Some("text") => ("text", PieceKind::Card),
            Some("group") => ("background", PieceKind::File),
            _ => continue,
        };
        let Some(value) = string(key) else { continue };
        if key == "background" && (value.is_empty() || is_external(&value)) {
            continue;
        }
        let raw = node[key].get();
        // `raw` is a slice of `text`: `RawValue` borrows.
        let start = raw.as_ptr().addr() - text.as_ptr().addr() + 1;
        let subpath = string("subpath").unwrap_or_default();
        let escapes = escapes(&raw[1..raw.len() - 1]);
        pieces.push(Piece { number, kind, key, text: value, subpath, start, escapes });
    }
    Ok(pieces)
}

/// For each escape sequence of a JSON string, the offsets just after it in the unescaped text and
/// in `raw`.
fn escapes(raw: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let (mut text, mut at) = (0, 0);
    while let Some(offset) = raw[at..].find('\\') {
        text += offset;
        at += offset;
        let unit = |at: usize| {
            let digits = raw.get(at..at + 6)?.strip_prefix("\\u")?;
            u16::from_str_radix(digits, 16).ok()
        };
        let (means, length) = match (unit(at), unit(at + 6)) {
            (None, _) => (1, 2),
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => (4, 12),
            (Some(0..0x80), _) => (1, 6),
            (Some(0x80..0x800), _) => (2, 6),
            (Some(_), _) => (3, 6),
        };
        text += means;
        at += length;
        found.push((text, at));
    }
    found
}

/// A string anywhere in a canvas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// The nearest key before it, its own or that of its list; empty if there is none.
    pub key: String,
    /// The unescaped string.
    pub value: String,
    /// 1-based line number in the JSON.
    pub line: usize,
}

/// All string values of a canvas in their order; `None` if it is not JSON. An empty file has none.
pub fn strings(text: &str) -> Option<Vec<Text>> {
    let json = text.trim_start_matches('\u{feff}');
    if !json.trim().is_empty() {
        serde_json::from_str::<serde::de::IgnoredAny>(json).ok()?;
    }
    let (mut strings, mut key) = (Vec::new(), String::new());
    let (mut at, mut line) = (0, 1);
    while let Some(quote) = json[at..].find('"').map(|found| at + found) {
        line += json[at..quote].matches('\n').count();
        let mut end = quote + 1;
        while !json[end..].starts_with('"') {
            end += if json[end..].starts_with('\\') { 2 } else { 1 };
            while !json.is_char_boundary(end) {
                end += 1;
            }
        }
        at = end + 1;
        let value: String = serde_json::from_str(&json[quote..at]).ok()?;
        if json[at..].trim_start().starts_with(':') {
            key = value
        } else {
            strings.push(Text { key: key.clone(), value, line })
        }
    }
    Some(strings)
}

pub fn read(text: &str) -> Result<Canvas, CanvasError> {
    let mut links = Vec::new();
    for piece in pieces(text)? {
        match piece.kind {
            PieceKind::Card => card(&mut links, &piece),
            PieceKind::File => links.push(CanvasLink {
                node: format!("nodes[{}].{}", piece.number, piece.key),
                number: piece.number,
                path: piece.text,
                subpath: if piece.key == "file" { piece.subpath } else { String::new() },
                is_file: true,
            }),
        }
    }
    Ok(Canvas { links })
}

fn card(links: &mut Vec<CanvasLink>, piece: &Piece) {
    let text = &piece.text;
    for link in markdown::read(text).links.iter().filter(|link| link.counts()) {
        if link.kind.is_wiki() || !is_external(&text[link.path.clone()]) {
            links.push(CanvasLink {
                node: format!("nodes[{}].text", piece.number),
                number: piece.number,
                path: link.linkpath(text).into_owned(),
                subpath: link.subpath(text).into_owned(),
                is_file: false,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_cards() {
        let text = r##"{"nodes":[{"id":"1","type":"group","label":"[[no]]"},
            {"type":"file","file":"a/b.md","subpath":"#h"},
            {"type":"text","text":"[[c#d|e]] `[[no]]` [x](f%20g.md) [y](https://z)"},
            {"type":"link","url":"https://x"}, 5]}"##;
        let found: Vec<_> = read(text)
            .expect("a canvas")
            .links
            .into_iter()
            .map(|link| (link.node, link.path + &link.subpath, link.is_file))
            .collect();
        let node = |node: &str, path: &str, file| (node.to_owned(), path.to_owned(), file);
        assert_eq!(
            found,
            [
                node("nodes[1].file", "a/b.md#h", true),
                node("nodes[2].text", "c#d", false),
                node("nodes[2].text", "f g.md", false)
            ]
        );
        assert_eq!(read(" \n"), Ok(Canvas::default()));
        let group = r#"{"nodes":[{"type":"group","background":"a/b.png"},
            {"type":"group","background":"https://x/y.png"}]}"#;
        let found = read(group).expect("a canvas").links;
        assert_eq!((found.len(), found[0].node.as_str()), (1, "nodes[0].background"));
        assert!(read("[]").is_err() && read("{").is_err());
    }

    #[test]
    fn every_string_has_its_key_and_line() {
        let json =
            "{\"nodes\":[{\"te\\u0078t\":\"a \\\" é\\\\\",\n\"n\":1,\"list\":[\"b\",\n\"\"]}]}";
        let found: Vec<_> = strings(json)
            .expect("it is JSON")
            .into_iter()
            .map(|text| (text.key, text.value, text.line))
            .collect();
        let text = |key: &str, value: &str, line| (key.to_owned(), value.to_owned(), line);
        assert_eq!(found, [text("text", "a \" é\\", 1), text("list", "b", 2), text("list", "", 3)]);
        assert_eq!(strings("{\"a\": \"b}"), None);
        assert_eq!(strings(" "), Some(Vec::new()));
    }

    #[test]
    fn the_place_of_every_character_is_known() {
        let json = r#"{"nodes": [{"type":"text", "text":"a\n\u00e9\ud83c\udf31\u5927\/é[[b]]"}]}"#;
        let found = pieces(json).expect("a canvas");
        let piece = &found[0];
        assert_eq!(piece.text, "a\né🌱大/é[[b]]");
        for (at, c) in piece.text.char_indices() {
            let (from, to) = (piece.raw(at), piece.raw(at + c.len_utf8()));
            let written: String =
                serde_json::from_str(&format!("\"{}\"", &json[from..to])).expect("a string");
            assert_eq!(written, c.to_string());
        }
    }
}
