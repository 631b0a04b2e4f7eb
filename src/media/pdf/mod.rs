//! The text of a PDF, page by page.
//!
//! A PDF states where each run of letters is painted; words and lines follow from positions and
//! widths. The crate parses the file; this module orders the text. Files are read one at a time on
//! a separate thread, since a crafted file can make the crate panic, with bounds on memory and
//! work.

mod font;
mod glyphs;
mod painter;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::sync::Mutex;

use crate::locks::lock;

use lopdf::{DecompressError, Dictionary, Document, Error, LoadOptions, Object, ObjectId};

use painter::Painter;

/// The name of the thread: a panic there is a fault of the file, not of the program.
pub const THREAD: &str = "pdf";
/// The stack of the thread: the crate bounds its recursion, but each level needs much of it.
const STACK: usize = 16 << 20;
/// The approximate limit on cached objects of a file, in bytes.
const MAX_OBJECTS: usize = 192 << 20;
/// The most bytes of all streams that are read while a file is opened.
const MAX_OPENED: usize = 512 << 20;
/// The bounds of one stream.
const OPENED: (usize, usize) = (128 << 10, 16 << 20);
/// Once this much work is done, the answer ends with the current page: see [`Painter`].
const MAX_WORK: usize = 6_000_000;
/// The bytes of a page number in an answer.
const MARK: usize = 24;
/// The most pages of a file.
const MAX_PAGES: usize = 50_000;

static READING: Mutex<()> = Mutex::new(());

thread_local! {
    /// The bytes of objects that this thread may still cache for the open file.
    static LEFT: Cell<usize> = const { Cell::new(MAX_OBJECTS) };
}

/// How much of a PDF to read.
#[derive(Clone, Copy)]
pub struct Bounds<'a> {
    /// The most bytes of text; one page at least is read.
    pub bytes: usize,
    pub pages: usize,
    /// Whether the caller no longer wants the text.
    pub is_over: &'a (dyn Fn() -> bool + Sync),
}

/// Some pages of a PDF.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PdfText {
    /// The texts of consecutive pages; empty for a page without text.
    pub pages: Vec<String>,
    /// The number of pages of the file.
    pub total: usize,
    /// Whether the text of the last page is cut.
    pub is_cut: bool,
}

/// Why the text of a PDF cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPdf {
    #[error("is encrypted and opens only with a password")]
    Encrypted,
    #[error("unfolds to more than can be read")]
    TooLarge,
    #[error("is damaged: {0}")]
    Damaged(String),
    #[error("has {total} pages")]
    NoPage { total: usize },
    #[error("was cancelled")]
    Cancelled,
}

/// Whether a file is a PDF, by its first bytes.
pub fn is_pdf(bytes: &[u8]) -> bool {
    // Readers accept a few arbitrary bytes before it.
    memchr::memmem::find(&bytes[..bytes.len().min(1_024)], b"%PDF-").is_some()
}

/// The text from the page `first`, counted from 1, within `bounds`.
pub fn read(bytes: &[u8], first: usize, bounds: &Bounds<'_>) -> Result<PdfText, BadPdf> {
    let _alone = lock(&READING);
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(THREAD.to_owned()).stack_size(STACK);
        match thread.spawn_scoped(scope, || pages(bytes, first, bounds)) {
            Ok(thread) => thread
                .join()
                .unwrap_or_else(|_| Err(BadPdf::Damaged("reading it failed".to_owned()))),
            Err(error) => Err(BadPdf::Damaged(error.to_string())),
        }
    })
}

