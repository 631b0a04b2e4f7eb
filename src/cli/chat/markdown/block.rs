//! The block that a line begins: a heading, a list item, a code block.

/// A line without a recognised mark in this many bytes is a paragraph.
const LONGEST_MARK: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    Paragraph,
    Blank,
    /// The level, from 1.
    Heading(usize),
    /// A list item, with its mark.
    Item(String),
    /// A quote, with its nesting depth.
    Quote(usize),
    Rule,
    /// The opening fence of a code block: the character and the length of the closing one.
    Fence(char, usize),
    /// A table row, shown unchanged.
    Row,
}

/// The beginning of a line: its indent in columns, its kind, and the bytes of the mark including the
/// indent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    pub indent: usize,
    pub block: Block,
    /// The bytes of the indent and the mark.
    pub length: usize,
}

/// Classifies `line`; `None` if more of it is needed. `is_complete` means that the line is complete. A
/// long line is classified by its first [`LONGEST_MARK`] bytes, so the result does not depend on how
/// much has arrived.
pub fn open(line: &str, is_complete: bool) -> Option<Opening> {
    if line.len() > LONGEST_MARK {
        let known = &line[..boundary(line, LONGEST_MARK)];
        return Some(read_opening(known, false).unwrap_or_else(|| paragraph(known)));
    }
    read_opening(line, is_complete)
}

/// The last character boundary at or before `most`.
pub fn boundary(text: &str, most: usize) -> usize {
    (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn read_opening(line: &str, is_complete: bool) -> Option<Opening> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let rest = &line[indent..];
    let opening = |block, length: usize| Some(Opening { indent, block, length: indent + length });
    let words = || opening(Block::Paragraph, 0);
    let Some(first) = rest.chars().next() else {
        return if is_complete { opening(Block::Blank, 0) } else { None };
    };
    let run = rest.chars().take_while(|c| *c == first).count();
    // Whether the character after the run is known.
    let ended = is_complete || rest.len() > run * first.len_utf8();
    match first {
        '#' if !ended => None,
        '#' if run <= 6 && rest[run..].starts_with(' ') => {
            let blanks = rest[run..].len() - rest[run..].trim_start_matches(' ').len();
            // More spaces may follow.
            (is_complete || rest.len() > run + blanks).then_some(())?;
            opening(Block::Heading(run), run + blanks)
        }
        '`' | '~' if !ended => None,
        '`' | '~' if run >= 3 => {
            if !is_complete {
                return None;
            }
            // A code span at the beginning of a line ends in the same line.
            if rest[run..].contains('`') {
                words()
            } else {
                opening(Block::Fence(first, run), rest.len())
            }
        }
        '-' | '*' | '_' | '+' => {
            let other = rest.find(|c| c != first && c != ' ');
            let marks = rest.chars().filter(|c| *c == first).count();
            match other {
                None if !is_complete => None,
                None if marks >= 3 && first != '+' => opening(Block::Rule, rest.len()),
                _ if first != '_' && rest[1..].starts_with(' ') => {
                    opening(Block::Item("•".to_owned()), mark_and_blanks(rest, 1))
                }
                _ => words(),
            }
        }
        '0'..='9' => {
            let digits = rest.chars().take_while(char::is_ascii_digit).count();
            let after = &rest[digits..];
            if digits > 9 {
                return words();
            }
            match after.chars().next() {
                None if !is_complete => None,
                Some(mark @ ('.' | ')')) => match after[1..].find(|c| c != ' ') {
                    None if !is_complete => None,
                    Some(0) | None => words(),
                    Some(_) => {
                        let mark = format!("{}{mark}", &rest[..digits]);
                        opening(Block::Item(mark), mark_and_blanks(rest, digits + 1))
                    }
                },
                _ => words(),
            }
        }
        '>' => {
            let marks = rest.len() - rest.trim_start_matches(['>', ' ']).len();
            (is_complete || rest.len() > marks).then_some(())?;
            let depth = rest[..marks].chars().filter(|c| *c == '>').count();
            opening(Block::Quote(depth), marks)
        }
        '|' => opening(Block::Row, 0),
        _ => words(),
    }
}

fn paragraph(line: &str) -> Opening {
    let indent = line.len() - line.trim_start_matches(' ').len();
    Opening { indent, block: Block::Paragraph, length: indent }
}

fn mark_and_blanks(rest: &str, mark: usize) -> usize {
    mark + rest[mark..].len() - rest[mark..].trim_start_matches(' ').len()
}

/// Whether `line` closes a code block opened by `length` times `mark`; `None` if more of the line is
/// needed.
pub fn closes(line: &str, mark: char, length: usize, is_complete: bool) -> Option<bool> {
    let rest = line.trim_start_matches(' ');
    let run = rest.chars().take_while(|c| *c == mark).count();
    let tail = &rest[run..];
    if !tail.trim_end().is_empty() || line.len() > LONGEST_MARK {
        return Some(false);
    }
    is_complete.then_some(run >= length)
}
