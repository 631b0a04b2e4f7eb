//! Finds the lines of a property and edits them.

use std::ops::Range;

use serde_json::Value;

use super::super::scalar::{ScalarContext, Style, spell};
use super::super::{Frontmatter, Property, find};
use super::{PropertyError, list};

/// A block whose properties were read without error.
pub(super) struct Block<'t> {
    pub text: &'t str,
    found: &'t Frontmatter,
    properties: &'t [Property],
    pub eol: &'static str,
    /// Whether the whole block is `{…}`: one flow mapping, or JSON.
    braces: bool,
}

/// The positions of a block-style property.
pub(super) struct Lines {
    /// The start of its first line.
    pub start: usize,
    /// The offset after the colon.
    pub colon: usize,
    /// The end of its value, without anything that trails it on the line.
    pub end: usize,
    /// Whether its value begins on a line below the key.
    pub below: bool,
    /// The indentation of its key.
    pub indent: Range<usize>,
}

impl<'t> Block<'t> {
    pub fn new(text: &'t str, found: &'t Frontmatter) -> Result<Self, PropertyError> {
        let properties = found.properties.as_ref();
        let properties = properties.map_err(|error| PropertyError::Unreadable(error.clone()))?;
        let yaml = &text[found.yaml.clone()];
        let first = yaml.lines().map(str::trim_start);
        let braces = first
            .into_iter()
            .find(|line| !line.is_empty() && !line.starts_with('#'))
            .is_some_and(|line| line.starts_with('{'));
        let eol = if text[..found.yaml.start].ends_with("\r\n") { "\r\n" } else { "\n" };
        Ok(Self { text, found, properties, eol, braces })
    }

    fn is_closed(&self) -> bool {
        self.found.yaml.end < self.found.range.end
    }

    /// The text with a new property after the others.
    pub fn add(&self, name: &str, value: &Value) -> Result<String, PropertyError> {
        if self.braces {
            let pair = format!("{}: {}", json(&name.into()), json(value));
            return Ok(match self.properties.last() {
                Some(last) => {
                    let end = if last.at.is_empty() { last.key.end } else { last.at.end };
                    self.with(end..end, &format!(", {pair}"))
                }
                None => {
                    let yaml = &self.text[self.found.yaml.clone()];
                    let brace = yaml
                        .find('{')
                        .map_or(self.found.yaml.end, |at| self.found.yaml.start + at + 1);
                    self.with(brace..brace, &pair)
                }
            });
        }
        if !self.is_closed() {
            return Err(PropertyError::Unclosed);
        }
        let indent = match self.properties.first() {
            Some(first) => &self.text[self.lines(first)?.indent],
            None => "",
        };
        let lines = property_lines(indent, name, value, self.list_indent(), self.eol);
        Ok(self.with(self.found.yaml.end..self.found.yaml.end, &lines))
    }

    /// The text with a new value for the property at `place`.
    pub fn set(&self, place: usize, value: &Value) -> Result<String, PropertyError> {
        let property = &self.properties[place];
        let old = &self.text[property.at.clone()];
        if self.braces {
            if property.at.is_empty() {
                return Err(unsupported_form(&property.name));
            }
            return Ok(self.with(property.at.clone(), &json(value)));
        }
        let lines = self.lines(property)?;
        let items = match value {
            Value::Array(items) if !items.is_empty() => items,
            _ => return Ok(self.set_inline(property, &lines, value)),
        };
        if !lines.below && old.starts_with('[') {
            let new = list::inline(self.text, property, items);
            return Ok(self.with(property.at.clone(), &new));
        }
        if lines.below
            && let Some(segments) =
                list::segments(&self.text[self.value_lines(property, &lines)], property)
        {
            let new = list::merged(&segments, property, items, self.eol);
            return Ok(self.with(self.value_lines(property, &lines), &new));
        }
        let indent = format!("{}{}", &self.text[lines.indent.clone()], self.list_indent());
        let new = list::lines(&indent, items, self.eol);
        if lines.below {
            return Ok(self.with(self.value_lines(property, &lines), &new));
        }
        let end = line_end(self.text, lines.end);
        let rest = &self.text[lines.end..end];
        let newline = if rest.ends_with('\n') { "" } else { self.eol };
        Ok(self.with(lines.colon..end, &format!("{}{newline}{new}", rest)))
    }

    /// Writes a one-line value after the colon.
    fn set_inline(&self, property: &Property, lines: &Lines, value: &Value) -> String {
        let style = Style::of(&self.text[property.at.clone()]);
        let spelt = spell(value, style, ScalarContext::Block);
        let blank = if spelt.is_empty() { "" } else { " " };
        if lines.below {
            let old = self.value_lines(property, lines);
            let kept = list::segments(&self.text[old.clone()], property);
            let kept = kept.map(|segments| list::comments(&segments)).unwrap_or_default();
            let head = &self.text[lines.colon..old.start];
            return self.with(lines.colon..old.end, &format!("{blank}{spelt}{head}{kept}"));
        }
        let lead = &self.text[lines.colon..property.at.start.clamp(lines.colon, lines.end)];
        let keep_lead = !lead.is_empty() && lead.trim().is_empty() && !spelt.is_empty();
        let lead = if keep_lead { lead } else { blank };
        self.with(lines.colon..lines.end, &format!("{lead}{spelt}"))
    }

