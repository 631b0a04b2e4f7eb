//! What a piece of text is known by: which rows of a table its neighbouring characters fall on.
//!
//! Characters are folded to [`Letter`]s. Those of ASCII are 56 classes, so that three of them are 18 bits
//! and need no dictionary: letters without their case, digits, the signs that notes are full of. Those
//! beyond ASCII are letters of their own, without their case too.
//!
//! Of the letters of an alphabet three neighbours set one of [`SEQUENCES`] bits; four of them, if they are
//! a letter or a blank and three letters more, one more of the same: words of which every three letters are
//! common are told apart by those. They fill the bits half as much again. On generated vaults and on manuals
//! that costs a word of three letters up to a third more notes that are looked into, and saves a third where
//! two words stand together, two fifths with a longer word and two thirds or more with a rare one whose
//! parts are common.
//!
//! What says much by itself, an ideograph, a syllable, an emoji or a sign ([`SAYS_MUCH`]), sets a bit alone
//! and one with each neighbour, and none of three: a word of Chinese has two characters, and threes beside
//! the twos would fill more bits than they rule out.
//!
//! Two more things are told, of what patterns without a literal of three letters look for. Of five
//! [`kinds`](kind) of byte, which keep the case, every three neighbours there are: `[A-Z]{2}[0-9]`.
//! And every two neighbouring classes, without a collision in ASCII; `columns` keeps these of many pieces
//! together, since what is looked for by two letters is common or nowhere.
//!
//! Nothing is told of characters on two lines, since no match reaches over a line end. Bytes that are no
//! characters are passed over: a text then has bits that it need not have, and lacks none.
//!
//! A changed constant, letter or kind is another format: raise the number in `saved`.

use std::sync::LazyLock;

/// Bits of a signature that are of three classes or of four; they come first.
pub const SEQUENCES: usize = 4096;

/// Kinds of byte.
const KINDS: u16 = 5;

/// Bits of three kinds, rounded up to whole words; they follow.
const THREE_KINDS: usize = 128;

/// Bits that are known of each piece of text by itself; those of two classes follow.
pub const OWN: usize = SEQUENCES + THREE_KINDS;

/// Bits of two classes.
pub const PAIRS: usize = 64 * 64;

/// Bits of a signature.
pub const BITS: usize = OWN + PAIRS;

/// Bytes of text that share a signature; one line that is longer has its own.
pub const CHUNK: usize = 4096;

/// Bytes of a text's last piece: a little more is no reason for another one. On generated vaults it saves
/// a sixth of all columns, and rules out as much, but for patterns of common letters (a fifth more notes
/// are looked into).
pub const LAST_CHUNK: usize = 8192;

/// What a text is known by, a bit each.
pub type Signature = [u64; BITS / 64];

/// What no byte's class or kind is.
const NONE: u8 = 64;

/// Classes of ASCII's letters; they come first.
const LATIN: u8 = 26;

const CLASSES: [u8; 128] = classes();

const fn classes() -> [u8; 128] {
    // Those that are not named share a class with each other.
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

/// What a character is known by: of ASCII its class, below 64; of others the number of the character
/// that it is without its case.
pub type Letter = u32;

/// Letters from here on say much by themselves: signs, symbols, emoji, ideographs and syllables. Before
/// them are those of which words are spelt.
pub const SAYS_MUCH: Letter = 0x2000;

/// Letters of words beyond ASCII: from À on.
const SPELT: std::ops::Range<Letter> = 0xc0..SAYS_MUCH;

/// The letters of the characters below [`SAYS_MUCH`].
static FOLDED: LazyLock<Vec<u16>> = LazyLock::new(|| {
    let fold = |number| char::from_u32(number).map_or(number, fold);
    // Each is below `SAYS_MUCH` itself, or stays as it is.
    (0..SAYS_MUCH).map(|number| u16::try_from(fold(number)).unwrap_or(number as u16)).collect()
});

/// A character without its case, by way of its capital: so the long s is an s, and the final sigma a
/// sigma. Where a case has more than one character the other is kept. What a pattern ignores the case
/// of and this tells apart is spelt both ways by the planner.
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
        // The Kelvin sign and its like.
        0x2100..0x2200 => fold(character),
        _ => number,
    };
    (letter != Letter::from(NONE)).then_some(letter)
}

/// A letter's class, below 64: those beyond ASCII share eight.
fn class(letter: Letter) -> u16 {
    (if letter < 64 { letter } else { 56 + letter % 8 }) as u16
}

/// The bit of two neighbours' classes.
fn pair(first: Letter, second: Letter) -> u16 {
    OWN as u16 + (class(first) << 6 | class(second))
}

/// Of a mixed number the bit among [`SEQUENCES`]: the upper bits of a product depend on all of its factor.
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

/// Of three letters, six bits of place each; what is more in one lies over its neighbours.
fn bit_of_three(three: u32) -> u16 {
    bit_of((three & 0x3_ffff).wrapping_mul(0x9e37_79b1))
}

fn bit_of_four(four: u32) -> u16 {
    // Mixed better than three are: words that are alike must not fall on rows that are alike.
    let mixed = four.wrapping_mul(0x9e37_79b1);
    bit_of((mixed ^ mixed >> 15).wrapping_mul(0x2c1b_3c6d))
}

