//! Parses YAML into a tree whose nodes know their positions, for files that people write: errors
//! can say where they are.
//!
//! Depth and number of values are limited; values repeated by aliases count each time.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, Tag};
use serde_json::Value;

use super::frontmatter;

/// The most values in one text.
const MAX_VALUES: usize = 20_000;

/// The deepest nesting of lists and mappings.
const MAX_DEPTH: usize = 64;

#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub content: Content,
    /// Byte range in the text. The value of an alias has the position of its anchor.
    pub at: Range<usize>,
    /// An application tag before the value, such as `!done`, without a meaning in YAML itself.
    pub tag: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Scalar {
        /// Unquoted.
        text: String,
        style: Style,
    },
    List(Vec<Node>),
    /// Keys and values in their order, without duplicate keys.
    Mapping(Vec<(Node, Node)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Plain,
    Single,
    Double,
    /// Lines below `|` or `>`.
    Block,
}

/// Why the text cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct YamlFault {
    /// Byte offset in the text.
    pub at: usize,
    pub reason: String,
}

impl Node {
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Whether the value is empty or `null`.
    pub fn is_null(&self) -> bool {
        self.tag.is_none() && self.scalar().is_some_and(|value| value.is_null())
    }

    /// The value of a scalar: an unquoted `12` is a number.
    pub fn scalar(&self) -> Option<Value> {
        match &self.content {
            Content::Scalar { text, style: Style::Plain } => Some(frontmatter::plain(text)),
            Content::Scalar { text, .. } => Some(Value::String(text.clone())),
            _ => None,
        }
    }

    /// The byte of `text`, the parsed text, that produced byte `offset` of a scalar's value.
    pub fn place(&self, text: &str, offset: usize) -> usize {
        let Content::Scalar { text: value, style } = &self.content else { return self.at.start };
        let mut at = self.at.start;
        at += frontmatter::marks(&text[at..self.at.end]);
        match style {
            // The parser reports the position of a block below its `|` or `>`.
            Style::Plain | Style::Block => {}
            Style::Single | Style::Double => at += 1,
        }
        let before = value.get(..offset).unwrap_or(value);
        for c in before.chars() {
            at += step(&text[at..], c, *style);
        }
        if value[before.len()..].starts_with(|c: char| !c.is_whitespace()) {
            at += blanks(&text[at..]);
        }
        at.min(text.len())
    }
}

/// The number of bytes of `raw` that produce the character `c` of a value.
fn step(raw: &str, c: char, style: Style) -> usize {
    if style == Style::Double && raw.starts_with('\\') {
        return match raw.as_bytes().get(1) {
            Some(b'x') => 4,
            Some(b'u') => 6,
            Some(b'U') => 10,
            // A continued line produces nothing.
            Some(b'\n' | b'\r') => 1 + blanks(&raw[1..]) + c.len_utf8(),
            _ => 1 + raw.chars().nth(1).map_or(0, char::len_utf8),
        }
        .min(raw.len());
    }
    if c.is_whitespace() {
        // A line end with its surrounding whitespace becomes one space, or disappears.
        let length = blanks(raw);
        return if raw[..length].contains('\n') { length } else { length.min(c.len_utf8()) };
    }
    let before = blanks(raw);
    let is_doubled = style == Style::Single && raw[before..].starts_with("''");
    before + if is_doubled { 2 } else { raw[before..].chars().next().map_or(0, char::len_utf8) }
}

fn blanks(raw: &str) -> usize {
    raw.len() - raw.trim_start_matches([' ', '\t', '\r', '\n']).len()
}

/// Parses the first document of a text; `None` if there is none.
///
/// # Errors
/// The text is not YAML, has a duplicate key or a list as a key, or is too deep or too large.
pub fn read(text: &str) -> Result<Option<Node>, YamlFault> {
    let offsets = (!text.is_ascii()).then(|| text.char_indices().map(|(at, _)| at).collect());
    let mut reader = YamlReader {
        text,
        offsets,
        open: Vec::new(),
        anchors: HashMap::new(),
        values: 0,
        root: None,
    };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let at = reader.offset(error.marker());
            YamlFault { at, reason: error.info().to_owned() }
        })?;
        if matches!(event, Event::DocumentEnd) {
            break;
        }
        reader.handle(event, span)?;
    }
    Ok(reader.root)
}

/// A list or mapping being parsed.
struct Open {
    content: Content,
    key: Option<Node>,
    keys: HashSet<String>,
    anchor: usize,
    start: usize,
    tag: Option<String>,
}

struct YamlReader<'t> {
    text: &'t str,
    /// Byte offsets of the characters, unless they equal the character indices.
    offsets: Option<Vec<usize>>,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    values: usize,
    root: Option<Node>,
}

