//! Edits list properties: the items that stay keep their lines and comments.

use serde_json::Value;

use super::super::Property;
use super::super::scalar::{ScalarContext, Style, spell};

/// A line of a block list.
pub(super) enum Segment<'t> {
    /// The item with this index.
    Item(usize, &'t str),
    /// A comment or an empty line.
    Other(&'t str),
}

/// The lines of a block list; `None` if an item takes several lines, or is a list or mapping.
pub(super) fn segments<'t>(text: &'t str, property: &Property) -> Option<Vec<Segment<'t>>> {
    let values = property.value.as_array()?;
    let mut next = 0;
    let mut segments = Vec::new();
    for line in text.split_inclusive('\n') {
        let inside = line.trim();
        if inside == "-" || inside.starts_with("- ") {
            let nested = values.get(next)?.is_array() || values.get(next)?.is_object();
            if nested {
                return None;
            }
            segments.push(Segment::Item(next, line));
            next += 1;
        } else if inside.is_empty() || inside.starts_with('#') {
            segments.push(Segment::Other(line));
        } else {
            return None;
        }
    }
    (next == values.len()).then_some(segments)
}

/// The lines of a list that now holds `items`: existing items keep their lines, in their order.
pub(super) fn merged(
    segments: &[Segment<'_>],
    property: &Property,
    items: &[Value],
    eol: &str,
) -> String {
    let old = property.value.as_array().map(Vec::as_slice).unwrap_or_default();
    let first = segments.iter().find_map(|segment| match segment {
        Segment::Item(_, line) => Some(*line),
        Segment::Other(_) => None,
    });
    let first = first.unwrap_or_default();
    let indent = &first[..first.len() - first.trim_start().len()];
    let mut new = String::new();
    let mut from = 0;
    for item in items {
        let same =
            |segment: &Segment<'_>| matches!(segment, Segment::Item(at, _) if old[*at] == *item);
        match segments[from..].iter().position(same) {
            Some(ahead) => {
                new.push_str(&comments(&segments[from..from + ahead]));
                let (Segment::Item(_, line) | Segment::Other(line)) = segments[from + ahead];
                push_line(&mut new, line, eol);
                from += ahead + 1;
            }
            None => push_line(&mut new, &lines(indent, std::slice::from_ref(item), eol), eol),
        }
    }
    new.push_str(&comments(&segments[from..]));
    let ended = segments.last().is_none_or(|last| {
        let (Segment::Item(_, line) | Segment::Other(line)) = last;
        line.ends_with('\n')
    });
    if !ended {
        new.truncate(new.trim_end_matches(['\r', '\n']).len());
    }
    new
}

fn push_line(new: &mut String, line: &str, eol: &str) {
    new.push_str(line);
    if !line.ends_with('\n') {
        new.push_str(eol);
    }
}

/// The lines that are not items.
pub(super) fn comments(segments: &[Segment<'_>]) -> String {
    let others = segments.iter().filter_map(|segment| match segment {
        Segment::Other(line) => Some(*line),
        Segment::Item(..) => None,
    });
    others.collect()
}

pub(super) fn lines(indent: &str, items: &[Value], eol: &str) -> String {
    let line = |item: &Value| {
        let spelt = spell(item, Style::Plain, ScalarContext::Block);
        let blank = if spelt.is_empty() { "" } else { " " };
        format!("{indent}-{blank}{spelt}{eol}")
    };
    items.iter().map(line).collect()
}

/// A list between brackets; existing items keep their spelling.
pub(super) fn inline(text: &str, property: &Property, items: &[Value]) -> String {
    let old = property.value.as_array().map(Vec::as_slice).unwrap_or_default();
    let was = |item: &Value| {
        let at = old.iter().position(|old| old == item)?;
        let raw = text.get(property.items.get(at)?.clone())?.trim();
        (!raw.is_empty() && !raw.contains('\n')).then(|| raw.to_owned())
    };
    let items: Vec<String> = items
        .iter()
        .map(|item| was(item).unwrap_or_else(|| spell(item, Style::Plain, ScalarContext::Flow)))
        .collect();
    format!("[{}]", items.join(", "))
}
