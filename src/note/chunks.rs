//! Splits a note into chunks, the units of search, ranking and citation.
//!
//! A chunk is a section, from one heading to the next. A long section becomes several chunks, split between
//! paragraphs if possible; short sections below the same top heading are joined. Chunks exclude the frontmatter.

use std::ops::Range;

use super::markdown::Document;

/// Characters of the longest chunk.
const LONGEST: usize = 1_200;

/// Characters below which a section joins its neighbour.
const SHORT: usize = 200;

/// The most chunks of a note. The last one has the rest of the text.
const MAX_CHUNKS: usize = 2_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The bytes of the text, on character boundaries. The heading's line is part of it.
    pub range: Range<usize>,
    /// The first line, from 1.
    pub first_line: usize,
    /// The last line, inclusive.
    pub last_line: usize,
    /// The headings above its beginning, the top one first, as positions in [`Document::headings`].
    pub path: Vec<usize>,
}

/// The chunks of a note in the order of the text; `document` is the parsed `text`. They do not overlap, and cover
/// all of the body but white space.
pub fn cut(text: &str, document: &Document) -> Vec<Chunk> {
    let mut pieces: Vec<(Range<usize>, Vec<usize>)> = Vec::new();
    for (mut rest, path) in sections(text, document) {
        while !rest.is_empty() {
            let range = rest.start..rest.start + piece(&text[rest.clone()]);
            rest.start = range.end;
            if !text[range.clone()].trim().is_empty() {
                pieces.push((range, path.clone()));
            }
        }
    }
    if let Some((all, _)) = pieces.get(MAX_CHUNKS..).and_then(|beyond| beyond.last()).cloned() {
        pieces.truncate(MAX_CHUNKS);
        pieces[MAX_CHUNKS - 1].0.end = all.end;
    }
    let (mut line, mut counted) = (1, 0);
    let chunk = |(range, path): (Range<usize>, Vec<usize>)| {
        line += newlines(&text[counted..range.start]);
        counted = range.start;
        let last_line = line + newlines(text[range.clone()].trim_end());
        Chunk { range, first_line: line, last_line, path }
    };
    pieces.into_iter().map(chunk).collect()
}

/// The headings above the byte `at`, the top one first, as positions in [`Document::headings`]. A heading is
/// above its own line.
pub fn headings_above(text: &str, document: &Document, at: usize) -> Vec<usize> {
    let mut path = Vec::new();
    let headings = document.headings.iter().enumerate();
    let above = headings.take_while(|(_, heading)| line_start(text, heading.text.start) <= at);
    above.for_each(|(number, _)| enter(&mut path, document, number));
    path
}

/// The sections of the body, short ones joined, each with the headings above its beginning.
fn sections(text: &str, document: &Document) -> Vec<(Range<usize>, Vec<usize>)> {
    let mut sections: Vec<(Range<usize>, Vec<usize>)> = Vec::new();
    let mut add = |section: Range<usize>, path: &[usize]| {
        let Some((last, above)) =
            sections.last_mut().filter(|(_, above)| above.first() == path.first())
        else {
            sections.push((section, path.to_vec()));
            return;
        };
        let both = last.start..section.end;
        let is_short =
            [&*last, &section].into_iter().any(|part| !is_longer(&text[part.clone()], SHORT));
        if is_short && !above.is_empty() && !is_longer(&text[both.clone()], LONGEST) {
            *last = both
        } else {
            sections.push((section, path.to_vec()))
        }
    };
    let (mut start, mut path) = (document.body.min(text.len()), Vec::new());
    for (number, heading) in document.headings.iter().enumerate() {
        let line = line_start(text, heading.text.start);
        if line > start {
            add(start..line, &path);
            start = line;
        }
        enter(&mut path, document, number);
    }
    add(start..text.len(), &path);
    sections
}

/// Updates the heading path for the next heading, `number`.
fn enter(path: &mut Vec<usize>, document: &Document, number: usize) {
    let level = document.headings[number].level;
    path.retain(|above| document.headings[*above].level < level);
    path.push(number);
}