fn pages(bytes: &[u8], first: usize, bounds: &Bounds<'_>) -> Result<PdfText, BadPdf> {
    let (most, is_over) = (bounds.bytes, bounds.is_over);
    if is_over() {
        return Err(BadPdf::Cancelled);
    }
    let document = open(bytes)?;
    let ids: Vec<ObjectId> = document.page_iter().take(MAX_PAGES).collect();
    let total = ids.len();
    if total == 0 {
        return Err(BadPdf::Damaged("it has no pages".to_owned()));
    }
    let mut text = PdfText { pages: Vec::new(), total, is_cut: false };
    let mut painter = Painter::new(&document, is_over);
    let (mut bytes, mut work) = (0, 0);
    for id in ids.into_iter().skip(first.saturating_sub(1)).take(bounds.pages.max(1)) {
        if work > MAX_WORK {
            break;
        }
        let mut page = painter.page(id).map_err(|error| fault(&error))?;
        if is_over() {
            return Err(BadPdf::Cancelled);
        }
        work += painter.work();
        if bytes + page.len() + MARK > most && !text.pages.is_empty() {
            break;
        }
        if page.len() > most {
            let end = (0..=most).rev().find(|end| page.is_char_boundary(*end));
            page.truncate(end.unwrap_or(0));
            text.is_cut = true;
        }
        bytes += page.len() + MARK;
        text.pages.push(page);
    }
    if text.pages.is_empty() { Err(BadPdf::NoPage { total }) } else { Ok(text) }
}

fn open(bytes: &[u8]) -> Result<Document, BadPdf> {
    // Each stream contains this word, however the rest is spelt.
    let streams = memchr::memmem::find_iter(bytes, b"endstream").count();
    let limit = (MAX_OPENED / streams.max(1)).clamp(OPENED.0, OPENED.1);
    let load = |force_reconstruct| {
        LEFT.set(MAX_OBJECTS);
        let options = LoadOptions {
            filter: Some(skip_large),
            max_decompressed_size: Some(limit),
            force_reconstruct,
            ..LoadOptions::default()
        };
        Document::load_mem_with_options(bytes, options).map_err(|error| fault(&error))
    };
    let document = match load(false) {
        Ok(document) if document.is_encrypted() => return Err(BadPdf::Encrypted),
        Ok(document) if document.page_iter().next().is_some() => Ok(document),
        Err(error @ (BadPdf::Encrypted | BadPdf::TooLarge)) => Err(error),
        // Its table of objects is wrong: search the file for objects.
        Ok(_) | Err(_) => load(true),
    }?;
    match LEFT.get() {
        0 => Err(BadPdf::TooLarge),
        _ => Ok(document),
    }
}

/// Skips images, the largest part of many files, and everything once the limit is reached.
fn skip_large(id: ObjectId, object: &mut Object) -> Option<(ObjectId, Object)> {
    let is_image = |object: &Object| {
        let kind = object.as_stream().ok().and_then(|stream| stream.dict.get(b"Subtype").ok());
        kind.and_then(|kind| kind.as_name().ok()) == Some(b"Image")
    };
    if is_image(object) {
        return None;
    }
    let left = LEFT.get().saturating_sub(weight(object));
    LEFT.set(left);
    // The crate keeps the version that it passed here of an object outside an object stream.
    (left > 0).then(|| (id, object.clone()))
}

fn weight(object: &Object) -> usize {
    let of = |dictionary: &Dictionary| -> usize {
        dictionary.iter().map(|(key, value)| key.len() + 32 + weight(value)).sum()
    };
    64 + match object {
        Object::String(bytes, _) | Object::Name(bytes) => bytes.len(),
        Object::Array(items) => items.iter().map(weight).sum(),
        Object::Dictionary(dictionary) => of(dictionary),
        Object::Stream(stream) => of(&stream.dict) + stream.content.len(),
        _ => 0,
    }
}

fn fault(error: &Error) -> BadPdf {
    match error {
        Error::InvalidPassword | Error::Decryption(_) => BadPdf::Encrypted,
        Error::Decompress(DecompressError::MemoryLimitExceeded { .. }) => BadPdf::TooLarge,
        error => {
            let text = error.to_string();
            BadPdf::Damaged(text.chars().filter(|c| !c.is_control()).take(200).collect())
        }
    }
}
