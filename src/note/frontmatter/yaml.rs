//! Converts YAML events to properties with positions. Values follow YAML 1.2's core schema.

use std::collections::HashMap;
use std::ops::Range;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, Tag};
use serde_json::{Map, Value};

use super::{FrontmatterError, MAX_BYTES, Property};
use crate::note::link::{Link, Quotes};
use crate::note::markdown;

/// The most values in one block; values repeated by aliases count each time.
const MAX_VALUES: usize = 20_000;

/// The deepest nesting of lists and mappings.
const MAX_DEPTH: usize = 64;

/// An open list or mapping.
enum Open {
    List(Vec<Value>),
    Mapping(Map<String, Value>, Option<String>),
}

struct FrontmatterReader<'t> {
    text: &'t str,
    yaml: Range<usize>,
    /// Byte offsets of the block's characters, unless they equal the character indices.
    offsets: Option<Vec<usize>>,
    /// Each with its anchor and its first byte.
    open: Vec<(Open, usize, usize)>,
    anchors: HashMap<usize, Value>,
    values: usize,
    properties: Vec<Property>,
    key: Option<(String, Range<usize>)>,
    /// The positions of the items of its list value.
    items: Vec<Range<usize>>,
}

/// Reads the properties in `yaml`, and adds the links in their values to `links`.
pub(super) fn read(
    text: &str,
    yaml: Range<usize>,
    links: &mut Vec<Link>,
) -> Result<Vec<Property>, FrontmatterError> {
    if yaml.len() > MAX_BYTES {
        return Err(FrontmatterError::TooLarge { what: "over 64 KB" });
    }
    let inside = &text[yaml.clone()];
    let offsets = (!inside.is_ascii()).then(|| inside.char_indices().map(|(at, _)| at).collect());
    let mut reader = FrontmatterReader {
        text,
        yaml,
        offsets,
        open: Vec::new(),
        anchors: HashMap::new(),
        values: 0,
        properties: Vec::new(),
        key: None,
        items: Vec::new(),
    };
    for event in Parser::new_from_str(inside) {
        let (event, span) = event.map_err(|error| reader.syntax(&error))?;
        if matches!(event, Event::DocumentEnd) {
            break;
        }
        reader.handle(event, span, links)?;
    }
    Ok(reader.properties)
}

