//! The signature of a piece of text: a set of bits for its neighbouring characters.
//!
//! Characters are folded to [`Letter`]s. ASCII has 56 classes, so that three of them are 18 bits and need no
//! dictionary: letters without case, digits, and the signs that are common in notes. Characters beyond ASCII
//! are letters of their own, also without case.
//!
//! Three neighbouring letters of an alphabet set one of [`SEQUENCES`] bits; four of them set one
//! more, if they are a letter or a blank and three letters: that distinguishes words whose triples
//! are all common. It makes the bits half as full again. On generated vaults and on manuals a word
//! of three letters has up to a third more candidate notes, two adjacent words a third fewer, a
//! longer word two fifths fewer, and a rare word of common parts two thirds fewer or more.
//!
//! A letter that is specific by itself (an ideograph, a syllable, an emoji or a symbol,
//! [`SAYS_MUCH`]) sets a bit alone and one with each neighbour, but none in triples: Chinese words
//! have two characters, and triples in addition to the pairs would set more bits than they exclude.
//!
//! Two more sets of bits serve patterns without a literal of three letters. Triples of five [`kinds`](kind) of
//! byte, which keep the case, are for patterns like `[A-Z]{2}[0-9]`. Pairs of classes, without collisions in
//! ASCII, are stored by `columns` for many pieces together, since a pair of letters is either common or nowhere.
//!
//! No bit spans two lines, since no match does. Bytes that are not UTF-8 are skipped: a text may
//! set a bit needlessly, but never lacks one.
//!
//! A changed constant, letter or kind changes the format: raise the number in `saved`.

use std::sync::LazyLock;

/// Number of bits for triples and quadruples of letters; they come first.
pub const SEQUENCES: usize = 4096;

/// Number of kinds of byte.
const KINDS: u16 = 5;

/// Number of bits for triples of kinds, rounded up to whole words; they follow.
const THREE_KINDS: usize = 128;

/// Number of bits of each piece of text; the shared bits of pairs of classes follow.
pub const OWN: usize = SEQUENCES + THREE_KINDS;

/// Number of bits for pairs of classes.
pub const PAIRS: usize = 64 * 64;

/// Number of bits of a signature.
pub const BITS: usize = OWN + PAIRS;

/// Bytes of text that share a signature; a longer line has its own.
pub const CHUNK: usize = 4096;

/// Maximum bytes of a text's last piece, so that a small remainder needs no other one. On generated vaults it
/// saves a sixth of all columns and excludes as much, except for patterns of common letters (a fifth more
/// candidate notes).
pub const LAST_CHUNK: usize = 8192;

/// One bit for each feature of a text.
pub type Signature = [u64; BITS / 64];

/// No class or kind: a line end.
const NONE: u8 = 64;

/// Number of classes of ASCII letters; they come first.
const LATIN: u8 = 26;

const CLASSES: [u8; 128] = classes();

const fn classes() -> [u8; 128] {
    // All other ASCII characters share a class.
    const SIGNS: &[u8] = b" \t-[]#*_.,:/()\"'|=`";
    const OTHER: u8 = 36 + SIGNS.len() as u8;
    let mut classes = [OTHER; 128];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = match byte as u8 {
            letter @ b'a'..=b'z' => letter - b'a',
            letter @ b'A'..=b'Z' => letter - b'A',
            digit @ b'0'..=b'9' => LATIN + digit - b'0',
            b'\n' => NONE,
            _ => OTHER,
        };
        byte += 1;
    }
    let mut sign = 0;
    while sign < SIGNS.len() {
        classes[SIGNS[sign] as usize] = 36 + sign as u8;
        sign += 1;
    }
    classes
}

/// A folded character: the class of an ASCII one, below 64, else the character without case.
pub type Letter = u32;

/// Letters from here on are specific by themselves: symbols, emoji, ideographs and syllables. Below are the
/// letters of alphabets.
pub const SAYS_MUCH: Letter = 0x2000;

/// Letters of alphabets beyond ASCII, from À on.
const SPELT: std::ops::Range<Letter> = 0xc0..SAYS_MUCH;

/// The letters of the characters below [`SAYS_MUCH`].
static FOLDED: LazyLock<Vec<u16>> = LazyLock::new(|| {
    let fold = |number| char::from_u32(number).map_or(number, fold);
    // A folded character is below `SAYS_MUCH`, too, or the character stays as it is.
    (0..SAYS_MUCH).map(|number| u16::try_from(fold(number)).unwrap_or(number as u16)).collect()
});