/// The length in bytes of the first chunk of a section.
fn piece(section: &str) -> usize {
    let Some(longest) = beyond(section, LONGEST) else { return section.len() };
    let window = &section[..longest];
    let blank = || {
        let (at, blank) = window.char_indices().rfind(|(_, c)| c.is_whitespace())?;
        Some(at + blank.len_utf8())
    };
    let after = |mark: &str| window.rfind(mark).map(|at| at + mark.len());
    let paragraph = after("\n\n").max(after("\n\r\n"));
    // A split near the start would leave a tiny chunk.
    let is_far = |at: &usize| *at > longest / 4;
    let far = |at: Option<usize>| at.filter(is_far);
    far(paragraph).or_else(|| far(after("\n"))).or_else(|| far(blank())).unwrap_or(longest)
}

fn is_longer(text: &str, characters: usize) -> bool {
    beyond(text, characters).is_some()
}

/// The offset after this many characters of a longer text.
fn beyond(text: &str, characters: usize) -> Option<usize> {
    if text.as_bytes().get(..=characters)?.is_ascii() {
        Some(characters)
    } else {
        text.char_indices().nth(characters).map(|(at, _)| at)
    }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::note::markdown;

    fn cuts(text: &str) -> Vec<(Vec<String>, usize, usize, String)> {
        let document = markdown::read(text);
        let chunks = cut(text, &document).into_iter();
        let name = |at: &usize| text[document.headings[*at].text.clone()].to_owned();
        let seen = |chunk: Chunk| {
            let path = chunk.path.iter().map(name).collect();
            (path, chunk.first_line, chunk.last_line, text[chunk.range].trim().to_owned())
        };
        chunks.map(seen).collect()
    }

    #[test]
    fn sections_are_chunks() {
        let long = "word ".repeat(50);
        let text = format!(
            "---\ntags: [a]\n---\nbegin\n# One\n{long}\n## Two\n{long}\n\n# Three\nshort\n## Four\nshort\n"
        );
        let path = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let found = cuts(&text);
        let places: Vec<_> = found.iter().map(|it| (it.0.clone(), it.1, it.2)).collect();
        assert_eq!(
            places,
            [
                (path(&[]), 4, 4),
                (path(&["One"]), 5, 6),
                (path(&["One", "Two"]), 7, 8),
                (path(&["Three"]), 10, 13),
            ]
        );
        assert_eq!(found[3].3, "# Three\nshort\n## Four\nshort");
        assert_eq!(cuts(""), []);
        assert_eq!(cuts("---\na: b\n---\n \n"), []);
    }

    #[test]
    fn long_sections_are_cut_between_paragraphs() {
        let paragraph = "sense ".repeat(100);
        let text = format!("# A\n{paragraph}\n\n{paragraph}\n\n{paragraph}");
        let found = cuts(&text);
        assert_eq!(
            found.iter().map(|it| (it.1, it.2)).collect::<Vec<_>>(),
            [(1, 2), (4, 4), (6, 6)]
        );
        assert_eq!(cuts(&"x".repeat(3_000)).len(), 3);
    }

    #[test]
    fn the_last_of_very_many_has_the_rest() {
        let text = "x\n".repeat(1_300_000);
        let found = cut(&text, &Document::default());
        assert_eq!(found.len(), MAX_CHUNKS);
        assert_eq!(found.last().map(|chunk| chunk.range.end), Some(text.len()));
    }

    proptest! {
        #[test]
        fn any_text_is_cut_and_nothing_is_lost(parts in prop::collection::vec(
            prop_oneof!["[#a-cä\\n\\r `]{0,30}", "(# x\n|## y\r\n|```\n|---\n|\n\n){1,5}", "[a漢 ]{900,1500}"], 0..8,
        )) {
            let text = parts.concat();
            let document = markdown::read(&text);
            let mut end = document.body;
            for chunk in cut(&text, &document) {
                prop_assert!(text[end..chunk.range.start].trim().is_empty());
                prop_assert!(!text[chunk.range.clone()].trim().is_empty());
                prop_assert_eq!(chunk.first_line, newlines(&text[..chunk.range.start]) + 1);
                prop_assert!(chunk.first_line <= chunk.last_line);
                prop_assert!(!is_longer(&text[chunk.range.clone()], LONGEST));
                let levels: Vec<u8> = chunk.path.iter().map(|at| document.headings[*at].level).collect();
                prop_assert!(levels.is_sorted_by(|a, b| a < b));
                let above = headings_above(&text, &document, chunk.range.start);
                prop_assert_eq!(chunk.path, above);
                end = chunk.range.end;
            }
            prop_assert!(text[end..].trim().is_empty());
        }
    }
}
