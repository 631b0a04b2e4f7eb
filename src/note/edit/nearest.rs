//! Finds the place most similar to a text that is not in a file.

/// Bytes of a file that are compared; the rest is ignored.
const COMPARED_BYTES: usize = 2 * 1024 * 1024;

/// Characters of a line that are compared and shown.
const LINE_CHARS: usize = 200;

/// The least similarity, in percent, of a line that is reported.
const WORTH: usize = 50;

/// The place in a file most similar to a missing text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// The 1-based line where file and text first differ.
    pub line: usize,
    /// The line in the file, cut to 200 characters.
    pub found: String,
    /// The line in the text, cut in the same way.
    pub expected: String,
}

/// Its description in an error message.
pub(super) fn note(nearest: &Option<Nearest>) -> String {
    match nearest {
        None => String::new(),
        Some(Nearest { line, found, expected }) => {
            format!("; the nearest is line {line}, `{found}`, where `{expected}` is asked for")
        }
    }
}

/// Finds the most similar line. Lines that are equal except for whitespace and case win, and among
/// them the one followed by the most equal lines; otherwise the line that shares the most letter
/// pairs.
///
/// The cost is linear in the compared bytes.
pub(super) fn nearest(body: &str, old: &str) -> Option<Nearest> {
    let expected: Vec<&str> = old.lines().collect();
    let first = expected.iter().position(|line| !line.trim().is_empty())?;
    let key = Key::of(expected[first]);
    let mut compared = 0;
    let lines: Vec<&str> = body
        .lines()
        .take_while(|line| {
            compared += line.len() + 1;
            compared <= COMPARED_BYTES
        })
        .collect();
    let mut best: Option<(usize, usize)> = None;
    for (at, line) in lines.iter().enumerate() {
        let mut score = key.likeness(line);
        if score == 100 {
            let follows = lines[at..].iter().zip(&expected[first..]).take(50);
            score += follows.take_while(|(found, expected)| found == expected).count();
        }
        if score >= WORTH && best.is_none_or(|(most, _)| score > most) {
            best = Some((score, at));
        }
    }
    let (_, at) = best?;
    // If the first lines are equal, the one that differs is reported; if none differs, the file
    // ends without the newline of the text.
    let mut pairs = lines[at..].iter().zip(&expected[first..]);
    let differs = pairs.position(|(found, expected)| found != expected);
    let same = differs.unwrap_or_default();
    let cut = |line: &str| line.chars().take(LINE_CHARS).collect::<String>();
    let newline = if differs.is_none() { " and a newline" } else { "" };
    Some(Nearest {
        line: at + same + 1,
        found: cut(lines[at + same]),
        expected: cut(expected[first + same]) + newline,
    })
}

/// A line, prepared for comparison with many others.
struct Key {
    letters: Vec<u8>,
    pairs: Box<[u8; 1024]>,
}

impl Key {
    fn of(line: &str) -> Self {
        let letters = letters(line);
        let mut pairs = Box::new([0_u8; 1024]);
        for pair in letters.windows(2) {
            let count = &mut pairs[slot(pair)];
            *count = count.saturating_add(1);
        }
        Self { letters, pairs }
    }

    /// 100 for equal letters, otherwise the percentage of shared letter pairs, at most 99.
    fn likeness(&self, line: &str) -> usize {
        let letters = letters(line);
        if letters == self.letters {
            return 100;
        }
        let sum = (letters.len() + self.letters.len()).saturating_sub(2);
        let shorter = letters.len().min(self.letters.len());
        // Even if all pairs of the shorter line were shared, it would be too little.
        if sum == 0 || shorter * 200 < WORTH * sum {
            return 0;
        }
        let mut left = self.pairs.clone();
        let shared = letters
            .windows(2)
            .filter(|pair| {
                let count = &mut left[slot(pair)];
                let had = *count > 0;
                *count = count.saturating_sub(1);
                had
            })
            .count();
        shared * 2 * 99 / sum
    }
}

/// The bytes of a line in lower case without whitespace.
fn letters(line: &str) -> Vec<u8> {
    let mut letters = Vec::with_capacity(line.len().min(LINE_CHARS * 4));
    let visible = line.chars().take(LINE_CHARS).filter(|c| !c.is_whitespace());
    for c in visible.flat_map(char::to_lowercase) {
        letters.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
    letters
}

fn slot(pair: &[u8]) -> usize {
    pair.iter().fold(0, |slot, &byte| (slot * 31 + usize::from(byte)) % 1024)
}