/// Folds the case by way of upper case: the long s becomes s, the final sigma sigma. A character stays as it
/// is where its other case has more than one. The planner tries both spellings where a pattern ignores a
/// case that this function does not fold.
fn fold(character: char) -> Letter {
    fn one(mut cased: impl Iterator<Item = char>, character: char) -> char {
        cased.next().filter(|_| cased.next().is_none()).unwrap_or(character)
    }
    let capital = one(character.to_uppercase(), character);
    let small = one(capital.to_lowercase(), capital);
    CLASSES.get(small as usize).map_or(small.into(), |class| (*class).into())
}

/// A character's letter; `None` for a line end.
pub fn letter(character: char) -> Option<Letter> {
    let number = u32::from(character);
    let letter = match number {
        0..0x80 => CLASSES[number as usize].into(),
        0x80..SAYS_MUCH => FOLDED[number as usize].into(),
        // The Kelvin sign and others.
        0x2100..0x2200 => fold(character),
        _ => number,
    };
    (letter != Letter::from(NONE)).then_some(letter)
}

/// A letter's class, below 64: letters beyond ASCII share eight classes.
fn class(letter: Letter) -> u16 {
    (if letter < 64 { letter } else { 56 + letter % 8 }) as u16
}

/// The bit of a pair of classes.
fn pair(first: Letter, second: Letter) -> u16 {
    OWN as u16 + (class(first) << 6 | class(second))
}

/// The bit among [`SEQUENCES`] for a mixed number: the high bits of a product depend on the whole factor.
fn bit_of(mixed: u32) -> u16 {
    (mixed >> 20) as u16
}

fn bit_of_one(letter: Letter) -> u16 {
    bit_of(letter.wrapping_mul(0x85eb_ca6b))
}

fn bit_of_two(a: Letter, b: Letter) -> u16 {
    let mixed = a.wrapping_mul(0xc2b2_ae35) ^ b;
    bit_of((mixed ^ mixed >> 15).wrapping_mul(0x27d4_eb2f))
}

/// The bit of three letters of six bits each; wider letters overlap their neighbours.
fn bit_of_three(three: u32) -> u16 {
    bit_of((three & 0x3_ffff).wrapping_mul(0x9e37_79b1))
}

fn bit_of_four(four: u32) -> u16 {
    // Mixed better than triples: similar words must not have similar rows.
    let mixed = four.wrapping_mul(0x9e37_79b1);
    bit_of((mixed ^ mixed >> 15).wrapping_mul(0x2c1b_3c6d))
}

/// The state for computing the bits of adjacent letters of a line.
#[derive(Debug, Clone, Copy)]
struct Line {
    /// The last letter; `NONE` before the first.
    last: Letter,
    /// The last four letters of alphabets, six bits each.
    four: u32,
    /// Number of letters since the last specific one.
    plain: u32,
    /// Number of letters of the current word, with the blank before it.
    word: u32,
}

impl Line {
    const BEGUN: Self = Self { last: NONE as Letter, four: 0, plain: 0, word: 0 };

    /// Adds a letter, and calls `visit` with each bit of it and the letters before. The bits of a part of a line
    /// are bits of the line, too.
    #[inline(always)]
    fn add(&mut self, letter: Letter, visit: &mut impl FnMut(u16)) {
        const BLANK: Letter = CLASSES[b' ' as usize] as Letter;
        let last = std::mem::replace(&mut self.last, letter);
        if letter >= SAYS_MUCH {
            visit(bit_of_one(letter));
            if last != Letter::from(NONE) {
                visit(bit_of_two(last, letter));
            }
            (self.plain, self.word) = (0, 0);
            return;
        }
        if last >= SAYS_MUCH {
            visit(bit_of_two(last, letter));
        }
        self.four = (self.four << 6 ^ letter) & 0xff_ffff;
        self.plain += 1;
        if self.plain >= 2 {
            visit(pair(last, letter));
        }
        if self.plain >= 3 {
            visit(bit_of_three(self.four));
        }
        self.word = match letter {
            BLANK => 1,
            _ if letter < LATIN.into() || SPELT.contains(&letter) => self.word + 1,
            _ => 0,
        };
        if self.word >= 4 {
            visit(bit_of_four(self.four));
        }
    }
}

/// The bits of a text with these adjacent letters.
pub fn bits(letters: &[Letter]) -> Vec<u16> {
    let mut bits = Vec::new();
    let mut line = Line::BEGUN;
    letters.iter().for_each(|letter| line.add(*letter, &mut |bit| bits.push(bit)));
    bits
}

const UPPER: u8 = 0;
const LOWER: u8 = 1;
const DIGIT: u8 = 2;
const BEYOND: u8 = 3;
const SIGN: u8 = 4;

