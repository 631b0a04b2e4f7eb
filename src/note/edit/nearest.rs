//! Where a text that is not in a file almost is.

/// How much of a file is compared, in bytes; beyond, only the start is.
const COMPARED_BYTES: usize = 2 * 1024 * 1024;

/// How much of one line is compared and shown, in characters.
const LINE_CHARS: usize = 200;

/// How alike, of 100, a line must be to be worth naming.
const WORTH: usize = 50;

/// The place in a file that is most like a text that is not in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// The line, 1-based, where file and text first differ.
    pub line: usize,
    /// What stands there, cut to 200 characters.
    pub found: String,
    /// What the text has there, cut alike.
    pub wanted: String,
}

/// What an error's message says of it.
pub(super) fn note(nearest: &Option<Nearest>) -> String {
    match nearest {
        None => String::new(),
        Some(Nearest { line, found, wanted }) => {
            format!("; the nearest is line {line}, `{found}`, where `{wanted}` is asked for")
        }
    }
}

/// Finds the nearest line. Lines that are the same but for blanks and case win, and of those the
/// one where most lines follow alike; else the one that shares most pairs of letters.
///
/// The cost is linear in what is compared.
pub(super) fn nearest(body: &str, old: &str) -> Option<Nearest> {
    let wanted: Vec<&str> = old.lines().collect();
    let first = wanted.iter().position(|line| !line.trim().is_empty())?;
    let key = Key::of(wanted[first]);
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
            let follows = lines[at..].iter().zip(&wanted[first..]).take(50);
            score += follows.take_while(|(found, wanted)| found == wanted).count();
        }
        if score >= WORTH && best.is_none_or(|(most, _)| score > most) {
            best = Some((score, at));
        }
    }
    let (_, at) = best?;
    // Where the lines begin alike, the one that differs is the news; if none does, the file ends
    // without the newline that is asked for.
    let mut pairs = lines[at..].iter().zip(&wanted[first..]);
    let differs = pairs.position(|(found, wanted)| found != wanted);
    let same = differs.unwrap_or_default();
    let cut = |line: &str| line.chars().take(LINE_CHARS).collect::<String>();
    let newline = if differs.is_none() { " and a newline" } else { "" };
    Some(Nearest {
        line: at + same + 1,
        found: cut(lines[at + same]),
        wanted: cut(wanted[first + same]) + newline,
    })
}

/// A line made ready to be compared with many.
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

    /// 100 for the same letters, else the share of letter pairs in common, of 99.
    fn likeness(&self, line: &str) -> usize {
        let letters = letters(line);
        if letters == self.letters {
            return 100;
        }
        let sum = (letters.len() + self.letters.len()).saturating_sub(2);
        let shorter = letters.len().min(self.letters.len());
        // Even if all of the shorter were shared, too little would be.
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

/// The bytes of a line without blanks and in lower case.
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
