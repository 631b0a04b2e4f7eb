//! What a piece of text is known by: which rows of a table its neighbouring bytes fall on.
//!
//! Bytes are folded to 64 classes, so that three of them are 18 bits and need no dictionary: ASCII
//! letters without their case, digits, the signs that notes are full of, and eight classes for all
//! that is not ASCII. Three neighbours set one of [`SEQUENCES`] bits; four of them, if they are a letter or
//! a blank and three letters more, one more of the same: words of which every three letters are common are
//! told apart by those. They fill the bits half as much again. On generated vaults and on manuals that
//! costs a word of three letters up to a third more notes that are looked into, and saves a third where two
//! words stand together, two fifths with a longer word and two thirds or more with a rare one whose parts
//! are common.
//!
//! Two more things are told, of what patterns without a literal of three letters look for. Of five
//! [`kinds`](kind) of byte, which keep the case, every three neighbours there are: `[A-Z]{2}[0-9]`.
//! And every two neighbouring classes, without a collision; `columns` keeps these of many pieces
//! together, since what is looked for by two letters is common or nowhere.
//!
//! Nothing is told of bytes on two lines, since no match reaches over a line end.
//!
//! A changed constant, class or kind is another format: raise the number in `saved`.

/// Bits of a signature that are of three classes or of four; they come first.
pub const SEQUENCES: usize = 4096;

/// Kinds of byte.
const KINDS: u8 = 5;

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

/// Classes of letters; they come first.
const LETTERS: u8 = 26;

const CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    // Those that are not named share a class with each other.
    const SIGNS: &[u8] = b" \t-[]#*_.,:/()\"'|=`";
    const OTHER: u8 = 36 + SIGNS.len() as u8;
    let mut classes = [OTHER; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            letter @ b'a'..=b'z' => letter - b'a',
            letter @ b'A'..=b'Z' => letter - b'A',
            digit @ b'0'..=b'9' => 26 + digit - b'0',
            b'\n' => NONE,
            other @ 0x80.. => 56 + (other & 7),
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

/// A byte's class, below 64; `None` for a line end.
pub fn class(byte: u8) -> Option<u8> {
    Some(CLASSES[usize::from(byte)]).filter(|class| *class != NONE)
}

/// The bit of three classes.
pub fn row(classes: [u8; 3]) -> u16 {
    let [a, b, c] = classes.map(u32::from);
    row_of(a << 12 | b << 6 | c)
}

fn row_of(three: u32) -> u16 {
    // The upper bits of a product depend on all bits of its factor.
    (three.wrapping_mul(0x9e37_79b1) >> 20) as u16
}

/// The bit of four classes; `None` unless they are three letters after a letter or a blank.
pub fn row_of_word(classes: [u8; 4]) -> Option<u16> {
    let [a, b, c, d] = classes.map(u32::from);
    let letters = classes[1..].iter().all(|class| *class < LETTERS);
    (letters && begins_word(a)).then(|| row_of_four(a << 18 | b << 12 | c << 6 | d))
}

/// Whether four neighbours that begin with this class and go on with letters have a bit.
fn begins_word(class: u32) -> bool {
    const BLANK: u64 = 1 << CLASSES[b' ' as usize];
    const FIRST: u64 = BLANK | ((1 << LETTERS) - 1);
    FIRST >> class & 1 == 1
}

fn row_of_four(four: u32) -> u16 {
    // Mixed better than three are: words that are alike must not fall on rows that are alike.
    let mixed = four.wrapping_mul(0x9e37_79b1);
    ((mixed ^ mixed >> 15).wrapping_mul(0x2c1b_3c6d) >> 20) as u16
}

/// The bit of two classes.
pub fn pair(classes: [u8; 2]) -> u16 {
    let [a, b] = classes.map(u16::from);
    OWN as u16 + (a << 6 | b)
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

/// The bit of three kinds.
pub fn kinds(kinds: [u8; 3]) -> u16 {
    let [a, b, c] = kinds.map(u16::from);
    let base = u16::from(KINDS);
    SEQUENCES as u16 + (a * base + b) * base + c
}

/// The signature of a text.
pub fn sign(text: &[u8]) -> Signature {
    let mut signature = [0; BITS / 64];
    // Three kinds in nine bits; put in their places at the end.
    let mut three_kinds = [0_u64; 8];
    let mut set = |bit: u16| signature[usize::from(bit / 64)] |= 1 << (bit % 64);
    let (mut four, mut kinds_before, mut length, mut letters) = (0_u32, 0_usize, 0_u32, 0_u32);
    for byte in text {
        let class = CLASSES[usize::from(*byte)];
        if class == NONE {
            (length, letters) = (0, 0);
            continue;
        }
        four = (four << 6 | u32::from(class)) & 0xff_ffff;
        kinds_before = (kinds_before << 3 | usize::from(KIND_OF[usize::from(*byte)])) & 0x1ff;
        length += 1;
        letters = if class < LETTERS { letters + 1 } else { 0 };
        if length >= 2 {
            set(OWN as u16 + (four & 0xfff) as u16);
        }
        if length >= 3 {
            set(row_of(four & 0x3_ffff));
            three_kinds[kinds_before / 64] |= 1 << (kinds_before % 64);
        }
        if letters >= 3 && length >= 4 && begins_word(four >> 18) {
            set(row_of_four(four));
        }
    }
    for (first, word) in three_kinds.into_iter().enumerate() {
        let mut bits = word;
        while bits != 0 {
            let (a, b, c) =
                (first as u8, bits.trailing_zeros() as u8 / 8, bits.trailing_zeros() as u8 % 8);
            set(kinds([a, b, c]));
            bits &= bits - 1;
        }
    }
    signature
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

    #[test]
    fn case_and_nothing_else_of_ascii_letters_is_folded() {
        let classes = |text: &[u8]| {
            let signature = sign(text);
            let (sequences, pairs) = (&signature[..SEQUENCES / 64], &signature[OWN / 64..]);
            [sequences, pairs].concat()
        };
        assert_eq!(classes(b"Needle"), classes(b"nEEDLE"));
        assert_ne!(classes(b"needle"), classes(b"needls"));
        assert_eq!(sign(b"ab\ncd")[..OWN / 64], [0; OWN / 64], "none reaches over a line end");
        let classes = (0..=255_u8).filter_map(class).max();
        assert_eq!(classes, Some(63), "a class has six bits");
    }

    #[test]
    fn four_letters_are_told_that_stand_together() {
        let classes = |bytes: &[u8; 4]| bytes.map(|byte| class(byte).expect("no line end"));
        let told = |text: &[u8], four: &[u8; 4]| {
            let bit = row_of_word(classes(four)).expect("a letter or a blank, and three letters");
            sign(text)[usize::from(bit / 64)] >> (bit % 64) & 1 == 1
        };
        assert!(told(b"word", b"word") && told(b"a passWORD: 1", b"word"));
        assert!(told(b"a word", b" Wor") && !told(b"a-word", b" wor"));
        for apart in [&b"wor d"[..], b"w ord", b"wo\nrd", b"w0rd", b"wor\xc3\xa9d", b"wor", b""] {
            assert!(!told(apart, b"word"), "{apart:?}");
        }
        for none in [b"wo-d", b"wor ", b"-wor", b"\xc3wor", b"w rd"] {
            assert_eq!(row_of_word(classes(none)), None, "{none:?}");
        }
    }

    #[test]
    fn kinds_and_pairs_are_told_and_none_of_two_lines() {
        let has = |text: &[u8], bit: u16| sign(text)[usize::from(bit / 64)] >> (bit % 64) & 1 == 1;
        let of = |bytes: &[u8; 3]| kinds(bytes.map(|byte| kind(byte).expect("no line end")));
        assert!(has(b"room AB12", of(b"XY7")) && !has(b"room Ab12", of(b"XY7")));
        assert!(has(b" \xc3\xbc1", of(b"\x80\xff0")) && !has(b"A\nB1", of(b"XY7")));
        let of = |bytes: &[u8; 2]| pair(bytes.map(|byte| class(byte).expect("no line end")));
        assert!(has(b"buzQ", of(b"zq")) && !has(b"z\nq qz", of(b"zq")));
        let all: Vec<u16> = (0..125_u8).map(|n| kinds([n / 25, n / 5 % 5, n % 5])).collect();
        assert_eq!(all, (4096..4221).collect::<Vec<u16>>());
        assert_eq!((pair([0, 0]), usize::from(pair([63, 63]))), (OWN as u16, BITS - 1));
    }

    proptest! {
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