const fn kind_of(byte: u8) -> u8 {
    match byte {
        b'\n' => NONE,
        b'A'..=b'Z' => UPPER,
        b'a'..=b'z' => LOWER,
        b'0'..=b'9' => DIGIT,
        0x80.. => BEYOND,
        _ => SIGN,
    }
}

const KIND_OF: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        kinds[byte] = kind_of(byte as u8);
        byte += 1;
    }
    kinds
};

/// A byte's kind, below [`KINDS`]: upper case, lower case, digit, beyond ASCII, other; `None` for a line end.
pub fn kind(byte: u8) -> Option<u8> {
    Some(KIND_OF[usize::from(byte)]).filter(|kind| *kind != NONE)
}

/// The bit of up to three kinds.
pub fn kinds(three: &[Letter]) -> u16 {
    SEQUENCES as u16 + three.iter().fold(0, |so_far, kind| so_far * KINDS + *kind as u16)
}

pub fn sign(text: &[u8]) -> Signature {
    let mut signature = [0; BITS / 64];
    // Triples of kinds in nine bits; converted at the end.
    let mut three_kinds = [0_u64; 8];
    let mut set = |bit: u16| signature[usize::from(bit / 64)] |= 1 << (bit % 64);
    let (mut line, mut kinds_before, mut length) = (Line::BEGUN, 0_usize, 0_u32);
    for (at, byte) in text.iter().enumerate() {
        let kind = KIND_OF[usize::from(*byte)];
        if kind == NONE {
            (line, length) = (Line::BEGUN, 0);
            continue;
        }
        kinds_before = (kinds_before << 3 | usize::from(kind)) & 0x1ff;
        length += 1;
        if length >= 3 {
            three_kinds[kinds_before / 64] |= 1 << (kinds_before % 64);
        }
        match CLASSES.get(usize::from(*byte)) {
            // The mask tells the compiler that it is an ASCII class.
            Some(class) => line.add((*class & 63).into(), &mut set),
            None => {
                if let Some(letter) = character(&text[at..]).and_then(letter) {
                    line.add(letter, &mut set);
                }
            }
        }
    }
    for (first, word) in three_kinds.into_iter().enumerate() {
        let mut bits = word;
        while bits != 0 {
            let at = bits.trailing_zeros();
            set(kinds(&[first as Letter, at / 8, at % 8]));
            bits &= bits - 1;
        }
    }
    signature
}

/// The character beyond ASCII that begins here, if any.
fn character(text: &[u8]) -> Option<char> {
    let length = match *text.first()? {
        0xc2..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf5 => 4,
        _ => return None,
    };
    str::from_utf8(text.get(..length)?).ok()?.chars().next()
}

