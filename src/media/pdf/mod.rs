//! The text of a PDF, page by page.
//!
//! A PDF says where each run of letters is painted, not what a word or a line is: those follow from positions
//! and widths. The crate reads the file; the order of the text is made here. Work is done on a thread of its
//! own, since a file can be made so that reading it panics, and one file at a time, with bounds on memory and work.

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
/// The stack of the thread: the crate bounds its recursion, but each level takes much.
const STACK: usize = 16 << 20;
/// The approximate limit on cached objects of a file, in bytes.
const MAX_OBJECTS: usize = 192 << 20;
/// The most bytes that all streams read while a file is opened may have.
const MAX_OPENED: usize = 512 << 20;
/// The bounds of one of them.
const OPENED: (usize, usize) = (128 << 10, 16 << 20);
/// The work after which an answer ends with the page: see [`Painter`].
const MAX_WORK: usize = 6_000_000;
/// Bytes that the number of a page takes in an answer.
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

/// Why a PDF gives no text.
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
    #[error("is no longer wanted")]
    Cancelled,
}

/// Whether a file is a PDF, by its first bytes.
pub fn is_pdf(bytes: &[u8]) -> bool {
    // Readers accept a little of anything before it.
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
    // Each stream needs this word, in any spelling of the rest.
    let streams = memchr::memmem::find_iter(bytes, b"endstream").count();
    let limit = (MAX_OPENED / streams.max(1)).clamp(OPENED.0, OPENED.1);
    let load = |force_reconstruct| {
        LEFT.set(MAX_OBJECTS);
        let options = LoadOptions {
            filter: Some(bounded),
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
        // Its table of objects is wrong: they are looked for in the file.
        Ok(_) | Err(_) => load(true),
    }?;
    match LEFT.get() {
        0 => Err(BadPdf::TooLarge),
        _ => Ok(document),
    }
}

/// Leaves out images, which are most of many files, and everything once the bound is reached.
fn bounded(id: ObjectId, object: &mut Object) -> Option<(ObjectId, Object)> {
    let is_image = |object: &Object| {
        let kind = object.as_stream().ok().and_then(|stream| stream.dict.get(b"Subtype").ok());
        kind.and_then(|kind| kind.as_name().ok()) == Some(b"Image")
    };
    if is_image(object) {
        return None;
    }
    let left = LEFT.get().saturating_sub(weight(object));
    LEFT.set(left);
    // Of an object that stands by itself, the crate keeps what it passed here.
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
