//! Passages of a found note: snippets around the words, and the headings to cite them by.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::index::knowledge::content::{Content, Kind};
use crate::index::knowledge::words;
use crate::note::chunks::{self, Chunk};
use crate::note::markdown::Document;

/// The most characters of a snippet, including ellipses.
const SNIPPET: usize = 300;

/// Characters of context before the first matching word.
const BEFORE: usize = 60;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Passage {
    /// The headings above it, the top one first; of a PDF the page.
    pub headings: Vec<String>,
    /// `#heading` or `#page=1`; empty above the first heading and in a canvas.
    pub subpath: String,
    /// From 1; 0 in a canvas or a PDF.
    pub first_line: usize,
    pub last_line: usize,
    pub snippet: String,
}

/// The passages of these chunks of `text`, without those that have none of the words if others do, except the one that is
/// `near` in meaning. `marks` has the weight of each word.
pub(super) fn of(
    content: &Content<'_>,
    numbers: &[usize],
    near: Option<usize>,
    marks: &HashMap<String, f64>,
) -> Vec<Passage> {
    let (text, document) = (&*content.text, &content.document);
    let chunks = chunks::cut(text, document);
    let mut passages = Vec::new();
    // The note may have fewer chunks than when it was indexed.
    for (number, chunk) in numbers.iter().filter_map(|it| Some((*it, chunks.get(*it)?))) {
        let matches = matches(text, chunk, marks);
        if !matches.is_empty() || near == Some(number) {
            passages.push(passage(content, chunk, &matches));
        }
    }
    if passages.is_empty() {
        passages.extend(chunks.first().map(|chunk| passage(content, chunk, &[])));
    }
    passages
}

/// An occurrence of a word of the search: its place, the word, and its weight.
type Met = (Range<usize>, String, f64);

fn matches(text: &str, chunk: &Chunk, marks: &HashMap<String, f64>) -> Vec<Met> {
    let mut matches = Vec::new();
    let start = chunk.range.start;
    words::each(&text[chunk.range.clone()], |range, word| {
        if let Some(weight) = marks.get(word) {
            matches.push((start + range.start..start + range.end, word.to_owned(), *weight));
        }
    });
    matches
}

fn passage(content: &Content<'_>, chunk: &Chunk, matches: &[Met]) -> Passage {
    let (text, document) = (&*content.text, &content.document);
    let at = best(matches).map_or(chunk.range.start, |at| matches[at].0.start);
    if content.kind != Kind::Note {
        // A card has no place to link to.
        let page = chunk.path.first().filter(|_| content.kind == Kind::Pdf).map(|page| page + 1);
        return Passage {
            headings: page.iter().map(|page| format!("page {page}")).collect(),
            subpath: page.map_or(String::new(), |page| format!("#page={page}")),
            first_line: 0,
            last_line: 0,
            snippet: snippet(text, chunk.range.clone(), at),
        };
    }
    let above = chunks::headings_above(text, document, at);
    let headings = above.iter().map(|number| text[document.headings[*number].text.clone()].trim());
    let headings: Vec<String> = headings.map(str::to_owned).collect();
    Passage {
        subpath: subpath(text, document, &above),
        headings,
        first_line: chunk.first_line,
        last_line: chunk.last_line,
        snippet: snippet(text, text_below(text, document, chunk, &above), at),
    }
}

/// The text of a chunk below its last heading, which is shown separately; the whole chunk if nothing is below.
fn text_below(text: &str, document: &Document, chunk: &Chunk, above: &[usize]) -> Range<usize> {
    let range = chunk.range.clone();
    let heading = above.last().map(|number| document.headings[*number].text.end);
    let Some(end) = heading.filter(|end| range.contains(end)) else { return range };
    match text[end..range.end].find('\n').map(|newline| end + newline + 1) {
        Some(start) if !text[start..range.end].trim().is_empty() => start..range.end,
        _ => range,
    }
}

/// The occurrence at which a snippet has the greatest total weight of distinct words.
fn best(matches: &[Met]) -> Option<usize> {
    let mut best = (None, 0.0);
    for (at, (first, ..)) in matches.iter().enumerate() {
        let mut seen = HashSet::new();
        // In bytes: a lower bound of the characters that fit.
        let inside =
            matches[at..].iter().take_while(|(it, ..)| it.end - first.start <= SNIPPET - BEFORE);
        let sum: f64 =
            inside.filter(|(_, word, _)| seen.insert(word)).map(|(.., weight)| weight).sum();
        if best.0.is_none() || sum > best.1 {
            best = (Some(at), sum);
        }
    }
    best.0
}