/// Splits a text into the pieces that get a signature each: as many whole lines as fit into [`CHUNK`] bytes,
/// but at least one; a remainder that fits into [`LAST_CHUNK`] is one piece.
pub fn chunks(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = if rest.len() <= LAST_CHUNK {
            rest.len()
        } else {
            let newline = |byte: &u8| *byte == b'\n';
            let last = rest[..CHUNK].iter().rposition(newline);
            let end = last.or_else(|| rest.iter().position(newline));
            end.map_or(rest.len(), |at| at + 1)
        };
        let (chunk, later) = rest.split_at(end);
        rest = later;
        Some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn has(text: &str, bit: u16) -> bool {
        sign(text.as_bytes())[usize::from(bit / 64)] >> (bit % 64) & 1 == 1
    }

    fn letters(text: &str) -> Vec<Letter> {
        text.chars().map(|character| letter(character).expect("no line end")).collect()
    }

    /// The bits of a text without those of kinds, which keep the case.
    fn without_kinds(text: &str) -> Vec<u64> {
        let signature = sign(text.as_bytes());
        [&signature[..SEQUENCES / 64], &signature[OWN / 64..]].concat()
    }

    #[test]
    fn only_case_is_folded() {
        for (one, other) in [
            ("Needle", "nEEDLE"),
            ("Стол", "сТОЛ"),
            ("ΣΊΣΥΦΟΣ", "σίσυφος"),
            ("ÉTÉ", "été"),
            ("ask", "a\u{17f}\u{212a}"),
            ("straße", "STRA\u{1e9e}E"),
        ] {
            assert_eq!(without_kinds(one), without_kinds(other), "{one} {other}");
        }
        for (one, other) in
            [("needle", "needls"), ("стол", "стул"), ("été", "ete"), ("你好", "您好"), ("🎉", "🎈")]
        {
            assert_ne!(without_kinds(one), without_kinds(other), "{one} {other}");
        }
        assert_eq!(sign(b"ab\ncd")[..OWN / 64], [0; OWN / 64], "none reaches over a line end");
        let classes = ('\0'..'\u{3000}').filter_map(letter).map(class).max();
        assert_eq!(classes, Some(63), "a class has six bits");
    }

    #[test]
    fn four_adjacent_letters_have_a_bit() {
        let has_four = |text: &str, four: &str| {
            let four = letters(four).into_iter().fold(0, |four, letter| four << 6 ^ letter);
            has(text, bit_of_four(four & 0xff_ffff))
        };
        assert!(has_four("word", "word") && has_four("a passWORD: 1", "word"));
        assert!(has_four("a word", " Wor") && !has_four("a-word", " wor"));
        for apart in ["wor d", "w ord", "wo\nrd", "w0rd", "woréd", "wor", ""] {
            assert!(!has_four(apart, "word"), "{apart:?}");
        }
        for none in ["wo-d", "wor ", "-wor", "猫wor", "w rd"] {
            assert!(!has_four(none, none), "{none:?}");
        }
        assert!(
            has_four("Высота", "СОТА") && has_four("un café", "café") && has_four("un été", " été")
        );
    }

    #[test]
    fn specific_letters_have_bits_alone_and_with_their_neighbours() {
        let all = |text: &str, of: &str| bits(&letters(of)).into_iter().all(|bit| has(text, bit));
        assert!(all("今天的会议记录", "会议") && !all("今天的会议记录", "会记"));
        assert!(all("第3章", "第3") && all("第3章", "3章") && !all("第3章", "第章"));
        assert!(all("done ✅ today", "✅") && !all("done today", "✅"));
        let of_one = bits(&letters("会"));
        assert_eq!(of_one.len(), 1, "{of_one:?}");
    }

    #[test]
    fn invalid_utf8_removes_no_bit() {
        let whole = sign("caf\u{e9} 会议 привет".as_bytes());
        let broken = b"\xff\xe4\xbc\n\xf0caf\xc3\xa9 \xe4\xbc\x9a\xe8\xae\xae \xd0\xbf\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82\xd0";
        let broken = sign(broken);
        assert!(whole.iter().zip(broken).all(|(whole, broken)| whole & !broken == 0));
    }

    #[test]
    fn kinds_and_pairs_have_bits_and_none_span_lines() {
        let has = |text: &[u8], bit: u16| sign(text)[usize::from(bit / 64)] >> (bit % 64) & 1 == 1;
        let of =
            |bytes: &[u8; 3]| kinds(&bytes.map(|byte| kind(byte).expect("no line end").into()));
        assert!(has(b"room AB12", of(b"XY7")) && !has(b"room Ab12", of(b"XY7")));
        assert!(has(b" \xc3\xbc1", of(b"\x80\xff0")) && !has(b"A\nB1", of(b"XY7")));
        let of = |two: &str| bits(&letters(two))[0];
        assert!(has(b"buzQ", of("zq")) && !has(b"z\nq qz", of("zq")));
        let all: Vec<u16> = (0..125).map(|n| kinds(&[n / 25, n / 5 % 5, n % 5])).collect();
        assert_eq!(all, (4096..4221).collect::<Vec<u16>>());
        assert_eq!((pair(0, 0), usize::from(pair(63, 63))), (OWN as u16, BITS - 1));
    }

    proptest! {
        #[test]
        fn the_bits_of_a_part_are_bits_of_the_line(
            line in "[abкПé会議🎉’ \u{17f}1-]{0,12}", from in 0_usize..12, length in 0_usize..12,
        ) {
            let line = letters(&line);
            let from = from.min(line.len());
            let part = &line[from..(from + length).min(line.len())];
            let all = bits(&line);
            prop_assert!(bits(part).iter().all(|bit| all.contains(bit)));
        }

        #[test]
        fn chunks_are_whole_lines(lines in prop::collection::vec(0_usize..6_000, 0..8)) {
            let text: Vec<u8> =
                lines.iter().flat_map(|n| [vec![b'x'; *n], vec![b'\n']].concat()).collect();
            let cut: Vec<&[u8]> = chunks(&text).collect();
            prop_assert_eq!(cut.concat(), text.clone());
            for (number, chunk) in cut.iter().enumerate() {
                prop_assert_eq!(chunk.last(), Some(&b'\n'));
                let lines = chunk.iter().filter(|byte| **byte == b'\n').count();
                let most = if number + 1 == cut.len() { LAST_CHUNK } else { CHUNK };
                prop_assert!(chunk.len() <= most || lines == 1);
            }
            if text.len() <= LAST_CHUNK {
                prop_assert!(cut.len() <= 1, "it fits into one");
            }
        }
    }
}
