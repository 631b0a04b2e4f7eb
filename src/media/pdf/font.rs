//! The fonts of a PDF: the text and width of each code.

use std::collections::BTreeMap;

use lopdf::{Dictionary, Document, Encoding, Object};

use super::glyphs;

/// The most bytes of a font's table of characters.
const MAX_CHARACTERS: usize = 512 << 10;

/// The text of each code by a font's encoding.
enum Codes<'a> {
    /// One byte per code.
    Simple(BTreeMap<u8, String>),
    /// Several bytes per code; `None` if the crate does not know the encoding.
    Composite(Option<Encoding<'a>>),
}

impl Codes<'_> {
    fn text(&self, bytes: &[u8]) -> String {
        match self {
            Self::Simple(texts) => {
                bytes.iter().filter_map(|code| Some(texts.get(code)?.as_str())).collect()
            }
            Self::Composite(encoding) => {
                let text = encoding.as_ref().and_then(|it| it.bytes_to_string(bytes).ok());
                text.unwrap_or_default()
            }
        }
    }
}

pub(super) struct Font<'a> {
    /// The file's `ToUnicode` table; it takes precedence over the encoding.
    unicode: Option<Encoding<'a>>,
    encoding: Codes<'a>,
    /// Bytes of a character's code.
    code: usize,
    /// Widths in thousandths of the size.
    widths: BTreeMap<u32, f32>,
    /// The width of any other character.
    other: f32,
}

impl<'a> Font<'a> {
    pub fn new(document: &'a Document, font: &'a Dictionary) -> Self {
        // The crate uses the table of characters only for a font without an encoding.
        let mut bare = font.clone();
        bare.remove(b"Encoding");
        let unicode = match bare.get_font_encoding_with_limit(document, MAX_CHARACTERS) {
            Ok(Encoding::UnicodeMapEncoding(map)) => Some(Encoding::UnicodeMapEncoding(map)),
            _ => None,
        };
        let numbers = |dictionary: &'a Dictionary, name: &[u8]| {
            let numbers = dictionary.get_deref(name, document).and_then(Object::as_array);
            numbers.map(Vec::as_slice).unwrap_or_default()
        };
        let number = |object: &Object| {
            document.dereference(object).ok().and_then(|(_, number)| number.as_float().ok())
        };
        let descendant = numbers(font, b"DescendantFonts").first();
        let descendant = descendant.and_then(|it| document.dereference(it).ok()?.1.as_dict().ok());
        let mut widths = BTreeMap::new();
        let Some(descendant) = descendant else {
            let first = font.get(b"FirstChar").ok().and_then(number).unwrap_or(0.0) as u32;
            for (at, width) in numbers(font, b"Widths").iter().take(256).enumerate() {
                widths.insert(first.saturating_add(at as u32), number(width).unwrap_or(0.0));
            }
            let encoding = Codes::Simple(glyphs::texts(document, font));
            return Self { unicode, encoding, code: 1, widths, other: 500.0 };
        };
        let mut rest = numbers(descendant, b"W");
        // `first [width …]`, or `first last width`.
        while let [first, second, more @ ..] = rest {
            let (first, second) = (number(first), document.dereference(second).map(|(_, it)| it));
            let first = first.unwrap_or(0.0) as u32;
            rest = more;
            match (second, more) {
                (Ok(Object::Array(each)), _) => {
                    for (at, width) in each.iter().take(1 << 16).enumerate() {
                        widths
                            .insert(first.saturating_add(at as u32), number(width).unwrap_or(0.0));
                    }
                }
                (Ok(last), [width, after @ ..]) => {
                    let (last, width) = (number(last).unwrap_or(0.0) as u32, number(width));
                    for code in (first..=last).take(1 << 16) {
                        widths.insert(code, width.unwrap_or(0.0));
                    }
                    rest = after;
                }
                _ => break,
            }
            if widths.len() > 1 << 17 {
                break;
            }
        }
        let other = descendant.get(b"DW").ok().and_then(number).unwrap_or(1_000.0);
        let encoding = font.get_font_encoding_with_limit(document, MAX_CHARACTERS).ok();
        Self { unicode, encoding: Codes::Composite(encoding), code: 2, widths, other }
    }

    pub fn text(&self, bytes: &[u8]) -> String {
        let Some(Encoding::UnicodeMapEncoding(map)) = &self.unicode else {
            return self.encoding.text(bytes);
        };
        // The crate derives the length of codes from ranges that are wrong in many files.
        let mut text = String::new();
        for code in bytes.chunks(self.code) {
            let number = code.iter().fold(0, |number, byte| (number << 8) | u32::from(*byte));
            let is_short = code.len() == 1;
            let known = map.get(number, code.len() as u8);
            match known.or_else(|| map.get(number, 2).filter(|_| is_short)) {
                Some(known) => text.push_str(&String::from_utf16_lossy(&known)),
                None if is_short => text.push_str(&self.encoding.text(code)),
                None => {}
            }
        }
        if text.is_empty() { self.encoding.text(bytes) } else { text }
    }

    /// The width of a string in this size. `spacing` is added to each character, and to each blank.
    pub fn width(&self, bytes: &[u8], size: f32, spacing: (f32, f32)) -> f32 {
        let codes = bytes
            .chunks(self.code)
            .map(|code| code.iter().fold(0_u32, |code, byte| (code << 8) | u32::from(*byte)));
        let width = |code: u32| {
            let width = self.widths.get(&code).copied().unwrap_or(self.other);
            let blank = if code == 32 && self.code == 1 { spacing.1 } else { 0.0 };
            width / 1_000.0 * size + spacing.0 + blank
        };
        codes.map(width).sum()
    }
}