impl YamlReader<'_> {
    fn handle(&mut self, event: Event<'_>, span: Span) -> Result<(), YamlFault> {
        let at = self.offset(&span.start)..self.offset(&span.end).max(self.offset(&span.start));
        match event {
            Event::SequenceStart(anchor, tag) => {
                self.begin(Content::List(Vec::new()), anchor, at.start, tag.as_deref())
            }
            Event::MappingStart(anchor, tag) => {
                self.begin(Content::Mapping(Vec::new()), anchor, at.start, tag.as_deref())
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(Open { content, anchor, start, tag, .. }) = self.open.pop() else {
                    return Ok(());
                };
                let end = start + self.text[start..at.end.max(start)].trim_end().len();
                self.put(Node { content, at: start..end, tag }, anchor)
            }
            Event::Scalar(text, style, anchor, tag) => {
                let style = match style {
                    ScalarStyle::Plain => Style::Plain,
                    ScalarStyle::SingleQuoted => Style::Single,
                    ScalarStyle::DoubleQuoted => Style::Double,
                    ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
                };
                let content = Content::Scalar { text: text.into_owned(), style };
                let end = at.start + self.text[at.clone()].trim_end().len();
                self.put(Node { content, at: at.start..end, tag: own(tag.as_deref()) }, anchor)
            }
            Event::Alias(anchor) => match self.anchors.get(&anchor).cloned() {
                Some(node) => {
                    self.values += size(&node);
                    self.put(node, 0)
                }
                None => Err(fault(at.start, "this alias names nothing")),
            },
            _ => Ok(()),
        }
    }

    fn begin(
        &mut self,
        content: Content,
        anchor: usize,
        start: usize,
        tag: Option<&Tag>,
    ) -> Result<(), YamlFault> {
        if self.open.len() >= MAX_DEPTH {
            return Err(fault(start, "this is nested more than 64 levels deep"));
        }
        let (key, keys) = (None, HashSet::new());
        self.open.push(Open { content, key, keys, anchor, start, tag: own(tag) });
        Ok(())
    }

    fn put(&mut self, node: Node, anchor: usize) -> Result<(), YamlFault> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(fault(node.at.start, "there are more than 20,000 values"));
        }
        if anchor > 0 {
            self.values += size(&node);
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match (&mut open.content, open.key.take()) {
            (Content::List(items), _) => items.push(node),
            (Content::Mapping(pairs), Some(key)) => pairs.push((key, node)),
            (Content::Mapping(_), None) => {
                let Some(name) = node.text() else {
                    return Err(fault(node.at.start, "a key is a list or a mapping"));
                };
                if !open.keys.insert(name.to_owned()) {
                    let reason = format!("the key `{name}` is repeated");
                    return Err(fault(node.at.start, &reason));
                }
                open.key = Some(node);
            }
            (Content::Scalar { .. }, _) => {}
        }
        Ok(())
    }

    fn offset(&self, marker: &Marker) -> usize {
        let at = match &self.offsets {
            Some(offsets) => offsets.get(marker.index()).copied(),
            None => Some(marker.index()),
        };
        at.unwrap_or(self.text.len()).min(self.text.len())
    }
}

fn fault(at: usize, reason: &str) -> YamlFault {
    YamlFault { at, reason: reason.to_owned() }
}

fn own(tag: Option<&Tag>) -> Option<String> {
    let tag = tag.filter(|tag| !tag.is_yaml_core_schema())?;
    Some(format!("{}{}", tag.handle, tag.suffix))
}

fn size(node: &Node) -> usize {
    match &node.content {
        Content::Scalar { .. } => 1,
        Content::List(items) => 1 + items.iter().map(size).sum::<usize>(),
        Content::Mapping(pairs) => {
            1 + pairs.iter().map(|(_, value)| 1 + size(value)).sum::<usize>()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each scalar with the position of each non-blank character.
    fn scalars<'n>(node: &'n Node, found: &mut Vec<&'n Node>) {
        match &node.content {
            Content::Scalar { .. } => found.push(node),
            Content::List(items) => items.iter().for_each(|item| scalars(item, found)),
            Content::Mapping(pairs) => pairs.iter().for_each(|(key, value)| {
                scalars(key, found);
                scalars(value, found);
            }),
        }
    }

    #[test]
    fn every_character_of_a_value_has_its_place() {
        let text = "é: plain ü text # comment\nb: 'it''s é'\nc: \"a\\tb \\u00e9 \\\"x\"\nd: |\n  two\n   lines é\n\
                    e: >-\n  folded\n  text\n\n  again\nf: plain\n  goes on\n\
                    g: &a [x, 'y', !!str 5, \"on\n  e\"]\nh: *a\n";
        let root = read(text).expect("YAML").expect("a document");
        let mut found = Vec::new();
        scalars(&root, &mut found);
        assert_eq!(found.len(), 8 + 6 + 4 + 4);
        for node in found {
            let value = node.text().expect("a scalar");
            for (offset, c) in value.char_indices().filter(|(_, c)| c.is_alphanumeric()) {
                let raw = &text[node.place(text, offset)..];
                let escape = if c == 'é' { "\\u00e9" } else { "\u{0}" };
                assert!(raw.starts_with(c) || raw.starts_with(escape), "{c} of {value:?}: {raw:?}");
            }
        }
    }

    #[test]
    fn unread_yaml_is_reported_with_its_place() {
        let fault = |text: &str| read(text).expect_err(text);
        assert_eq!(fault("a: 1\na: 2\n").at, 5);
        assert!(!fault("x: [1, 2\n").reason.is_empty());
        assert_eq!(fault("? [a]\n: b\n").reason, "a key is a list or a mapping");
        assert!(fault(&"- ".repeat(70)).reason.contains("64 levels"));
        let bomb = "a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n\
                    c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d]\n";
        assert!(fault(bomb).reason.contains("20,000"), "{:?}", fault(bomb));
        assert_eq!(read("").expect("YAML"), None);
    }

    #[test]
    fn a_type_of_its_own_is_kept() {
        let root = read("a: !done x\nb: !!str 5\n").expect("YAML").expect("a document");
        let Content::Mapping(pairs) = root.content else { panic!("a mapping") };
        assert_eq!(pairs[0].1.tag.as_deref(), Some("!done"));
        assert_eq!(pairs[1].1.tag, None);
    }
}
