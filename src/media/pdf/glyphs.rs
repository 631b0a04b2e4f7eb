//! The text of each code of a simple font, from its encoding and glyph names.
//!
//! The crate knows the encodings and the names. But if it does not know one name in a font's list, it drops the whole list; and it
//! does not look into the font itself, where the fonts of TeX have their encoding.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use lopdf::{Dictionary, Document, Encoding, Object, dictionary};
use regex::bytes::Regex;

/// The most bytes of an embedded font that is parsed.
const MAX_FONT: usize = 1 << 20;

/// The most entries of a list of names, numbers included: a code needs two.
const MAX_ENTRIES: usize = 512;

/// The most bytes of a name.
const MAX_NAME: usize = 64;

/// Ligatures, in the order in which TeX's encodings have them, and their first codes in OT1 and in T1.
const LIGATURES: [&str; 5] = ["ff", "fi", "fl", "ffi", "ffl"];
const FIRST_LIGATURES: [u8; 2] = [11, 27];

/// A code and the name of its glyph, in the readable part of a Type 1 font.
static NAMED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?-u)\bdup\s+(\d{1,3})\s*/([^\s/]+)\s+put\b").ok());

/// The text of each code that has a glyph.
pub(super) fn texts(document: &Document, font: &Dictionary) -> BTreeMap<u8, String> {
    let encoding = font.get_deref(b"Encoding", document).ok();
    let list = encoding.and_then(|encoding| encoding.as_dict().ok());
    let base = match list {
        Some(list) => list.get_deref(b"BaseEncoding", document).ok(),
        None => encoding,
    };
    let mut texts = texts_of_encoding(document, base);
    if base.is_none() {
        texts.extend(built_in(document, font));
    }
    let differences = list.and_then(|list| list.get_deref(b"Differences", document).ok());
    let differences = differences.and_then(|list| list.as_array().ok());
    let mut code = 0_u8;
    for one in differences.into_iter().flatten().take(MAX_ENTRIES) {
        match document.dereference(one) {
            Ok((_, Object::Integer(number))) => code = u8::try_from(*number).unwrap_or(0),
            Ok((_, Object::Name(name))) => {
                // TeX names the glyphs of its bitmap fonts by their codes.
                let is_code = *name == format!("a{code}").into_bytes();
                let text = if is_code { ligature(code) } else { text(document, name) };
                texts.extend(text.map(|text| (code, text)));
                code = code.wrapping_add(1);
            }
            _ => {}
        }
    }
    texts
}

/// The texts of a named encoding; without a name, of Adobe's standard encoding.
fn texts_of_encoding(document: &Document, encoding: Option<&Object>) -> BTreeMap<u8, String> {
    let mut font = dictionary! { "Type" => "Font" };
    if let Some(encoding) = encoding {
        font.set("Encoding", encoding.clone());
    }
    let Ok(encoding) = font.get_font_encoding(document) else { return BTreeMap::new() };
    let text = |code| Some((code, encoding.bytes_to_string(&[code]).ok()?));
    (0..=u8::MAX).filter_map(text).filter(|(_, text)| !text.is_empty()).collect()
}

/// The texts of the codes that a Type 1 font names itself. If the font cannot be read, TeX's
/// ligatures: no named encoding uses the same codes.
fn built_in(document: &Document, font: &Dictionary) -> BTreeMap<u8, String> {
    if font.get(b"Subtype").and_then(Object::as_name).ok() != Some(b"Type1") {
        return BTreeMap::new();
    }
    let file = || {
        let descriptor = font.get_deref(b"FontDescriptor", document)?.as_dict()?;
        let file = descriptor.get_deref(b"FontFile", document)?.as_stream()?;
        file.get_plain_content_with_limit(MAX_FONT)
    };
    let (Ok(file), Some(named)) = (file(), &*NAMED) else {
        return (0..=u8::MAX).filter_map(|code| Some((code, ligature(code)?))).collect();
    };
    // The rest is encrypted.
    let end = memchr::memmem::find(&file, b"eexec").unwrap_or(file.len());
    let glyph = |found: regex::bytes::Captures<'_>| {
        let code = std::str::from_utf8(&found[1]).ok()?.parse().ok()?;
        Some((code, text(document, &found[2])?))
    };
    named.captures_iter(&file[..end]).take(MAX_ENTRIES).filter_map(glyph).collect()
}

fn ligature(code: u8) -> Option<String> {
    let place = |first: &u8| LIGATURES.get(usize::from(code.checked_sub(*first)?));
    FIRST_LIGATURES.iter().find_map(place).map(|text| (*text).to_owned())
}

/// The text of a glyph by its name: names of Adobe's list or character numbers, with an optional
/// variant.
fn text(document: &Document, name: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(name).ok().filter(|name| name.len() <= MAX_NAME)?;
    let name = name.split('.').next()?;
    let number = |part: &str| {
        let digits = part.strip_prefix("uni").filter(|digits| digits.len() == 4);
        let digits = digits.or_else(|| part.strip_prefix('u').filter(|it| it.len() >= 4))?;
        Some(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?.to_string())
    };
    let part = |part: &str| text_of_glyph(document, part).or_else(|| number(part));
    part(name).or_else(|| name.split('_').map(part).collect())
}

/// The text of a glyph in the crate's list, which is accessible only through a font.
fn text_of_glyph(document: &Document, name: &str) -> Option<String> {
    let differences = vec![0.into(), name.into()];
    let encoding = dictionary! { "Differences" => differences };
    let font = dictionary! { "Type" => "Font", "Encoding" => encoding };
    match font.get_font_encoding(document).ok()? {
        encoding @ Encoding::Differences(_) => encoding.bytes_to_string(&[0]).ok(),
        _ => None,
    }
}
