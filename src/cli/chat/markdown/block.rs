//! What a line is: a heading, a point of a list, the beginning of a block of code.

/// How many bytes of a line are waited for before it is taken for a paragraph.
const LONGEST_MARK: usize = 200;

/// What a line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Words.
    Paragraph,
    /// Nothing.
    Blank,
    /// A heading of this level, from 1.
    Heading(usize),
    /// A point of a list, with its mark.
    Item(String),
    /// Somebody else's words, cited so many times over.
    Quote(usize),
    /// A line across.
    Rule,
    /// The beginning of a block of code: the mark that ends it, and how often it must stand there.
    Fence(char, usize),
    /// A row of a table, shown as it is.
    Row,
}

/// How a line begins: so many columns of blanks, what it is, and the bytes that say so, the blanks
/// included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// Blanks before it.
    pub indent: usize,
    pub block: Block,
    /// Bytes of its mark.
    pub length: usize,
}

/// How `line` begins; `None` while that depends on what follows. `over` says that all of the line
/// is there. Lines that are long are decided on by their first [`LONGEST_MARK`] bytes, so that it
/// never matters how much of them is there.
pub fn open(line: &str, over: bool) -> Option<Opening> {
    if line.len() > LONGEST_MARK {
        let known = &line[..boundary(line, LONGEST_MARK)];
        return Some(read(known, false).unwrap_or_else(|| paragraph(known)));
    }
    read(line, over)
}

/// The last place at or before `most` where a text of more bytes can be cut.
pub fn boundary(text: &str, most: usize) -> usize {
    (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn read(line: &str, over: bool) -> Option<Opening> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let rest = &line[indent..];
    let opening = |block, length: usize| Some(Opening { indent, block, length: indent + length });
    let words = || opening(Block::Paragraph, 0);
    let Some(first) = rest.chars().next() else {
        return if over { opening(Block::Blank, 0) } else { None };
    };
    let run = rest.chars().take_while(|c| *c == first).count();
    // Whether what follows the run is known.
    let ended = over || rest.len() > run * first.len_utf8();
    match first {
        '#' if !ended => None,
        '#' if run <= 6 && rest[run..].starts_with(' ') => {
            let blanks = rest[run..].len() - rest[run..].trim_start_matches(' ').len();
            // Further blanks may follow.
            (over || rest.len() > run + blanks).then_some(())?;
            opening(Block::Heading(run), run + blanks)
        }
        '`' | '~' if !ended => None,
        '`' | '~' if run >= 3 => {
            if !over {
                return None;
            }
            // An inline code span that begins a line has its end in the same line.
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
                None if !over => None,
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
                None if !over => None,
                Some(mark @ ('.' | ')')) => match after[1..].find(|c| c != ' ') {
                    None if !over => None,
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
            (over || rest.len() > marks).then_some(())?;
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

/// Whether `line`, all of it, ends a block of code that was begun with `length` of `mark`; `None`
/// while that depends on what follows.
pub fn closes(line: &str, mark: char, length: usize, over: bool) -> Option<bool> {
    let rest = line.trim_start_matches(' ');
    let run = rest.chars().take_while(|c| *c == mark).count();
    let tail = &rest[run..];
    if !tail.trim_end().is_empty() || line.len() > LONGEST_MARK {
        return Some(false);
    }
    over.then_some(run >= length)
}
