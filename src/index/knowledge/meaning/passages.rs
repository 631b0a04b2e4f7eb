//! The input of the model for a chunk: the note's name, the headings above, and the text's prose.

use std::sync::LazyLock;

use regex::Regex;

use crate::index::knowledge::content::{Content, Kind};
use crate::note::chunks;
use crate::note::link::{Link, LinkKind};
use crate::note::markdown::Document;
use crate::note::path::VaultPath;

/// Bytes of the longest passage that is read. Only the last chunk of a very long note has more.
const LONGEST: usize = 8_000;

/// HTML tags and comments.
static MARKUP: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"</?[a-zA-Z!][^<>\n]{0,300}>|(?s)%%.*?%%").ok());

/// Calls `found` with the passage of each chunk of a file, in order.
pub(super) fn each(path: &VaultPath, content: &Content<'_>, mut found: impl FnMut(&str)) {
    let (text, document) = (&*content.text, &content.document);
    let mut passage = String::new();
    for chunk in chunks::cut(text, document) {
        passage.clear();
        passage.push_str(path.stem());
        for heading in &chunk.path {
            let name = text[document.headings[*heading].text.clone()].trim();
            if !name.is_empty() || content.kind == Kind::Note {
                passage.push_str(" > ");
                passage.push_str(name);
            }
        }
        passage.push('\n');
        prose(text, document, chunk.range.start, chunk.range.end, &mut passage);
        let end = (0..=LONGEST.min(passage.len())).rev().find(|at| passage.is_char_boundary(*at));
        passage.truncate(end.unwrap_or(0));
        match MARKUP.as_ref() {
            Some(markup) => found(&markup.replace_all(&passage, " ")),
            None => found(&passage),
        }
    }
}

/// Appends a part of the text without the addresses of images and of links that show another text.
fn prose(text: &str, document: &Document, mut start: usize, end: usize, to: &mut String) {
    let first = document.links.partition_point(|link| link.range.start < start);
    let inside = document.links[first..].iter().take_while(|link| link.range.end <= end);
    for link in inside.filter(|link| link.frontmatter.is_none()) {
        // A link in the text of another is gone with it.
        if link.range.start < start {
            continue;
        }
        to.push_str(&text[start..link.range.start]);
        to.push_str(link_text(text, link));
        start = link.range.end;
    }
    to.push_str(&text[start..end]);
}

/// The text of a link as a reader sees it.
fn link_text<'t>(text: &'t str, link: &Link) -> &'t str {
    let name = match link.kind {
        LinkKind::Image | LinkKind::Embed => {
            link.display.clone().filter(|_| link.kind == LinkKind::Image)
        }
        LinkKind::Markdown => link.display.clone(),
        LinkKind::Wikilink => Some(link.display.clone().unwrap_or_else(|| link.path.clone())),
    };
    name.map_or("", |range| &text[range])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::note::markdown;

    fn passages(text: &str) -> Vec<String> {
        let mut passages = Vec::new();
        let path = VaultPath::from_disk("Folder/Kettle.md").expect("a path");
        each(&path, &Content::of(path.borrowed(), text), |passage| {
            passages.push(passage.to_owned())
        });
        passages
    }

    #[test]
    fn prose_is_read_below_its_headings() {
        let text = "---\na: b\n---\n# Care\nSee [[Water|the water]], [[Tea]] and [this](http://x.y/z).\n\
                    ![a lid](lid.png) ![[pot.png]] <b>bold</b> %%hidden%% 1 < 2\n";
        let passage = passages(text).concat();
        assert_eq!(passage.lines().next(), Some("Kettle > Care"));
        assert!(passage.contains("See the water, Tea and this."), "{passage}");
        let words: Vec<&str> = passage.split_whitespace().collect();
        assert!(words.join(" ").ends_with("this. a lid bold 1 < 2"), "{passage}");
    }

    proptest! {
        #[test]
        fn any_note_has_a_passage_for_each_chunk(text in "(\\PC|[\\[\\]()!|#%<>\n]|\\[\\[a\\|b\\]\\]|# x\n|[a漢]{300}){0,30}") {
            let chunks = chunks::cut(&text, &markdown::read(&text)).len();
            let passages = passages(&text);
            prop_assert_eq!(passages.len(), chunks);
            prop_assert!(passages.iter().all(|passage| passage.len() <= 2 * LONGEST));
        }
    }
}