/// Letters that follow each other on a line, as far as the next tells bits of them.
#[derive(Debug, Clone, Copy)]
struct Line {
    /// The last letter; `NONE` before the first.
    last: Letter,
    /// The last four that do not say much, six bits of place each.
    four: u32,
    /// How many there are since one that says much, and in a word with the blank before it.
    plain: u32,
    word: u32,
}

impl Line {
    const BEGUN: Self = Self { last: NONE as Letter, four: 0, plain: 0, word: 0 };

    /// Adds a letter, and tells each bit of it and those before it. What it tells of a part of a line it
    /// tells of the line, too.
    #[inline(always)]
    fn add(&mut self, letter: Letter, tell: &mut impl FnMut(u16)) {
        const BLANK: Letter = CLASSES[b' ' as usize] as Letter;
        let last = std::mem::replace(&mut self.last, letter);
        if letter >= SAYS_MUCH {
            tell(bit_of_one(letter));
            if last != Letter::from(NONE) {
                tell(bit_of_two(last, letter));
            }
            (self.plain, self.word) = (0, 0);
            return;
        }
        if last >= SAYS_MUCH {
            tell(bit_of_two(last, letter));
        }
        self.four = (self.four << 6 ^ letter) & 0xff_ffff;
        self.plain += 1;
        if self.plain >= 2 {
            tell(pair(last, letter));
        }
        if self.plain >= 3 {
            tell(bit_of_three(self.four));
        }
        self.word = match letter {
            BLANK => 1,
            _ if letter < LATIN.into() || SPELT.contains(&letter) => self.word + 1,
            _ => 0,
        };
        if self.word >= 4 {
            tell(bit_of_four(self.four));
        }
    }
}

/// The bits that a text with these letters next to each other has.
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

/// A byte's kind, below [`KINDS`]: capital, small letter, digit, beyond ASCII, anything else; `None`
/// for a line end.
pub fn kind(byte: u8) -> Option<u8> {
    Some(KIND_OF[usize::from(byte)]).filter(|kind| *kind != NONE)
}

/// The bit of three kinds, at most as many.
pub fn kinds(three: &[Letter]) -> u16 {
    SEQUENCES as u16 + three.iter().fold(0, |so_far, kind| so_far * KINDS + *kind as u16)
}

/// The signature of a text.
pub fn sign(text: &[u8]) -> Signature {
    let mut signature = [0; BITS / 64];
    // Three kinds in nine bits; put in their places at the end.
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
            // Below 64, which spares it what is asked of others.
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

/// The character beyond ASCII that begins here, if one does.
fn character(text: &[u8]) -> Option<char> {
    let length = match *text.first()? {
        0xc2..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf5 => 4,
        _ => return None,
    };
    str::from_utf8(text.get(..length)?).ok()?.chars().next()
}

/// Cuts a text into what gets a signature each: whole lines, as many as fit into [`CHUNK`] bytes,
/// and at least one; what is left at the end is one piece if it fits into [`LAST_CHUNK`].
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

    /// Bits of a text that are not of kinds, which keep the case.
    fn without_kinds(text: &str) -> Vec<u64> {
        let signature = sign(text.as_bytes());
        [&signature[..SEQUENCES / 64], &signature[OWN / 64..]].concat()
    }

    #[test]
    fn case_and_nothing_else_is_folded() {
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
    fn four_letters_are_told_that_stand_together() {
        let told = |text: &str, four: &str| {
            let four = letters(four).into_iter().fold(0, |four, letter| four << 6 ^ letter);
            has(text, bit_of_four(four & 0xff_ffff))
        };
        assert!(told("word", "word") && told("a passWORD: 1", "word"));
        assert!(told("a word", " Wor") && !told("a-word", " wor"));
        for apart in ["wor d", "w ord", "wo\nrd", "w0rd", "woréd", "wor", ""] {
            assert!(!told(apart, "word"), "{apart:?}");
        }
        for none in ["wo-d", "wor ", "-wor", "猫wor", "w rd"] {
            assert!(!told(none, none), "{none:?}");
        }
        assert!(told("Высота", "СОТА") && told("un café", "café") && told("un été", " été"));
    }

    #[test]
    fn what_says_much_is_told_alone_and_with_its_neighbours() {
        let all = |text: &str, of: &str| bits(&letters(of)).into_iter().all(|bit| has(text, bit));
        assert!(all("今天的会议记录", "会议") && !all("今天的会议记录", "会记"));
        assert!(all("第3章", "第3") && all("第3章", "3章") && !all("第3章", "第章"));
        assert!(all("done ✅ today", "✅") && !all("done today", "✅"));
        let of_one = bits(&letters("会"));
        assert_eq!(of_one.len(), 1, "{of_one:?}");
    }

    #[test]
    fn bytes_that_are_no_characters_take_no_bit_away() {
        let whole = sign("caf\u{e9} 会议 привет".as_bytes());
        let broken = b"\xff\xe4\xbc\n\xf0caf\xc3\xa9 \xe4\xbc\x9a\xe8\xae\xae \xd0\xbf\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82\xd0";
        let broken = sign(broken);
        assert!(whole.iter().zip(broken).all(|(whole, broken)| whole & !broken == 0));
    }

    #[test]
    fn kinds_and_pairs_are_told_and_none_of_two_lines() {
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
        fn a_part_of_a_line_has_no_bit_that_the_line_has_not(
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