impl FrontmatterReader<'_> {
    fn handle(
        &mut self,
        event: Event<'_>,
        span: Span,
        links: &mut Vec<Link>,
    ) -> Result<(), FrontmatterError> {
        let at = self.range(&span);
        match event {
            Event::SequenceStart(anchor, _) => self.begin(Open::List(Vec::new()), anchor, at)?,
            Event::MappingStart(anchor, _) => {
                self.begin(Open::Mapping(Map::new(), None), anchor, at)?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some((open, anchor, start)) = self.open.pop() else { return Ok(()) };
                let value = match open {
                    Open::List(values) => Value::Array(values),
                    Open::Mapping(map, _) => Value::Object(map),
                };
                self.store_anchor(anchor, &value)?;
                // The parser's position of a closing bracket extends to the end of the line.
                let closes = self.text[at.start..].starts_with([']', '}']);
                let end = if closes { at.start + 1 } else { at.end };
                let end = start + self.text[start..end.max(start)].trim_end().len();
                self.put(value, start..end)?;
            }
            Event::Scalar(text, style, anchor, tag) => {
                let at = self.quoted(at, style);
                let is_key = self.wants_key();
                let value = scalar(&text, style, tag.as_deref());
                self.store_anchor(anchor, &value)?;
                if !is_key {
                    links.extend(self.link(&at, style, &text));
                }
                match (is_key, &value) {
                    (true, _) => self.name(text.into_owned(), at)?,
                    (false, _) => self.put(value, at)?,
                }
            }
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor).cloned().unwrap_or_default();
                self.values += size(&value);
                match (self.wants_key(), &value) {
                    (true, Value::String(text)) => self.name(text.clone(), at)?,
                    (true, other) => self.name(other.to_string(), at)?,
                    (false, _) => self.put(value, at)?,
                }
            }
            _ => {}
        }
        if self.values > MAX_VALUES {
            Err(FrontmatterError::TooLarge { what: "over 20,000 values" })
        } else {
            Ok(())
        }
    }

    fn begin(
        &mut self,
        open: Open,
        anchor: usize,
        at: Range<usize>,
    ) -> Result<(), FrontmatterError> {
        if self.open.is_empty() && matches!(open, Open::List(_)) {
            return Err(FrontmatterError::NotAMapping);
        }
        if self.wants_key() {
            return Err(self.fault(at.start, "a key is a list or a mapping"));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(FrontmatterError::TooLarge { what: "over 64 levels" });
        }
        self.open.push((open, anchor, at.start));
        Ok(())
    }

    fn wants_key(&self) -> bool {
        matches!(self.open.last(), Some((Open::Mapping(_, None), ..)))
    }

    fn name(&mut self, name: String, at: Range<usize>) -> Result<(), FrontmatterError> {
        let top = self.open.len() == 1;
        let repeated = match self.open.last_mut() {
            Some((Open::Mapping(map, key), ..)) => {
                let repeated = map.contains_key(&name);
                *key = Some(name.clone());
                repeated
            }
            _ => false,
        };
        let repeated =
            repeated || (top && self.properties.iter().any(|property| property.name == name));
        if repeated {
            return Err(FrontmatterError::DuplicateKey { line: self.line(at.start), key: name });
        }
        if top {
            self.key = Some((name, at));
        }
        Ok(())
    }

    fn put(&mut self, value: Value, at: Range<usize>) -> Result<(), FrontmatterError> {
        self.values += 1;
        if self.open.len() == 1 {
            if let (Some((Open::Mapping(_, key), ..)), Some((name, place))) =
                (self.open.last_mut(), self.key.take())
            {
                *key = None;
                let items = std::mem::take(&mut self.items);
                self.properties.push(Property { name, value, key: place, at, items });
            }
            return Ok(());
        }
        if matches!(&self.open[..], [_, (Open::List(_), ..)]) {
            self.items.push(at);
        }
        match self.open.last_mut() {
            Some((Open::List(values), ..)) => values.push(value),
            Some((Open::Mapping(map, key), ..)) => {
                if let Some(key) = key.take() {
                    map.insert(key, value);
                }
            }
            // The document itself: the mapping, or nothing.
            None if value.is_null() || value.is_object() => {}
            None => return Err(FrontmatterError::NotAMapping),
        }
        Ok(())
    }

    fn store_anchor(&mut self, anchor: usize, value: &Value) -> Result<(), FrontmatterError> {
        if anchor > 0 {
            self.values += size(value);
            self.anchors.insert(anchor, value.clone());
        }
        if self.values > MAX_VALUES {
            Err(FrontmatterError::TooLarge { what: "over 20,000 values" })
        } else {
            Ok(())
        }
    }

    /// The position of a scalar up to its closing quote: the parser's position extends to the end
    /// of the line, comments included.
    fn quoted(&self, at: Range<usize>, style: ScalarStyle) -> Range<usize> {
        let mut inside = marks(&self.text[at.clone()]) + 1;
        let raw = &self.text.as_bytes()[at.clone()];
        while let Some(byte) = raw.get(inside) {
            inside += match (style, byte, raw.get(inside + 1)) {
                (ScalarStyle::DoubleQuoted, b'\\', _)
                | (ScalarStyle::SingleQuoted, b'\'', Some(b'\'')) => 2,
                (ScalarStyle::DoubleQuoted, b'"', _) | (ScalarStyle::SingleQuoted, b'\'', _) => {
                    return at.start..at.start + inside + 1;
                }
                _ => 1,
            };
        }
        at
    }

    /// The link that is the whole value of a one-line scalar: quoted, or in a block scalar below
    /// `|` or `>`, where it is unquoted.
    fn link(&self, at: &Range<usize>, style: ScalarStyle, value: &str) -> Option<Link> {
        let raw = self.text.get(at.clone())?;
        let (quotes, mark) = match style {
            ScalarStyle::SingleQuoted => (Quotes::Single, '\''),
            ScalarStyle::DoubleQuoted => (Quotes::Double, '"'),
            ScalarStyle::Literal | ScalarStyle::Folded => {
                let value = value.trim();
                let start = at.start + raw.find(value).filter(|_| !value.is_empty())?;
                return markdown::single_link(self.text, start..start + value.len());
            }
            ScalarStyle::Plain => return None,
        };
        let marks = marks(raw);
        // The parser's position includes a comment after the value.
        let inside = raw[marks..].strip_prefix(mark)?;
        let inside = &inside[..closing_quote(inside, quotes)?];
        let start = at.start + marks + 1 + (inside.len() - inside.trim_start().len());
        let link = markdown::single_link(self.text, start..start + inside.trim().len())?;
        Some(Link { frontmatter: Some(quotes), ..link })
    }

    fn offset(&self, marker: &Marker) -> usize {
        let inside = match &self.offsets {
            Some(offsets) => offsets.get(marker.index()).copied(),
            None => Some(marker.index()),
        };
        let inside = inside.unwrap_or(self.yaml.len());
        self.yaml.start + inside.min(self.yaml.len())
    }

    fn range(&self, span: &Span) -> Range<usize> {
        let start = self.offset(&span.start);
        start..self.offset(&span.end).max(start)
    }

    fn line(&self, offset: usize) -> usize {
        self.text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count() + 1
    }

    fn fault(&self, offset: usize, reason: &str) -> FrontmatterError {
        FrontmatterError::Syntax { line: self.line(offset), reason: reason.to_owned() }
    }

    fn syntax(&self, error: &ScanError) -> FrontmatterError {
        self.fault(self.offset(error.marker()), error.info())
    }
}