    /// The text without the property at `place`; without the block if it was the last one.
    pub fn remove(&self, place: usize) -> Result<String, PropertyError> {
        let property = &self.properties[place];
        let cut = if self.braces {
            match (place.checked_sub(1), self.properties.get(place + 1)) {
                (Some(before), _) => {
                    let before = &self.properties[before];
                    before.at.end.max(before.key.end)..property.at.end.max(property.key.end)
                }
                (None, Some(next)) => property.key.start..next.key.start,
                (None, None) => self.found.yaml.clone(),
            }
        } else {
            let lines = self.lines(property)?;
            lines.start..line_end(self.text, lines.end)
        };
        let inside = self.found.yaml.clone();
        let left = [&self.text[inside.start..cut.start], &self.text[cut.end..inside.end]];
        if self.properties.len() > 1 || left.iter().any(|left| !left.trim().is_empty()) {
            return Ok(self.with(cut, ""));
        }
        if !self.is_closed() {
            return Err(PropertyError::Unclosed);
        }
        let whole = self.with(self.found.range.clone(), "");
        // The text after the block may look like a block itself once it comes first: then the empty
        // block stays, with its empty lines.
        match find(&whole, self.found.range.start) {
            None => Ok(whole),
            Some(_) => Ok(self.with(cut, "")),
        }
    }

    /// The lines of a value that begins below its key.
    fn value_lines(&self, property: &Property, lines: &Lines) -> Range<usize> {
        line_start(self.text, property.at.start)..line_end(self.text, lines.end)
    }

    fn lines(&self, property: &Property) -> Result<Lines, PropertyError> {
        let text = self.text;
        let start = line_start(text, property.key.start);
        let indent = start..property.key.start;
        let after = &text[property.key.end..];
        let blanks = after.len() - after.trim_start_matches([' ', '\t']).len();
        let colon = property.key.end + blanks + 1;
        if !text[indent.clone()].bytes().all(|byte| byte == b' ')
            || !after[blanks..].starts_with(':')
        {
            return Err(unsupported_form(&property.name));
        }
        let value = &text[property.at.clone()];
        // The indicator of a block scalar is not part of the parser's position.
        let behind = &text[colon..line_end(text, colon)];
        let is_marked = behind.trim_start().starts_with(['|', '>']);
        if value.trim().is_empty() || property.at.start < colon {
            let end = colon + if is_marked { behind.trim_end().len() } else { 0 };
            return Ok(Lines { start, colon, end, below: false, indent });
        }
        // Comments indented no deeper than the key belong to the next property.
        let mut end = property.at.start + value.trim_end().len();
        while let Some(last) = text[property.at.start..end].rfind('\n') {
            let line = &text[property.at.start + last + 1..end];
            let deep = line.len() - line.trim_start_matches(' ').len();
            if !(line.trim().is_empty() || (deep <= indent.len() && line.trim().starts_with('#'))) {
                break;
            }
            let before = &text[property.at.start..property.at.start + last];
            end = property.at.start + before.trim_end().len();
        }
        let behind = text[colon..property.at.start].split_once('\n').map(|(line, _)| line.trim());
        let below = behind.is_some_and(|line| line.is_empty() || line.starts_with('#'));
        Ok(Lines { start, colon, end, below, indent })
    }

    /// The indentation of the block's lists below their keys; without lists, Obsidian's.
    fn list_indent(&self) -> &'t str {
        let indents = self.properties.iter().filter_map(|property| {
            // An empty value has no line.
            let lines = self.lines(property).ok().filter(|lines| lines.below)?;
            let first = &self.text[line_start(self.text, property.at.start)..lines.end];
            let deep = first.len() - first.trim_start_matches(' ').len();
            let is_list = first[deep..].starts_with('-');
            is_list.then(|| first[..deep].get(lines.indent.len()..)).flatten()
        });
        indents.into_iter().next().unwrap_or("  ")
    }

    fn with(&self, range: Range<usize>, new: &str) -> String {
        format!("{}{new}{}", &self.text[..range.start], &self.text[range.end..])
    }
}

pub(super) fn property_lines(
    indent: &str,
    name: &str,
    value: &Value,
    list_indent: &str,
    eol: &str,
) -> String {
    // Stricter than YAML requires, since a colon in a key misleads the reader.
    let name = spell(&name.into(), Style::Plain, ScalarContext::Flow);
    match value {
        Value::Array(items) if !items.is_empty() => {
            let items = list::lines(&format!("{indent}{list_indent}"), items, eol);
            format!("{indent}{name}:{eol}{items}")
        }
        _ => {
            let value = spell(value, Style::Plain, ScalarContext::Block);
            let blank = if value.is_empty() { "" } else { " " };
            format!("{indent}{name}:{blank}{value}{eol}")
        }
    }
}

fn json(value: &Value) -> String {
    spell(value, Style::Double, ScalarContext::Json)
}

fn unsupported_form(name: &str) -> PropertyError {
    let reason = "it is not on lines of its own".to_owned();
    PropertyError::Unsafe { name: name.to_owned(), reason }
}

pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// The offset after the newline of the line with byte `at`.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}
