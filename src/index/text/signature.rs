//! What a piece of text is known by: which rows of a table its trigrams fall on.
//!
//! Bytes are folded to 64 classes, so that three of them are 18 bits and need no dictionary: ASCII
//! letters without their case, digits, the signs that notes are full of, and eight classes for all
//! that is not ASCII. A trigram sets one of [`ROWS`] bits. No trigram reaches over a line end, since
//! no match does.
//!
//! A changed constant or class is another format: raise the number in `saved`.

/// Bits of a signature.
pub const ROWS: usize = 4096;

/// Bytes of text that share a signature; one line that is longer has its own.
pub const CHUNK: usize = 4096;

/// Bytes of a text's last piece: a little more is no reason for another one. On generated vaults it saves
/// a ninth of all columns, and rules out as much, but for patterns of which every three letters are common
/// (a sixth more notes are looked into).
pub const LAST_CHUNK: usize = 6144;

/// A text's trigrams, a bit a row.
pub type Signature = [u64; ROWS / 64];

/// What no byte's class is.
const NONE: u8 = 64;

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

/// The row of three classes.
pub fn row(classes: [u8; 3]) -> u16 {
    let [a, b, c] = classes.map(u32::from);
    row_of(a << 12 | b << 6 | c)
}

fn row_of(trigram: u32) -> u16 {
    // The upper bits of a product depend on all bits of its factor.
    (trigram.wrapping_mul(0x9e37_79b1) >> 20) as u16
}

/// The signature of a text.
pub fn sign(text: &[u8]) -> Signature {
    let mut signature = [0; ROWS / 64];
    let (mut trigram, mut length) = (0_u32, 0_u32);
    for byte in text {
        let class = CLASSES[usize::from(*byte)];
        if class == NONE {
            length = 0;
            continue;
        }
        trigram = (trigram << 6 | u32::from(class)) & 0x3_ffff;
        length += 1;
        if length >= 3 {
            let row = row_of(trigram);
            signature[usize::from(row / 64)] |= 1 << (row % 64);
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
        assert_eq!(sign(b"Needle"), sign(b"nEEDLE"));
        assert_ne!(sign(b"needle"), sign(b"needls"));
        assert_eq!(sign(b"ab\ncd"), sign(b"xy"), "no trigram reaches over a line end");
        let classes = (0..=255_u8).filter_map(class).max();
        assert_eq!(classes, Some(63), "a class has six bits");
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