/// The number of bytes of an anchor and a tag (`&a`, `!!str`) before a scalar, with the spaces
/// after them; the parser's position includes these.
pub(in crate::note) fn marks(raw: &str) -> usize {
    let mut rest = raw;
    while rest.starts_with(['&', '!']) {
        rest = rest.trim_start_matches(|c: char| !c.is_ascii_whitespace());
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
    }
    raw.len() - rest.len()
}

fn closing_quote(inside: &str, quotes: Quotes) -> Option<usize> {
    let bytes = inside.as_bytes();
    let mut at = 0;
    loop {
        match (quotes, bytes.get(at)?, bytes.get(at + 1)) {
            (Quotes::Single, b'\'', Some(b'\'')) | (Quotes::Double, b'\\', _) => at += 2,
            (Quotes::Single, b'\'', _) | (Quotes::Double, b'"', _) => return Some(at),
            _ => at += 1,
        }
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(size).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let is_text = tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
    match style {
        ScalarStyle::Plain if !is_text => plain(text),
        _ => Value::String(text.to_owned()),
    }
}

/// The value of an unquoted scalar.
pub(in crate::note) fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    number(text).unwrap_or_else(|| Value::String(text.to_owned()))
}

fn number(text: &str) -> Option<Value> {
    let radix = |prefix, radix| {
        let digits = text.strip_prefix(prefix)?;
        i64::from_str_radix(digits, radix).ok().filter(|_| !digits.starts_with(['+', '-']))
    };
    if let Some(value) = radix("0o", 8).or_else(|| radix("0x", 16)) {
        return Some(value.into());
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && digits.contains(|c: char| c.is_ascii_digit())
        && digits
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    if !is_number {
        return None;
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let plain = text.strip_prefix('+').unwrap_or(text);
        if let Ok(value) = plain.parse::<i64>() {
            return Some(value.into());
        }
        // An integer too large for a number is an id and must stay unchanged.
        return None;
    }
    let value: f64 = text.parse().ok()?;
    serde_json::Number::from_f64(value).map(Value::Number)
}