/// The text around `at` as one line of whole words, with ellipses where it is cut.
fn snippet(text: &str, range: Range<usize>, at: usize) -> String {
    let before = &text[range.start..at.max(range.start)];
    let start = match before.char_indices().rev().nth(BEFORE) {
        None => range.start,
        Some((far, _)) => {
            let near =
                before[far..].find(char::is_whitespace).map_or(before.len(), |blank| far + blank);
            range.start + near
        }
    };
    let rest = &text[start..range.end];
    let mut shown = String::new();
    let mut is_whole = true;
    let mut count = 0;
    for word in rest.split_whitespace() {
        let length = word.chars().count();
        let room = SNIPPET - 4;
        if count + length + 1 > room {
            is_whole = false;
            if count == 0 {
                shown.extend(word.chars().take(room));
            }
            break;
        }
        if count > 0 {
            shown.push(' ');
        }
        shown.push_str(word);
        count += length + 1;
    }
    let begin = if text[range.start..start].trim().is_empty() { "" } else { "… " };
    let end = if is_whole { "" } else { " …" };
    format!("{begin}{shown}{end}")
}

/// The subpath of a link to the last of these headings, with parent headings if its name is not unique.
fn subpath(text: &str, document: &Document, above: &[usize]) -> String {
    let name = |number: &usize| link_heading(&text[document.headings[*number].text.clone()]);
    let Some(last) = above.last().map(name).filter(|name| !name.is_empty()) else {
        return String::new();
    };
    let same =
        (0..document.headings.len()).filter(|number| name(number).eq_ignore_ascii_case(&last));
    let names: Vec<String> = match same.count() {
        1 => vec![last],
        _ => above.iter().map(name).filter(|name| !name.is_empty()).collect(),
    };
    names.iter().map(|name| format!("#{name}")).collect()
}

/// A heading as written in a link: without characters that have a meaning there.
fn link_heading(heading: &str) -> String {
    let plain = heading.replace("%%", " ").replace(['#', '|', '^', '[', ']', '\\'], " ");
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{of as of_content, *};
    use crate::note::path::VaultPath;

    fn of(
        text: &str,
        numbers: &[usize],
        near: Option<usize>,
        marks: &HashMap<String, f64>,
    ) -> Vec<Passage> {
        let path = VaultPath::from_disk("Note.md").expect("a path");
        of_content(&Content::of(path.borrowed(), text), numbers, near, marks)
    }

    fn marks(words: &[&str]) -> HashMap<String, f64> {
        words.iter().map(|word| ((*word).to_owned(), 1.0)).collect()
    }

    #[test]
    fn a_passage_is_cited_by_the_heading_above_its_words() {
        let text = "# One\nshort\n## A [[b|c]]\nmore of the kettle here\n# Two\n## Same\nx\n# Three\n## Same\nkettle";
        let found = of(text, &[0, 2], None, &marks(&["kettle"]));
        let links: Vec<_> =
            found.iter().map(|it| (&*it.subpath, it.first_line, it.last_line)).collect();
        assert_eq!(links, [("#A b c", 1, 4), ("#Three#Same", 8, 10)]);
        assert_eq!(found[0].headings, ["One", "A [[b|c]]"]);
        assert_eq!(found[0].snippet, "more of the kettle here");
        assert_eq!(found[1].snippet, "kettle");
        let begun = of("plain text", &[7], None, &marks(&["kettle"]));
        assert_eq!((&*begun[0].snippet, &*begun[0].subpath), ("plain text", ""));
        let near: Vec<_> = of(text, &[0, 2, 1], Some(1), &marks(&["glue"])).into_iter().collect();
        assert_eq!((near.len(), near[0].first_line), (1, 5));
        assert_eq!(of("", &[0], Some(0), &marks(&[])), []);
    }

    #[test]
    fn a_snippet_is_about_the_words() {
        let text = format!("{}the rare kettle {}", "filler ".repeat(60), "more ".repeat(60));
        let found = of(&text, &[0], None, &marks(&["rare", "kettle"]));
        assert!(found[0].snippet.starts_with("… "), "{}", found[0].snippet);
        assert!(found[0].snippet.contains("the rare kettle more"), "{}", found[0].snippet);
        assert!(found[0].snippet.ends_with(" …"), "{}", found[0].snippet);
    }

    proptest! {
        #[test]
        fn a_snippet_is_never_too_long(text in "([a-z漢]{0,9}[ \n#é]|kettle |x{200}){0,90}", at in 0..4usize) {
            for passage in of(&text, &[at], Some(at), &marks(&["kettle", "漢漢"])) {
                prop_assert!(passage.snippet.chars().count() <= SNIPPET, "{}", passage.snippet);
                prop_assert!(passage.first_line <= passage.last_line);
            }
        }
    }
}
