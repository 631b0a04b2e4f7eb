//! The fenced blocks `base` and `rules` of a note.

use crate::note::frontmatter;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The content, after as many empty lines as precede it in the note, so that line numbers are those of the note.
    pub text: String,
    /// The line of the note that opens it, from 1.
    pub line: usize,
}

struct Fence {
    mark: char,
    length: usize,
    /// Depth of block quotes (`>`) around it.
    quotes: usize,
    indent: usize,
    /// Characters before it on its line.
    width: usize,
    /// The block, if it has the wanted word.
    block: Option<Block>,
}

/// The blocks of a note with the info word `word`, in their order, including those in quotes, callouts and lists;
/// `Note.md#2` is the second. Prefixes of a block's lines are blank in its text, so that columns are those of the note.
pub fn blocks(note: &str, word: &str) -> Vec<Block> {
    let start = note.len() - note.trim_start_matches('\u{feff}').len();
    let body = frontmatter::find(note, start).map_or(start, |found| found.range.end);
    let above = note[..body].matches('\n').count();
    let mut found = Vec::new();
    let mut open: Option<Fence> = None;
    for (number, line) in note[body..].split_inclusive('\n').enumerate() {
        let (mut quotes, mut inner) =
            strip_quote_marks(line, open.as_ref().map_or(usize::MAX, |fence| fence.quotes));
        // A block ends with the quote that holds it.
        if let Some(fence) = open.take_if(|fence| quotes < fence.quotes) {
            found.extend(fence.block);
            (quotes, inner) = strip_quote_marks(line, usize::MAX);
        }
        let rest = inner.trim_start_matches(' ');
        let indent = inner.len() - rest.len();
        let mark = rest.chars().next().filter(|mark| matches!(mark, '`' | '~'));
        let length = mark.map_or(0, |mark| rest.len() - rest.trim_start_matches(mark).len());
        let info = rest[length..].trim();
        let Some(fence) = &mut open else {
            let is_fence = |mark: &char| length >= 3 && (*mark == '~' || !info.contains('`'));
            if let Some(mark) = mark.filter(is_fence) {
                let at = above + number + 1;
                let is_ours = info.split_whitespace().next() == Some(word);
                let block = is_ours.then(|| Block { text: "\n".repeat(at), line: at });
                let width = line.len() - rest.len();
                open = Some(Fence { mark, length, quotes, indent, width, block });
            }
            continue;
        };
        let is_end =
            mark == Some(fence.mark) && length >= fence.length && indent < 4 && info.is_empty();
        if is_end {
            found.extend(open.take().and_then(|fence| fence.block));
        } else if let Some(block) = &mut fence.block {
            if !rest.trim().is_empty() {
                block.text.extend(std::iter::repeat_n(' ', fence.width));
            }
            block.text.push_str(&inner[indent.min(fence.indent)..]);
        }
    }
    // A block that is not closed ends with the note.
    found.extend(open.and_then(|fence| fence.block));
    found
}

/// A line without its quote marks (at most so many), and their number.
fn strip_quote_marks(line: &str, most: usize) -> (usize, &str) {
    let (mut quotes, mut rest) = (0, line);
    while quotes < most {
        let inner = rest.trim_start_matches(' ');
        let Some(inner) = inner.strip_prefix('>').filter(|_| rest.len() - inner.len() < 4) else {
            break;
        };
        rest = inner.strip_prefix(' ').unwrap_or(inner);
        quotes += 1;
    }
    (quotes, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fenced_blocks_of_that_name_are_bases() {
        let note = "---\nx: |\n  ```base\n---\ntext\n```base\nfilters: a\n```\n~~~\n```base\nno\n```\n~~~\n\
                    ```yaml\nno\n```\n- item\n  ````base x\n  views:\n   - a\n  ```\n  ````\n``base``\n```base\nopen";
        let found = blocks(note, "base");
        let bodies: Vec<_> =
            found.iter().map(|block| (block.line, block.text.trim_start())).collect();
        assert_eq!(
            bodies,
            [(6, "filters: a\n"), (18, "views:\n   - a\n  ```\n"), (24, "open")],
            "{found:#?}"
        );
        for block in &found {
            let above = &block.text[..block.text.len() - block.text.trim_start().len()];
            assert_eq!(above.matches('\n').count(), block.line);
        }
    }

    #[test]
    fn blocks_in_quotes_and_callouts_are_found() {
        let note = "> [!note]\n> ```base\n> filters:\n>   and:\n>\n>     - a\n> ```\n>> ~~~base\n>> filters: b\n\
                    text\n```base\n> filters: c\n```\n";
        let found = blocks(note, "base");
        let texts: Vec<_> = found.iter().map(|block| (block.line, block.text.trim())).collect();
        let first = "filters:\n    and:\n\n      - a";
        assert_eq!(texts, [(2, first), (8, "filters: b"), (11, "> filters: c")], "{found:#?}");
        let found = blocks("> ```base\n> filters: a = b\n> ```\n", "base");
        let errors =
            super::super::base_file::read(&found[0].text).expect_err("`=` is not an operator");
        assert_eq!((errors[0].line, errors[0].column), (2, 14));
    }

    #[test]
    fn an_error_has_its_line_in_the_note() {
        let found = blocks("# Projects\n\n```base\nfilters: a =\n```\n", "base");
        let errors =
            super::super::base_file::read(&found[0].text).expect_err("`=` is not an operator");
        assert_eq!((errors[0].line, errors[0].column), (4, 12));
    }
}
