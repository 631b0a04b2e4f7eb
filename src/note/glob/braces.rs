//! Expands the alternatives `{a,b}` of a glob into plain patterns.

use super::{MAX_ALTERNATIVES, MAX_DEPTH};

enum BracePart<'a> {
    Text(&'a str),
    OneOf(Vec<Vec<BracePart<'a>>>),
}

/// How to read ambiguous characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signs {
    /// Braces around a single choice are that choice.
    Syntax,
    /// Such braces are literal, and so is the character after each `\`.
    Literal,
}

/// Every pattern that the braces expand to; `None` if there are too many or they are nested too
/// deep.
pub fn expand(pattern: &str, signs: Signs) -> Option<Vec<String>> {
    let partners = partners(pattern);
    let parts = parse(pattern, 0, &partners, 0, signs)?;
    (count(&parts) <= MAX_ALTERNATIVES).then(|| unfold(&parts))
}

/// For each byte that opens a matched brace, the offset of its partner.
fn partners(pattern: &str) -> Vec<Option<usize>> {
    let mut partners = vec![None; pattern.len()];
    let mut open = Vec::new();
    let mut bytes = pattern.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            // Only a literal reading has them, each before the character that it escapes.
            b'\\' => {
                bytes.next();
            }
            b'{' => open.push(at),
            b'}' => {
                if let Some(start) = open.pop() {
                    partners[start] = Some(at);
                }
            }
            _ => {}
        }
    }
    partners
}

/// Parses `text`, which starts at byte `base` of the pattern.
fn parse<'a>(
    text: &'a str,
    base: usize,
    partners: &[Option<usize>],
    depth: usize,
    signs: Signs,
) -> Option<Vec<BracePart<'a>>> {
    if depth > MAX_DEPTH {
        return None;
    }
    let mut parts = Vec::new();
    let (mut from, mut at) = (0, 0);
    while at < text.len() {
        let Some(close) = partners[base + at].map(|close| close - base) else {
            at += 1;
            continue;
        };
        parts.push(BracePart::Text(&text[from..at]));
        let mut choices = Vec::new();
        let mut start = at + 1;
        let mut inner = start;
        while inner <= close {
            match (partners[base + inner], text.as_bytes()[inner]) {
                (Some(skip), _) => inner = skip - base,
                (None, b',' | b'}') if inner == close || text.as_bytes()[inner] == b',' => {
                    let choice = &text[start..inner];
                    choices.push(parse(choice, base + start, partners, depth + 1, signs)?);
                    start = inner + 1;
                }
                _ => {}
            }
            inner += 1;
        }
        if let [choice] = &mut choices[..]
            && signs == Signs::Literal
        {
            choice.insert(0, BracePart::Text(&text[at..=at]));
            choice.push(BracePart::Text(&text[close..=close]));
        }
        parts.push(BracePart::OneOf(choices));
        (from, at) = (close + 1, close + 1);
    }
    parts.push(BracePart::Text(&text[from..]));
    Some(parts)
}

/// The number of patterns, computed before any is built.
fn count(parts: &[BracePart<'_>]) -> usize {
    parts.iter().fold(1, |product: usize, part| match part {
        BracePart::Text(_) => product,
        BracePart::OneOf(choices) => {
            let sum =
                choices.iter().fold(0, |sum: usize, choice| sum.saturating_add(count(choice)));
            product.saturating_mul(sum)
        }
    })
}

fn unfold(parts: &[BracePart<'_>]) -> Vec<String> {
    parts.iter().fold(vec![String::new()], |starts, part| {
        let ends = match part {
            BracePart::Text(text) => vec![(*text).to_owned()],
            BracePart::OneOf(choices) => choices.iter().flat_map(|choice| unfold(choice)).collect(),
        };
        starts
            .iter()
            .flat_map(|start| ends.iter().map(move |end| format!("{start}{end}")))
            .collect()
    })
}
